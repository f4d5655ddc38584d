//! Documents in: formats, fields, filters, labels and splits.
//!
//! [`read`] takes files, folders, globs or standard input and streams [`Document`]s out of them; [`Labels`] numbers their
//! classes, and [`folds`] and [`hold_out`] cut them into parts. [`demo`] is a small corpus that is always there.

mod demo;
mod document;
mod labels;
mod read;
mod split;

pub use demo::{DEMO_JSONL, Demo, demo};
pub use document::Document;
pub use labels::Labels;
pub use read::{Documents, Filter, Format, ReadOptions, Skipped, read, read_all};
pub use split::{folds, hold_out, without};
