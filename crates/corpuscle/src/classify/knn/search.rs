//! The k nearest documents of every query, exactly.
//!
//! Queries go in batches, documents in blocks; only a batch × block of scores exists at a time. Of each row of scores,
//! the k-th largest lower bound is a threshold; every document whose upper bound reaches it is scored again in `f64`,
//! and so the neighbours are those of a search in `f64` throughout. Bounds are a few 10⁻⁵ wide, so that is k
//! documents and a few more.

use rayon::prelude::*;

use super::Metric;
use super::index::{BLOCK, Block, Hit, Length, TOO_LONG, is_plain};
use crate::matrix::{Dense, Matrix, Row};
use crate::{Error, Result, Run};

/// Queries that share a matrix product.
const BATCH: usize = 128;

/// Scores that are looked at together: most chunks hold no candidate and are left after one comparison.
const CHUNK: usize = 32;

/// Scores compared at once.
const LANES: usize = 8;

/// Unit roundoff of `f32`, a little enlarged to cover γ = m u / (1 − m u) up to m u = 0.1.
const ROUNDOFF: f64 = 1.2 / (1u64 << 24) as f64;

/// Products that underflow are off by an absolute amount, which this is far above.
const UNDERFLOW: f32 = 1e-35;

/// Fitted documents, ready to be searched.
#[derive(Debug, Clone)]
pub(super) struct Index {
    metric: Metric,
    x: Matrix,
    lengths: Vec<Length>,
    blocks: Vec<Block>,
}

/// One query's nearest documents so far, best first.
#[derive(Debug, Clone)]
struct Best {
    k: usize,
    /// Larger is nearer: the cosine, or the squared distance below 0. Then the document.
    list: Vec<(f64, u32)>,
}

/// What a query needs to be compared.
struct Query<'a> {
    row: Row<'a>,
    length: Length,
    scale: f64,
    /// Not negative, no dense part, no value near underflow.
    plain: bool,
    best: Best,
    /// The largest key of each group's documents, in `f32`; empty when nobody asks.
    groups: Vec<f32>,
}

/// Groups of documents whose nearest members are looked for beside the nearest documents: document `i` belongs to
/// `ids[offsets[i]..offsets[i + 1]]` of `count`.
#[derive(Clone, Copy)]
pub(super) struct Groups<'a> {
    pub(super) count: usize,
    pub(super) offsets: &'a [u64],
    pub(super) ids: &'a [u32],
}

/// What a search finds.
pub(super) struct Found {
    /// The nearest documents as (cosine or distance, document), as many for each query.
    pub(super) nearest: Vec<(f32, u32)>,
    /// The cosine or distance of the nearest document of each group, to the precision of `f32`; a group without
    /// documents has −∞ or ∞.
    pub(super) groups: Vec<f32>,
}

impl Index {
    /// Columns of the documents, and so of the queries.
    pub(super) fn columns(&self) -> usize {
        self.x.cols()
    }

    /// An index over documents; refuses values that are not finite.
    pub(super) fn new(x: Matrix, metric: Metric, run: &Run) -> Result<Self> {
        let none = x.select_rows(&[]);
        let mut index = Index { metric, x: none, lengths: Vec::new(), blocks: Vec::new() };
        index.add(x, run)?;
        Ok(index)
    }

    /// Adds documents: only the last block, if it is not full, is laid out again.
    pub(super) fn add(&mut self, x: Matrix, run: &Run) -> Result<()> {
        let lengths = lengths(&x, run)?;
        if self.x.rows() == 0 {
            self.x = x
        } else {
            self.x.append_rows(&x)?
        }
        self.lengths.extend(lengths);
        self.blocks.pop_if(|block| block.len() < BLOCK);
        let rows = self.x.rows();
        let starts: Vec<usize> = (self.blocks.len() * BLOCK..rows).step_by(BLOCK).collect();
        let lay_out = |&start: &usize| {
            run.check()?;
            Ok(Block::new(&self.x, &self.lengths, start, rows.min(start + BLOCK), self.metric))
        };
        let blocks: Vec<Block> = run.install(|| starts.par_iter().map(lay_out).collect::<Result<_>>())?;
        self.blocks.extend(blocks);
        Ok(())
    }

