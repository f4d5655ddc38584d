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
//! use corpuscle::{Run, corpus::Labels, matrix::{Csr, Matrix}, project::{Projector, SprinkleParams, Target}};
//! // Figure 1 of the paper: six documents, two classes, one artificial term each, rank 2.
//! let documents: [&[u32]; 6] = [&[0, 1, 2], &[0, 2], &[0, 1, 2], &[3, 4, 5], &[3, 5], &[0, 3, 4, 5]];
//! let x = Matrix::from(Csr::from_rows(6, documents.map(|terms| terms.iter().map(|&t| (t, 1.0)).collect())));
//! let labels = Labels::from_single(["c1", "c1", "c1", "c2", "c2", "c2"].map(Some));
//! let run = Run::new(42, 1)?;
//! let params = SprinkleParams { rank: 2, terms: 1.into(), ..SprinkleParams::default() };
//! let (model, rows) = params.fit(&x, &Target::new(&labels), &run)?;
//! let first: f32 = rows.row(0).dense.iter().zip(model.basis().row(0)).map(|(a, b)| a * b).sum();
//! assert!((first - 1.10).abs() < 0.005);
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod analysis;
mod model;
mod shift;
mod terms;

pub use analysis::{SprinklePoint, prototypical_terms, sprinkle_curve, within_over_between};
pub use model::SprinkleModel;
pub use shift::{NearTerm, TermShift};
pub use terms::sprinkled_terms;

use serde::{Deserialize, Serialize};

use super::lsi::{check_found, check_rank};
use super::{Columns, FoldRows, Projector, ProjectorModel, Target};
use crate::corpus::Labels;
use crate::matrix::svd::truncated_svd;
use crate::matrix::{Csr, Matrix};
use crate::param;
use crate::params::{Auto, Checks, Param, Params};
use crate::store::StoreReader;
use crate::{Error, Result, Run};

/// More artificial terms than this say nothing more and only cost precision.
const MOST_TERMS: usize = 1_000_000;
/// Terms of every class when they are not adaptive and no number is given.
const USUAL_TERMS: usize = 8;
/// Folds behind the confusion matrix, as in the paper.
const FOLDS: usize = 5;
/// What `msl=auto` chooses from; 0 where sprinkling does not help.
const MSL_GRID: [usize; 5] = [0, 2, 4, 8, 16];
/// Folds of that choice.
const MSL_FOLDS: usize = 3;

/// How much class knowledge to mix in, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SprinkleParams {
    /// Dimensions to keep; fewer are kept, with a warning, when the matrix has not that many.
    pub rank: usize,
    /// Artificial terms of every class alike; `auto` is adaptive: more for classes that are confused with each other.
    pub terms: Auto<usize>,
    /// Terms for the most confused pair of classes when adaptive.
    pub msl: Auto<usize>,
    /// Whether new documents are taken through the decomposition too, and not compared as they are.
    pub fold_in: bool,
    /// Artificial terms of each class, by number, where somebody knows them already; no parameter of recipes.
    #[serde(skip)]
    pub sprinkled: Option<Vec<usize>>,
}

impl Default for SprinkleParams {
    fn default() -> Self {
        SprinkleParams { rank: 100, terms: Auto::Auto, msl: Auto::Value(8), fold_in: false, sprinkled: None }
    }
}

impl Params for SprinkleParams {
    const NAME: &'static str = "sprinkle";
    const ABOUT: &'static str = "lsi with class knowledge: sprinkled terms, adaptive to what the classifier confuses";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("rank", rank, "dimensions to keep"),
            param!("terms", terms, "terms for every class alike; auto is adaptive: by what the classifier confuses"),
            Param::alias(
                "adaptive",
                "true is terms=auto, false the same number for every class",
                |params: &mut Self, adaptive: bool| {
                    if adaptive && !params.terms.is_auto() {
                        return Err("`terms` is for every class alike; leave one of the two out".to_string());
                    }
                    if !adaptive && params.terms.is_auto() {
                        params.terms = Auto::Value(USUAL_TERMS);
                    }
                    Ok(())
                },
            ),
            param!("msl", msl, "most terms for a pair of classes when adaptive"),
            param!("fold_in", fold_in, "true: new documents are folded in instead of compared as they are"),
        ]
    }

    fn check(&self) -> Result<()> {
        let few = |terms: usize| terms <= MOST_TERMS;
        let reason = "must be at most 1000000; 8 is usual";
        check_rank(Checks::of(Self::NAME), self.rank)
            .auto(few, "terms", self.terms, reason)
            .auto(few, "msl", self.msl, reason)
            .done()
    }
}

