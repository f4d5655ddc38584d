//! Documents and labels as lists: pages of them, filtered, found by words.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::choose;
use super::learn::{Guess, Learnt};
use super::store::{Pile, Standing};
use super::{Labelling, ours};
use crate::refusal::Refusal;
use crate::request;

/// Documents of a page, and characters of a text in it.
const PAGE: usize = 50;
const MOST: usize = 500;
const BEGINNING: usize = 240;
/// Documents a search finds, at most.
const FOUND: usize = 1000;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    /// `all`, `unlabelled`, `labelled`, `doubt`, `check`, `disputed`, `skipped`, `notes`.
    show: Option<String>,
    label: Option<String>,
    q: Option<String>,
    offset: Option<usize>,
    limit: Option<usize>,
    id: Option<String>,
    author: Option<String>,
    after: Option<u64>,
}

type Given = Result<Query<Asked>, QueryRejection>;

fn asked(given: Given) -> Result<Asked, Refusal> {
    given.map(|query| query.0).map_err(|error| Refusal::bad(error.body_text()))
}

/// `GET /v1/document?id=…`.
pub(super) async fn one(State(labelling): State<Arc<Labelling>>, given: Given) -> Result<Response, Refusal> {
    let asked = asked(given)?;
    let id = asked.id.ok_or_else(|| Refusal::bad("say which document, by its `id`"))?;
    let place = labelling.store.pile().place(&id);
    let place = place.ok_or_else(|| Refusal::missing("there is no document with that `id`"))?;
    let author = asked.author.unwrap_or_else(|| labelling.author.clone());
    let inside = Arc::clone(&labelling);
    labelling.workers.run(move |_| request::answer(&choose::show(&inside, place, &author)?)).await
}

/// `GET /v1/documents`.
pub(super) async fn list(State(labelling): State<Arc<Labelling>>, given: Given) -> Result<Response, Refusal> {
    let asked = asked(given)?;
    let inside = Arc::clone(&labelling);
    labelling.workers.run(move |_| request::answer(&page(&inside, &asked)?)).await
}

fn page(labelling: &Labelling, asked: &Asked) -> Result<Value, Refusal> {
    let learnt = labelling.learner.learnt();
    let found: Option<Vec<u32>> = match asked.q.as_deref().filter(|query| !query.trim().is_empty()) {
        Some(query) => {
            Some(labelling.store.search(query, FOUND).map_err(ours)?.iter().map(|found| found.place).collect())
        }
        None => None,
    };
    let (offset, limit) = (asked.offset.unwrap_or(0), asked.limit.unwrap_or(PAGE).min(MOST));
    let (total, places) = {
        let pile = labelling.store.pile();
        let all = places(&pile, learnt.as_deref(), found, asked)?;
        let page: Vec<u32> = all.iter().copied().skip(offset).take(limit).collect();
        (all.len(), page)
    };
    let mut documents = Vec::with_capacity(places.len());
    for place in places {
        let text = labelling.store.text(place).map_err(ours)?.unwrap_or_default();
        let pile = labelling.store.pile();
        documents.push(brief(&pile, learnt.as_deref(), place, &text));
    }
    Ok(json!({"total": total, "offset": offset, "documents": documents}))
}

/// The places that are asked for, in the order that suits.
fn places(pile: &Pile, learnt: Option<&Learnt>, found: Option<Vec<u32>>, asked: &Asked) -> Result<Vec<u32>, Refusal> {
    let labels = |place: u32| pile.standing(place).and_then(|standing| standing.labels.as_deref());
    let all = || (0..pile.len() as u32).collect::<Vec<u32>>();
    let said = |wanted: fn(&Standing) -> bool| {
        pile.standings().filter(|(_, standing)| wanted(standing)).map(|(place, _)| place).collect::<Vec<u32>>()
    };
    let mut places = match asked.show.as_deref().unwrap_or("all") {
        "all" => all(),
        "unlabelled" => all().into_iter().filter(|&place| labels(place).is_none()).collect(),
        // What was done last comes first.
        "labelled" => {
            let mut list: Vec<(u64, u32)> = pile
                .standings()
                .filter(|(_, standing)| standing.labels.is_some())
                .map(|(place, standing)| {
                    (standing.opinions.iter().map(|opinion| opinion.event).max().unwrap_or(0), place)
                })
                .collect();
            list.sort_by(|a, b| b.cmp(a));
            list.into_iter().map(|(_, place)| place).collect()
        }
        "doubt" => learnt.map_or_else(Vec::new, |learnt| learnt.doubtful.clone()),
        "check" => learnt.map_or_else(Vec::new, |learnt| contradicted(pile, learnt)),
        "disputed" => said(Standing::is_disputed),
        "skipped" => said(|standing| standing.labels.is_none() && !standing.opinions.is_empty()),
        "notes" => said(|standing| !standing.note.is_empty()),
        other => {
            return Err(Refusal::bad(format!(
                "`show` is all, unlabelled, labelled, doubt, check, disputed, skipped or notes, not `{other}`"
            )));
        }
    };
    if let Some(found) = found {
        // In the order of the search.
        let wanted: std::collections::HashSet<u32> = places.into_iter().collect();
        places = found.into_iter().filter(|place| wanted.contains(place)).collect();
    }
    if let Some(label) = asked.label.as_deref().filter(|label| !label.is_empty()) {
        let predicted = |place: u32| {
            let guess = learnt.and_then(|learnt| Some((learnt, learnt.guesses.get(place as usize)?)));
            guess.and_then(|(learnt, guess)| learnt.model.classes().get(guess.class as usize)).map(String::as_str)
        };
        // A document without a label counts as what it is taken for.
        places.retain(|&place| match labels(place) {
            Some(labels) => labels.iter().any(|own| own == label),
            None => predicted(place) == Some(label),
        });
    }
    Ok(places)
}

