//! Products of a [`Matrix`] and its transpose with sixteen vectors at a time.
//!
//! A panel holds sixteen vectors side by side, one cache line for each coordinate, so a non-zero of the sparse part
//! costs one aligned line read and sixteen multiply-adds whose sums stay in registers. Wider blocks were slower: the
//! panel of a text collection's documents fits the second-level cache at this width.
//!
//! Every output coordinate is summed by one task in the order of the stored entries, so the bits do not depend on the
//! number of threads. O(stored · 16) per product; the sparse part is kept twice, by rows and by columns.
//!
//! [`Linear`] is all that `lsi`, `varnorm` and `discriminant` ask of documents while they iterate, so the rows may live elsewhere:
//!
//! ```
//! use corpuscle::matrix::{Csr, Lane, Linear, Matrix, Operator, truncated_svd};
//! use corpuscle::Run;
//!
//! /// Documents in two parts, each held by somebody else.
//! struct Parts<'a>([Operator<'a>; 2]);
//!
//! impl Linear for Parts<'_> {
//!     fn rows(&self) -> usize {
//!         self.0.iter().map(Linear::rows).sum()
//!     }
//!     fn cols(&self) -> usize {
//!         self.0[0].cols()
//!     }
//!     fn negative(&self) -> usize {
//!         self.0[0].negative()
//!     }
//!     fn times(&self, panel: &[Lane], out: &mut [Lane]) {
//!         let (first, second) = out.split_at_mut(self.0[0].rows());
//!         self.0[0].times(panel, first);
//!         self.0[1].times(panel, second);
//!     }
//!     fn transposed_times(&self, panel: &[Lane], out: &mut [Lane]) {
//!         let (first, second) = panel.split_at(self.0[0].rows());
//!         let mut more = vec![Lane::default(); out.len()];
//!         self.0[0].transposed_times(first, out);
//!         self.0[1].transposed_times(second, &mut more);
//!         // Sums of parts are added in the order of the parts, so that the bits do not depend on who came first.
//!         out.iter_mut().zip(&more).for_each(|(to, more)| to.add(1.0, more));
//!     }
//! }
//!
//! let row = |n: u32| vec![(n % 5, 1.0), (5 + n % 3, 0.5)];
//! let part = |rows: std::ops::Range<u32>| Matrix::from(Csr::from_rows(8, rows.map(row)));
//! let (whole, one, other) = (part(0..30), part(0..12), part(12..30));
//! let run = Run::new(42, 1)?;
//! let together = truncated_svd(&Operator::new(&whole), 3, 0, &run)?;
//! let apart = truncated_svd(&Parts([Operator::new(&one), Operator::new(&other)]), 3, 0, &run)?;
//! for (a, b) in together.singular_values.iter().zip(&apart.singular_values) {
//!     assert!((a - b).abs() < 1e-4);
//! }
//! # Ok::<(), corpuscle::Error>(())
//! ```

use rayon::prelude::*;

use super::{Csr, Dense, Matrix};
use crate::wide::wide;

/// Vectors in a panel.
pub const LANES: usize = 16;

/// One coordinate of the sixteen vectors of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(64))]
pub struct Lane(
    /// The coordinate of each vector.
    pub [f32; LANES],
);

impl Lane {
    /// Adds `scale · other`.
    #[inline(always)]
    pub fn add(&mut self, scale: f32, other: &Lane) {
        for lane in 0..LANES {
            self.0[lane] += scale * other.0[lane];
        }
    }
}

/// Rows a task takes at a time: small enough to balance the long rows of frequent terms.
const ROWS: usize = 128;

/// A linear map over columns that can be applied from both sides, sixteen vectors at a time.
pub trait Linear: Sync {
    /// How many rows there are.
    fn rows(&self) -> usize;
    /// How many columns there are.
    fn cols(&self) -> usize;
    /// How many of the last columns count negatively.
    fn negative(&self) -> usize;
    /// `out = X · panel`: one coordinate of `panel` for each column of X, one of `out` for each row.
    fn times(&self, panel: &[Lane], out: &mut [Lane]);
    /// `out = J Xᵀ · panel`, where J turns the sign of the columns that count negatively, so that `X · out` is the
    /// matrix of inner products of rows applied to `panel`.
    fn transposed_times(&self, panel: &[Lane], out: &mut [Lane]);

    /// `X · vectors` for any number of vectors, one per column.
    fn times_dense(&self, vectors: &Dense) -> Dense {
        by_panels(vectors, self.rows(), |panel, out| self.times(panel, out))
    }

    /// `J Xᵀ · vectors` for any number of vectors, one per column.
    fn transposed_times_dense(&self, vectors: &Dense) -> Dense {
        by_panels(vectors, self.cols(), |panel, out| self.transposed_times(panel, out))
    }
}

fn by_panels(vectors: &Dense, size: usize, product: impl Fn(&[Lane], &mut [Lane])) -> Dense {
    let mut result = Dense::zeros(size, vectors.cols());
    let mut panel = vec![Lane::default(); vectors.rows()];
    let mut out = vec![Lane::default(); size];
    for first in (0..vectors.cols()).step_by(LANES) {
        take_panel(vectors, first, &mut panel);
        product(&panel, &mut out);
        put_panel(&out, first, &mut result);
    }
    result
}

