//! One step of expectation and maximisation.

use rayon::prelude::*;

use super::{Covariance, MixtureParams};
use crate::matrix::small::{Small, transposed_product, weigh_rows};
use crate::matrix::small_cholesky::{Cholesky, dot};
use crate::matrix::{Dense, rowwise};
use crate::store::{StoreReader, StoreWriter};
use crate::words::exponential::exp;
use crate::{Error, Result};

/// Added to the weight of each component, as scikit-learn does, so that none divides by zero.
const EMPTY: f64 = 10.0 * f64::EPSILON;

/// The rows with what a step needs of them.
pub(super) struct Data {
    /// (x − mean, 1) or (x − mean, (x − mean)², 1): the last column makes weights and constants part of the products.
    wide: Dense,
    dim: usize,
    mean: Vec<f64>,
    /// Σ (x − mean)(x − mean)ᵀ; empty for diagonals.
    scatter: Small,
    covariance: Covariance,
}

/// π, μ and how rows are scored: log π_k + log N(x; μ_k, Σ_k) = `(x − mean, 1) · scoring[k]` + what is the same for all k.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Components {
    pub(super) weights: Vec<f64>,
    /// Relative to `mean`.
    means: Small,
    mean: Vec<f64>,
    /// Columns of the wide rows × components.
    scoring: Dense,
    covariance: Covariance,
    /// What is added to the mean of the scores' log-sums to give the mean log-likelihood.
    constant: f64,
}

impl Data {
    pub(super) fn new(x: &Dense, covariance: Covariance) -> Self {
        let dim = x.cols();
        let mut mean = vec![0f64; dim];
        for row in 0..x.rows() {
            mean.iter_mut().zip(x.row(row)).for_each(|(sum, &value)| *sum += f64::from(value));
        }
        mean.iter_mut().for_each(|sum| *sum /= x.rows() as f64);
        let wide = widened(x, &mean, covariance);
        let scatter = match covariance {
            Covariance::Diagonal => Small::zeros(0, 0),
            _ => transposed_product(&wide, &wide, 0),
        };
        Data { wide, dim, mean, scatter, covariance }
    }

    /// The most likely components when every row belongs to its cluster.
    pub(super) fn start(&self, clusters: &[u32], params: &MixtureParams) -> Result<Components> {
        let none = Dense::zeros(self.wide.cols(), params.clusters);
        let (sums, _) = weigh_rows(&self.wide, &none, |first, scores| {
            for (row, scores) in scores.chunks_exact_mut(params.clusters).enumerate() {
                scores[clusters[first + row] as usize] = 1.0;
            }
            0.0
        });
        self.maximise(&sums, params)
    }

    /// The next components, and the mean log-likelihood under the given ones.
    pub(super) fn step(&self, components: &Components, params: &MixtureParams) -> Result<(Components, f64)> {
        let k = params.clusters;
        // Expectation and maximisation in one pass: all that the next components need of the rows are their sums weighed by
        // posteriors, so no table of rows × components is held.
        let (sums, total) = weigh_rows(&self.wide, &components.scoring, |_, scores| {
            scores.chunks_exact_mut(k).map(|scores| f64::from(softmax(scores))).sum()
        });
        let likelihood = total / self.wide.rows() as f64 + components.constant;
        Ok((self.maximise(&sums, params)?, likelihood))
    }

    fn maximise(&self, sums: &Small, params: &MixtureParams) -> Result<Components> {
        let (k, dim, n) = (params.clusters, self.dim, self.wide.rows() as f64);
        // The last wide column is 1 in every row, so its weighed sum is the soft count of the component.
        let counts: Vec<f64> = (0..k).map(|c| sums.row(c)[self.wide.cols() - 1] + EMPTY).collect();
        let all: f64 = counts.iter().sum();
        let weights: Vec<f64> = counts.iter().map(|count| count / all).collect();
        let mut means = Small::zeros(k, dim);
        for (c, count) in counts.iter().enumerate() {
            means.row_mut(c).iter_mut().zip(sums.row(c)).for_each(|(mean, sum)| *mean = sum / count);
        }
        let mut scoring = Dense::zeros(self.wide.cols(), k);
        let last = self.wide.cols() - 1;
        let log_two_pi = dim as f64 * (2.0 * std::f64::consts::PI).ln();
        let constant = match self.covariance {
            Covariance::SharedFull => {
                let mut scaled = Small::zeros(k, dim);
                for (c, count) in counts.iter().enumerate() {
                    scaled.row_mut(c).iter_mut().zip(means.row(c)).for_each(|(to, mean)| *to = mean * count);
                }
                // Scatter within components = scatter about the mean of all − scatter of the components' means: the former never
                // changes, so a step needs no second pass over the rows.
                let between = means.transposed_times(&scaled);
                let mut covariance = Small::zeros(dim, dim);
                for i in 0..dim {
                    for j in 0..=i {
                        let value = (self.scatter.row(i)[j] - between.row(i)[j]) / all;
                        covariance.row_mut(i)[j] = value + if i == j { params.floor } else { 0.0 };
                    }
                }
                let factor = Cholesky::of(&covariance, dim)?;
                let inverse = factor.inverse();
                // −½ xᵀΣ⁻¹x is the same for every component and falls out of the posteriors, so rows are scored by a linear
                // function; what it is on average goes into the likelihood by the trace below.
                let directions = means.times(&inverse);
                for (c, weight) in weights.iter().enumerate() {
                    let length = dot(means.row(c), directions.row(c));
                    set(&mut scoring, c, directions.row(c));
                    scoring.row_mut(last)[c] = (weight.ln() - 0.5 * length) as f32;
                }
                let trace: f64 = (0..dim).map(|i| dot(inverse.row(i), &self.scatter.row(i)[..dim])).sum();
                -0.5 * (log_two_pi + factor.log_determinant() + trace / n)
            }
            Covariance::SharedSpherical => {
                let whole: f64 = (0..dim).map(|i| self.scatter.row(i)[i]).sum();
                let between: f64 = (0..k).map(|c| counts[c] * dot(means.row(c), means.row(c))).sum();
                let variance = (whole - between).max(0.0) / (all * dim as f64) + params.floor;
                for (c, weight) in weights.iter().enumerate() {
                    let direction: Vec<f64> = means.row(c).iter().map(|mean| mean / variance).collect();
                    set(&mut scoring, c, &direction);
                    let length = dot(means.row(c), &direction);
                    scoring.row_mut(last)[c] = (weight.ln() - 0.5 * length) as f32;
                }
                -0.5 * (log_two_pi + dim as f64 * variance.ln() + whole / (variance * n))
            }
            Covariance::Diagonal => {
                for c in 0..k {
                    // Here every component has a Σ of its own and the quadratic part differs: the squared columns carry it.
                    let (mean, squares) = (means.row(c), &sums.row(c)[dim..2 * dim]);
                    let mut constant = weights[c].ln();
                    for i in 0..dim {
                        let variance = (squares[i] / counts[c] - mean[i] * mean[i]).max(0.0) + params.floor;
                        scoring.row_mut(i)[c] = (mean[i] / variance) as f32;
                        scoring.row_mut(dim + i)[c] = (-0.5 / variance) as f32;
                        constant -= 0.5 * (mean[i] * mean[i] / variance + variance.ln());
                    }
                    scoring.row_mut(last)[c] = constant as f32;
                }
                -0.5 * log_two_pi
            }
        };
        Ok(Components { weights, means, mean: self.mean.clone(), scoring, covariance: self.covariance, constant })
    }
}

