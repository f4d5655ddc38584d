//! Blocks of documents laid out so that one query's inner products with all of them come fast.
//!
//! A column that few documents of the block have is a list of postings (document, value); a column that many have is a
//! column of a dense matrix, beside the documents' own dense part, and goes through one matrix product for a whole
//! batch of queries. On text a few dozen columns hold most of the work: of 2.1 · 10⁹ products for the test part of 20
//! Newsgroups against its training part, 86 % are in the 100 commonest words.
//!
//! Everything here is `f32` and only has to be near the truth within a known bound: `search` settles what is close
//! in `f64`. The bound: a sum of m products in `f32`, in any order, with or without fused operations, is off by at
//! most γ Σ|xᵢ yᵢ| ≤ γ |x| |y| with γ = m u / (1 − m u), u = 2⁻²⁴ (Higham 2002, §3.1). |x| is the length with all
//! signs positive, which for rows with a negative part is longer than ‖x‖.

use super::Metric;
use crate::matrix::rowwise::multiply_transposed_into;
use crate::matrix::{Dense, Matrix, Row};

/// Documents per block: its scores for one query stay in the second-level cache.
pub(super) const BLOCK: usize = 16384;

/// A column held by more than one document in `COMMON` of a block is laid out densely.
const COMMON: usize = 8;

/// Rows of which rounding may have left more than the projection did: ‖x‖² below this share of |x|² counts as 0.
const NOTHING_LEFT: f64 = 1e-6;

/// Above this length a product could overflow: such rows are compared in `f64` only.
pub(super) const TOO_LONG: f64 = 1e15;

/// How long a row is, with and without its signs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Length {
    /// ⟨x, x⟩, or 0 when nothing but rounding is left of the row.
    pub(super) squared: f64,
    /// |x|: the length with all signs positive.
    pub(super) full: f64,
}

impl Length {
    pub(super) fn of(row: &Row<'_>) -> Self {
        // By `inner`, so that a document and its copy are at distance exactly 0 and cosine exactly 1.
        let squared = row.inner(row);
        let square = |v: &f32| f64::from(*v) * f64::from(*v);
        let full = row.values.iter().map(square).sum::<f64>() + row.dense.iter().map(square).sum::<f64>();
        let squared = if squared > NOTHING_LEFT * full { squared } else { 0.0 };
        Length { squared, full: full.sqrt() }
    }

    /// What values are multiplied by before inner products are taken.
    pub(super) fn scale(&self, metric: Metric) -> f64 {
        match metric {
            Metric::Euclidean => 1.0,
            Metric::Cosine if self.squared > 0.0 => 1.0 / self.squared.sqrt(),
            Metric::Cosine => 0.0,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Posting {
    document: u32,
    value: f32,
}

/// Where a column of a block is.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Postings from here to there.
    List(u32, u32),
    /// A column of the dense matrix.
    Dense(u32),
}

/// Up to [`BLOCK`] consecutive documents.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// The first document.
    pub(super) start: usize,
    /// Columns of the sparse part that occur here, ascending.
    columns: Vec<u32>,
    /// Where each of them is.
    places: Vec<Place>,
    postings: Vec<Posting>,
    /// Common columns, then the documents' own dense part.
    dense: Dense,
    common: usize,
    /// ‖y‖² / 2 for distances, 0 for cosines: what is taken off an inner product to rank by it.
    pub(super) half: Vec<f32>,
    /// |y| of the values as they are stored here.
    pub(super) full: Vec<f32>,
    /// No negative value, none so small that a product could vanish, no dense part: an inner product that comes out
    /// as 0 is exactly 0.
    pub(super) plain: bool,
}

/// One query's columns found among the lists of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    from: u32,
    to: u32,
    value: f32,
}

impl Block {
    /// The documents `start..end` of `x`.
    pub(super) fn new(x: &Matrix, lengths: &[Length], start: usize, end: usize, metric: Metric) -> Self {
        let rows = end - start;
        let (columns, counts) = occurring(x, start, end);
        let mut places = Vec::with_capacity(columns.len());
        let (mut common, mut listed) = (0, 0u32);
        for &count in &counts {
            if count as usize * COMMON > rows && rows >= COMMON {
                places.push(Place::Dense(common));
                common += 1;
            } else {
                places.push(Place::List(listed, listed));
                listed += count;
            }
        }
        let common = common as usize;
        let mut block = Block {
            start,
            columns,
            places,
            postings: vec![Posting { document: 0, value: 0.0 }; listed as usize],
            dense: Dense::zeros(rows, common + x.dense().cols()),
            common,
            half: vec![0.0; rows],
            full: vec![0.0; rows],
            plain: x.dense().cols() == 0,
        };
        for row in 0..rows {
            block.put(row, &x.row(start + row), &lengths[start + row], metric);
        }
        block
    }

