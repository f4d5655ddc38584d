//! Small matrices of `f64` and the products of tall `f32` matrices that make them.
//!
//! Sums over many rows are cut into at most sixteen pieces by row number and added in their order; inside a piece,
//! faer multiplies on one thread. So the bits are the same at any thread count and memory stays small.

use std::ops::Range;

use corpuscle_dense::{Real, symmetric_eigen};
use faer::{Accum, Mat, MatMut, MatRef};
use rayon::prelude::*;

use super::Dense;
use crate::{Error, Result, Run};

/// A matrix of `f64`, row by row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Small {
    rows: usize,
    cols: usize,
    values: Vec<f64>,
}

/// Rows multiplied at once: a piece of a few hundred columns stays in the second-level cache.
const BLOCK: usize = 256;
/// How many pieces a sum over rows is cut into at most.
const PIECES: usize = 16;

impl Small {
    /// A matrix of zeros.
    pub(crate) fn zeros(rows: usize, cols: usize) -> Self {
        Small { rows, cols, values: vec![0.0; rows * cols] }
    }

    /// One row.
    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.cols..(row + 1) * self.cols]
    }

    /// One row, to change.
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.cols..(row + 1) * self.cols]
    }

    fn as_faer(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.values, self.rows, self.cols)
    }

    fn as_faer_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_row_major_slice_mut(&mut self.values, self.rows, self.cols)
    }

    /// The product `self · other`; the sizes must fit.
    pub(crate) fn times(&self, other: &Small) -> Small {
        let mut product = Small::zeros(self.rows, other.cols);
        f64::matmul(product.as_faer_mut(), Accum::Replace, self.as_faer(), other.as_faer(), 1.0);
        product
    }

    /// The product `selfᵀ · other`; the sizes must fit.
    pub(crate) fn transposed_times(&self, other: &Small) -> Small {
        let mut product = Small::zeros(self.cols, other.cols);
        let left = self.as_faer().transpose();
        f64::matmul(product.as_faer_mut(), Accum::Replace, left, other.as_faer(), 1.0);
        product
    }

    /// Column `j` times `factors[j]`, keeping the first `factors.len()` columns.
    pub(crate) fn scaled_columns(&self, factors: &[f64]) -> Small {
        let mut scaled = Small::zeros(self.rows, factors.len());
        for row in 0..self.rows {
            for ((to, &from), factor) in scaled.row_mut(row).iter_mut().zip(self.row(row)).zip(factors) {
                *to = from * factor;
            }
        }
        scaled
    }

    /// The first `cols` columns as `f32`.
    pub(crate) fn to_dense(&self, cols: usize) -> Result<Dense> {
        let values: Vec<f32> = (0..self.rows).flat_map(|row| self.row(row)[..cols].iter().map(|&v| v as f32)).collect();
        Dense::new(self.rows, cols, values)
    }

    /// The solution y of (self + shift · I) y = right, for the symmetric positive definite matrix whose lower triangle
    /// `self` is. O(size³ / 3), one thread.
    pub(crate) fn solve_shifted(&self, shift: f64, right: &Small) -> Result<Small> {
        let size = self.rows;
        let mut factor = Mat::<f64>::from_fn(size, size, |row, column| match row.cmp(&column) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => self.row(row)[column] + shift,
            std::cmp::Ordering::Greater => self.row(row)[column],
        });
        f64::factor(factor.as_mut()).map_err(|_| {
            Error::data("a matrix to be inverted is singular: raise the shrinkage, or scale the values")
        })?;
        let mut solution = Mat::<f64>::from_fn(size, right.cols, |row, column| right.row(row)[column]);
        f64::solve_lower(factor.as_ref(), solution.as_mut());
        f64::solve_transposed(factor.as_ref(), solution.as_mut());
        let mut result = Small::zeros(size, right.cols);
        for row in 0..size {
            result.row_mut(row).iter_mut().enumerate().for_each(|(column, to)| *to = solution[(row, column)]);
        }
        Ok(result)
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    /// Adds `other`, in place.
    fn add(&mut self, other: &Small) {
        self.values.iter_mut().zip(&other.values).for_each(|(sum, value)| *sum += value);
    }

    /// Eigenvalues, largest first, and the eigenvectors as columns in the same order, of the symmetric matrix whose
    /// lower triangle this is. O(size³), one thread.
    pub(crate) fn symmetric_eigen(&self) -> Result<(Vec<f64>, Small)> {
        let size = self.rows;
        if !self.values.iter().all(|value| value.is_finite()) {
            return Err(Error::data("values overflow or are not finite: scale the matrix down first"));
        }
        let mut values = vec![0.0; size];
        let mut vectors = Mat::<f64>::zeros(size, size);
        symmetric_eigen(self.as_faer(), &mut values, vectors.as_mut())
            .map_err(|_| Error::data("an eigenvalue computation did not converge: scale the matrix to usual sizes"))?;
        values.reverse();
        let mut sorted = Small::zeros(size, size);
        for row in 0..size {
            for (column, to) in sorted.row_mut(row).iter_mut().enumerate() {
                *to = vectors[(row, size - 1 - column)];
            }
        }
        Ok((values, sorted))
    }
}

