//! How well scores put the right labels first: precision@k, nDCG@k, coverage error, label ranking average precision.
//!
//! For one document with the relevant labels R, g_p = 1 if the label at place p (from 1) is relevant, else 0:
//! - precision@k = Σ_{p ≤ k} g_p / k. It divides by k even where there are fewer classes or fewer relevant labels, and
//!   a document without relevant labels counts 0: the usual definition for extreme classification (Bhatia et al. 2015),
//!   which the code of the SCDV paper follows;
//! - DCG@k = Σ_{p ≤ k} g_p / log₂(p + 1); nDCG@k divides it by the best one possible, that of min(k, |R|) relevant
//!   labels in front (0 when R is empty, as in scikit-learn);
//! - `ndcg_at_scdv`, what the SCDV paper (Mekala et al. 2017) reports as nDCG@k: DCG@k divided by that of k relevant
//!   labels, however few there are. It never exceeds the standard one;
//! - coverage error = how far down the list one must go to find all of R: max over R of the number of labels scored no
//!   lower (0 when R is empty);
//! - label ranking average precision = mean over R of (relevant labels scored no lower / labels scored no lower), and
//!   1 when R is empty or all labels (Tsoumakas et al. 2010; both as in scikit-learn).
//!
//! Each is averaged over labelled documents. Labels with equal scores share the places they span equally, so g_p is
//! then a fraction and the result does not depend on the order of the classes. scikit-learn's nDCG does the same; the
//! code of the SCDV paper lets the last class win.
//! Classes beyond the scored ones come after all others, and are never found by precision@k and nDCG@k.
//! O(classes · log classes) per document.
//!
//! ```
//! use corpuscle::{corpus::Labels, matrix::Dense, metrics};
//! let rows = [Some(vec!["a".to_string(), "c".to_string()])];
//! let truth = Labels::from_lists(rows.iter().map(|row| row.as_deref())).align(&["a".into(), "b".into(), "c".into()]);
//! let scores = Dense::from_rows(&[[0.9, 0.5, 0.2]]);
//! assert_eq!(metrics::precision_at(&truth, &scores, 1)?, 1.0);
//! assert_eq!(metrics::coverage_error(&truth, &scores)?, 3.0);
//! assert_eq!(metrics::lrap(&truth, &scores)?, (1.0 + 2.0 / 3.0) / 2.0);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use crate::corpus::Labels;
use crate::matrix::Dense;
use crate::{Error, Result};

/// Every ranking figure from one pass over the documents.
#[derive(Debug, Clone, PartialEq)]
pub struct RankingScores {
    /// Precision at each of the depths asked for.
    pub precision_at: Vec<f64>,
    /// nDCG at each of the depths asked for.
    pub ndcg_at: Vec<f64>,
    /// nDCG as the SCDV paper has it, at each of the depths asked for.
    pub ndcg_at_scdv: Vec<f64>,
    /// Mean depth at which all labels are found.
    pub coverage_error: f64,
    /// Label ranking average precision.
    pub lrap: f64,
}

/// The share of relevant labels among the first `k`.
pub fn precision_at(truth: &Labels, scores: &Dense, k: usize) -> Result<f64> {
    Ok(RankingScores::of(truth, scores, &[k])?.precision_at[0])
}

/// The discounted cumulative gain of the first `k` labels, over the best possible for each document.
pub fn ndcg_at(truth: &Labels, scores: &Dense, k: usize) -> Result<f64> {
    Ok(RankingScores::of(truth, scores, &[k])?.ndcg_at[0])
}

/// The discounted cumulative gain of the first `k` labels, over that of `k` relevant ones: the SCDV paper's nDCG.
pub fn ndcg_at_scdv(truth: &Labels, scores: &Dense, k: usize) -> Result<f64> {
    Ok(RankingScores::of(truth, scores, &[k])?.ndcg_at_scdv[0])
}

/// How many of the best-scored labels one must take, on average, to have all the true ones.
pub fn coverage_error(truth: &Labels, scores: &Dense) -> Result<f64> {
    Ok(RankingScores::of(truth, scores, &[])?.coverage_error)
}

/// Label ranking average precision.
pub fn lrap(truth: &Labels, scores: &Dense) -> Result<f64> {
    Ok(RankingScores::of(truth, scores, &[])?.lrap)
}