fn set(scoring: &mut Dense, component: usize, direction: &[f64]) {
    for (row, &value) in direction.iter().enumerate() {
        scoring.row_mut(row)[component] = value as f32;
    }
}

impl Components {
    pub(super) fn dim(&self) -> usize {
        self.mean.len()
    }

    pub(super) fn means(&self) -> Dense {
        let mut means = Dense::zeros(self.weights.len(), self.dim());
        for c in 0..self.weights.len() {
            for ((to, from), mean) in means.row_mut(c).iter_mut().zip(self.means.row(c)).zip(&self.mean) {
                *to = (from + mean) as f32;
            }
        }
        means
    }

    /// The scores of any rows; a row has the same bits alone and in any company.
    pub(super) fn scores(&self, x: &Dense) -> Result<Dense> {
        rowwise::multiply(&widened(x, &self.mean, self.covariance), &self.scoring)
    }

    /// Puts the arrays into a store; gives what is left.
    pub(super) fn save(&self, out: &mut StoreWriter) -> (Covariance, f64) {
        let k = self.weights.len();
        let means: Vec<f64> = (0..k).flat_map(|c| self.means.row(c)).copied().collect();
        out.put_f64("weights", &[k], &self.weights);
        out.put_f64("means", &[k, self.dim()], &means);
        out.put_f64("mean", &[self.dim()], &self.mean);
        self.scoring.save("scoring", out);
        (self.covariance, self.constant)
    }

    /// Takes components out of a store.
    pub(super) fn load(store: &StoreReader<'_>, covariance: Covariance, constant: f64) -> Result<Self> {
        let (weights, _) = store.f64s("weights", &[None])?;
        let (mean, _) = store.f64s("mean", &[None])?;
        let (k, dim) = (weights.len(), mean.len());
        if k == 0 || dim == 0 || !constant.is_finite() || weights.iter().any(|weight| !(0.0..=1.0).contains(weight)) {
            return Err(Error::model("a mixture needs components with weights from 0 to 1"));
        }
        let (values, _) = store.f64s("means", &[Some(k), Some(dim)])?;
        let mut means = Small::zeros(k, dim);
        values.chunks_exact(dim).enumerate().for_each(|(c, mean)| means.row_mut(c).copy_from_slice(mean));
        let scoring = Dense::load(store, "scoring", Some(width(dim, covariance)), Some(k))?;
        Ok(Components { weights, means, mean, scoring, covariance, constant })
    }
}

/// Columns of the wide rows.
fn width(dim: usize, covariance: Covariance) -> usize {
    if covariance == Covariance::Diagonal { 2 * dim + 1 } else { dim + 1 }
}

fn widened(x: &Dense, mean: &[f64], covariance: Covariance) -> Dense {
    let dim = x.cols();
    let width = width(dim, covariance);
    let mut wide = Dense::zeros(x.rows(), width);
    wide.values_mut().par_chunks_mut(width).enumerate().for_each(|(row, to)| {
        for (i, (&value, mean)) in x.row(row).iter().zip(mean).enumerate() {
            let centred = (f64::from(value) - mean) as f32;
            to[i] = centred;
            if covariance == Covariance::Diagonal {
                to[dim + i] = centred * centred;
            }
        }
        to[width - 1] = 1.0;
    });
    wide
}

/// Turns scores into probabilities; gives the logarithm of the sum of their exponentials.
pub(super) fn softmax(scores: &mut [f32]) -> f32 {
    // Without the largest taken out first, rows far from every mean would be 0 / 0.
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    scores.iter_mut().for_each(|score| *score = exp(*score - most));
    let sum: f32 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= sum);
    most + sum.ln()
}
