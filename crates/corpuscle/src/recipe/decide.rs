//! From scores to labels and probabilities: what is learnt about a classifier's scores on held-out folds.
//!
//! One round of out-of-fold scores, the classifier's own where its fit has made some, serves every purpose: sigmoids that turn scores into
//! probabilities where the classifier has none of its own and where a document can have several labels, and into log-odds by which classes
//! are told apart ([`Calibration`]); for several labels, from where on one is given ([`Thresholds`]); how often answers of each confidence are
//! wrong ([`RiskCoverage`]), so that a model can abstain; and how strange training documents look ([`Novelty`]).
//!
//! The confidence of an answer is the probability of the label given. With several labels it is that of the whole list, as if
//! labels were independent: the geometric mean of p over labels given and 1 − p over those not given. An answer is wrong when
//! the label, or the list, is not exactly the true one.

use std::borrow::Cow;

use super::erase::AnyClassifier;
use super::model::Predictions;
use crate::classify::{Calibration, ClassifierModel, LinearModel, Novelty, OutOfFold, RiskCoverage, Thresholds};
use crate::matrix::{Dense, Matrix};
use crate::project::{FoldRows, Target, best};
use crate::store::{StoreReader, StoreWriter};
use crate::{Result, Run};

/// How scores become labels and probabilities.
#[derive(Debug, Clone, Default)]
pub(super) struct Decision {
    calibration: Option<Calibration>,
    thresholds: Option<Thresholds>,
    /// Not in files of earlier versions, as the novelty.
    risk: Option<RiskCoverage>,
    novelty: Option<Novelty>,
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
        // A model that trains itself is not as sure as its own probabilities say: it learnt from its own decisions. With several labels
        // the probabilities decide, and those of a method that was fitted on each label alone are not to be compared.
        let needs_calibration = !knows_probabilities || stage.self_trains() || multi;
        if folds == 0 {
            return Ok(Decision::default());
        }
        // What trains itself on unlabelled documents does so in every fold, or the scores would be another model's.
        let which = if stage.self_trains() { FoldRows::All } else { FoldRows::Labelled };
        run.stage("calibrate", Some(folds as u64), || {
            let (rows, quiet) = (labels.labelled_rows(), run.quiet());
            let held = match stage.out_of_fold() {
                Some(held) => Some(held.clone()),
                None => {
                    let mut held = OutOfFold::new(rows.clone(), labels.n_classes());
                    let walked = target.folds(x, folds, which, &quiet, |fold| {
                        let (fitted, _) = stage.fit_any(&fold.x, &fold.target(), &quiet)?;
                        held.take(&fold, fitted.as_ref(), &fold.held, &quiet)?;
                        run.advance(1);
                        Ok(())
                    })?;
                    walked.then_some(held)
                }
            };
            let Some(OutOfFold { scores, strangeness, .. }) = held else {
                if needs_calibration {
                    run.warn("too few labelled documents to calibrate probabilities; scores are given as they are");
                }
                return Ok(Decision::default());
            };
            let truth = labels.select(&rows);
            let mut decision = Decision::default();
            if needs_calibration {
                let calibration = Calibration::fit(&scores, &truth, &quiet)?;
                if multi {
                    decision.thresholds = Some(Thresholds::fit(&scores, &truth, &calibration)?);
                }
                decision.calibration = Some(calibration);
            }
            decision.novelty = Some(Novelty::of(strangeness)?);
            let Predictions { labels: given, probabilities, .. } = decision.answer(fitted, scores, multi)?;
            if let Some(probabilities) = probabilities {
                let answers = (0..rows.len()).map(|row| {
                    let truth = truth.of(row).unwrap_or(&[]);
                    let right = given[row].len() == truth.len() && given[row].iter().all(|class| truth.contains(class));
                    (confidence(&given[row], probabilities.row(row), multi), right)
                });
                decision.risk = Some(RiskCoverage::of(answers)?);
            }
            Ok(decision)
        })
    }

    /// How often out-of-fold answers of each confidence were wrong.
    pub(super) fn risk(&self) -> Option<&RiskCoverage> {
        self.risk.as_ref()
    }

    /// How strange training documents were when held out.
    pub(super) fn novelty(&self) -> Option<&Novelty> {
        self.novelty.as_ref()
    }

    /// What is said of documents with these scores of the classifier: classes, best first, and the scores by which they were told apart,
    /// which are log-odds where held-out documents have told what scores mean.
    pub(super) fn answer(&self, classifier: &dyn ClassifierModel, raw: Dense, multi: bool) -> Result<Predictions> {
        let probabilities = self.probabilities(classifier, &raw)?;
        let given = match (multi, &self.thresholds) {
            (false, _) => None,
            (true, Some(thresholds)) => Some(thresholds.decide(&raw)?),
            (true, None) => Some(Thresholds::constant(raw.cols(), classifier.usual_threshold()).decide(&raw)?),
        };
        let scores = match &self.calibration {
            Some(calibration) if calibration.decides() => calibration.log_odds(raw),
            _ => raw,
        };
        let labels = match given {
            None => (0..scores.rows()).map(|row| best(scores.row(row)).into_iter().collect()).collect(),
            Some(mut given) => {
                for (row, labels) in given.iter_mut().enumerate() {
                    let scores = scores.row(row);
                    labels.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b)));
                }
                given
            }
        };
        Ok(Predictions { labels, scores, probabilities })
    }

    /// What a score of the classifier adds to the score by which classes are told apart; `None` where they are the same.
    pub(super) fn slope(&self, class: u32) -> Option<f64> {
        let calibration = self.calibration.as_ref().filter(|calibration| calibration.decides())?;
        Some(calibration.slope(class as usize))
    }

    /// The weights that make the scores by which classes are told apart, from those of the classifier.
    pub(super) fn linear<'a>(&self, own: &'a LinearModel) -> Cow<'a, LinearModel> {
        match self.calibration.as_ref().filter(|calibration| calibration.decides()) {
            Some(calibration) => Cow::Owned(calibration.weights(own)),
            None => Cow::Borrowed(own),
        }
    }

    /// Whether answers have probabilities.
    pub(super) fn has_probabilities(&self, classifier: &dyn ClassifierModel) -> bool {
        let none = Dense::zeros(0, classifier.n_classes());
        self.probabilities(classifier, &none).is_ok_and(|probabilities| probabilities.is_some())
    }

    /// Probabilities, calibrated or the classifier's own.
    fn probabilities(&self, classifier: &dyn ClassifierModel, raw: &Dense) -> Result<Option<Dense>> {
        match &self.calibration {
            Some(calibration) => calibration.probabilities(raw).map(Some),
            None => Ok(classifier.own_probabilities(raw)),
        }
    }

    pub(super) fn notes(&self) -> Vec<(&'static str, String)> {
        let mut notes = Vec::new();
        if self.calibration.is_some() {
            notes.push(("probabilities", "calibrated on held-out folds".to_string()));
        }
        if self.thresholds.is_some() {
            notes.push((
                "thresholds",
                "one per label, between the best F1 of all labels and its own on held-out folds".to_string(),
            ));
        }
        notes
    }

    /// What later versions added stands behind what files have always had, and is left out where there is none.
    pub(super) fn save(&self, out: &mut StoreWriter) {
        if let Some(calibration) = &self.calibration {
            out.scope("calibration", |out| calibration.save(out));
        }
        if let Some(thresholds) = &self.thresholds {
            out.scope("thresholds", |out| thresholds.save(out));
        }
        if let Some(risk) = &self.risk {
            out.scope("risk", |out| risk.save(out));
        }
        if let Some(novelty) = &self.novelty {
            out.scope("novelty", |out| novelty.save(out));
        }
        out.put_u32("has", &[u32::from(self.calibration.is_some()), u32::from(self.thresholds.is_some())]);
    }

    pub(super) fn load(store: &StoreReader<'_>, classes: usize) -> Result<Self> {
        let has = store.u32s("has", Some(2))?;
        let (risk, novelty) = (store.scope("risk"), store.scope("novelty"));
        Ok(Decision {
            calibration: match has[0] {
                0 => None,
                _ => Some(Calibration::load(&store.scope("calibration"), Some(classes))?),
            },
            thresholds: match has[1] {
                0 => None,
                _ => Some(Thresholds::load(&store.scope("thresholds"), Some(classes))?),
            },
            risk: if risk.has("thresholds") { Some(RiskCoverage::load(&risk)?) } else { None },
            novelty: if novelty.has("strangeness") { Some(Novelty::load(&novelty)?) } else { None },
        })
    }
}

/// How sure an answer is: the probability of the label given, or of the whole list.
pub(super) fn confidence(given: &[u32], probabilities: &[f32], multi: bool) -> f32 {
    if !multi {
        return given.first().map_or(0.0, |&class| probabilities[class as usize]);
    }
    let of = |(class, &p): (usize, &f32)| f64::from(if given.contains(&(class as u32)) { p } else { 1.0 - p });
    // As logarithms: a product over many labels would be no number a file can hold.
    let logs = probabilities.iter().enumerate().map(|each| of(each).max(f64::MIN_POSITIVE).ln());
    (logs.sum::<f64>() / probabilities.len().max(1) as f64).exp() as f32
}
