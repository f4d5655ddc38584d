//! Counting decisions against the truth: per class, per pair of classes, and as a whole.
//!
//! accuracy = documents whose decided set of classes is exactly the true one / documents (for multi-label data, the
//! "subset accuracy" of scikit-learn); Hamming loss = (document, class) pairs decided wrongly / (documents × classes).
//! All are one pass over the labels: O(labels), the confusion matrix O(labels + classes²).
//!
//! ```
//! use corpuscle::{corpus::Labels, metrics};
//! let truth = Labels::from_single([Some("ham"), Some("spam"), None, Some("spam")]);
//! let predicted = metrics::Predictions::single(vec![0, 0, 0, 1]);
//! let table = metrics::confusion(&truth, &predicted)?;
//! assert_eq!(table.classes, ["ham", "spam"]);
//! assert_eq!(table.counts, [[1, 0], [1, 1]]); // rows are the truth
//! # Ok::<(), corpuscle::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::Predictions;
use crate::corpus::Labels;
use crate::{Error, Result};

/// What there is to count about one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassTally {
    /// Documents that have the class.
    pub support: u64,
    /// Documents for which the class was decided.
    pub predicted: u64,
    /// Documents for both.
    pub correct: u64,
}

/// A table of decided classes (columns) over true classes (rows), for documents with one class each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// The classes that occur in the truth or the decisions, in the order of rows and columns.
    pub classes: Vec<String>,
    /// `counts[t][p]`: documents of class `t` for which `p` was decided.
    pub counts: Vec<Vec<u64>>,
}

/// The two by two table of one label of multi-label data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelCounts {
    /// The class.
    pub class: String,
    /// Documents that have it and got it.
    pub true_positive: u64,
    /// Documents that do not have it and got it.
    pub false_positive: u64,
    /// Documents that have it and did not get it.
    pub false_negative: u64,
    /// Documents that do not have it and did not get it.
    pub true_negative: u64,
}

/// The true and the decided classes of every labelled document.
pub(super) fn pairs<'a>(
    truth: &'a Labels,
    predicted: &'a Predictions,
) -> Result<impl Iterator<Item = (&'a [u32], &'a [u32])>> {
    predicted.check(truth.len(), truth.n_classes())?;
    Ok((0..truth.len()).filter_map(|row| truth.of(row).map(|ids| (ids, predicted.of(row)))))
}

/// How many class numbers two ascending lists share.
fn shared(left: &[u32], right: &[u32]) -> usize {
    left.iter().filter(|id| right.binary_search(id).is_ok()).count()
}

/// The counts of every class of `truth`, by class number.
pub fn tally(truth: &Labels, predicted: &Predictions) -> Result<Vec<ClassTally>> {
    let mut tallies = vec![ClassTally::default(); truth.n_classes()];
    for (actual, decided) in pairs(truth, predicted)? {
        for &id in actual {
            tallies[id as usize].support += 1;
            tallies[id as usize].correct += u64::from(decided.binary_search(&id).is_ok());
        }
        for &id in decided {
            tallies[id as usize].predicted += 1;
        }
    }
    Ok(tallies)
}

/// The numbers of the classes that occur in the truth or the decisions: those that reports list and that the macro
/// average is taken over, as scikit-learn does by default.
pub fn present_classes(tallies: &[ClassTally]) -> Vec<usize> {
    (0..tallies.len()).filter(|&class| tallies[class].support + tallies[class].predicted > 0).collect()
}

/// The share of documents whose decided classes are exactly the true ones; 0 without documents.
pub fn accuracy(truth: &Labels, predicted: &Predictions) -> Result<f64> {
    let (mut right, mut documents) = (0u64, 0u64);
    for (actual, decided) in pairs(truth, predicted)? {
        documents += 1;
        right += u64::from(actual == decided);
    }
    Ok(ratio(right, documents))
}

/// The share of (document, class) pairs decided wrongly, over all classes of `truth`; 0 without pairs.
pub fn hamming_loss(truth: &Labels, predicted: &Predictions) -> Result<f64> {
    let (mut wrong, mut documents) = (0, 0);
    for (actual, decided) in pairs(truth, predicted)? {
        documents += 1;
        wrong += actual.len() + decided.len() - 2 * shared(actual, decided);
    }
    Ok(ratio(wrong as u64, (documents * truth.n_classes()) as u64))
}

