//! Queries, judgements and runs as the TREC programs write them.
//!
//! - Queries: JSON Lines with `id` and `text`; lines `id<tab>text`; or TREC topics (`<top>` with `<num>` and `<title>`).
//! - Judgements (qrels): `query 0 document relevance`, or the three columns without the second.
//! - Runs: `query Q0 document rank score name`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::{Error, Result};

/// Judgements: query, then document, then how relevant it is.
pub type Qrels = BTreeMap<String, BTreeMap<String, i32>>;

/// A run: query, then documents with their scores.
pub type Runs = BTreeMap<String, Vec<(String, f64)>>;

/// Reads queries, in their order; `name` is what errors call the file.
pub fn queries(text: &str, name: &str) -> Result<Vec<(String, String)>> {
    let first = text.trim_start();
    let queries = if first.starts_with("<top>") || first.contains("\n<top>") {
        topics(text, name)?
    } else if first.starts_with('{') {
        json_queries(text, name)?
    } else {
        table_queries(text, name)?
    };
    if queries.is_empty() {
        return Err(Error::input(name, None, "there is no query in it"));
    }
    let mut seen = std::collections::HashSet::new();
    if let Some((id, _)) = queries.iter().find(|(id, _)| !seen.insert(id.as_str())) {
        return Err(Error::input(name, None, format!("query {id} is there twice")));
    }
    Ok(queries)
}

fn json_queries(text: &str, name: &str) -> Result<Vec<(String, String)>> {
    let mut queries = Vec::new();
    for (line, row) in (1u64..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty()) {
        let bad = |reason: String| Error::input(name, Some(line), reason);
        let row: serde_json::Value = serde_json::from_str(row).map_err(|e| bad(e.to_string()))?;
        let id = match row.get("id") {
            Some(serde_json::Value::String(id)) => id.clone(),
            Some(serde_json::Value::Number(id)) => id.to_string(),
            _ => return Err(bad("the query has no `id`".into())),
        };
        let Some(text) = row.get("text").and_then(serde_json::Value::as_str) else {
            return Err(bad("the query has no `text`".into()));
        };
        queries.push((id, text.to_string()));
    }
    Ok(queries)
}

fn table_queries(text: &str, name: &str) -> Result<Vec<(String, String)>> {
    let mut queries = Vec::new();
    for (line, row) in (1u64..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty()) {
        let Some((id, text)) = row.split_once('\t') else {
            return Err(Error::input(name, Some(line), "expected an id, a tab and the query"));
        };
        queries.push((id.trim().to_string(), text.trim().to_string()));
    }
    Ok(queries)
}

fn topics(text: &str, name: &str) -> Result<Vec<(String, String)>> {
    let mut queries = Vec::new();
    for top in text.split("<top>").skip(1) {
        let part = |tag: &str| {
            let rest = top.split_once(tag)?.1;
            // An element ends with its end tag or where the next one begins.
            Some(rest.split('<').next().unwrap_or_default().trim())
        };
        let number = part("<num>").map(|number| number.trim_start_matches("Number:").trim());
        let Some(number) = number.filter(|number| !number.is_empty()) else {
            return Err(Error::input(name, None, "a topic has no <num>"));
        };
        let Some(title) = part("<title>") else {
            return Err(Error::input(name, None, format!("topic {number} has no <title>")));
        };
        let title = title.trim_start_matches("Topic:").split_whitespace().collect::<Vec<_>>().join(" ");
        queries.push((number.to_string(), title));
    }
    Ok(queries)
}

/// Reads judgements.
pub fn qrels(text: &str, name: &str) -> Result<Qrels> {
    let mut qrels = Qrels::new();
    for (line, row) in (1u64..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty()) {
        let columns: Vec<&str> = row.split_whitespace().collect();
        let (query, document, relevance) = match columns[..] {
            [query, _, document, relevance] | [query, document, relevance] => (query, document, relevance),
            _ => return Err(Error::input(name, Some(line), "expected query, 0, document and relevance")),
        };
        let relevance: i32 = relevance
            .parse()
            .map_err(|_| Error::input(name, Some(line), format!("`{relevance}` is no relevance: a whole number")))?;
        qrels.entry(query.to_string()).or_default().insert(document.to_string(), relevance);
    }
    if qrels.is_empty() {
        return Err(Error::input(name, None, "there is no judgement in it"));
    }
    Ok(qrels)
}

