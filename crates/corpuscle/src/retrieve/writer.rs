//! Adds documents to an index and takes them out.
//!
//! Documents are gathered into segments; while one is written down by a thread of its own, the next takes documents. What a document
//! replaces is settled at the commit ([`Gone`]).

use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use tantivy::IndexWriter;
use tantivy::index::SegmentMeta;

use super::gone::Gone;
use super::index::{About, Index, Written, commit, refused};
use super::searcher::Searcher;
use super::segment::{Begun, LONGEST};
use crate::corpus::Document;
use crate::{Error, Result, Run};

/// Texts that are cut into words together; few in tests, so that a small corpus has several segments.
const BATCH: usize = if cfg!(test) { 64 } else { 16_384 };
/// Characters that are cut into words together.
const BATCH_BYTES: usize = 8 << 20;
/// Segments that are written down beside the one that takes documents; each keeps its tokens in memory.
const AT_ONCE: usize = 2;

/// Adds and deletes documents; nothing is seen by anybody before [`Writer::commit`].
pub struct Writer<'a> {
    index: &'a Index,
    finishing: Finishing,
    writer: IndexWriter,
    about: About,
    waiting: Vec<Document>,
    waiting_bytes: usize,
    begun: Option<Begun>,
    added: u64,
    deleted: u64,
    known: Known,
    /// Ids whose documents go, each with the number from which on they stay.
    gone: FxHashMap<String, u64>,
    run: Run,
}

/// Segments that are being written down, in order. Waits for them in any case: nobody may find files in a folder he removes.
#[derive(Default)]
struct Finishing(VecDeque<JoinHandle<Result<SegmentMeta>>>);

impl Drop for Finishing {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// The ids that a document may have to replace.
struct Known {
    committed: Searcher,
    /// Hashes of the ids of this writer. Two ids with one hash cost a look that finds nothing.
    added: FxHashSet<u64>,
}

impl Known {
    /// Whether an id is perhaps there; from now on it is.
    fn take(&mut self, id: &str) -> Result<bool> {
        let fresh = self.added.insert(FxBuildHasher.hash_one(id));
        Ok(!fresh || self.committed.knows(id)?)
    }
}

impl<'a> Writer<'a> {
    pub(super) fn new(index: &'a Index, writer: IndexWriter, about: About, run: &Run) -> Result<Self> {
        Ok(Writer {
            known: Known { committed: index.searcher()?, added: FxHashSet::default() },
            finishing: Finishing::default(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            begun: None,
            added: 0,
            deleted: 0,
            gone: FxHashMap::default(),
            run: run.clone(),
            index,
            writer,
            about,
        })
    }

    /// Adds a document; one of the same id is replaced.
    pub fn add(&mut self, document: Document) -> Result<()> {
        if document.id.is_empty() || document.id.len() > LONGEST {
            let found = document.id.len();
            return Err(Error::data(format!("an id must have 1 to {LONGEST} bytes; one has {found}")));
        }
        if self.known.take(&document.id)? {
            self.gone.insert(document.id.clone(), self.about.next);
        }
        self.about.next += 1;
        self.added += 1;
        self.waiting_bytes += document.text.len();
        self.waiting.push(document);
        if self.waiting.len() >= BATCH || self.waiting_bytes >= BATCH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Takes the document of an id out, if there is one.
    pub fn delete(&mut self, id: &str) -> Result<()> {
        self.gone.insert(id.to_string(), self.about.next);
        self.deleted += 1;
        Ok(())
    }

    /// Puts what waits into the segment that takes documents.
    fn flush(&mut self) -> Result<()> {
        self.run.check()?;
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let count = waiting.len() as u64;
        if count == 0 {
            return Ok(());
        }
        let mut begun = match self.begun.take() {
            Some(begun) => begun,
            None => {
                let first = self.about.next - count;
                Begun::new(&self.index.index, self.index.fields, &self.about.words, first, &self.run)?
            }
        };
        begun.push(waiting)?;
        self.run.advance(count);
        match begun.is_full() {
            true => self.finish(begun),
            false => {
                self.begun = Some(begun);
                Ok(())
            }
        }
    }

    /// Has a segment written down.
    fn finish(&mut self, begun: Begun) -> Result<()> {
        self.settle(AT_ONCE - 1)?;
        let thread = thread::Builder::new().name("corpuscle-segment".into()).spawn(|| begun.finish());
        self.finishing.0.push_back(thread.map_err(|e| Error::index(e.to_string()))?);
        Ok(())
    }

    /// Waits until at most so many segments are being written down.
    fn settle(&mut self, most: usize) -> Result<()> {
        while self.finishing.0.len() > most
            && let Some(thread) = self.finishing.0.pop_front()
        {
            let segment = thread.join().map_err(|_| Error::index("a thread that wrote to it failed"))??;
            self.writer.add_segment(segment).map_err(refused)?;
        }
        Ok(())
    }

    /// Makes everything lasting, all of it or nothing, and waits until the index is in order.
    pub fn commit(mut self) -> Result<Written> {
        self.flush()?;
        if let Some(begun) = self.begun.take() {
            self.finish(begun)?;
        }
        self.settle(0)?;
        if !self.gone.is_empty() {
            let gone = Gone(Arc::new(std::mem::take(&mut self.gone)));
            self.writer.delete_query(Box::new(gone)).map_err(refused)?;
        }
        self.about.version = env!("CARGO_PKG_VERSION").to_string();
        commit(&mut self.writer, &self.about)?;
        self.writer.wait_merging_threads().map_err(refused)?;
        let documents = self.index.searcher()?.documents();
        Ok(Written { added: self.added, deleted: self.deleted, documents })
    }
}
