//! Pictures whose documents can be looked at: the confusion matrix by cells, and the map by points.
//!
//! The documents go into the page as JSON beside the picture, and one small script, the same on every page, shows them.
//! The page's policy names that script by its hash, so no other can run. Without it the pictures are still seen.

use std::fmt::Write;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::report::svg::Chart;
use crate::report::{escape, snippet};

/// The one script of a page.
pub(super) const SCRIPT: &str = include_str!("page.js");
/// Characters of a document's text that are shown.
const SNIPPET: usize = 160;

/// A document as a picture shows it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShownDocument {
    /// Its id.
    pub id: String,
    /// The class it has, by number.
    pub truth: Option<u32>,
    /// The class it was given, by number.
    pub predicted: Option<u32>,
    /// How sure the model was, in words; may be empty.
    pub confidence: String,
    /// Its text; the first 160 characters or so are kept.
    pub text: String,
}

/// Documents of one cell of a confusion matrix.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CellDocuments {
    /// The true class, by number.
    pub row: usize,
    /// The class given, by number.
    pub column: usize,
    /// How many documents the cell has.
    pub total: usize,
    /// Those to show, the surest first.
    pub documents: Vec<ShownDocument>,
}

impl ShownDocument {
    fn as_json(&self) -> serde_json::Value {
        let number = |class: Option<u32>| class.map_or(-1, i64::from);
        let (truth, predicted) = (number(self.truth), number(self.predicted));
        json!([self.id, truth, predicted, self.confidence, snippet(&self.text, SNIPPET)])
    }
}

pub(super) fn cells(out: &mut String, chart: &Chart, classes: &[String], cells: &[CellDocuments], caption: &str) {
    let cells: serde_json::Map<String, serde_json::Value> = cells
        .iter()
        .map(|cell| {
            let documents: Vec<_> = cell.documents.iter().map(ShownDocument::as_json).collect();
            (format!("{},{}", cell.row, cell.column), json!({"total": cell.total, "documents": documents}))
        })
        .collect();
    figure(out, "cells", chart, caption, &json!({"classes": classes, "cells": cells}));
}

pub(super) fn map(out: &mut String, chart: &Chart, classes: &[String], groups: &[Vec<ShownDocument>], caption: &str) {
    let groups: Vec<Vec<_>> = groups.iter().map(|group| group.iter().map(ShownDocument::as_json).collect()).collect();
    figure(out, "map", chart, caption, &json!({"classes": classes, "groups": groups}));
}

fn figure(out: &mut String, kind: &str, chart: &Chart, caption: &str, data: &serde_json::Value) {
    let _ = write!(out, "<figure class=\"{kind}\" tabindex=\"0\">{}", chart.inline());
    if !caption.is_empty() {
        let _ = write!(out, "<figcaption>{}</figcaption>", escape(caption));
    }
    // Nothing that could end the element, or begin another, may stand in it.
    let data = data.to_string().replace('<', "\\u003c").replace('>', "\\u003e");
    let _ = write!(out, "<script type=\"application/json\">{data}</script></figure>");
}

/// What a policy calls the script: its SHA-256 in base 64.
pub(super) fn script_hash() -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let hash = Sha256::digest(SCRIPT.as_bytes());
    let mut text = String::from("sha256-");
    for bytes in hash.chunks(3) {
        let word = bytes.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - bytes.len()));
        for digit in 0..4 {
            match digit <= bytes.len() {
                true => text.push(char::from(DIGITS[(word >> (18 - 6 * digit)) as usize & 63])),
                false => text.push('='),
            }
        }
    }
    text
}
