//! `corpuscle terms`: what a representation has learnt about words.

use corpuscle::Run;
use corpuscle::recipe::{Model, Neighbourhood, TermPair};
use serde_json::json;

use super::inspect::open;
use crate::args::{Everywhere, Terms};
use crate::output::{self, WrongCall};

pub(crate) fn run(args: &Terms, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let (model, _) = open(&args.model, run)?;
    if !args.pair.is_empty() {
        return pairs_asked(args, &model, everywhere, run);
    }
    let top = args.top as usize;
    let near = args.words.iter().map(|word| model.near_terms(word, top, run)).collect::<Result<Vec<_>, _>>()?;
    let near: Vec<Neighbourhood> = near.into_iter().flatten().collect();
    let mut minds = Vec::new();
    // No word at all is the empty document: what is expected of any text.
    let asked: Vec<&str> =
        if args.words.is_empty() { vec![""] } else { args.words.iter().map(String::as_str).collect() };
    for (word, list) in asked.iter().zip(model.reconstruct(&asked, run)?.unwrap_or_default()) {
        minds.push((*word, list.into_iter().take(top).collect::<Vec<_>>()));
    }
    let pairs = if args.words.is_empty() { model.shifted_pairs(top) } else { None };
    if near.is_empty() && pairs.is_none() && minds.is_empty() {
        return Err(nothing(&model, args.words.is_empty()));
    }
    if everywhere.json {
        let pairs = pairs.map(|[together, apart]| json!({"together": together, "apart": apart}));
        let minds: Vec<_> = minds.iter().map(|(word, list)| json!({
            "word": word,
            "terms": list.iter().map(|(term, weight)| json!({"term": term, "weight": weight})).collect::<Vec<_>>(),
        })).collect();
        return output::print_json(
            &json!({"recipe": model.recipe().to_string(), "words": near, "pairs": pairs, "reconstructs": minds}),
        );
    }
    let mut text = String::new();
    for near in &near {
        text.push_str(&neighbours(near));
        text.push('\n');
    }
    for (word, list) in &minds {
        let heading =
            if word.is_empty() { "expected of any text".to_string() } else { format!("{word} brings to mind") };
        let rows = list.iter().map(|(term, weight)| vec![term.clone(), format!("{weight:.3}")]);
        text.push_str(&output::table(&[&heading, "weight"], 1, rows));
        text.push('\n');
    }
    if let Some([together, apart]) = &pairs {
        text.push_str("drawn together most by the labels\n");
        text.push_str(&table(together));
        text.push_str("\ndrawn apart most\n");
        text.push_str(&table(apart));
    }
    output::print_text(&text)
}

/// Pairs of words that were named.
fn pairs_asked(args: &Terms, model: &Model, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let mut pairs = Vec::with_capacity(args.pair.len());
    for (one, other) in &args.pair {
        pairs.push(model.term_pair(one, other, run)?.ok_or_else(|| {
            WrongCall(format!(
                "`{}` keeps nothing about the pair {one}, {other}: it needs a stage `sprinkle`, trained by this version, and \
                 looks at its 2000 heaviest terms",
                model.recipe()
            ))
        })?);
    }
    if everywhere.json {
        return output::print_json(&json!({"recipe": model.recipe().to_string(), "pairs": pairs}));
    }
    output::print_text(&table(&pairs))
}

fn nothing(model: &Model, whole: bool) -> anyhow::Error {
    let recipe = model.recipe();
    let wrong = if whole {
        format!("give words to look up, such as `corpuscle terms MODEL printer`: `{recipe}` keeps no pairs of terms")
    } else {
        format!("`{recipe}` has no stage that compares terms; train with `lsi`, `sprinkle` or `dcot`")
    };
    WrongCall(wrong).into()
}

fn neighbours(near: &Neighbourhood) -> String {
    let cosine = |value: f32| format!("{value:.2}");
    let after =
        |at: usize| near.after.get(at).map_or([String::new(), String::new()], |n| [n.term.clone(), cosine(n.after)]);
    if near.before.is_empty() {
        let rows = (0..near.after.len()).map(|at| after(at).to_vec());
        let heading = format!("near {} after {}", near.term, near.stage);
        return output::table(&[&heading, "cosine"], 1, rows);
    }
    let rows = (0..near.before.len().max(near.after.len())).map(|at| {
        let before = near
            .before
            .get(at)
            .map_or([String::new(), String::new()], |n| [n.term.clone(), cosine(n.before.unwrap_or_default())]);
        let [term, value] = after(at);
        let [before_term, before_value] = before;
        vec![before_term, before_value, term, value]
    });
    let headings = [format!("near {} before", near.term), format!("after {}", near.stage)];
    // Cosines are all of one width, so that words and cosines can both begin at the left.
    output::table(&[&headings[0], "cosine", &headings[1], "cosine"], 4, rows)
}

fn table(pairs: &[TermPair]) -> String {
    let rows = pairs.iter().map(|pair| {
        let numbers = [pair.before, pair.after, pair.after - pair.before];
        let mut row = vec![format!("{} · {}", pair.first, pair.second)];
        row.extend(numbers.iter().take(2).map(|value| format!("{value:.2}")));
        row.push(format!("{:+.2}", numbers[2]));
        row
    });
    output::table(&["terms", "cosine before", "after", "change"], 1, rows)
}