    /// The documents.
    pub(super) fn x(&self) -> &Matrix {
        &self.x
    }

    /// The nearest `k` documents of every query as (cosine or distance, document), `k` (or all) per query.
    pub(super) fn search(&self, x: &Matrix, k: usize, run: &Run) -> Result<Vec<(f32, u32)>> {
        Ok(self.search_groups(x, k, None, run)?.nearest)
    }

    /// [`Index::search`] that also finds how near each group is.
    pub(super) fn search_groups(&self, x: &Matrix, k: usize, groups: Option<Groups<'_>>, run: &Run) -> Result<Found> {
        self.check_make(x)?;
        let k = k.min(self.x.rows());
        let count = groups.map_or(0, |groups| groups.count);
        let mut found = vec![(0f32, 0u32); x.rows() * k];
        // One value per query more than there are groups, so that there is something to cut in any case.
        let mut nearest_of_groups = vec![0f32; x.rows() * (count + 1)];
        if found.is_empty() {
            return Ok(Found { nearest: found, groups: Vec::new() });
        }
        let lengths = lengths(x, run)?;
        run.install(|| {
            let batches = found.par_chunks_mut(k * BATCH).zip(nearest_of_groups.par_chunks_mut((count + 1) * BATCH));
            batches.enumerate().try_for_each(|(batch, (found, of_groups))| {
                run.check()?;
                let start = batch * BATCH;
                let queries =
                    (start..x.rows().min(start + BATCH)).map(|row| self.query(x.row(row), lengths[row], k, count));
                let queries = self.search_batch(queries.collect(), groups)?;
                for ((found, of_groups), query) in found.chunks_mut(k).zip(of_groups.chunks_mut(count + 1)).zip(queries)
                {
                    for (found, (score, document)) in found.iter_mut().zip(query.best.list) {
                        *found = (self.shown(score), document);
                    }
                    for (out, &key) in of_groups.iter_mut().zip(&query.groups) {
                        *out = self.shown(self.score_of_key(key, &query.length));
                    }
                }
                run.advance(found.len() as u64 / k as u64);
                Ok(())
            })
        })?;
        Ok(Found { nearest: found, groups: nearest_of_groups })
    }

