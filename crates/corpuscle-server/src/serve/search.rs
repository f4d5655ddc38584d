//! Search in an index that was given at the start.

use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use corpuscle::Run;
use corpuscle::retrieve::{Index, Search, Searcher, Snippet};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Serving;
use crate::Result;
use crate::refusal::Refusal;
use crate::request;

/// Words of a text around what was looked for.
const AROUND: usize = 30;

/// An index, open.
#[derive(Debug)]
pub(crate) struct Shelf {
    searcher: Searcher,
}

impl Shelf {
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        Ok(Shelf { searcher: Index::open(folder)?.searcher()? })
    }

    pub(crate) fn documents(&self) -> u64 {
        self.searcher.documents()
    }

    /// The best documents for a query.
    pub(crate) fn find(&self, query: &str, top: usize, run: &Run) -> Result<Vec<Value>, Refusal> {
        let hits = self.searcher.search(query, &Search::default(), None, top, run)?;
        let mut list = Vec::with_capacity(hits.len());
        for hit in hits {
            let terms: Vec<String> = hit.terms.iter().map(|part| part.term.clone()).collect();
            let snippet = Snippet::of(&hit.text, &terms, self.searcher.words(), AROUND)?;
            list.push(json!({"id": hit.id, "score": hit.score, "terms": terms, "snippet": snippet.text}));
        }
        Ok(list)
    }
}

#[derive(Debug, Deserialize)]
struct Asked {
    query: String,
    top: Option<usize>,
}

/// `POST /v1/search`.
pub(super) async fn handle(
    State(serving): State<Arc<Serving>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let asked: Asked = request::json(&serving.door, &headers, body).await?;
    let inside = Arc::clone(&serving);
    let answer = serving.workers.run(move |_| {
        let shelf = inside.shelf.as_ref();
        let shelf = shelf.ok_or_else(|| Refusal::missing("this server was started without an index to search in"))?;
        let hits = shelf.find(&asked.query, asked.top.unwrap_or(10).min(1000), &inside.run)?;
        request::answer(&json!({"hits": hits}))
    });
    answer.await
}
