//! From a request to its body, and from a value to an answer.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::door::{Door, Limits};
use crate::refusal::Refusal;

/// The whole body, within its size and time.
pub(crate) async fn whole(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Bytes, Refusal> {
    let too_large = || {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("a body has at most {} bytes; send it in parts", limits.body),
        )
    };
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limits.body as u64) {
        return Err(too_large());
    }
    let reading = axum::body::to_bytes(body, limits.body);
    match tokio::time::timeout(limits.time, reading).await {
        Err(_) => Err(slow(limits)),
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => match is_limit(&error) {
            true => Err(too_large()),
            false => Err(Refusal::bad("the body broke off")),
        },
    }
}

/// Said of a body that does not come.
pub(crate) fn slow(limits: &Limits) -> Refusal {
    let reason = format!("the body did not arrive within {} s", limits.time.as_secs_f64());
    Refusal::new(StatusCode::REQUEST_TIMEOUT, reason)
}

fn is_limit(error: &axum::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<http_body_util::LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The body as a value.
pub(crate) async fn json<T: DeserializeOwned>(door: &Door, headers: &HeaderMap, body: Body) -> Result<T, Refusal> {
    parse(&whole(headers, body, &door.limits).await?)
}

/// Bytes as a value.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| Refusal::bad(format!("the body is not what is asked for: {error}")))
}

/// Whether the body is a value a line.
pub(crate) fn is_lines(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(kind.as_str(), "application/x-ndjson" | "application/ndjson" | "application/jsonl")
}

/// An answer in JSON.
pub(crate) fn answer(value: &impl Serialize) -> Result<Response, Refusal> {
    let bytes = serde_json::to_vec(value).map_err(|_| Refusal::ours("the answer cannot be written"))?;
    Ok(typed(bytes, "application/json"))
}

/// An answer of some kind.
pub(crate) fn typed(body: impl IntoResponse, kind: &'static str) -> Response {
    let mut response = body.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
