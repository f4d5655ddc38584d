//! Queries widened by the best documents they find.
//!
//! [`Feedback::Mixture`]: the best documents are taken to be drawn from a mixture of a topic θ and the collection; EM finds θ,
//!
//! t(w) = (1 − λ) θ(w) / ((1 − λ) θ(w) + λ P(w|C)),  θ(w) ∝ c(w) t(w),
//!
//! with c(w) the occurrences of w in them; the query model becomes (1 − α) P(w|q) + α θ(w). C. Zhai and J. Lafferty, "Model-based
//! feedback in the language modeling approach to information retrieval" (2001).
//!
//! [`Feedback::Relevance`] (RM3): θ(w) ∝ Σ_d P(w|d) P(q|d) over the best documents, N. Abdul-Jaleel and others (2004).
//!
//! Both keep the `terms` strongest terms of θ. The documents are cut into words again from their stored texts, which is a few
//! milliseconds for ten; some thousand stay cut.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::rank::Ranked;
use super::searcher::Searcher;
use crate::params::Checks;
use crate::{Result, Run};

/// Steps of EM; θ changes in the sixth digit after some thirty.
const STEPS: usize = 50;

/// How the best documents widen a query.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feedback {
    /// A mixture of a topic and the collection.
    Mixture {
        /// How many documents.
        documents: usize,
        /// How many terms.
        terms: usize,
        /// The share of the topic in the new query, 0 to 1.
        alpha: f64,
        /// The share of the collection in the documents, between 0 and 1.
        background: f64,
    },
    /// The relevance model, interpolated with the query.
    Relevance {
        /// How many documents.
        documents: usize,
        /// How many terms.
        terms: usize,
        /// The share of the model in the new query, 0 to 1.
        alpha: f64,
    },
}

impl Feedback {
    /// The mixture with usual values.
    pub const MIXTURE: Feedback = Feedback::Mixture { documents: 10, terms: 50, alpha: 0.5, background: 0.5 };
    /// The relevance model with usual values.
    pub const RELEVANCE: Feedback = Feedback::Relevance { documents: 10, terms: 50, alpha: 0.5 };

    /// How many documents are looked at.
    pub(super) fn documents(self) -> usize {
        match self {
            Feedback::Mixture { documents, .. } | Feedback::Relevance { documents, .. } => documents,
        }
    }

    /// Fails on values out of their range.
    pub fn check(self) -> Result<()> {
        let (documents, terms, alpha, background) = match self {
            Feedback::Mixture { documents, terms, alpha, background } => (documents, terms, alpha, background),
            Feedback::Relevance { documents, terms, alpha } => (documents, terms, alpha, 0.5),
        };
        Checks::of("feedback")
            .that((1..=1000).contains(&documents), "documents", &documents, "must be 1 to 1000")
            .that((1..=10_000).contains(&terms), "terms", &terms, "must be 1 to 10000")
            .that((0.0..=1.0).contains(&alpha), "alpha", &alpha, "must be between 0 and 1")
            .that(background > 0.0 && background < 1.0, "background", &background, "must be between 0 and 1")
            .done()
    }

    /// The new query. `best` are the documents found, best first, with log-likelihoods for the relevance model.
    pub(super) fn widen(
        self,
        query: &[(String, f64)],
        best: &[Ranked],
        searcher: &Searcher,
        run: &Run,
    ) -> Result<Vec<(String, f64)>> {
        let mut documents = Vec::with_capacity(best.len());
        for ranked in best {
            documents.push((ranked.score, searcher.terms_in(ranked.place)?));
        }
        let (topic, terms, alpha) = match self {
            Feedback::Mixture { terms, alpha, background, .. } => {
                (mixture(&documents, background, searcher, run)?, terms, alpha)
            }
            Feedback::Relevance { terms, alpha, .. } => (relevance(&documents), terms, alpha),
        };
        let mut topic: Vec<(String, f64)> = topic.into_iter().filter(|&(_, share)| share > 0.0).collect();
        // Equal shares in byte order, so that the cut does not depend on anything else.
        topic.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        topic.truncate(terms);
        let (all, kept) = (sum(query), sum(&topic));
        if kept <= 0.0 || all <= 0.0 {
            return Ok(query.to_vec());
        }
        let mut new: Vec<(String, f64)> =
            query.iter().map(|(term, weight)| (term.clone(), (1.0 - alpha) * weight / all)).collect();
        for (term, share) in topic {
            let share = alpha * share / kept;
            match new.iter_mut().find(|(known, _)| *known == term) {
                Some((_, weight)) => *weight += share,
                None => new.push((term, share)),
            }
        }
        Ok(new)
    }
}

fn sum(terms: &[(String, f64)]) -> f64 {
    terms.iter().map(|(_, weight)| weight).sum()
}

type Counted = [(f64, Arc<Vec<(String, f64)>>)];

/// θ by EM.
fn mixture(documents: &Counted, background: f64, searcher: &Searcher, run: &Run) -> Result<Vec<(String, f64)>> {
    let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
    for (term, count) in documents.iter().flat_map(|(_, terms)| terms.iter()) {
        *counts.entry(term).or_default() += count;
    }
    let terms: Vec<&str> = counts.keys().copied().collect();
    let counts: Vec<f64> = counts.values().copied().collect();
    let tokens = searcher.tokens() as f64;
    let collection: Vec<f64> = searcher
        .frequencies(&terms, run)?
        .iter()
        .map(|&count| (count as f64 / tokens).max(f64::MIN_POSITIVE))
        .collect();
    let total: f64 = counts.iter().sum();
    let mut topic: Vec<f64> = counts.iter().map(|count| count / total).collect();
    for _ in 0..STEPS {
        let mut drawn: Vec<f64> = Vec::with_capacity(topic.len());
        for ((&share, &count), &everywhere) in topic.iter().zip(&counts).zip(&collection) {
            let own = (1.0 - background) * share;
            drawn.push(count * own / (own + background * everywhere));
        }
        let sum: f64 = drawn.iter().sum();
        if sum <= 0.0 {
            break;
        }
        topic = drawn.into_iter().map(|drawn| drawn / sum).collect();
    }
    Ok(terms.into_iter().map(str::to_string).zip(topic).collect())
}

/// θ as the mean of the documents' own models, each by its likelihood.
fn relevance(documents: &Counted) -> Vec<(String, f64)> {
    let highest = documents.iter().map(|(score, _)| *score).fold(f64::NEG_INFINITY, f64::max);
    let mut topic: BTreeMap<&str, f64> = BTreeMap::new();
    for (score, terms) in documents {
        let (likelihood, length) = ((score - highest).exp(), sum(terms));
        for (term, count) in terms.iter() {
            *topic.entry(term).or_default() += likelihood * count / length;
        }
    }
    topic.into_iter().map(|(term, share)| (term.to_string(), share)).collect()
}