impl From<&Dense> for Small {
    fn from(dense: &Dense) -> Self {
        let values = dense.values().iter().map(|&value| f64::from(value)).collect();
        Small { rows: dense.rows(), cols: dense.cols(), values }
    }
}

/// Calls `add(from, to, sum)` for consecutive ranges of rows and adds the sums in order.
fn sum_over_rows(rows: usize, shape: (usize, usize), add: impl Fn(usize, usize, &mut Small) + Sync) -> Small {
    let piece = rows.div_ceil(PIECES).max(BLOCK);
    let pieces: Vec<Small> = (0..rows.div_ceil(piece))
        .into_par_iter()
        .map(|number| {
            let mut sum = Small::zeros(shape.0, shape.1);
            let end = rows.min((number + 1) * piece);
            for from in (number * piece..end).step_by(BLOCK) {
                add(from, end.min(from + BLOCK), &mut sum);
            }
            sum
        })
        .collect();
    let mut total = Small::zeros(shape.0, shape.1);
    pieces.iter().for_each(|piece| total.add(piece));
    total
}

/// `leftᵀ · right` of two tall matrices with as many rows, every product and sum in `f64`; the last `negative` rows
/// count negatively.
pub(crate) fn transposed_product(left: &Dense, right: &Dense, negative: usize) -> Small {
    let negative_start = left.rows() - negative;
    sum_over_rows(left.rows(), (left.cols(), right.cols()), |from, to, sum| {
        let widen = |matrix: &Dense, signed: bool| {
            let mut wide = Small::zeros(to - from, matrix.cols());
            for row in from..to {
                let sign = if signed && row >= negative_start { -1.0 } else { 1.0 };
                for (to, &value) in wide.row_mut(row - from).iter_mut().zip(matrix.row(row)) {
                    *to = sign * f64::from(value);
                }
            }
            wide
        };
        let (left, right) = (widen(left, true), widen(right, false));
        let left = left.as_faer().transpose();
        f64::matmul(sum.as_faer_mut(), Accum::Add, left, right.as_faer(), 1.0);
    })
}

/// The `columns` of `left`, transposed, times `right`: products in `f32` over short runs of rows, their
/// sums in `f64`. About eps/√rows accurate per unit of length, and several times faster than all in `f64`.
pub(crate) fn quick_transposed_product(left: &Dense, columns: Range<usize>, right: &Dense) -> Small {
    sum_over_rows(left.rows(), (columns.len(), right.cols()), |from, to, sum| {
        let mut part = Dense::zeros(columns.len(), right.cols());
        let (left, right) = (left.as_faer().get(from..to, columns.clone()), right.as_faer().get(from..to, ..));
        f32::matmul(part.as_faer_mut(), Accum::Replace, left.transpose(), right, 1.0);
        sum.values.iter_mut().zip(part.values()).for_each(|(sum, &value)| *sum += f64::from(value));
    })
}

