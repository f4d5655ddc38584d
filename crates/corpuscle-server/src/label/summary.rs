//! How things stand: counts, accuracy, the curve, agreement; the map; what the model of the moment says of a text.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Labelling;
use super::figures::{agreement, labels_needed};
use crate::refusal::Refusal;
use crate::request;

/// `GET /v1/state`.
pub(super) async fn state(State(labelling): State<Arc<Labelling>>) -> Result<Response, Refusal> {
    let inside = Arc::clone(&labelling);
    labelling.workers.run(move |_| request::answer(&summary(&inside))).await
}

fn summary(labelling: &Labelling) -> Value {
    let learnt = labelling.learner.learnt();
    let pile = labelling.store.pile();
    let mut counts: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
    let (mut labelled, mut skipped, mut disputed, mut notes) = (0, 0, 0, 0);
    for (_, standing) in pile.standings() {
        labelled += usize::from(standing.labels.is_some());
        skipped += usize::from(standing.labels.is_none() && !standing.opinions.is_empty());
        disputed += usize::from(standing.is_disputed());
        notes += usize::from(!standing.note.is_empty());
        for label in standing.labels.iter().flatten() {
            *counts.entry(label).or_default() += 1;
        }
    }
    let classes: Vec<Value> = pile
        .classes()
        .iter()
        .map(|class| json!({"name": class.name, "about": class.about, "count": counts.get(class.name.as_str()).copied().unwrap_or(0)}))
        .collect();
    let mut authors: Vec<Value> = Vec::new();
    for author in pile.authors() {
        let own = pile.standings().flat_map(|(_, standing)| &standing.opinions);
        let count = own.filter(|opinion| opinion.author == author && opinion.labels.is_some()).count();
        authors.push(json!({"name": author, "labels": count}));
    }
    // A number of labels may come again after some were taken back: the last word counts.
    let mut curve: Vec<(usize, f64, Value)> = Vec::new();
    for point in pile.measures() {
        let (Some(labels), Some(accuracy)) = (point["labels"].as_u64(), point["accuracy"].as_f64()) else { continue };
        curve.retain(|(known, ..)| *known < labels as usize);
        curve.push((labels as usize, accuracy, point.clone()));
    }
    let points: Vec<(usize, f64)> = curve.iter().map(|(labels, accuracy, _)| (*labels, *accuracy)).collect();
    let accuracy = learnt.as_ref().and_then(|learnt| {
        let share = learnt.accuracy?;
        Some(json!({
            "value": share.value(), "low": share.low, "high": share.high, "right": share.count, "of": share.of,
            "drawn": learnt.drawn, "labels": learnt.labelled,
        }))
    });
    json!({
        "documents": pile.len(), "labelled": labelled, "skipped": skipped, "disputed": disputed, "notes": notes,
        "classes": classes, "author": labelling.author, "authors": authors, "agreement": agreement(&pile),
        "accuracy": accuracy,
        "curve": curve.into_iter().map(|(.., point)| point).collect::<Vec<_>>(),
        "labels_for_90": labels_needed(&points, 0.9),
        "learning": labelling.learner.doing(),
        "recipe": learnt.as_ref().map(|learnt| learnt.model.recipe().to_string()),
        "map": labelling.learner.map().is_some(),
        "version": pile.version(),
    })
}

/// `GET /v1/map`: where documents lie, as flat lists: place, x, y, label and prediction by number, or −1.
pub(super) async fn map(State(labelling): State<Arc<Labelling>>) -> Result<Response, Refusal> {
    let inside = Arc::clone(&labelling);
    let answer = labelling.workers.run(move |_| {
        let Some(map) = inside.learner.map() else { return request::answer(&json!({"ready": false})) };
        let learnt = inside.learner.learnt();
        let pile = inside.store.pile();
        let names: Vec<&str> = pile.classes().iter().map(|class| class.name.as_str()).collect();
        let number = |name: &str| names.iter().position(|known| *known == name).map_or(-1, |at| at as i64);
        let label = |place: u32| {
            let labels = pile.standing(place).and_then(|standing| standing.labels.as_deref());
            labels.and_then(|labels| labels.first()).map_or(-1, |label| number(label))
        };
        let prediction = |place: u32| {
            let class = learnt
                .as_ref()
                .and_then(|learnt| learnt.model.classes().get(learnt.guesses.get(place as usize)?.class as usize));
            class.map_or(-1, |class| number(class))
        };
        request::answer(&json!({
            "ready": true, "classes": names,
            "ids": map.places.iter().map(|&place| pile.id(place)).collect::<Vec<_>>(),
            "x": map.points.iter().map(|point| point[0]).collect::<Vec<_>>(),
            "y": map.points.iter().map(|point| point[1]).collect::<Vec<_>>(),
            "label": map.places.iter().map(|&place| label(place)).collect::<Vec<_>>(),
            "prediction": map.places.iter().map(|&place| prediction(place)).collect::<Vec<_>>(),
        }))
    });
    answer.await
}

#[derive(Debug, Deserialize)]
struct Asked {
    texts: Vec<String>,
}

/// `POST /v1/predict`, by the model of the moment.
pub(super) async fn predict(
    State(labelling): State<Arc<Labelling>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let asked: Asked = request::json(&labelling.door, &headers, body).await?;
    let inside = Arc::clone(&labelling);
    let answer = labelling.workers.run(move |_| {
        let none = || {
            Refusal::new(
                axum::http::StatusCode::CONFLICT,
                "nothing has been learnt yet: label documents of two classes first",
            )
        };
        let learnt = inside.learner.learnt().ok_or_else(none)?;
        let said = learnt.model.predict(&asked.texts, &inside.run)?;
        let one = |row: usize| {
            let class = said.labels[row].first().map(|&class| class as usize);
            let probability = said.probabilities.as_ref().and_then(|list| list.row(row).get(class?).copied());
            json!({"label": class.and_then(|class| learnt.model.classes().get(class)), "probability": probability})
        };
        request::answer(&json!({"predictions": (0..asked.texts.len()).map(one).collect::<Vec<_>>()}))
    });
    answer.await
}
