//! Products with the documents and with their transpose, for several classes side by side.
//!
//! Both directions are parallel without any sum shared between threads: scores over blocks of documents, gradients over
//! blocks of columns, for which the sparse part is kept by columns too, cut into slices of documents so that what is
//! gathered stays in the cache. Dense parts are cut once into blocks of rows and into blocks of columns and multiplied as
//! matrices. Sparse products are made in the widest registers of the processor, with the bits of narrow ones.

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

pub(super) struct Design {
    pub(super) data: Packed,
    slices: Vec<Slice>,
    dense_rows: Vec<Dense>,
    dense_columns: Vec<Dense>,
}

impl Design {
    pub(super) fn new(data: Packed) -> Result<Self> {
        let starts: Vec<usize> = (0..data.len()).step_by(SLICE).collect();
        let slices = starts.into_par_iter().map(|start| Slice::new(&data, start)).collect();
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
        Ok(Design { data, slices, dense_rows, dense_columns })
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
            wide_work(SparseScores { data: &self.data, first: block * BLOCK, weights, bias, scores });
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
        for (slice, items) in self.slices.iter().zip(items.chunks(SLICE)) {
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

/// The sparse part of the scores of documents from `first` on.
struct SparseScores<'a, const N: usize> {
    data: &'a Packed,
    first: usize,
    weights: &'a [[f32; N]],
    bias: [f32; N],
    scores: &'a mut [[f32; N]],
}

impl<const N: usize> pulp::NullaryFnOnce for SparseScores<'_, N> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let SparseScores { data, first, weights, bias, scores } = self;
        for (row, score) in scores.iter_mut().enumerate() {
            let (columns, values) = data.sparse_row(first + row);
            *score = lanes::dot(columns, values, weights);
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

/// The sparse part of up to [`SLICE`] documents by columns, only those that occur.
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
    fn new(data: &Packed, start: usize) -> Self {
        let rows = start..(start + SLICE).min(data.len());
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