/// An error unless there is a row of scores per document and no class is scored that the labels do not know.
pub(super) fn check_scores(truth: &Labels, scores: &Dense) -> Result<()> {
    if scores.rows() != truth.len() {
        return Err(Error::Shape { what: "documents with scores", expected: truth.len(), found: scores.rows() });
    }
    if scores.cols() > truth.n_classes() {
        return Err(Error::Shape {
            what: "classes with scores (align the labels with the model's classes)",
            expected: truth.n_classes(),
            found: scores.cols(),
        });
    }
    match (0..scores.rows()).find(|&row| scores.row(row).iter().any(|score| score.is_nan())) {
        Some(row) => Err(Error::data(format!("a score of document {} is not a number", row + 1))),
        None => Ok(()),
    }
}

impl RankingScores {
    /// All ranking figures, at the depths `ks` where they have one. Without labelled documents all are 0.
    pub fn of(truth: &Labels, scores: &Dense, ks: &[usize]) -> Result<Self> {
        check_scores(truth, scores)?;
        if ks.contains(&0) {
            return Err(Error::parameter("metrics", "k", 0, "must be above 0"));
        }
        let deepest = ks.iter().copied().max().unwrap_or(0);
        let discounts: Vec<f64> = (0..deepest).map(|place| 1.0 / (place as f64 + 2.0).log2()).collect();
        let ideals: Vec<f64> = std::iter::once(0.0)
            .chain(discounts.iter().scan(0.0, |sum, discount| {
                *sum += discount;
                Some(*sum)
            }))
            .collect();

        let mut sum = RankingScores {
            precision_at: vec![0.0; ks.len()],
            ndcg_at: vec![0.0; ks.len()],
            ndcg_at_scdv: vec![0.0; ks.len()],
            coverage_error: 0.0,
            lrap: 0.0,
        };
        let mut ranked = RankedRow::default();
        let mut documents = 0u64;
        for row in 0..truth.len() {
            let Some(relevant) = truth.of(row) else { continue };
            documents += 1;
            ranked.rank(scores.row(row), relevant, truth.n_classes(), deepest);
            sum.coverage_error += ranked.coverage;
            sum.lrap += ranked.average_precision;
            for (at, &k) in ks.iter().enumerate() {
                let gains = &ranked.gains[..k.min(ranked.gains.len())];
                let dcg: f64 = gains.iter().zip(&discounts).map(|(gain, discount)| gain * discount).sum();
                sum.precision_at[at] += gains.iter().sum::<f64>() / k as f64;
                sum.ndcg_at_scdv[at] += dcg / ideals[k];
                if !relevant.is_empty() {
                    sum.ndcg_at[at] += dcg / ideals[k.min(relevant.len())];
                }
            }
        }
        if documents > 0 {
            let lists = [&mut sum.precision_at, &mut sum.ndcg_at, &mut sum.ndcg_at_scdv];
            let each = lists.into_iter().flatten().chain([&mut sum.coverage_error, &mut sum.lrap]);
            each.for_each(|value| *value /= documents as f64);
        }
        Ok(sum)
    }
}

/// One document's labels in the order of their scores; its lists are used again for the next document.
#[derive(Default)]
struct RankedRow {
    /// The classes, best first.
    order: Vec<u32>,
    /// The expected relevance at each of the first places.
    gains: Vec<f64>,
    coverage: f64,
    average_precision: f64,
}

