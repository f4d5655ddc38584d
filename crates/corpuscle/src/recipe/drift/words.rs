//! Words a model has never seen, and how many of them are to be expected.
//!
//! While nothing changes, a new document has about as many unknown words as a training document would have had it been held out.
//! With documents from before that is counted: a word of theirs is unknown when the model does not know it, or when too few
//! of the other documents have it for the model to know it without this one. Few documents beside those trained on are taken as new to the
//! model. Without any, it is estimated: if T / (r (r + 1)) words have r documents (Zipf's law), a model that keeps words of m
//! documents and more knows V = T / m of them, and of N tokens the share of words with at most m documents is
//! m (1/2 + … + 1/(m + 1)) V / N (Good, 1953, "The population frequencies of species": what is seen once tells how much is unseen).
//!
//! On five corpora (demo, 20 Newsgroups, banking77, snippets, Reuters; words of one document and more, or of two) test documents have
//! 0.9 to 1.7 times the odds of what is counted and 0.5 to 3.0 times those of what is estimated; snippets, whose test part comes from
//! other queries, are the highest. Documents of another corpus have 5 times and more where their language differs. Hence [`MARGIN`].

use std::collections::HashSet;

use crate::params::Value;
use crate::recipe::Model;
use crate::recipe::syntax::{Call, Expression};
use crate::vectorize::Bound;

/// Odds of an unknown word, against those expected, above which there are many.
const MARGIN: f64 = 3.0;
/// A smaller share than this is never many.
const LEAST: f64 = 0.05;

/// The words a model knows, and what it learnt them from.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    words: HashSet<String>,
    /// How many of them are single words.
    singles: usize,
    /// Fewest documents of a known word; none where the model has left words out for other reasons.
    least: Option<u64>,
    documents: usize,
    tokens: u64,
}

impl Vocabulary {
    /// That of a model; none where its columns are no words.
    pub fn of(model: &Model) -> Option<Self> {
        let names = model.feature_names();
        if names.is_empty() {
            return None;
        }
        let about = &model.metadata().about;
        let is_whole = model.widths().ok()?.first().is_some_and(|(_, columns)| *columns == names.len());
        let least = if is_whole { least_documents(model, about.documents) } else { None };
        Some(Self::new(names.into_iter().collect(), least, about.documents, about.tokens))
    }

    /// That of so many documents with so many tokens, for a model that names no words.
    pub fn of_documents(words: HashSet<String>, documents: usize, tokens: u64) -> Self {
        Self::new(words, Some(1), documents, tokens)
    }

    fn new(words: HashSet<String>, least: Option<u64>, documents: usize, tokens: u64) -> Self {
        // Terms of several words have a space in them.
        let singles = words.iter().filter(|word| !word.contains(' ')).count();
        Vocabulary { words, singles, least, documents, tokens }
    }

    /// Whether a word is known.
    pub fn knows(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// The share of words unknown in so many documents from before: each word with the documents it is in and how often it is there.
    pub fn counted<'a>(&self, documents: usize, words: impl IntoIterator<Item = (&'a str, usize, u64)>) -> f64 {
        // So many documents may well be those trained on; words are counted as if they were.
        let many = 2 * documents >= self.documents;
        let least = if many { self.least.unwrap_or(1) } else { 0 };
        let (mut unknown, mut all) = (0, 0);
        for (word, documents, tokens) in words {
            all += tokens;
            unknown += if !self.knows(word) || documents as u64 <= least { tokens } else { 0 };
        }
        unknown as f64 / all.max(1) as f64
    }

    /// The share of unknown words to expect: what is counted or what is estimated, the larger of the two; none where neither can be told.
    pub fn expected(&self, counted: Option<f64>) -> Option<f64> {
        match (counted, self.estimate()) {
            (Some(counted), Some(estimate)) => Some(counted.max(estimate)),
            (counted, estimate) => counted.or(estimate),
        }
    }

    fn estimate(&self) -> Option<f64> {
        let (least, tokens) = (self.least?, self.tokens);
        if tokens == 0 {
            return None;
        }
        let words = self.singles as f64;
        let harmonic: f64 = (2..=least.saturating_add(1).min(1_000_000)).map(|r| 1.0 / r as f64).sum();
        Some((least as f64 * harmonic * words / tokens as f64).min(1.0))
    }
}

/// The `min_df` of a recipe whose first vectorizer keeps every word of so many documents and more.
fn least_documents(model: &Model, documents: usize) -> Option<u64> {
    let expression = Expression::parse(&model.recipe().full()).ok()?;
    let mut calls = Vec::new();
    flatten(&expression, &mut calls);
    let counts = calls.into_iter().find(|call| ["counts", "binary", "tfidf"].contains(&call.name.as_str()))?;
    let value = |name: &str| {
        let named = counts.arguments.iter().find(|argument| argument.name.as_deref() == Some(name));
        named.map(|argument| argument.value.as_str())
    };
    let is_all = |name: &str| value(name).is_none_or(|value| ["all", "1.0"].contains(&value));
    if !is_all("max_df") || !is_all("max_features") {
        return None;
    }
    let least = value("min_df").map_or(Some(Bound::Count(1)), Bound::read)?;
    Some(least.of(documents).ceil().max(1.0) as u64)
}

