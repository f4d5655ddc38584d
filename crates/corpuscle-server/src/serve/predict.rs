//! What a model says of texts: whole batches, or lines as they come.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use corpuscle::recipe::Model;
use serde::{Deserialize, Serialize};

use super::Serving;
use super::lines;
use super::models::Loaded;
use crate::refusal::Refusal;
use crate::request;
use crate::workers::Bench;

/// Texts from which a batch is cut into pieces for a pool of threads.
const MANY: usize = 16;
/// Texts of one request, at most.
pub(super) const MOST_TEXTS: usize = 10_000;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    texts: Option<Vec<String>>,
    text: Option<String>,
    model: Option<String>,
    top: Option<usize>,
}

impl Asked {
    /// The model asked for.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The texts, one way or the other.
    pub(super) fn texts(&mut self) -> Result<Vec<String>, Refusal> {
        let texts = match (self.texts.take(), self.text.take()) {
            (Some(texts), None) => texts,
            (None, Some(text)) => vec![text],
            _ => return Err(Refusal::bad("give `texts`, a list, or `text`, one of them")),
        };
        match texts.len() > MOST_TEXTS {
            true => Err(Refusal::bad(format!("at most {MOST_TEXTS} texts at once; send the others after them"))),
            false => Ok(texts),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Answer {
    model: String,
    version: String,
    predictions: Vec<Predicted>,
}

/// What is said of one text.
#[derive(Debug, Serialize)]
pub(super) struct Predicted {
    /// The best label; none where a model of several labels gives none.
    pub(super) label: Option<String>,
    /// Its number.
    #[serde(skip)]
    pub(super) class: Option<u32>,
    /// Its probability, where the model can tell.
    pub(super) probability: Option<f32>,
    pub(super) score: Option<f32>,
    /// Every label given, for a model of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<Class>>,
    /// The best classes, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    top: Option<Vec<Class>>,
    /// The p-value of being like the training documents; small for foreign ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) novelty: Option<f64>,
}

/// A class with its figures.
#[derive(Debug, Serialize)]
pub(super) struct Class {
    pub(super) label: String,
    pub(super) probability: Option<f32>,
    pub(super) score: f32,
}

/// Class numbers, best first; the lower number of equals.
pub(super) fn order(scores: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    order
}

/// What is said of a text, in names.
fn named(
    model: &Model,
    labels: &[u32],
    scores: &[f32],
    probabilities: Option<&[f32]>,
    top: Option<usize>,
) -> Predicted {
    let class = |number: usize| Class {
        label: model.classes().get(number).cloned().unwrap_or_default(),
        probability: probabilities.and_then(|probabilities| probabilities.get(number).copied()),
        score: scores.get(number).copied().unwrap_or_default(),
    };
    let best = labels.first().map(|&number| class(number as usize));
    Predicted {
        class: labels.first().copied(),
        probability: best.as_ref().and_then(|best| best.probability),
        score: best.as_ref().map(|best| best.score),
        label: best.map(|best| best.label),
        labels: model.is_multi_label().then(|| labels.iter().map(|&number| class(number as usize)).collect()),
        top: top.map(|top| order(scores).into_iter().take(top).map(class).collect()),
        novelty: None,
    }
}

/// Predicts texts: few one by one with what the thread keeps, many in pieces.
pub(super) fn predict(
    loaded: &Loaded,
    texts: &[impl AsRef<str> + Sync],
    top: Option<usize>,
    serving: &Serving,
    bench: &mut Bench,
) -> Result<Vec<Predicted>, Refusal> {
    let model = &loaded.model;
    if texts.len() >= MANY {
        let x = model.represent_texts(texts, &serving.run)?;
        let said = model.predict_matrix(&x, &serving.run)?;
        let novelty = model.novelty(&x, &said, &serving.run).ok();
        let row = |row: usize| {
            let probabilities = said.probabilities.as_ref().map(|probabilities| probabilities.row(row));
            let novelty = novelty.as_ref().and_then(|novelty| novelty.get(row).copied());
            Predicted { novelty, ..named(model, &said.labels[row], said.scores.row(row), probabilities, top) }
        };
        return Ok((0..texts.len()).map(row).collect());
    }
    let predictor = loaded.predictor(bench)?;
    let mut list = Vec::with_capacity(texts.len());
    for text in texts {
        let said = predictor.predict(text.as_ref())?;
        let novelty = said.novelty;
        list.push(Predicted { novelty, ..named(model, said.labels, said.scores, said.probabilities, top) });
    }
    Ok(list)
}

/// Counts what was said of texts.
pub(super) fn count(serving: &Serving, name: &str, loaded: &Loaded, texts: &[impl AsRef<str>], list: &[Predicted]) {
    if let Some((unknown, all)) = loaded.watch.take(&loaded.model, texts, list, &serving.run) {
        serving.door.metrics.sampled(name, unknown, all);
    }
    serving.door.metrics.predicted(name, list.iter().map(|said| (said.label.as_deref(), said.novelty)));
}

/// `POST /v1/predict`.
pub(super) async fn handle(
    State(serving): State<Arc<Serving>>,
    headers: HeaderMap,
    query: axum::extract::RawQuery,
    body: Body,
) -> Result<Response, Refusal> {
    if request::is_lines(&headers) {
        let (model, top) = lines::options(query.0.as_deref())?;
        let body = lines::predict(serving, model, top, body)?;
        let mut response = Response::new(body);
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
        return Ok(response);
    }
    let mut asked: Asked = request::json(&serving.door, &headers, body).await?;
    let texts = asked.texts()?;
    let named = serving.models.get(asked.model.as_deref())?;
    let (name, loaded) = (named.name.clone(), named.now());
    let inside = Arc::clone(&serving);
    let answer = serving.workers.run(move |bench| {
        let predictions = predict(&loaded, &texts, asked.top, &inside, bench)?;
        count(&inside, &name, &loaded, &texts, &predictions);
        let answer = Answer { model: name, version: loaded.version.clone(), predictions };
        // Written here: a long list would keep a thread of the network busy.
        request::answer(&answer)
    });
    answer.await
}