impl Projector for SprinkleParams {
    type Model = SprinkleModel;
    const MAKES: Columns = Columns::Dimensions;

    /// Gives the training rows beside the model; these are not what `transform` makes of the same documents, which it takes
    /// for new ones.
    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<(SprinkleModel, Matrix)> {
        self.check()?;
        let labels = target.labels();
        let sprinkled = match (&self.sprinkled, self.terms) {
            (Some(known), _) => known.clone(),
            (None, Auto::Value(terms)) => vec![terms; labels.n_classes()],
            (None, Auto::Auto) => self.adaptive_terms(x, target, run)?,
        };
        let (mut model, rows) = self.decompose(x, labels, &sprinkled, run)?;
        // Terms are looked at by people; a fit that has its numbers from another one is only a step on the way.
        if self.sprinkled.is_none() {
            model.look_at_terms(x, &rows, run)?;
        }
        Ok((model, rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<SprinkleModel> {
        SprinkleModel::load(store)
    }

    fn needs_labels(&self) -> bool {
        true
    }

    fn asks_judge(&self) -> bool {
        self.terms.is_auto() && self.sprinkled.is_none()
    }

    fn resolved(&self, model: &SprinkleModel) -> Self {
        let sprinkled = model.sprinkled().iter().map(|&count| count as usize).collect();
        SprinkleParams { sprinkled: Some(sprinkled), ..self.clone() }
    }
}

impl SprinkleParams {
    /// As many terms for each class as its confusion with others asks for, by cross-validation.
    fn adaptive_terms(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<Vec<usize>> {
        let confusion = target.confusion(x, FOLDS, run)?.ok_or_else(|| {
            Error::data("`sprinkle` needs a cross-validation, and there are too few labelled documents for one")
        })?;
        let msl = match self.msl {
            Auto::Value(value) => value,
            Auto::Auto => self.best_msl(x, target, &confusion, run)?,
        };
        sprinkled_terms(&confusion, msl)
    }

    /// The level at which most held-out documents come out right; the smaller of equals. The confusion matrix is that of all
    /// documents: it holds decisions about documents held out, and no fold could count rare classes better.
    fn best_msl(&self, x: &Matrix, target: &Target<'_>, confusion: &[Vec<u64>], run: &Run) -> Result<usize> {
        let quiet = run.quiet();
        // Documents without labels shape the space too, so folds have them.
        let right = target.judge_rows(x, MSL_FOLDS, MSL_GRID.len(), FoldRows::All, run, |fold, verdict| {
            for (choice, &msl) in MSL_GRID.iter().enumerate() {
                let terms = sprinkled_terms(confusion, msl)?;
                let (model, rows) = self.decompose(&fold.x, &fold.labels, &terms, &quiet)?;
                verdict(choice, &rows, &model.transform(&fold.held, &quiet)?)?;
            }
            Ok(())
        })?;
        let mut best = (MSL_GRID[0], 0);
        for (&msl, right) in MSL_GRID.iter().zip(right.unwrap_or_default()) {
            let right = right.iter().filter(|&&good| good).count();
            if right > best.1 {
                best = (msl, right);
            }
        }
        Ok(best.0)
    }

    /// Learns from `x` with `sprinkled[c]` artificial terms for class c.
    fn decompose(
        &self,
        x: &Matrix,
        labels: &Labels,
        sprinkled: &[usize],
        run: &Run,
    ) -> Result<(SprinkleModel, Matrix)> {
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
