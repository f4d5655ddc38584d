//! The index on the disk.
//!
//! A folder of tantivy's: the words of each document with how often they occur, its exact length, the number under which it came in,
//! its id and its text (zstd, in blocks of 256 kB). What we know about the index itself (format, how texts become words) goes into the
//! same atomic write as each commit, so that there is no moment at which one is there without the other.
//!
//! Opening checks the checksum of every file, since nothing that was altered or cut off may be read on: about a second for each
//! gigabyte.

use std::fs;
use std::hash::BuildHasher as _;
use std::path::{Path, PathBuf};

use rustc_hash::{FxBuildHasher, FxHashSet};
use serde::{Deserialize, Serialize};
use tantivy::schema::{FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value as _};
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::tokenizer::{TextAnalyzer, TokenizerManager};
use tantivy::{IndexSettings, IndexWriter, TantivyDocument, TantivyError, Term};

use super::searcher::Searcher;
use super::separated::{SEPARATOR, Separated};
use crate::corpus::Document;
use crate::params::Params;
use crate::text::WordsParams;
use crate::{Error, Result, Run};

/// The newest format of index folders that is known here.
const FORMAT: u32 = 1;
/// The name of the tokenizer in the schema.
const TOKENIZER: &str = "separated";
/// Texts that are cut into words together.
const BATCH: usize = 4096;
/// Characters that are cut into words together.
const BATCH_BYTES: usize = 8 << 20;
/// Memory of one indexing thread before it writes a segment.
const MEMORY: usize = 192 << 20;
/// Bytes of text that are compressed together: newsgroup posts take 36 % of their size, with 64 kB 40 % and with 1 MB 33 %; a block is
/// unpacked for each document of an answer.
const BLOCK: usize = 256 << 10;
/// The longest id and the longest word tantivy takes.
const LONGEST: usize = 65_000;

/// What an index knows about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The format of the folder.
    pub format: u32,
    /// The version that wrote it.
    pub version: String,
    /// How texts and queries become words.
    pub words: WordsParams,
    /// The number of the next document.
    pub next: u64,
}

/// The columns of the schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) id: Field,
    pub(super) text: Field,
    pub(super) terms: Field,
}

/// An index: a folder on the disk.
pub struct Index {
    folder: PathBuf,
    pub(super) index: tantivy::Index,
    pub(super) fields: Fields,
    about: About,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("folder", &self.folder).field("about", &self.about).finish_non_exhaustive()
    }
}

/// What a commit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Written {
    /// Documents handed in.
    pub added: u64,
    /// Ids asked to be deleted.
    pub deleted: u64,
    /// Documents in the index now.
    pub documents: u64,
}

/// What the index's own errors mean to a person.
pub(super) fn refused(error: TantivyError) -> Error {
    match error {
        TantivyError::LockFailure(..) => {
            Error::index("another process is writing to it; wait until that is done and try again")
        }
        TantivyError::IoError(error) => Error::index(error.to_string()),
        TantivyError::ErrorInThread(_) => Error::index(
            "writing failed, most likely for want of room on the disk; what was committed before is untouched",
        ),
        TantivyError::IncompatibleIndex(_) => {
            Error::index("it was written by another version of the store; make it anew from the documents")
        }
        other => Error::index(format!("it is damaged ({other}); make it anew from the documents")),
    }
}

fn schema() -> Schema {
    let mut schema = Schema::builder();
    let whole = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_index_option(IndexRecordOption::Basic)
        .set_fieldnorms(false);
    schema.add_text_field("id", TextOptions::default().set_indexing_options(whole).set_stored());
    schema.add_text_field("text", STORED);
    let words = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(false);
    schema.add_text_field("terms", TextOptions::default().set_indexing_options(words));
    schema.add_u64_field("length", FAST);
    schema.add_u64_field("number", FAST);
    schema.build()
}

fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register(TOKENIZER, TextAnalyzer::builder(Separated::default()).build());
    manager
}