/// One pass over the rows of `x`: their scores `x · factor` are handed to `weigh` block by block, which turns them into
/// weights in place and may return a number; gives weightsᵀ · x and the sum of the numbers. Products in `f32` over
/// short runs of rows, sums in `f64`; no more scores are held than a block has.
pub(crate) fn weigh_rows(x: &Dense, factor: &Dense, weigh: impl Fn(usize, &mut [f32]) -> f64 + Sync) -> (Small, f64) {
    let (rows, k) = (x.rows(), factor.cols());
    let piece = rows.div_ceil(PIECES).max(BLOCK);
    let pieces: Vec<(Small, f64)> = (0..rows.div_ceil(piece))
        .into_par_iter()
        .map(|number| {
            let (mut sum, mut total) = (Small::zeros(k, x.cols()), 0.0);
            let mut part = Dense::zeros(k, x.cols());
            let mut scores = vec![0f32; BLOCK * k];
            let end = rows.min((number + 1) * piece);
            for from in (number * piece..end).step_by(BLOCK) {
                let count = BLOCK.min(end - from);
                let scores = &mut scores[..count * k];
                let block = x.as_faer().get(from..from + count, ..);
                let to = MatMut::from_row_major_slice_mut(scores, count, k);
                f32::matmul(to, Accum::Replace, block, factor.as_faer(), 1.0);
                total += weigh(from, scores);
                let weights = MatRef::from_row_major_slice(scores, count, k).transpose();
                f32::matmul(part.as_faer_mut(), Accum::Replace, weights, block, 1.0);
                sum.values.iter_mut().zip(part.values()).for_each(|(sum, &value)| *sum += f64::from(value));
            }
            (sum, total)
        })
        .collect();
    let mut all = Small::zeros(k, x.cols());
    pieces.iter().for_each(|(piece, _)| all.add(piece));
    (all, pieces.iter().map(|(_, total)| total).sum())
}

/// `to ← to − left[.., columns] · factor`, parallel over rows.
pub(crate) fn subtract_product(to: &mut Dense, left: &Dense, columns: Range<usize>, factor: &Dense) {
    let width = to.cols();
    to.values_mut().par_chunks_mut(BLOCK * width.max(1)).enumerate().for_each(|(chunk, to)| {
        let rows = to.len() / width;
        let from = chunk * BLOCK;
        let to = MatMut::from_row_major_slice_mut(to, rows, width);
        let left = left.as_faer().get(from..from + rows, columns.clone());
        f32::matmul(to, Accum::Add, left, factor.as_faer(), -1.0);
    });
}

/// `left[.., ..factor.rows()] · factor`, parallel over rows.
pub(crate) fn tall_product(left: &Dense, factor: &Dense) -> Dense {
    let mut product = Dense::zeros(left.rows(), factor.cols());
    let width = factor.cols();
    product.values_mut().par_chunks_mut(BLOCK * width.max(1)).enumerate().for_each(|(chunk, to)| {
        let rows = to.len() / width;
        let from = chunk * BLOCK;
        let to = MatMut::from_row_major_slice_mut(to, rows, width);
        let left = left.as_faer().get(from..from + rows, ..factor.rows());
        f32::matmul(to, Accum::Replace, left, factor.as_faer(), 1.0);
    });
    product
}

/// `matrix · factor` in the memory of `matrix`; `factor` may have fewer columns than rows, not more.
pub(crate) fn multiply_in_place(mut matrix: Dense, factor: &Dense) -> Result<Dense> {
    let (rows, width, kept) = (matrix.rows(), matrix.cols(), factor.cols());
    if width == 0 || kept == 0 {
        return Ok(Dense::zeros(rows, kept));
    }
    matrix.values_mut().par_chunks_mut(BLOCK * width).for_each_init(
        || vec![0f32; BLOCK * kept],
        |scratch, chunk| {
            let rows = chunk.len() / width;
            let to = MatMut::from_row_major_slice_mut(&mut scratch[..rows * kept], rows, kept);
            let from = MatRef::from_row_major_slice(chunk, rows, width);
            f32::matmul(to, Accum::Replace, from, factor.as_faer(), 1.0);
            for (to, from) in chunk.chunks_exact_mut(width).zip(scratch.chunks_exact(kept)) {
                to[..kept].copy_from_slice(from);
            }
        },
    );
    if kept == width {
        return Ok(matrix);
    }
    let mut values = matrix.into_values();
    for row in 1..rows {
        values.copy_within(row * width..row * width + kept, row * kept);
    }
    values.truncate(rows * kept);
    Dense::new(rows, kept, values)
}

