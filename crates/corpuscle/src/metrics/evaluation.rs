//! All figures of one set of decisions and scores, with the names that `evaluate --json` prints.
//!
//! ```
//! use corpuscle::{corpus::Labels, matrix::Dense, metrics::{Evaluation, Predictions}};
//! let truth = Labels::from_single([Some("ham"), Some("spam"), None, Some("spam")]);
//! let scores = Dense::from_rows(&[[0.9, 0.1], [0.8, 0.3], [0.5, 0.5], [0.1, 0.7]]);
//! let evaluation = Evaluation::of(&truth, &Predictions::best(&scores)?, Some(&scores))?;
//! assert_eq!((evaluation.documents, evaluation.unlabelled), (3, 1));
//! assert_eq!(evaluation.accuracy, 2.0 / 3.0);
//! assert_eq!(evaluation.per_class[1].recall, 0.5);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::confusion::{self, Confusion, LabelCounts};
use super::fscore::{PrecisionRecallF1, macro_average, micro_average, weighted_average};
use super::{ClassTally, DetCurve, Predictions, RankingScores, Reliability, ReliabilityBin};
use crate::corpus::Labels;
use crate::matrix::Dense;
use crate::{Error, Result};

/// The depths at which precision and nDCG are reported, those of the SCDV paper.
pub const RANKS: [usize; 3] = [1, 3, 5];

/// Every figure about a classifier's answers to a set of documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Labelled documents: those that are counted.
    pub documents: usize,
    /// Documents left out because nothing is known about their class.
    pub unlabelled: usize,
    /// Whether documents may have any number of classes.
    pub multi_label: bool,
    /// The share of documents decided exactly right (all labels, for multi-label data).
    pub accuracy: f64,
    /// Precision over all decisions.
    pub micro_precision: f64,
    /// Recall over all labels.
    pub micro_recall: f64,
    /// F1 over all decisions and labels.
    pub micro_f1: f64,
    /// Mean precision of the classes that occur.
    pub macro_precision: f64,
    /// Mean recall of the classes that occur.
    pub macro_recall: f64,
    /// Mean F1 of the classes that occur.
    pub macro_f1: f64,
    /// Mean precision of the classes, weighted by their documents.
    pub weighted_precision: f64,
    /// Mean recall of the classes, weighted by their documents.
    pub weighted_recall: f64,
    /// Mean F1 of the classes, weighted by their documents.
    pub weighted_f1: f64,
    /// Equal error rate of all (document, class) pairs; `None` without scores, or when only one kind of pair exists.
    pub eer: Option<f64>,
    /// Log loss; `None` without probabilities, as the two that follow. How each is computed: [`Reliability`].
    #[serde(default)]
    pub log_loss: Option<f64>,
    /// Brier score.
    #[serde(default)]
    pub brier: Option<f64>,
    /// Expected calibration error.
    #[serde(default)]
    pub calibration_error: Option<f64>,
    /// How often what is said with about the same probability is true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reliability: Vec<ReliabilityBin>,
    /// The classes that occur in the truth or the decisions, in the order of the labels' classes.
    pub per_class: Vec<ClassScore>,
    /// Who was taken for whom; single-label data only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confusion: Option<Confusion>,
    /// Right and wrong per label; multi-label data only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_counts: Option<Vec<LabelCounts>>,
    /// Precision at each of [`RANKS`]; multi-label data with scores only, as all that follow but the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision_at: Option<BTreeMap<usize, f64>>,
    /// nDCG at each of [`RANKS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ndcg_at: Option<BTreeMap<usize, f64>>,
    /// nDCG at each of [`RANKS`] as the SCDV paper computes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ndcg_at_scdv: Option<BTreeMap<usize, f64>>,
    /// How many of the best-scored labels it takes to have all the true ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage_error: Option<f64>,
    /// Label ranking average precision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lrap: Option<f64>,
    /// The share of (document, class) pairs decided wrongly; multi-label data only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hamming_loss: Option<f64>,
}

