//! Products with the documents and with their transpose, for several classes side by side.
//!
//! Both directions are parallel without any sum shared between threads: scores over blocks of documents, gradients over
//! blocks of columns, for which the sparse part is kept by columns too, cut into slices of documents so that what is
//! gathered stays in the cache; documents with many entries are likewise gone through a range of columns at a time. Dense parts
//! are cut once into blocks of rows and into blocks of columns and multiplied as matrices. Sparse products are made in the widest registers of the processor, with the bits of narrow ones.

use std::marker::PhantomData;
use std::ops::Range;

use rayon::prelude::*;

use crate::classify::lanes;
use crate::classify::packed::Packed;
use crate::matrix::Dense;
use crate::wide::wide_work;
use crate::{Error, Result};

/// Documents in a block, and the most values summed in `f32` before the sum moves on.
const BLOCK: usize = 512;

/// Dense columns in a block.
const DENSE_COLUMNS: usize = 256;

/// Stored values in a block of columns, about.
const WORK: u64 = 1 << 14;

/// Documents in a slice: 20 floats for each fill half of a 2 MB cache. Without slices a rare word's documents are misses
/// all over the residuals, and a million documents take 1.6 times as long each as a hundred thousand.
const SLICE: usize = 1 << 14;

/// Documents in a slice where columns have many: 32 floats for each fill a quarter of a 1 MB cache.
const SMALL_SLICE: usize = 1 << 11;

/// Columns in a range: as many bytes of weights.
const RANGE: usize = 1 << 11;

/// Entries that a column must have in a slice, and a document in a range, on average, for small ones to be worth their overhead.
/// With the 445 labels of Reuters on SCDV, whose documents have 2 000 entries each, logistic
/// regression takes 64 s instead of 83 (the whole of `train`, 19 716 documents).
const MANY: usize = 32;

pub(super) struct Design {
    pub(super) data: Packed,
    /// Documents in a slice.
    slice: usize,
    slices: Vec<Slice>,
    ranges: Ranges,
    dense_rows: Vec<Dense>,
    dense_columns: Vec<Dense>,
}

impl Design {
    pub(super) fn new(data: Packed) -> Result<Self> {
        let entries = data.sparse_entries();
        let is_small = entries / data.sparse_columns().max(1) * SMALL_SLICE >= MANY * data.len();
        let slice = if is_small { SMALL_SLICE } else { SLICE };
        let starts: Vec<usize> = (0..data.len()).step_by(slice).collect();
        let of = |start: usize| Slice::new(&data, start..(start + slice).min(data.len()));
        let slices = starts.into_par_iter().map(of).collect();
        let ranges = Ranges::new(&data);
        let (mut dense_rows, mut dense_columns) = (Vec::new(), Vec::new());
        if data.dense.cols() > 0 {
            let all: Vec<usize> = (0..data.len()).collect();
            dense_rows = all.chunks(BLOCK).map(|rows| data.dense.select_rows(rows)).collect();
            for start in (0..data.dense.cols()).step_by(DENSE_COLUMNS) {
                let end = (start + DENSE_COLUMNS).min(data.dense.cols());
                let values: Vec<f32> =
                    (0..data.len()).flat_map(|row| &data.dense.row(row)[start..end]).copied().collect();
                dense_columns.push(Dense::new(data.len(), end - start, values)?);
            }
        }
        Ok(Design { data, slice, slices, ranges, dense_rows, dense_columns })
    }

    /// `scores[i]` ← `bias` + Σ_c x_ic · `weights[c]`.
    pub(super) fn scores<const N: usize>(
        &self,
        weights: &[[f32; N]],
        bias: [f32; N],
        scores: &mut [[f32; N]],
    ) -> Result<()> {
        let dense =
            Dense::new(self.data.dense.cols(), N, weights[self.data.sparse_columns()..].as_flattened().to_vec())?;
        scores.par_chunks_mut(BLOCK).enumerate().try_for_each(|(block, scores)| {
            wide_work(SparseScores { design: self, first: block * BLOCK, weights, bias, scores });
            if let Some(rows) = self.dense_rows.get(block) {
                let more = rows.matmul(&dense)?;
                for (score, more) in scores.as_flattened_mut().iter_mut().zip(more.values()) {
                    *score += more;
                }
            }
            Ok(())
        })
    }

