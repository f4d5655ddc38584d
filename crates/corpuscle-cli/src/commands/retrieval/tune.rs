//! `corpuscle tune-search`: constants of ranking and the share of vectors, chosen by judged queries.

use corpuscle::Run;
use corpuscle::retrieve::{Ranking, Search, tune};
use serde_json::{Value, json};

use crate::args::{Everywhere, TuneSearch};
use crate::output;

pub(crate) fn run(args: &TuneSearch, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let how = super::how(&args.rank)?;
    let judged = super::judged(&args.queries, &args.qrels)?;
    let searcher = super::open(&args.index)?;
    let vectors = super::vectors(&args.rank, &args.index, &searcher, run)?;
    let tuned = tune(&judged, &searcher, &how, vectors.as_ref().as_slice(), run)?;
    if everywhere.json {
        let mut value = Value::Object(super::as_json(&tuned.mean));
        value["queries"] = json!(tuned.queries.len());
        value["chosen"] = json!(tuned.chosen);
        value["flags"] = json!(flags(&tuned.all, vectors.is_some()));
        value["per_query"] = super::per_query(&tuned.queries);
        return output::print_json(&value);
    }
    let facts = output::facts(&[
        ("queries", output::count(tuned.queries.len())),
        ("chosen on one half", flags(&tuned.chosen[1], vectors.is_some())),
        ("chosen on the other", flags(&tuned.chosen[0], vectors.is_some())),
        ("chosen on all", flags(&tuned.all, vectors.is_some())),
    ]);
    let note = "each half measured with what the other chose:\n";
    output::print_text(&format!("{facts}{note}{}", super::table(&tuned.mean)))
}

/// The flags that mean the same.
fn flags(how: &Search, vectors: bool) -> String {
    let ranking = match how.ranking {
        Ranking::Bm25 { k1, b } => format!("--rank bm25 --k1 {k1} --b {b}"),
        Ranking::Dirichlet { mu } => format!("--rank dirichlet --mu {mu}"),
        Ranking::JelinekMercer { lambda } => format!("--rank jelinek-mercer --smoothing {lambda}"),
    };
    if vectors { format!("{ranking} --lambda {}", how.lambda) } else { ranking }
}
