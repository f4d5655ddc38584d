//! Where the readers put their rows: documents are handed over in batches, bad rows stop the reading or are counted.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};

use super::guess;
use super::input::TIMES;
#[cfg(any(feature = "excel", feature = "parquet"))]
use super::input::most_unpacked;
use super::options::{Format, ReadOptions};
use super::row::{Fault, Fields, Row, Value, Whole, listed};
use crate::corpus::Document;
use crate::{Error, Result};

/// A batch goes over when it has this many documents or bytes: few enough to start the caller early, many enough that
/// the hand-over costs nothing.
const BATCH_DOCUMENTS: usize = 256;
const BATCH_BYTES: usize = 1 << 20;

/// How many rows are asked for their field names while a field the caller named has not turned up.
const NAME_SAMPLES: u64 = 100;

/// The bad rows that were left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many there were.
    pub count: u64,
    /// File, line and reason of the first few.
    pub reasons: Vec<String>,
}

impl Skipped {
    /// How many reasons are kept.
    pub const REASONS: usize = 5;
}

/// What the reading thread tells beside the documents.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) skipped: Skipped,
    pub(super) notes: Vec<String>,
    pub(super) format: Option<Format>,
}

/// What the reading thread sends.
pub(super) enum Message {
    Batch(Vec<Document>),
    Failed(Error),
    Done,
}

/// Why a reader ends early.
pub(super) enum Halt {
    /// The caller has dropped its end.
    Stopped,
    /// There is an error to report.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Halt::Failed(error)
    }
}

/// What a reader returns.
pub(super) type Flow<T = ()> = Result<T, Halt>;

pub(super) struct Sink {
    pub(super) fields: Fields,
    pub(super) options: ReadOptions,
    sender: SyncSender<Message>,
    stop: Arc<AtomicBool>,
    findings: Arc<Mutex<Findings>>,
    batch: Vec<Document>,
    batch_bytes: usize,
    /// The source being read, for messages.
    source: String,
    source_rows: u64,
    rows: u64,
    documents: u64,
    /// By slot: whether some row had it.
    seen: Vec<bool>,
    /// Names of fields met while an expected one had not turned up.
    names: BTreeSet<String>,
    /// Whether it is settled which fields are the text and the label.
    settled: bool,
    /// The field taken for the label, and the slots of those that would have been.
    taken_label: Option<(String, Vec<usize>)>,
    /// The bytes of documents that the source may still hand over, and what it might at first; for formats in which a few bytes can stand for many.
    allowed: Option<(u64, u64)>,
}

/// Says that a source has come to more.
pub(super) fn too_much(most: u64) -> String {
    format!(
        "its documents have more than {most} bytes, {TIMES} times its size or more, as no texts do; if they are meant to, save it as JSON Lines"
    )
}

impl Sink {
    pub(super) fn new(
        options: ReadOptions,
        sender: SyncSender<Message>,
        stop: Arc<AtomicBool>,
        findings: Arc<Mutex<Findings>>,
    ) -> Self {
        let fields = Fields::new(&options);
        let (find_text, find_label) = (options.find_text, options.find_label);
        let seen = vec![false; fields.len()];
        Sink {
            fields,
            options,
            sender,
            stop,
            findings,
            batch: Vec::new(),
            batch_bytes: 0,
            source: String::new(),
            source_rows: 0,
            rows: 0,
            documents: 0,
            seen,
            names: BTreeSet::new(),
            settled: !(find_text || find_label),
            taken_label: None,
            allowed: None,
        }
    }

    /// What the source at hand is.
    pub(super) fn is_of(&self, format: Format) {
        if let Ok(mut findings) = self.findings.lock() {
            findings.format.get_or_insert(format);
        }
    }

    /// Something the caller should know.
    pub(super) fn note(&self, note: String) {
        if let Ok(mut findings) = self.findings.lock() {
            findings.notes.push(note);
        }
    }