/// The confusion matrix over the classes that occur. Every labelled document must have one class and one decision.
pub fn confusion(truth: &Labels, predicted: &Predictions) -> Result<Confusion> {
    let present = present_classes(&tally(truth, predicted)?);
    let mut place = vec![0; truth.n_classes()];
    for (at, &class) in present.iter().enumerate() {
        place[class] = at;
    }
    let mut counts = vec![vec![0; present.len()]; present.len()];
    for (actual, decided) in pairs(truth, predicted)? {
        match (actual, decided) {
            (&[actual], &[decided]) => counts[place[actual as usize]][place[decided as usize]] += 1,
            _ => {
                return Err(Error::data(
                    "a confusion matrix needs one class per document; use the counts per label for multi-label data",
                ));
            }
        }
    }
    Ok(Confusion { classes: present.into_iter().map(|class| truth.classes()[class].clone()).collect(), counts })
}

/// The two by two table of every class that occurs.
pub fn label_counts(truth: &Labels, predicted: &Predictions) -> Result<Vec<LabelCounts>> {
    let documents = pairs(truth, predicted)?.count() as u64;
    let tallies = tally(truth, predicted)?;
    let table = |class: usize| {
        let ClassTally { support, predicted, correct } = tallies[class];
        LabelCounts {
            class: truth.classes()[class].clone(),
            true_positive: correct,
            false_positive: predicted - correct,
            false_negative: support - correct,
            true_negative: documents + correct - support - predicted,
        }
    };
    Ok(present_classes(&tallies).into_iter().map(table).collect())
}

/// `part / whole`, and 0 where there is no whole (scikit-learn's `zero_division=0`).
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_without_a_prediction_and_one_without_a_document() {
        let truth = Labels::from_single([Some("a"), Some("z"), Some("a")]).align(&["a".into(), "b".into(), "c".into()]);
        let predicted = Predictions::single(vec![0, 1, 1]);
        let table = confusion(&truth, &predicted).unwrap();
        assert_eq!(table.classes, ["a", "b", "z"]);
        assert_eq!(table.counts, [[1, 1, 0], [0, 0, 0], [0, 1, 0]]);
        assert_eq!(accuracy(&truth, &predicted).unwrap(), 1.0 / 3.0);
    }

    #[test]
    fn classes_in_any_order_keep_their_rows_and_columns() {
        let classes = ["zeta", "alpha", "mid"].map(String::from).to_vec();
        let truth = Labels::from_ids(classes, &[0, 1, 2, 2, 0]).unwrap();
        let table = confusion(&truth, &Predictions::single(vec![0, 2, 2, 1, 2])).unwrap();
        assert_eq!(table.classes, ["zeta", "alpha", "mid"]);
        assert_eq!(table.counts, [[1, 0, 1], [0, 0, 1], [0, 1, 1]]);
    }

    #[test]
    fn several_labels_have_two_by_two_tables_and_no_matrix() {
        let rows = [Some(vec!["a".to_string(), "b".into()]), Some(vec![]), None];
        let truth = Labels::from_lists(rows.iter().map(|row| row.as_deref()));
        let predicted = Predictions::lists([vec![0], vec![1], vec![0, 1]]);
        assert!(confusion(&truth, &predicted).is_err());
        let tables = label_counts(&truth, &predicted).unwrap();
        let numbers = |t: &LabelCounts| [t.true_positive, t.false_positive, t.false_negative, t.true_negative];
        assert_eq!((numbers(&tables[0]), numbers(&tables[1])), ([1, 0, 0, 1], [0, 1, 1, 0]));
        assert_eq!(hamming_loss(&truth, &predicted).unwrap(), 0.5);
        assert_eq!(accuracy(&truth, &predicted).unwrap(), 0.0);
    }

    #[test]
    fn nothing_to_count_is_not_an_error() {
        let truth = Labels::from_single([None::<&str>]);
        let predicted = Predictions::lists([vec![]]);
        assert_eq!(accuracy(&truth, &predicted).unwrap(), 0.0);
        assert_eq!(hamming_loss(&truth, &predicted).unwrap(), 0.0);
        assert!(confusion(&truth, &predicted).unwrap().classes.is_empty());
    }
}
