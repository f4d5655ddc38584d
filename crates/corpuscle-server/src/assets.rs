//! The pages: hand-written files that are part of the program.

use axum::Router;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::get;

use crate::request::typed;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A file that never changes while the program runs.
fn file(text: &'static str, kind: &'static str) -> axum::routing::MethodRouter {
    get(move |_: HeaderMap| async move { answer(text, kind) })
}

fn answer(text: &'static str, kind: &'static str) -> Response {
    typed(text, kind)
}

fn shared() -> Router {
    Router::new()
        .route("/style.css", file(include_str!("page/style.css"), CSS))
        .route("/common.js", file(include_str!("page/common.js"), SCRIPT))
        .route("/icon.svg", file(include_str!("page/icon.svg"), "image/svg+xml"))
        .route("/favicon.ico", file(include_str!("page/icon.svg"), "image/svg+xml"))
}

/// The page to paste text on.
pub(crate) fn serve_pages() -> Router {
    shared()
        .route("/", file(include_str!("page/serve.html"), HTML))
        .route("/serve.js", file(include_str!("page/serve.js"), SCRIPT))
}

/// The page to label on.
pub(crate) fn label_pages() -> Router {
    shared()
        .route("/", file(include_str!("page/label.html"), HTML))
        .route("/label.js", file(include_str!("page/label.js"), SCRIPT))
        .route("/views.js", file(include_str!("page/views.js"), SCRIPT))
}
