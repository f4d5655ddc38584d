//! What is read from the store: texts, searches, and all documents for training.

use std::io::Read as _;
use std::path::Path;

use corpuscle::corpus::Document;
use rusqlite::OptionalExtension as _;

use super::{APPLICATION, Pile, Store, open_to_read, wrong};
use crate::Result;

/// A document found by its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) place: u32,
}

impl Store {
    /// The text at a place.
    pub(crate) fn text(&self, place: u32) -> Result<Option<String>> {
        self.reading(|connection| {
            let mut query = connection.prepare("SELECT text FROM documents WHERE row = ?1")?;
            query.query_row([place + 1], |row| row.get(0)).optional()
        })
    }

    /// The texts of all documents, in order.
    pub(crate) fn texts(&self) -> Result<Vec<String>> {
        self.reading(|connection| {
            let mut query = connection.prepare("SELECT text FROM documents ORDER BY row")?;
            query.query_map([], |row| row.get(0))?.collect()
        })
    }

    /// Documents that have all words of a query, the last as a beginning; the best first.
    pub(crate) fn search(&self, query: &str, most: usize) -> Result<Vec<Found>> {
        let words: Vec<String> = query
            .split(|character: char| !character.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .take(32)
            .map(|word| format!("\"{word}\""))
            .collect();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let query = words.join(" ") + "*";
        self.reading(|connection| {
            let text = "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rank, rowid LIMIT ?2";
            let mut found = connection.prepare(text)?;
            let rows = found.query_map(rusqlite::params![query, most as i64], |row| row.get::<_, u32>(0))?;
            rows.map(|row| Ok(Found { place: row? - 1 })).collect()
        })
    }
}

/// Whether a file is a store of labels: by its head, whatever its name.
pub fn is_store(path: impl AsRef<Path>) -> bool {
    let mut head = [0u8; 72];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head.starts_with(b"SQLite format 3\0") && head[68..72] == APPLICATION.to_be_bytes()
}

/// All documents of a store, each with the labels that count; those nobody has labelled have none, and so do the skipped.
pub fn read_documents(path: impl AsRef<Path>) -> Result<Vec<Document>> {
    let path = path.as_ref();
    if !is_store(path) {
        return Err(wrong(path, "is no store of labels"));
    }
    let connection = open_to_read(path)?;
    let fault = |error: rusqlite::Error| super::fault(path, &error);
    let pile = Pile::read(&connection).map_err(fault)?;
    let mut query = connection.prepare("SELECT text FROM documents ORDER BY row").map_err(fault)?;
    let texts = query.query_map([], |row| row.get::<_, String>(0)).map_err(fault)?;
    let mut documents = Vec::with_capacity(pile.len());
    for (place, text) in texts.enumerate() {
        let place = place as u32;
        let mut document = Document::new(pile.id(place), text.map_err(fault)?);
        document.labels = pile.standing(place).and_then(|standing| standing.labels.clone());
        documents.push(document);
    }
    Ok(documents)
}
