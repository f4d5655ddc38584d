//! From scores to labels and probabilities: what is learnt about a classifier's scores on held-out folds.
//!
//! One round of cross-validated scores serves both purposes: sigmoids that turn scores into probabilities, and, for
//! several labels per document, the threshold of each label.

use super::held_out::HeldOut;
use super::stage::{Classifier, FittedClassifier};
use crate::classify::{Calibration, Thresholds, out_of_fold_rows};
use crate::matrix::Dense;
use crate::store::{StoreReader, StoreWriter};
use crate::{Result, Run};

/// How scores become labels and probabilities.
#[derive(Debug, Default)]
pub(super) struct Decision {
    calibration: Option<Calibration>,
    thresholds: Option<Thresholds>,
}

impl Decision {
    /// Learns from held-out scores what the classifier at hand does not know by itself.
    pub(super) fn fit(
        classifier: &dyn Classifier,
        fitted: &dyn FittedClassifier,
        documents: &HeldOut<'_>,
        run: &Run,
    ) -> Result<Self> {
        let (labels, weights) = (documents.labels, documents.weights);
        let multi = labels.is_multi_label();
        let knows_probabilities = fitted.own_probabilities(&Dense::zeros(0, fitted.n_classes())).is_some();
        let folds = classifier.calibration_folds();
        if folds == 0 || (knows_probabilities && !multi) {
            return Ok(Decision::default());
        }
        run.stage("calibrate", Some(folds as u64), || {
            let rough = classifier.rough(fitted);
            let held_out = out_of_fold_rows(labels, weights, folds, run.seed(), &run.quiet(), |rest, held, quiet| {
                let fold = documents.fold(rest, held, quiet)?;
                let fitted = rough.fit(&fold.x, &fold.labels, fold.weights.as_deref(), quiet)?;
                let scores = fitted.scores(&fold.held, quiet);
                run.advance(1);
                scores
            })?;
            let Some((scores, rows)) = held_out else {
                run.warn("too few labelled documents to calibrate probabilities; scores are given as they are");
                return Ok(Decision::default());
            };
            let truth = labels.select(&rows);
            let calibration = if knows_probabilities { None } else { Some(Calibration::fit(&scores, &truth)?) };
            let thresholds =
                if multi { Some(Thresholds::fit_near(&scores, &truth, fitted.usual_threshold())?) } else { None };
            Ok(Decision { calibration, thresholds })
        })
    }

    /// The classes given to each document, best first.
    pub(super) fn labels(
        &self,
        classifier: &dyn FittedClassifier,
        scores: &Dense,
        multi: bool,
    ) -> Result<Vec<Vec<u32>>> {
        if !multi {
            return Ok((0..scores.rows()).map(|row| best(scores.row(row)).into_iter().collect()).collect());
        }
        let mut decided = match &self.thresholds {
            Some(thresholds) => thresholds.decide(scores)?,
            None => Thresholds::constant(scores.cols(), classifier.usual_threshold()).decide(scores)?,
        };
        for (row, labels) in decided.iter_mut().enumerate() {
            let scores = scores.row(row);
            labels.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b)));
        }
        Ok(decided)
    }

    /// Probabilities, calibrated or the classifier's own.
    pub(super) fn probabilities(&self, classifier: &dyn FittedClassifier, scores: &Dense) -> Result<Option<Dense>> {
        match &self.calibration {
            Some(calibration) => calibration.probabilities(scores).map(Some),
            None => Ok(classifier.own_probabilities(scores)),
        }
    }

    pub(super) fn notes(&self) -> Vec<(&'static str, String)> {
        let mut notes = Vec::new();
        if self.calibration.is_some() {
            notes.push(("probabilities", "calibrated on held-out folds".to_string()));
        }
        if self.thresholds.is_some() {
            notes.push(("thresholds", "one per label, for the best F1 on held-out folds".to_string()));
        }
        notes
    }

    pub(super) fn save(&self, out: &mut StoreWriter) {
        if let Some(calibration) = &self.calibration {
            out.scope("calibration", |out| calibration.save(out));
        }
        if let Some(thresholds) = &self.thresholds {
            out.scope("thresholds", |out| thresholds.save(out));
        }
        out.put_u32("has", &[u32::from(self.calibration.is_some()), u32::from(self.thresholds.is_some())]);
    }

    pub(super) fn load(store: &StoreReader<'_>, classes: usize) -> Result<Self> {
        let has = store.u32s("has", Some(2))?;
        Ok(Decision {
            calibration: match has[0] {
                0 => None,
                _ => Some(Calibration::load(&store.scope("calibration"), Some(classes))?),
            },
            thresholds: match has[1] {
                0 => None,
                _ => Some(Thresholds::load(&store.scope("thresholds"), Some(classes))?),
            },
        })
    }
}

/// The class of the highest score, the first of equals; none when there are no classes.
fn best(scores: &[f32]) -> Option<u32> {
    let mut best: Option<(u32, f32)> = None;
    for (class, &score) in (0u32..).zip(scores) {
        if best.is_none_or(|(_, top)| score > top) {
            best = Some((class, score));
        }
    }
    best.map(|(class, _)| class)
}
