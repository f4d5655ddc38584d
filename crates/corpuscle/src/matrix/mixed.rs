//! What every stage passes on: documents as a sparse part beside a dense part.
//!
//! A row is (x, a): sparse x over the first columns, dense a over the rest. Either part may be absent, so plain
//! tf-idf, plain LSI and "x beside its reconstruction" are all one type, and classifiers see rows without knowing the
//! storage.
//!
//! The last [`Matrix::negative`] dense columns enter inner products with a minus sign. That is how a projected row
//! x̃ = x − V Vᵀx is kept without ever being written out: with a = Vᵀx and V orthonormal, x̃·ỹ = x·y − a·b. So
//!
//! - inner products of rows are ⟨(x, a), (y, b)⟩ = x·y + a⁺·b⁺ − a⁻·b⁻ ([`Row::inner`], [`Row::norm_squared`]);
//! - a weight vector w is stored so that a score is the *plain* dot product w·(x, a) ([`Row::dot`]), which means that
//!   adding s·row to w flips the sign of the negative part ([`Row::add_to`]).
//!
//! ```
//! use corpuscle::matrix::{Csr, Dense, Matrix};
//! let x = Csr::from_rows(2, [vec![(0, 3.0), (1, 4.0)]]);
//! let a = Dense::from_rows(&[[4.0]]); // Vᵀx for V = (0, 1)ᵀ
//! let projected = Matrix::new(x, a, 1)?;
//! assert_eq!(projected.row(0).norm_squared(), 9.0);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use rayon::prelude::*;

use super::{Csr, Dense};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result};

/// Documents by rows: sparse columns first, then dense ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    sparse: Csr,
    dense: Dense,
    negative: usize,
}

/// How many columns of each kind a matrix has, or one of several that stand side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Widths {
    /// Sparse columns.
    pub sparse: usize,
    /// Dense columns that count as they are.
    pub dense: usize,
    /// Dense columns that count negatively in inner products.
    pub negative: usize,
}

impl Widths {
    /// All columns.
    pub fn all(&self) -> usize {
        self.sparse + self.dense + self.negative
    }
}

/// One document.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Columns of the sparse part, ascending.
    pub columns: &'a [u32],
    /// Values of the sparse part.
    pub values: &'a [f32],
    /// The dense part.
    pub dense: &'a [f32],
    /// Where the dense part starts among all columns.
    pub dense_start: usize,
    /// Dense entries from here on count negatively in inner products of rows.
    pub negative_start: usize,
}

impl Matrix {
    /// Bytes of its arrays.
    pub fn bytes(&self) -> usize {
        8 * self.sparse.nnz() + 8 * self.rows() + 4 * self.rows() * self.dense.cols()
    }

    /// A sparse part beside a dense part whose last `negative` columns count negatively.
    pub fn new(sparse: Csr, dense: Dense, negative: usize) -> Result<Self> {
        if sparse.rows() != dense.rows() {
            return Err(Error::Shape { what: "rows of the dense part", expected: sparse.rows(), found: dense.rows() });
        }
        if negative > dense.cols() {
            return Err(Error::Shape { what: "negative columns", expected: dense.cols(), found: negative });
        }
        Ok(Matrix { sparse, dense, negative })
    }

    /// Number of documents.
    pub fn rows(&self) -> usize {
        self.sparse.rows()
    }

    /// Number of columns, sparse and dense together.
    pub fn cols(&self) -> usize {
        self.sparse.cols() + self.dense.cols()
    }

    /// The sparse part.
    pub fn sparse(&self) -> &Csr {
        &self.sparse
    }

    /// The dense part.
    pub fn dense(&self) -> &Dense {
        &self.dense
    }

    /// How many of the last dense columns count negatively.
    pub fn negative(&self) -> usize {
        self.negative
    }

    /// Stored numbers: non-zeros of the sparse part and all of the dense part.
    pub fn stored(&self) -> usize {
        self.sparse.nnz() + self.dense.values().len()
    }

    /// Both parts, to take apart.
    pub fn into_parts(self) -> (Csr, Dense, usize) {
        (self.sparse, self.dense, self.negative)
    }