/// A matrix that can be multiplied from both sides.
#[derive(Debug)]
pub struct Operator<'a> {
    x: &'a Matrix,
    by_columns: Csr,
}

impl<'a> Operator<'a> {
    /// Sorts the sparse part by columns: O(stored) time and memory.
    pub fn new(x: &'a Matrix) -> Self {
        Operator { x, by_columns: x.sparse().transpose() }
    }
}

impl Linear for Operator<'_> {
    fn rows(&self) -> usize {
        self.x.rows()
    }

    fn cols(&self) -> usize {
        self.x.cols()
    }

    fn negative(&self) -> usize {
        self.x.negative()
    }

    fn times(&self, panel: &[Lane], out: &mut [Lane]) {
        out.par_chunks_mut(ROWS).enumerate().for_each(|(chunk, out)| {
            wide(
                #[inline(always)]
                || {
                    for (offset, sum) in out.iter_mut().enumerate() {
                        let row = self.x.row(chunk * ROWS + offset);
                        *sum = gather(row.columns, row.values, panel);
                        for (&value, lane) in row.dense.iter().zip(&panel[row.dense_start..]) {
                            sum.add(value, lane);
                        }
                    }
                },
            );
        });
    }

    fn transposed_times(&self, panel: &[Lane], out: &mut [Lane]) {
        let (sparse, dense) = out.split_at_mut(self.by_columns.rows());
        sparse.par_chunks_mut(ROWS).enumerate().for_each(|(chunk, out)| {
            wide(
                #[inline(always)]
                || {
                    for (offset, sum) in out.iter_mut().enumerate() {
                        let (rows, values) = self.by_columns.row(chunk * ROWS + offset);
                        *sum = gather(rows, values, panel);
                    }
                },
            );
        });
        let negative_start = dense.len() - self.x.negative();
        dense.par_chunks_mut(LANES).enumerate().for_each(|(chunk, out)| {
            out.fill(Lane::default());
            let first = chunk * LANES;
            wide(
                #[inline(always)]
                || {
                    for (row, lane) in panel.iter().enumerate() {
                        for (sum, &value) in out.iter_mut().zip(&self.x.dense().row(row)[first..]) {
                            sum.add(value, lane);
                        }
                    }
                },
            );
            for (offset, sum) in out.iter_mut().enumerate() {
                if first + offset >= negative_start {
                    sum.0.iter_mut().for_each(|value| *value = -*value);
                }
            }
        });
    }
}

/// The sum of lanes picked and weighed by a sparse row.
#[inline(always)]
pub(crate) fn gather(columns: &[u32], values: &[f32], panel: &[Lane]) -> Lane {
    let mut sum = Lane::default();
    let values = &values[..columns.len()];
    for at in 0..columns.len() {
        sum.add(values[at], &panel[columns[at] as usize]);
    }
    sum
}

/// Copies columns `first..first + 16` of `from`; columns past its end become 0.
pub(crate) fn take_panel(from: &Dense, first: usize, panel: &mut [Lane]) {
    let width = LANES.min(from.cols() - first);
    for (row, lane) in panel.iter_mut().enumerate() {
        *lane = Lane::default();
        lane.0[..width].copy_from_slice(&from.row(row)[first..first + width]);
    }
}

/// Copies a panel into columns `first..first + 16` of `to`, as far as it has them.
pub(crate) fn put_panel(panel: &[Lane], first: usize, to: &mut Dense) {
    let width = LANES.min(to.cols() - first);
    let cols = to.cols().max(1);
    for (row, lane) in to.values_mut().chunks_exact_mut(cols).zip(panel) {
        row[first..first + width].copy_from_slice(&lane.0[..width]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed() -> Matrix {
        let sparse = Csr::from_rows(3, [vec![(0, 1.0), (2, 2.0)], vec![(1, 3.0)], vec![]]);
        Matrix::new(sparse, Dense::from_rows(&[[0.5, 1.0], [2.0, -1.0], [4.0, 3.0]]), 1).unwrap()
    }

    #[test]
    fn a_product_with_vectors_is_the_plain_one() {
        let x = mixed();
        let vectors = Dense::new(5, 19, (0..95).map(|v| v as f32 * 0.25 - 7.0).collect::<Vec<f32>>()).unwrap();
        let plain = x.multiply(&vectors, &[0.0; 19]).unwrap();
        assert_eq!(Operator::new(&x).times_dense(&vectors), plain);
    }

    #[test]
    fn there_and_back_gives_the_inner_products_of_rows() {
        let x = mixed();
        let identity = Dense::from_rows(&[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        let operator = Operator::new(&x);
        let gram = operator.times_dense(&operator.transposed_times_dense(&identity));
        for i in 0..3 {
            for j in 0..3 {
                assert_eq!(f64::from(gram.row(i)[j]), x.row(i).inner(&x.row(j)));
            }
        }
    }
}
