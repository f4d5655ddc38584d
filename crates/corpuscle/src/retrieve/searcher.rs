//! What is committed in an index, ready to be searched.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hashbrown::HashTable;
use rayon::prelude::*;
use rustc_hash::{FxBuildHasher, FxHashMap};
use tantivy::columnar::StrColumn;
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::store::StoreReader;
use tantivy::{InvertedIndexReader, ReloadPolicy, SegmentReader, TantivyDocument, Term};

use super::index::{Fields, Index, refused};
use crate::text::{Cutter, WordsParams};
use crate::{Error, Result, Run};

/// Blocks of texts that stay unpacked.
const CACHED_BLOCKS: usize = 16;
/// The most ids of a segment that are kept in memory.
const CACHED_IDS: usize = 1_000_000;
/// To look up one id unpacks a block of them, to read them in a row each block once: when the ids asked for, over all queries, times
/// this are as many as there are, all are read and kept. A guess of how many ids a block has.
const READ_BY_ONE: usize = 64;
/// With fewer documents a query is answered where it was asked: to hand it to other threads and back costs some tens of
/// microseconds whatever the index. Seen to be most of the time with one to three thousand documents; where it stops to be is a guess.
const SMALL: u64 = 50_000;
/// Documents that stay cut into words.
const CACHED_TERMS: usize = 4096;
/// Postings that stay unpacked, 8 bytes each: those of the terms asked for first.
const CACHED_POSTINGS: usize = 2_000_000;

/// Terms of a document with their counts.
type TermCounts = Vec<(String, f64)>;

/// The documents of an index as they were when it was opened; later commits change nothing here.
pub struct Searcher {
    fields: Fields,
    words: WordsParams,
    cutter: Cutter,
    pub(super) segments: Vec<Segment>,
    documents: u64,
    tokens: u64,
    /// Collection frequencies that feedback asked for; each costs a walk through a list of postings.
    frequencies: Mutex<FxHashMap<String, u64>>,
    /// The terms of documents that feedback asked for.
    cut: Mutex<FxHashMap<Place, Arc<TermCounts>>>,
    /// Terms that queries asked for.
    asked: Mutex<Asked>,
}

/// Where terms occur, unpacked.
#[derive(Default)]
struct Asked {
    terms: FxHashMap<String, Arc<Occurs>>,
    postings: usize,
}

impl std::fmt::Debug for Searcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Searcher").field("documents", &self.documents).finish_non_exhaustive()
    }
}

/// A part of the index.
pub(super) struct Segment {
    reader: SegmentReader,
    inverted: Arc<InvertedIndexReader>,
    /// The documents' ids: for each its place among all ids in byte order, and these.
    ids: StrColumn,
    /// All ids in byte order, once many were asked for: to look up one costs reading a block of them.
    all_ids: OnceLock<Vec<Box<str>>>,
    /// How many were asked for so far.
    asked_ids: AtomicUsize,
    store: StoreReader,
    /// Tokens of each document.
    pub(super) lengths: Vec<u32>,
    /// When each document came in.
    pub(super) numbers: Vec<u64>,
    /// Memory of queries before.
    scratch: Mutex<Vec<Scratch>>,
}

/// What a query needs for the documents of a segment.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// A number for each document, NaN for those that were not touched: to fill eight bytes for each of a million would take most of a
    /// query's time.
    pub(super) values: Vec<f64>,
    /// Which were touched.
    pub(super) touched: Vec<u32>,
}

