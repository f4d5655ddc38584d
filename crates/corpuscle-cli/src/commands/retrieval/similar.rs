//! `corpuscle similar-documents`: the documents most like one of them, by a model's vectors.

use corpuscle::Run;
use corpuscle::corpus::Document;
use corpuscle::retrieve::Nearest;
use serde_json::{Value, json};

use crate::args::{Everywhere, SimilarDocuments};
use crate::commands::inspect;
use crate::output::{self, WrongCall};
use crate::{input, screen};

/// Characters of a document that are shown.
const WIDTH: usize = 80;

pub(crate) fn run(args: &SimilarDocuments, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let (model, _) = inspect::open(&args.model, run)?;
    let options = input::with_numbers(input::options(&args.reading)?, model.number_fields());
    let mut source = input::open(&args.data, &options)?;
    let documents: Vec<Document> = run.watch("read", None, || (&mut source).collect::<Result<_, _>>())?;
    input::report_skipped(&source, run);
    let Some(row) = documents.iter().position(|document| document.id == args.to) else {
        return Err(WrongCall(format!("no document has the id `{}`", args.to)).into());
    };
    let rows = run.watch("represent", None, || model.represent_documents(&documents, run))?;
    let nearest = Nearest::new(rows);
    // The document itself is always among them.
    let found = nearest.of(&nearest.rows().row(row), args.top as usize + 1, run)?;
    let found: Vec<(f64, usize)> =
        found.into_iter().filter(|&(_, other)| other != row).take(args.top as usize).collect();
    if everywhere.json {
        let one = |&(cosine, row): &(f64, usize)| json!({"id": documents[row].id, "cosine": cosine});
        let list: Vec<Value> = found.iter().map(one).collect();
        return output::print_json(&json!({"to": args.to, "documents": documents.len(), "similar": list}));
    }
    let rows = found.into_iter().map(|(cosine, row)| {
        let text = documents[row].text.split_whitespace().collect::<Vec<_>>().join(" ");
        vec![documents[row].id.clone(), screen::cut(&text, WIDTH), format!("{cosine:.3}")]
    });
    output::print_text(&output::table(&["document", "text", "cosine"], 2, rows))
}