/// The scatter of `columns` of a tall matrix about `centre`, Σ (z − c)(z − c)ᵀ: its lower triangle, row by row. Products
/// in `f32` over short runs of rows, their sums in `f64`; every strip of the result is summed by one task.
pub(crate) fn centred_scatter(matrix: &Dense, columns: Range<usize>, centre: &[f32], run: &Run) -> Result<Vec<f64>> {
    const STRIP: usize = 128;
    const ROWS: usize = 512;
    let size = columns.len();
    let mut scatter = vec![0f64; size * size];
    scatter.par_chunks_mut(STRIP * size.max(1)).with_max_len(1).enumerate().try_for_each(|(number, out)| {
        let strip = out.len() / size;
        let (first, end) = (number * STRIP, number * STRIP + strip);
        let mut centred = vec![0f32; ROWS * end];
        let mut product = vec![0f32; strip * end];
        for from in (0..matrix.rows()).step_by(ROWS) {
            run.check()?;
            let rows = ROWS.min(matrix.rows() - from);
            for (row, to) in centred.chunks_exact_mut(end).take(rows).enumerate() {
                let values = &matrix.row(from + row)[columns.start..columns.start + end];
                for ((to, value), centre) in to.iter_mut().zip(values).zip(centre) {
                    *to = value - centre;
                }
            }
            let right = MatRef::from_row_major_slice(&centred[..rows * end], rows, end);
            let left = right.subcols(first, strip).transpose();
            let to = MatMut::from_row_major_slice_mut(&mut product, strip, end);
            f32::matmul(to, Accum::Replace, left, right, 1.0);
            for (out, product) in out.chunks_exact_mut(size).zip(product.chunks_exact(end)) {
                out.iter_mut().zip(product).for_each(|(sum, &value)| *sum += f64::from(value));
            }
        }
        Ok(())
    })?;
    Ok(scatter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wavy(rows: usize, cols: usize) -> Dense {
        Dense::new(rows, cols, (0..rows * cols).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect::<Vec<f32>>())
            .unwrap()
    }

    #[test]
    fn tall_products_agree_with_plain_ones() {
        let (a, b) = (wavy(700, 5), wavy(700, 3));
        let plain = a.transposed_matmul(&b).unwrap();
        let (exact, quick) = (transposed_product(&a, &b, 0), quick_transposed_product(&a, 0..5, &b));
        for (i, &value) in plain.values().iter().enumerate() {
            assert!((exact.values[i] - f64::from(value)).abs() < 1e-3);
            assert!((quick.values[i] - f64::from(value)).abs() < 1e-3);
        }
        let factor = wavy(5, 2);
        let product = a.matmul(&factor).unwrap();
        assert_eq!(multiply_in_place(a.clone(), &factor).unwrap(), product);
        assert_eq!(tall_product(&a, &factor), product);
        let mut rest = product.clone();
        subtract_product(&mut rest, &a, 0..5, &factor);
        assert!(rest.values().iter().all(|v| v.abs() < 1e-5));
    }

    #[test]
    fn rows_that_count_negatively_are_subtracted() {
        let a = Dense::from_rows(&[[2.0], [1.0], [3.0]]);
        assert_eq!(transposed_product(&a, &a, 1).values, [4.0 + 1.0 - 9.0]);
    }

    #[test]
    fn eigenvectors_rebuild_the_matrix() {
        let a = wavy(40, 6);
        let gram = transposed_product(&a, &a, 0);
        let (values, vectors) = gram.symmetric_eigen().unwrap();
        assert!(values.windows(2).all(|pair| pair[0] >= pair[1]));
        let scaled = vectors.scaled_columns(&values);
        for i in 0..6 {
            for j in 0..6 {
                let rebuilt: f64 = scaled.row(i).iter().zip(vectors.row(j)).map(|(a, b)| a * b).sum();
                assert!((rebuilt - gram.row(i)[j]).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn what_is_not_finite_is_refused() {
        let mut bad = Small::zeros(2, 2);
        bad.row_mut(0)[0] = f64::NAN;
        assert!(bad.symmetric_eigen().is_err());
    }
}