    /// That a matrix has the columns the documents have.
    pub(super) fn check_make(&self, x: &Matrix) -> Result<()> {
        for (what, expected, found) in [
            ("sparse columns", self.x.sparse().cols(), x.sparse().cols()),
            ("dense columns", self.x.dense().cols(), x.dense().cols()),
            ("negative columns", self.x.negative(), x.negative()),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        Ok(())
    }

    fn query<'a>(&self, row: Row<'a>, length: Length, k: usize, groups: usize) -> Query<'a> {
        let scale = length.scale(self.metric);
        let plain = row.dense.is_empty() && row.values.iter().all(|&v| is_plain((f64::from(v) * scale) as f32));
        let best = Best { k, list: Vec::with_capacity(k + 1) };
        Query { row, length, scale, plain, best, groups: vec![f32::NEG_INFINITY; groups] }
    }

    fn search_batch<'a>(&self, mut queries: Vec<Query<'a>>, groups: Option<Groups<'_>>) -> Result<Vec<Query<'a>>> {
        let mut hits: Vec<Hit> = Vec::new();
        let mut ends = Vec::with_capacity(queries.len());
        let mut chunks = Chunks::default();
        for block in &self.blocks {
            hits.clear();
            ends.clear();
            let mut left = Dense::zeros(queries.len(), block.width());
            for (row, query) in queries.iter().enumerate() {
                block.look_up(&query.row, query.scale, left.row_mut(row), &mut hits);
                ends.push(hits.len());
            }
            let mut inner = block.multiply(&left);
            let mut from = 0;
            for (row, query) in queries.iter_mut().enumerate() {
                let hits = &hits[from..ends[row]];
                from = ends[row];
                block.add_lists(hits, inner.row_mut(row));
                self.pick(block, inner.row(row), query, hits.len() + block.width(), &mut chunks);
                if let Some(groups) = groups {
                    groups.look(block, inner.row(row), &mut query.groups);
                }
            }
        }
        Ok(queries)
    }

    /// Takes the documents of a block that may be among the query's nearest and scores them in `f64`. `inner` are their
    /// inner products in `f32`, each a sum of `terms`.
    fn pick(&self, block: &Block, inner: &[f32], query: &mut Query<'_>, terms: usize, chunks: &mut Chunks) {
        let full = query.length.full * query.scale;
        // Eight more roundings: of both stored values, of ‖y‖²/2, of the difference, of the bounds themselves.
        let relative = (terms + 8) as f64 * ROUNDOFF;
        let safe = relative < 0.1 && full < TOO_LONG;
        let keys = Keys {
            inner,
            half: &block.half,
            full: &block.full,
            bounds: Bounds {
                relative: if safe { relative as f32 } else { f32::INFINITY },
                query: full as f32,
                own: if self.metric == Metric::Euclidean { 0.5 } else { 0.0 },
            },
        };
        chunks.fill(&keys);
        let mut threshold = chunks.threshold(query.best.k, &keys);
        if let Some(worst) = query.best.worst() {
            threshold = threshold.max(self.as_key(worst, &query.length));
        }
        if self.metric == Metric::Euclidean {
            // Keys know smaller differences than squared distances in `f64`, in which ‖x‖² is added: those are ties.
            threshold -= (1e-15 * query.length.squared) as f32;
        }
        for (chunk, &upper) in chunks.upper.iter().enumerate() {
            if upper < threshold {
                continue;
            }
            for at in chunk * CHUNK..block.len().min((chunk + 1) * CHUNK) {
                if keys.at(at).1 < threshold {
                    continue;
                }
                let document = block.start + at;
                let product = match keys.inner[at] == 0.0 && query.plain && block.plain {
                    true => 0.0,
                    false => query.row.inner(&self.x.row(document)),
                };
                let score = self.score(product, &query.length, &self.lengths[document]);
                query.best.offer(score, document as u32);
            }
        }
    }

    /// The score of a pair from its inner product: larger is nearer.
    fn score(&self, inner: f64, query: &Length, document: &Length) -> f64 {
        match self.metric {
            Metric::Cosine if query.squared > 0.0 && document.squared > 0.0 => {
                inner / (query.squared * document.squared).sqrt()
            }
            Metric::Cosine => 0.0,
            Metric::Euclidean => -(query.squared + document.squared - 2.0 * inner).max(0.0),
        }
    }

    /// A lower bound, on the scale of `f32` keys, of what a score is.
    fn as_key(&self, score: f64, query: &Length) -> f32 {
        let key = match self.metric {
            Metric::Cosine => score,
            // score = 2 · key − ‖x‖² or, where that was below 0, 0; less what the sums in `f64` may be off by.
            Metric::Euclidean => (score + query.squared) / 2.0 - 1e-15 * (query.squared - score),
        };
        (key - key.abs() * 1e-6) as f32
    }

    /// About the score that a key in `f32` stands for.
    fn score_of_key(&self, key: f32, query: &Length) -> f64 {
        match self.metric {
            Metric::Cosine => f64::from(key),
            Metric::Euclidean => (2.0 * f64::from(key) - query.squared).min(0.0),
        }
    }

    fn shown(&self, score: f64) -> f32 {
        match self.metric {
            Metric::Cosine => score as f32,
            Metric::Euclidean => (-score).sqrt() as f32,
        }
    }
}

impl Groups<'_> {
    /// Keeps the largest key of each group among the documents of a block.
    fn look(&self, block: &Block, inner: &[f32], largest: &mut [f32]) {
        let offsets = &self.offsets[block.start..];
        for (at, (&inner, &half)) in inner.iter().zip(&block.half).enumerate() {
            let key = inner - half;
            for &group in &self.ids[offsets[at] as usize..offsets[at + 1] as usize] {
                let largest = &mut largest[group as usize];
                *largest = if key > *largest { key } else { *largest };
            }
        }
    }
}

fn lengths(x: &Matrix, run: &Run) -> Result<Vec<Length>> {
    let lengths: Vec<Length> =
        run.install(|| (0..x.rows()).into_par_iter().with_min_len(64).map(|row| Length::of(&x.row(row))).collect());
    match lengths.iter().position(|length| !length.full.is_finite()) {
        None => Ok(lengths),
        Some(row) => Err(Error::data(format!("document {} holds a value that is not finite", row + 1))),
    }
}

