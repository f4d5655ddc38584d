//! What people do: label, skip, note, name a class, take back. Answered when it is on disk.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Labelling;
use super::choose;
use super::store::{Act, Change, check_name};
use crate::refusal::Refusal;
use crate::request;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    id: Option<Id>,
    label: Option<String>,
    labels: Option<Vec<String>>,
    note: Option<String>,
    name: Option<String>,
    about: Option<String>,
    author: Option<String>,
    /// Whether the answer brings the next document.
    #[serde(default)]
    next: bool,
}

/// An id; those that look like numbers may come as numbers.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Id {
    Text(String),
    Number(i64),
}

impl Asked {
    fn author(&self, labelling: &Labelling) -> Result<String, Refusal> {
        let author = self.author.clone().unwrap_or_else(|| labelling.author.clone());
        check_name("author's name", &author).map(|()| author)
    }

    fn place(&self, labelling: &Labelling) -> Result<(u32, String), Refusal> {
        let id = match self.id.as_ref().ok_or_else(|| Refusal::bad("say which document, by its `id`"))? {
            Id::Text(id) => id.clone(),
            Id::Number(number) => number.to_string(),
        };
        let place = labelling.store.pile().place(&id);
        place.map(|place| (place, id)).ok_or_else(|| Refusal::missing("there is no document with that `id`"))
    }

    fn labels(&self) -> Result<Vec<String>, Refusal> {
        match (&self.label, &self.labels) {
            (Some(label), None) => Ok(vec![label.clone()]),
            (None, Some(labels)) => {
                // The same labels are the same whatever their order.
                let mut labels = labels.clone();
                labels.sort();
                Ok(labels)
            }
            _ => Err(Refusal::bad("give `label`, or `labels`, a list; an empty list says that it has none of them")),
        }
    }
}

async fn read(labelling: &Labelling, headers: &HeaderMap, body: Body) -> Result<Asked, Refusal> {
    request::json(&labelling.door, headers, body).await
}

/// Answers what was written, with the next document where it is asked for.
async fn written(labelling: &Arc<Labelling>, asked: &Asked, mut answer: Value) -> Result<Response, Refusal> {
    if asked.next {
        let (inside, author) = (Arc::clone(labelling), asked.author(labelling)?);
        // What was written is written, whether there is a next one or not.
        answer["next"] = labelling.workers.run(move |_| choose::choose(&inside, &author)).await.unwrap_or_default();
    }
    request::answer(&answer)
}

/// `POST /v1/labels`.
pub(super) async fn label(
    State(labelling): State<Arc<Labelling>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let asked = read(&labelling, &headers, body).await?;
    let (author, labels) = (asked.author(&labelling)?, asked.labels()?);
    let (place, id) = asked.place(&labelling)?;
    let why = labelling.chooser.why(&author, place).map(str::to_string);
    let change = |act| Change { author: author.clone(), row: Some(place), act: Some(act), why: why.clone() };
    let mut changes = vec![change(Act::Label(labels.clone()))];
    changes.extend(asked.note.clone().map(|note| change(Act::Note(note))));
    let events = labelling.store.write(changes).await?;
    let labelled = labelling.store.pile().labelled().count();
    let label = labels.first().cloned();
    let answer = json!({
        "id": id, "label": label, "labels": labels, "author": author, "event": events.first(), "labelled": labelled,
    });
    written(&labelling, &asked, answer).await
}

/// `POST /v1/skip`.
pub(super) async fn skip(
    State(labelling): State<Arc<Labelling>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let asked = read(&labelling, &headers, body).await?;
    let author = asked.author(&labelling)?;
    let (place, id) = asked.place(&labelling)?;
    let change = Change { author: author.clone(), row: Some(place), act: Some(Act::Skip), why: None };
    let events = labelling.store.write(vec![change]).await?;
    written(&labelling, &asked, json!({"id": id, "author": author, "event": events.first()})).await
}

/// `POST /v1/notes`.
pub(super) async fn note(
    State(labelling): State<Arc<Labelling>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let asked = read(&labelling, &headers, body).await?;
    let author = asked.author(&labelling)?;
    let (place, id) = asked.place(&labelling)?;
    let note = asked.note.clone().ok_or_else(|| Refusal::bad("give the `note`; an empty one takes the last back"))?;
    let change = Change { author: author.clone(), row: Some(place), act: Some(Act::Note(note)), why: None };
    let events = labelling.store.write(vec![change]).await?;
    written(&labelling, &asked, json!({"id": id, "author": author, "event": events.first()})).await
}

/// `POST /v1/classes`.
pub(super) async fn class(
    State(labelling): State<Arc<Labelling>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let asked = read(&labelling, &headers, body).await?;
    let author = asked.author(&labelling)?;
    let name = asked.name.clone().ok_or_else(|| Refusal::bad("give the `name` of the class"))?;
    let act = Act::Class(name.clone(), asked.about.clone().unwrap_or_default());
    let events = labelling.store.write(vec![Change { author, row: None, act: Some(act), why: None }]).await?;
    written(&labelling, &asked, json!({"name": name, "event": events.first()})).await
}

/// `POST /v1/undo`: takes back the author's last label, skip or note.
pub(super) async fn undo(
    State(labelling): State<Arc<Labelling>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let bytes = request::whole(&headers, body, &labelling.door.limits).await?;
    let asked: Asked = request::parse(if bytes.trim_ascii().is_empty() { b"{}" } else { &bytes })?;
    let author = asked.author(&labelling)?;
    let change = Change { author: author.clone(), row: None, act: None, why: None };
    let events = labelling.store.write(vec![change]).await?;
    let place = {
        let pile = labelling.store.pile();
        let number = events.first().copied().unwrap_or_default();
        pile.events().iter().rev().find(|event| event.number == number).and_then(|event| event.row)
    };
    let inside = Arc::clone(&labelling);
    let shown = labelling.workers.run(move |_| match place {
        Some(place) => choose::show(&inside, place, &author),
        None => Ok(Value::Null),
    });
    request::answer(&json!({"event": events.first(), "document": shown.await?}))
}
