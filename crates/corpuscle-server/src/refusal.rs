//! What is refused, and how it is said: `{"error": {"reason": …}}` with a fitting status.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// An answer that is no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) reason: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Refusal { status, reason: reason.into() }
    }

    /// The request itself is wrong.
    pub(crate) fn bad(reason: impl Into<String>) -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, reason)
    }

    /// There is no such thing.
    pub(crate) fn missing(reason: impl Into<String>) -> Self {
        Refusal::new(StatusCode::NOT_FOUND, reason)
    }

    /// There is no room just now.
    pub(crate) fn busy(reason: impl Into<String>) -> Self {
        Refusal::new(StatusCode::TOO_MANY_REQUESTS, reason)
    }

    /// Something in here is wrong.
    pub(crate) fn ours(reason: impl Into<String>) -> Self {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, reason)
    }
}

/// What the library refuses is about what it was asked: these requests name texts and numbers only.
impl From<corpuscle::Error> for Refusal {
    fn from(error: corpuscle::Error) -> Self {
        Refusal::bad(error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, json!({"error": {"reason": self.reason}}).to_string()).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
