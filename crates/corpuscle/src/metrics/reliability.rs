//! How far probabilities can be believed: log loss, Brier score, and the error of their calibration.
//!
//! With one label per document, p the probabilities of a document and t its true class, as means over documents:
//!
//! - `log_loss` = −ln p_t, with p_t no smaller than 2⁻⁵², as in scikit-learn;
//! - `brier` = Σ_c (p_c − [c = t])² over all classes (Brier, 1950), from 0 to 2: scikit-learn's with `scale_by_half=False`;
//! - `calibration_error` = Σ_b n_b/n · |right_b − sure_b| over 15 bins of equal width of the largest probability, where right_b is
//!   the share of the bin's documents whose most probable class is true and sure_b the mean of that probability (Naeini, Cooper
//!   and Hauskrecht, 2015). A bin holds its upper border and not its lower.
//!
//! The most probable class can differ from the label given, which goes by scores. With several labels per document the same
//! are means over pairs of a document and a class, each a question of yes or no: `log_loss` = −ln of the probability of the
//! answer that is true, `brier` = (p − \[yes\])² from 0 to 1, and bins are of the probability of a yes, right_b the share of yes.
//!
//! A class that the model does not know has the probability 0; with several labels only the pairs where it is true are counted.
//! O(documents · classes).
//!
//! ```
//! use corpuscle::{corpus::Labels, matrix::Dense, metrics::Reliability};
//! let truth = Labels::from_single(["ham", "spam"].map(Some));
//! let found = Reliability::of(&truth, &Dense::from_rows(&[[0.75, 0.25], [0.5, 0.5]]), false)?;
//! assert!((found.log_loss - (4f64 / 3.0).ln() / 2.0 - 2f64.ln() / 2.0).abs() < 1e-12);
//! assert_eq!(found.brier, (0.125 + 0.5) / 2.0);
//! // One was right at 0.75; the other, between two equal classes, is taken for the first and wrong at 0.5.
//! assert_eq!(found.calibration_error, (0.25 + 0.5) / 2.0);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::corpus::Labels;
use crate::matrix::Dense;
use crate::{Error, Result};

/// Bins of the calibration error.
pub const RELIABILITY_BINS: usize = 15;

/// How far probabilities can be believed.
#[derive(Debug, Clone, PartialEq)]
pub struct Reliability {
    /// Mean negative logarithm of the probability of what is true.
    pub log_loss: f64,
    /// Mean squared difference of probabilities and truth.
    pub brier: f64,
    /// Expected calibration error.
    pub calibration_error: f64,
    /// The bins that are not empty, ascending.
    pub bins: Vec<ReliabilityBin>,
}

/// What is said with about the same probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// How many documents, or pairs of a document and a class.
    pub count: u64,
    /// Their mean probability.
    pub probability: f64,
    /// The share of them that is true.
    pub right: f64,
}

impl Reliability {
    /// Compares probabilities with the truth; the columns follow `truth.classes()`, which may know further classes. `multi_label`
    /// says whether each class is a question of its own. Documents without a label take no part.
    pub fn of(truth: &Labels, probabilities: &Dense, multi_label: bool) -> Result<Self> {
        if probabilities.rows() != truth.len() {
            let (expected, found) = (truth.len(), probabilities.rows());
            return Err(Error::Shape { what: "documents with probabilities", expected, found });
        }
        let classes = probabilities.cols();
        if classes > truth.n_classes() || classes == 0 {
            let expected = truth.n_classes();
            return Err(Error::Shape { what: "classes with probabilities", expected, found: classes });
        }
        let rows = truth.labelled_rows();
        if rows.is_empty() {
            return Err(Error::data(
                "none of the documents has a label, so probabilities have nothing to be compared with",
            ));
        }
        let mut sums = Sums::default();
        for row in rows {
            let given = probabilities.row(row);
            if let Some(bad) = given.iter().find(|p| !(0.0..=1.0).contains(*p)) {
                return Err(Error::data(format!("{bad} is no probability: it must be from 0 to 1")));
            }
            let unknown = truth.of(row).unwrap_or(&[]).iter().filter(|&&class| class as usize >= classes).count();
            let has = |class: usize| truth.has(row, class as u32);
            if multi_label {
                (0..classes).for_each(|class| sums.pair(f64::from(given[class]), has(class)));
                (0..unknown).for_each(|_| sums.pair(0.0, true));
            } else {
                let squares = |class| (f64::from(given[class]) - f64::from(u8::from(has(class)))).powi(2);
                sums.brier += (0..classes).map(squares).sum::<f64>() + unknown as f64;
                sums.log_loss -=
                    log((0..classes).find(|&class| has(class)).map_or(0.0, |class| f64::from(given[class])));
                // The first of several equal ones.
                let top = (1..classes).fold(0, |top, class| if given[class] > given[top] { class } else { top });
                sums.bin(f64::from(given[top]), has(top));
            }
        }
        Ok(sums.finish())
    }
}

#[derive(Default)]
struct Sums {
    log_loss: f64,
    brier: f64,
    /// Count, sum of probabilities, how many are true.
    bins: [(u64, f64, u64); RELIABILITY_BINS],
}

