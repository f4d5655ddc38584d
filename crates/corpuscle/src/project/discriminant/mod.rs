//! Discriminant analysis: the directions that tell classes apart, in which each class is a round cloud.
//!
//! With S_w the scatter of documents about their class means and S_b that of class means about the overall mean (each
//! document counting in every one of its classes), directions solve
//!
//! S_b v = λ (S_w + ρ I) v, ρ = shrinkage · tr(S_w) / min(n − C, d),
//!
//! at most C − 1 of them. They are scaled so that the shrunk within-class covariance (S_w + ρ I) / n is the identity in
//! them, and a document becomes Vᵀ(x − μ): dense, about the overall mean.
//!
//! # How
//! With T the rows about the overall mean and G the class indicators, columns of length 1, S_b = TᵀG GᵀT, so every
//! direction lies in the span of W = (TᵀT + ρ I)⁻¹ Tᵀ G = Tᵀ (T Tᵀ + ρ I)⁻¹ G: ridge regression onto the class
//! indicators. W is found in one of two ways, whichever costs less:
//!
//! - dual: T Tᵀ written out, n × n, and a Cholesky decomposition, O(n · nnz + n³/3);
//! - Krylov: conjugate gradients for all C right-hand sides as one block, in Lanczos form, O(steps · C · nnz + n ·
//!   (steps · C)²) and n · steps · C numbers of memory. The space does not depend on ρ, so every ρ is served by one.
//!
//! The C × C problem in the span of W is then solved exactly from W's own scatter, so an error in W is second-order in
//! the criterion. Nothing of size d × d or n × d is built, and columns that count negatively (after `varnorm`) are taken
//! for the projected vectors they stand for.
//!
//! Reference: Fisher, The use of multiple measurements in taxonomic problems, 1936; Friedman, Regularized discriminant
//! analysis, 1989. scikit-learn's `LinearDiscriminantAnalysis(solver="eigen")` solves the same problem when given a
//! covariance estimator that adds ρ/n to the diagonal. Its own `shrinkage=s` has ρ = s/(1 − s) · tr(S_w)/d, which is ours
//! with shrinkage = s/(1 − s) · min(n − C, d)/d, but it adds s/(1 − s) · tr(S_b)/d to the diagonal of S_b too, which
//! changes the directions a little; we do not.
//!
//! ```
//! use corpuscle::{Run, corpus::Labels, matrix::{Dense, Matrix}};
//! use corpuscle::project::{DiscriminantParams, Shrinkage};
//! let x = Matrix::from(Dense::from_rows(&[[0.0, 9.0], [1.0, -9.0], [4.0, 8.0], [5.0, -8.0]]));
//! let labels = Labels::from_single(["a", "a", "b", "b"].map(Some));
//! let run = Run::new(42, 1)?;
//! let params = DiscriminantParams { shrinkage: Shrinkage::Value(0.001), ..DiscriminantParams::default() };
//! let model = params.fit(&x, &labels, &run)?;
//! let z = model.transform(&x, &run)?;
//! assert_eq!(z.cols(), 1);
//! assert!(z.row(0).dense[0] * z.row(2).dense[0] < 0.0);
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod model;
mod solve;
#[cfg(test)]
mod tests;

pub use model::DiscriminantModel;
pub(crate) use solve::Prepared;

use serde::{Deserialize, Serialize};

use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::{Error, Result, Run};

/// How much the within-class scatter is pulled towards a multiple of the identity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shrinkage {
    /// This many times its mean eigenvalue is added to every eigenvalue.
    Value(f64),
    /// Picked by cross-validation, by whoever runs the recipe.
    Auto,
}

/// How many directions, and how far from the data they may follow chance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiscriminantParams {
    /// Directions to keep; 0 for all useful ones, one less than there are classes.
    pub components: usize,
    /// How much the within-class scatter is shrunk.
    pub shrinkage: Shrinkage,
}

impl Default for DiscriminantParams {
    fn default() -> Self {
        DiscriminantParams { components: 0, shrinkage: Shrinkage::Auto }
    }
}

/// What `shrinkage=auto` chooses from, strongest first.
pub(crate) const SHRINKAGE_GRID: [f64; 9] = [100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01];

impl DiscriminantParams {
    /// Names a value out of range.
    pub fn check(&self) -> Result<()> {
        match self.shrinkage {
            Shrinkage::Value(value) if !(1e-6..=1e9).contains(&value) => {
                let reason = "must be from 1e-6 to 1e9, or auto; 1 is usual";
                Err(Error::parameter("discriminant", "shrinkage", value, reason))
            }
            _ => Ok(()),
        }
    }

    /// Learns from the labelled rows of `x`, with a given shrinkage.
    pub fn fit(&self, x: &Matrix, labels: &Labels, run: &Run) -> Result<DiscriminantModel> {
        let Shrinkage::Value(shrinkage) = self.shrinkage else {
            let reason = "must be a number here: try several by cross-validation and keep the best";
            return Err(Error::parameter("discriminant", "shrinkage", "auto", reason));
        };
        self.check()?;
        run.install(|| Prepared::new(x, labels, shrinkage, run)?.directions(self.components, shrinkage, run))
    }
}
