//! How well a document fits a query.
//!
//! With tf the occurrences of a term in the document, |d| its tokens, P(w|C) the term's share of all tokens, and weights w_q of the
//! query's terms (how often each occurs in it, or what feedback made of that):
//!
//! - BM25: Σ w_q · ln(1 + (N − n + ½)/(n + ½)) · tf (k₁ + 1)/(tf + k₁ (1 − b + b |d|/mean)), S. Robertson and others (1994).
//! - Query likelihood, Dirichlet smoothing: P(w|d) = (tf + μ P(w|C))/(|d| + μ).
//! - Query likelihood, Jelinek-Mercer smoothing: P(w|d) = (1 − λ) tf/|d| + λ P(w|C), both in C. Zhai and J. Lafferty (2004).
//!
//! The likelihoods come as Σ w_q ln P(w|d), less what is the same for every document, or in the linear form of the SCDV paper,
//! Σ P(w|q) P(w|d). Only documents with a term of the query are ranked. O(postings of the terms).

use serde::{Deserialize, Serialize};

use super::searcher::{Found, Place, Postings, Scratch, Searcher};
use crate::params::Checks;
use crate::{Result, Run};

/// A ranking function with its constants.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranking {
    /// BM25.
    Bm25 {
        /// How soon more occurrences stop to count.
        k1: f64,
        /// How much long documents are held back, 0 to 1.
        b: f64,
    },
    /// Query likelihood with Dirichlet smoothing.
    Dirichlet {
        /// Tokens of the collection that every document is taken to hold.
        mu: f64,
    },
    /// Query likelihood with Jelinek-Mercer smoothing.
    JelinekMercer {
        /// The share of the collection, between 0 and 1.
        lambda: f64,
    },
}

impl Ranking {
    /// BM25 with its usual constants.
    pub const BM25: Ranking = Ranking::Bm25 { k1: 1.2, b: 0.75 };
    /// Dirichlet smoothing with a usual constant for short documents.
    pub const DIRICHLET: Ranking = Ranking::Dirichlet { mu: 500.0 };
    /// Jelinek-Mercer smoothing with a usual constant for long queries.
    pub const JELINEK_MERCER: Ranking = Ranking::JelinekMercer { lambda: 0.7 };

    /// Fails on constants out of their range.
    pub fn check(self) -> Result<()> {
        let checks = Checks::of("search");
        let (from_0, share) = ("must be a number from 0", "must be between 0 and 1");
        match self {
            Ranking::Bm25 { k1, b } => {
                let checks = checks.that(k1.is_finite() && k1 >= 0.0, "k1", &k1, from_0);
                checks.that((0.0..=1.0).contains(&b), "b", &b, share).done()
            }
            Ranking::Dirichlet { mu } => {
                checks.that(mu.is_finite() && mu > 0.0, "mu", &mu, "must be a number above 0").done()
            }
            Ranking::JelinekMercer { lambda } => {
                checks.that(lambda > 0.0 && lambda < 1.0, "smoothing", &lambda, share).done()
            }
        }
    }
}

/// Whether probabilities are multiplied or added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A sum of logarithms.
    #[default]
    Log,
    /// A sum of probabilities, as the SCDV paper has it. BM25 has one form only.
    Linear,
}

/// What the terms of a query have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scorer {
    ranking: Ranking,
    form: Form,
    documents: f64,
    tokens: f64,
    mean_length: f64,
    /// Sum of the weights.
    weights: f64,
    /// Σ weight · P(w|C).
    background: f64,
}

/// A ranked document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ranked {
    pub(super) score: f64,
    pub(super) number: u64,
    pub(super) place: Place,
}

impl Scorer {
    pub(super) fn new(ranking: Ranking, form: Form, found: &[Found], searcher: &Searcher) -> Self {
        let (documents, tokens) = (searcher.documents() as f64, searcher.tokens() as f64);
        let background = found.iter().map(|found| found.weight * found.occurs.occurrences as f64 / tokens).sum();
        let weights = found.iter().map(|found| found.weight).sum();
        Scorer { ranking, form, documents, tokens, mean_length: tokens / documents, weights, background }
    }

    /// What a term adds to a document of so many tokens that holds it so often.
    pub(super) fn part(&self, found: &Found) -> impl Fn(u32, u32) -> f64 + use<> {
        let (scorer, weight) = (*self, found.weight);
        let n = found.occurs.documents as f64;
        let share = found.occurs.occurrences as f64 / self.tokens;
        // What does not depend on the document is worked out once.
        let constant = match (self.ranking, self.form) {
            (Ranking::Bm25 { k1, .. }, _) => weight * (1.0 + (self.documents - n + 0.5) / (n + 0.5)).ln() * (k1 + 1.0),
            (Ranking::Dirichlet { mu }, _) => 1.0 / (mu * share),
            (Ranking::JelinekMercer { lambda }, _) => (1.0 - lambda) / (lambda * share),
        };
        let (k1, b) = if let Ranking::Bm25 { k1, b } = self.ranking { (k1, b) } else { (0.0, 0.0) };
        let (short, by_length) = (k1 * (1.0 - b), k1 * b / self.mean_length);
        move |tf: u32, length: u32| {
            let (tf, length) = (f64::from(tf), f64::from(length));
            match (scorer.ranking, scorer.form) {
                (Ranking::Bm25 { .. }, _) => constant * tf / (tf + (short + by_length * length)),
                (Ranking::Dirichlet { .. }, Form::Log) => weight * (tf * constant).ln_1p(),
                (Ranking::Dirichlet { mu }, Form::Linear) => weight * tf / (length + mu),
                (Ranking::JelinekMercer { .. }, Form::Log) => weight * (tf * constant / length).ln_1p(),
                (Ranking::JelinekMercer { lambda }, Form::Linear) => weight * (1.0 - lambda) * tf / length,
            }
        }
    }

