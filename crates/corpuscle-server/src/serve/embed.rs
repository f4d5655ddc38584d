//! Texts as vectors: what the classifier sees of them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use corpuscle::matrix::{Matrix, Row};
use serde_json::{Value, json};

use super::Serving;
use super::predict::Asked;
use crate::refusal::Refusal;
use crate::request;

/// `POST /v1/embed`: a list of numbers for each text, or its non-zero columns and their values where most are zero.
pub(super) async fn handle(
    State(serving): State<Arc<Serving>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let mut asked: Asked = request::json(&serving.door, &headers, body).await?;
    let texts = asked.texts()?;
    let named = serving.models.get(asked.model())?;
    let (name, loaded) = (named.name.clone(), named.now());
    let inside = Arc::clone(&serving);
    let answer = serving.workers.run(move |_| {
        let x = loaded.model.represent_texts(&texts, &inside.run)?;
        let vectors: Vec<Value> = (0..x.rows()).map(|row| vector(&x, &x.row(row))).collect();
        request::answer(&json!({
            "model": name, "version": loaded.version, "columns": x.cols(), "vectors": vectors,
        }))
    });
    answer.await
}

fn vector(x: &Matrix, row: &Row<'_>) -> Value {
    if x.sparse().cols() == 0 {
        return json!(row.dense);
    }
    let dense = row.dense.iter().enumerate().map(|(at, &value)| (row.dense_start + at, value));
    let sparse = row.columns.iter().zip(row.values).map(|(&column, &value)| (column as usize, value));
    let (columns, values): (Vec<usize>, Vec<f32>) = sparse.chain(dense).unzip();
    json!({"indices": columns, "values": values})
}