    /// One document.
    #[inline]
    pub fn row(&self, row: usize) -> Row<'_> {
        let (columns, values) = self.sparse.row(row);
        Row {
            columns,
            values,
            dense: self.dense.row(row),
            dense_start: self.sparse.cols(),
            negative_start: self.dense.cols() - self.negative,
        }
    }

    /// The given rows, in the given order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        Matrix { sparse: self.sparse.select_rows(rows), dense: self.dense.select_rows(rows), negative: self.negative }
    }

    /// Appends the rows of a matrix of the same make.
    pub fn append_rows(&mut self, other: &Matrix) -> Result<()> {
        if self.negative != other.negative {
            return Err(Error::Shape { what: "negative columns", expected: self.negative, found: other.negative });
        }
        if self.dense.cols() != other.dense.cols() {
            let (expected, found) = (self.dense.cols(), other.dense.cols());
            return Err(Error::Shape { what: "dense columns of the rows to add", expected, found });
        }
        self.sparse.append_rows(&other.sparse)?;
        self.dense.append_rows(&other.dense)
    }

    /// The two representations side by side: sparse beside sparse, dense beside dense.
    pub fn beside(&self, other: &Matrix) -> Result<Self> {
        let sparse = self.sparse.beside(&other.sparse)?;
        let (left, right) = (self.dense.cols() - self.negative, other.dense.cols() - other.negative);
        let mut values = Vec::with_capacity(self.dense.values().len() + other.dense.values().len());
        for row in 0..self.rows() {
            // Negative columns stay last.
            let (a, b) = (self.dense.row(row), other.dense.row(row));
            for part in [&a[..left], &b[..right], &a[left..], &b[right..]] {
                values.extend_from_slice(part);
            }
        }
        let dense = Dense::new(self.rows(), self.dense.cols() + other.dense.cols(), values)?;
        Matrix::new(sparse, dense, self.negative + other.negative)
    }

    /// How many columns of each kind it has.
    pub fn widths(&self) -> Widths {
        Widths { sparse: self.sparse.cols(), dense: self.dense.cols() - self.negative, negative: self.negative }
    }

    /// One of several matrices that were put side by side, all of whose widths are given in their order.
    pub fn part(&self, parts: &[Widths], part: usize) -> Result<Self> {
        let sum = |of: fn(&Widths) -> usize, parts: &[Widths]| parts.iter().map(of).sum::<usize>();
        let kinds: [fn(&Widths) -> usize; 3] = [|part| part.sparse, |part| part.dense, |part| part.negative];
        let all = self.widths();
        let Some(own) = parts.get(part).filter(|_| kinds.iter().all(|&of| sum(of, parts) == of(&all))) else {
            return Err(Error::Shape {
                what: "columns of the parts",
                expected: self.cols(),
                found: sum(Widths::all, parts),
            });
        };
        let [sparse, dense, negative] = kinds.map(|of| sum(of, &parts[..part]));
        let negative = all.dense + negative;
        let mut values = Vec::with_capacity(self.rows() * (own.dense + own.negative));
        for row in 0..self.rows() {
            let row = self.dense.row(row);
            values.extend_from_slice(&row[dense..dense + own.dense]);
            values.extend_from_slice(&row[negative..negative + own.negative]);
        }
        let dense = Dense::new(self.rows(), own.dense + own.negative, values)?;
        Matrix::new(self.sparse.columns(sparse..sparse + own.sparse), dense, own.negative)
    }

    /// Every value times `factor`.
    pub fn scale(&mut self, factor: f32) {
        self.sparse.values_mut().par_iter_mut().for_each(|v| *v *= factor);
        self.dense.values_mut().par_iter_mut().for_each(|v| *v *= factor);
    }

    /// Every row brought to length 1 (in the inner product of rows); rows of length 0 stay.
    pub fn normalize_rows(&mut self) {
        let scales: Vec<f32> = (0..self.rows())
            .into_par_iter()
            .map(|row| {
                let norm = self.row(row).norm_squared().max(0.0).sqrt();
                if norm > 0.0 { (1.0 / norm) as f32 } else { 1.0 }
            })
            .collect();
        self.sparse.scale_rows(&scales);
        let width = self.dense.cols();
        if width > 0 {
            for (row, scale) in self.dense.values_mut().chunks_mut(width).zip(&scales) {
                row.iter_mut().for_each(|v| *v *= scale);
            }
        }
    }

    /// Scores of every row under every weight vector: `weights` has one row per column of this matrix and one column
    /// per output, `bias` is added. Parallel over documents; O(stored · outputs).
    pub fn multiply(&self, weights: &Dense, bias: &[f32]) -> Result<Dense> {
        let outputs = weights.cols();
        if weights.rows() != self.cols() {
            return Err(Error::Shape { what: "columns of the matrix", expected: weights.rows(), found: self.cols() });
        }
        if bias.len() != outputs {
            return Err(Error::Shape { what: "bias", expected: outputs, found: bias.len() });
        }
        let mut product = Dense::zeros(self.rows(), outputs);
        if outputs > 0 {
            product.values_mut().par_chunks_mut(outputs).enumerate().with_min_len(64).for_each(|(row, out)| {
                self.row(row).score_into(weights.values(), bias, out);
            });
        }
        Ok(product)
    }

    /// Puts the matrix into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        out.scope("sparse", |out| self.sparse.save(out));
        self.dense.save("dense", out);
        out.put_u64("negative", &[self.negative as u64]);
    }

    /// Takes a matrix out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let sparse = Csr::load(&store.scope("sparse"))?;
        let dense = Dense::load(store, "dense", Some(sparse.rows()), None)?;
        let negative = usize::try_from(store.u64s("negative", Some(1))?[0]).unwrap_or(usize::MAX);
        Matrix::new(sparse, dense, negative).map_err(|e| Error::model(e.to_string()))
    }
}

