//! `corpuscle suggest`: which documents to label next, and why.

use corpuscle::Run;
use corpuscle::corpus::Document;
use corpuscle::experiment::{Doubt, SuggestParams, Suggestion};
use corpuscle::recipe::{Corpus, Model};
use corpuscle::text::WordsParams;
use serde_json::{Value, json};

use super::{inspect, train};
use crate::args::{Everywhere, Suggest};
use crate::output;
use crate::screen;

/// Characters of a text that are shown.
const SHOWN: usize = 60;

pub(crate) fn run(args: &Suggest, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let model = args.model.as_deref().map(|path| inspect::open(path, run)).transpose()?.map(|(model, _)| model);
    let (documents, skipped) = train::documents(&args.data, &args.unlabelled, false, &args.reading, run)?;
    let doubt = model.as_ref().map(|model| ask(model, &documents, run)).transpose()?.flatten();
    let labelled = documents.iter().filter(|document| document.labels.is_some()).count();
    // Only what is shown of the texts is kept.
    let shown: Vec<(String, String)> =
        documents.iter().map(|document| (document.id.clone(), beginning(&document.text))).collect();
    let words = WordsParams::default();
    let corpus = run.stage("words", None, || Corpus::read(documents.into_iter().map(Ok), &words, run))?;
    let suggester = SuggestParams::default().prepare(&corpus.tokens, run)?;
    let found = suggester.next(&corpus.labels, doubt.as_ref(), args.number as usize, run)?;
    if everywhere.json {
        return output::print_json(&json!({
            "documents": shown.len(),
            "labelled": labelled,
            "skipped": skipped,
            "seed": run.seed(),
            "suggestions": found.iter().map(|one| as_json(one, &shown)).collect::<Vec<Value>>(),
            "seconds": output::seconds(run),
        }));
    }
    let rows = found.iter().map(|one| {
        let (id, text) = &shown[one.row];
        vec![id.clone(), text.clone(), one.reason.to_string()]
    });
    let heading = format!("{} documents, {} with a label\n\n", output::count(shown.len()), output::count(labelled));
    output::print_text(&(heading + &output::table_within(screen::width(), &["id", "text", "why"], 3, rows)))
}

/// What a model says of the documents, when it has learnt from enough labels to be asked.
fn ask(model: &Model, documents: &[Document], run: &Run) -> anyhow::Result<Option<Doubt>> {
    let (labelled, classes) = (model.metadata().about.labelled, model.classes().len());
    if !SuggestParams::default().is_enough(labelled, classes) {
        run.warn(&format!(
            "the model has learnt from {labelled} labels of {classes} classes, too few to be asked what it wavers about"
        ));
        return Ok(None);
    }
    let predictions = run.stage("ask the model", None, || model.predict_documents(documents, &run.quiet()))?;
    Ok(Some(Doubt::of(model, &predictions)?))
}

/// The first words of a text on one line.
fn beginning(text: &str) -> String {
    let line = text.split_whitespace().take(SHOWN).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

fn as_json(one: &Suggestion, shown: &[(String, String)]) -> Value {
    let (id, text) = &shown[one.row];
    json!({
        "row": one.row,
        "id": id,
        "text": text,
        "why": one.reason.to_string(),
        "reason": one.reason,
    })
}