    /// `sums[c]` ← Σ_i x_ic · `residuals[i]`, negated for the columns that count negatively.
    pub(super) fn gradient<const N: usize>(&self, residuals: &[[f32; N]], sums: &mut [[f32; N]]) -> Result<()> {
        let (sparse, dense) = sums.split_at_mut(self.data.sparse_columns());
        self.add_up::<Products, N>(sparse, residuals);
        if self.dense_columns.is_empty() {
            return Ok(());
        }
        let residuals = Dense::new(residuals.len(), N, residuals.as_flattened().to_vec())?;
        dense.par_chunks_mut(DENSE_COLUMNS).zip(&self.dense_columns).enumerate().try_for_each(
            |(block, (sums, part))| {
                let product = part.transposed_matmul(&residuals)?;
                for (column, (sum, product)) in sums.iter_mut().zip(product.values().as_chunks::<N>().0).enumerate() {
                    let negative = block * DENSE_COLUMNS + column >= self.data.negative_start;
                    *sum = if negative { product.map(|value| -value) } else { *product };
                }
                Ok::<(), Error>(())
            },
        )
    }

    /// `sums[c]` ← Σ_i x_ic² · `curvatures[i]` for the sparse columns and those of the dense ones.
    pub(super) fn diagonal<const N: usize>(&self, curvatures: &[[f32; N]], sums: &mut [[f32; N]]) {
        let (sparse, dense) = sums.split_at_mut(self.data.sparse_columns());
        self.add_up::<Squares, N>(sparse, curvatures);
        dense.par_chunks_mut(DENSE_COLUMNS).zip(&self.dense_columns).for_each(|(sums, part)| {
            sums.fill([0.0; N]);
            for (row, curvature) in curvatures.iter().enumerate() {
                for (sum, &value) in sums.iter_mut().zip(part.row(row)) {
                    for lane in 0..N {
                        sum[lane] += value * value * curvature[lane];
                    }
                }
            }
        });
    }

    /// Writes for every sparse column the sum over the slices of `S` of the slice's items, in parallel over blocks of columns
    /// of about equal work.
    fn add_up<S: ColumnSum, const N: usize>(&self, sums: &mut [[f32; N]], items: &[[f32; N]]) {
        sums.fill([0.0; N]);
        for (slice, items) in self.slices.iter().zip(items.chunks(self.slice)) {
            let mut blocks = Vec::with_capacity(slice.block_ends.len());
            let (mut rest, mut first, mut start) = (&mut *sums, 0, 0);
            for &end in &slice.block_ends {
                let past = slice.columns[end - 1] as usize + 1;
                let (block, after) = rest.split_at_mut(past - start);
                blocks.push((first..end, start, block));
                (rest, first, start) = (after, end, past);
            }
            blocks.into_par_iter().for_each(|(range, start, out)| {
                wide_work(ColumnSums::<S, N> { slice, items, range, start, out, sum: PhantomData });
            });
        }
    }
}

/// Where each range of columns ends in each document.
struct Ranges {
    /// How many there are.
    count: usize,
    /// `ends[row · count + range]`, counted from the document's first entry; empty where a document is gone through as it is.
    ends: Vec<u32>,
}

impl Ranges {
    fn new(data: &Packed) -> Self {
        let count = data.sparse_columns().div_ceil(RANGE);
        let has_many = data.sparse_entries() >= MANY * count * data.len();
        if count < 2 || !has_many || !data.rows_ascend() {
            return Ranges { count: 1, ends: Vec::new() };
        }
        let mut ends = vec![0; count * data.len()];
        ends.par_chunks_mut(count).enumerate().for_each(|(row, ends)| {
            let (columns, _) = data.sparse_row(row);
            for (range, end) in ends.iter_mut().enumerate() {
                *end = columns.partition_point(|&column| (column as usize) < (range + 1) * RANGE) as u32;
            }
        });
        Ranges { count, ends }
    }

