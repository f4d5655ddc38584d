//! Solves A X = B for a symmetric positive definite A, blocked and in parallel, in `f32` or `f64`.
//!
//! Right-looking: factor a diagonal block, solve the panel below it, subtract the panel's product with itself from what
//! is left. Strips of rows are cut at fixed places and each is worked on by one task in a fixed order, so the bits do not
//! depend on the number of threads. size³/3 + 2·size²·columns multiply-adds; beside A and B one panel of memory.

use corpuscle_dense::Real;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{MatMut, MatRef};
use rayon::prelude::*;

use crate::{Error, Result, Run};

/// Rows and columns of a block: wide enough that products outweigh the copies, narrow enough to share out the end.
const BLOCK: usize = 256;
/// Right-hand sides that one task solves for.
const SIDES: usize = 64;

/// Overwrites `rhs` (`size` × `columns`, row by row) with A⁻¹ · rhs. `a` (`size` × `size`, row by row) holds A's lower
/// triangle, and its factor afterwards.
pub(crate) fn solve_symmetric<T: Real>(
    a: &mut [T],
    size: usize,
    rhs: &mut [T],
    columns: usize,
    run: &Run,
) -> Result<()> {
    factor(a, size, run)?;
    if size == 0 || columns == 0 {
        return Ok(());
    }
    run.check()?;
    // Columns of the right side are independent: each task takes some, in memory of its own.
    let mut sides: Vec<Vec<T>> = (0..columns)
        .step_by(SIDES)
        .map(|first| {
            let width = SIDES.min(columns - first);
            rhs.chunks_exact(columns).flat_map(|row| row[first..first + width].iter().copied()).collect()
        })
        .collect();
    let lower = MatRef::from_row_major_slice(&*a, size, size);
    sides.par_iter_mut().for_each(|side| {
        let width = side.len() / size;
        let mut side = MatMut::from_row_major_slice_mut(side, size, width);
        T::solve_lower(lower, side.rb_mut());
        T::solve_transposed(lower, side);
    });
    rhs.par_chunks_exact_mut(columns).enumerate().for_each(|(row, out)| {
        for (to, side) in out.chunks_mut(SIDES).zip(&sides) {
            let width = to.len();
            to.copy_from_slice(&side[row * width..(row + 1) * width]);
        }
    });
    run.check()
}

/// Overwrites the lower triangle of `a` with its Cholesky factor.
fn factor<T: Real>(a: &mut [T], size: usize, run: &Run) -> Result<()> {
    let mut panel: Vec<T> = Vec::new();
    for from in (0..size).step_by(BLOCK) {
        run.check()?;
        let width = BLOCK.min(size - from);
        let to = from + width;
        let (above, below) = a.split_at_mut(to * size);
        let mut corner =
            MatMut::from_row_major_slice_mut(&mut above[from * size..], width, size).subcols_mut(from, width);
        T::factor(corner.rb_mut()).map_err(|_| {
            Error::data(
                "a system of equations is not positive definite: raise the noise or the ridge, or scale the matrix",
            )
        })?;
        let corner = corner.rb();
        // The panel below the corner, solved in place and copied out so that every strip can read all of it.
        below.par_chunks_mut(BLOCK * size).for_each(|strip| {
            let rows = strip.len() / size;
            let part = MatMut::from_row_major_slice_mut(strip, rows, size).subcols_mut(from, width);
            T::solve_lower(corner, part.transpose_mut());
        });
        panel.clear();
        panel.extend(below.chunks_exact(size).flat_map(|row| row[from..to].iter().copied()));
        let panel = MatRef::from_row_major_slice(&panel, size - to, width);
        below.par_chunks_mut(BLOCK * size).enumerate().for_each(|(number, strip)| {
            let rows = strip.len() / size;
            let first = number * BLOCK;
            let mut strip = MatMut::from_row_major_slice_mut(strip, rows, size);
            let own = panel.subrows(first, rows);
            let left = strip.rb_mut().subcols_mut(to, first);
            T::subtract_product(left, own, panel.subrows(0, first).transpose());
            T::subtract_square(strip.subcols_mut(to + first, rows), own);
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    /// A = M Mᵀ + I and B of the given sizes.
    fn system(size: usize, columns: usize) -> (Vec<f64>, Vec<f64>) {
        let mut rng = Run::new(3, 1).unwrap().rng(size as u64);
        let m: Vec<f64> = (0..size * 8).map(|_| rng.random::<f64>() - 0.5).collect();
        let mut a = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..size {
                let product: f64 = (0..8).map(|k| m[i * 8 + k] * m[j * 8 + k]).sum();
                a[i * size + j] = product + f64::from(u8::from(i == j));
            }
        }
        (a, (0..size * columns).map(|_| rng.random::<f64>() - 0.5).collect())
    }

    fn residual(a: &[f64], x: &[f64], b: &[f64], size: usize, columns: usize) -> f64 {
        let mut worst = 0f64;
        for i in 0..size {
            for c in 0..columns {
                let sum: f64 = (0..size).map(|j| a[i * size + j] * x[j * columns + c]).sum();
                worst = worst.max((sum - b[i * columns + c]).abs());
            }
        }
        worst
    }

    #[test]
    fn solutions_solve_at_any_size_and_thread_count() {
        for (size, columns) in [(1, 1), (7, 3), (256, 2), (257, 65), (700, 5)] {
            let (a, b) = system(size, columns);
            let solve = |threads| {
                let run = Run::new(1, threads).unwrap();
                let (mut a, mut x) = (a.clone(), b.clone());
                run.install(|| solve_symmetric(&mut a, size, &mut x, columns, &run)).unwrap();
                x
            };
            let x = solve(1);
            assert!(residual(&a, &x, &b, size, columns) < 1e-10, "{size}");
            assert!(x == solve(2) && x == solve(8));
            let run = Run::new(1, 2).unwrap();
            let (mut a32, mut x32): (Vec<f32>, Vec<f32>) =
                (a.iter().map(|&v| v as f32).collect(), b.iter().map(|&v| v as f32).collect());
            solve_symmetric(&mut a32, size, &mut x32, columns, &run).unwrap();
            assert!(x.iter().zip(&x32).all(|(a, &b)| (a - f64::from(b)).abs() < 1e-4));
        }
    }

    #[test]
    fn what_is_not_positive_definite_is_refused() {
        let run = Run::new(1, 1).unwrap();
        let error = solve_symmetric(&mut [1.0, 0.0, 2.0, 1.0], 2, &mut [1.0, 1.0], 1, &run).unwrap_err();
        assert!(error.to_string().contains("positive definite"));
    }
}