impl Segment {
    /// Scratch in which nothing was touched.
    pub(super) fn scratch(&self) -> Scratch {
        let kept = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| Scratch { values: vec![f64::NAN; self.lengths.len()], touched: Vec::new() })
    }

    /// Takes it back.
    pub(super) fn give_back(&self, mut scratch: Scratch) {
        let Scratch { values, touched } = &mut scratch;
        touched.iter().for_each(|&doc| values[doc as usize] = f64::NAN);
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
    }

    /// The place of an id among those of the segment.
    fn place_of_id(&self, id: &str) -> Result<Option<u64>> {
        self.ids.dictionary().term_ord(id).map_err(|e| Error::index(e.to_string()))
    }

    /// The id of a document.
    fn id(&self, doc: u32) -> Result<String> {
        let failed = |e: std::io::Error| Error::index(e.to_string());
        let lost = || Error::index("a document has no id; make it anew from the documents");
        let place = self.ids.ords().first(doc).ok_or_else(lost)?;
        let ids = self.ids.num_terms();
        let many = || self.asked_ids.fetch_add(1, Ordering::Relaxed).saturating_mul(READ_BY_ONE) >= ids;
        if self.all_ids.get().is_none() && ids <= CACHED_IDS && many() {
            let mut all = Vec::with_capacity(self.ids.num_terms());
            let mut stream = self.ids.dictionary().stream().map_err(failed)?;
            while stream.advance() {
                all.push(String::from_utf8_lossy(stream.key()).into());
            }
            let _ = self.all_ids.set(all);
        }
        if let Some(all) = self.all_ids.get() {
            return all.get(place as usize).map(ToString::to_string).ok_or_else(lost);
        }
        let mut id = String::new();
        match self.ids.ord_to_str(place, &mut id).map_err(failed)? {
            true => Ok(id),
            false => Err(lost()),
        }
    }
}

/// Where a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) segment: u32,
    pub(super) doc: u32,
}

/// The documents of one segment that hold a term, ascending, and how often.
#[derive(Debug, Clone, Default)]
pub(super) struct Postings {
    pub(super) docs: Vec<u32>,
    pub(super) counts: Vec<u32>,
}

/// Where a term occurs.
#[derive(Debug)]
pub(super) struct Occurs {
    /// One list for each segment.
    pub(super) lists: Vec<Postings>,
    /// Documents that hold it.
    pub(super) documents: u64,
    /// How often it occurs in all of them.
    pub(super) occurrences: u64,
}

/// A term of a query with its postings.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) term: String,
    pub(super) weight: f64,
    pub(super) occurs: Arc<Occurs>,
}

