//! Multinomial naive Bayes, with expectation maximisation over unlabelled documents.
//!
//! A class c makes terms by chance with rates θ_jc = (N_jc + α) / (Σ_j N_jc + α·V), where N_jc is how much of term j its documents hold and V
//! how many terms there are; a document x is of class c with a probability in proportion to π_c · Π_j θ_jc^x_j, π_c being the share of
//! documents of the class. The logarithm is linear in x, so the model is one weight a term and class, ln θ_jc against its mean
//! over the classes, and a bias ln π_c: explained like any linear model. Where a document may have several labels, each class is set
//! against the rest: ln(θ_jc / θ_j,rest) and ln(π_c / (1 − π_c)).
//!
//! `complement=true` takes the rates of all other classes instead and counts them against the class, which small classes
//! gain from (Rennie, Shih, Teevan and Karger, 2003); no prior then. Both are as in scikit-learn's `MultinomialNB` and `ComplementNB`.
//!
//! `em=true` learns from unlabelled documents too (Nigam, McCallum, Thrun and Mitchell, 2000): their classes are guessed, they join the
//! counts by their probabilities with the weight λ each, and so on until fewer than 1 in 1000 change their class. λ
//! is found on held-out folds, nothing (0) among the candidates, so that what does harm is left out.
//!
//! Rates are counted in O(stored values), one round of EM in O(stored values · classes). Columns must be terms that are not
//! negative: counts, presence, tf-idf. Probabilities are the model's own, and as sure of themselves as naive Bayes always
//! is, most on long documents in raw counts.
//!
//! ```
//! use corpuscle::classify::{BayesParams, Classifier, ClassifierModel};
//! use corpuscle::project::Target;
//! use corpuscle::corpus::Labels;
//! use corpuscle::matrix::{Csr, Matrix};
//! use corpuscle::Run;
//!
//! let x = Matrix::from(Csr::from_rows(3, [vec![(0, 2.0)], vec![(1, 1.0)], vec![(0, 1.0), (2, 1.0)]]));
//! let labels = Labels::from_single([Some("ham"), Some("spam"), None]);
//! let run = Run::new(42, 1)?;
//! let model = BayesParams::default().fit(&x, &Target::new(&labels), &run)?;
//! let scores = model.scores(&x, &run)?;
//! assert!(scores.row(2)[0] > scores.row(2)[1]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod fit;
mod model;
mod rates;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use model::BayesModel;

use crate::params::{Auto, Checks, Param, Params};
use crate::{Result, param};

/// Parameters of naive Bayes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BayesParams {
    /// What is added to the count of every term in every class.
    pub alpha: f64,
    /// Whether the rates of the other classes are counted against a class.
    pub complement: bool,
    /// Whether unlabelled documents are learnt from by expectation maximisation.
    pub em: bool,
    /// What an unlabelled document counts, from 0 to 1.
    pub lambda: Auto<f64>,
    /// Most rounds of expectation maximisation.
    pub max_iter: usize,
}

impl Default for BayesParams {
    fn default() -> Self {
        BayesParams { alpha: 1.0, complement: false, em: false, lambda: Auto::Auto, max_iter: 20 }
    }
}

impl Params for BayesParams {
    const NAME: &'static str = "bayes";
    const ABOUT: &'static str = "multinomial naive Bayes";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("alpha", alpha, "smoothing: added to the count of every term in every class"),
            param!("complement", complement, "true: the rates of the other classes count against a class"),
            param!("em", em, "true: learns from unlabelled documents too, by expectation maximisation"),
            param!("lambda", lambda, "what an unlabelled document counts, from 0 to 1"),
            param!("max_iter", max_iter, "most rounds of expectation maximisation"),
        ]
    }

    fn check(&self) -> Result<()> {
        Checks::of(Self::NAME)
            .that(self.alpha > 0.0 && self.alpha.is_finite(), "alpha", &self.alpha, "must be a number above 0")
            .auto(|value: f64| (0.0..=1.0).contains(&value), "lambda", self.lambda, "must be from 0 to 1, or `auto`")
            .that(self.max_iter > 0, "max_iter", &self.max_iter, "must be at least 1")
            .done()
    }
}