/// Reads a run.
pub fn runs(text: &str, name: &str) -> Result<Runs> {
    let mut runs = Runs::new();
    for (line, row) in (1u64..).zip(text.lines()).filter(|(_, row)| !row.trim().is_empty()) {
        let columns: Vec<&str> = row.split_whitespace().collect();
        let [query, _, document, _, score, ..] = columns[..] else {
            return Err(Error::input(name, Some(line), "expected query, Q0, document, rank, score and name"));
        };
        let score: f64 = match score.parse() {
            Ok(score) if f64::is_finite(score) => score,
            _ => return Err(Error::input(name, Some(line), format!("`{score}` is no score"))),
        };
        runs.entry(query.to_string()).or_default().push((document.to_string(), score));
    }
    Ok(runs)
}

/// Writes the answer to one query as lines of a run.
pub fn write_run(query: &str, found: &[(String, f64)], name: &str, out: &mut String) {
    for (rank, (document, score)) in (1usize..).zip(found) {
        let _ = writeln!(out, "{query} Q0 {document} {rank} {score} {name}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_queries_is_read() {
        let expected = vec![("301".to_string(), "organized crime".to_string()), ("2".into(), "x y".into())];
        let json = "{\"id\": \"301\", \"text\": \"organized crime\"}\n\n{\"id\": 2, \"text\": \"x y\"}\n";
        assert_eq!(queries(json, "q").unwrap(), expected);
        assert_eq!(queries("301\torganized crime\n2\tx y\n", "q").unwrap(), expected);
        let topics = "<top>\n<num> Number: 301\n<title> organized\n crime\n<desc> Description:\nno\n</top>\n\
            <top><num>2</num><title>x y</title></top>";
        assert_eq!(queries(topics, "q").unwrap(), expected);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_line() {
        for (text, said) in [
            ("", "no query"),
            ("{\"id\": 1}", "q:1: the query has no `text`"),
            ("{\"text\": \"a\"}", "no `id`"),
            ("{oops", "q:1"),
            ("1\ta\nb", "q:2: expected an id, a tab"),
            ("1\ta\n1\tb", "query 1 is there twice"),
            ("<top><title>a</title></top>", "no <num>"),
        ] {
            let error = queries(text, "q").unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!(qrels("1 0 d x", "j").unwrap_err().to_string().contains("j:1: `x` is no relevance"));
        assert!(qrels("1 d", "j").unwrap_err().to_string().contains("j:1: expected"));
        assert!(qrels("\n", "j").unwrap_err().to_string().contains("no judgement"));
        assert!(runs("1 Q0 d 1 nan x", "r").unwrap_err().to_string().contains("`nan` is no score"));
        assert!(runs("1 Q0 d", "r").unwrap_err().to_string().contains("r:1"));
    }

    #[test]
    fn runs_come_back_as_written() {
        let found = vec![("d1".to_string(), 0.1 + 0.2), ("d2".to_string(), -1e-300)];
        let mut text = String::new();
        write_run("7", &found, "test", &mut text);
        assert!(text.starts_with("7 Q0 d1 1 0.30000000000000004 test\n"), "{text}");
        assert_eq!(runs(&text, "r").unwrap()["7"], found);
    }

    #[test]
    fn judgements_have_three_columns_or_four() {
        let qrels = qrels("1\td\t1\n1 0 e 2\n2 0 d -1\n", "j").unwrap();
        assert_eq!((qrels["1"]["d"], qrels["1"]["e"], qrels["2"]["d"]), (1, 2, -1));
    }
}
