//! What a stage may ask of the rooms after its own: how well the classifier that follows does on held-out documents.

use super::stage::Classifier;
use crate::classify::out_of_fold;
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::metrics::{Predictions, confusion};
use crate::{Error, Result, Run};

/// The classifier at the end of the recipe, as the stages before it see it.
#[derive(Debug, Clone, Copy)]
pub struct Later<'a> {
    classifier: Option<&'a dyn Classifier>,
    weights: Option<&'a [f32]>,
}

/// [`Later`] for some of the documents, with weights of its own.
pub(super) struct Selected<'a> {
    classifier: Option<&'a dyn Classifier>,
    weights: Option<Vec<f32>>,
}

impl Selected<'_> {
    pub(super) fn get(&self) -> Later<'_> {
        Later { classifier: self.classifier, weights: self.weights.as_deref() }
    }
}

impl<'a> Later<'a> {
    /// The classifier that follows, if any, and the weights of the documents.
    pub fn new(classifier: Option<&'a dyn Classifier>, weights: Option<&'a [f32]>) -> Self {
        Later { classifier, weights }
    }

    /// Which classes the classifier that follows takes for which, in a cross-validation on `x`: rows are true classes,
    /// columns the ones given. A document with several labels counts once for each.
    pub fn confusion(
        &self,
        stage: &'static str,
        x: &Matrix,
        labels: &Labels,
        folds: usize,
        run: &Run,
    ) -> Result<Vec<Vec<u64>>> {
        let classifier = self.classifier(stage)?;
        let (scores, truth) = self.held_out(stage, x, labels, folds, run, |x, labels, weights, held, run| {
            classifier.fit(x, labels, weights, run)?.scores(held, run)
        })?;
        let best = Predictions::best(&scores)?;
        if !truth.is_multi_label() {
            // The figure's own classes are those that occur; here every class has its row.
            let found = confusion(&truth, &best)?;
            let mut counts = vec![vec![0; labels.n_classes()]; labels.n_classes()];
            let number = |name: &String| labels.classes().binary_search(name).ok();
            for (from, row) in found.classes.iter().zip(&found.counts) {
                for (to, &count) in found.classes.iter().zip(row) {
                    if let (Some(from), Some(to)) = (number(from), number(to)) {
                        counts[from][to] += count;
                    }
                }
            }
            return Ok(counts);
        }
        let mut counts = vec![vec![0; labels.n_classes()]; labels.n_classes()];
        for row in 0..truth.len() {
            for &class in truth.of(row).unwrap_or(&[]) {
                for &given in best.of(row) {
                    // A label the document has is no mistake for another label it has.
                    let to = if truth.has(row, given) { class } else { given };
                    counts[class as usize][to as usize] += 1;
                }
            }
        }
        Ok(counts)
    }

    /// How many documents the classifier gets right in a cross-validation in which `project(x, labels, held_out)` gives
    /// the rows it is fitted on and the held-out rows it is tested on.
    pub fn right_on_folds(
        &self,
        stage: &'static str,
        x: &Matrix,
        labels: &Labels,
        folds: usize,
        run: &Run,
        project: impl Fn(&Matrix, &Labels, &Matrix, &Run) -> Result<(Matrix, Matrix)>,
    ) -> Result<usize> {
        let classifier = self.classifier(stage)?;
        let (scores, truth) = self.held_out(stage, x, labels, folds, run, |x, labels, weights, held, run| {
            let (rows, held) = project(x, labels, held, run)?;
            classifier.fit(&rows, labels, weights, run)?.scores(&held, run)
        })?;
        let best = Predictions::best(&scores)?;
        Ok((0..truth.len()).filter(|&row| best.of(row).iter().any(|&class| truth.has(row, class))).count())
    }

    /// The same for some of the documents.
    pub(super) fn at(later: &Later<'a>, rows: &[usize]) -> Selected<'a> {
        let weights = later.weights.map(|weights| rows.iter().map(|&row| weights[row]).collect());
        Selected { classifier: later.classifier, weights }
    }

    fn classifier(&self, stage: &'static str) -> Result<&'a dyn Classifier> {
        self.classifier.ok_or_else(|| {
            Error::data(format!(
                "`{stage}` asks the classifier that follows it, but none does; end the recipe with one"
            ))
        })
    }

    fn held_out(
        &self,
        stage: &'static str,
        x: &Matrix,
        labels: &Labels,
        folds: usize,
        run: &Run,
        fit_and_score: impl Fn(&Matrix, &Labels, Option<&[f32]>, &Matrix, &Run) -> Result<Dense>,
    ) -> Result<(Dense, Labels)> {
        let held = out_of_fold(x, labels, self.weights, folds, run.seed(), &run.quiet(), fit_and_score)?;
        let (scores, rows) = held.ok_or_else(|| {
            Error::data(format!("`{stage}` needs a cross-validation, and there are too few labelled documents for one"))
        })?;
        Ok((scores, labels.select(&rows)))
    }
}
