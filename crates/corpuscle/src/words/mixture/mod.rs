//! A mixture of Gaussians over vectors, by expectation and maximisation.
//!
//! p(x) = Σ_k π_k N(x; μ_k, Σ_k). Each step computes the posteriors p(k | x) and then the π, μ, Σ most likely under
//! them; the likelihood never falls (A. Dempster, N. Laird and D. Rubin, 1977). The covariance is one full matrix for
//! all components (`shared-full`, the default), one number for all (`shared-spherical`), or a diagonal for each.
//!
//! Why it is quick: with a covariance shared by all components, the part of the exponent that is quadratic in x is the
//! same for all, so the posteriors need only x · Σ⁻¹μ_k, one n × d by d × K product; and Σ = (Σ xxᵀ − Σ_k N_k μ_k μ_kᵀ)/n,
//! where Σ xxᵀ never changes, so the other half is one K × n by n × d product. Both are made block by block in one pass
//! over x. A diagonal per component is the same over (x, x²). O(n · K · d + d³) per step.
//!
//! Equal to scikit-learn's `GaussianMixture` (`tied`, `diag`) from the same start, but for products in `f32`;
//! one shared number is not offered there.
//!
//! ```
//! use corpuscle::{Run, matrix::Dense, words::MixtureParams};
//! let x = Dense::from_rows(&[[0.0], [0.2], [0.1], [5.0], [5.2], [5.1]]);
//! let run = Run::new(1, 1)?;
//! let mixture = MixtureParams { clusters: 2, ..MixtureParams::default() }.fit(&x, &run)?;
//! assert!(mixture.converged());
//! let posteriors = mixture.posteriors(&x, 1e-4, &run)?;
//! assert_eq!(posteriors.row(0).0, posteriors.row(1).0);
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod step;
#[cfg(test)]
mod tests;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::step::{Components, Data};
use super::KmeansParams;
use crate::matrix::{Csr, Dense};
use crate::params::{Checks, Param, Params};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run, param};

/// The shape of the components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Covariance {
    /// One full matrix for all.
    #[default]
    SharedFull,
    /// One variance for all components and directions.
    SharedSpherical,
    /// A variance for each component and direction.
    Diagonal,
}

crate::words!(Covariance {
    SharedFull = "shared-full",
    SharedSpherical = "shared-spherical",
    Diagonal = "diagonal",
});

/// Parameters of the mixture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MixtureParams {
    /// How many components.
    pub clusters: usize,
    /// The shape of the components.
    pub covariance: Covariance,
    /// Most steps.
    pub steps: usize,
    /// Stops when a step changes the mean log-likelihood by less than this.
    pub tolerance: f64,
    /// Added to every variance, so that none becomes zero.
    pub floor: f64,
}

impl Default for MixtureParams {
    fn default() -> Self {
        MixtureParams { clusters: 60, covariance: Covariance::default(), steps: 50, tolerance: 1e-3, floor: 1e-6 }
    }
}

/// A fitted mixture.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixture {
    components: Components,
    likelihoods: Vec<f64>,
    converged: bool,
}

impl Params for MixtureParams {
    const NAME: &'static str = "mixture";
    const ABOUT: &'static str = "a mixture of Gaussians: how probable each of them is for a row";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("clusters", clusters, "how many components"),
            param!("covariance", covariance, "shape of the components"),
            param!("steps", steps, "most steps of expectation and maximisation"),
            param!("tolerance", tolerance, "stops when a step changes the mean log-likelihood by less than this"),
            param!("floor", floor, "added to every variance, so that none becomes zero"),
        ]
    }

    fn check(&self) -> Result<()> {
        let real = |value: f64| value.is_finite() && value >= 0.0;
        Checks::of(Self::NAME)
            .that((1..=1 << 16).contains(&self.clusters), "clusters", &self.clusters, "must be from 1 to 65536")
            .that(self.steps > 0, "steps", &self.steps, "must be at least 1")
            .that(real(self.tolerance), "tolerance", &self.tolerance, "must be at least 0")
            .that(real(self.floor) && self.floor > 0.0, "floor", &self.floor, "must be above 0")
            .done()
    }
}

