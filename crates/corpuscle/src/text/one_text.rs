//! The terms of one text, one after the other: words, negated words, positions, character n-grams.
//!
//! What [`super::builder`] makes of a collection with numbers, distinct word by distinct word, is made here with strings, for one text
//! alone and for tests to compare with.

use std::sync::{Mutex, PoisonError};

use super::WordsParams;
use super::filter::Filter;
use super::marks::{ends_clause, is_negation, positions, write_negated};
use super::scan::Scanner;
use crate::Result;
use crate::params::Params;

/// Reads one text after the other.
pub(super) struct OneText {
    params: WordsParams,
    scanner: Scanner,
    buffer: String,
}

impl OneText {
    pub(super) fn new(params: &WordsParams) -> Self {
        OneText { params: params.alone(), scanner: Scanner::new(params), buffer: String::new() }
    }

    /// Calls `visit(term)` for every term in order; `filter` is that of the parameters.
    pub(super) fn read(&mut self, text: &str, filter: &Filter, mut visit: impl FnMut(&str)) {
        let OneText { params, scanner, buffer } = self;
        let (mut before, mut to_negate) = (0, 0);
        let mut first: Vec<String> = Vec::new();
        let mut last = String::new();
        scanner.scan(text, |padded, start, end| {
            let word = padded.get(start..end).unwrap_or_default();
            let mut negated = false;
            if params.negate > 0 {
                if ends_clause(padded.get(before..start).unwrap_or_default()) {
                    to_negate = 0;
                }
                before = end;
                if is_negation(word, params.tokenizer) {
                    to_negate = params.negate;
                } else if to_negate > 0 {
                    to_negate -= 1;
                    negated = true;
                }
            }
            // A stem of nothing is left out as well.
            let Some(kept) = filter.apply(word).filter(|kept| !kept.is_empty()) else { return };
            if let Some(chars) = params.chars {
                return chars.cut(&kept, buffer, |padded, length| visit(&padded[..length]));
            }
            if params.position {
                if first.len() < 3 {
                    first.push(kept.to_string());
                }
                last.clear();
                last.push_str(&kept);
            }
            if negated {
                write_negated(&kept, buffer);
                visit(buffer);
            } else {
                visit(&kept);
            }
        });
        positions(&first, &last, visit);
    }
}

/// Cuts one text after the other into terms; what does not change from text to text (a table of stop words) is made once, and
/// buffers are kept for the next.
pub(crate) struct Cutter {
    params: WordsParams,
    filter: Filter,
    idle: Mutex<Vec<OneText>>,
}

impl Cutter {
    /// A cutter of texts into the terms of `params`, views left aside.
    pub(crate) fn new(params: &WordsParams) -> Result<Self> {
        params.check()?;
        Ok(Cutter { params: params.alone(), filter: Filter::new(params), idle: Mutex::default() })
    }

    /// The terms of a text.
    pub(crate) fn terms(&self, text: &str) -> Vec<String> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let mut reader = kept.unwrap_or_else(|| OneText::new(&self.params));
        let mut terms = Vec::new();
        reader.read(text, &self.filter, |term| terms.push(term.to_string()));
        idle().push(reader);
        terms
    }
}
