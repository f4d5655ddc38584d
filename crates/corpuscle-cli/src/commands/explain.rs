//! `corpuscle explain`: the terms behind each decision.

use corpuscle::Run;
use corpuscle::corpus::Document;
use corpuscle::recipe::{Contribution, Model};
use serde_json::{Value, json};

use super::inspect::open;
use crate::args::{Everywhere, Explain};
use crate::input;
use crate::output::{self, percent};

/// Words whose associations are shown, and how many of each.
const WORDS: usize = 5;
const ASSOCIATED: usize = 4;

struct Explained {
    id: String,
    predicted: String,
    runner_up: Option<String>,
    score: f32,
    margin: Option<f32>,
    probability: Option<f32>,
    /// Whether the parts of the terms add up to the score.
    exact: bool,
    terms: Vec<Contribution>,
    counts_as: Vec<(String, Vec<String>)>,
}

pub(crate) fn run(args: &Explain, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let (model, _) = open(&args.model, run)?;
    let options = input::options(&args.reading)?;
    let mut source = input::open(&args.data, &options)?;
    let documents: Vec<Document> = run.watch("read", None, || (&mut source).collect::<Result<_, _>>())?;
    input::report_skipped(&source, run);
    let quiet = run.quiet();
    let mut explained = Vec::with_capacity(documents.len());
    run.watch("explain", Some(documents.len() as u64), || -> anyhow::Result<()> {
        for document in &documents {
            explained.push(explain(&model, document, args.top as usize, &quiet)?);
            run.advance(1);
        }
        Ok(())
    })?;
    if everywhere.json {
        let documents: Vec<Value> = explained.iter().map(as_json).collect();
        return output::print_json(&json!({
            "recipe": model.metadata().recipe, "documents": documents, "seconds": output::seconds(run),
        }));
    }
    output::print_text(&explained.iter().map(text).collect::<Vec<_>>().join("\n"))
}

fn explain(model: &Model, document: &Document, top: usize, run: &Run) -> anyhow::Result<Explained> {
    let said = model.predict(&[document.text.as_str()], run)?;
    let scores = said.scores.row(0);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let best = order.first().copied().unwrap_or(0);
    let class = best as u32;
    // Where parts add up they do so without a remainder; a denoised or rescaled document is asked term by term.
    let linear = model.is_linear_in_terms(run)?;
    let mut terms = if linear { model.contributions(&document.text, class, run)? } else { None };
    let exact = terms.is_some();
    if terms.is_none() {
        terms = model.left_out(&document.text, class, run)?;
    }
    let mut terms = terms.unwrap_or_default();
    terms.truncate(top);
    let words: Vec<&str> = terms.iter().take(WORDS).map(|part| part.term.as_str()).collect();
    let associated = model.reconstruct(&words, run)?.unwrap_or_default();
    let counts_as = words.iter().zip(associated).map(|(word, list)| {
        let others = list.into_iter().filter(|(term, weight)| term != word && *weight > 0.0);
        (word.to_string(), others.take(ASSOCIATED).map(|(term, _)| term).collect::<Vec<_>>())
    });
    let counts_as = counts_as.filter(|(_, list)| !list.is_empty()).collect();
    let name = |class: usize| model.classes()[class].clone();
    Ok(Explained {
        id: document.id.clone(),
        predicted: model.classes().get(best).cloned().unwrap_or_default(),
        runner_up: order.get(1).map(|&class| name(class)),
        score: scores.get(best).copied().unwrap_or_default(),
        margin: order.get(1).map(|&second| scores[best] - scores[second]),
        probability: said.probabilities.as_ref().map(|probabilities| probabilities.row(0)[best]),
        exact,
        terms,
        counts_as,
    })
}

fn as_json(explained: &Explained) -> Value {
    json!({
        "id": explained.id, "predicted": explained.predicted, "runner_up": explained.runner_up,
        "score": explained.score, "margin": explained.margin, "probability": explained.probability,
        "adds_up": explained.exact,
        "terms": explained.terms.iter().map(|part| json!({"term": part.term, "amount": part.amount})).collect::<Vec<_>>(),
        "counts_as": explained.counts_as.iter().map(|(word, list)| (word.clone(), json!(list)))
            .collect::<serde_json::Map<_, _>>(),
    })
}

fn text(explained: &Explained) -> String {
    let sure = explained.probability.map_or(String::new(), |p| format!(" ({})", percent(f64::from(p))));
    let rest = match (&explained.runner_up, explained.margin) {
        (Some(second), Some(margin)) => format!(", by {margin:.3} before {second}"),
        _ => String::new(),
    };
    let mut text = format!("{}: {}{sure}{rest}\n", explained.id, explained.predicted);
    let heading = if explained.exact { "adds to the score" } else { "what the score loses without it" };
    let rows = explained.terms.iter().map(|part| vec![part.term.clone(), format!("{:+.4}", part.amount)]);
    text.push_str(&output::table(&["term", heading], 1, rows));
    for (word, list) in &explained.counts_as {
        text.push_str(&format!("{word} counts as {}\n", list.join(", ")));
    }
    text
}
