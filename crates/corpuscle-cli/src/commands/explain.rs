//! `corpuscle explain`: the terms behind each decision, the class that came second, and the nearest documents.

mod near;
mod show;

use corpuscle::Run;
use corpuscle::corpus::Document;
use corpuscle::recipe::{Contribution, Model, Weighing};
use serde_json::{Value, json};

use super::inspect::open;
use crate::args::{Everywhere, Explain};
use crate::{input, output};
use near::{Near, Training};

/// Words whose associations are shown, and how many of each.
const WORDS: usize = 5;
const ASSOCIATED: usize = 4;

struct Explained<'a> {
    document: &'a Document,
    predicted: String,
    runner_up: Option<String>,
    score: f32,
    margin: Option<f32>,
    probability: Option<f32>,
    /// What the amounts of the terms are.
    weighing: Weighing,
    /// All terms, the strongest first.
    terms: Vec<Contribution>,
    counts_as: Vec<(String, Vec<String>)>,
    /// `None` when there are no documents to be near to.
    near: Option<Vec<Near>>,
}

pub(crate) fn run(args: &Explain, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    if let Some(path) = &args.html {
        input::check_writable(path)?;
    }
    let (model, _) = open(&args.model, run)?;
    let options = input::with_numbers(input::options(&args.reading)?, model.number_fields());
    let mut source = input::open(&args.data, &options)?;
    let documents: Vec<Document> = run.watch("read", None, || (&mut source).collect::<Result<_, _>>())?;
    input::report_skipped(&source, run);
    let training = Training::read(args, &options, &model, run)?;
    let quiet = run.quiet();
    let mut explained = Vec::with_capacity(documents.len());
    run.watch("explain", Some(documents.len() as u64), || -> anyhow::Result<()> {
        for document in &documents {
            explained.push(explain(&model, document, training.as_ref(), args.near as usize, &quiet)?);
            run.advance(1);
        }
        Ok(())
    })?;
    let top = args.top as usize;
    if let Some(path) = &args.html {
        let page = show::page(&model, &explained, top)?;
        output::write_beside(path, |file| Ok(std::io::Write::write_all(file, page.as_bytes())?))?;
    }
    if everywhere.json {
        let documents: Vec<Value> = explained.iter().map(|explained| show::as_json(explained, top)).collect();
        return output::print_json(&json!({
            "recipe": model.recipe().to_string(), "documents": documents, "seconds": output::seconds(run),
        }));
    }
    output::print_text(&explained.iter().map(|explained| show::text(explained, top)).collect::<Vec<_>>().join("\n"))
}

fn explain<'a>(
    model: &Model,
    document: &'a Document,
    training: Option<&Training>,
    near: usize,
    run: &Run,
) -> anyhow::Result<Explained<'a>> {
    let x = model.represent_documents(std::slice::from_ref(document), run)?;
    let said = model.predict_matrix(&x, run)?;
    let scores = said.scores.row(0);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let best = order.first().copied().unwrap_or(0);
    let second = order.get(1).copied();
    let (weighing, terms) = model.weigh_document(document, best as u32, second.map(|class| class as u32), run)?;
    let words: Vec<&str> = terms.iter().take(WORDS).map(|part| part.term.as_str()).collect();
    // Words on their own have none of the numbers that some models read.
    let associated = match model.number_fields().is_empty() {
        true => model.reconstruct(&words, run)?.unwrap_or_default(),
        false => Vec::new(),
    };
    let counts_as = words.iter().zip(associated).map(|(word, list)| {
        let others = list.into_iter().filter(|(term, weight)| term != word && *weight > 0.0);
        (word.to_string(), others.take(ASSOCIATED).map(|(term, _)| term).collect::<Vec<_>>())
    });
    let counts_as = counts_as.filter(|(_, list)| !list.is_empty()).collect();
    let name = |class: usize| model.classes()[class].clone();
    let near = match training {
        Some(training) => Some(training.nearest(&x, near, run)?),
        None => near::kept(model, &x, near, run)?,
    };
    Ok(Explained {
        document,
        predicted: model.classes().get(best).cloned().unwrap_or_default(),
        runner_up: second.map(name),
        score: scores.get(best).copied().unwrap_or_default(),
        margin: second.map(|second| scores[best] - scores[second]),
        probability: said.probabilities.as_ref().map(|probabilities| probabilities.row(0)[best]),
        weighing,
        terms,
        counts_as,
        near,
    })
}