    /// What a document of so many tokens has without any of the terms.
    pub(super) fn whole(&self, length: u32) -> f64 {
        let length = f64::from(length);
        match (self.ranking, self.form) {
            (Ranking::Bm25 { .. }, _) | (Ranking::JelinekMercer { .. }, Form::Log) => 0.0,
            (Ranking::Dirichlet { mu }, Form::Log) => self.weights * (mu / (length + mu)).ln(),
            (Ranking::Dirichlet { mu }, Form::Linear) => mu * self.background / (length + mu),
            (Ranking::JelinekMercer { lambda }, Form::Linear) => lambda * self.background,
        }
    }
}

/// The scores of one query: of every document with a term of it, without the part that is the same for documents of its length.
pub(super) struct Scores<'a> {
    searcher: &'a Searcher,
    scorer: Scorer,
    segments: Vec<Scratch>,
}

impl Searcher {
    /// Scores every document with a term of the query.
    pub(super) fn score(&self, scorer: &Scorer, found: &[Found], run: &Run) -> Scores<'_> {
        let one = |&number: &usize| {
            let segment = &self.segments[number];
            let most = found
                .iter()
                .map(|found| found.occurs.lists[number].docs.len())
                .sum::<usize>()
                .min(segment.lengths.len());
            let mut scratch = segment.scratch();
            let Scratch { values, touched } = &mut scratch;
            touched.resize(most + 1, 0);
            let mut met = 0;
            for found in found {
                let part = scorer.part(found);
                let Postings { docs, counts } = &found.occurs.lists[number];
                for (&doc, &count) in docs.iter().zip(counts) {
                    let (score, length) = (&mut values[doc as usize], segment.lengths[doc as usize]);
                    let part = part(count, length);
                    // The first term that meets a document starts its sum. Written in any case and counted when it was the first:
                    // no processor foresees which documents have two of the words.
                    let is_first = score.is_nan();
                    *score = if is_first { part } else { *score + part };
                    touched[met] = doc;
                    met += usize::from(is_first);
                }
            }
            touched.truncate(met);
            scratch
        };
        let segments = self.each(&self.numbers(), run, one);
        Scores { searcher: self, scorer: *scorer, segments }
    }
}

impl Scores<'_> {
    /// The score of a document; one without a term of the query has what its length alone gives it.
    pub(super) fn of(&self, place: Place) -> f64 {
        let value = self.segments[place.segment as usize].values[place.doc as usize];
        let whole = self.scorer.whole(self.searcher.length(place));
        if value.is_nan() { whole } else { value + whole }
    }

    /// The best documents with a term of the query, best first; of equal ones those that came in first.
    pub(super) fn best(&self, count: usize, run: &Run) -> Vec<Ranked> {
        if count == 0 {
            return Vec::new();
        }
        let one = |&number: &usize| {
            let segment = &self.searcher.segments[number];
            let Scratch { values, touched } = &self.segments[number];
            let most = count.saturating_mul(2).max(64);
            // Whoever is below the last of the best so far cannot be one of them.
            let (mut best, mut least) = (Vec::new(), f64::NEG_INFINITY);
            for &doc in touched {
                let score = values[doc as usize] + self.scorer.whole(segment.lengths[doc as usize]);
                if score >= least {
                    let place = Place { segment: number as u32, doc };
                    best.push(Ranked { score, number: segment.numbers[doc as usize], place });
                    if best.len() == most {
                        cut(&mut best, count);
                        least = best.iter().map(|ranked| ranked.score).fold(f64::INFINITY, f64::min);
                    }
                }
            }
            cut(&mut best, count);
            best
        };
        let segments: Vec<Vec<Ranked>> = self.searcher.each(&self.searcher.numbers(), run, one);
        let mut best = segments.concat();
        cut(&mut best, count);
        best.sort_unstable_by(order);
        best
    }
}

impl Drop for Scores<'_> {
    /// Gives the memory back for the next query, with nothing touched.
    fn drop(&mut self) {
        for (segment, scratch) in self.searcher.segments.iter().zip(&mut self.segments) {
            segment.give_back(std::mem::take(scratch));
        }
    }
}

fn order(a: &Ranked, b: &Ranked) -> std::cmp::Ordering {
    b.score.total_cmp(&a.score).then(a.number.cmp(&b.number))
}

/// Leaves the best, in no order.
fn cut(ranked: &mut Vec<Ranked>, count: usize) {
    if count < ranked.len() {
        ranked.select_nth_unstable_by(count, order);
        ranked.truncate(count);
    }
}
