//! One segment of an index, made of the tokens of its documents.
//!
//! Recipes number the words of a collection in byte order, so the postings are a counting sort away: one pass counts the occurrences
//! of each term, a second puts the documents of each in a row, and tantivy's serializers write them down. To hand tantivy words one
//! after the other instead, each hashed into its table, takes three to four times as long in all. O(tokens + words · log words).
//!
//! Texts go to the store (zstd, in a thread of its own) as they come and are not kept; tokens are, four bytes each, until the segment is
//! full.

use std::collections::BTreeMap;

use tantivy::columnar::{ColumnType, ColumnarWriter};
use tantivy::directory::TerminatingWrite as _;
use tantivy::fieldnorm::FieldNormsSerializer;
use tantivy::index::{Segment, SegmentComponent, SegmentMeta};
use tantivy::postings::InvertedIndexSerializer;
use tantivy::schema::{Field, OwnedValue, Schema};
use tantivy::store::StoreWriter;

use super::index::{Fields, failed, refused};
use crate::corpus::Document;
use crate::text::{Tokens, TokensBuilder, WordsParams};
use crate::{Error, Result, Run};

/// Bytes of text in a segment of words: some 50 MB of tokens. More segments repeat more of the vocabulary, fewer leave less to do at
/// once. Few in tests, so that a small corpus has several segments.
const WORDS: usize = if cfg!(test) { 8 << 10 } else { 64 << 20 };
/// The same where a word becomes many terms.
const PIECES: usize = WORDS / 8;
/// What a document counts beside its text, so that empty ones end a segment too.
const EACH: usize = 16;
/// The longest word tantivy takes, and the longest id.
pub(super) const LONGEST: usize = 65_000;

/// A segment that takes documents.
pub(super) struct Begun {
    segment: Segment,
    fields: Fields,
    schema: Schema,
    store: StoreWriter,
    /// The document under way as the store takes it; one map for all, its values replaced, so that none is made and dropped for each.
    stored: BTreeMap<Field, OwnedValue>,
    tokens: TokensBuilder,
    ids: Vec<String>,
    /// The number of its first document; the others follow.
    first: u64,
    /// How much text still fits.
    room: usize,
    run: Run,
}

impl Begun {
    pub(super) fn new(
        index: &tantivy::Index,
        fields: Fields,
        words: &WordsParams,
        first: u64,
        run: &Run,
    ) -> Result<Self> {
        let segment = index.new_segment();
        let settings = index.settings();
        let file = segment.open_write(SegmentComponent::Store).map_err(|e| refused(e.into()))?;
        let store = StoreWriter::new(file, settings.docstore_compression, settings.docstore_blocksize, true);
        let words = words.alone();
        Ok(Begun {
            room: if words.is_plain() { WORDS } else { PIECES },
            tokens: words.builder(&run.quiet())?,
            store: store.map_err(|e| failed(&e))?,
            stored: BTreeMap::new(),
            schema: index.schema(),
            ids: Vec::new(),
            run: run.clone(),
            segment,
            fields,
            first,
        })
    }

    /// Takes documents; they have the numbers that follow.
    pub(super) fn push(&mut self, documents: Vec<Document>) -> Result<()> {
        let texts: Vec<&str> = documents.iter().map(|document| document.text.as_str()).collect();
        self.tokens.push(&texts)?;
        for document in documents {
            self.room = self.room.saturating_sub(document.text.len() + EACH);
            self.ids.push(document.id);
            self.stored.insert(self.fields.text, OwnedValue::Str(document.text));
            self.store.store(&self.stored, &self.schema).map_err(|e| failed(&e))?;
        }
        Ok(())
    }

    /// Whether the next documents belong to another segment.
    pub(super) fn is_full(&self) -> bool {
        self.room == 0
    }