/// Labelled documents that a model which had not seen their label takes for something else, and is at least as sure of it as it
/// is on average where it agrees with a label of that class (Northcutt, Jiang and Chuang, Confident learning, 2021); the surest first.
fn contradicted(pile: &Pile, learnt: &Learnt) -> Vec<u32> {
    let classes = learnt.model.classes();
    let agrees = |place: u32, guess: &Guess| {
        let labels = pile.standing(place)?.labels.as_deref()?;
        Some(labels.contains(classes.get(guess.class as usize)?))
    };
    // Sum of probabilities and number of agreements of each class; sorted, so that sums do not depend on a map's order.
    let mut guesses: Vec<(u32, &Guess)> = learnt.out_of_fold.iter().map(|(place, guess)| (*place, guess)).collect();
    guesses.sort_by_key(|(place, _)| *place);
    let mut usual = vec![(0.0f32, 0u32); classes.len()];
    for (place, guess) in &guesses {
        if agrees(*place, guess) == Some(true) {
            let (sum, count) = &mut usual[guess.class as usize];
            *sum += guess.probability;
            *count += 1;
        }
    }
    let is_sure = |guess: &Guess| {
        let (sum, count) = usual[guess.class as usize];
        count > 0 && guess.probability >= sum / count as f32
    };
    let wrong = |(place, guess): &(u32, &Guess)| agrees(*place, guess) == Some(false) && is_sure(guess);
    let mut list: Vec<(f32, u32)> =
        guesses.into_iter().filter(wrong).map(|(place, guess)| (guess.margin, place)).collect();
    list.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    list.into_iter().map(|(_, place)| place).collect()
}

fn brief(pile: &Pile, learnt: Option<&Learnt>, place: u32, text: &str) -> Value {
    let standing = pile.standing(place).cloned().unwrap_or_default();
    let name = |class: u32| learnt.and_then(|learnt| learnt.model.classes().get(class as usize));
    let guess = learnt.and_then(|learnt| learnt.guesses.get(place as usize));
    let held = learnt.and_then(|learnt| learnt.out_of_fold.get(&place));
    let beginning: String = text.chars().take(BEGINNING).collect();
    json!({
        "id": pile.id(place),
        "text": if beginning.len() < text.len() { beginning + "…" } else { beginning },
        "labels": standing.labels, "note": standing.note, "disputed": standing.is_disputed(),
        "opinions": standing.opinions.iter()
            .map(|opinion| json!({"author": opinion.author, "labels": opinion.labels})).collect::<Vec<_>>(),
        "prediction": guess.map(|guess| json!({"label": name(guess.class), "probability": guess.probability})),
        "out_of_fold": held.map(|guess| json!({"label": name(guess.class), "probability": guess.probability})),
    })
}

/// `GET /v1/labels`: the label of every document that has one.
pub(super) async fn labels(State(labelling): State<Arc<Labelling>>, given: Given) -> Result<Response, Refusal> {
    let asked = asked(given)?;
    let inside = Arc::clone(&labelling);
    let answer = labelling.workers.run(move |_| {
        let pile = inside.store.pile();
        let (offset, limit) = (asked.offset.unwrap_or(0), asked.limit.unwrap_or(usize::MAX));
        let all = || pile.standings().filter(|(_, standing)| standing.labels.is_some());
        let entry = |(place, standing): (u32, &Standing)| {
            let last = standing.opinions.iter().rev().find(|opinion| opinion.labels == standing.labels);
            let labels = standing.labels.as_deref().unwrap_or_default();
            json!({
                "id": pile.id(place), "label": labels.first(), "labels": labels,
                "author": last.map(|last| &last.author), "time": last.map(|last| &last.time),
                "event": last.map(|last| last.event), "note": standing.note,
            })
        };
        let total = all().count();
        let list: Vec<Value> = all().skip(offset).take(limit).map(entry).collect();
        request::answer(&json!({"total": total, "labels": list}))
    });
    answer.await
}

/// `GET /v1/events`: everything that was ever done, in order.
pub(super) async fn events(State(labelling): State<Arc<Labelling>>, given: Given) -> Result<Response, Refusal> {
    let asked = asked(given)?;
    let inside = Arc::clone(&labelling);
    let answer = labelling.workers.run(move |_| {
        let pile = inside.store.pile();
        let after = asked.after.unwrap_or(0);
        let list: Vec<Value> = pile
            .events()
            .iter()
            .filter(|event| event.number > after)
            .take(asked.limit.unwrap_or(10_000))
            .map(|event| {
                json!({
                    "number": event.number, "time": event.time, "author": event.author, "kind": event.act.kind(),
                    "id": event.row.map(|row| pile.id(row)), "value": event.act.value(event.why.as_deref()),
                })
            })
            .collect();
        request::answer(&json!({"events": list}))
    });
    answer.await
}
