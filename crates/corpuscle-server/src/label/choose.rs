//! `GET /v1/next`: the next document for somebody, with what the model says of it.
//!
//! A document shown to one person is not shown to another for a while, so that two people do the work of two.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use corpuscle::Run;
use serde::Deserialize;
use serde_json::{Value, json};

use super::order::{self, Why};
use super::store::check_name;
use super::{Labelling, ours};
use crate::refusal::Refusal;
use crate::request;

/// How long a document is kept for the one it was shown to.
const LEASE: Duration = Duration::from_secs(600);
/// Words behind a prediction that are given.
const TERMS: usize = 40;

/// What has been shown to whom.
#[derive(Debug)]
pub(crate) struct Chooser {
    shuffled: Vec<u32>,
    shown: Mutex<Shown>,
}

#[derive(Debug, Default)]
struct Shown {
    /// Author: the document before them, why it, since when.
    to: HashMap<String, (u32, Why, Instant)>,
    /// How many have been shown in all.
    count: usize,
}

impl Chooser {
    pub(crate) fn new(documents: usize, run: &Run) -> Self {
        Chooser { shuffled: order::shuffled(documents, run), shown: Mutex::default() }
    }

    /// Why a document was shown to somebody, where it was.
    pub(crate) fn why(&self, author: &str, place: u32) -> Option<&'static str> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.to.get(author).filter(|(shown, ..)| *shown == place).map(|(_, why, _)| why.name())
    }

    /// The next document for an author: the one before them still, or a new one.
    fn next(&self, labelling: &Labelling, author: &str) -> Option<(u32, Why)> {
        let pile = labelling.store.pile();
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let done = |place: u32| pile.standing(place).is_some_and(|standing| !standing.opinions.is_empty());
        if let Some((place, why, since)) = shown.to.get_mut(author)
            && !done(*place)
        {
            *since = Instant::now();
            return Some((*place, why.clone()));
        }
        shown.to.remove(author);
        shown.to.retain(|_, (_, _, since)| since.elapsed() < LEASE);
        let free = |place: u32| !done(place) && !shown.to.values().any(|(other, ..)| *other == place);
        let suggested = labelling.learner.suggested();
        // Labels of an earlier start count as shown, so that the turns go on.
        let turn = shown.count.max(pile.labelled().count());
        let (place, why) = order::next(&self.shuffled, suggested.as_ref().map(|list| list.as_slice()), turn, free)?;
        shown.count = turn + 1;
        shown.to.insert(author.to_string(), (place, why.clone(), Instant::now()));
        Some((place, why))
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    author: Option<String>,
}

/// `GET /v1/next`.
pub(super) async fn next(
    State(labelling): State<Arc<Labelling>>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, Refusal> {
    let asked = asked.map_err(|error| Refusal::bad(error.body_text()))?.0;
    let author = asked.author.unwrap_or_else(|| labelling.author.clone());
    check_name("author's name", &author)?;
    let inside = Arc::clone(&labelling);
    labelling.workers.run(move |_| request::answer(&choose(&inside, &author)?)).await
}

/// The next document as it is shown.
pub(super) fn choose(labelling: &Labelling, author: &str) -> Result<Value, Refusal> {
    let Some((place, why)) = labelling.chooser.next(labelling, author) else {
        return Ok(json!({"id": null, "text": null, "done": true, "about": "every document has been looked at"}));
    };
    let mut document = show(labelling, place, author)?;
    document["why"] = json!(why.name());
    let text = document["text"].as_str().unwrap_or_default();
    document["about"] = json!(labelling.learner.in_words_of(text, why).about());
    Ok(document)
}

/// A document with what is known of it: labels, note, predictions, words behind the best one.
pub(super) fn show(labelling: &Labelling, place: u32, author: &str) -> Result<Value, Refusal> {
    let text =
        labelling.store.text(place).map_err(ours)?.ok_or_else(|| Refusal::missing("there is no such document"))?;
    let mut document = {
        let pile = labelling.store.pile();
        let standing = pile.standing(place).cloned().unwrap_or_default();
        let own = standing.opinions.iter().find(|opinion| opinion.author == author);
        let opinion = |opinion: &super::store::Opinion| json!({"author": opinion.author, "labels": opinion.labels, "time": opinion.time});
        json!({
            "id": pile.id(place), "text": text, "labels": standing.labels, "note": standing.note,
            "mine": own.and_then(|own| own.labels.clone()), "skipped": own.is_some_and(|own| own.labels.is_none()),
            "opinions": standing.opinions.iter().map(opinion).collect::<Vec<_>>(),
        })
    };
    let predicted = predict(labelling, place, &text);
    document["predictions"] = predicted.as_ref().map_or(json!([]), |(classes, _)| classes.clone());
    document["terms"] = predicted.map_or(json!([]), |(_, terms)| terms);
    if let Some(learnt) = labelling.learner.learnt()
        && let Some(guess) = learnt.out_of_fold.get(&place)
    {
        document["out_of_fold"] =
            json!({"label": learnt.model.classes().get(guess.class as usize), "probability": guess.probability});
    }
    Ok(document)
}

/// What the model of the moment says of a document, and the words behind it.
fn predict(labelling: &Labelling, place: u32, text: &str) -> Option<(Value, Value)> {
    let (learnt, prepared) = (labelling.learner.learnt()?, labelling.learner.prepared()?);
    let (model, run) = (&learnt.model, &labelling.run);
    let x = prepared.represented.matrix().select_rows(&[place as usize]);
    let said = model.predict_matrix(&x, run).ok()?;
    let values = said.probabilities.as_ref().map_or(said.scores.row(0), |probabilities| probabilities.row(0));
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    let class = |&class: &usize| json!({"label": model.classes().get(class), "probability": values[class]});
    let classes: Vec<Value> = order.iter().map(class).collect();
    let (best, second) = (order.first().copied()?, order.get(1).copied());
    let terms = match model.weigh_terms(text, best as u32, second.map(|second| second as u32), run) {
        Ok((_, terms)) => terms
            .iter()
            .take(TERMS)
            .filter(|part| part.amount != 0.0)
            .map(|part| json!({"term": part.term, "amount": part.amount}))
            .collect(),
        Err(_) => Vec::new(),
    };
    Some((json!(classes), json!(terms)))
}
