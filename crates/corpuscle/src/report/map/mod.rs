//! A map of documents: points in the plane, near where the representation finds documents alike (t-SNE).
//!
//! Rows are brought to unit length, reduced to [`MapParams::dims`] dimensions by truncated SVD and again to unit length,
//! so that near means a large cosine. With pᵢⱼ the affinity of two documents (a Gaussian around each document whose width
//! gives it [`MapParams::perplexity`] effective neighbours, cut after three times as many, made symmetric) and
//! qᵢⱼ ∝ 1 / (1 + |yᵢ − yⱼ|²), the points y minimise Σ pᵢⱼ log(pᵢⱼ / qᵢⱼ) by gradient descent with momentum and gains. They
//! start from the first two principal components, which keeps the large structure and makes the map the same every time.
//! The pushing part of the gradient is summed over a quadtree: a cell that looks small from a point counts as one.
//!
//! Cost: n² · dims for the exact neighbours (blocked products), then iterations · n log n; memory n · 3 · perplexity.
//! Points are moved in parallel and sums are made in the order of the points, so bits do not depend on threads.
//!
//! References: van der Maaten, Accelerating t-SNE using tree-based algorithms, JMLR 2014; Kobak and Berens, The art of
//! using t-SNE for single-cell transcriptomics, 2019 (start from PCA); Belkina et al. 2019 (learning rate n / 12).
//! We differ in exact instead of tree-found neighbours, in a tree over points sorted along a Z-curve, whose leaves hold
//! a few points that are summed one by one, and in scaling the learning rate as scikit-learn does.
//!
//! ```
//! use corpuscle::{Run, matrix::{Dense, Matrix}, report::map::MapParams};
//! let x = Matrix::from(Dense::from_rows(&[[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]]));
//! let layout = MapParams::default().lay_out(&x, &Run::new(42, 1)?)?;
//! assert_eq!(layout.points.len(), 4);
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod affinity;
mod descend;
mod sample;
#[cfg(test)]
mod tests;
mod tree;

use rand::Rng as _;
use serde::{Deserialize, Serialize};

use crate::matrix::svd::truncated_svd;
use crate::matrix::{Dense, Matrix};
use crate::{Error, Result, Run};
pub use sample::sample_evenly;

/// A place in the plane.
pub type Point = [f64; 2];

/// What can be chosen about a map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MapParams {
    /// Effective number of neighbours of each document; smaller where there are few documents.
    pub perplexity: f64,
    /// Steps of the descent, the first third of them (250 at most) with affinities exaggerated.
    pub iterations: usize,
    /// A tree cell counts as one point where its width is less than this times its distance.
    pub theta: f64,
    /// Dimensions that documents are reduced to before they are compared.
    pub dims: usize,
}

impl Default for MapParams {
    fn default() -> Self {
        MapParams { perplexity: 30.0, iterations: 750, theta: 0.5, dims: 50 }
    }
}

/// Where the documents lie.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// One point per row, around the origin.
    pub points: Vec<Point>,
    /// The divergence Σ p log(p / q) where the descent began.
    pub first_divergence: f64,
    /// The divergence where it ended.
    pub divergence: f64,
}

impl MapParams {
    /// Names the first value that is out of range.
    pub fn check(&self) -> Result<()> {
        let wrong = |name, value: f64, reason| Err(Error::parameter("map", name, value, reason));
        if !(self.perplexity.is_finite() && self.perplexity >= 1.0) {
            return wrong("perplexity", self.perplexity, "must be at least 1");
        }
        // A wider angle could take the cell that a point lies in for a distant one.
        if !(0.0..=0.7).contains(&self.theta) {
            return wrong("theta", self.theta, "must be between 0 and 0.7");
        }
        if self.dims == 0 {
            return wrong("dims", 0.0, "must be at least 1");
        }
        Ok(())
    }

    /// The map of the rows of `x`.
    pub fn lay_out(&self, x: &Matrix, run: &Run) -> Result<Layout> {
        self.check()?;
        let n = x.rows();
        run.install(|| {
            let reduced = self.reduce(x, run)?;
            let start = principal_start(&reduced, run)?;
            // Three points always lie right in the plane; fewer than a handful have no neighbourhoods to speak of.
            if n < 4 {
                return Ok(Layout { points: start, first_divergence: 0.0, divergence: 0.0 });
            }
            let perplexity = self.perplexity.min((n - 1) as f64 / 3.0).max(1.0);
            let affinities = affinity::affinities(&reduced, perplexity, run)?;
            descend::descend(&affinities, start, self, run)
        })
    }

    /// Rows of unit length in few dimensions.
    fn reduce(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        let mut x = x.clone();
        x.normalize_rows();
        let plain = x.sparse().cols() == 0 && x.negative() == 0 && x.dense().cols() <= self.dims;
        let rows = if plain || x.rows() == 0 {
            crate::matrix::svd::check_finite(&x)?;
            x.into_parts().1
        } else {
            truncated_svd(&x, self.dims, 0, run)?.rows
        };
        let mut rows = Matrix::from(rows);
        rows.normalize_rows();
        Ok(rows.into_parts().1)
    }
}

/// The first two principal components, shrunk to a dot (the descent wants to begin small), with a grain of noise: points
/// on one line would never leave it.
fn principal_start(x: &Dense, run: &Run) -> Result<Vec<Point>> {
    let (n, d) = (x.rows(), x.cols());
    let mut means = vec![0f64; d];
    for row in 0..n {
        means.iter_mut().zip(x.row(row)).for_each(|(mean, &value)| *mean += f64::from(value) / n as f64);
    }
    let centred = (0..n).flat_map(|row| x.row(row).iter().zip(&means).map(|(&value, mean)| value - *mean as f32));
    let centred = Dense::new(n, d, centred.collect::<Vec<f32>>())?;
    let spread = centred.values().iter().any(|&value| value.abs() > 1e-6);
    let rows = if spread { truncated_svd(&Matrix::from(centred), 2, 0, run)?.rows } else { Dense::zeros(n, 0) };
    let at = |row: usize, column: usize| rows.row(row).get(column).map_or(0.0, |&value| f64::from(value));
    let deviation = ((0..n).map(|row| at(row, 0) * at(row, 0)).sum::<f64>() / n.max(1) as f64).sqrt();
    let scale = if deviation > 0.0 { START_SIZE / deviation } else { 0.0 };
    let mut rng = run.rng(0x3A9);
    let mut grain = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    Ok((0..n).map(|row| [0, 1].map(|column| at(row, column) * scale + grain() * START_SIZE * 1e-2)).collect())
}

/// Standard deviation of the first component at the start.
const START_SIZE: f64 = 1e-4;
