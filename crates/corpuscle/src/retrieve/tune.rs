//! Constants of ranking chosen by judged queries.
//!
//! The queries are halved (every second one of those that have a relevant document); what is chosen on one half by mean average
//! precision is measured on the other, both ways, so that no query judges what it helped to choose.

use rayon::prelude::*;
use serde::Serialize;

use super::answer::Asked;
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
    /// Which of the vectors were chosen with them, where there were some.
    pub chosen_vectors: Option<[usize; 2]>,
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

    /// The judgements.
    pub fn qrels(&self) -> &Qrels {
        &self.qrels
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
        let ways = self.evaluate_ways(searcher, &[*how], vectors, run)?;
        Ok(ways.into_iter().flat_map(|(id, figures)| figures.into_iter().map(move |of| (id.clone(), of))).collect())
    }

    /// The figures of each query by each way of ranking. Queries go in parallel; what they need from the index and the vectors is
    /// worked out once for all ways.
    pub fn evaluate_ways(
        &self,
        searcher: &Searcher,
        ways: &[Search],
        vectors: Option<&Vectors>,
        run: &Run,
    ) -> Result<Vec<(String, Vec<RetrievalFigures>)>> {
        let quiet = run.quiet();
        let one = |(id, text): &(String, String)| -> Result<(String, Vec<RetrievalFigures>)> {
            run.check()?;
            let mut asked = Asked::new(searcher, text, vectors, &quiet)?;
            let mut figures = Vec::with_capacity(ways.len());
            for how in ways {
                let found = searcher.named(&asked.answer(how, DEPTH)?)?;
                let of = self.figures(id, &found);
                figures.push(of.ok_or_else(|| Error::data(format!("the query `{id}` has no relevant document")))?);
            }
            run.advance(1);
            Ok((id.clone(), figures))
        };
        run.stage("queries", Some(self.queries.len() as u64), || self.queries.par_iter().map(one).collect())
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

/// Chooses the constants of a ranking, and with vectors which of them and their share.
pub fn tune(judged: &Judged, searcher: &Searcher, how: &Search, vectors: &[&Vectors], run: &Run) -> Result<Tuned> {
    if judged.len() < 2 {
        return Err(Error::data("two halves need at least two judged queries"));
    }
    // Constants are chosen without vectors, then the share with these constants: a sum of trials instead of their product. The
    // second form mixes with vectors only, so without them it is the first.
    let rankings = candidates(how);
    let words: Vec<Search> = rankings.iter().map(|&ranking| Search { mix: Mix::Scores, ..ranking }).collect();
    let words = judged.evaluate_ways(searcher, &words, None, run)?;
    let best = HALVES.map(|half| pick(&words, (0..rankings.len()).collect(), half));
    let (mut ways, mut figures, mut chosen) = (rankings, words, best);
    if !vectors.is_empty() {
        let mut different = best.to_vec();
        different.sort_unstable();
        different.dedup();
        let shares = |&number: &usize| SHARES.map(|lambda| Search { lambda, ..ways[number] });
        let tried: Vec<Search> = different.iter().flat_map(shares).collect();
        // The ways of all vectors stand one after the other.
        figures = judged.queries.iter().map(|(id, _)| (id.clone(), Vec::new())).collect();
        for &vectors in vectors {
            let more = judged.evaluate_ways(searcher, &tried, Some(vectors), run)?;
            figures.iter_mut().zip(more).for_each(|(all, (_, more))| all.1.extend(more));
        }
        for ((chosen, best), half) in chosen.iter_mut().zip(best).zip(HALVES) {
            let start = SHARES.len() * different.iter().position(|&number| number == best).unwrap_or(0);
            let own = (0..vectors.len()).flat_map(|at| (start..start + SHARES.len()).map(move |way| (at, way)));
            let places: Vec<usize> = own.map(|(at, way)| at * tried.len() + way).collect();
            *chosen = pick(&figures, places, half);
        }
        ways = vectors.iter().flat_map(|_| tried.clone()).collect();
    }
    let per_vectors = ways.len() / vectors.len().max(1);
    let chosen_vectors = (!vectors.is_empty()).then(|| [chosen[0] / per_vectors, chosen[1] / per_vectors]);
    let measured = |(number, (id, ways)): (usize, &(String, Vec<RetrievalFigures>))| {
        (id.clone(), ways[chosen[number % 2]].clone())
    };
    let queries: Vec<(String, RetrievalFigures)> = figures.iter().enumerate().map(measured).collect();
    let mean = RetrievalFigures::mean(queries.iter().map(|(_, figures)| figures));
    Ok(Tuned { chosen: [ways[chosen[0]], ways[chosen[1]]], queries, mean, all: ways[chosen[2]], chosen_vectors })
}

/// The queries that choose: for the first, third and so on, for the others, and for what is used from now on.
const HALVES: [fn(usize) -> bool; 3] = [|query| query % 2 == 1, |query| query % 2 == 0, |_| true];

/// The way with the best mean average precision on the queries that choose; of equal ones the first.
fn pick(figures: &[(String, Vec<RetrievalFigures>)], ways: Vec<usize>, half: fn(usize) -> bool) -> usize {
    let worth = |way: usize| -> f64 {
        let chooses = figures.iter().enumerate().filter(|(query, _)| half(*query));
        chooses.map(|(_, (_, ways))| ways[way].average_precision).sum()
    };
    let mut best = (0, f64::NEG_INFINITY);
    for way in ways {
        if worth(way) > best.1 {
            best = (way, worth(way));
        }
    }
    best.0
}
