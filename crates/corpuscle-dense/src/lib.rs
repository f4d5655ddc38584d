//! Dense linear algebra in `f32` and `f64`: products, Cholesky factors, triangular systems and symmetric eigenvectors.
//!
//! Nothing is computed here: faer does it. Its routines are generic, so they are compiled by whoever names their type, and their
//! inner loops are closures that have to end up in one unit of the compiler to be worth anything. The library is built in sixteen units
//! that are not optimised across each other; this crate is built as one, beside the first half of the library. With faer's routines
//! among the library's own, sprinkled LSI of 1500 documents took half as long again.
//!
//! Everything runs on the thread that calls: callers cut their work by rows, which keeps the bits the same at any number of threads.
//!
//! ```
//! use corpuscle_dense::Real;
//! use faer::{Accum, MatMut, MatRef};
//! let (a, mut square) = ([1.0, 2.0, 3.0, 4.0], [0.0; 4]);
//! let a = MatRef::from_row_major_slice(&a, 2, 2);
//! f64::matmul(MatMut::from_row_major_slice_mut(&mut square, 2, 2), Accum::Replace, a, a, 1.0);
//! assert_eq!(square, [7.0, 10.0, 15.0, 22.0]);
//! ```

use std::fmt;

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, MatMut, MatRef, Par};

/// What a matrix was not, so that a routine could not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is not positive definite.
    NotPositiveDefinite,
    /// Its eigenvalues did not converge.
    NoConvergence,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::NotPositiveDefinite => "the matrix is not positive definite",
            Fault::NoConvergence => "the eigenvalues did not converge",
        })
    }
}

impl std::error::Error for Fault {}

