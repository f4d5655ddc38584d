//! A table of retrieval, run and shown.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use corpuscle::Run;
use corpuscle::corpus::ReadOptions;
use corpuscle::report::html::{Report, Section};
use corpuscle::retrieve::{CollectionFigures, Ranking, Search, SearchClaimTest, SearchProtocol};
use serde_json::{Value, json};

use super::text::Table;
use crate::args::{Everywhere, Reproduce};
use crate::commands::retrieval;
use crate::input;
use crate::output;

/// The tables of retrieval.
pub(super) const PROTOCOLS: &[&str] = &[include_str!("../../../reproduce/scdv-retrieval.json")];

/// A table that was run.
pub(super) struct Done {
    pub(super) protocol: SearchProtocol,
    pub(super) collections: Vec<CollectionFigures>,
    pub(super) claims: Vec<SearchClaimTest>,
}

/// Every protocol of retrieval.
pub(super) fn all() -> anyhow::Result<Vec<SearchProtocol>> {
    Ok(PROTOCOLS.iter().map(|json| SearchProtocol::parse(json)).collect::<Result<Vec<_>, _>>()?)
}

/// The first of its files that is not there.
pub(super) fn missing<'a>(protocol: &'a SearchProtocol, folder: &Path) -> Option<&'a str> {
    let files = protocol.collections.iter().flat_map(|of| [&of.documents, &of.queries, &of.qrels]);
    files.map(String::as_str).find(|file| !folder.join(file).is_file())
}

/// Runs a table and shows it.
pub(super) fn shown(
    protocol: &SearchProtocol,
    folder: &Path,
    args: &Reproduce,
    everywhere: &Everywhere,
    run: &Run,
) -> anyhow::Result<()> {
    let done = one(protocol, folder, args, run)?;
    if let Some(path) = &args.report {
        let page = done.page();
        output::write_beside(path, |file| Ok(file.write_all(page.as_bytes())?))?;
    }
    if everywhere.json {
        return output::print_json(&done.json(run));
    }
    output::print_text(&done.text())
}

/// Runs a table on every collection.
pub(super) fn one(protocol: &SearchProtocol, folder: &Path, args: &Reproduce, run: &Run) -> anyhow::Result<Done> {
    let mut collections = Vec::with_capacity(protocol.collections.len());
    for collection in &protocol.collections {
        let file = folder.join(&collection.documents).display().to_string();
        let options = input::without_labels(&ReadOptions::default());
        let mut source = input::open(std::slice::from_ref(&file), &options)?;
        let documents = run.watch("read", None, || (&mut source).collect::<Result<Vec<_>, _>>())?;
        let queries = retrieval::queries(&folder.join(&collection.queries))?;
        let qrels = retrieval::qrels(&folder.join(&collection.qrels))?;
        let place = Scratch::new(&collection.name);
        let figures = protocol.run(collection, &documents, (queries, qrels), &place.0, args.quick, run);
        collections.push(figures.with_context(|| collection.name.clone())?);
    }
    let claims = protocol.test(&collections)?;
    Ok(Done { protocol: protocol.clone(), collections, claims })
}