impl Searcher {
    pub(super) fn of(index: &Index) -> Result<Self> {
        let reader = index.index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(refused)?;
        let reader: tantivy::IndexReader = reader;
        let searcher = reader.searcher();
        let mut segments = Vec::new();
        let (mut documents, mut tokens) = (0, 0);
        for reader in searcher.segment_readers() {
            let column = |name: &str| -> Result<Vec<u64>> {
                let column = reader.fast_fields().u64(name).map_err(refused)?;
                Ok((0..reader.max_doc()).map(|doc| column.first(doc).unwrap_or(0)).collect())
            };
            let lengths: Vec<u32> =
                column("length")?.iter().map(|&length| u32::try_from(length).unwrap_or(u32::MAX)).collect();
            let ids = reader.fast_fields().str("id").map_err(refused)?;
            documents += u64::from(reader.num_docs());
            tokens += reader.doc_ids_alive().map(|doc| u64::from(lengths[doc as usize])).sum::<u64>();
            segments.push(Segment {
                inverted: reader.inverted_index(index.fields.terms).map_err(refused)?,
                ids: ids.ok_or_else(|| Error::index("it has no ids; make it anew from the documents"))?,
                all_ids: OnceLock::new(),
                asked_ids: AtomicUsize::new(0),
                store: reader.get_store_reader(CACHED_BLOCKS).map_err(|e| Error::index(e.to_string()))?,
                numbers: column("number")?,
                lengths,
                scratch: Mutex::default(),
                reader: reader.clone(),
            });
        }
        let words = index.about().words.clone();
        let cutter = Cutter::new(&words)?;
        let (frequencies, cut, asked) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Searcher { fields: index.fields, words, cutter, segments, documents, tokens, frequencies, cut, asked })
    }

    /// Does the work of a query: on the workers of `run`, or here where there are few documents.
    pub(super) fn work<R: Send>(&self, run: &Run, work: impl FnOnce() -> R + Send) -> R {
        if self.documents < SMALL { work() } else { run.install(work) }
    }

    /// `work` of each of several things, shared out where there are many documents.
    pub(super) fn each<T: Sync, R: Send>(&self, things: &[T], run: &Run, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
        match self.documents < SMALL || things.len() < 2 {
            true => things.iter().map(work).collect(),
            false => run.install(|| things.par_iter().map(&work).collect()),
        }
    }

    /// The numbers of the segments.
    pub(super) fn numbers(&self) -> Vec<usize> {
        (0..self.segments.len()).collect()
    }

    /// How many documents there are.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// How many tokens they have together.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The terms of a text as the index knows them, each once with how often it occurs, in the order they come.
    pub fn terms_of(&self, text: &str) -> Result<Vec<(String, f64)>> {
        let mut terms: Vec<(String, f64)> = Vec::new();
        let mut places: HashTable<usize> = HashTable::new();
        for word in self.cutter.terms(text) {
            let hash = FxBuildHasher.hash_one(word.as_str());
            match places.find(hash, |&place| terms[place].0 == word) {
                Some(&place) => terms[place].1 += 1.0,
                None => {
                    terms.push((word, 1.0));
                    places
                        .insert_unique(hash, terms.len() - 1, |&place| FxBuildHasher.hash_one(terms[place].0.as_str()));
                }
            }
        }
        Ok(terms)
    }

    /// The terms of a document.
    pub(super) fn terms_in(&self, place: Place) -> Result<Arc<Vec<(String, f64)>>> {
        let known = self.cut.lock().unwrap_or_else(PoisonError::into_inner).get(&place).cloned();
        if let Some(terms) = known {
            return Ok(terms);
        }
        let terms = Arc::new(self.terms_of(&self.text_at(place)?)?);
        let mut cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        if cut.len() < CACHED_TERMS {
            cut.insert(place, Arc::clone(&terms));
        }
        Ok(terms)
    }

    /// How texts and queries become words.
    pub fn words(&self) -> &WordsParams {
        &self.words
    }

    fn postings(&self, segment: &Segment, term: &str) -> Result<Postings> {
        let term = Term::from_field_text(self.fields.terms, term);
        let list = segment.inverted.read_block_postings(&term, IndexRecordOption::WithFreqs);
        let Some(mut list) = list.map_err(|e| Error::index(e.to_string()))? else { return Ok(Postings::default()) };
        let size = list.doc_freq() as usize;
        let mut found = Postings { docs: Vec::with_capacity(size), counts: Vec::with_capacity(size) };
        let alive = segment.reader.alive_bitset();
        while list.block_len() > 0 {
            let (docs, counts) = (list.docs(), list.freqs());
            match alive {
                None if docs.len() == counts.len() => {
                    found.docs.extend_from_slice(docs);
                    found.counts.extend_from_slice(counts);
                }
                _ => {
                    let is_alive = |doc: u32| alive.is_none_or(|alive| alive.is_alive(doc));
                    for (&doc, &count) in docs.iter().zip(counts).filter(|&(&doc, _)| is_alive(doc)) {
                        found.docs.push(doc);
                        found.counts.push(count);
                    }
                }
            }
            list.advance();
        }
        Ok(found)
    }

    /// The terms that occur, with where they do. The others can say nothing about any document.
    pub(super) fn find(&self, query: &[(String, f64)], run: &Run) -> Result<Vec<Found>> {
        let one = |(term, weight): &(String, f64)| -> Result<Found> {
            run.check()?;
            Ok(Found { term: term.clone(), weight: *weight, occurs: self.occurs(term)? })
        };
        let found: Result<Vec<Found>> = self.each(query, run, one).into_iter().collect();
        Ok(found?.into_iter().filter(|found| found.occurs.occurrences > 0 && found.weight != 0.0).collect())
    }

    /// Where a term occurs. Finding it in the dictionaries and unpacking its postings takes most of a query on a small index, and terms come
    /// again, so lists are kept.
    fn occurs(&self, term: &str) -> Result<Arc<Occurs>> {
        let asked = || self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = asked().terms.get(term) {
            return Ok(Arc::clone(known));
        }
        let lists = self.segments.iter().map(|segment| self.postings(segment, term)).collect::<Result<Vec<_>>>()?;
        let documents: usize = lists.iter().map(|list| list.docs.len()).sum();
        let occurrences = lists.iter().flat_map(|list| &list.counts).map(|&count| u64::from(count)).sum();
        let occurs = Arc::new(Occurs { lists, documents: documents as u64, occurrences });
        let mut asked = asked();
        // A word that occurs nowhere counts too, or made-up ones would fill the memory.
        let room = asked.postings + documents + term.len() + 1;
        if room <= CACHED_POSTINGS && asked.terms.insert(term.to_string(), Arc::clone(&occurs)).is_none() {
            asked.postings = room;
        }
        Ok(occurs)
    }

    /// How often each term occurs in the whole collection.
    pub(super) fn frequencies(&self, terms: &[&str], run: &Run) -> Result<Vec<u64>> {
        let known = |term: &&str| self.frequencies.lock().unwrap_or_else(PoisonError::into_inner).get(*term).copied();
        let one = |term: &&str| -> Result<u64> {
            if let Some(count) = known(term) {
                return Ok(count);
            }
            let mut sum = 0;
            for segment in &self.segments {
                sum += self.postings(segment, term)?.counts.iter().map(|&count| u64::from(count)).sum::<u64>();
            }
            Ok(sum)
        };
        let counts = self.each(terms, run, one).into_iter().collect::<Result<Vec<u64>>>()?;
        let mut cache = self.frequencies.lock().unwrap_or_else(PoisonError::into_inner);
        terms.iter().zip(&counts).for_each(|(term, &count)| {
            cache.insert((*term).to_string(), count);
        });
        Ok(counts)
    }

    /// Every term of the collection, in byte order.
    pub(super) fn vocabulary(&self) -> Result<Vec<String>> {
        let failed = |e: std::io::Error| Error::index(e.to_string());
        let mut terms = std::collections::BTreeSet::new();
        for segment in &self.segments {
            let mut stream = segment.inverted.terms().stream().map_err(failed)?;
            while stream.advance() {
                terms.insert(String::from_utf8_lossy(stream.key()).into_owned());
            }
        }
        Ok(terms.into_iter().collect())
    }

    /// All documents, in the order in which they came in.
    pub(super) fn places(&self) -> Vec<(u64, Place)> {
        let mut places = Vec::with_capacity(self.documents as usize);
        for (number, segment) in (0u32..).zip(&self.segments) {
            let of = |doc: u32| (segment.numbers[doc as usize], Place { segment: number, doc });
            places.extend(segment.reader.doc_ids_alive().map(of));
        }
        places.sort_unstable();
        places
    }

    /// The tokens of a document.
    pub(super) fn length(&self, place: Place) -> u32 {
        self.segments[place.segment as usize].lengths[place.doc as usize]
    }

    /// The text of a document.
    pub(super) fn text_at(&self, place: Place) -> Result<String> {
        let store = &self.segments[place.segment as usize].store;
        let document: TantivyDocument = store.get(place.doc).map_err(refused)?;
        let text = document.get_first(self.fields.text).and_then(|value| value.as_str().map(str::to_string));
        text.ok_or_else(|| Error::index("a document has no text; make it anew from the documents"))
    }

    /// The ids of documents.
    pub(super) fn ids_of(&self, places: &[Place]) -> Result<Vec<String>> {
        places.iter().map(|&place| self.id_at(place)).collect()
    }

    /// The id of a document.
    pub(super) fn id_at(&self, place: Place) -> Result<String> {
        self.segments[place.segment as usize].id(place.doc)
    }

    /// Where the document with an id is.
    fn find_id(&self, id: &str) -> Result<Option<Place>> {
        for (number, segment) in (0u32..).zip(&self.segments) {
            let Some(place) = segment.place_of_id(id)? else { continue };
            let of = |doc: &u32| segment.ids.ords().first(*doc) == Some(place);
            if let Some(doc) = segment.reader.doc_ids_alive().find(of) {
                return Ok(Some(Place { segment: number, doc }));
            }
        }
        Ok(None)
    }

    /// Whether there is a document with an id. O(documents) where there is or was one.
    pub fn has(&self, id: &str) -> Result<bool> {
        Ok(self.find_id(id)?.is_some())
    }

    /// Whether there is, or was, a document with an id.
    pub(super) fn knows(&self, id: &str) -> Result<bool> {
        for segment in &self.segments {
            if segment.place_of_id(id)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The text of the document with an id.
    pub fn text(&self, id: &str) -> Result<Option<String>> {
        self.find_id(id)?.map(|place| self.text_at(place)).transpose()
    }
}