/// A number that the routines are compiled for.
pub trait Real: Copy + Send + Sync {
    /// `to ← factor · left · right`, or that added to what `to` holds.
    fn matmul(to: MatMut<'_, Self>, accum: Accum, left: MatRef<'_, Self>, right: MatRef<'_, Self>, factor: Self);

    /// `to ← to − left · leftᵀ`, the lower triangle alone.
    fn subtract_square(to: MatMut<'_, Self>, left: MatRef<'_, Self>);

    /// Overwrites the lower triangle of `a` with its Cholesky factor. O(size³ / 3).
    ///
    /// # Errors
    /// When `a` is not positive definite.
    fn factor(a: MatMut<'_, Self>) -> Result<(), Fault>;

    /// Overwrites `sides` with the solution of L · x = sides. O(size² · columns).
    fn solve_lower(lower: MatRef<'_, Self>, sides: MatMut<'_, Self>);

    /// Overwrites `sides` with the solution of Lᵀ · x = sides, given L. O(size² · columns).
    fn solve_transposed(lower: MatRef<'_, Self>, sides: MatMut<'_, Self>);

    /// `to ← to − left · right`.
    fn subtract_product(to: MatMut<'_, Self>, left: MatRef<'_, Self>, right: MatRef<'_, Self>);
}

macro_rules! real {
    ($real:ty) => {
        impl Real for $real {
            fn matmul(
                to: MatMut<'_, Self>,
                accum: Accum,
                left: MatRef<'_, Self>,
                right: MatRef<'_, Self>,
                factor: Self,
            ) {
                faer::linalg::matmul::matmul(to, accum, left, right, factor, Par::Seq);
            }

            fn subtract_square(to: MatMut<'_, Self>, left: MatRef<'_, Self>) {
                let (lower, whole) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
                triangular_matmul(to, lower, Accum::Add, left, whole, left.transpose(), whole, -1.0, Par::Seq);
            }

            fn factor(a: MatMut<'_, Self>) -> Result<(), Fault> {
                let needed = cholesky_in_place_scratch::<Self>(a.nrows(), Par::Seq, Default::default());
                let mut memory = MemBuffer::new(needed);
                cholesky_in_place(a, Default::default(), Par::Seq, MemStack::new(&mut memory), Default::default())
                    .map(|_| ())
                    .map_err(|_| Fault::NotPositiveDefinite)
            }

            fn solve_lower(lower: MatRef<'_, Self>, sides: MatMut<'_, Self>) {
                solve_lower_triangular_in_place(lower, sides, Par::Seq);
            }

            fn solve_transposed(lower: MatRef<'_, Self>, sides: MatMut<'_, Self>) {
                solve_upper_triangular_in_place(lower.transpose(), sides, Par::Seq);
            }

            fn subtract_product(to: MatMut<'_, Self>, left: MatRef<'_, Self>, right: MatRef<'_, Self>) {
                Self::matmul(to, Accum::Add, left, right, -1.0);
            }
        }
    };
}

real!(f32);
real!(f64);

/// Eigenvalues, smallest first, and the eigenvectors as columns in the same order, of the symmetric matrix whose lower triangle `a` has.
/// O(size³).
///
/// # Errors
/// When the eigenvalues do not converge.
pub fn symmetric_eigen(a: MatRef<'_, f64>, values: &mut [f64], vectors: MatMut<'_, f64>) -> Result<(), Fault> {
    let needed = self_adjoint_evd_scratch::<f64>(a.nrows(), ComputeEigenvectors::Yes, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(needed);
    self_adjoint_evd(
        a,
        DiagMut::from_slice_mut(values),
        Some(vectors),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .map_err(|_| Fault::NoConvergence)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 40;

    /// M Mᵀ + I, row by row.
    fn positive() -> Vec<f64> {
        let m: Vec<f64> = (0..SIZE * SIZE).map(|i| ((i * 37 % 101) as f64 - 50.0) / 30.0).collect();
        let mut a: Vec<f64> = (0..SIZE * SIZE).map(|i| f64::from(u8::from(i % (SIZE + 1) == 0))).collect();
        let m = MatRef::from_row_major_slice(&m, SIZE, SIZE);
        f64::matmul(square(&mut a), Accum::Add, m, m.transpose(), 1.0);
        a
    }

    fn square(values: &mut [f64]) -> MatMut<'_, f64> {
        MatMut::from_row_major_slice_mut(values, SIZE, SIZE)
    }

    fn near(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs()))
    }

    #[test]
    fn a_system_is_solved_by_its_factor() {
        let a = positive();
        let x: Vec<f64> = (0..SIZE * 3).map(|i| (i as f64 * 0.7).sin()).collect();
        let mut sides = vec![0.0; SIZE * 3];
        let (whole, known) = (MatRef::from_row_major_slice(&a, SIZE, SIZE), MatRef::from_row_major_slice(&x, SIZE, 3));
        f64::matmul(MatMut::from_row_major_slice_mut(&mut sides, SIZE, 3), Accum::Replace, whole, known, 1.0);
        let mut factor = a.clone();
        f64::factor(square(&mut factor)).unwrap();
        let lower = MatRef::from_row_major_slice(&factor, SIZE, SIZE);
        f64::solve_lower(lower, MatMut::from_row_major_slice_mut(&mut sides, SIZE, 3));
        f64::solve_transposed(lower, MatMut::from_row_major_slice_mut(&mut sides, SIZE, 3));
        assert!(near(&sides, &x));
        // A − L Lᵀ is nothing, by both ways to subtract.
        let mut lower_alone = factor.clone();
        (0..SIZE).for_each(|row| lower_alone[row * SIZE + row + 1..(row + 1) * SIZE].fill(0.0));
        let lower_alone = MatRef::from_row_major_slice(&lower_alone, SIZE, SIZE);
        let (mut left, mut half) = (a.clone(), a.clone());
        f64::subtract_product(square(&mut left), lower_alone, lower_alone.transpose());
        f64::subtract_square(square(&mut half), lower_alone);
        assert!(near(&left, &[0.0; SIZE * SIZE]));
        for row in 0..SIZE {
            assert!(near(&half[row * SIZE..row * SIZE + row + 1], &vec![0.0; row + 1]));
            assert_eq!(half[row * SIZE + row + 1..(row + 1) * SIZE], a[row * SIZE + row + 1..(row + 1) * SIZE]);
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_no_factor() {
        let mut a = positive();
        a[0] = -1.0;
        assert_eq!(f64::factor(square(&mut a)), Err(Fault::NotPositiveDefinite));
        let mut one = [f32::NAN];
        let none = f32::factor(MatMut::from_row_major_slice_mut(&mut one, 1, 1));
        assert_eq!(none.unwrap_err().to_string(), "the matrix is not positive definite");
    }

    #[test]
    fn eigenvectors_make_the_matrix_again() {
        let a = positive();
        let (mut values, mut vectors) = (vec![0.0; SIZE], vec![0.0; SIZE * SIZE]);
        symmetric_eigen(MatRef::from_row_major_slice(&a, SIZE, SIZE), &mut values, square(&mut vectors)).unwrap();
        assert!(values.is_sorted() && values[0] > 0.9);
        let scaled: Vec<f64> = (0..SIZE * SIZE).map(|i| vectors[i] * values[i % SIZE]).collect();
        let mut again = vec![0.0; SIZE * SIZE];
        let (vectors, scaled) =
            (MatRef::from_row_major_slice(&vectors, SIZE, SIZE), MatRef::from_row_major_slice(&scaled, SIZE, SIZE));
        f64::matmul(square(&mut again), Accum::Replace, scaled, vectors.transpose(), 1.0);
        assert!(near(&again, &a));
    }
}