    /// From where to where a range goes in a document with so many entries.
    #[inline(always)]
    fn of(&self, row: usize, range: usize, entries: usize) -> Range<usize> {
        let end = |range: usize| self.ends.get(row * self.count + range).map_or(entries, |&end| end as usize);
        if range == 0 { 0..end(0) } else { end(range - 1)..end(range) }
    }
}

/// The sparse part of the scores of documents from `first` on.
struct SparseScores<'a, const N: usize> {
    design: &'a Design,
    first: usize,
    weights: &'a [[f32; N]],
    bias: [f32; N],
    scores: &'a mut [[f32; N]],
}

impl<const N: usize> pulp::NullaryFnOnce for SparseScores<'_, N> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let SparseScores { design: Design { data, ranges, .. }, first, weights, bias, scores } = self;
        scores.fill([0.0; N]);
        for range in 0..ranges.count {
            for (row, score) in (first..).zip(scores.iter_mut()) {
                let (columns, values) = data.sparse_row(row);
                let at = ranges.of(row, range, columns.len());
                let part = lanes::dot(&columns[at.clone()], &values[at], weights);
                for lane in 0..N {
                    score[lane] += part[lane];
                }
            }
        }
        for score in scores {
            for lane in 0..N {
                score[lane] += bias[lane];
            }
        }
    }
}

/// What is summed up over the documents of a column.
trait ColumnSum: Send + Sync {
    fn of<const N: usize>(items: &[[f32; N]], documents: &[u32], values: &[f32]) -> [f32; N];
}

/// value · item.
struct Products;

impl ColumnSum for Products {
    #[inline(always)]
    fn of<const N: usize>(items: &[[f32; N]], documents: &[u32], values: &[f32]) -> [f32; N] {
        let mut sum = [0f32; N];
        // Sums of sums: a common word's column would lose digits in one long sum.
        for (documents, values) in documents.chunks(BLOCK).zip(values.chunks(BLOCK)) {
            let part = lanes::dot(documents, values, items);
            for lane in 0..N {
                sum[lane] += part[lane];
            }
        }
        sum
    }
}

/// value² · item.
struct Squares;

impl ColumnSum for Squares {
    #[inline(always)]
    fn of<const N: usize>(items: &[[f32; N]], documents: &[u32], values: &[f32]) -> [f32; N] {
        let mut sum = [0f32; N];
        for (&document, &value) in documents.iter().zip(values) {
            let item = &items[document as usize];
            for lane in 0..N {
                sum[lane] += value * value * item[lane];
            }
        }
        sum
    }
}

/// The sums of the columns at `range` of a slice, added to `out`, which begins with column `start`.
struct ColumnSums<'a, S, const N: usize> {
    slice: &'a Slice,
    items: &'a [[f32; N]],
    range: Range<usize>,
    start: usize,
    out: &'a mut [[f32; N]],
    sum: PhantomData<S>,
}

impl<S: ColumnSum, const N: usize> pulp::NullaryFnOnce for ColumnSums<'_, S, N> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let ColumnSums { slice, items, range, start, out, .. } = self;
        for at in range {
            let entries = slice.offsets[at] as usize..slice.offsets[at + 1] as usize;
            let part = S::of(items, &slice.documents[entries.clone()], &slice.values[entries]);
            let out = &mut out[slice.columns[at] as usize - start];
            for lane in 0..N {
                out[lane] += part[lane];
            }
        }
    }
}

/// The sparse part of a slice of the documents by columns, only those that occur.
struct Slice {
    columns: Vec<u32>,
    /// `columns[i]` owns `documents[offsets[i]..offsets[i + 1]]` and the values beside them.
    offsets: Vec<u64>,
    /// Numbered from the slice's first.
    documents: Vec<u32>,
    values: Vec<f32>,
    /// Where each block of columns ends, counted in `columns`.
    block_ends: Vec<usize>,
}

