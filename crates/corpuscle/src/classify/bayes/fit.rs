//! Fitting: counts, and rounds of expectation maximisation.

use super::BayesParams;
use super::model::{BayesModel, probabilities};
use super::rates::{Counts, terms_of};
use crate::classify::{Classifier, LinearModel, check_weights};
use crate::corpus::Labels;
use crate::matrix::{Csr, Dense, Matrix};
use crate::params::{Auto, Params};
use crate::project::{FoldRows, Target};
use crate::store::StoreReader;
use crate::{Error, Result, Run};

/// Weights of an unlabelled document that `lambda=auto` compares, ascending; 0 is no expectation maximisation.
pub(super) const LAMBDAS: [f64; 5] = [0.0, 0.03, 0.1, 0.3, 1.0];
/// Folds they are compared on.
const FOLDS: usize = 3;
/// What is used where no cross-validation can be had.
const FALLBACK: f64 = 0.1;
/// The rounds end when fewer than this share of the unlabelled documents change their class.
const SETTLED: f64 = 1e-3;

impl Classifier for BayesParams {
    type Model = BayesModel;

    /// Learns from the labelled rows of `x` and, with `em`, from the others.
    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<BayesModel> {
        self.check()?;
        let labels = target.labels();
        if labels.len() != x.rows() {
            return Err(Error::Shape { what: "labels for the documents", expected: x.rows(), found: labels.len() });
        }
        check_weights(target.weights(), x.rows())?;
        LinearModel::check_size(Self::NAME, labels.n_classes(), x.cols())?;
        let terms = terms_of(x)?;
        if self.complement && labels.is_multi_label() {
            return Err(Error::data(
                "bayes: complement=true needs exactly one label per document, but some have none or several",
            ));
        }
        if labels.labelled_rows().is_empty() {
            return Err(Error::data("no document has a label; a classifier needs some to learn from"));
        }
        let lambda = if self.em { self.find_lambda(x, target, run)? } else { 0.0 };
        if self.em && labels.labelled_rows().len() == labels.len() {
            run.warn("em: there are no unlabelled documents, so it changes nothing");
        }
        let (linear, rounds) = self.learn(terms, labels, target.weights(), lambda, run)?;
        Ok(BayesModel::new(*self, lambda, rounds, labels.is_multi_label(), linear))
    }

    fn load(&self, store: &StoreReader<'_>, _run: &Run) -> Result<BayesModel> {
        BayesModel::load(store)
    }

    fn resolved(&self, model: &BayesModel) -> Self {
        BayesParams { lambda: Auto::Value(model.lambda()), ..*self }
    }

    fn variants(&self) -> Vec<Self> {
        match self.lambda {
            Auto::Auto if self.em => vec![BayesParams { lambda: Auto::Value(FALLBACK), ..*self }],
            _ => vec![*self],
        }
    }
}

impl BayesParams {
    /// The weight given, or the one that decides most held-out documents right; the smallest of equals.
    fn find_lambda(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<f64> {
        if let Auto::Value(value) = self.lambda {
            return Ok(value);
        }
        let quiet = run.quiet();
        let mut right = [0usize; LAMBDAS.len()];
        let walked = target.folds(x, FOLDS, FoldRows::All, &quiet, |fold| {
            let terms = terms_of(&fold.x)?;
            for (right, &lambda) in right.iter_mut().zip(&LAMBDAS) {
                let (linear, _) = self.learn(terms, &fold.labels, fold.weights.as_deref(), lambda, &quiet)?;
                *right += count_right(&linear.scores(&fold.held, &quiet)?, &fold.truth);
            }
            Ok(())
        })?;
        if !walked {
            run.warn("lambda=auto: too few labelled documents to compare values; using lambda=0.1");
            return Ok(FALLBACK);
        }
        let best = (1..LAMBDAS.len()).fold(0, |best, index| if right[index] > right[best] { index } else { best });
        Ok(LAMBDAS[best])
    }

    /// The model of labelled documents and of the others at weight `lambda`, and how many rounds that took.
    fn learn(
        &self,
        x: &Csr,
        labels: &Labels,
        weights: Option<&[f32]>,
        lambda: f64,
        run: &Run,
    ) -> Result<(LinearModel, usize)> {
        let several = labels.is_multi_label();
        run.install(|| {
            let known = Counts::labelled(x, labels, weights);
            let mut linear = known.model(self, several)?;
            let others: Vec<usize> = (0..labels.len()).filter(|&row| labels.of(row).is_none()).collect();
            if lambda == 0.0 || others.is_empty() {
                return Ok((linear, 0));
            }
            let unlabelled = x.select_rows(&others);
            let weights: Option<Vec<f32>> = weights.map(|weights| others.iter().map(|&row| weights[row]).collect());
            let matrix = Matrix::from(unlabelled.clone());
            let mut before: Vec<u32> = Vec::new();
            for round in 1..=self.max_iter {
                run.check()?;
                let scores = linear.scores(&matrix, run)?;
                let decided: Vec<u32> = (0..scores.rows()).map(|row| best(scores.row(row))).collect();
                let changed = match before.is_empty() {
                    true => decided.len(),
                    false => decided.iter().zip(&before).filter(|(a, b)| a != b).count(),
                };
                if (changed as f64) < SETTLED * decided.len() as f64 {
                    return Ok((linear, round - 1));
                }
                before = decided;
                let shares = probabilities(&scores, several);
                let guessed = Counts::shared_out(&unlabelled, &shares, weights.as_deref(), lambda);
                linear = known.plus(&guessed).model(self, several)?;
            }
            Ok((linear, self.max_iter))
        })
    }
}

fn best(scores: &[f32]) -> u32 {
    let pick = |best: (u32, f32), (class, &score): (u32, &f32)| if score > best.1 { (class, score) } else { best };
    (0u32..).zip(scores).fold((0, f32::NEG_INFINITY), pick).0
}

/// Documents whose best class is one of theirs; with several labels, labels given or withheld rightly, by the sign of the score.
fn count_right(scores: &Dense, truth: &Labels) -> usize {
    let right = |row: usize| match truth.is_multi_label() {
        false => usize::from(truth.has(row, best(scores.row(row)))),
        true => {
            let agrees = |(class, &score): (u32, &f32)| truth.has(row, class) == (score > 0.0);
            (0u32..).zip(scores.row(row)).filter(|&pair| agrees(pair)).count()
        }
    };
    (0..scores.rows()).map(right).sum()
}