impl Sums {
    fn pair(&mut self, p: f64, yes: bool) {
        let true_answer = if yes { p } else { 1.0 - p };
        self.log_loss -= log(true_answer);
        self.brier += (1.0 - true_answer).powi(2);
        self.bin(p, yes);
    }

    fn bin(&mut self, p: f64, right: bool) {
        let at = ((p * RELIABILITY_BINS as f64).ceil() as usize).clamp(1, RELIABILITY_BINS) - 1;
        let bin = &mut self.bins[at];
        *bin = (bin.0 + 1, bin.1 + p, bin.2 + u64::from(right));
    }

    fn finish(self) -> Reliability {
        let n = self.bins.iter().map(|bin| bin.0).sum::<u64>() as f64;
        let bins: Vec<ReliabilityBin> = self
            .bins
            .into_iter()
            .filter(|bin| bin.0 > 0)
            .map(|(count, sum, right)| ReliabilityBin {
                count,
                probability: sum / count as f64,
                right: right as f64 / count as f64,
            })
            .collect();
        let off = |bin: &ReliabilityBin| bin.count as f64 / n * (bin.right - bin.probability).abs();
        Reliability {
            log_loss: self.log_loss / n,
            brier: self.brier / n,
            calibration_error: bins.iter().map(off).sum(),
            bins,
        }
    }
}

/// The logarithm, of 2⁻⁵² where it would be of less.
fn log(p: f64) -> f64 {
    p.max(f64::EPSILON).ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn certain_answers_cost_nothing_when_right_and_much_when_wrong() {
        let truth = Labels::from_single(["a", "b"].map(Some));
        let right = Reliability::of(&truth, &Dense::from_rows(&[[1.0, 0.0], [0.0, 1.0]]), false).unwrap();
        assert_eq!((right.log_loss, right.brier, right.calibration_error), (0.0, 0.0, 0.0));
        let wrong = Reliability::of(&truth, &Dense::from_rows(&[[0.0, 1.0], [1.0, 0.0]]), false).unwrap();
        assert_eq!((wrong.log_loss, wrong.brier, wrong.calibration_error), (-f64::EPSILON.ln(), 2.0, 1.0));
    }

    #[test]
    fn a_class_the_model_does_not_know_has_the_probability_0() {
        let known = ["a".to_string(), "b".to_string()];
        let truth = Labels::from_single(["a", "new"].map(Some)).align(&known);
        let found = Reliability::of(&truth, &Dense::from_rows(&[[1.0, 0.0], [1.0, 0.0]]), false).unwrap();
        assert_eq!((found.log_loss, found.brier), (-f64::EPSILON.ln() / 2.0, 1.0));
        let lists = [vec!["a".to_string()], vec!["a".to_string(), "new".to_string()]];
        let truth = Labels::from_lists(lists.iter().map(|list| Some(list.as_slice()))).align(&known);
        let found = Reliability::of(&truth, &Dense::from_rows(&[[1.0, 0.0], [1.0, 0.0]]), true).unwrap();
        assert_eq!(found.bins.iter().map(|bin| bin.count).sum::<u64>(), 5);
        assert_eq!(found.brier, 0.2);
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let truth = Labels::from_single(["a", "b"].map(Some));
        assert!(Reliability::of(&truth, &Dense::zeros(1, 2), false).is_err());
        assert!(Reliability::of(&truth, &Dense::zeros(2, 3), false).is_err());
        assert!(Reliability::of(&Labels::none(2), &Dense::zeros(2, 0), false).is_err());
        for bad in [f32::NAN, -0.1, 1.1] {
            let error = Reliability::of(&truth, &Dense::from_rows(&[[0.5, 0.5], [bad, 0.5]]), false).unwrap_err();
            assert!(error.to_string().contains("is no probability"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn figures_stay_in_their_ranges_and_unlabelled_rows_change_nothing(
            rows in prop::collection::vec((0usize..3, 0.01f32..1.0, 0.01f32..1.0, 0.01f32..1.0, any::<bool>()), 1..40),
            multi in any::<bool>(),
        ) {
            prop_assume!(rows.iter().any(|row| row.4));
            let names = ["a", "b", "c"].map(String::from);
            let shares = |row: &(usize, f32, f32, f32, bool)| {
                let sum = row.1 + row.2 + row.3;
                [row.1 / sum, row.2 / sum, row.3 / sum]
            };
            let known: Vec<_> = rows.iter().copied().filter(|row| row.4).collect();
            let of = |rows: &[(usize, f32, f32, f32, bool)]| {
                let truth = Labels::from_single(rows.iter().map(|row| row.4.then(|| &names[row.0]))).align(&names);
                let dense = Dense::from_rows(&rows.iter().map(shares).collect::<Vec<_>>());
                Reliability::of(&truth, &dense, multi).unwrap()
            };
            let found = of(&rows);
            prop_assert_eq!(&found, &of(&known));
            prop_assert!(found.log_loss >= 0.0 && (0.0..=2.0).contains(&found.brier));
            prop_assert!((0.0..=1.0).contains(&found.calibration_error));
            let count = known.len() * if multi { 3 } else { 1 };
            prop_assert_eq!(found.bins.iter().map(|bin| bin.count).sum::<u64>() as usize, count);
            prop_assert!(found.bins.windows(2).all(|pair| pair[0].probability < pair[1].probability));
        }
    }
}
