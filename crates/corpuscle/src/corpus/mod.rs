//! Documents in: formats, fields, filters, labels and splits.
//!
//! [`read()`] takes files, folders, globs or standard input and streams [`Document`]s out of them; [`Labels`] numbers their
//! classes, and [`folds`] and [`hold_out`] cut them into parts. [`demo()`] is a small corpus that is always there.
//!
//! # Formats
//!
//! Told by name or first bytes, compressed with gzip or zstd or not: JSON Lines, a JSON array of objects, CSV (between
//! commas, semicolons, tabs or upright bars, whichever the header has) and TSV with a header line, fastText lines
//! (`__label__NAME text`), a folder per class with a file per document, the SGML of Reuters-21578, Parquet, and sheets of
//! workbooks (Excel and OpenDocument; uncompressed). Text in no known format is a document a line.
//! A folder of data files stands for all of them, by name.
//!
//! # Rules for every format
//!
//! - [`ReadOptions`] names the fields; numbers and booleans are taken by their text.
//! - A label that is null, missing or empty leaves the document unlabelled; an empty list says that it has no label.
//! - A document without an id gets its row number, counted from 1 over all sources, filtered rows included.
//! - A weight is finite and not negative; 1 when it is null, missing or empty.
//! - Files are UTF-8, with or without a byte-order mark; only class folders and SGML may be Latin-1. Blank lines are
//!   passed over, but are empty documents in plain text; CRLF is as good as LF.
//! - A bad row ends the reading with an error that has file, line and reason, or, with [`ReadOptions::skip_bad`], is
//!   counted and left out. Damaged archives, unclosed quotes and missing files always end it, and so does an empty file
//!   unless bad rows are skipped.
//!
//! ```
//! use corpuscle::corpus::{ReadOptions, read_all};
//! let folder = tempfile::tempdir().unwrap();
//! let file = folder.path().join("mail.csv");
//! std::fs::write(&file, "label,text\nspam,cheap pills\nham,see you at ten\n").unwrap();
//! let documents = read_all(&[file], &ReadOptions::default())?;
//! assert_eq!(documents[1].text, "see you at ten");
//! assert_eq!(documents[0].labels.as_deref(), Some(&["spam".to_string()][..]));
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod demo;
mod describe;
mod document;
mod label_counts;
mod labels;
pub(crate) mod read;
mod split;

pub use demo::{DEMO_JSONL, Demo, demo};
pub use describe::read_descriptions;
pub use document::Document;
pub use label_counts::LabelCounts;
pub use labels::{Labels, LabelsBuilder};
pub use read::{Documents, Encoding, Filter, Format, Numbers, ReadOptions, Skipped, read, read_all, read_text};
pub use split::{blocks, folds, hold_out, without};
