//! Constants of ranking chosen by judged queries.
//!
//! The queries are halved (every second one of those that have a relevant document); what is chosen on one half by mean average
//! precision is measured on the other, both ways, so that no query judges what it helped to choose.

use serde::Serialize;

use super::rank::Ranking;
use super::search::{Mix, Search};
use super::searcher::Searcher;
use super::trec::Qrels;
use super::vectors::Vectors;
use crate::metrics::RetrievalFigures;
use crate::{Error, Result, Run};

/// Documents that a figure looks at.
const DEPTH: usize = 1000;

/// Values of μ tried.
const MU: [f64; 8] = [50.0, 100.0, 200.0, 300.0, 500.0, 1000.0, 2000.0, 4000.0];
/// Values of λ tried for Jelinek-Mercer smoothing.
const SMOOTHING: [f64; 7] = [0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9];
/// Values of k₁ and b tried.
const K1: [f64; 5] = [0.9, 1.2, 1.5, 2.0, 2.5];
const B: [f64; 4] = [0.3, 0.5, 0.75, 0.9];
/// Shares of the vectors tried.
const SHARES: [f64; 11] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// Queries with judgements.
#[derive(Debug, Clone)]
pub struct Judged {
    queries: Vec<(String, String)>,
    qrels: Qrels,
}

/// What was chosen for each half, and what it is worth on the other.
#[derive(Debug, Clone, Serialize)]
pub struct Tuned {
    /// Chosen on the second half for the first, and the reverse.
    pub chosen: [Search; 2],
    /// Query and figures, each by the constants of the other half.
    pub queries: Vec<(String, RetrievalFigures)>,
    /// Means over all of them.
    pub mean: RetrievalFigures,
    /// Chosen on all queries: what to use from now on.
    pub all: Search,
}

impl Judged {
    /// The queries that have a relevant document, in their order.
    pub fn new(queries: Vec<(String, String)>, qrels: Qrels) -> Result<Self> {
        let relevant =
            |id: &String| qrels.get(id).is_some_and(|judged| judged.values().any(|&relevance| relevance > 0));
        let queries: Vec<(String, String)> = queries.into_iter().filter(|(id, _)| relevant(id)).collect();
        if queries.is_empty() {
            return Err(Error::data("no query has a document that is judged relevant; do the ids fit together?"));
        }
        Ok(Judged { queries, qrels })
    }

    /// How many queries there are.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Never: there is always one.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// The queries with their ids.
    pub fn queries(&self) -> &[(String, String)] {
        &self.queries
    }

    /// The figures of one query's documents.
    pub fn figures(&self, id: &str, found: &[(String, f64)]) -> Option<RetrievalFigures> {
        RetrievalFigures::of(found, self.qrels.get(id)?)
    }

    /// The figures of each query.
    pub fn evaluate(
        &self,
        searcher: &Searcher,
        how: &Search,
        vectors: Option<&Vectors>,
        run: &Run,
    ) -> Result<Vec<(String, RetrievalFigures)>> {
        let mut figures = Vec::with_capacity(self.queries.len());
        for (id, text) in &self.queries {
            let found = searcher.ids(text, how, vectors, DEPTH, run)?;
            figures.extend(self.figures(id, &found).map(|of| (id.clone(), of)));
        }
        Ok(figures)
    }
}

/// Ways to rank that are tried: constants first, the share of vectors after them.
fn candidates(how: &Search) -> Vec<Search> {
    let rankings: Vec<Ranking> = match how.ranking {
        Ranking::Bm25 { .. } => K1.iter().flat_map(|&k1| B.map(|b| Ranking::Bm25 { k1, b })).collect(),
        Ranking::Dirichlet { .. } => MU.map(|mu| Ranking::Dirichlet { mu }).to_vec(),
        Ranking::JelinekMercer { .. } => SMOOTHING.map(|lambda| Ranking::JelinekMercer { lambda }).to_vec(),
    };
    rankings.into_iter().map(|ranking| Search { ranking, ..*how }).collect()
}

/// Chooses the constants of a ranking, and with vectors their share.
pub fn tune(judged: &Judged, searcher: &Searcher, how: &Search, vectors: Option<&Vectors>, run: &Run) -> Result<Tuned> {
    if judged.len() < 2 {
        return Err(Error::data("two halves need at least two judged queries"));
    }
    // Constants are chosen without vectors, then the share with these constants: a sum of trials instead of their product.
    let words = tried(judged, searcher, &candidates(how), None, run)?;
    let pick = |of: &[Vec<f64>], half: &dyn Fn(usize) -> bool| {
        let worth = |values: &Vec<f64>| -> f64 {
            values.iter().enumerate().filter(|(query, _)| half(*query)).map(|(_, value)| value).sum()
        };
        // Of equal ones the first.
        (0..of.len()).fold(0, |best, number| if worth(&of[number]) > worth(&of[best]) { number } else { best })
    };
    let halves: [&dyn Fn(usize) -> bool; 3] = [&|query| query % 2 == 1, &|query| query % 2 == 0, &|_| true];
    let mut chosen = Vec::with_capacity(3);
    for half in halves {
        let best = candidates(how)[pick(&words, half)];
        chosen.push(match vectors {
            None => best,
            Some(_) => {
                let shares: Vec<Search> = SHARES.map(|lambda| Search { lambda, ..best }).to_vec();
                let worth = tried(judged, searcher, &shares, vectors, run)?;
                shares[pick(&worth, half)]
            }
        });
    }
    let mut queries: Vec<(String, RetrievalFigures)> = Vec::with_capacity(judged.len());
    for (number, (id, text)) in judged.queries.iter().enumerate() {
        let found = searcher.ids(text, &chosen[number % 2], vectors, DEPTH, run)?;
        queries.extend(judged.figures(id, &found).map(|figures| (id.clone(), figures)));
    }
    let mean = RetrievalFigures::mean(queries.iter().map(|(_, figures)| figures));
    Ok(Tuned { chosen: [chosen[0], chosen[1]], queries, mean, all: chosen[2] })
}

/// Average precision of each way to rank on each query.
fn tried(
    judged: &Judged,
    searcher: &Searcher,
    ways: &[Search],
    vectors: Option<&Vectors>,
    run: &Run,
) -> Result<Vec<Vec<f64>>> {
    let mut all = Vec::with_capacity(ways.len());
    run.watch("tune", Some(ways.len() as u64), || -> Result<()> {
        for way in ways {
            // Without a language model in it, the second form does not depend on the share at all.
            let way = Search { mix: if vectors.is_none() { Mix::Scores } else { way.mix }, ..*way };
            let figures = judged.evaluate(searcher, &way, vectors, &run.quiet())?;
            all.push(figures.into_iter().map(|(_, figures)| figures.average_precision).collect());
            run.advance(1);
        }
        Ok(())
    })?;
    Ok(all)
}