impl RankedRow {
    /// Ranks the `scores` of a document with the `relevant` classes among `classes`.
    fn rank(&mut self, scores: &[f32], relevant: &[u32], classes: usize, deepest: usize) {
        self.order.clear();
        self.order.extend(0..scores.len() as u32);
        // `check_scores` has refused what cannot be compared, and ties are told apart below.
        self.order.sort_unstable_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]));
        self.gains.clear();
        (self.coverage, self.average_precision) = (0.0, 0.0);
        let (mut found, mut start) = (0, 0);
        while start < self.order.len() && (found < relevant.len() || self.gains.len() < deepest) {
            let score = scores[self.order[start] as usize];
            let tied = self.order[start..].iter().take_while(|&&class| scores[class as usize] == score).count();
            let group = &self.order[start..start + tied];
            let hits = group.iter().filter(|&class| relevant.binary_search(class).is_ok()).count();
            let gain = hits as f64 / tied as f64;
            self.gains.extend(std::iter::repeat_n(gain, tied.min(deepest - self.gains.len())));
            start += tied;
            found += hits;
            if hits > 0 {
                self.coverage = start as f64;
                self.average_precision += hits as f64 * found as f64 / start as f64;
            }
        }
        let unscored = relevant.len() - found;
        if unscored > 0 {
            self.coverage = classes as f64;
            self.average_precision += unscored as f64 * relevant.len() as f64 / classes as f64;
        }
        if relevant.is_empty() || relevant.len() == classes {
            self.average_precision = 1.0;
        } else {
            self.average_precision /= relevant.len() as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(rows: &[&[&str]], classes: &[&str]) -> Labels {
        let rows: Vec<Option<Vec<String>>> =
            rows.iter().map(|row| Some(row.iter().map(ToString::to_string).collect())).collect();
        let classes: Vec<String> = classes.iter().map(ToString::to_string).collect();
        Labels::from_lists(rows.iter().map(|row| row.as_deref())).align(&classes)
    }

    #[test]
    fn a_class_without_scores_comes_last_and_is_never_found() {
        let truth = labels(&[&["a", "z"]], &["a", "b"]);
        let scores = Dense::from_rows(&[[1.0, 0.0]]);
        assert_eq!(precision_at(&truth, &scores, 5).unwrap(), 0.2);
        assert_eq!(coverage_error(&truth, &scores).unwrap(), 3.0);
        assert_eq!(lrap(&truth, &scores).unwrap(), (1.0 + 2.0 / 3.0) / 2.0);
        assert!(ndcg_at(&truth, &scores, 3).unwrap() < 1.0);
    }

    #[test]
    fn ties_share_their_places() {
        let truth = labels(&[&["b"]], &["a", "b", "c"]);
        let scores = Dense::from_rows(&[[1.0, 1.0, 0.0]]);
        assert_eq!(precision_at(&truth, &scores, 1).unwrap(), 0.5);
        assert_eq!(precision_at(&truth, &Dense::from_rows(&[[0.0, -0.0, -1.0]]), 1).unwrap(), 0.5);
    }

    #[test]
    fn what_cannot_be_ranked_is_refused() {
        let truth = labels(&[&["a"], &["b"]], &["a", "b"]);
        assert!(lrap(&truth, &Dense::zeros(1, 2)).is_err());
        assert!(lrap(&truth, &Dense::zeros(2, 3)).is_err());
        assert!(precision_at(&truth, &Dense::zeros(2, 2), 0).is_err());
        let error = lrap(&truth, &Dense::from_rows(&[[0.0, 0.0], [0.0, f32::NAN]])).unwrap_err();
        assert!(error.to_string().contains("document 2"), "{error}");
        let nothing = RankingScores::of(&truth.select(&[]), &Dense::zeros(0, 2), &[1]).unwrap();
        assert_eq!((nothing.lrap, nothing.precision_at[0]), (0.0, 0.0));
    }

    proptest! {
        #[test]
        fn growing_transforms_change_nothing_and_the_standard_is_no_lower_than_scdv(
            (relevant, scores) in prop::collection::vec((any::<bool>(), -3i8..3), 1..8).prop_map(|v| v.into_iter().unzip())
        ) {
            let (relevant, scores): (Vec<bool>, Vec<i8>) = (relevant, scores);
            let names: Vec<String> = (0..relevant.len()).map(|i| i.to_string()).collect();
            let row: Vec<String> = names.iter().zip(&relevant).filter(|(_, r)| **r).map(|(n, _)| n.clone()).collect();
            let truth = Labels::from_lists([Some(&row[..])]).align(&names);
            let dense = |f: fn(f32) -> f32| {
                Dense::new(1, scores.len(), scores.iter().map(|&s| f(f32::from(s))).collect::<Vec<f32>>()).unwrap()
            };
            let plain = RankingScores::of(&truth, &dense(|s| s), &[1, 3, 5]).unwrap();
            prop_assert_eq!(&plain, &RankingScores::of(&truth, &dense(|s| s.exp() - 7.0), &[1, 3, 5]).unwrap());
            for at in 0..3 {
                prop_assert!(plain.ndcg_at[at] >= plain.ndcg_at_scdv[at] - 1e-12);
                prop_assert!((0.0..=1.0 + 1e-12).contains(&plain.ndcg_at[at]));
            }
        }
    }
}
