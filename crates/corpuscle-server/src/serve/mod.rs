//! `corpuscle serve`: models that are there, over HTTP.
//!
//! ```no_run
//! use corpuscle::Run;
//! use corpuscle_server::{Listen, serve};
//! let options = serve::Options { models: vec!["tickets.model".into()], index: None, listen: Listen::default() };
//! let server = serve::Server::open(&options, &Run::new(42, 0)?)?;
//! println!("{}", server.address()); // http://127.0.0.1:40123/?token=…
//! server.run()?; // until a signal, or `server.stopper().stop()` from elsewhere
//! # Ok::<(), corpuscle_server::Error>(())
//! ```

mod drift;
mod embed;
mod explain;
mod lines;
mod models;
mod openapi;
mod predict;
mod search;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use corpuscle::Run;
use serde_json::{Value, json};

use crate::Result;
use crate::assets;
use crate::connections::Stopper;
use crate::door::{Door, Listen};
use crate::refusal::Refusal;
use crate::request;
use crate::running::Running;
use crate::workers::Workers;
use models::Models;
use search::Shelf;

/// How often files of models are looked at.
const LOOK: Duration = Duration::from_millis(500);

const ROUTES: &[&str] = &[
    "/",
    "/healthz",
    "/metrics",
    "/openapi.json",
    "/readyz",
    "/v1/drift",
    "/v1/embed",
    "/v1/explain",
    "/v1/models",
    "/v1/predict",
    "/v1/search",
];

/// What to serve, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// Models: a path, whose file stem is the name, or `name=path`. The first answers when none is named.
    pub models: Vec<String>,
    /// An index to search in.
    pub index: Option<PathBuf>,
    /// Where to listen.
    pub listen: Listen,
}

/// What the routes share.
#[derive(Debug)]
pub(crate) struct Serving {
    door: Arc<Door>,
    models: Models,
    shelf: Option<Shelf>,
    workers: Workers,
    run: Run,
}

/// A server that listens and is about to answer.
#[derive(Debug)]
pub struct Server {
    running: Running,
    serving: Arc<Serving>,
}

impl Server {
    /// Loads the models and listens.
    pub fn open(options: &Options, run: &Run) -> Result<Self> {
        let run = run.quiet();
        let models = Models::load(&options.models, &run)?;
        let shelf = options.index.as_deref().map(Shelf::open).transpose()?;
        let running = Running::open(&options.listen, ROUTES)?;
        let door = Arc::clone(running.door());
        let workers = Workers::start(run.threads(), door.limits.queue, door.limits.time)?;
        Ok(Server { running, serving: Arc::new(Serving { door, models, shelf, workers, run }) })
    }

    /// The address with the token.
    pub fn address(&self) -> String {
        self.running.door().address()
    }

    /// Where it listens.
    pub fn socket(&self) -> SocketAddr {
        self.running.socket()
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        self.running.stopper()
    }

    /// Answers until it is ended.
    pub fn run(self) -> Result<()> {
        let Server { running, serving } = self;
        let watching = Arc::clone(&serving);
        let watch = move || {
            watching.models.refresh(&watching.door);
            watching.models.watch(&watching.door);
        };
        running.run(routes(serving), LOOK, watch)
    }
}

fn routes(serving: Arc<Serving>) -> Router {
    let pages = assets::serve_pages();
    let api = Router::new()
        .route("/v1/predict", post(predict::handle))
        .route("/v1/explain", post(explain::handle))
        .route("/v1/embed", post(embed::handle))
        .route("/v1/search", post(search::handle))
        .route("/v1/drift", get(drift::handle))
        .route("/v1/models", get(list))
        .route("/healthz", get(|| async { request::answer(&json!({"status": "alive"})) }))
        .route("/readyz", get(|| async { request::answer(&json!({"status": "ready"})) }))
        .route("/openapi.json", get(|| async { request::answer(&openapi::document()) }))
        .route("/metrics", get(metrics))
        .with_state(serving);
    api.merge(pages)
}

/// `GET /v1/models`.
async fn list(State(serving): State<Arc<Serving>>) -> Result<Response, Refusal> {
    let about = |named: &models::Named| -> Value {
        let loaded = named.now();
        let about = &loaded.model.metadata().about;
        json!({
            "name": named.name, "version": loaded.version, "recipe": loaded.model.recipe().to_string(),
            "classes": loaded.model.classes(), "multi_label": loaded.model.is_multi_label(),
            "documents": about.documents, "labelled": about.labelled,
        })
    };
    let models: Vec<Value> = serving.models.iter().map(about).collect();
    let index = serving.shelf.as_ref().map(|shelf| json!({"documents": shelf.documents()}));
    request::answer(&json!({"models": models, "index": index}))
}

/// `GET /metrics`.
async fn metrics(State(serving): State<Arc<Serving>>) -> Response {
    let mut text = serving.door.metrics.text(&[
        ("corpuscle_requests_inside", "Requests under way.", serving.door.inside() as f64),
        ("corpuscle_work_waiting", "Pieces of work that wait for a thread.", serving.workers.waiting() as f64),
        ("corpuscle_log_lines_lost", "Lines that the log had no room for.", serving.door.journal.lost() as f64),
    ]);
    drift::write_gauges(&serving, &mut text);
    request::typed(text, "text/plain; version=0.0.4")
}
