//! `corpuscle label`: a page to label on, with a model that learns along.
//!
//! ```no_run
//! use corpuscle::Run;
//! use corpuscle_server::{Listen, label};
//! let options = label::Options {
//!     store: "labels.db".into(), author: "Ada".into(), classes: Vec::new(), listen: Listen::default(),
//! };
//! let documents = corpuscle::corpus::demo()?.train.into_iter().map(Ok);
//! let (server, _) = label::Server::open(&options, documents, &Run::new(42, 0)?)?;
//! println!("{}", server.address());
//! server.run()?;
//! # Ok::<(), corpuscle_server::Error>(())
//! ```

mod choose;
mod documents;
mod exchange;
mod figures;
mod learn;
mod learner;
mod openapi;
mod order;
mod store;
mod summary;
mod write;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use corpuscle::Run;
use corpuscle::corpus::Document;
use serde_json::json;

use crate::Result;
use crate::assets;
use crate::connections::Stopper;
use crate::door::{Door, Listen};
use crate::refusal::Refusal;
use crate::request;
use crate::running::Running;
use crate::workers::Workers;
use choose::Chooser;
use learner::Learner;
use store::{Act, Change, Store, check_name};
pub use store::{Added, is_store, read_documents};

const ROUTES: &[&str] = &[
    "/",
    "/healthz",
    "/metrics",
    "/openapi.json",
    "/readyz",
    "/v1/classes",
    "/v1/document",
    "/v1/documents",
    "/v1/events",
    "/v1/export",
    "/v1/import",
    "/v1/labels",
    "/v1/map",
    "/v1/next",
    "/v1/notes",
    "/v1/predict",
    "/v1/skip",
    "/v1/state",
    "/v1/undo",
];

/// What to label, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// The store; made if it is not there.
    pub store: PathBuf,
    /// Who labels when a request does not say.
    pub author: String,
    /// Classes to begin with: name, and what it is about.
    pub classes: Vec<(String, String)>,
    /// Where to listen.
    pub listen: Listen,
}

/// What the routes share.
#[derive(Debug)]
pub(crate) struct Labelling {
    door: Arc<Door>,
    store: Arc<Store>,
    learner: Arc<Learner>,
    chooser: Chooser,
    workers: Workers,
    author: String,
    /// For answers: never the learner's, or an answer would wait for a fit.
    run: Run,
}

/// A server that listens and is about to answer.
#[derive(Debug)]
pub struct Server {
    running: Running,
    labelling: Arc<Labelling>,
    learning: Run,
    thread: JoinHandle<()>,
}

impl Server {
    /// Opens the store, adds documents to it, and listens.
    pub fn open(
        options: &Options,
        documents: impl Iterator<Item = corpuscle::Result<Document>>,
        run: &Run,
    ) -> Result<(Self, Added)> {
        let wrong = |refusal: Refusal| crate::Error::Wrong(refusal.reason);
        check_name("author's name", &options.author).map_err(wrong)?;
        let (store, added) = Store::open(&options.store, documents)?;
        if store.pile().len() == 0 {
            return Err(crate::Error::Wrong("there are no documents to label".into()));
        }
        let store = Arc::new(store);
        let running = Running::open(&options.listen, ROUTES)?;
        let new: Vec<Change> = {
            let pile = store.pile();
            let known = |name: &str, about: &str| {
                pile.classes().iter().any(|class| class.name == name && (class.about == about || about.is_empty()))
            };
            let new = options.classes.iter().filter(|(name, about)| !known(name, about));
            new.map(|(name, about)| Change {
                author: options.author.clone(),
                row: None,
                act: Some(Act::Class(name.clone(), about.clone())),
                why: None,
            })
            .collect()
        };
        if !new.is_empty() {
            store.write_waiting(new).map_err(wrong)?;
        }
        let door = Arc::clone(running.door());
        let learning = Run::new(run.seed(), run.threads().saturating_sub(1).max(1))?.quiet();
        let answering = Run::new(run.seed(), 1)?.quiet();
        let workers = Workers::start(run.threads(), door.limits.queue, door.limits.time)?;
        let (learner, thread) = Learner::start(Arc::clone(&store), Arc::clone(&door), learning.clone())?;
        let chooser = Chooser::new(store.pile().len(), &answering);
        let author = options.author.clone();
        let labelling = Arc::new(Labelling { door, store, learner, chooser, workers, author, run: answering });
        Ok((Server { running, labelling, learning, thread }, added))
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
        let Server { running, labelling, learning, thread } = self;
        let learner = Arc::clone(&labelling.learner);
        let done = running.run(routes(labelling), Duration::from_secs(60), || {});
        learner.end(&learning);
        let _ = thread.join();
        done
    }
}

fn routes(labelling: Arc<Labelling>) -> Router {
    let pages = assets::label_pages();
    let api = Router::new()
        .route("/v1/labels", post(write::label).get(documents::labels))
        .route("/v1/skip", post(write::skip))
        .route("/v1/notes", post(write::note))
        .route("/v1/undo", post(write::undo))
        .route("/v1/classes", post(write::class))
        .route("/v1/next", get(choose::next))
        .route("/v1/document", get(documents::one))
        .route("/v1/documents", get(documents::list))
        .route("/v1/events", get(documents::events))
        .route("/v1/state", get(summary::state))
        .route("/v1/map", get(summary::map))
        .route("/v1/predict", post(summary::predict))
        .route("/v1/export", get(exchange::export))
        .route("/v1/import", post(exchange::import))
        .route("/healthz", get(|| async { request::answer(&json!({"status": "alive"})) }))
        .route("/readyz", get(|| async { request::answer(&json!({"status": "ready"})) }))
        .route("/openapi.json", get(|| async { request::answer(&openapi::document()) }))
        .route("/metrics", get(metrics))
        .with_state(labelling);
    api.merge(pages)
}

/// `GET /metrics`.
async fn metrics(State(labelling): State<Arc<Labelling>>) -> Response {
    let labelled = labelling.store.pile().labelled().count();
    let text = labelling.door.metrics.text(&[
        ("corpuscle_requests_inside", "Requests under way.", labelling.door.inside() as f64),
        ("corpuscle_work_waiting", "Pieces of work that wait for a thread.", labelling.workers.waiting() as f64),
        ("corpuscle_documents", "Documents in the pile.", labelling.store.pile().len() as f64),
        ("corpuscle_labelled_documents", "Documents with a label.", labelled as f64),
        ("corpuscle_log_lines_lost", "Lines that the log had no room for.", labelling.door.journal.lost() as f64),
    ]);
    request::typed(text, "text/plain; version=0.0.4")
}

/// What a fault of the store comes to for whoever asked.
fn ours(error: crate::Error) -> Refusal {
    Refusal::ours(error.to_string())
}