    /// Writes everything down.
    pub(super) fn finish(self) -> Result<SegmentMeta> {
        let Begun { segment, fields, store, tokens, ids, first, run, .. } = self;
        let tokens = tokens.finish()?;
        let counted = Counted::of(&tokens);
        let (postings, columns) = run.install(|| {
            rayon::join(
                || postings(&segment, fields, &tokens, &counted),
                || columns(&segment, &ids, &counted.lengths, first),
            )
        });
        postings.and(columns)?;
        store.close().map_err(|e| failed(&e))?;
        run.check()?;
        let documents = u32::try_from(ids.len()).map_err(|_| Error::data("a segment has too many documents"))?;
        let meta = segment.meta().clone().with_max_doc(documents);
        meta.untrack_temp_docstore();
        Ok(meta)
    }
}

/// What one pass over the tokens tells.
struct Counted {
    /// Tokens of each document.
    lengths: Vec<u32>,
    /// Which words are not too long to be looked for.
    kept: Vec<bool>,
    /// Where the occurrences of each term begin when all stand in a row.
    starts: Vec<usize>,
}

impl Counted {
    fn of(tokens: &Tokens) -> Self {
        let kept: Vec<bool> = tokens.lexicon().iter().map(|word| word.len() <= LONGEST).collect();
        let mut starts = vec![0usize; kept.len() + 1];
        let mut lengths = Vec::with_capacity(tokens.n_documents());
        for document in 0..tokens.n_documents() {
            let mut length = 0;
            tokens.for_each(document, |term| {
                length += u32::from(kept[term as usize]);
                starts[term as usize + 1] += usize::from(kept[term as usize]);
            });
            lengths.push(length);
        }
        for term in 0..kept.len() {
            starts[term + 1] += starts[term];
        }
        Counted { lengths, kept, starts }
    }
}

/// Writes which documents hold each term, and how often.
fn postings(segment: &Segment, fields: Fields, tokens: &Tokens, counted: &Counted) -> Result<()> {
    let Counted { kept, starts, .. } = counted;
    let total = starts.last().copied().unwrap_or(0);
    let mut next = starts.clone();
    let mut documents = vec![0u32; total];
    for (document, number) in (0..tokens.n_documents()).zip(0u32..) {
        tokens.for_each(document, |term| {
            let term = term as usize;
            if kept[term] {
                documents[next[term]] = number;
                next[term] += 1;
            }
        });
    }
    drop(next);
    let norms = segment.open_write(SegmentComponent::FieldNorms).map_err(|e| refused(e.into()))?;
    FieldNormsSerializer::from_write(norms).and_then(FieldNormsSerializer::close).map_err(|e| failed(&e))?;
    let mut serializer = InvertedIndexSerializer::open(segment).map_err(refused)?;
    if total > 0 {
        let mut field = serializer.new_field(fields.terms, total as u64, None).map_err(|e| failed(&e))?;
        for (word, place) in tokens.lexicon().iter().zip(starts.windows(2)) {
            let list = &documents[place[0]..place[1]];
            if list.is_empty() {
                continue;
            }
            let each = || list.chunk_by(|a, b| a == b);
            field.new_term(word.as_bytes(), each().count() as u32, true).map_err(|e| failed(&e))?;
            each().for_each(|times| field.write_doc(times[0], times.len() as u32, &[]));
            field.close_term().map_err(|e| failed(&e))?;
        }
        field.close().map_err(|e| failed(&e))?;
    }
    serializer.close().map_err(|e| failed(&e))
}

/// Writes ids, lengths and numbers.
fn columns(segment: &Segment, ids: &[String], lengths: &[u32], first: u64) -> Result<()> {
    let mut columns = ColumnarWriter::default();
    columns.record_column_type("id", ColumnType::Str, false);
    columns.record_column_type("length", ColumnType::U64, false);
    columns.record_column_type("number", ColumnType::U64, false);
    for (document, (id, &length)) in (0u32..).zip(ids.iter().zip(lengths)) {
        columns.record_str(document, "id", id);
        columns.record_numerical(document, "length", u64::from(length));
        columns.record_numerical(document, "number", first + u64::from(document));
    }
    let mut file = segment.open_write(SegmentComponent::FastFields).map_err(|e| refused(e.into()))?;
    columns.serialize(ids.len() as u32, None, &mut file).map_err(|e| failed(&e))?;
    file.terminate().map_err(|e| failed(&e))
}