impl Best {
    fn worst(&self) -> Option<f64> {
        if self.list.len() == self.k { self.list.last().map(|&(score, _)| score) } else { None }
    }

    /// Takes a document in if it is among the `k` best. Documents must come in ascending order: of equals, the earlier
    /// stays ahead.
    fn offer(&mut self, score: f64, document: u32) {
        if self.worst().is_some_and(|worst| score <= worst) {
            return;
        }
        let at = self.list.partition_point(|&(other, _)| other >= score);
        self.list.insert(at, (score, document));
        self.list.truncate(self.k);
    }
}

/// How far a key in `f32` may be from the truth: relative · |y| (|x| + own |y|).
struct Bounds {
    relative: f32,
    query: f32,
    own: f32,
}

impl Bounds {
    /// Lower and upper bound of inner − half.
    #[inline]
    fn of(&self, inner: f32, half: f32, full: f32) -> (f32, f32) {
        let key = inner - half;
        let margin = self.relative * full * (self.query + self.own * full) + UNDERFLOW;
        let upper = key + margin;
        // Where a product overflowed nothing is known.
        (key - margin, if upper.is_nan() { f32::INFINITY } else { upper })
    }
}

/// One query's scores for the documents of a block, with what is needed to bound them.
struct Keys<'a> {
    inner: &'a [f32],
    half: &'a [f32],
    full: &'a [f32],
    bounds: Bounds,
}

impl Keys<'_> {
    fn at(&self, at: usize) -> (f32, f32) {
        self.bounds.of(self.inner[at], self.half[at], self.full[at])
    }
}

/// The largest bounds of each chunk of a row of scores.
#[derive(Default)]
struct Chunks {
    lower: Vec<f32>,
    upper: Vec<f32>,
    scratch: Vec<f32>,
}

impl Chunks {
    fn fill(&mut self, keys: &Keys<'_>) {
        self.lower.clear();
        self.upper.clear();
        let Keys { inner, half, full, bounds } = keys;
        for ((inner, half), full) in inner.chunks(CHUNK).zip(half.chunks(CHUNK)).zip(full.chunks(CHUNK)) {
            let (mut lower, mut upper) = ([f32::NEG_INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
            let mut keep = |lane: usize, inner: f32, half: f32, full: f32| {
                let (low, up) = bounds.of(inner, half, full);
                lower[lane] = if low > lower[lane] { low } else { lower[lane] };
                upper[lane] = if up > upper[lane] { up } else { upper[lane] };
            };
            // Fixed lanes: the compiler may not reorder the maxima of floats by itself.
            let (inner, inner_rest) = inner.as_chunks::<LANES>();
            let (half, half_rest) = half.as_chunks::<LANES>();
            let (full, full_rest) = full.as_chunks::<LANES>();
            for ((inner, half), full) in inner.iter().zip(half).zip(full) {
                for lane in 0..LANES {
                    keep(lane, inner[lane], half[lane], full[lane]);
                }
            }
            for ((&inner, &half), &full) in inner_rest.iter().zip(half_rest).zip(full_rest) {
                keep(0, inner, half, full);
            }
            self.lower.push(lower.into_iter().fold(f32::NEG_INFINITY, f32::max));
            self.upper.push(upper.into_iter().fold(f32::NEG_INFINITY, f32::max));
        }
    }

    /// A value that at least `k` lower bounds reach; −∞ when there are not so many.
    fn threshold(&mut self, k: usize, keys: &Keys<'_>) -> f32 {
        self.scratch.clear();
        // Few large values share a chunk when there are many chunks: the k-th largest maximum is then near the k-th
        // largest value, at a thirty-second of the cost.
        if self.lower.len() >= 8 * k {
            self.scratch.extend_from_slice(&self.lower);
        } else {
            self.scratch.extend((0..keys.inner.len()).map(|at| keys.at(at).0));
        }
        for value in &mut self.scratch {
            if value.is_nan() {
                *value = f32::NEG_INFINITY;
            }
        }
        match self.scratch.len() {
            n if n < k => f32::NEG_INFINITY,
            _ => *self.scratch.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1,
        }
    }
}