    /// Whether [`Sink::settle`] wants to see the first rows.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Decides from the first rows of the first source which fields are the text and the label, where none has their
    /// name. See [`guess`].
    pub(super) fn settle(&mut self, rows: &[Whole]) {
        self.settled = true;
        let options = &self.options;
        let has = |name: &str| rows.iter().any(|row| row.contains_key(name));
        let named = [&options.label, &options.id, &options.weight].into_iter().flatten();
        let mut taken: Vec<String> = ["label", "labels", "id", "weight"].map(String::from).to_vec();
        taken.extend(named.chain(options.filters.iter().map(|filter| &filter.field)).cloned());
        taken.extend(options.numbers.iter().map(|numbers| numbers.field.clone()));
        let mut text = None;
        if options.find_text && !options.text.split('+').any(has) {
            text = guess::text(rows, &taken);
        }
        taken.extend(text.as_deref().unwrap_or(&options.text).split('+').map(String::from));
        let mut label = None;
        if options.find_label && options.label.is_none() && !has("label") && !has("labels") {
            label = guess::label(rows, &taken);
        }
        if text.is_none() && label.is_none() {
            return;
        }
        for (what, field) in [("text", &text), ("label", &label)] {
            if let Some(field) = field {
                self.note(format!("{}: no field `{what}`; `{field}` is taken for it", self.source));
            }
        }
        let mut found = self.options.clone();
        found.text = text.unwrap_or(found.text);
        found.label = label.clone().or(found.label);
        self.fields = Fields::new(&found);
        let expected = ["label", "labels"].map(|name| self.fields.watch(name)).to_vec();
        self.taken_label = label.map(|label| (label, expected));
        self.seen = vec![false; self.fields.len()];
    }

    /// Rows from here on come from `source`.
    pub(super) fn begin(&mut self, source: &str) {
        self.source = source.to_string();
        self.source_rows = 0;
        self.allowed = None;
    }

    /// The source at hand has so many bytes, in which values may be named once and meant often: how many its documents may have.
    #[cfg(any(feature = "excel", feature = "parquet"))]
    pub(super) fn allow(&mut self, bytes: u64) -> u64 {
        let most = most_unpacked(bytes);
        self.allowed = Some((most, most));
        most
    }

    /// Messages from here on are about `file`, a part of the source.
    pub(super) fn enter(&mut self, file: &str) {
        self.source = file.to_string();
    }

    /// The source is at its end; one without rows is an error.
    pub(super) fn end(&mut self, source: &str) -> Flow {
        if self.source_rows > 0 {
            return Ok(());
        }
        self.refuse(Error::input(source, None, "is empty: it holds no documents"))
    }

    /// An error at a line of the source being read.
    pub(super) fn error(&self, line: Option<u64>, reason: String) -> Error {
        Error::input(&self.source, line, reason)
    }

    /// Takes a row. `whole` gives all its fields; it is asked only when rows are kept or a field is missing.
    pub(super) fn row(&mut self, line: impl Into<Option<u64>>, row: Row<'_>, whole: impl Fn() -> Whole) -> Flow {
        self.count_row()?;
        let line = line.into();
        let names = || whole().into_iter().map(|(name, _)| name);
        let mut lacks_expected = false;
        for (slot, value) in row.iter().enumerate() {
            self.seen[slot] |= *value != Value::Absent;
        }
        for &slot in self.fields.expected() {
            lacks_expected |= !self.seen[slot];
        }
        if lacks_expected && self.rows <= NAME_SAMPLES {
            self.names.extend(names());
        }
        if let Some((taken, expected)) = &self.taken_label
            && let Some(&slot) = expected.iter().find(|&&slot| row[slot] != Value::Absent)
        {
            let reason = format!(
                "has a field `{}`, but the first rows had none and `{taken}` was taken for it; say which of them is meant",
                self.fields.name(slot)
            );
            return Err(self.error(line, reason).into());
        }
        match self.fields.document(row, self.rows) {
            Ok(Some(mut document)) => {
                self.fields.fix_widths(&document);
                document.row = self.options.keep.then(whole);
                self.push(document)
            }
            Ok(None) => Ok(()),
            Err(Fault::Reason(reason)) => self.refuse(self.error(line, reason)),
            Err(Fault::Missing(field)) => {
                let has: Vec<String> = names().collect();
                self.refuse(self.error(line, missing(&field, has.iter().map(String::as_str))))
            }
        }
    }

    /// Takes note of a row that cannot be read at all.
    pub(super) fn bad_row(&mut self, line: Option<u64>, reason: String) -> Flow {
        self.count_row()?;
        self.refuse(self.error(line, reason))
    }

    /// Takes note of a file that is one row and cannot be read.
    pub(super) fn bad_source(&mut self, error: Error) -> Flow {
        self.count_row()?;
        self.refuse(error)
    }

