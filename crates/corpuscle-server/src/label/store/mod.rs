//! The store of labels: one SQLite file with the documents and everything that was ever done to them.
//!
//! What people do is kept as events that are only ever added: triggers refuse to change or delete one. What holds now follows
//! from replaying them ([`Pile`]). One thread writes ([`writer`]): it takes what has been handed in meanwhile, adds it in one
//! transaction, and answers when SQLite has synced it (write-ahead log, `synchronous=FULL`): what was acknowledged survives
//! a kill or a crash, and either all of a request is there or nothing. A lock file beside the store keeps a second
//! process from writing; others may read.
//!
//! ```text
//! documents(row, id, text)     words: full-text index over text     events(number, time, author, kind, row, value)
//! ```

mod event;
mod pile;
mod read;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use corpuscle::corpus::Document;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

pub(crate) use event::{Act, Change, check_name};
pub(crate) use pile::{Opinion, Pile, Standing};
pub use read::{is_store, read_documents};
use writer::Writer;

use crate::{Error, Result};

/// "Corp" in the file's head, so that a store can be told from other databases.
const APPLICATION: i32 = 0x436f_7270;
/// The layout of the tables.
const FORMAT: i32 = 1;

const TABLES: &str = "
CREATE TABLE documents (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE words USING fts5(text, content='documents', content_rowid='row', tokenize='unicode61 remove_diacritics 2');
CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,
    author TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('label', 'skip', 'note', 'class', 'undo', 'measure')),
    row INTEGER REFERENCES documents(row),
    value TEXT NOT NULL CHECK (json_valid(value))
) STRICT;
CREATE TRIGGER events_stay BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER events_remain BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
";

/// An open store.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    pile: Arc<RwLock<Pile>>,
    writer: Writer,
    readers: Mutex<Vec<Connection>>,
    /// Held as long as the store is open.
    _lock: File,
}

/// What adding documents came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Added {
    /// Documents that are new.
    pub new: usize,
    /// Documents that were there already.
    pub known: usize,
    /// Those of them whose text is another now; the stored one stays.
    pub changed: usize,
}

fn fault(path: &Path, error: &rusqlite::Error) -> Error {
    Error::Store { path: path.display().to_string(), reason: error.to_string() }
}

fn wrong(path: &Path, reason: impl Into<String>) -> Error {
    Error::Store { path: path.display().to_string(), reason: reason.into() }
}

impl Store {
    /// Opens the store, or makes it, and adds documents.
    pub(crate) fn open(
        path: &Path,
        documents: impl Iterator<Item = corpuscle::Result<Document>>,
    ) -> Result<(Self, Added)> {
        let lock = lock(path)?;
        let mut connection = Connection::open(path).map_err(|error| fault(path, &error))?;
        prepare(path, &mut connection)?;
        let added = add_documents(path, &mut connection, documents)?;
        let pile = Arc::new(RwLock::new(Pile::read(&connection).map_err(|error| fault(path, &error))?));
        let writer = Writer::start(connection, Arc::clone(&pile))?;
        Ok((Store { path: path.to_path_buf(), pile, writer, readers: Mutex::new(Vec::new()), _lock: lock }, added))
    }

    /// What holds now.
    pub(crate) fn pile(&self) -> RwLockReadGuard<'_, Pile> {
        self.pile.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds events; answers when they are on disk.
    pub(crate) async fn write(&self, changes: Vec<Change>) -> Result<Vec<u64>, crate::refusal::Refusal> {
        self.writer.write(changes).await
    }

    /// The same for a thread that may wait.
    pub(crate) fn write_waiting(&self, changes: Vec<Change>) -> Result<Vec<u64>, crate::refusal::Refusal> {
        self.writer.write_waiting(changes)
    }

    /// Does something with a connection that only reads.
    fn reading<T>(&self, act: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let kept = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match kept {
            Some(connection) => connection,
            None => open_to_read(&self.path)?,
        };
        let done = act(&connection).map_err(|error| fault(&self.path, &error));
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        done
    }
}

/// Opens for reading only.
fn open_to_read(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| fault(path, &error))?;
    connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(|error| fault(path, &error))?;
    Ok(connection)
}

/// Keeps other writers away.
fn lock(path: &Path) -> Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = File::options().create(true).truncate(false).write(true).open(&name);
    let file = file.map_err(|cause| wrong(path, format!("cannot be written beside: {cause}")))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => {
            Err(wrong(path, "is in use by another `corpuscle label`; people can share one page instead"))
        }
        // A file system without locks has done what it can.
        Err(std::fs::TryLockError::Error(_)) => Ok(file),
    }
}

/// Checks what is there, makes the tables where nothing is, and sets how it is written.
fn prepare(path: &Path, connection: &mut Connection) -> Result<()> {
    let fault = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => wrong(path, "is no store of labels"),
        _ => fault(path, &error),
    };
    connection.busy_timeout(std::time::Duration::from_secs(10)).map_err(fault)?;
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0)).map_err(fault);
    let (application, format) = (number("application_id")?, number("user_version")?);
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(fault)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(fault)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(fault)?;
    match (application, format, tables) {
        // Before there is a log to write ahead to, so that the file itself says what it is.
        (0, 0, 0) => {
            let making = connection.transaction().map_err(fault)?;
            making.execute_batch(TABLES).map_err(fault)?;
            making.pragma_update(None, "application_id", APPLICATION).map_err(fault)?;
            making.pragma_update(None, "user_version", FORMAT).map_err(fault)?;
            making.commit().map_err(fault)?;
        }
        (APPLICATION, FORMAT, _) => {}
        (APPLICATION, other, _) => {
            return Err(wrong(path, format!("is a store of format {other}; this version knows {FORMAT}")));
        }
        _ => return Err(wrong(path, "is a database, but no store of labels")),
    }
    connection.pragma_update(None, "journal_mode", "WAL").map_err(fault)
}

/// Adds the documents whose id is new, all or none.
fn add_documents(
    path: &Path,
    connection: &mut Connection,
    documents: impl Iterator<Item = corpuscle::Result<Document>>,
) -> Result<Added> {
    let fault = |error: rusqlite::Error| fault(path, &error);
    let mut added = Added::default();
    let adding = connection.transaction().map_err(fault)?;
    let mut seen = std::collections::HashSet::new();
    {
        let mut known = adding.prepare("SELECT text = ?2 FROM documents WHERE id = ?1").map_err(fault)?;
        let mut insert = adding.prepare("INSERT INTO documents (id, text) VALUES (?1, ?2)").map_err(fault)?;
        let mut index = adding.prepare("INSERT INTO words (rowid, text) VALUES (?1, ?2)").map_err(fault)?;
        for document in documents {
            let document = document?;
            if !seen.insert(document.id.clone()) {
                return Err(Error::Wrong(format!(
                    "two documents have the id `{}`; a label could not tell them apart",
                    document.id
                )));
            }
            let same: Option<bool> =
                known.query_row(params![document.id, document.text], |row| row.get(0)).optional().map_err(fault)?;
            match same {
                Some(same) => {
                    added.known += 1;
                    added.changed += usize::from(!same);
                }
                None => {
                    let row = insert.insert(params![document.id, document.text]).map_err(fault)?;
                    index.execute(params![row, document.text]).map_err(fault)?;
                    added.new += 1;
                }
            }
        }
    }
    adding.commit().map_err(fault)?;
    Ok(added)
}

#[cfg(test)]
mod tests;
