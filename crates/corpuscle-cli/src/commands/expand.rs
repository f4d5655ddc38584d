//! `corpuscle expand`: the terms that names of classes bring to mind in a pile of documents.

use corpuscle::Run;
use corpuscle::corpus::{Labels, read_descriptions};
use corpuscle::recipe::{Corpus, Expansion, Recipe};
use serde_json::json;

use crate::args::{Everywhere, Expand};
use crate::input;
use crate::output;

pub(crate) fn run(args: &Expand, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let recipe = Recipe::parse(&args.recipe)?.representation();
    let descriptions = read_descriptions(&args.names)?;
    let options = input::options(&args.reading)?;
    let mut documents = input::open(&args.data, &options)?;
    let mut corpus = run.stage("read", None, || Corpus::read(&mut documents, recipe.words(), run))?;
    input::report_skipped(&documents, run);
    corpus.labels = Labels::none(corpus.len()).described(&descriptions);
    let represented = recipe.represent(&corpus, run)?;
    let Some(expanded) = recipe.expand_names(&represented, &corpus, args.top as usize, run)? else {
        anyhow::bail!("fewer than two classes of {} have a word that the documents have too", args.names.display());
    };
    if everywhere.json {
        let class = |found: &Expansion| {
            let terms = found.terms.iter().map(|(term, weight)| json!({"term": term, "weight": weight}));
            json!({"class": found.class, "description": found.about, "terms": terms.collect::<Vec<_>>()})
        };
        return output::print_json(&json!({
            "recipe": recipe.to_string(),
            "documents": corpus.len(),
            "classes": expanded.iter().map(class).collect::<Vec<_>>(),
            "seconds": output::seconds(run),
        }));
    }
    output::print_text(&table(&expanded))
}

/// A line for each class, and how to strike a word out.
pub(super) fn table(expanded: &[Expansion]) -> String {
    let rows = expanded.iter().map(|found| {
        let terms: Vec<&str> = found.terms.iter().map(|(term, _)| term.as_str()).collect();
        let terms =
            if terms.is_empty() { "(no word of it is known: labels must tell)".to_string() } else { terms.join(" ") };
        vec![found.class.clone(), found.about.clone(), terms]
    });
    let mut text = output::table(&["class", "name", "brings to mind"], 3, rows);
    text.push_str("strike a word out by writing it with - before it behind the name\n");
    text
}
