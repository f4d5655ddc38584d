//! Words and topics of any method that has some, as one table of probabilities.
//!
//! P(w, c), the probability that a token is the word w and belongs to the topic c. From it follow the weight of a topic P(c) =
//! Σ_w P(w, c), its words P(w|c) = P(w, c) / P(c), and the topics of a word P(c|w) = P(w, c) / P(w). A method that knows P(c|w)
//! alone, such as a mixture over word vectors, gives P(w, c) = P(c|w) · P(w).

use crate::matrix::Dense;
use crate::text::Tokens;

/// P(w, c) of words and topics; all entries add up to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicTable {
    words: Vec<String>,
    joint: Dense,
    weights: Vec<f64>,
    soft: bool,
}

impl TopicTable {
    /// A table of words (rows) and topics (columns) from what P(w, c) is in proportion to; nothing negative. `soft` says that words
    /// are spread over topics for their meaning's sake, so that a word in several topics has several senses.
    pub fn new(words: Vec<String>, mut joint: Dense, soft: bool) -> Self {
        let all: f64 = joint.values().iter().map(|&value| f64::from(value)).sum();
        let scale = if all > 0.0 { all.recip() } else { 0.0 };
        joint.values_mut().iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
        let mut weights = vec![0f64; joint.cols()];
        for row in 0..joint.rows() {
            weights.iter_mut().zip(joint.row(row)).for_each(|(sum, &value)| *sum += f64::from(value));
        }
        TopicTable { words, joint, weights, soft }
    }

    /// The same with P(w) as often as each word is in documents; P(c|w) stays. Words that are in none keep nothing. For methods that
    /// know P(c|w) and, of P(w), only in how many documents a word is.
    #[must_use]
    pub fn with_frequencies(self, tokens: &Tokens) -> Self {
        let mut counts = vec![0u64; tokens.n_terms()];
        tokens.ids().iter().for_each(|&id| counts[id as usize] += 1);
        let mut joint = self.joint;
        for (row, word) in self.words.iter().enumerate() {
            let count = tokens.lexicon().id(word).map_or(0, |id| counts[id as usize]);
            let values = joint.row_mut(row);
            let sum: f64 = values.iter().map(|&value| f64::from(value)).sum();
            let scale = if sum > 0.0 { count as f64 / sum } else { 0.0 };
            values.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
        }
        Self::new(self.words, joint, self.soft)
    }

    /// The words, by row.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// How many topics there are.
    pub fn n_topics(&self) -> usize {
        self.weights.len()
    }

    /// Whether a word in several topics has several senses, by the method's own account.
    pub fn is_soft(&self) -> bool {
        self.soft
    }

    /// P(c) of every topic.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The row of a word.
    pub fn row_of(&self, word: &str) -> Option<usize> {
        self.words.iter().position(|known| known == word)
    }

    /// P(w).
    pub fn word_weight(&self, row: usize) -> f64 {
        self.joint.row(row).iter().map(|&value| f64::from(value)).sum()
    }

    /// P(c|w) of every topic; zeros for a word without weight.
    pub fn topics_of(&self, row: usize) -> Vec<f64> {
        let sum = self.word_weight(row);
        let scale = if sum > 0.0 { sum.recip() } else { 0.0 };
        self.joint.row(row).iter().map(|&value| f64::from(value) * scale).collect()
    }

    /// P(w|c).
    pub fn word_in(&self, row: usize, topic: usize) -> f64 {
        let weight = self.weights[topic];
        if weight > 0.0 { f64::from(self.joint.row(row)[topic]) / weight } else { 0.0 }
    }

    /// The `count` words of largest P(w|c) as (row, P(w|c)), largest first, then in byte order; none of probability 0.
    pub fn top_words(&self, topic: usize, count: usize) -> Vec<(usize, f64)> {
        let mut rows: Vec<usize> = (0..self.words.len()).filter(|&row| self.joint.row(row)[topic] > 0.0).collect();
        let by_weight = |&a: &usize, &b: &usize| {
            self.joint.row(b)[topic].total_cmp(&self.joint.row(a)[topic]).then(self.words[a].cmp(&self.words[b]))
        };
        if rows.len() > count && count > 0 {
            rows.select_nth_unstable_by(count - 1, by_weight);
        }
        rows.truncate(count);
        rows.sort_by(by_weight);
        rows.into_iter().map(|row| (row, self.word_in(row, topic))).collect()
    }

    /// How far two topics are apart: the square root of the Jensen-Shannon divergence of their words, from 0 to 1.
    pub fn distance(&self, one: usize, other: usize) -> f64 {
        let half = |p: f64, q: f64| if p > 0.0 { p * (2.0 * p / (p + q)).log2() } else { 0.0 };
        let both = (0..self.words.len()).map(|row| (self.word_in(row, one), self.word_in(row, other)));
        let divergence: f64 = both.map(|(p, q)| half(p, q) + half(q, p)).sum();
        (divergence / 2.0).clamp(0.0, 1.0).sqrt()
    }
}
