//! Dense matrices, row by row in one array of `f32`, a [`Buffer`]: shared by clones, copied when it is changed.
//!
//! ```
//! use corpuscle::matrix::Dense;
//! let a = Dense::from_rows(&[[1.0, 2.0], [3.0, 4.0]]);
//! assert_eq!(a.matmul(&a)?.row(1), [15.0, 22.0]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use corpuscle_dense::Real;
use faer::{Accum, MatMut, MatRef};

use super::Buffer;
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result};

/// A dense matrix; row `i` is `values[i * cols..(i + 1) * cols]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dense {
    rows: usize,
    cols: usize,
    values: Buffer<f32>,
}

impl Dense {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Dense { rows, cols, values: vec![0.0; rows * cols].into() }
    }

    /// A matrix from its values, row by row, which are not copied.
    pub fn new(rows: usize, cols: usize, values: impl Into<Buffer<f32>>) -> Result<Self> {
        let values = values.into();
        match rows.checked_mul(cols) {
            Some(expected) if expected == values.len() => Ok(Dense { rows, cols, values }),
            expected => Err(Error::Shape {
                what: "values of a dense matrix",
                expected: expected.unwrap_or(usize::MAX),
                found: values.len(),
            }),
        }
    }

    /// A matrix from rows of equal length. For tests and small data.
    pub fn from_rows<const N: usize>(rows: &[[f32; N]]) -> Self {
        Dense { rows: rows.len(), cols: N, values: rows.concat().into() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// One row.
    #[inline]
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.cols..(row + 1) * self.cols]
    }

    /// One row, to change. Asks every time whether the values are shared: a loop over rows takes
    /// [`Dense::values_mut`] once instead.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.values.to_mut()[row * self.cols..(row + 1) * self.cols]
    }

    /// All values, row by row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// All values, to change (copied before when they are shared).
    pub fn values_mut(&mut self) -> &mut [f32] {
        self.values.to_mut()
    }

    /// The values, row by row, to take apart; not copied unless they are shared or foreign.
    pub fn into_values(self) -> Vec<f32> {
        self.values.into_vec()
    }

    /// The given rows, in the given order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.cols);
        for &row in rows {
            values.extend_from_slice(self.row(row));
        }
        Dense { rows: rows.len(), cols: self.cols, values: values.into() }
    }

    /// The transpose.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let mut flipped = vec![0.0; self.cols * self.rows];
        for row in 0..self.rows {
            for (column, &value) in self.row(row).iter().enumerate() {
                flipped[column * self.rows + row] = value;
            }
        }
        Dense { rows: self.cols, cols: self.rows, values: flipped.into() }
    }

    /// The product `self · other`.
    pub fn matmul(&self, other: &Dense) -> Result<Self> {
        if self.cols != other.rows {
            return Err(Error::Shape { what: "inner size of a product", expected: self.cols, found: other.rows });
        }
        let mut product = Dense::zeros(self.rows, other.cols);
        product_into(product.as_faer_mut(), self.as_faer(), other.as_faer());
        Ok(product)
    }

    /// The product `self · otherᵀ`.
    pub fn matmul_transposed(&self, other: &Dense) -> Result<Self> {
        if self.cols != other.cols {
            return Err(Error::Shape { what: "inner size of a product", expected: self.cols, found: other.cols });
        }
        let mut product = Dense::zeros(self.rows, other.rows);
        product_into(product.as_faer_mut(), self.as_faer(), other.as_faer().transpose());
        Ok(product)
    }

    /// The product `selfᵀ · other`.
    pub fn transposed_matmul(&self, other: &Dense) -> Result<Self> {
        if self.rows != other.rows {
            return Err(Error::Shape { what: "inner size of a product", expected: self.rows, found: other.rows });
        }
        let mut product = Dense::zeros(self.cols, other.cols);
        product_into(product.as_faer_mut(), self.as_faer().transpose(), other.as_faer());
        Ok(product)
    }

    /// Appends the rows of another matrix with the same columns.
    pub fn append_rows(&mut self, other: &Dense) -> Result<()> {
        if self.cols != other.cols {
            return Err(Error::Shape { what: "columns of the rows to add", expected: self.cols, found: other.cols });
        }
        self.values.to_mut().extend_from_slice(&other.values);
        self.rows += other.rows;
        Ok(())
    }

    /// The two matrices side by side.
    pub fn beside(&self, other: &Dense) -> Result<Self> {
        if self.rows != other.rows {
            return Err(Error::Shape { what: "rows side by side", expected: self.rows, found: other.rows });
        }
        let mut values = Vec::with_capacity(self.values.len() + other.values.len());
        for row in 0..self.rows {
            values.extend_from_slice(self.row(row));
            values.extend_from_slice(other.row(row));
        }
        Ok(Dense { rows: self.rows, cols: self.cols + other.cols, values: values.into() })
    }

    pub(crate) fn as_faer(&self) -> MatRef<'_, f32> {
        MatRef::from_row_major_slice(&self.values, self.rows, self.cols)
    }

    pub(crate) fn as_faer_mut(&mut self) -> MatMut<'_, f32> {
        MatMut::from_row_major_slice_mut(self.values.to_mut(), self.rows, self.cols)
    }

    /// Puts the matrix into a store under `name`.
    pub fn save(&self, name: &str, out: &mut StoreWriter) {
        out.put_f32(name, &[self.rows, self.cols], &self.values);
    }

    /// Takes a matrix of finite values out of a store (`None`: any size).
    pub fn load(store: &StoreReader<'_>, name: &str, rows: Option<usize>, cols: Option<usize>) -> Result<Self> {
        let (values, shape) = store.f32s(name, &[rows, cols])?;
        Dense::new(shape[0], shape[1], values)
    }
}

/// One thread per product: callers split big products by rows over the run's workers, which keeps the sums, and so
/// the bits, the same at any thread count, and keeps faer's own team out of rayon's way.
fn product_into(to: MatMut<'_, f32>, left: MatRef<'_, f32>, right: MatRef<'_, f32>) {
    f32::matmul(to, Accum::Replace, left, right, 1.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_products_agree() {
        let a = Dense::from_rows(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        let b = Dense::from_rows(&[[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]);
        let plain = a.matmul(&b.transpose()).unwrap();
        assert_eq!(plain, Dense::from_rows(&[[7.0, 5.0], [16.0, 11.0]]));
        assert_eq!(a.matmul_transposed(&b).unwrap(), plain);
        assert_eq!(a.transpose().transposed_matmul(&b.transpose()).unwrap(), plain);
        assert!(a.matmul(&b).is_err());
    }

    #[test]
    fn side_by_side_and_below() {
        let mut a = Dense::from_rows(&[[1.0], [2.0]]);
        assert_eq!(a.beside(&a).unwrap(), Dense::from_rows(&[[1.0, 1.0], [2.0, 2.0]]));
        let copy = a.clone();
        a.append_rows(&copy).unwrap();
        assert_eq!(a.rows(), 4);
    }
}