impl Index {
    /// An empty index in a folder that is empty or not there yet.
    pub fn create(folder: impl AsRef<Path>, words: &WordsParams) -> Result<Self> {
        let folder = folder.as_ref();
        words.check()?;
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        let mut inside = fs::read_dir(folder).map_err(|e| Error::io(folder, e))?;
        if inside.next().is_some() {
            return Err(Error::input(
                folder.display().to_string(),
                None,
                "the folder is not empty; add to the index in it, or name a new one",
            ));
        }
        let settings = IndexSettings {
            docstore_compression: Compressor::Zstd(ZstdCompressor { compression_level: Some(3) }),
            docstore_blocksize: BLOCK,
            ..IndexSettings::default()
        };
        let builder = tantivy::Index::builder().schema(schema()).settings(settings).tokenizers(tokenizers());
        let index = builder.create_in_dir(folder).map_err(refused)?;
        let version = env!("CARGO_PKG_VERSION").to_string();
        let about = About { format: FORMAT, version, words: words.clone(), next: 0 };
        let mut writer: IndexWriter = index.writer_with_num_threads(1, MEMORY).map_err(refused)?;
        commit(&mut writer, &about)?;
        Self::with(folder, index)
    }

    /// The index in a folder; refused when it is damaged, foreign or of a newer version.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        if !folder.join("meta.json").is_file() {
            let reason = if folder.exists() { "no index is in this folder" } else { "there is no such folder" };
            return Err(Error::input(folder.display().to_string(), None, reason));
        }
        let mut index = tantivy::Index::open_in_dir(folder).map_err(refused)?;
        index.set_tokenizers(tokenizers());
        let bad = index.validate_checksum().map_err(refused)?;
        if let Some(file) = bad.iter().min() {
            let reason = format!("{} was altered or cut off; make it anew from the documents", file.display());
            return Err(Error::index(reason));
        }
        Self::with(folder, index)
    }

    fn with(folder: &Path, index: tantivy::Index) -> Result<Self> {
        let about = about(&index)?;
        let field = |name: &str| index.schema().get_field(name).map_err(refused);
        let fields = Fields { id: field("id")?, text: field("text")?, terms: field("terms")? };
        Ok(Index { folder: folder.to_path_buf(), index, fields, about })
    }

    /// What the index knows about itself.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its size on the disk.
    pub fn bytes(&self) -> Result<u64> {
        let failed = |e| Error::io(&self.folder, e);
        let mut sum = 0;
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            sum += entry.map_err(failed)?.metadata().map_err(failed)?.len();
        }
        Ok(sum)
    }

    /// Begins to add and delete. One writer at a time, in this process or any other.
    pub fn writer(&self, run: &Run) -> Result<Writer<'_>> {
        let threads = run.threads().clamp(1, 8);
        let writer = self.index.writer_with_num_threads(threads, MEMORY * threads).map_err(refused)?;
        // What another process committed since this index was opened counts.
        let about = about(&self.index)?;
        let (waiting, run) = (Vec::new(), run.clone());
        let known = Known { committed: self.searcher()?, added: FxHashSet::default() };
        Ok(Writer { index: self, writer, about, waiting, waiting_bytes: 0, added: 0, deleted: 0, known, run })
    }

    /// What is committed now.
    pub fn searcher(&self) -> Result<Searcher> {
        Searcher::of(self)
    }
}

/// What the last commit says about the index.
fn about(index: &tantivy::Index) -> Result<About> {
    let meta = index.load_metas().map_err(refused)?;
    let Some(payload) = meta.payload else {
        return Err(Error::index("it was begun and never finished; make it anew from the documents"));
    };
    let value: serde_json::Value = serde_json::from_str(&payload)
        .map_err(|e| Error::index(format!("what it says about itself is damaged: {e}")))?;
    match value.get("format").and_then(serde_json::Value::as_u64) {
        Some(format) if format > u64::from(FORMAT) => {
            return Err(Error::index(format!("its format {format} is newer than {FORMAT}, the newest known here")));
        }
        Some(_) => {}
        None => return Err(Error::index("it was not written by corpuscle")),
    }
    let about: About = serde_json::from_value(value)
        .map_err(|e| Error::index(format!("what it says about itself is damaged: {e}")))?;
    about.words.check()?;
    Ok(about)
}

