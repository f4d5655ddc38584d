//! Documents in: formats, fields, filters, labels and splits.

mod document;
mod labels;
mod split;

pub use document::Document;
pub use labels::Labels;
pub use split::{folds, hold_out, without};