/// A folder that is removed again.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Scratch(std::env::temp_dir().join(format!("corpuscle-{}-{name}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Done {
    /// How many of the claims hold, in words.
    pub(super) fn verdict(&self) -> String {
        let held = self.claims.iter().filter(|claim| claim.holds).count();
        super::verdict((held, self.claims.len()), self.claims.len())
    }

    pub(super) fn text(&self) -> String {
        let SearchProtocol { title, paper, note, .. } = &self.protocol;
        let mut text = format!("{title}\n{paper}\n{note}\n\nmean average precision\n{}", self.systems().text());
        text += &format!(
            "\nclaims (above on every collection, paired t-test over the queries of each)\n{}",
            self.verdicts().text()
        );
        text + &format!("\nchosen on one half of the queries and on the other\n{}", self.choices().text())
    }

    /// Every system on every collection, and the paper's on its own.
    fn systems(&self) -> Table {
        let mut columns = vec!["system".to_string()];
        columns.extend(self.collections.iter().map(|of| of.name.clone()));
        columns.extend(self.protocol.paper_collections.iter().map(|name| format!("paper, {name}")));
        let rows = self.protocol.systems.iter().enumerate().map(|(number, system)| {
            let mut row = vec![system.name.clone()];
            row.extend(self.collections.iter().map(|of| format!("{:.4}", of.systems[number].map)));
            let paper = |at: usize| system.paper.get(at).map_or(String::new(), |map| format!("{map:.4}"));
            row.extend((0..self.protocol.paper_collections.len()).map(paper));
            row
        });
        Table { rows: rows.collect(), columns }
    }

    /// Every claim with its verdict.
    fn verdicts(&self) -> Table {
        let mut columns = vec!["claim".to_string(), "verdict".to_string()];
        columns.extend(self.collections.iter().map(|of| of.name.clone()));
        let rows = self.claims.iter().map(|tested| {
            let mut row = vec![
                format!("{} above {}", tested.claim.better, tested.claim.than),
                if tested.holds { "holds" } else { "does not hold" }.to_string(),
            ];
            row.extend(tested.tests.iter().map(|test| match test {
                Some(test) => format!("{:+.4} (p = {:.4})", test.difference, test.p),
                None => "equal".to_string(),
            }));
            row
        });
        Table { rows: rows.collect(), columns }
    }

    /// What was chosen where.
    fn choices(&self) -> Table {
        let columns = ["system", "collection", "first", "second", "recipes"].map(String::from).to_vec();
        let mut rows = Vec::new();
        for collection in &self.collections {
            for (system, figures) in self.protocol.systems.iter().zip(&collection.systems) {
                let one = |how: &Search| {
                    let smoothing = match how.ranking {
                        Ranking::Dirichlet { mu } => format!("μ {mu}"),
                        other => format!("{other:?}"),
                    };
                    if system.vectors.is_some() { format!("{smoothing}, λ {}", how.lambda) } else { smoothing }
                };
                let mut recipes = figures.recipes.clone();
                recipes.dedup();
                let [first, second] = &figures.chosen;
                let names = (system.name.clone(), collection.name.clone());
                rows.push(vec![names.0, names.1, one(first), one(second), recipes.join("; ")]);
            }
        }
        Table { columns, rows }
    }

    /// The parts of a page.
    pub(super) fn sections(&self) -> Vec<Section> {
        let table = |heading: &str, Table { columns, rows }| Section::Table { heading: heading.into(), columns, rows };
        vec![
            table("Mean average precision, ours beside the paper's", self.systems()),
            table("Claims", self.verdicts()),
            table("Chosen on one half of the queries and on the other", self.choices()),
        ]
    }

    fn page(&self) -> String {
        let paragraphs = vec![self.protocol.paper.clone(), self.protocol.note.clone()];
        let mut sections = vec![Section::Text { heading: "What this is".into(), paragraphs }];
        sections.extend(self.sections());
        Report { title: self.protocol.title.clone(), question: super::page::QUESTION.into(), sections }.render()
    }

    pub(super) fn json(&self, run: &Run) -> Value {
        let SearchProtocol { name, paper, note, .. } = &self.protocol;
        let one = |of: &CollectionFigures| {
            let systems = self.protocol.systems.iter().zip(&of.systems).map(|(system, figures)| {
                json!({
                    "name": system.name, "map": figures.map, "paper": system.paper, "chosen": figures.chosen,
                    "recipes": figures.recipes, "average_precision": figures.average_precision,
                })
            });
            let systems: Vec<Value> = systems.collect();
            json!({"name": of.name, "documents": of.documents, "queries": of.queries, "systems": systems})
        };
        json!({
            "protocol": name, "paper": paper, "note": note, "seed": run.seed(),
            "paper_collections": self.protocol.paper_collections,
            "collections": self.collections.iter().map(one).collect::<Vec<_>>(),
            "claims": self.claims, "seconds": output::seconds(run),
        })
    }
}
