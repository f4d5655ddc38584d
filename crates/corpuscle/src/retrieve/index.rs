//! The index on the disk.
//!
//! A folder of tantivy's: the words of each document with how often they occur; its id, its exact length and the number under which it
//! came in, in columns; its text (zstd, in blocks of 1 MB). What we know about the index itself (format, how texts become words) goes into
//! the same atomic write as each commit, so that there is no moment at which one is there without the other.
//!
//! Opening checks the checksum of every file, since nothing that was altered or cut off may be read on: about a second for each
//! gigabyte.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tantivy::directory::error::OpenWriteError;
use tantivy::schema::{FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions};
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{IndexSettings, IndexWriter, TantivyError};

use super::searcher::Searcher;
use super::writer::Writer;
use crate::params::Params;
use crate::text::WordsParams;
use crate::{Error, Result, Run};

/// The format of index folders that is known here.
const FORMAT: u32 = 2;
/// Memory of the thread in which tantivy would take single documents; it gets none, and this is the least it can be given.
const MEMORY: usize = 16 << 20;
/// Bytes of text that are compressed together: newsgroup posts take 33 % of their size, with 256 kB 37 %; a block is unpacked for each
/// text of an answer, which takes a few milliseconds.
const BLOCK: usize = 1 << 20;

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
        TantivyError::IoError(error) => failed(&error),
        TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. }) => failed(&io_error),
        TantivyError::OpenWriteError(OpenWriteError::FileAlreadyExists(_)) => {
            Error::index("a writer that was stopped since it was opened has left a file; open it anew and try again")
        }
        TantivyError::ErrorInThread(_) => Error::index(
            "writing failed, most likely for want of room on the disk; what was committed before is untouched",
        ),
        TantivyError::IncompatibleIndex(_) => {
            Error::index("it was written by another version of the store; make it anew from the documents")
        }
        other => Error::index(format!("it is damaged ({other}); make it anew from the documents")),
    }
}

/// What an error of the file system means to a person.
pub(super) fn failed(error: &std::io::Error) -> Error {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    Error::index(match error.kind() {
        FileTooLarge | QuotaExceeded | StorageFull => {
            format!("writing failed for want of room on the disk ({error}); what was committed before is untouched")
        }
        _ => error.to_string(),
    })
}

fn schema() -> Schema {
    let mut schema = Schema::builder();
    schema.add_text_field("id", TextOptions::default().set_fast("raw"));
    schema.add_text_field("text", STORED);
    // Words come to tantivy cut already; the name of its own tokenizer has to be there and is not used.
    let words = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(false);
    schema.add_text_field("terms", TextOptions::default().set_indexing_options(words));
    schema.add_u64_field("length", FAST);
    schema.add_u64_field("number", FAST);
    schema.build()
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
        let builder = tantivy::Index::builder().schema(schema()).settings(settings);
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
        guarded(|| {
            let index = tantivy::Index::open_in_dir(folder).map_err(refused)?;
            let bad = index.validate_checksum().map_err(refused)?;
            if let Some(file) = bad.iter().min() {
                let reason = format!("{} was altered or cut off; make it anew from the documents", file.display());
                return Err(Error::index(reason));
            }
            Self::with(folder, index)
        })
    }

    fn with(folder: &Path, index: tantivy::Index) -> Result<Self> {
        let about = about(&index)?;
        let field = |name: &str| index.schema().get_field(name).map_err(refused);
        let fields = Fields { text: field("text")?, terms: field("terms")? };
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
        let writer: IndexWriter = self.index.writer_with_num_threads(1, MEMORY).map_err(refused)?;
        // A writer that was killed leaves files that no commit names. One with deletions is called after the commit it was for, which
        // is the next one of this writer too, and would be in its way.
        writer.garbage_collect_files().wait().map_err(refused)?;
        // What another process committed since this index was opened counts.
        Writer::new(self, writer, about(&self.index)?, run)
    }

    /// What is committed now.
    pub fn searcher(&self) -> Result<Searcher> {
        guarded(|| Searcher::of(self))
    }
}

/// The store panics on some files that were cut off or altered; here they are errors like any other.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let damaged = || Error::index("a file of it was altered or cut off; make it anew from the documents");
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(damaged()))
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
        Some(format) if format < u64::from(FORMAT) => {
            return Err(Error::index(format!(
                "its format {format} is no longer known; make it anew from the documents"
            )));
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
pub(super) fn commit(writer: &mut IndexWriter, about: &About) -> Result<()> {
    let payload = serde_json::to_string(about).map_err(|e| Error::index(e.to_string()))?;
    let mut prepared = writer.prepare_commit().map_err(refused)?;
    prepared.set_payload(&payload);
    prepared.commit().map_err(refused)?;
    Ok(())
}