/// Everything since the last commit becomes visible and lasting, or nothing of it.
fn commit(writer: &mut IndexWriter, about: &About) -> Result<()> {
    let payload = serde_json::to_string(about).map_err(|e| Error::index(e.to_string()))?;
    let mut prepared = writer.prepare_commit().map_err(refused)?;
    prepared.set_payload(&payload);
    prepared.commit().map_err(refused)?;
    Ok(())
}

/// Adds and deletes documents; nothing is seen by anybody before [`Writer::commit`].
pub struct Writer<'a> {
    index: &'a Index,
    writer: IndexWriter,
    about: About,
    waiting: Vec<Document>,
    waiting_bytes: usize,
    added: u64,
    deleted: u64,
    known: Known,
    run: Run,
}

/// The ids that a document may have to replace. To ask tantivy to delete each id before it is added takes several times as long as
/// adding it, and nearly all are new.
struct Known {
    committed: Searcher,
    /// Hashes of the ids of this writer. Two ids with one hash cost a deletion that finds nothing.
    added: FxHashSet<u64>,
}

impl Known {
    /// Whether an id is perhaps there; from now on it is.
    fn take(&mut self, id: &str) -> Result<bool> {
        let fresh = self.added.insert(FxBuildHasher.hash_one(id));
        Ok(!fresh || self.committed.has(id)?)
    }
}

impl Writer<'_> {
    /// Adds a document; one of the same id is replaced.
    pub fn add(&mut self, document: Document) -> Result<()> {
        if document.id.is_empty() || document.id.len() > LONGEST {
            let found = document.id.len();
            return Err(Error::data(format!("an id must have 1 to {LONGEST} bytes; one has {found}")));
        }
        self.waiting_bytes += document.text.len();
        self.waiting.push(document);
        if self.waiting.len() >= BATCH || self.waiting_bytes >= BATCH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Takes the document of an id out, if there is one.
    pub fn delete(&mut self, id: &str) -> Result<()> {
        self.flush()?;
        self.writer.delete_term(Term::from_field_text(self.index.fields.id, id));
        self.deleted += 1;
        Ok(())
    }

    /// Hands what waits to the indexing threads.
    fn flush(&mut self) -> Result<()> {
        self.run.check()?;
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let texts: Vec<&str> = waiting.iter().map(|document| document.text.as_str()).collect();
        let tokens = self.about.words.tokenize(&texts, &self.run.quiet())?;
        let fields = self.index.fields;
        let schema = self.index.index.schema();
        let column = |name: &str| schema.get_field(name).map_err(refused);
        let (length, number) = (column("length")?, column("number")?);
        let mut joined = String::new();
        for (row, document) in waiting.iter().enumerate() {
            joined.clear();
            let mut count = 0u64;
            for word in tokens.words(row).filter(|word| word.len() <= LONGEST) {
                joined.push_str(word);
                joined.push(SEPARATOR);
                count += 1;
            }
            let mut entry = TantivyDocument::new();
            entry.add_text(fields.id, &document.id);
            entry.add_text(fields.text, &document.text);
            entry.add_text(fields.terms, &joined);
            entry.add_u64(length, count);
            entry.add_u64(number, self.about.next);
            self.about.next += 1;
            self.added += 1;
            if self.known.take(&document.id)? {
                self.writer.delete_term(Term::from_field_text(fields.id, &document.id));
            }
            self.writer.add_document(entry).map_err(refused)?;
        }
        self.run.advance(waiting.len() as u64);
        Ok(())
    }

    /// Makes everything lasting, all of it or nothing, and waits until the index is in order.
    pub fn commit(mut self) -> Result<Written> {
        self.flush()?;
        self.about.version = env!("CARGO_PKG_VERSION").to_string();
        commit(&mut self.writer, &self.about)?;
        self.writer.wait_merging_threads().map_err(refused)?;
        let documents = self.index.searcher()?.documents();
        Ok(Written { added: self.added, deleted: self.deleted, documents })
    }
}

/// A stored string of a document.
pub(super) fn stored(document: &TantivyDocument, field: Field) -> String {
    document.get_first(field).and_then(|value| value.as_str()).unwrap_or_default().to_string()
}