impl From<Csr> for Matrix {
    fn from(sparse: Csr) -> Self {
        let dense = Dense::zeros(sparse.rows(), 0);
        Matrix { sparse, dense, negative: 0 }
    }
}

impl From<Dense> for Matrix {
    fn from(dense: Dense) -> Self {
        Matrix { sparse: Csr::empty(dense.rows(), 0), dense, negative: 0 }
    }
}

impl Row<'_> {
    /// Calls `visit(column, value)` for every stored entry, columns ascending.
    #[inline]
    pub fn for_each(&self, mut visit: impl FnMut(usize, f32)) {
        for (&column, &value) in self.columns.iter().zip(self.values) {
            visit(column as usize, value);
        }
        for (offset, &value) in self.dense.iter().enumerate() {
            visit(self.dense_start + offset, value);
        }
    }

    /// The scores of this row under every weight vector, as [`Matrix::multiply`] gives them, into a place that is there.
    pub fn score(&self, weights: &Dense, bias: &[f32], out: &mut [f32]) -> Result<()> {
        let columns = self.dense_start + self.dense.len();
        for (what, expected, found) in [
            ("columns of the row", weights.rows(), columns),
            ("bias", weights.cols(), bias.len()),
            ("scores", weights.cols(), out.len()),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        self.score_into(weights.values(), bias, out);
        Ok(())
    }

    #[inline]
    fn score_into(&self, weights: &[f32], bias: &[f32], out: &mut [f32]) {
        out.copy_from_slice(bias);
        let outputs = out.len();
        self.for_each(|column, value| {
            for (sum, &weight) in out.iter_mut().zip(&weights[column * outputs..][..outputs]) {
                *sum += value * weight;
            }
        });
    }

    /// The plain dot product with a weight vector over all columns.
    #[inline]
    pub fn dot(&self, weights: &[f32]) -> f64 {
        let mut sum = 0.0f64;
        for (&column, &value) in self.columns.iter().zip(self.values) {
            sum += f64::from(value) * f64::from(weights[column as usize]);
        }
        for (&value, &weight) in self.dense.iter().zip(&weights[self.dense_start..]) {
            sum += f64::from(value) * f64::from(weight);
        }
        sum
    }

    /// Adds `scale` times this row to a weight vector; the negative part with its sign flipped.
    #[inline]
    pub fn add_to(&self, scale: f32, weights: &mut [f32]) {
        for (&column, &value) in self.columns.iter().zip(self.values) {
            weights[column as usize] += scale * value;
        }
        let (positive, negative) = self.dense.split_at(self.negative_start);
        let (to_positive, to_negative) = weights[self.dense_start..].split_at_mut(self.negative_start);
        for (weight, &value) in to_positive.iter_mut().zip(positive) {
            *weight += scale * value;
        }
        for (weight, &value) in to_negative.iter_mut().zip(negative) {
            *weight -= scale * value;
        }
    }

    /// The inner product with another row of the same make.
    pub fn inner(&self, other: &Row<'_>) -> f64 {
        let mut sum = 0.0f64;
        let (mut i, mut j) = (0, 0);
        while i < self.columns.len() && j < other.columns.len() {
            let (left, right) = (self.columns[i], other.columns[j]);
            if left == right {
                sum += f64::from(self.values[i]) * f64::from(other.values[j]);
            }
            // Steps instead of branches, which no processor could predict here.
            i += usize::from(left <= right);
            j += usize::from(right <= left);
        }
        for (offset, (&a, &b)) in self.dense.iter().zip(other.dense).enumerate() {
            let product = f64::from(a) * f64::from(b);
            sum += if offset < self.negative_start { product } else { -product };
        }
        sum
    }

    /// The inner product with itself.
    pub fn norm_squared(&self) -> f64 {
        let square = |v: &f32| f64::from(*v) * f64::from(*v);
        let (positive, negative) = self.dense.split_at(self.negative_start);
        self.values.iter().map(square).sum::<f64>() + positive.iter().map(square).sum::<f64>()
            - negative.iter().map(square).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x = (1, 0, 2), (0, 3, 0) with V the second and third unit vectors turned by 45 degrees.
    fn projected() -> (Matrix, Dense) {
        let h = std::f32::consts::FRAC_1_SQRT_2;
        let x = Csr::from_rows(3, [vec![(0, 1.0), (2, 2.0)], vec![(1, 3.0)]]);
        let a = Dense::from_rows(&[[2.0 * h], [3.0 * h]]);
        let explicit = Dense::from_rows(&[[1.0, -1.0, 1.0], [0.0, 1.5, -1.5]]);
        (Matrix::new(x, a, 1).unwrap(), explicit)
    }

    #[test]
    fn inner_products_equal_those_of_the_written_out_projection() {
        let (matrix, explicit) = projected();
        for i in 0..2 {
            for j in 0..2 {
                let plain: f32 = explicit.row(i).iter().zip(explicit.row(j)).map(|(a, b)| a * b).sum();
                assert!((matrix.row(i).inner(&matrix.row(j)) - f64::from(plain)).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_weight_vector_made_of_rows_scores_like_inner_products() {
        let (matrix, _) = projected();
        let mut weights = vec![0.0; 4];
        matrix.row(0).add_to(2.0, &mut weights);
        matrix.row(1).add_to(-1.0, &mut weights);
        for i in 0..2 {
            let expected = 2.0 * matrix.row(i).inner(&matrix.row(0)) - matrix.row(i).inner(&matrix.row(1));
            assert!((matrix.row(i).dot(&weights) - expected).abs() < 1e-5);
            let product = matrix.multiply(&Dense::new(4, 1, weights.clone()).unwrap(), &[0.5]).unwrap();
            assert!((f64::from(product.row(i)[0]) - expected - 0.5).abs() < 1e-5);
        }
    }

    #[test]
    fn negative_columns_stay_last_side_by_side() {
        let (matrix, _) = projected();
        let both = matrix.beside(&Matrix::from(Dense::from_rows(&[[7.0], [8.0]]))).unwrap();
        assert_eq!(both.negative(), 1);
        assert_eq!(both.row(0).dense[0], 7.0);
        let expected = matrix.row(0).inner(&matrix.row(1)) + 56.0;
        assert!((both.row(0).inner(&both.row(1)) - expected).abs() < 1e-5);
    }

    #[test]
    fn parts_side_by_side_come_apart_again() {
        let (first, _) = projected();
        let second = Matrix::from(Csr::from_rows(2, [vec![(1, 5.0)], vec![]]));
        let third = Matrix::from(Dense::from_rows(&[[7.0, 1.0], [8.0, 2.0]]));
        let all = first.beside(&second).unwrap().beside(&third).unwrap().beside(&first).unwrap();
        let parts = [&first, &second, &third, &first].map(Matrix::widths);
        for (number, part) in [&first, &second, &third, &first].into_iter().enumerate() {
            assert_eq!(&all.part(&parts, number).unwrap(), part);
        }
        assert!(all.part(&parts[1..], 0).is_err() && all.part(&parts, 4).is_err());
    }

    #[test]
    fn rows_of_length_zero_survive_normalising() {
        let mut matrix = Matrix::from(Csr::from_rows(2, [vec![(0, 3.0), (1, 4.0)], vec![]]));
        matrix.normalize_rows();
        assert!((matrix.row(0).norm_squared() - 1.0).abs() < 1e-6);
        assert_eq!(matrix.row(1).norm_squared(), 0.0);
    }
}