impl Slice {
    fn new(data: &Packed, rows: Range<usize>) -> Self {
        let start = rows.start;
        let mut next = vec![0u64; data.sparse_columns()];
        for row in rows.clone() {
            data.sparse_row(row).0.iter().for_each(|&column| next[column as usize] += 1);
        }
        let (mut columns, mut offsets, mut block_ends) = (Vec::new(), vec![0], Vec::new());
        let (mut end, mut work) = (0u64, 0u64);
        for (column, next) in next.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            columns.push(column as u32);
            // A column costs something even when it holds little.
            work += *next + 4;
            end += std::mem::replace(next, end);
            offsets.push(end);
            if work >= WORK {
                block_ends.push(columns.len());
                work = 0;
            }
        }
        if work > 0 {
            block_ends.push(columns.len());
        }
        let (mut documents, mut values) = (vec![0u32; end as usize], vec![0f32; end as usize]);
        for row in rows {
            let (columns, entries) = data.sparse_row(row);
            for (&column, &value) in columns.iter().zip(entries) {
                let at = &mut next[column as usize];
                documents[*at as usize] = (row - start) as u32;
                values[*at as usize] = value;
                *at += 1;
            }
        }
        Slice { columns, offsets, documents, values, block_ends }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Labels;
    use crate::matrix::{Csr, Matrix};

    /// Documents that fill a tenth of many columns.
    fn filled(documents: usize, columns: usize) -> Design {
        let value = |row: usize, column: usize| ((row * 31 + column * 17) % 101) as f32 / 101.0 - 0.4;
        let row = |row: usize| {
            let own = (0..columns).filter(move |column| (row * 7 + column * 13).is_multiple_of(10));
            own.map(move |column| (column as u32, value(row, column))).collect::<Vec<_>>()
        };
        let x = Matrix::from(Csr::from_rows(columns, (0..documents).map(row)));
        let labels = Labels::from_single((0..documents).map(|row| Some(if row % 2 == 0 { "a" } else { "b" })));
        Design::new(Packed::new(&x, &labels, None, None).unwrap()).unwrap()
    }

    #[test]
    fn ranges_and_small_slices_give_the_sums_of_whole_rows_and_columns() {
        let mut design = filled(700, 2 * RANGE + 5);
        assert_eq!((design.ranges.count, design.slice), (3, SMALL_SLICE));
        let (documents, columns) = (design.data.len(), design.data.sparse_columns());
        let weights: Vec<[f32; 4]> = (0..columns).map(|c| [c as f32 * 1e-3, 1.0, -0.5, (c % 3) as f32]).collect();
        let mut ranged = vec![[0f32; 4]; documents];
        design.scores(&weights, [1.0, 0.0, 0.0, 2.0], &mut ranged).unwrap();
        let mut gradient = vec![[0f32; 4]; columns];
        design.gradient(&ranged, &mut gradient).unwrap();

        design.ranges = Ranges { count: 1, ends: Vec::new() };
        let mut whole = vec![[0f32; 4]; documents];
        design.scores(&weights, [1.0, 0.0, 0.0, 2.0], &mut whole).unwrap();
        let near = |a: &[[f32; 4]], b: &[[f32; 4]]| {
            let pairs = || a.as_flattened().iter().zip(b.as_flattened());
            pairs().all(|(a, b)| (a - b).abs() <= 1e-4 * (1.0 + a.abs()))
        };
        assert!(near(&ranged, &whole));
        let mut by_hand = vec![[0f64; 4]; columns];
        for (row, errors) in ranged.iter().enumerate() {
            let (columns, values) = design.data.sparse_row(row);
            for (&column, &value) in columns.iter().zip(values) {
                for (sum, &error) in by_hand[column as usize].iter_mut().zip(errors) {
                    *sum += f64::from(value) * f64::from(error);
                }
            }
        }
        let by_hand: Vec<[f32; 4]> = by_hand.iter().map(|sums| sums.map(|sum| sum as f32)).collect();
        assert!(near(&gradient, &by_hand));
        let most = gradient.as_flattened().iter().fold(0f32, |most, value| most.max(value.abs()));
        assert!(most > 1.0, "nothing was summed up");
    }
}
