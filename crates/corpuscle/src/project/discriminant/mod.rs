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
//! indicators. W is found in one of three ways, whichever costs less:
//!
//! - dual: T Tᵀ written out, n × n, and a Cholesky decomposition, O(n · nnz + n³/3);
//! - Krylov: conjugate gradients for all C right-hand sides as one block, in Lanczos form, O(steps · C · nnz + n ·
//!   (steps · C)²) and n · steps · C numbers of memory. The space does not depend on ρ, so every ρ is served by one;
//! - conjugate: for sparse rows, conjugate gradients on (TᵀT + ρI)W = TᵀG divided by the diagonal, O(steps · C · (stored +
//!   columns)), one solution for each ρ. Its steps do not grow with the documents, those of Krylov do.
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
//! use corpuscle::project::{DiscriminantParams, Projector, Target};
//! let x = Matrix::from(Dense::from_rows(&[[0.0, 9.0], [1.0, -9.0], [4.0, 8.0], [5.0, -8.0]]));
//! let labels = Labels::from_single(["a", "a", "b", "b"].map(Some));
//! let run = Run::new(42, 1)?;
//! let params = DiscriminantParams { shrinkage: 0.001.into(), ..DiscriminantParams::default() };
//! let (_, z) = params.fit(&x, &Target::new(&labels), &run)?;
//! assert_eq!(z.cols(), 1);
//! assert!(z.row(0).dense[0] * z.row(2).dense[0] < 0.0);
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod model;
mod solve;
#[cfg(test)]
mod tests;

pub use model::DiscriminantModel;

use serde::{Deserialize, Serialize};

use super::{Columns, Projector, ProjectorModel, Target};
use crate::matrix::Matrix;
use crate::param;
use crate::params::{Auto, Checks, Param, Params};
use crate::store::StoreReader;
use crate::{Result, Run};
use solve::Prepared;

/// How many directions, and how far from the data they may follow chance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiscriminantParams {
    /// Directions to keep; 0 for all useful ones, one less than there are classes.
    pub components: usize,
    /// This many times its mean eigenvalue is added to every eigenvalue of the within-class scatter.
    pub shrinkage: Auto<f64>,
}

impl Default for DiscriminantParams {
    fn default() -> Self {
        DiscriminantParams { components: 0, shrinkage: Auto::Auto }
    }
}

/// What `shrinkage=auto` chooses from, strongest first.
const SHRINKAGE_GRID: [f64; 9] = [100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01];
/// Folds of that choice.
const FOLDS: usize = 3;
/// What is used where no cross-validation can be had.
const FALLBACK: f64 = 1.0;

impl Params for DiscriminantParams {
    const NAME: &'static str = "discriminant";
    const ABOUT: &'static str = "discriminant analysis: the directions that tell classes apart";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("components", components, "directions to keep; 0 for one less than there are classes"),
            param!("shrinkage", shrinkage, "how much the scatter within classes is evened out, above 0"),
        ]
    }

    fn check(&self) -> Result<()> {
        let good = |shrinkage: f64| (1e-6..=1e9).contains(&shrinkage);
        let reason = "must be from 1e-6 to 1e9, or auto; 1 is usual";
        Checks::of(Self::NAME).auto(good, "shrinkage", self.shrinkage, reason).done()
    }
}

impl Projector for DiscriminantParams {
    type Model = DiscriminantModel;
    const MAKES: Columns = Columns::Dimensions;

    /// Learns from the labelled rows of `x`.
    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<(DiscriminantModel, Matrix)> {
        self.check()?;
        let shrinkage = match self.shrinkage {
            Auto::Value(value) => value,
            Auto::Auto => self.best_shrinkage(x, target, run)?,
        };
        let model = run.install(|| {
            Prepared::new(x, target.labels(), shrinkage, run)?.directions(self.components, shrinkage, run)
        })?;
        let rows = model.transform(x, run)?;
        Ok((model, rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<DiscriminantModel> {
        DiscriminantModel::load(store)
    }

    fn needs_labels(&self) -> bool {
        true
    }

    fn asks_judge(&self) -> bool {
        self.shrinkage.is_auto()
    }

    fn resolved(&self, model: &DiscriminantModel) -> Self {
        DiscriminantParams { shrinkage: Auto::Value(model.shrinkage()), ..self.clone() }
    }
}

impl DiscriminantParams {
    /// The shrinkage with which most held-out documents come out right; the stronger of equals.
    fn best_shrinkage(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<f64> {
        let least = SHRINKAGE_GRID.iter().copied().fold(f64::INFINITY, f64::min);
        let quiet = run.quiet();
        let right = target.judge(x, FOLDS, SHRINKAGE_GRID.len(), run, |fold, verdict| {
            // What does not depend on the shrinkage is done once for each fold.
            let prepared = quiet.install(|| Prepared::new(&fold.x, &fold.labels, least, &quiet))?;
            for (choice, &shrinkage) in SHRINKAGE_GRID.iter().enumerate() {
                let model = quiet.install(|| prepared.directions(self.components, shrinkage, &quiet))?;
                verdict(choice, &model.transform(&fold.x, &quiet)?, &model.transform(&fold.held, &quiet)?)?;
            }
            Ok(())
        })?;
        let Some(right) = right else {
            run.warn(&format!(
                "discriminant: too few labelled documents for a cross-validation, so the shrinkage is {FALLBACK} and not \
                 chosen"
            ));
            return Ok(FALLBACK);
        };
        let count = |list: &Vec<bool>| list.iter().filter(|&&good| good).count();
        let most = right.iter().map(count).max().unwrap_or(0);
        let best = SHRINKAGE_GRID.iter().zip(&right).find(|(_, right)| count(right) == most);
        Ok(best.map_or(FALLBACK, |(value, _)| *value))
    }
}
