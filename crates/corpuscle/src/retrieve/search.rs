//! One query, from its text to its documents with reasons.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::answer::{Answer, Asked, Mixed, count_in};
use super::feedback::Feedback;
use super::rank::{Form, Ranking};
use super::searcher::{Place, Searcher};
use super::vectors::Vectors;
use crate::{Error, Result, Run};

/// Terms of a document's score that are given as reasons.
const REASONS: usize = 10;

/// How vectors and words are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    /// (1 − λ) · score + λ · cosine, both brought to 0 … 1 over the best thousand of each.
    #[default]
    Scores,
    /// P(w|d) = (1 − λ) · P(w|d) of the language model + λ · softmax over words of w · d.
    Probabilities,
}

/// How documents are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// The ranking function.
    pub ranking: Ranking,
    /// Sum of logarithms or of probabilities.
    pub form: Form,
    /// Whether the best documents widen the query.
    pub feedback: Option<Feedback>,
    /// How vectors come in, where there are some.
    pub mix: Mix,
    /// Their share, 0 to 1.
    pub lambda: f64,
}

impl Default for Search {
    fn default() -> Self {
        Search { ranking: Ranking::BM25, form: Form::Log, feedback: None, mix: Mix::Scores, lambda: 0.5 }
    }
}

/// A document found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// Its id.
    pub id: String,
    /// What it was ordered by.
    pub score: f64,
    /// The score by words alone.
    pub words: f64,
    /// The cosine with the query, where vectors were asked for.
    pub cosine: Option<f64>,
    /// What each term adds to the score by words, most first.
    pub terms: Vec<Part>,
    /// Its text.
    #[serde(skip)]
    pub text: String,
}

/// A term behind a score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// The term as it stands in the index.
    pub term: String,
    /// How often it occurs in the document.
    pub count: u32,
    /// What it adds.
    pub adds: f64,
}

impl Search {
    /// Fails on values out of their range.
    pub fn check(&self) -> Result<()> {
        self.ranking.check()?;
        self.feedback.map_or(Ok(()), Feedback::check)?;
        if !(0.0..=1.0).contains(&self.lambda) {
            return Err(Error::parameter("search", "lambda", self.lambda, "must be between 0 and 1"));
        }
        if self.mix == Mix::Probabilities && matches!(self.ranking, Ranking::Bm25 { .. }) {
            let reason = "needs a language model; bm25 has no probabilities of words";
            return Err(Error::parameter("search", "mix", "probabilities", reason));
        }
        Ok(())
    }
}

impl Searcher {
    /// The best documents for a query, best first. A query without a known word finds nothing by words.
    pub fn search(
        &self,
        query: &str,
        how: &Search,
        vectors: Option<&Vectors>,
        count: usize,
        run: &Run,
    ) -> Result<Vec<Hit>> {
        // Handed over once, if at all, not for each step: to wait for another thread takes as long as many of the steps.
        let answer = self.work(run, || Asked::new(self, query, vectors, run)?.answer(how, count))?;
        // Each text costs unpacking a block of them.
        run.install(|| answer.ranked.par_iter().map(|&mixed| self.hit(&answer, mixed)).collect())
    }

    /// Only ids and scores: for run files and measurements, which need no texts and no reasons.
    pub fn ids(
        &self,
        query: &str,
        how: &Search,
        vectors: Option<&Vectors>,
        count: usize,
        run: &Run,
    ) -> Result<Vec<(String, f64)>> {
        self.work(run, || self.named(&Asked::new(self, query, vectors, run)?.answer(how, count)?))
    }

    /// The documents of an answer by their ids.
    pub(super) fn named(&self, answer: &Answer) -> Result<Vec<(String, f64)>> {
        let places: Vec<Place> = answer.ranked.iter().map(|mixed| mixed.ranked.place).collect();
        let scores = answer.ranked.iter().map(|mixed| mixed.ranked.score);
        Ok(self.ids_of(&places)?.into_iter().zip(scores).collect())
    }

    fn hit(&self, answer: &Answer, Mixed { ranked, words, cosine }: Mixed) -> Result<Hit> {
        let (id, text) = (self.id_at(ranked.place)?, self.text_at(ranked.place)?);
        let length = self.length(ranked.place);
        let mut terms: Vec<Part> = Vec::new();
        for found in answer.found.iter() {
            let count = count_in(found, ranked.place);
            if count > 0 {
                let adds = answer.scorer.part(found)(count, length);
                terms.push(Part { term: found.term.clone(), count, adds });
            }
        }
        terms.sort_by(|a, b| b.adds.total_cmp(&a.adds).then_with(|| a.term.cmp(&b.term)));
        terms.truncate(REASONS);
        Ok(Hit { id, score: ranked.score, words, cosine, terms, text })
    }
}
