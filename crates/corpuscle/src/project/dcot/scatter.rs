//! Mean and scatter of dense rows that come a chunk at a time, and the directions in which they scatter most.
//!
//! Rows are taken off a first guess c of their mean m, Σ (z − c)(z − c)ᵀ is added up, and n·(m − c)(m − c)ᵀ taken off in
//! the end: rows are seen once and need not be kept. O(n·width²/2) multiply-adds, width²·8 bytes.

use crate::matrix::Dense;
use crate::matrix::small::{centred_scatter, quick_transposed_product, tall_product};
use crate::matrix::svd::{fill_random, orthonormal_twice};
use crate::{Result, Run};

/// Random directions beyond those asked for, which the last ones settle by.
const SPARE: usize = 24;
/// Multiplications by the scatter: the subspace is as good as the fifth power of the ratio of eigenvalues.
const ROUNDS: usize = 4;
/// The stream of the first directions.
const STREAM: u64 = 0xd1c7;

/// Sums over rows seen so far.
pub(super) struct Scatter {
    rows: usize,
    guess: Vec<f32>,
    sums: Vec<f64>,
    /// The lower triangle about the guess, row by row.
    products: Vec<f64>,
}

impl Scatter {
    pub(super) fn new(width: usize) -> Self {
        Scatter { rows: 0, guess: Vec::new(), sums: vec![0.0; width], products: vec![0.0; width * width] }
    }

    /// Adds rows; chunks must come in the same cuts and order for the same bits.
    pub(super) fn add(&mut self, z: &Dense, run: &Run) -> Result<()> {
        let width = self.sums.len();
        let mut sums = vec![0f64; width];
        for row in 0..z.rows() {
            sums.iter_mut().zip(z.row(row)).for_each(|(sum, &value)| *sum += f64::from(value));
        }
        if self.rows == 0 {
            self.guess = sums.iter().map(|sum| (sum / z.rows().max(1) as f64) as f32).collect();
        }
        self.rows += z.rows();
        self.sums.iter_mut().zip(&sums).for_each(|(to, sum)| *to += sum);
        let products = centred_scatter(z, 0..width, &self.guess, run)?;
        self.products.iter_mut().zip(&products).for_each(|(to, product)| *to += product);
        Ok(())
    }

    /// The means of the columns, and the lower triangle of the scatter about them.
    pub(super) fn finish(self) -> (Vec<f64>, Vec<f64>) {
        let Scatter { rows, guess, sums, mut products } = self;
        let (n, width) = (rows.max(1) as f64, sums.len());
        let means: Vec<f64> = sums.iter().map(|sum| sum / n).collect();
        let off: Vec<f64> = means.iter().zip(&guess).map(|(mean, &guess)| mean - f64::from(guess)).collect();
        for row in 0..width {
            for column in 0..=row {
                products[row * width + column] -= n * off[row] * off[column];
            }
        }
        (means, products)
    }
}

/// The symmetric matrix whose lower triangle this is, in `f32`.
pub(super) fn symmetric(lower: &[f64], width: usize) -> Dense {
    let mut whole = Dense::zeros(width, width);
    for row in 0..width {
        for column in 0..=row {
            let value = lower[row * width + column] as f32;
            whole.row_mut(row)[column] = value;
            whole.row_mut(column)[row] = value;
        }
    }
    whole
}

/// The `count` leading eigenvectors of a symmetric matrix without negative eigenvalues, as columns, by subspace
/// iteration; fewer where the matrix has fewer.
pub(super) fn leading(matrix: &Dense, count: usize, run: &Run) -> Result<Dense> {
    let width = matrix.rows();
    let mut basis = Dense::zeros(width, (count + SPARE).min(width));
    fill_random(&mut basis, 0, &mut run.rng(STREAM));
    for _ in 0..ROUNDS {
        run.check()?;
        basis = orthonormal_twice(tall_product(matrix, &basis))?;
    }
    let image = tall_product(matrix, &basis);
    let (values, turn) = quick_transposed_product(&basis, 0..basis.cols(), &image).symmetric_eigen()?;
    let floor = values.first().map_or(0.0, |first| first.max(0.0) * 1e-10);
    let kept = values.iter().take(count).take_while(|&&value| value > floor).count().max(1);
    Ok(tall_product(&basis, &turn.to_dense(kept)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::small::Small;

    fn rows(n: usize, width: usize) -> Dense {
        let value = |row: usize, column: usize| {
            let base = ((row * 7 + 3) % 13) as f32 - 6.0;
            base / (1.0 + column as f32) + ((row * 31 + column * 17) % 23) as f32 * 0.1 + 5.0
        };
        Dense::new(n, width, (0..n).flat_map(|r| (0..width).map(move |c| value(r, c))).collect::<Vec<f32>>()).unwrap()
    }

    #[test]
    fn chunks_give_the_scatter_of_the_whole() {
        let (run, z) = (Run::new(1, 2).unwrap(), rows(90, 6));
        let mut parts = Scatter::new(6);
        parts.add(&z.select_rows(&(0..20).collect::<Vec<_>>()), &run).unwrap();
        parts.add(&z.select_rows(&(20..90).collect::<Vec<_>>()), &run).unwrap();
        let (means, products) = parts.finish();
        for a in 0..6 {
            let mean = |c: usize| (0..90).map(|r| f64::from(z.row(r)[c])).sum::<f64>() / 90.0;
            assert!((means[a] - mean(a)).abs() < 1e-9);
            for b in 0..=a {
                let exact: f64 =
                    (0..90).map(|r| (f64::from(z.row(r)[a]) - mean(a)) * (f64::from(z.row(r)[b]) - mean(b))).sum();
                assert!((products[a * 6 + b] - exact).abs() < 1e-3 * (1.0 + exact.abs()));
            }
        }
    }

    #[test]
    fn leading_directions_are_eigenvectors() {
        let (run, z) = (Run::new(1, 2).unwrap(), rows(200, 60));
        let mut scatter = Scatter::new(60);
        scatter.add(&z, &run).unwrap();
        let matrix = symmetric(&scatter.finish().1, 60);
        let found = leading(&matrix, 3, &run).unwrap();
        let (_, exact) = Small::from(&matrix).symmetric_eigen().unwrap();
        for column in 0..3 {
            let inner: f64 = (0..60).map(|row| f64::from(found.row(row)[column]) * exact.row(row)[column]).sum();
            assert!(inner.abs() > 0.999, "{column}: {inner}");
        }
        assert_eq!(leading(&Dense::zeros(5, 5), 3, &run).unwrap().cols(), 1);
    }
}
