//! How a query comes to an order of documents, by words and by vectors together.
//!
//! Words and vectors each bring their best thousand documents; these are put in order together. With feedback the documents that
//! widen the query are the best of the same mixture, as the SCDV paper has it ("applied over the initially retrieved results from
//! both models").
//!
//! What does not depend on the constants of ranking is worked out once for a query: its postings and its similarity with documents,
//! and for each ranking the documents that take part. So another share of the vectors costs a sort of two thousand numbers.

use std::sync::Arc;

use super::rank::{Form, Ranked, Ranking, Scorer, Scores};
use super::search::{Mix, Search};
use super::searcher::{Found, Place, Searcher};
use super::vectors::{Similar, Vectors};
use crate::{Result, Run};

/// Documents by words, and by vectors, that are put in order together.
pub(super) const POOL: usize = 1000;

/// A document in its place, with its score by words and its cosine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mixed {
    pub(super) ranked: Ranked,
    pub(super) words: f64,
    pub(super) cosine: Option<f64>,
}

/// What a query came to before documents are looked up.
pub(super) struct Answer {
    pub(super) scorer: Scorer,
    pub(super) found: Arc<Vec<Found>>,
    pub(super) ranked: Vec<Mixed>,
}

/// A query that is answered in one way or in many.
pub(super) struct Asked<'a> {
    searcher: &'a Searcher,
    run: &'a Run,
    terms: Vec<(String, f64)>,
    found: Arc<Vec<Found>>,
    similar: Option<Similar<'a>>,
    /// The last documents that took part without feedback, and for which way of ranking.
    pool: Option<(Search, Pool)>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(searcher: &'a Searcher, query: &str, vectors: Option<&'a Vectors>, run: &'a Run) -> Result<Self> {
        let terms = searcher.terms_of(query)?;
        let found = Arc::new(searcher.find(&terms, run)?);
        let similar = vectors.map(|vectors| vectors.similar(query, POOL, run)).transpose()?;
        Ok(Asked { searcher, run, terms, found, similar, pool: None })
    }

    /// The best documents by one way of ranking.
    pub(super) fn answer(&mut self, how: &Search, count: usize) -> Result<Answer> {
        how.check()?;
        let Some(feedback) = how.feedback else {
            let ranked = self.ranked(how, count)?;
            let scorer = Scorer::new(how.ranking, how.form, &self.found, self.searcher);
            return Ok(Answer { scorer, found: Arc::clone(&self.found), ranked });
        };
        // Whatever ranks in the end, likelihoods say how much each document found counts in the relevance model.
        let first = Search { form: Form::Log, feedback: None, ..*how };
        let mut first = self.ranked(&first, feedback.documents())?;
        first.iter_mut().for_each(|mixed| mixed.ranked.score = mixed.words);
        let first: Vec<Ranked> = first.into_iter().map(|mixed| mixed.ranked).collect();
        let found = match first.is_empty() || self.found.is_empty() {
            true => Arc::clone(&self.found),
            false => {
                let widened = feedback.widen(&self.terms, &first, self.searcher, self.run)?;
                Arc::new(self.searcher.find(&widened, self.run)?)
            }
        };
        let scorer = Scorer::new(how.ranking, how.form, &found, self.searcher);
        let ranked = match &mut self.similar {
            None => by_words(&self.searcher.score(&scorer, &found, self.run), count, self.run),
            Some(similar) => Pool::of(how, &found, self.searcher, similar, self.run)?.mixed(how, count),
        };
        Ok(Answer { scorer, found, ranked })
    }

    /// The order without feedback.
    fn ranked(&mut self, how: &Search, count: usize) -> Result<Vec<Mixed>> {
        let Some(similar) = &mut self.similar else {
            let scorer = Scorer::new(how.ranking, how.form, &self.found, self.searcher);
            return Ok(by_words(&self.searcher.score(&scorer, &self.found, self.run), count, self.run));
        };
        let key = Search { lambda: 0.0, ..*how };
        let pool = match self.pool.take() {
            Some((known, pool)) if known == key => pool,
            _ => Pool::of(how, &self.found, self.searcher, similar, self.run)?,
        };
        let ranked = pool.mixed(how, count);
        self.pool = Some((key, pool));
        Ok(ranked)
    }
}

fn by_words(scores: &Scores<'_>, count: usize, run: &Run) -> Vec<Mixed> {
    let best = scores.best(count, run).into_iter();
    best.map(|ranked| Mixed { ranked, words: ranked.score, cosine: None }).collect()
}

/// The documents that take part, in the order in which they came in.
struct Pool {
    documents: Vec<Mixed>,
    /// For the second form: each term with its share of the query, and its probability in each document by words and by vectors.
    terms: Vec<(f64, Vec<(f64, f64)>)>,
}

