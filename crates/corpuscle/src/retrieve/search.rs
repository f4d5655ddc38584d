//! One query, from its text to its documents with reasons.

use serde::{Deserialize, Serialize};

use super::feedback::Feedback;
use super::rank::{Form, Ranked, Ranking, Scorer, best};
use super::searcher::{Found, Place, Searcher};
use super::vectors::Vectors;
use crate::{Error, Result, Run};

/// Documents by text, and by vector, that are put in order together.
const POOL: usize = 1000;
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

/// What a query came to before documents are looked up.
pub(super) struct Answer {
    scorer: Scorer,
    found: Vec<Found>,
    /// Order, score by words, cosine.
    pub(super) ranked: Vec<(Ranked, f64, Option<f64>)>,
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
        let answer = self.answer(query, how, vectors, count, run)?;
        answer.ranked.iter().map(|&ranked| self.hit(&answer, ranked)).collect()
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
        let answer = self.answer(query, how, vectors, count, run)?;
        answer.ranked.iter().map(|(ranked, ..)| Ok((self.document(ranked.place)?.id, ranked.score))).collect()
    }

    pub(super) fn answer(
        &self,
        query: &str,
        how: &Search,
        vectors: Option<&Vectors>,
        count: usize,
        run: &Run,
    ) -> Result<Answer> {
        how.check()?;
        let mut terms = self.terms_of(query)?;
        if let Some(feedback) = how.feedback {
            // Whatever ranks in the end, likelihoods say how much each document found counts in the relevance model.
            let found = self.find(&terms, run)?;
            let scorer = Scorer::new(how.ranking, Form::Log, &found, self);
            let first = best(self.score(&scorer, &found, run), feedback.documents());
            if !first.is_empty() {
                terms = feedback.widen(&terms, &first, self, run)?;
            }
        }
        let found = self.find(&terms, run)?;
        let scorer = Scorer::new(how.ranking, how.form, &found, self);
        let ranked = self.score(&scorer, &found, run);
        let ranked = match vectors {
            None => best(ranked, count).into_iter().map(|ranked| (ranked, ranked.score, None)).collect(),
            Some(vectors) => match how.mix {
                Mix::Scores => self.mix_scores(query, ranked, &scorer, how.lambda, vectors, run)?,
                Mix::Probabilities => self.mix_probabilities(query, ranked, &found, how, vectors, run)?,
            }
            .into_iter()
            .take(count)
            .collect(),
        };
        Ok(Answer { scorer, found, ranked })
    }

    /// The best by words and the best by vectors, put in order together.
    fn mix_scores(
        &self,
        query: &str,
        ranked: Vec<Ranked>,
        scorer: &Scorer,
        lambda: f64,
        vectors: &Vectors,
        run: &Run,
    ) -> Result<Vec<(Ranked, f64, Option<f64>)>> {
        let words: rustc_hash::FxHashMap<u64, f64> =
            ranked.iter().map(|ranked| (ranked.number, ranked.score)).collect();
        let mut pool: Vec<Ranked> = best(ranked, POOL);
        let rows: Vec<usize> = pool.iter().filter_map(|ranked| vectors.row_of(ranked.number)).collect();
        let (nearest, cosines) = vectors.nearest(query, POOL, &rows, run)?;
        let mut cosine_of: rustc_hash::FxHashMap<u64, f64> =
            rows.iter().zip(cosines).map(|(&row, cosine)| (vectors.number(row), cosine)).collect();
        for (score, row) in nearest {
            cosine_of.insert(vectors.number(row), score);
            pool.push(Ranked { score, number: vectors.number(row), place: vectors.place(row) });
        }
        pool.sort_by_key(|ranked| ranked.number);
        pool.dedup_by_key(|ranked| ranked.number);
        let both: Vec<(f64, f64)> = pool
            .iter()
            .map(|ranked| {
                let words = words.get(&ranked.number).copied();
                let words = words.unwrap_or_else(|| scorer.whole(self.length(ranked.place)));
                (words, cosine_of.get(&ranked.number).copied().unwrap_or(0.0))
            })
            .collect();
        let word = unit(both.iter().map(|both| both.0));
        let vector = unit(both.iter().map(|both| both.1));
        let mixed = pool.iter().zip(&both).map(|(ranked, &(words, cosine))| {
            let score = (1.0 - lambda) * word(words) + lambda * vector(cosine);
            (Ranked { score, ..*ranked }, words, Some(cosine))
        });
        Ok(in_order(mixed.collect()))
    }

    /// The language model and the vectors mixed word by word, over the best documents by words and by vectors.
    fn mix_probabilities(
        &self,
        query: &str,
        ranked: Vec<Ranked>,
        found: &[Found],
        how: &Search,
        vectors: &Vectors,
        run: &Run,
    ) -> Result<Vec<(Ranked, f64, Option<f64>)>> {
        // The order by cosines only decides who takes part.
        let scorer = Scorer::new(how.ranking, how.form, found, self);
        let pool = self.mix_scores(query, ranked, &scorer, 0.5, vectors, run)?;
        let rows: Vec<usize> = pool.iter().filter_map(|(ranked, ..)| vectors.row_of(ranked.number)).collect();
        let terms: Vec<&str> = found.iter().map(|found| found.term.as_str()).collect();
        let from_vectors = vectors.word_probabilities(&terms, &rows, run)?;
        let tokens = self.tokens() as f64;
        let weights: f64 = found.iter().map(|found| found.weight).sum();
        let mut mixed = Vec::with_capacity(pool.len());
        for (at, &(ranked, words, cosine)) in pool.iter().enumerate() {
            let length = f64::from(self.length(ranked.place));
            let mut score = 0.0;
            for (found, from_vectors) in found.iter().zip(&from_vectors) {
                let everywhere = found.occurrences as f64 / tokens;
                let tf = f64::from(count_in(found, ranked.place));
                let from_words = match how.ranking {
                    Ranking::Dirichlet { mu } => (tf + mu * everywhere) / (length + mu),
                    Ranking::JelinekMercer { lambda } => {
                        lambda * everywhere + if length > 0.0 { (1.0 - lambda) * tf / length } else { 0.0 }
                    }
                    // Refused by `check`.
                    Ranking::Bm25 { .. } => 0.0,
                };
                let probability = (1.0 - how.lambda) * from_words + how.lambda * from_vectors[at];
                score += found.weight / weights
                    * if how.form == Form::Log { probability.max(f64::MIN_POSITIVE).ln() } else { probability };
            }
            mixed.push((Ranked { score, ..ranked }, words, cosine));
        }
        Ok(in_order(mixed))
    }

    fn hit(&self, answer: &Answer, (ranked, words, cosine): (Ranked, f64, Option<f64>)) -> Result<Hit> {
        let document = self.document(ranked.place)?;
        let length = self.length(ranked.place);
        let mut terms: Vec<Part> = Vec::new();
        for found in &answer.found {
            let count = count_in(found, ranked.place);
            if count > 0 {
                let adds = answer.scorer.part(found)(count, length);
                terms.push(Part { term: found.term.clone(), count, adds });
            }
        }
        terms.sort_by(|a, b| b.adds.total_cmp(&a.adds).then_with(|| a.term.cmp(&b.term)));
        terms.truncate(REASONS);
        Ok(Hit { id: document.id, score: ranked.score, words, cosine, terms, text: document.text })
    }
}

/// How often a document holds a term.
fn count_in(found: &Found, place: Place) -> u32 {
    let Some(list) = found.lists.get(place.segment as usize) else { return 0 };
    list.docs.binary_search(&place.doc).map_or(0, |at| list.counts[at])
}

/// Brings values to 0 … 1; all the same become 0.
fn unit(values: impl Iterator<Item = f64> + Clone) -> impl Fn(f64) -> f64 {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    move |value| if high > low { (value - low) / (high - low) } else { 0.0 }
}

fn in_order(mut mixed: Vec<(Ranked, f64, Option<f64>)>) -> Vec<(Ranked, f64, Option<f64>)> {
    mixed.sort_by(|(a, ..), (b, ..)| b.score.total_cmp(&a.score).then(a.number.cmp(&b.number)));
    mixed
}