fn flatten<'a>(expression: &'a Expression, calls: &mut Vec<&'a Call>) {
    match expression {
        Expression::Stage(call) => calls.push(call),
        Expression::Pipe(parts) | Expression::Sum(parts) => parts.iter().for_each(|part| flatten(part, calls)),
        Expression::Weighted(part, _) => flatten(part, calls),
    }
}

/// Unknown words of new documents beside what is to be expected.
#[derive(Debug, Clone, Copy)]
pub struct Unknown {
    /// The share of words that are unknown.
    pub share: f64,
    /// Where its interval begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
    /// The share to expect; none where nothing tells.
    pub expected: Option<f64>,
}

impl Unknown {
    /// A share of words with an interval of so many standard errors.
    pub fn of(found: &ShareOfWords, expected: Option<f64>, errors: f64) -> Self {
        let (share, error) = found.share();
        Unknown { share, low: (share - errors * error).max(0.0), high: (share + errors * error).min(1.0), expected }
    }

    /// Whether that is clearly more than expected: the whole interval is.
    pub fn are_many(&self) -> Option<bool> {
        let odds = |share: f64| share / (1.0 - share).max(1e-9);
        self.expected.map(|expected| self.low > LEAST && odds(self.low) > MARGIN * odds(expected))
    }
}

/// A share of words, summed over documents: words of one document come together, so documents are what is drawn.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShareOfWords {
    documents: f64,
    /// Σ u, Σ t, Σ u², Σ u t, Σ t² of u unknown words out of t.
    sums: [f64; 5],
}

impl ShareOfWords {
    /// Adds a document: unknown words out of all.
    pub fn add(&mut self, unknown: usize, all: usize) {
        let (u, t) = (unknown as f64, all as f64);
        self.documents += 1.0;
        self.sums.iter_mut().zip([u, t, u * u, u * t, t * t]).for_each(|(sum, value)| *sum += value);
    }

    /// The share and its standard error, by the variance of a ratio; without two documents the error is 1.
    pub fn share(&self) -> (f64, f64) {
        let [u, t, uu, ut, tt] = self.sums;
        if t == 0.0 {
            return (0.0, 1.0);
        }
        let share = u / t;
        if self.documents < 2.0 {
            return (share, 1.0);
        }
        let squares = (uu - 2.0 * share * ut + share * share * tt).max(0.0);
        (share, (squares * self.documents / (self.documents - 1.0)).sqrt() / t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_share_is_that_of_documents_not_of_words() {
        let (mut even, mut torn) = (ShareOfWords::default(), ShareOfWords::default());
        for document in 0..100 {
            even.add(5, 10);
            torn.add(if document % 2 == 0 { 10 } else { 0 }, 10);
        }
        assert_eq!(even.share(), (0.5, 0.0));
        let (share, error) = torn.share();
        // 100 documents, each all or nothing: √(¼ / 99).
        assert!(share == 0.5 && (error - (0.25f64 / 99.0).sqrt()).abs() < 1e-12, "{error}");
        assert_eq!(ShareOfWords::default().share(), (0.0, 1.0));
    }

    #[test]
    fn what_is_expected_is_zipfs_share_or_what_documents_have() {
        let vocabulary = |least| {
            let words = (0..100).map(|word| word.to_string()).chain(["two words".into()]).collect();
            Vocabulary::new(words, least, 10, 1000)
        };
        assert_eq!(vocabulary(Some(1)).expected(None), Some(0.05));
        assert!((vocabulary(Some(2)).expected(None).unwrap() - 2.0 * (0.5 + 1.0 / 3.0) * 0.1).abs() < 1e-12);
        assert_eq!(vocabulary(None).expected(None), None);
        // Documents as many as those trained on: a word of one of them would be unknown without it.
        let before = [("1", 1, 2), ("2", 5, 10), ("foreign", 2, 4)];
        assert_eq!(vocabulary(Some(1)).counted(10, before), 6.0 / 16.0);
        assert_eq!(vocabulary(Some(1)).counted(4, before), 4.0 / 16.0);
        assert_eq!(vocabulary(Some(1)).expected(Some(0.375)), Some(0.375));
        let few = Unknown { share: 0.12, low: 0.10, high: 0.14, expected: Some(0.05) };
        assert_eq!(few.are_many(), Some(false));
        assert_eq!(Unknown { low: 0.4, ..few }.are_many(), Some(true));
        assert_eq!(Unknown { low: 0.4, expected: None, ..few }.are_many(), None);
    }
}
