//! `corpuscle search`: the best documents for a query, and why.

use std::io::{self, BufRead, IsTerminal, Write};

use corpuscle::Run;
use corpuscle::retrieve::{Hit, Search, Searcher, Snippet, Vectors, trec};
use serde_json::{Value, json};

use crate::args::{self, Everywhere};
use crate::output::{self, WrongCall};
use crate::screen;

/// Words of a document that are shown.
const WIDTH: usize = 30;

pub(crate) fn run(args: &args::Search, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let how = super::how(&args.rank)?;
    let searcher = super::open(&args.index)?;
    let vectors = super::vectors(&args.rank, &args.index, &searcher, run)?;
    let asked = Asked { searcher: &searcher, how: &how, vectors: vectors.as_ref(), top: args.top as usize };
    if let (Some(queries), Some(output)) = (&args.queries, &args.output) {
        return batch(&asked, &super::queries(queries)?, output, everywhere, run);
    }
    match &args.query {
        Some(query) => asked.answer(query, everywhere, run),
        None if everywhere.json => Err(WrongCall("--json needs a query".into()).into()),
        None => prompt(&asked, everywhere, run),
    }
}

struct Asked<'a> {
    searcher: &'a Searcher,
    how: &'a Search,
    vectors: Option<&'a Vectors>,
    top: usize,
}

impl Asked<'_> {
    fn answer(&self, query: &str, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
        let found = self.searcher.search(query, self.how, self.vectors, self.top, run)?;
        let mut shown = Vec::with_capacity(found.len());
        for hit in &found {
            let terms: Vec<String> = hit.terms.iter().map(|part| part.term.clone()).collect();
            shown.push(Snippet::of(&hit.text, &terms, self.searcher.words(), WIDTH)?);
        }
        if everywhere.json {
            let one = |(hit, snippet): (&Hit, &Snippet)| -> Value {
                json!({
                    "id": hit.id, "score": hit.score, "words": hit.words, "cosine": hit.cosine, "terms": hit.terms,
                    "snippet": snippet.text, "marks": snippet.marks.iter().map(|m| [m.start, m.end]).collect::<Vec<_>>(),
                })
            };
            let hits: Vec<Value> = found.iter().zip(&shown).map(one).collect();
            return output::print_json(&json!({
                "query": query, "documents": self.searcher.documents(), "how": self.how, "hits": hits,
            }));
        }
        let mut text = String::new();
        for (rank, (hit, snippet)) in (1..).zip(found.iter().zip(&shown)) {
            let reasons: Vec<String> = hit.terms.iter().map(|part| format!("{} {:.2}", part.term, part.adds)).collect();
            let cosine = hit.cosine.map_or(String::new(), |cosine| format!(" · cosine {cosine:.3}"));
            text += &format!(
                "{rank}. {}  {:.3}\n   {}\n   {}{cosine}\n",
                hit.id,
                hit.score,
                marked(snippet),
                reasons.join(", ")
            );
        }
        if found.is_empty() {
            let of = output::count(self.searcher.documents() as usize);
            text = format!("nothing found: no word of the query is in any of {of} documents\n");
        }
        output::print_text(&text)
    }
}

/// Words looked for in bold, where a terminal shows it; the reasons below name them anyway.
fn marked(snippet: &Snippet) -> String {
    if !io::stdout().is_terminal() || !screen::has_colours() {
        return snippet.text.clone();
    }
    let (mut text, mut end) = (String::new(), 0);
    for mark in &snippet.marks {
        text += snippet.text.get(end..mark.start).unwrap_or_default();
        text += "\x1b[1m";
        text += snippet.text.get(mark.clone()).unwrap_or_default();
        text += "\x1b[0m";
        end = mark.end;
    }
    text + snippet.text.get(end..).unwrap_or_default()
}

/// Answers lines as they are typed.
fn prompt(asked: &Asked<'_>, everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let talking = io::stdin().is_terminal() && !everywhere.quiet;
    let mut lines = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        if talking {
            io::stderr().write_all(b"search> ")?;
        }
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let query = String::from_utf8_lossy(&line);
        if !query.trim().is_empty() {
            asked.answer(query.trim(), everywhere, run)?;
        }
    }
}

/// Answers all queries into a run file, whole or not at all.
fn batch(
    asked: &Asked<'_>,
    queries: &[(String, String)],
    path: &std::path::Path,
    everywhere: &Everywhere,
    run: &Run,
) -> anyhow::Result<()> {
    crate::input::check_writable(path)?;
    let mut text = String::new();
    run.watch("search", Some(queries.len() as u64), || -> anyhow::Result<()> {
        for (id, query) in queries {
            let found = asked.searcher.ids(query, asked.how, asked.vectors, asked.top, &run.quiet())?;
            trec::write_run(id, &found, "corpuscle", &mut text);
            run.advance(1);
        }
        Ok(())
    })?;
    output::write_beside(path, |file| Ok(file.write_all(text.as_bytes())?))?;
    let lines = text.lines().count();
    if everywhere.json {
        return output::print_json(&json!({"queries": queries.len(), "rows": lines, "seconds": output::seconds(run)}));
    }
    output::print_text(&output::facts(&[
        ("run", path.display().to_string()),
        ("queries", output::count(queries.len())),
        ("rows", output::count(lines)),
    ]))
}