/// The figures of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassScore {
    /// The class.
    pub class: String,
    /// Documents that have it.
    pub support: u64,
    /// Documents for which it was decided.
    pub predicted: u64,
    /// The share of decisions for it that are right.
    pub precision: f64,
    /// The share of its documents that were found.
    pub recall: f64,
    /// The harmonic mean of the two.
    pub f1: f64,
}

impl Evaluation {
    /// Compares decisions and scores with the truth. The first columns of `scores` and the predicted numbers follow
    /// `truth.classes()`; it may know further classes, as [`Labels::align`] leaves them.
    ///
    /// Fails when no document is labelled, when sizes do not fit, or when a score is not a number.
    pub fn of(truth: &Labels, predicted: &Predictions, scores: Option<&Dense>) -> Result<Self> {
        let documents = truth.labelled_rows().len();
        if documents == 0 {
            return Err(Error::data(format!(
                "none of the {} documents has a label, so there is nothing to compare with",
                truth.len()
            )));
        }
        let multi_label = truth.is_multi_label() || predicted.is_multi_label();
        let tallies = confusion::tally(truth, predicted)?;
        let (micro, macros, weighted) = (micro_average(&tallies), macro_average(&tallies), weighted_average(&tallies));
        let mut evaluation = Evaluation {
            documents,
            unlabelled: truth.len() - documents,
            multi_label,
            accuracy: confusion::accuracy(truth, predicted)?,
            micro_precision: micro.precision,
            micro_recall: micro.recall,
            micro_f1: micro.f1,
            macro_precision: macros.precision,
            macro_recall: macros.recall,
            macro_f1: macros.f1,
            weighted_precision: weighted.precision,
            weighted_recall: weighted.recall,
            weighted_f1: weighted.f1,
            eer: scores.map(|scores| DetCurve::of(truth, scores)).transpose()?.and_then(|curve| curve.eer()),
            log_loss: None,
            brier: None,
            calibration_error: None,
            reliability: Vec::new(),
            per_class: per_class(truth, &tallies),
            confusion: None,
            label_counts: None,
            precision_at: None,
            ndcg_at: None,
            ndcg_at_scdv: None,
            coverage_error: None,
            lrap: None,
            hamming_loss: None,
        };
        if multi_label {
            evaluation.label_counts = Some(confusion::label_counts(truth, predicted)?);
            evaluation.hamming_loss = Some(confusion::hamming_loss(truth, predicted)?);
            if let Some(scores) = scores {
                evaluation.add_ranking(RankingScores::of(truth, scores, &RANKS)?);
            }
        } else {
            evaluation.confusion = Some(confusion::confusion(truth, predicted)?);
        }
        Ok(evaluation)
    }

    /// The same with what the probabilities of the documents are worth.
    pub fn with_probabilities(mut self, truth: &Labels, probabilities: &Dense) -> Result<Self> {
        let found = Reliability::of(truth, probabilities, self.multi_label)?;
        self.log_loss = Some(found.log_loss);
        self.brier = Some(found.brier);
        self.calibration_error = Some(found.calibration_error);
        self.reliability = found.bins;
        Ok(self)
    }

    fn add_ranking(&mut self, ranking: RankingScores) {
        let by_rank = |values: Vec<f64>| Some(RANKS.into_iter().zip(values).collect());
        self.precision_at = by_rank(ranking.precision_at);
        self.ndcg_at = by_rank(ranking.ndcg_at);
        self.ndcg_at_scdv = by_rank(ranking.ndcg_at_scdv);
        self.coverage_error = Some(ranking.coverage_error);
        self.lrap = Some(ranking.lrap);
    }
}

