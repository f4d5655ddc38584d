//! The Cholesky factor of a small symmetric positive definite matrix: A = L Lᵀ, in `f64`.
//!
//! Plain loops over rows of L, which lie one after the other: O(size³/3), a few milliseconds for a few hundred rows,
//! and the same bits on every processor.

use super::small::Small;
use crate::{Error, Result};

/// L, with the diagonal.
#[derive(Debug, Clone)]
pub(crate) struct Cholesky {
    factor: Small,
    size: usize,
}

impl Cholesky {
    /// Factors the symmetric matrix whose lower triangle is that of `a`.
    pub(crate) fn of(a: &Small, size: usize) -> Result<Self> {
        let mut factor = Small::zeros(size, size);
        for i in 0..size {
            for j in 0..=i {
                let sum = a.row(i)[j] - dot(&factor.row(i)[..j], &factor.row(j)[..j]);
                if i == j {
                    if sum <= 0.0 || !sum.is_finite() {
                        return Err(Error::data("a covariance matrix is not positive definite"));
                    }
                    factor.row_mut(i)[i] = sum.sqrt();
                } else {
                    factor.row_mut(i)[j] = sum / factor.row(j)[j];
                }
            }
        }
        Ok(Cholesky { factor, size })
    }

    /// log |A|.
    pub(crate) fn log_determinant(&self) -> f64 {
        (0..self.size).map(|i| 2.0 * self.factor.row(i)[i].ln()).sum()
    }

    /// A⁻¹, whole.
    pub(crate) fn inverse(&self) -> Small {
        // Row j of `columns` is column j of L⁻¹, so that A⁻¹ = L⁻ᵀ L⁻¹ is made of dot products of rows.
        let mut columns = Small::zeros(self.size, self.size);
        for j in 0..self.size {
            let column = columns.row_mut(j);
            column[j] = 1.0 / self.factor.row(j)[j];
            for i in j + 1..self.size {
                let row = self.factor.row(i);
                column[i] = -dot(&row[j..i], &column[j..i]) / row[i];
            }
        }
        let mut inverse = Small::zeros(self.size, self.size);
        for i in 0..self.size {
            for j in 0..=i {
                let value = dot(&columns.row(i)[i..], &columns.row(j)[i..]);
                inverse.row_mut(i)[j] = value;
                inverse.row_mut(j)[i] = value;
            }
        }
        inverse
    }
}

/// A dot product over eight running sums.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0f64; 8];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_and_the_determinant_are_right() {
        let size = 11;
        let mut a = Small::zeros(size, size);
        for i in 0..size {
            for j in 0..size {
                a.row_mut(i)[j] = 1.0 / (1.0 + (i as f64 - j as f64).abs()) + if i == j { 1.0 } else { 0.0 };
            }
        }
        let factor = Cholesky::of(&a, size).unwrap();
        let product = a.times(&factor.inverse());
        for i in 0..size {
            for j in 0..size {
                assert!((product.row(i)[j] - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
        let (values, _) = a.symmetric_eigen().unwrap();
        assert!((factor.log_determinant() - values.iter().map(|v| v.ln()).sum::<f64>()).abs() < 1e-12);
        assert!(Cholesky::of(&Small::zeros(2, 2), 2).is_err());
    }
}
