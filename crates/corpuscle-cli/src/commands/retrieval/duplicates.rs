//! `corpuscle duplicates`: documents that are the same, or nearly.

use corpuscle::Run;
use corpuscle::corpus::Document;
use corpuscle::retrieve::duplicates;
use corpuscle::text::WordsParams;
use serde_json::{Value, json};

use crate::args::{Duplicates, Everywhere};
use crate::{input, output, screen};

/// Characters of a document that are shown.
const WIDTH: usize = 80;

pub(crate) fn run(args: &Duplicates, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let mut source = input::open(&args.data, &input::options(&args.reading)?)?;
    let documents: Vec<Document> = run.watch("read", None, || (&mut source).collect::<Result<_, _>>())?;
    input::report_skipped(&source, run);
    let texts: Vec<&str> = documents.iter().map(|document| document.text.as_str()).collect();
    let tokens = WordsParams::default().tokenize(&texts, &run.quiet())?;
    let groups = run.watch("compare", None, || duplicates(&tokens, args.threshold, run))?;
    let spare: usize = groups.iter().map(|group| group.documents.len() - 1).sum();
    let ids = |rows: &[usize]| rows.iter().map(|&row| documents[row].id.as_str()).collect::<Vec<_>>();
    if everywhere.json {
        let one =
            |group: &corpuscle::retrieve::Group| json!({"ids": ids(&group.documents), "similarity": group.similarity});
        let list: Vec<Value> = groups.iter().map(one).collect();
        return output::print_json(&json!({
            "documents": documents.len(), "groups": list, "spare": spare, "threshold": args.threshold,
        }));
    }
    let rows = groups.iter().map(|group| {
        let first = group.documents.first().map_or("", |&row| documents[row].text.as_str());
        let text = first.split_whitespace().collect::<Vec<_>>().join(" ");
        let least = format!("{:.2}", group.similarity);
        vec![
            screen::cut(&ids(&group.documents).join(", "), WIDTH),
            screen::cut(&text, WIDTH),
            output::count(group.documents.len()),
            least,
        ]
    });
    let mut text = output::table(&["documents", "the first of them", "number", "similarity"], 2, rows);
    if groups.is_empty() {
        text.clear();
    }
    text += &format!(
        "{} groups; {} of {} documents could be left out\n",
        output::count(groups.len()),
        output::count(spare),
        output::count(documents.len())
    );
    output::print_text(&text)
}
