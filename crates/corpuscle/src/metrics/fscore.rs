//! Precision, recall and F1 of one class, and their three averages.
//!
//! With `correct`, `predicted` and `support` documents of a class ([`ClassTally`]):
//! precision = correct / predicted, recall = correct / support, F1 = 2 · correct / (predicted + support),
//! each 0 where it would divide by 0 (`zero_division=0` of scikit-learn).
//!
//! - **micro**: of the sums over classes. For one class and one decision per document it equals the accuracy.
//! - **macro**: the plain mean over the classes that occur in the truth or the decisions. This is scikit-learn's
//!   default for single-label data; for an indicator matrix scikit-learn also counts columns that never occur, as 0.
//! - **weighted**: the mean weighted by support.
//!
//! ```
//! use corpuscle::metrics::{ClassTally, macro_average, micro_average};
//! let tallies = [ClassTally { support: 3, predicted: 1, correct: 1 }, ClassTally { support: 1, predicted: 3, correct: 1 }];
//! assert_eq!(micro_average(&tallies).f1, 0.5);
//! assert_eq!(macro_average(&tallies).precision, (1.0 + 1.0 / 3.0) / 2.0);
//! ```

use super::ClassTally;
use super::confusion::ratio;

/// Precision, recall and F1 together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PrecisionRecallF1 {
    /// The share of decisions that are right.
    pub precision: f64,
    /// The share of documents that are found.
    pub recall: f64,
    /// The harmonic mean of the two.
    pub f1: f64,
}

impl PrecisionRecallF1 {
    /// The scores of one class, or of sums over classes.
    pub fn of(tally: &ClassTally) -> Self {
        PrecisionRecallF1 {
            precision: ratio(tally.correct, tally.predicted),
            recall: ratio(tally.correct, tally.support),
            f1: ratio(2 * tally.correct, tally.predicted + tally.support),
        }
    }

    fn add(&mut self, other: Self, weight: f64) {
        self.precision += weight * other.precision;
        self.recall += weight * other.recall;
        self.f1 += weight * other.f1;
    }
}

/// The scores of the sums over all classes.
pub fn micro_average(tallies: &[ClassTally]) -> PrecisionRecallF1 {
    let mut sum = ClassTally::default();
    for tally in tallies {
        sum.support += tally.support;
        sum.predicted += tally.predicted;
        sum.correct += tally.correct;
    }
    PrecisionRecallF1::of(&sum)
}

/// The mean of the scores of the classes that occur in the truth or the decisions; zeros when there are none.
pub fn macro_average(tallies: &[ClassTally]) -> PrecisionRecallF1 {
    average(tallies, |tally| u64::from(tally.support + tally.predicted > 0))
}

/// The mean of the scores of all classes weighted by their support; zeros when no document has a class.
pub fn weighted_average(tallies: &[ClassTally]) -> PrecisionRecallF1 {
    average(tallies, |tally| tally.support)
}

fn average(tallies: &[ClassTally], weight: impl Fn(&ClassTally) -> u64) -> PrecisionRecallF1 {
    let (mut sum, mut total) = (PrecisionRecallF1::default(), 0);
    for tally in tallies {
        sum.add(PrecisionRecallF1::of(tally), weight(tally) as f64);
        total += weight(tally);
    }
    if total > 0 {
        for value in [&mut sum.precision, &mut sum.recall, &mut sum.f1] {
            *value /= total as f64;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn classes_that_never_occur_do_not_count() {
        let tallies = [ClassTally { support: 2, predicted: 2, correct: 2 }, ClassTally::default()];
        for average in [micro_average, macro_average, weighted_average] {
            assert_eq!(average(&tallies), PrecisionRecallF1 { precision: 1.0, recall: 1.0, f1: 1.0 });
            assert_eq!(average(&[]), PrecisionRecallF1::default());
        }
    }

    proptest! {
        #[test]
        fn f1_is_the_harmonic_mean_and_averages_stay_in_range(
            counts in prop::collection::vec((0u64..9, 0u64..9, 0u64..9), 0..6)
        ) {
            let tallies: Vec<ClassTally> = counts
                .into_iter()
                .map(|(correct, missed, wrong)| {
                    ClassTally { support: correct + missed, predicted: correct + wrong, correct }
                })
                .collect();
            for tally in &tallies {
                let PrecisionRecallF1 { precision, recall, f1 } = PrecisionRecallF1::of(tally);
                let harmonic = if tally.correct == 0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) };
                prop_assert!((f1 - harmonic).abs() < 1e-12);
            }
            for average in [micro_average(&tallies), macro_average(&tallies), weighted_average(&tallies)] {
                for value in [average.precision, average.recall, average.f1] {
                    prop_assert!((0.0..=1.0 + 1e-12).contains(&value));
                }
            }
        }
    }
}