fn per_class(truth: &Labels, tallies: &[ClassTally]) -> Vec<ClassScore> {
    let score = |class: usize| {
        let PrecisionRecallF1 { precision, recall, f1 } = PrecisionRecallF1::of(&tallies[class]);
        ClassScore {
            class: truth.classes()[class].clone(),
            support: tallies[class].support,
            predicted: tallies[class].predicted,
            precision,
            recall,
            f1,
        }
    };
    confusion::present_classes(tallies).into_iter().map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_json_has_the_promised_names() {
        let truth = Labels::from_single([Some("a"), Some("b"), None]);
        let scores = Dense::from_rows(&[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]);
        let single = Evaluation::of(&truth, &Predictions::best(&scores).unwrap(), Some(&scores)).unwrap();
        let json = serde_json::to_value(&single).unwrap();
        for name in ["documents", "accuracy", "micro_f1", "macro_f1", "weighted_f1", "eer", "per_class", "confusion"] {
            assert!(!json[name].is_null(), "{name}");
        }
        assert_eq!(json["confusion"]["counts"][1][0], 1);
        assert!(json.get("precision_at").is_none() && json.get("label_counts").is_none());

        let multi = Evaluation::of(&truth, &Predictions::above(&scores, 0.5), Some(&scores)).unwrap();
        let json = serde_json::to_value(&multi).unwrap();
        for name in ["precision_at", "ndcg_at", "ndcg_at_scdv", "coverage_error", "lrap", "hamming_loss"] {
            assert!(!json[name].is_null(), "{name}");
        }
        assert_eq!(json["precision_at"]["1"], 0.5);
        assert_eq!(json["label_counts"][0]["false_positive"], 1);
        assert!(json.get("confusion").is_none());
        assert_eq!(serde_json::from_value::<Evaluation>(json).unwrap(), multi);
    }

    #[test]
    fn documents_of_unknown_classes_count_as_mistakes() {
        let truth = Labels::from_single([Some("a"), Some("new")]).align(&["a".into(), "b".into()]);
        let scores = Dense::from_rows(&[[1.0, 0.0], [1.0, 0.0]]);
        let evaluation = Evaluation::of(&truth, &Predictions::best(&scores).unwrap(), Some(&scores)).unwrap();
        assert_eq!(evaluation.accuracy, 0.5);
        let new = &evaluation.per_class[1];
        assert_eq!((new.class.as_str(), new.support, new.predicted, new.recall), ("new", 1, 0, 0.0));
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let truth = Labels::from_single([None::<&str>, None]);
        let error = Evaluation::of(&truth, &Predictions::single(vec![0, 0]), None).unwrap_err();
        assert!(error.to_string().contains("none of the 2 documents"), "{error}");
        let truth = Labels::from_single([Some("a"), Some("b")]);
        assert!(Evaluation::of(&truth, &Predictions::single(vec![0]), None).is_err());
        assert!(Evaluation::of(&truth, &Predictions::single(vec![0, 2]), None).is_err());
        assert_eq!(Evaluation::of(&truth, &Predictions::single(vec![0, 1]), None).unwrap().eer, None);
    }

    proptest! {
        #[test]
        fn one_class_each_makes_micro_f1_the_accuracy_and_unlabelled_rows_change_nothing(
            rows in prop::collection::vec((0u32..4, 0u32..4, any::<bool>()), 1..40)
        ) {
            let names = ["a", "b", "c", "d"].map(String::from);
            let all = Labels::from_single(rows.iter().map(|row| row.2.then(|| &names[row.0 as usize]))).align(&names);
            let known: Vec<_> = rows.iter().filter(|row| row.2).collect();
            let labelled = Labels::from_single(known.iter().map(|row| Some(&names[row.0 as usize]))).align(&names);
            prop_assume!(!known.is_empty());
            let whole = Evaluation::of(&all, &Predictions::single(rows.iter().map(|row| row.1).collect()), None).unwrap();
            let part = Predictions::single(known.iter().map(|row| row.1).collect());
            let part = Evaluation::of(&labelled, &part, None).unwrap();
            prop_assert_eq!(whole.micro_f1, whole.accuracy);
            prop_assert_eq!(&Evaluation { unlabelled: 0, ..whole }, &part);
        }
    }
}
