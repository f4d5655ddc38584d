//! From scores to labels and probabilities: what is learnt about a classifier's scores on held-out folds.
//!
//! One round of cross-validated scores serves both purposes: sigmoids that turn scores into probabilities, and, for
//! several labels per document, the threshold of each label.

use super::erase::AnyClassifier;
use crate::classify::{Calibration, ClassifierModel, Thresholds};
use crate::matrix::{Dense, Matrix};
use crate::project::{FoldRows, Target, best};
use crate::store::{StoreReader, StoreWriter};
use crate::{Result, Run};

/// How scores become labels and probabilities.
#[derive(Debug, Clone, Default)]
pub(super) struct Decision {
    calibration: Option<Calibration>,
    thresholds: Option<Thresholds>,
}

impl Decision {
    /// Learns from held-out scores what the fitted classifier does not know by itself. `stage` is the classifier for fits on folds.
    pub(super) fn fit(
        stage: &dyn AnyClassifier,
        fitted: &dyn ClassifierModel,
        x: &Matrix,
        target: &Target<'_>,
        run: &Run,
    ) -> Result<Self> {
        let labels = target.labels();
        let multi = labels.is_multi_label();
        let knows_probabilities = fitted.own_probabilities(&Dense::zeros(0, fitted.n_classes())).is_some();
        let folds = stage.calibration_folds();
        // A model that trains itself is not as sure as its own probabilities say: it learnt from its own decisions.
        let needs_calibration = !knows_probabilities || stage.self_trains();
        if folds == 0 || !(needs_calibration || multi) {
            return Ok(Decision::default());
        }
        // What trains itself on unlabelled documents does so in every fold, or the scores would be another model's.
        let which = if stage.self_trains() { FoldRows::All } else { FoldRows::Labelled };
        run.stage("calibrate", Some(folds as u64), || {
            let (rows, quiet) = (labels.labelled_rows(), run.quiet());
            let mut scores = Dense::zeros(rows.len(), labels.n_classes());
            let walked = target.folds(x, folds, which, &quiet, |fold| {
                let (fitted, _) = stage.fit_any(&fold.x, &fold.target(), &quiet)?;
                let part = fitted.scores(&fold.held, &quiet)?;
                for (at, row) in fold.held_rows.iter().enumerate() {
                    if let Ok(to) = rows.binary_search(row) {
                        scores.row_mut(to).copy_from_slice(part.row(at));
                    }
                }
                run.advance(1);
                Ok(())
            })?;
            if !walked {
                run.warn("too few labelled documents to calibrate probabilities; scores are given as they are");
                return Ok(Decision::default());
            }
            let truth = labels.select(&rows);
            let calibration = if needs_calibration { Some(Calibration::fit(&scores, &truth)?) } else { None };
            let thresholds =
                if multi { Some(Thresholds::fit_near(&scores, &truth, fitted.usual_threshold())?) } else { None };
            Ok(Decision { calibration, thresholds })
        })
    }

    /// The classes given to each document, best first.
    pub(super) fn labels(
        &self,
        classifier: &dyn ClassifierModel,
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
    pub(super) fn probabilities(&self, classifier: &dyn ClassifierModel, scores: &Dense) -> Result<Option<Dense>> {
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