impl Pool {
    /// The best by words and the best by vectors.
    fn of(how: &Search, found: &[Found], searcher: &Searcher, similar: &mut Similar<'_>, run: &Run) -> Result<Self> {
        let scorer = Scorer::new(how.ranking, how.form, found, searcher);
        let scores = searcher.score(&scorer, found, run);
        let vectors = similar.vectors();
        let near = similar.nearest().iter();
        let near = near.map(|&(score, row)| Ranked { score, number: vectors.number(row), place: vectors.place(row) });
        let mut pool = scores.best(POOL, run);
        pool.extend(near);
        pool.sort_by_key(|ranked| ranked.number);
        pool.dedup_by_key(|ranked| ranked.number);
        let rows: Vec<Option<usize>> = pool.iter().map(|ranked| vectors.row_of(ranked.number)).collect();
        let one = |(&ranked, row): (&Ranked, &Option<usize>)| {
            let cosine = Some(row.map_or(0.0, |row| similar.cosine(row)));
            Mixed { ranked, words: scores.of(ranked.place), cosine }
        };
        let documents: Vec<Mixed> = pool.iter().zip(&rows).map(one).collect();
        let terms = match how.mix {
            Mix::Scores => Vec::new(),
            Mix::Probabilities => probabilities(how, found, searcher, vectors, &documents, &rows)?,
        };
        Ok(Pool { documents, terms })
    }

    /// The documents in their order, of which the first are wanted.
    fn mixed(&self, how: &Search, count: usize) -> Vec<Mixed> {
        let lambda = how.lambda;
        let mut mixed = self.documents.clone();
        match how.mix {
            Mix::Scores => {
                let word = unit(self.documents.iter().map(|document| document.words));
                let vector = unit(self.documents.iter().map(|document| document.cosine.unwrap_or(0.0)));
                for document in &mut mixed {
                    let cosine = document.cosine.unwrap_or(0.0);
                    document.ranked.score = (1.0 - lambda) * word(document.words) + lambda * vector(cosine);
                }
            }
            Mix::Probabilities => {
                for (at, document) in mixed.iter_mut().enumerate() {
                    document.ranked.score = 0.0;
                    for (share, term) in &self.terms {
                        let probability = (1.0 - lambda) * term[at].0 + lambda * term[at].1;
                        document.ranked.score += share
                            * match how.form {
                                Form::Log => probability.max(f64::MIN_POSITIVE).ln(),
                                Form::Linear => probability,
                            };
                    }
                }
            }
        }
        let order = |a: &Mixed, b: &Mixed| {
            b.ranked.score.total_cmp(&a.ranked.score).then(a.ranked.number.cmp(&b.ranked.number))
        };
        mixed.sort_unstable_by(order);
        mixed.truncate(count);
        mixed
    }
}

/// A term's share of the query, and its probability in each document by words and by vectors.
type TermOdds = (f64, Vec<(f64, f64)>);

/// Each term with its share of the query, and its probability in each document by words and by vectors.
fn probabilities(
    how: &Search,
    found: &[Found],
    searcher: &Searcher,
    vectors: &Vectors,
    documents: &[Mixed],
    rows: &[Option<usize>],
) -> Result<Vec<TermOdds>> {
    let tokens = searcher.tokens() as f64;
    let weights: f64 = found.iter().map(|found| found.weight).sum();
    let mut terms = Vec::with_capacity(found.len());
    for found in found {
        let everywhere = found.occurs.occurrences as f64 / tokens;
        let of_vectors = vectors.probabilities(&found.term)?;
        let one = |(document, row): (&Mixed, &Option<usize>)| {
            let length = f64::from(searcher.length(document.ranked.place));
            let tf = f64::from(count_in(found, document.ranked.place));
            let by_words = match how.ranking {
                Ranking::Dirichlet { mu } => (tf + mu * everywhere) / (length + mu),
                Ranking::JelinekMercer { lambda } => {
                    lambda * everywhere + if length > 0.0 { (1.0 - lambda) * tf / length } else { 0.0 }
                }
                // Refused by `check`.
                Ranking::Bm25 { .. } => 0.0,
            };
            (by_words, row.map_or(0.0, &of_vectors))
        };
        terms.push((found.weight / weights, documents.iter().zip(rows).map(one).collect()));
    }
    Ok(terms)
}

/// How often a document holds a term.
pub(super) fn count_in(found: &Found, place: Place) -> u32 {
    let Some(list) = found.occurs.lists.get(place.segment as usize) else { return 0 };
    list.docs.binary_search(&place.doc).map_or(0, |at| list.counts[at])
}

/// Brings values to 0 … 1; all the same become 0.
fn unit(values: impl Iterator<Item = f64> + Clone) -> impl Fn(f64) -> f64 {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    move |value| if high > low { (value - low) / (high - low) } else { 0.0 }
}
