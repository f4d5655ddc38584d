//! Labels that may be wrong: documents for which the model is surer of another class than it usually is of that class.
//!
//! Confident learning: with p(i, c) the probability of class c for document i, told by a model that has not learnt from i,
//! the threshold of a class is its mean self-confidence t(c) = mean of p(i, c) over the documents labelled c. A document
//! labelled y is doubted when p(i, y) < t(y) and some other class has p(i, c) ≥ t(c); the class suggested is the one of
//! those with the largest p(i, c), and documents are ranked by the margin p(i, c) − p(i, y). O(documents · classes).
//!
//! Reference: Northcutt, Jiang and Chuang, Confident learning: estimating uncertainty in dataset labels, JAIR 2021. We
//! differ in asking for p(i, y) < t(y) as well, which leaves out documents that are typical of two classes.
//!
//! ```
//! use corpuscle::{corpus::Labels, matrix::Dense, metrics::doubtful_labels};
//! let truth = Labels::from_single(["a", "a", "b", "b", "b"].map(Some));
//! let said = Dense::from_rows(&[[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8], [0.95, 0.05]]);
//! let doubts = doubtful_labels(&truth, &said)?;
//! assert_eq!((doubts.len(), doubts[0].row, doubts[0].suggested), (1, 4, 0));
//! # Ok::<(), corpuscle::Error>(())
//! ```

use crate::corpus::Labels;
use crate::matrix::Dense;
use crate::{Error, Result};

/// A label that may be wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Doubt {
    /// The document.
    pub row: usize,
    /// The label it has.
    pub given: u32,
    /// The probability of that label.
    pub given_probability: f32,
    /// The label it may deserve.
    pub suggested: u32,
    /// The probability of that one.
    pub suggested_probability: f32,
}

impl Doubt {
    /// How much likelier the label suggested is than the label given.
    pub fn margin(&self) -> f32 {
        self.suggested_probability - self.given_probability
    }
}

/// The documents whose labels are doubted, the largest margin first. Classes beyond the columns of `probabilities` are
/// unknown to the model: it cannot doubt them. Documents with several labels or none take no part.
pub fn doubtful_labels(truth: &Labels, probabilities: &Dense) -> Result<Vec<Doubt>> {
    if truth.len() != probabilities.rows() {
        return Err(Error::Shape { what: "rows of probabilities", expected: truth.len(), found: probabilities.rows() });
    }
    let classes = probabilities.cols();
    let given = |row: usize| match truth.of(row) {
        Some(&[class]) if (class as usize) < classes => Some(class),
        _ => None,
    };
    let (mut sums, mut counts) = (vec![0f64; classes], vec![0u64; classes]);
    for row in 0..truth.len() {
        if let Some(class) = given(row) {
            sums[class as usize] += f64::from(probabilities.row(row)[class as usize]);
            counts[class as usize] += 1;
        }
    }
    // A class that no document is labelled with has no usual confidence, and nothing is suggested to be of it.
    let usual: Vec<f64> = sums
        .iter()
        .zip(&counts)
        .map(|(sum, &count)| if count > 0 { sum / count as f64 } else { f64::INFINITY })
        .collect();
    let mut doubts = Vec::new();
    for row in 0..truth.len() {
        let Some(label) = given(row) else { continue };
        let said = probabilities.row(row);
        let own = said[label as usize];
        if f64::from(own) >= usual[label as usize] {
            continue;
        }
        let sure = (0u32..).zip(said).filter(|&(class, &p)| class != label && f64::from(p) >= usual[class as usize]);
        let best = sure.reduce(|best, next| if next.1 > best.1 { next } else { best });
        if let Some((suggested, &p)) = best
            && p > own
        {
            let (given_probability, suggested_probability) = (own, p);
            doubts.push(Doubt { row, given: label, given_probability, suggested, suggested_probability });
        }
    }
    doubts.sort_by(|a, b| b.margin().total_cmp(&a.margin()).then(a.row.cmp(&b.row)));
    Ok(doubts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_wrong_labels_are_found_first() {
        let names = ["a", "b", "c"];
        let labels: Vec<usize> = (0..90).map(|i| if i % 30 == 7 { (i + 1) % 3 } else { i % 3 }).collect();
        let truth = Labels::from_single(labels.iter().map(|&class| Some(names[class])));
        // The model is a little surer of those than of most, and of the first of them most.
        let own = |i: usize| if i % 30 == 7 { 0.8 - i as f32 * 1e-3 } else { 0.6 };
        let values = (0..90).flat_map(|i| (0..3).map(move |c| if c == i % 3 { own(i) } else { 0.1 }));
        let doubts = doubtful_labels(&truth, &Dense::new(90, 3, values.collect::<Vec<f32>>()).unwrap()).unwrap();
        assert_eq!(doubts.iter().map(|doubt| doubt.row).take(3).collect::<Vec<_>>(), [7, 37, 67]);
        assert!(doubts.iter().all(|doubt| doubt.suggested as usize == doubt.row % 3));
    }

    #[test]
    fn what_cannot_be_doubted_is_left_alone() {
        let truth = Labels::from_single([Some("a"), None, Some("b"), Some("new")]);
        let said = Dense::from_rows(&[[f32::NAN, 0.5], [0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]);
        assert!(doubtful_labels(&truth, &said).unwrap().is_empty());
        assert!(doubtful_labels(&truth, &Dense::zeros(3, 2)).is_err());
        assert!(doubtful_labels(&Labels::from_single::<&str>([]), &Dense::zeros(0, 0)).unwrap().is_empty());
    }
}
