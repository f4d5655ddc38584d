//! Labels out and in: JSON Lines, CSV, and the JSON of Label Studio.
//!
//! All three have every labelled document once, with its text, so that other programs (and `corpuscle train`) can read them; Label Studio's has
//! what each author says of it as an annotation, the one that counts last.
//! Several labels of one document are a list in JSON and separated by `|` in CSV. What comes in is told apart by how it begins;
//! documents are found by their id, labels are written as events of their author.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::store::{Act, Change, Store, check_name};
use super::{Labelling, ours};
use crate::refusal::Refusal;
use crate::request;

/// What a labelled document is, on its way out or in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Labelled {
    id: String,
    labels: Vec<String>,
    author: Option<String>,
    time: String,
    note: String,
    text: String,
    /// What others say: labels, author, time.
    others: Vec<(Vec<String>, String, String)>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    format: Option<String>,
}

/// `GET /v1/export?format=jsonl|csv|labelstudio`.
pub(super) async fn export(
    State(labelling): State<Arc<Labelling>>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, Refusal> {
    let asked = asked.map_err(|error| Refusal::bad(error.body_text()))?.0;
    let format = asked.format.unwrap_or_else(|| "jsonl".to_string());
    let (kind, name) = match format.as_str() {
        "jsonl" => ("application/x-ndjson", "labels.jsonl"),
        "csv" => ("text/csv; charset=utf-8", "labels.csv"),
        "labelstudio" => ("application/json", "labels-labelstudio.json"),
        other => return Err(Refusal::bad(format!("`format` is jsonl, csv or labelstudio, not `{other}`"))),
    };
    let inside = Arc::clone(&labelling);
    let text = labelling.workers.run(move |_| {
        let list = labelled(&inside.store)?;
        Ok(match format.as_str() {
            "jsonl" => json_lines(&list),
            "csv" => csv(&list),
            _ => label_studio(&list),
        })
    });
    let mut response = request::typed(text.await?, kind);
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// Every labelled document, in the order of the pile.
fn labelled(store: &Store) -> Result<Vec<Labelled>, Refusal> {
    let mut list: Vec<(u32, Labelled)> = {
        let pile = store.pile();
        let one = |(place, standing): (u32, &super::store::Standing)| {
            let labels = standing.labels.clone()?;
            let last = standing.opinions.iter().rev().find(|opinion| opinion.labels.as_ref() == Some(&labels));
            let is_last = |author: &str| last.is_some_and(|last| last.author == author);
            let others = standing.opinions.iter().filter(|opinion| !is_last(&opinion.author));
            let others =
                others.filter_map(|other| Some((other.labels.clone()?, other.author.clone(), other.time.clone())));
            Some((
                place,
                Labelled {
                    others: others.collect(),
                    id: pile.id(place).to_string(),
                    author: last.map(|last| last.author.clone()),
                    time: last.map(|last| last.time.clone()).unwrap_or_default(),
                    note: standing.note.clone(),
                    labels,
                    text: String::new(),
                },
            ))
        };
        pile.standings().filter_map(one).collect()
    };
    for (place, labelled) in &mut list {
        labelled.text = store.text(*place).map_err(ours)?.unwrap_or_default();
    }
    Ok(list.into_iter().map(|(_, labelled)| labelled).collect())
}

fn json_lines(list: &[Labelled]) -> String {
    let mut out = String::new();
    for one in list {
        // One label as a text, so that readers of single labels need no list.
        let label = if let [label] = one.labels.as_slice() { json!(label) } else { json!(one.labels) };
        let line = json!({
            "id": one.id, "text": one.text, "label": label, "author": one.author, "time": one.time, "note": one.note,
        });
        let _ = writeln!(out, "{line}");
    }
    out
}

fn csv(list: &[Labelled]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut out = String::from("id,label,author,time,note,text\r\n");
    for one in list {
        let author = one.author.as_deref().unwrap_or_default();
        let fields = [&one.id, &one.labels.join("|"), author, &one.time, &one.note, &one.text];
        let _ = write!(out, "{}\r\n", fields.map(quoted).join(","));
    }
    out
}

fn label_studio(list: &[Labelled]) -> String {
    let mut number = 0;
    let mut annotation = |labels: &[String], author: Option<&str>, time: &str| {
        number += 1;
        json!({
            "id": number, "created_at": time, "created_username": author,
            "result": [{
                "id": format!("label-{number}"), "type": "choices", "from_name": "label", "to_name": "text",
                "value": {"choices": labels},
            }],
        })
    };
    let mut tasks = Vec::with_capacity(list.len());
    for (at, one) in list.iter().enumerate() {
        let others = one.others.iter().map(|(labels, author, time)| (labels, Some(author.as_str()), time));
        let all = others.chain([(&one.labels, one.author.as_deref(), &one.time)]);
        let annotations: Vec<Value> = all.map(|(labels, author, time)| annotation(labels, author, time)).collect();
        let data = json!({"text": one.text, "id": one.id, "note": one.note});
        tasks.push(json!({"id": at + 1, "data": data, "annotations": annotations}));
    }
    Value::Array(tasks).to_string()
}

/// `POST /v1/import`: any of the three.
pub(super) async fn import(
    State(labelling): State<Arc<Labelling>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let bytes = request::whole(&headers, body, &labelling.door.limits).await?;
    let inside = Arc::clone(&labelling);
    let read = labelling.workers.run(move |_| {
        let text = std::str::from_utf8(&bytes).map_err(|_| Refusal::bad("the file is not UTF-8"))?;
        changes(&inside, read(text)?)
    });
    let (changes, unknown) = read.await?;
    let labels = changes.iter().filter(|change| matches!(change.act, Some(Act::Label(_)))).count();
    labelling.store.write(changes).await?;
    request::answer(&json!({"labels": labels, "unknown": unknown}))
}

/// The events that labels from outside come to, and how many documents are not in the pile.
fn changes(labelling: &Labelling, list: Vec<Labelled>) -> Result<(Vec<Change>, usize), Refusal> {
    let pile = labelling.store.pile();
    let (mut changes, mut unknown) = (Vec::new(), 0);
    for one in list {
        let Some(place) = pile.place(&one.id) else {
            unknown += 1;
            continue;
        };
        let author = one.author.unwrap_or_else(|| labelling.author.clone());
        check_name("author's name", &author)?;
        let change = |act| Change { author: author.clone(), row: Some(place), act: Some(act), why: None };
        changes.push(change(Act::Label(one.labels)));
        if !one.note.is_empty() {
            changes.push(change(Act::Note(one.note)));
        }
    }
    Ok((changes, unknown))
}

/// Labels from any of the three.
fn read(text: &str) -> Result<Vec<Labelled>, Refusal> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut list = match text.trim_start().chars().next() {
        None => Vec::new(),
        Some('[') => {
            let tasks: Vec<Value> = request::parse(text.as_bytes())?;
            tasks
                .iter()
                .enumerate()
                .map(|(at, task)| from_task(task).map_err(|reason| Refusal::bad(format!("task {}: {reason}", at + 1))))
                .collect::<Result<Vec<_>, _>>()?
                .concat()
        }
        Some('{') => {
            let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
            let one = |(at, line): (usize, &str)| {
                let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
                from_object(&value).map_err(|reason| format!("line {}: {reason}", at + 1))
            };
            lines.map(one).collect::<Result<Vec<_>, String>>().map_err(Refusal::bad)?
        }
        Some(_) => from_csv(text)?,
    };
    for one in &mut list {
        one.labels.sort();
        one.labels.dedup();
    }
    Ok(list)
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn from_object(value: &Value) -> Result<Labelled, String> {
    let id = value.get("id").and_then(text_of).ok_or("there is no `id`")?;
    let labels = value.get("label").or_else(|| value.get("labels")).ok_or("there is no `label`")?;
    let labels = match labels {
        Value::Array(list) => list.iter().map(text_of).collect::<Option<Vec<_>>>(),
        one => text_of(one).map(|label| vec![label]),
    };
    let text = |key: &str| value.get(key).and_then(text_of).unwrap_or_default();
    Ok(Labelled {
        id,
        labels: labels.ok_or("a label is a text")?,
        author: value.get("author").and_then(text_of).filter(|author| !author.is_empty()),
        time: text("time"),
        note: text("note"),
        text: String::new(),
        others: Vec::new(),
    })
}

/// The answers to a task of Label Studio, in their order; those that were given up are none.
fn from_task(task: &Value) -> Result<Vec<Labelled>, String> {
    let id = task.pointer("/data/id").and_then(text_of).ok_or("there is no `data.id`")?;
    let note = task.pointer("/data/note").and_then(text_of).unwrap_or_default();
    let annotations = task.get("annotations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let given = annotations.iter().filter(|one| one.get("was_cancelled") != Some(&Value::Bool(true)));
    let one = |annotation: &Value| {
        let results = annotation.get("result").and_then(Value::as_array).ok_or("an annotation without `result`")?;
        let choices = results.iter().filter_map(|result| result.pointer("/value/choices").and_then(Value::as_array));
        let labels = choices.flatten().map(text_of).collect::<Option<Vec<_>>>().ok_or("a choice is a text")?;
        let author = annotation.get("created_username").or_else(|| annotation.get("completed_by")).and_then(text_of);
        let author = author.filter(|author| !author.is_empty());
        let (id, time, text) = (id.clone(), String::new(), String::new());
        Ok(Labelled { id, labels, author, time, note: String::new(), text, others: Vec::new() })
    };
    let mut list = given.map(one).collect::<Result<Vec<_>, String>>()?;
    if let Some(last) = list.last_mut() {
        last.note = note;
    }
    Ok(list)
}

fn from_csv(text: &str) -> Result<Vec<Labelled>, Refusal> {
    let mut rows = rows_of(text)?.into_iter();
    let head = rows.next().unwrap_or_default();
    let column = |name: &str| head.iter().position(|field| field.trim().eq_ignore_ascii_case(name));
    let (Some(id), Some(label)) = (column("id"), column("label").or_else(|| column("labels"))) else {
        return Err(Refusal::bad("a CSV of labels has the columns `id` and `label`"));
    };
    let (author, note) = (column("author"), column("note"));
    let mut list = Vec::new();
    for (at, row) in rows.enumerate() {
        let field = |place: Option<usize>| place.and_then(|place| row.get(place)).cloned().unwrap_or_default();
        if row.len() != head.len() {
            return Err(Refusal::bad(format!("row {} has {} fields, the head {}", at + 2, row.len(), head.len())));
        }
        let labels = field(Some(label));
        list.push(Labelled {
            id: field(Some(id)),
            labels: labels.split('|').filter(|label| !label.is_empty()).map(str::to_string).collect(),
            author: Some(field(author)).filter(|author| !author.is_empty()),
            time: String::new(),
            note: field(note),
            text: String::new(),
            others: Vec::new(),
        });
    }
    Ok(list)
}

/// The rows of a CSV as RFC 4180 has it.
fn rows_of(text: &str) -> Result<Vec<Vec<String>>, Refusal> {
    let mut rows = Vec::new();
    let (mut row, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if field.is_empty() => quoted = true,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted && characters.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            other => field.push(other),
        }
    }
    if quoted {
        return Err(Refusal::bad("a quote is never closed"));
    }
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push(row);
    }
    rows.retain(|row| row.len() > 1 || row.iter().any(|field| !field.is_empty()));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Vec<Labelled> {
        let one = |id: &str, labels: &[&str], note: &str, text: &str| Labelled {
            id: id.into(),
            labels: labels.iter().map(|label| label.to_string()).collect(),
            author: Some("Ada".into()),
            time: "2026-11-16T22:19:23.007Z".into(),
            note: note.into(),
            text: text.into(),
            others: Vec::new(),
        };
        vec![
            one("1", &["a, \"b\""], "why\nnot?", "a text,\r\nwith \"all\" of it"),
            one("zwei", &["x", "y"], "", "é 東京"),
            one("3", &[], "", ""),
        ]
    }

    #[test]
    fn what_goes_out_comes_in_again() {
        let list = list();
        for (name, text) in [("jsonl", json_lines(&list)), ("csv", csv(&list)), ("labelstudio", label_studio(&list))] {
            let read = read(&text).unwrap();
            assert_eq!(read.len(), list.len(), "{name}");
            for (read, one) in read.iter().zip(&list) {
                assert_eq!((&read.id, &read.labels, &read.author), (&one.id, &one.labels, &one.author), "{name}");
                assert_eq!(read.note, one.note, "{name}");
            }
        }
    }

    #[test]
    fn label_studio_has_what_each_author_says() {
        let mut one = list().remove(1);
        one.others = vec![(vec!["z".into()], "Bob".into(), String::new())];
        let both = read(&label_studio(std::slice::from_ref(&one))).unwrap();
        let said: Vec<_> = both.iter().map(|one| (one.author.as_deref().unwrap(), one.labels.join(" "))).collect();
        assert_eq!(said, [("Bob", "z".to_string()), ("Ada", "x y".to_string())]);
        let given_up = "[{\"data\": {\"id\": 1}, \"annotations\": [{\"was_cancelled\": true, \"result\": []}]}]";
        assert!(read(given_up).unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        for (text, said) in [
            ("{\"id\": 1}", "line 1: there is no `label`"),
            ("{\"id\": 1, \"label\": \"a\"}\n{oops", "key must be a string"),
            ("{\"label\": \"a\"}", "line 1: there is no `id`"),
            ("[{}]", "task 1: there is no `data.id`"),
            ("[{\"data\": {\"id\": 1}, \"annotations\": [{}]}]", "task 1: an annotation without `result`"),
            ("name,label\n1,a\n", "the columns `id` and `label`"),
            ("id,label\n1\n", "row 2 has 1 fields"),
            ("id,label\n1,\"a\n", "a quote is never closed"),
        ] {
            let reason = read(text).unwrap_err().reason;
            assert!(reason.contains(said), "{text}: {reason}");
        }
        assert!(read("").unwrap().is_empty() && read("id,label\n").unwrap().is_empty());
        assert!(read("[{\"data\": {\"id\": 1}}]").unwrap().is_empty());
    }
}
