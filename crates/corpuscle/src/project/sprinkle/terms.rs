//! How many artificial terms each class gets from a confusion matrix.

use crate::{Error, Result};

/// Artificial terms per class from a classifier's confusion matrix (`confusion[i][j]`: documents of class i taken for
/// class j) and the maximum sprinkling length.
///
/// P(i|j) = q_ij / Σ_i q_ij, P(j|i) = q_ij / Σ_j q_ij, the mutual complexity mcc(i, j) is the mean of both, made
/// symmetric and divided by its maximum over pairs of classes. A pair gets s = round(msl · mcc) terms for the one class
/// and s others for the other; the number returned for a class is the sum over its pairs. Without any confusion no
/// class gets a term. O(classes²).
///
/// ```
/// let confusion = [vec![8, 2, 0], vec![2, 8, 0], vec![1, 0, 9]];
/// assert_eq!(corpuscle::project::sprinkled_terms(&confusion, 8)?, [10, 8, 2]);
/// # Ok::<(), corpuscle::Error>(())
/// ```
pub fn sprinkled_terms(confusion: &[Vec<u64>], msl: usize) -> Result<Vec<usize>> {
    let classes = confusion.len();
    if let Some(row) = confusion.iter().find(|row| row.len() != classes) {
        return Err(Error::Shape { what: "columns of the confusion matrix", expected: classes, found: row.len() });
    }
    // As floats: sums of counts near the largest integer must not overflow.
    let count = |i: usize, j: usize| confusion[i][j] as f64;
    let row_sums: Vec<f64> = (0..classes).map(|i| (0..classes).map(|j| count(i, j)).sum()).collect();
    let column_sums: Vec<f64> = (0..classes).map(|j| (0..classes).map(|i| count(i, j)).sum()).collect();
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let one_way = |i: usize, j: usize| share(count(i, j), column_sums[j]) + share(count(i, j), row_sums[i]);
    let complexity = |i: usize, j: usize| one_way(i, j) + one_way(j, i);
    let pairs = || (0..classes).flat_map(|i| (i + 1..classes).map(move |j| (i, j)));
    let most = pairs().map(|(i, j)| complexity(i, j)).fold(0.0, f64::max);
    let mut terms = vec![0; classes];
    if most > 0.0 {
        for (i, j) in pairs() {
            let shared = (msl as f64 * complexity(i, j) / most).round() as usize;
            terms[i] += shared;
            terms[j] += shared;
        }
    }
    Ok(terms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_confusion_no_terms_and_a_bad_shape_is_refused() {
        assert_eq!(sprinkled_terms(&[vec![5, 0], vec![0, 7]], 8).unwrap(), [0, 0]);
        assert_eq!(sprinkled_terms(&[vec![0, 0], vec![0, 0]], 8).unwrap(), [0, 0]);
        assert!(sprinkled_terms(&[], 8).unwrap().is_empty());
        assert!(sprinkled_terms(&[vec![1, 2], vec![3]], 8).is_err());
    }

    #[test]
    fn the_most_confused_pair_gets_the_full_length_and_counts_may_be_huge() {
        let huge = u64::MAX / 2;
        assert_eq!(sprinkled_terms(&[vec![huge, huge], vec![0, huge]], 3).unwrap(), [3, 3]);
    }
}
