//! Why a text got its label: the words behind it, and the documents near it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use corpuscle::matrix::Matrix;
use corpuscle::recipe::Model;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Serving;
use super::models::Loaded;
use super::predict::order;
use super::search::Shelf;
use crate::refusal::Refusal;
use crate::request;

/// Texts that are explained at once, at most.
const MOST_TEXTS: usize = 100;

#[derive(Debug, Deserialize)]
struct Asked {
    texts: Option<Vec<String>>,
    text: Option<String>,
    model: Option<String>,
    top: Option<usize>,
    near: Option<usize>,
}

/// `POST /v1/explain`.
pub(super) async fn handle(
    State(serving): State<Arc<Serving>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let asked: Asked = request::json(&serving.door, &headers, body).await?;
    let texts = match (asked.texts, asked.text) {
        (Some(texts), None) => texts,
        (None, Some(text)) => vec![text],
        _ => return Err(Refusal::bad("give `texts`, a list, or `text`, one of them")),
    };
    if texts.len() > MOST_TEXTS {
        return Err(Refusal::bad(format!("at most {MOST_TEXTS} texts are explained at once")));
    }
    let named = serving.models.get(asked.model.as_deref())?;
    let (name, loaded) = (named.name.clone(), named.now());
    let inside = Arc::clone(&serving);
    let (top, near) = (asked.top.unwrap_or(10).min(1000), asked.near.unwrap_or(5).min(100));
    let answer = serving.workers.run(move |_| {
        let explained: Result<Vec<Value>, Refusal> =
            texts.iter().map(|text| explain(&inside, &loaded, text, top, near)).collect();
        request::answer(&json!({"model": name, "version": loaded.version, "explanations": explained?}))
    });
    answer.await
}

fn explain(serving: &Serving, loaded: &Loaded, text: &str, top: usize, near: usize) -> Result<Value, Refusal> {
    let (model, run) = (&loaded.model, &serving.run);
    let x = model.represent_texts(&[text], run)?;
    let said = model.predict_matrix(&x, run)?;
    let order = order(said.scores.row(0));
    let probability =
        |class: usize| said.probabilities.as_ref().and_then(|probabilities| probabilities.row(0).get(class).copied());
    let class = |class: usize| json!({"label": model.classes().get(class), "probability": probability(class), "score": said.scores.row(0)[class]});
    let best = order.first().copied().ok_or_else(|| Refusal::bad("this model knows no classes"))?;
    let second = order.get(1).copied();
    let (weighing, terms) = model.weigh_terms(text, best as u32, second.map(|class| class as u32), run)?;
    let terms: Vec<Value> =
        terms.iter().take(top).map(|part| json!({"term": part.term, "amount": part.amount})).collect();
    let novelty = model.novelty(&x, &said, run).ok().and_then(|list| list.first().copied());
    Ok(json!({
        "label": model.classes().get(best), "probability": probability(best), "score": said.scores.row(0)[best],
        "runner_up": second.map(|second| model.classes().get(second)),
        "classes": order.iter().take(5).map(|&number| class(number)).collect::<Vec<_>>(),
        "novelty": novelty,
        "weighing": weighing.name(), "about": weighing.about(),
        "terms": terms,
        "neighbours": neighbours(model, serving.shelf.as_ref(), &x, text, near, serving)?,
    }))
}

/// Documents of the index that share its words; else the training documents a `knn` model has kept.
fn neighbours(
    model: &Model,
    shelf: Option<&Shelf>,
    x: &Matrix,
    text: &str,
    near: usize,
    serving: &Serving,
) -> Result<Vec<Value>, Refusal> {
    if let Some(shelf) = shelf {
        return shelf.find(text, near, &serving.run);
    }
    let Some(kept) = model.nearest_kept(x, near, &serving.run)? else { return Ok(Vec::new()) };
    let list = kept.into_iter().next().unwrap_or_default();
    Ok(list
        .iter()
        .map(|near| {
            let labels: Vec<&String> =
                near.labels.iter().filter_map(|&label| model.classes().get(label as usize)).collect();
            json!({"row": near.row + 1, "labels": labels, "nearness": near.value})
        })
        .collect())
}
