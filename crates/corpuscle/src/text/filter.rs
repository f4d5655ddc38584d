//! What happens once to each distinct word: length, stop words, stem.

use std::borrow::Cow;

use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

use super::{Stemmer, WordsParams};

/// Decides whether a word stays and what it becomes; by default every word stays as it is.
#[derive(Default)]
pub(super) struct Filter {
    min_length: usize,
    stop: HashSet<String, FxBuildHasher>,
    stem: Option<Stemmer>,
}

impl Filter {
    pub(super) fn new(params: &WordsParams) -> Self {
        let stop = params.stop.iter().flat_map(|stop| stop.words()).map(str::to_string).collect();
        Filter { min_length: params.min_length, stop, stem: params.stem }
    }

    /// Whether every word stays as it is.
    pub(super) fn is_idle(&self) -> bool {
        self.min_length <= 1 && self.stop.is_empty() && self.stem.is_none()
    }

    /// The word to count in place of `word`, or none.
    pub(super) fn apply<'a>(&self, word: &'a str) -> Option<Cow<'a, str>> {
        // A word has at most as many characters as bytes; counting them is only needed when it may be too short.
        let long_enough = self.min_length <= 1 || word.chars().take(self.min_length).count() == self.min_length;
        if !long_enough || self.stop.contains(word) {
            return None;
        }
        Some(match self.stem {
            Some(stemmer) => stemmer.stem(word),
            None => Cow::Borrowed(word),
        })
    }
}
