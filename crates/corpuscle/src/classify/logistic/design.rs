//! Products with the documents and with their transpose, for several classes side by side.
//!
//! Both directions are parallel without any sum shared between threads: scores over blocks of documents, gradients over
//! blocks of columns, for which the sparse part is kept by columns too. Dense parts are cut once into blocks of rows and
//! into blocks of columns and multiplied as matrices.

use rayon::prelude::*;

use crate::classify::lanes;
use crate::classify::packed::Packed;
use crate::matrix::Dense;
use crate::{Error, Result};

/// Documents in a block, and the most values summed in `f32` before the sum moves on.
const BLOCK: usize = 512;

/// Dense columns in a block.
const DENSE_COLUMNS: usize = 256;

/// Stored values in a block of columns, about.
const WORK: usize = 1 << 14;

pub(super) struct Design<'a> {
    pub(super) data: &'a Packed,
    offsets: Vec<usize>,
    documents: Vec<u32>,
    values: Vec<f32>,
    /// Where each block of sparse columns ends.
    column_ends: Vec<usize>,
    dense_rows: Vec<Dense>,
    dense_columns: Vec<Dense>,
}

impl<'a> Design<'a> {
    pub(super) fn new(data: &'a Packed) -> Result<Self> {
        let (offsets, documents, values) = data.transpose_sparse();
        let mut column_ends = Vec::new();
        let mut from = 0;
        for column in 0..data.sparse_columns() {
            // A column costs something even when it holds little.
            if offsets[column + 1] - offsets[from] + 8 * (column + 1 - from) >= WORK
                || column + 1 == data.sparse_columns()
            {
                column_ends.push(column + 1);
                from = column + 1;
            }
        }
        let (mut dense_rows, mut dense_columns) = (Vec::new(), Vec::new());
        if data.dense.cols() > 0 {
            let all: Vec<usize> = (0..data.len()).collect();
            dense_rows = all.chunks(BLOCK).map(|rows| data.dense.select_rows(rows)).collect();
            for start in (0..data.dense.cols()).step_by(DENSE_COLUMNS) {
                let end = (start + DENSE_COLUMNS).min(data.dense.cols());
                let values = (0..data.len()).flat_map(|row| &data.dense.row(row)[start..end]).copied().collect();
                dense_columns.push(Dense::new(data.len(), end - start, values)?);
            }
        }
        Ok(Design { data, offsets, documents, values, column_ends, dense_rows, dense_columns })
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
            for (row, score) in scores.iter_mut().enumerate() {
                let (columns, values) = self.data.sparse_row(block * BLOCK + row);
                *score = lanes::dot(columns, values, weights);
                for lane in 0..N {
                    score[lane] += bias[lane];
                }
            }
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
        self.for_each_column(sparse, |documents, values| {
            let mut sum = [0f32; N];
            // Sums of sums: a common word's column would lose digits in one long sum.
            for (documents, values) in documents.chunks(BLOCK).zip(values.chunks(BLOCK)) {
                let part = lanes::dot(documents, values, residuals);
                for lane in 0..N {
                    sum[lane] += part[lane];
                }
            }
            sum
        });
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
        self.for_each_column(sparse, |documents, values| {
            let mut sum = [0f32; N];
            for (&document, &value) in documents.iter().zip(values) {
                let curvature = &curvatures[document as usize];
                for lane in 0..N {
                    sum[lane] += value * value * curvature[lane];
                }
            }
            sum
        });
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

    /// Writes `sum(documents, values)` of every sparse column, in parallel over blocks of about equal work.
    fn for_each_column<const N: usize>(
        &self,
        mut sums: &mut [[f32; N]],
        sum: impl Fn(&[u32], &[f32]) -> [f32; N] + Sync,
    ) {
        let mut blocks = Vec::with_capacity(self.column_ends.len());
        let mut from = 0;
        for &end in &self.column_ends {
            let (block, rest) = sums.split_at_mut(end - from);
            blocks.push((from, block));
            (sums, from) = (rest, end);
        }
        blocks.into_par_iter().for_each(|(from, block)| {
            for (column, out) in (from..).zip(block) {
                let range = self.offsets[column]..self.offsets[column + 1];
                *out = sum(&self.documents[range.clone()], &self.values[range]);
            }
        });
    }
}
