//! Train-test pairs: repeated seeded draws, and the folds of a cross-validation. Every label keeps its share.
//!
//! ```
//! use corpuscle::{corpus::Labels, experiment::random_splits};
//! let labels = Labels::from_single(["a", "b"].iter().cycle().take(40).map(Some));
//! let splits = random_splits(&labels, 10, 0.5, 42)?;
//! assert!(splits.len() == 10 && splits.iter().all(|split| split.train.len() == 20 && split.test.len() == 20));
//! # Ok::<(), corpuscle::Error>(())
//! ```

use crate::corpus::{Labels, blocks, folds, hold_out, without};
use crate::{Error, Result};

/// Rows to learn from and rows to be tested on, both ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Rows to learn from; unlabelled ones among them.
    pub train: Vec<usize>,
    /// Labelled rows to be tested on.
    pub test: Vec<usize>,
}

/// `runs` independent draws of a training part with `share` of every label; the rest is tested on.
pub fn random_splits(labels: &Labels, runs: usize, share: f64, seed: u64) -> Result<Vec<Split>> {
    if runs == 0 {
        return Err(Error::parameter("experiment", "runs", runs, "must be at least 1"));
    }
    (0..runs as u64)
        .map(|run| {
            // Draws differ by the seed alone; the multiplier keeps those of neighbouring seeds apart.
            let (train, test) = hold_out(labels, share, seed.wrapping_add(run.wrapping_mul(0x9E37_79B9_7F4A_7C15)))?;
            Ok(Split { train: with_unlabelled(labels, train), test })
        })
        .collect()
}

/// The `k` folds of a cross-validation, each the test part once.
pub fn k_folds(labels: &Labels, k: usize, seed: u64) -> Result<Vec<Split>> {
    let rows = labels.labelled_rows();
    let folds = folds(labels, k, seed)?;
    Ok(folds.into_iter().map(|test| Split { train: with_unlabelled(labels, without(&rows, &test)), test }).collect())
}

/// The same with folds that are runs of neighbouring rows of each class ([`blocks`]).
pub fn blocked_folds(labels: &Labels, k: usize) -> Result<Vec<Split>> {
    let rows = labels.labelled_rows();
    let folds = blocks(labels, k)?;
    Ok(folds.into_iter().map(|test| Split { train: with_unlabelled(labels, without(&rows, &test)), test }).collect())
}

/// Unlabelled documents are learnt from in every split.
fn with_unlabelled(labels: &Labels, mut train: Vec<usize>) -> Vec<usize> {
    train.extend((0..labels.len()).filter(|&row| labels.of(row).is_none()));
    train.sort_unstable();
    train
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_differ_and_repeat_with_the_seed() {
        let labels = Labels::from_single((0..60).map(|i| (i % 6 != 0).then_some(if i % 2 == 0 { "a" } else { "b" })));
        let splits = random_splits(&labels, 3, 0.4, 7).unwrap();
        assert_eq!(splits, random_splits(&labels, 3, 0.4, 7).unwrap());
        assert_ne!(splits[0].test, splits[1].test);
        for split in splits.iter().chain(&k_folds(&labels, 5, 7).unwrap()) {
            assert!(split.test.iter().all(|row| row % 6 != 0 && !split.train.contains(row)));
            assert_eq!(split.train.len() + split.test.len(), 60);
        }
        assert!(blocked_folds(&labels, 1).is_err());
        assert!(random_splits(&labels, 0, 0.4, 7).is_err() && random_splits(&labels, 1, 1.0, 7).is_err());
    }

    #[test]
    fn blocks_are_runs_of_each_class_and_share_out_small_ones() {
        let names =
            (0..40).map(|row| Some(if row < 36 { ["a", "b", "c"][row % 3].to_string() } else { format!("rare{row}") }));
        let labels = Labels::from_single(names);
        let folds = blocked_folds(&labels, 4).unwrap();
        let mut all: Vec<usize> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..40).collect::<Vec<_>>());
        for (at, fold) in folds.iter().enumerate() {
            assert_eq!(fold.test[..9], (at * 9..at * 9 + 9).collect::<Vec<_>>());
            assert_eq!((fold.test.len(), fold.train.len()), (10, 30));
        }
    }
}