    fn put(&mut self, row: usize, document: &Row<'_>, length: &Length, metric: Metric) {
        let scale = length.scale(metric);
        let full = length.full * scale;
        self.full[row] = if full < TOO_LONG { full as f32 } else { f32::INFINITY };
        if metric == Metric::Euclidean {
            self.half[row] = (length.squared / 2.0) as f32;
        }
        let mut from = 0;
        let dense = self.dense.row_mut(row);
        for (&column, &value) in document.columns.iter().zip(document.values) {
            let value = (f64::from(value) * scale) as f32;
            self.plain &= is_plain(value);
            from += gallop(&self.columns[from..], column);
            match &mut self.places[from] {
                Place::Dense(at) => dense[*at as usize] = value,
                Place::List(_, to) => {
                    self.postings[*to as usize] = Posting { document: row as u32, value };
                    *to += 1;
                }
            }
        }
        for (to, &value) in dense[self.common..].iter_mut().zip(document.dense) {
            *to = (f64::from(value) * scale) as f32;
        }
    }

    /// How many documents there are.
    pub(super) fn len(&self) -> usize {
        self.half.len()
    }

    /// Width of the dense matrix: how many products a query's row of the matrix product sums.
    pub(super) fn width(&self) -> usize {
        self.dense.cols()
    }

    /// Looks a query's columns up: common ones and the dense part go into `left`, the others onto `hits`.
    pub(super) fn look_up(&self, query: &Row<'_>, scale: f64, left: &mut [f32], hits: &mut Vec<Hit>) {
        let mut from = 0;
        for (&column, &value) in query.columns.iter().zip(query.values) {
            from += gallop(&self.columns[from..], column);
            if self.columns.get(from) != Some(&column) {
                continue;
            }
            let value = (f64::from(value) * scale) as f32;
            match self.places[from] {
                Place::Dense(at) => left[at as usize] = value,
                Place::List(from, to) => hits.push(Hit { from, to, value }),
            }
        }
        for (offset, (to, &value)) in left[self.common..].iter_mut().zip(query.dense).enumerate() {
            let value = (f64::from(value) * scale) as f32;
            *to = if offset < query.negative_start { value } else { -value };
        }
    }

    /// Inner products of the queries in `left` with every document, as far as the dense matrix goes.
    pub(super) fn multiply(&self, left: &Dense) -> Dense {
        let mut inner = Dense::zeros(left.rows(), self.dense.rows());
        // Classes without a vote are ranked by these, so a query must have the same bits in any batch.
        multiply_transposed_into(left, &self.dense, &mut inner);
        inner
    }

    /// Adds what the lists hold to one query's inner products.
    // Kept whole: inlined into a large function its pointers are spilled in the innermost loop.
    #[inline(never)]
    pub(super) fn add_lists(&self, hits: &[Hit], inner: &mut [f32]) {
        for &Hit { from, to, value } in hits {
            for posting in &self.postings[from as usize..to as usize] {
                inner[posting.document as usize] += value * posting.value;
            }
        }
    }
}

/// Not negative, and large enough that the product of two such values cannot vanish.
pub(super) fn is_plain(value: f32) -> bool {
    value == 0.0 || value >= 1e-18
}

/// The sparse columns that occur in some rows, ascending, with the number of rows each occurs in. Sorts rather than
/// counts over all columns: memory is bounded by what is stored, whatever number of columns a file claims.
fn occurring(x: &Matrix, start: usize, end: usize) -> (Vec<u32>, Vec<u32>) {
    let indptr = x.sparse().indptr();
    let mut all = x.sparse().indices()[indptr[start] as usize..indptr[end] as usize].to_vec();
    all.sort_unstable();
    let (mut columns, mut counts): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    for column in all {
        match counts.last_mut() {
            Some(count) if columns.last() == Some(&column) => *count += 1,
            _ => {
                columns.push(column);
                counts.push(1);
            }
        }
    }
    (columns, counts)
}

/// Where `column` is or would be in an ascending list, looking near the beginning first.
fn gallop(columns: &[u32], column: u32) -> usize {
    let mut step = 1;
    while step < columns.len() && columns[step] < column {
        step *= 2;
    }
    let low = step / 2;
    let high = columns.len().min(step + 1);
    low + columns[low.min(high)..high].partition_point(|&at| at < column)
}