    /// Hands over what is left, after the last source; complains about named fields that never turned up.
    pub(super) fn finish(&mut self) -> Flow {
        self.flush()?;
        if let Some(&slot) = self.fields.expected().iter().find(|&&slot| !self.seen[slot]).filter(|_| self.rows > 0) {
            let reason = missing(self.fields.name(slot), self.names.iter().map(String::as_str));
            return Err(Error::data(format!("in none of the {} rows: {reason}", self.rows)).into());
        }
        let skipped = self.findings.lock().map(|findings| findings.skipped.clone()).unwrap_or_default();
        if self.documents == 0 && skipped.count > 0 {
            let first = skipped.reasons.first().cloned().unwrap_or_default();
            return Err(
                Error::data(format!("all {} rows were bad and skipped; the first: {first}", skipped.count)).into()
            );
        }
        if self.documents == 0 && self.rows > 0 {
            let filters: Vec<String> = self.options.filters.iter().map(ToString::to_string).collect();
            return Err(Error::data(format!("none of the {} rows passes {}", self.rows, filters.join(" and "))).into());
        }
        self.send(Message::Done)
    }

    /// Sends the documents so far and the error that ends the reading. Nobody may be listening any more.
    pub(super) fn fail(&mut self, error: Error) {
        if self.flush().is_ok() {
            // Not sent: the caller has gone, and so has the need.
            let _ = self.send(Message::Failed(error));
        }
    }

    fn count_row(&mut self) -> Flow {
        self.rows += 1;
        self.source_rows += 1;
        if self.stop.load(Ordering::Relaxed) { Err(Halt::Stopped) } else { Ok(()) }
    }

    fn push(&mut self, document: Document) -> Flow {
        self.documents += 1;
        let size = size(&document);
        self.batch_bytes += size;
        if let Some((left, most)) = &mut self.allowed {
            let most = *most;
            match left.checked_sub(size as u64) {
                Some(rest) => *left = rest,
                None => return Err(self.error(None, too_much(most)).into()),
            }
        }
        self.batch.push(document);
        if self.batch.len() >= BATCH_DOCUMENTS || self.batch_bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Flow {
        self.batch_bytes = 0;
        if self.batch.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        self.send(Message::Batch(batch))
    }

    fn send(&self, message: Message) -> Flow {
        self.sender.send(message).map_err(|_| Halt::Stopped)
    }

    /// Counts an error, or stops with it.
    fn refuse(&self, error: Error) -> Flow {
        if !self.options.skip_bad {
            return Err(Halt::Failed(error));
        }
        if let Ok(mut findings) = self.findings.lock() {
            let skipped = &mut findings.skipped;
            skipped.count += 1;
            if skipped.reasons.len() < Skipped::REASONS {
                skipped.reasons.push(error.to_string());
            }
        }
        Ok(())
    }
}

/// The bytes of a document, near enough to keep batches small.
fn size(document: &Document) -> usize {
    let labels = document.labels.iter().flatten().map(|label| label.len() + 24).sum::<usize>();
    let numbers = document.numbers.iter().map(|(_, numbers)| 4 * numbers.len()).sum::<usize>();
    let value = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.len(),
        serde_json::Value::Array(list) => 32 * list.len(),
        _ => 8,
    };
    let row = document.row.iter().flatten().map(|(name, kept)| name.len() + value(kept)).sum::<usize>();
    // An empty document takes room too.
    64 + document.id.len() + document.text.len() + labels + numbers + row
}

/// Says that a field is missing and what there is instead.
pub(super) fn missing<'a>(field: &str, has: impl IntoIterator<Item = &'a str>) -> String {
    format!("no field `{field}`; there is {}", listed(has))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Were batches counted by their texts alone, hundreds of long lists of labels would wait in one.
    #[test]
    fn labels_numbers_and_rows_count() {
        let long = "y".repeat(1000);
        let document = Document::new("1", "x").labelled(&long);
        assert!(size(&document) > 1000);
        let row = [("a".to_string(), long.into())].into_iter().collect();
        assert!(size(&Document { row: Some(row), labels: None, ..document.clone() }) > 1000);
        let numbers = vec![("n".into(), vec![0.0; 250])];
        assert!(size(&Document { numbers, labels: None, ..document }) >= 1000);
    }
}