impl MixtureParams {
    /// Fits the mixture to the rows of `x`, from the clusters k-means finds. A mixture that has not converged after all
    /// its steps is given all the same: see [`Mixture::converged`].
    pub fn fit(&self, x: &Dense, run: &Run) -> Result<Mixture> {
        self.check()?;
        if x.rows() < self.clusters {
            let reason = format!("is more than the {} rows there are", x.rows());
            return Err(Error::parameter(Self::NAME, "clusters", self.clusters, reason));
        }
        let start = KmeansParams { clusters: self.clusters, ..KmeansParams::default() }.fit(x, run)?;
        self.fit_from(x, &start.clusters, run)
    }

    /// The same from given clusters, one for each row.
    pub fn fit_from(&self, x: &Dense, clusters: &[u32], run: &Run) -> Result<Mixture> {
        self.check()?;
        if clusters.len() != x.rows() {
            return Err(Error::Shape { what: "clusters to start from", expected: x.rows(), found: clusters.len() });
        }
        if let Some(&beyond) = clusters.iter().find(|&&cluster| cluster as usize >= self.clusters) {
            return Err(Error::Shape {
                what: "cluster to start from",
                expected: self.clusters,
                found: beyond as usize,
            });
        }
        if x.rows() == 0 || x.cols() == 0 {
            return Err(Error::data("a mixture needs at least one row and one column"));
        }
        run.install(|| {
            let data = Data::new(x, self.covariance);
            let mut components = data.start(clusters, self)?;
            let mut likelihoods: Vec<f64> = Vec::new();
            let mut converged = false;
            for _ in 0..self.steps {
                run.check()?;
                let (next, likelihood) = data.step(&components, self)?;
                components = next;
                let before = likelihoods.last().copied().unwrap_or(f64::NEG_INFINITY);
                likelihoods.push(likelihood);
                if (likelihood - before).abs() < self.tolerance {
                    converged = true;
                    break;
                }
            }
            Ok(Mixture { components, likelihoods, converged })
        })
    }
}

/// What is stored beside the arrays.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    covariance: Covariance,
    constant: f64,
    likelihoods: Vec<f64>,
    converged: bool,
}

impl Mixture {
    /// How many columns a row must have.
    pub fn dim(&self) -> usize {
        self.components.dim()
    }

    /// Puts the mixture into a store.
    pub fn save(&self, out: &mut StoreWriter) -> Result<()> {
        let (covariance, constant) = self.components.save(out);
        let (likelihoods, converged) = (self.likelihoods.clone(), self.converged);
        out.put_json("mixture", &Stored { covariance, constant, likelihoods, converged })
    }

    /// Takes a mixture out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let Stored { covariance, constant, likelihoods, converged } = store.json("mixture")?;
        Ok(Mixture { components: Components::load(store, covariance, constant)?, likelihoods, converged })
    }

    /// Whether it stopped because a step changed little, not because there were no more steps.
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// The mean log-likelihood of a row before each step.
    pub fn likelihoods(&self) -> &[f64] {
        &self.likelihoods
    }

    /// The mean of each component, a row each.
    pub fn means(&self) -> Dense {
        self.components.means()
    }

    /// The weight of each component; they add up to one.
    pub fn weights(&self) -> &[f64] {
        &self.components.weights
    }

    /// The probability of each component given each row of `x`; those below `least` are left out.
    pub fn posteriors(&self, x: &Dense, least: f32, run: &Run) -> Result<Csr> {
        if x.cols() != self.components.dim() {
            return Err(Error::Shape { what: "columns of the rows", expected: self.components.dim(), found: x.cols() });
        }
        run.install(|| {
            let scores = self.components.scores(x)?;
            let k = self.weights().len();
            let rows: Vec<Vec<(u32, f32)>> = scores
                .values()
                .par_chunks(k)
                .map(|scores| {
                    let mut row = scores.to_vec();
                    step::softmax(&mut row);
                    (0u32..).zip(row).filter(|&(_, p)| p >= least && p > 0.0).collect()
                })
                .collect();
            Ok(Csr::from_rows(k, rows))
        })
    }
}
