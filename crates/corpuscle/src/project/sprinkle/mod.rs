//! Sprinkled LSI: class knowledge mixed into latent semantic indexing as artificial terms.
//!
//! Each class c gets s_c artificial columns that are 1 for its documents; the widened matrix X' = \[X, L\] is
//! approximated at rank k, X' ≈ z Vᵀ, and the artificial columns are dropped again ("unsprinkled"). Training
//! documents become the rows z V'ᵀ of that approximation, V' being the part of V that belongs to real columns: words
//! of one class have been pulled together. New documents are compared with those rows *as they are*.
//!
//! The s identical columns of a class act as one column of weight √s, so copies are never stored; a document of
//! several classes gets the columns of each, an unlabelled one gets none and still shapes the space.
//!
//! # What comes out
//! Nothing of size n × d is built. With G = V'ᵀV' = E Λ Eᵀ, the columns of Q = V' E Λ^-½ are an orthonormal basis
//! of the space in which all training rows lie, and output rows are coordinates in it, dense and k + 1 wide:
//!
//! - a training row z V'ᵀ becomes (Λ^½ Eᵀ z, 0);
//! - a new document x becomes (Qᵀx, r), with r = √(‖x‖² − ‖Qᵀx‖²) the length of what lies outside the space.
//!
//! So inner products, distances and cosines between a new document and a training row, or two training rows, and all
//! lengths, are exactly those of the written-out vectors, and any kNN or linear classifier works unchanged. (Between
//! two *new* documents they are not: their outsides need not be parallel.)
//!
//! With `fold_in` a new document is instead taken through the decomposition like a training row without labels:
//! x V' V'ᵀ, which in these coordinates is (Λ Qᵀx, 0): coordinate j times the eigenvalue Λ_j.
//!
//! Cost: that of [`lsi`](super::LsiParams) with one column per class more, plus O(d·k²).
//!
//! Reference: Chakraborti, Mukras, Lothian, Wiratunga, Watt and Harper, Supervised latent semantic indexing using
//! adaptive sprinkling, IJCAI 2007. We differ in weighing columns instead of repeating them (the same matrix products)
//! and in taking several labels, no label, and any weights beside 0 and 1.
//!
//! ```
//! use corpuscle::{Run, corpus::Labels, matrix::{Csr, Matrix}, project::SprinkleParams};
//! // Figure 1 of the paper: six documents, two classes, one artificial term each, rank 2.
//! let documents: [&[u32]; 6] = [&[0, 1, 2], &[0, 2], &[0, 1, 2], &[3, 4, 5], &[3, 5], &[0, 3, 4, 5]];
//! let x = Matrix::from(Csr::from_rows(6, documents.map(|terms| terms.iter().map(|&t| (t, 1.0)).collect())));
//! let labels = Labels::from_single(["c1", "c1", "c1", "c2", "c2", "c2"].map(Some));
//! let run = Run::new(42, 1)?;
//! let params = SprinkleParams { rank: 2, adaptive: false, terms: 1, ..SprinkleParams::default() };
//! let (model, rows) = params.fit(&x, &labels, &run)?;
//! let first: f32 = rows.row(0).dense.iter().zip(model.basis().row(0)).map(|(a, b)| a * b).sum();
//! assert!((first - 1.10).abs() < 0.005);
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod analysis;
mod model;
mod shift;
mod terms;

pub use analysis::{SprinklePoint, sprinkle_curve, within_over_between};
pub use model::SprinkleModel;
pub use shift::{NearTerm, TermShift};
pub use terms::sprinkled_terms;

use serde::{Deserialize, Serialize};

use super::lsi::{check_found, check_rank};
use crate::corpus::Labels;
use crate::matrix::svd::truncated_svd;
use crate::matrix::{Csr, Matrix};
use crate::{Error, Result, Run};

/// More artificial terms than this say nothing more and only cost precision.
const MOST_TERMS: usize = 1_000_000;

/// The maximum sprinkling length: terms that the most confused pair of classes gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Msl {
    /// This many.
    Value(usize),
    /// Picked by cross-validation, by whoever runs the recipe.
    Auto,
}

/// How much class knowledge to mix in, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SprinkleParams {
    /// Dimensions to keep; fewer are kept, with a warning, when the matrix has not that many.
    pub rank: usize,
    /// Artificial terms per class when not adaptive.
    pub terms: usize,
    /// Whether classes that a classifier confuses get more terms than others.
    pub adaptive: bool,
    /// Terms for the most confused pair of classes when adaptive.
    pub msl: Msl,
    /// Whether new documents are taken through the decomposition too, and not compared as they are.
    pub fold_in: bool,
}

impl Default for SprinkleParams {
    fn default() -> Self {
        SprinkleParams { rank: 100, terms: 8, adaptive: true, msl: Msl::Value(8), fold_in: false }
    }
}

impl SprinkleParams {
    /// Names a value out of range.
    pub fn check(&self) -> Result<()> {
        check_rank("sprinkle", self.rank)?;
        let reason = "must be at most 1000000; 8 is usual";
        match self.msl {
            _ if self.terms > MOST_TERMS => Err(Error::parameter("sprinkle", "terms", self.terms, reason)),
            Msl::Value(msl) if msl > MOST_TERMS => Err(Error::parameter("sprinkle", "msl", msl, reason)),
            _ => Ok(()),
        }
    }

    /// Learns from `x` with the same number of artificial terms, `terms`, for every class.
    pub fn fit(&self, x: &Matrix, labels: &Labels, run: &Run) -> Result<(SprinkleModel, Matrix)> {
        if self.adaptive {
            let reason = "needs a confusion matrix of the classifier: use `fit_adaptive`, or set it to false";
            return Err(Error::parameter("sprinkle", "adaptive", true, reason));
        }
        self.fit_with_counts(x, labels, &vec![self.terms; labels.n_classes()], run)
    }

    /// Learns from `x` with more artificial terms for the classes that a classifier confuses; `confusion[i][j]` counts
    /// the documents of class i that it took for class j, in the order of `labels.classes()`.
    pub fn fit_adaptive(
        &self,
        x: &Matrix,
        labels: &Labels,
        confusion: &[Vec<u64>],
        run: &Run,
    ) -> Result<(SprinkleModel, Matrix)> {
        let Msl::Value(msl) = self.msl else {
            let reason = "must be a number here: try several by cross-validation and keep the best";
            return Err(Error::parameter("sprinkle", "msl", "auto", reason));
        };
        self.fit_with_counts(x, labels, &sprinkled_terms(confusion, msl)?, run)
    }

    /// Learns from `x` with `sprinkled[c]` artificial terms for class c. Gives the model and the training rows; these
    /// are not what `transform` makes of the same documents, which it takes for new ones.
    pub fn fit_with_counts(
        &self,
        x: &Matrix,
        labels: &Labels,
        sprinkled: &[usize],
        run: &Run,
    ) -> Result<(SprinkleModel, Matrix)> {
        self.check()?;
        let widened = widen(x, labels, sprinkled)?;
        let svd = truncated_svd(&widened, self.rank, 0, run)?;
        drop(widened);
        check_found("sprinkle", self.rank, svd.singular_values.len(), run)?;
        run.check()?;
        run.install(|| SprinkleModel::new(x, svd, sprinkled, self.fold_in))
    }
}

/// The matrix with one column of weight √s for each class, after the sparse columns.
fn widen(x: &Matrix, labels: &Labels, sprinkled: &[usize]) -> Result<Matrix> {
    if labels.len() != x.rows() {
        return Err(Error::Shape { what: "labels of the documents", expected: x.rows(), found: labels.len() });
    }
    if sprinkled.len() != labels.n_classes() {
        let (expected, found) = (labels.n_classes(), sprinkled.len());
        return Err(Error::Shape { what: "numbers of sprinkled terms, one per class", expected, found });
    }
    if let Some(&count) = sprinkled.iter().find(|&&count| count > MOST_TERMS.saturating_mul(sprinkled.len())) {
        return Err(Error::parameter("sprinkle", "terms", count, "is too many for one class"));
    }
    let weights: Vec<f32> = sprinkled.iter().map(|&count| (count as f64).sqrt() as f32).collect();
    let (mut ends, mut columns, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for row in 0..labels.len() {
        for &class in labels.of(row).unwrap_or(&[]) {
            if weights[class as usize] > 0.0 {
                columns.push(class);
                values.push(weights[class as usize]);
            }
        }
        ends.push(columns.len() as u64);
    }
    let indicators = Csr::from_parts(weights.len(), ends, columns, values);
    Matrix::new(x.sparse().beside(&indicators)?, x.dense().clone(), x.negative())
}

#[cfg(test)]
mod tests;
