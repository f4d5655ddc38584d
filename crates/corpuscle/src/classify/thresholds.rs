//! Where the line is drawn for each label of a multi-label problem.
//!
//! A label is given when its calibrated probability is above its line. Where probabilities are true, the line with the best F1 = 2 tp /
//! (2 tp + fp + fn) is half the F1 it reaches (Lipton, Elkan and Naryanaswamy 2014). So the line of a label is (F + F_l) / 4: half way
//! between the one that is best for all labels together, F their best F1 on held-out documents, and the one that is best for the label
//! alone, F_l its own best F1 as if there were [`Thresholds::PRIOR`] more documents on which it reaches F. It is kept as the score at
//! which the label's sigmoid has that probability. O(n L log n L) for n documents and L labels.
//!
//! Not a line per label where its own raw scores have the best F1 (SCut, Yang 2001), which was here before: few documents say too
//! little about a cut of their own, and a cut of raw scores found on folds is too low for a model fitted on everything, whose scores are
//! higher. On drawn training documents (`bench/decisions.py`) rare labels then go to every document. One line for all labels has a
//! higher F1 of all labels together by half a point and a lower mean over labels by one to two where labels differ.
//!
//! ```
//! use corpuscle::Run;
//! use corpuscle::classify::{Calibration, Thresholds};
//! use corpuscle::corpus::Labels;
//! use corpuscle::matrix::Dense;
//! let lists = ["a", "a b", "b", "b"].map(|list| list.split(' ').map(String::from).collect::<Vec<_>>());
//! let labels = Labels::from_lists(lists.iter().map(|list| Some(list.as_slice())));
//! let scores = Dense::from_rows(&[[2.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-2.0, 2.0]]);
//! let calibration = Calibration::fit(&scores, &labels, &Run::new(0, 1)?)?;
//! let thresholds = Thresholds::fit(&scores, &labels, &calibration)?;
//! assert_eq!(thresholds.decide(&scores)?, [vec![0], vec![0, 1], vec![1], vec![1]]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use super::Calibration;
use crate::corpus::Labels;
use crate::matrix::Dense;
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result};

/// One threshold per label.
#[derive(Debug, Clone, PartialEq)]
pub struct Thresholds {
    values: Vec<f32>,
}

impl Thresholds {
    /// So many documents stand for all labels where the line of one is found.
    pub const PRIOR: f64 = 5.0;

    /// The threshold 0 for `n` labels: that of margins.
    pub fn default(n: usize) -> Self {
        Thresholds::constant(n, 0.0)
    }

    /// The same threshold for `n` labels.
    pub fn constant(n: usize, value: f32) -> Self {
        Thresholds { values: vec![value; n] }
    }

    /// The scores from which labels are given, from out-of-fold scores and the probabilities they mean. Rows are documents;
    /// unlabelled ones are left out.
    pub fn fit(scores: &Dense, labels: &Labels, calibration: &Calibration) -> Result<Self> {
        let probabilities = calibration.probabilities(scores)?;
        check(&probabilities, labels)?;
        let rows = labels.labelled_rows();
        let pair = |row: usize, label: usize| (probabilities.row(row)[label], labels.has(row, label as u32));
        let of_label = |label: usize| rows.iter().map(|&row| pair(row, label)).collect::<Vec<_>>();
        let of_all = best_f1((0..labels.n_classes()).flat_map(of_label).collect(), 0.0);
        let line = |label: usize| match of_all {
            // Where nothing is ever right, what is more likely than not.
            0.0 => 0.5,
            _ => (of_all + best_f1(of_label(label), of_all)) / 4.0,
        };
        Ok(Thresholds {
            values: (0..labels.n_classes()).map(|label| calibration.score_at(label, line(label))).collect(),
        })
    }

    /// The threshold of each label.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The labels of every document, ascending: those whose score is above their threshold.
    pub fn decide(&self, scores: &Dense) -> Result<Vec<Vec<u32>>> {
        if scores.cols() != self.values.len() {
            return Err(Error::Shape { what: "labels scored", expected: self.values.len(), found: scores.cols() });
        }
        let decide_one = |row: usize| {
            let scored = scores.row(row).iter().zip(&self.values).zip(0u32..);
            scored.filter(|((score, threshold), _)| score > threshold).map(|(_, label)| label).collect()
        };
        Ok((0..scores.rows()).map(decide_one).collect())
    }

    /// Puts the thresholds into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        out.put_f32("thresholds", &[self.values.len()], &self.values);
    }

    /// Takes the thresholds of `n` labels (`None`: any number) out of a store.
    pub fn load(store: &StoreReader<'_>, n: Option<usize>) -> Result<Self> {
        Ok(Thresholds { values: store.f32s("thresholds", &[n])?.0 })
    }
}

/// That scores are finite and that there is a row per document and a column per class.
pub(super) fn check(scores: &Dense, labels: &Labels) -> Result<()> {
    if scores.rows() != labels.len() {
        return Err(Error::Shape { what: "documents scored", expected: labels.len(), found: scores.rows() });
    }
    if scores.cols() != labels.n_classes() {
        return Err(Error::Shape { what: "classes scored", expected: labels.n_classes(), found: scores.cols() });
    }
    match scores.values().iter().all(|score| score.is_finite()) {
        true => Ok(()),
        false => Err(Error::data("a score is not finite")),
    }
}

/// The best F1 that any line between (probability, belongs) pairs reaches, with [`Thresholds::PRIOR`] more documents on which it is `prior`.
fn best_f1(mut scored: Vec<(f32, bool)>, prior: f64) -> f64 {
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let positives = scored.iter().filter(|(_, belongs)| *belongs).count();
    let more = if prior > 0.0 { Thresholds::PRIOR } else { 0.0 };
    let (mut best, mut right) = (0.0f64, 0u32);
    for (at, &(probability, belongs)) in scored.iter().enumerate() {
        right += u32::from(belongs);
        // Equal probabilities are on one side of every line.
        if scored.get(at + 1).is_none_or(|&(next, _)| next < probability) {
            best = best.max((2.0 * f64::from(right) + more * prior) / ((at + 1 + positives) as f64 + more));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use proptest::prelude::*;

    fn labels(rows: &[Vec<&str>]) -> Labels {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect();
        Labels::from_lists(rows.iter().map(|row| Some(row.as_slice())))
    }

    fn f1(scored: &[(f32, bool)], line: f32) -> f64 {
        let right = scored.iter().filter(|(p, belongs)| *p > line && *belongs).count();
        let taken = scored.iter().filter(|(p, _)| *p > line).count();
        let positives = scored.iter().filter(|(_, belongs)| *belongs).count();
        if taken + positives == 0 { 0.0 } else { 2.0 * right as f64 / (taken + positives) as f64 }
    }

    proptest! {
        #[test]
        fn the_best_f1_is_that_of_the_best_line(scored in proptest::collection::vec((0u8..16, any::<bool>()), 0..40)) {
            let scored: Vec<(f32, bool)> = scored.iter().map(|&(p, b)| (f32::from(p) / 16.0, b)).collect();
            let lines = (0..=16).map(|line| f1(&scored, f32::from(line as i8) / 16.0 - 0.01));
            prop_assert_eq!(best_f1(scored.clone(), 0.0), lines.fold(0.0, f64::max));
        }
    }

    /// `n` documents of which the first `common` have the one label, whose scores tell, and the first the rare one as well.
    fn rare_and_common(n: usize, common: usize) -> (Labels, Dense) {
        let rows: Vec<Vec<&str>> = (0..n)
            .map(|at| match at {
                0 => vec!["common", "rare"],
                at if at < common => vec!["common"],
                _ => vec![],
            })
            .collect();
        let of_row =
            |at: usize| [if at < common { 3.0 } else { 1.0 }, if at == 0 { -0.9 } else { -1.0 + at as f32 / 1e4 }];
        (labels(&rows), Dense::new(n, 2, (0..n).flat_map(of_row).collect::<Vec<_>>()).unwrap())
    }

    #[test]
    fn a_rare_label_does_not_go_to_every_document() {
        let (labels, mut scores) = rare_and_common(40, 20);
        let calibration = Calibration::fit(&scores, &labels, &Run::new(0, 1).unwrap()).unwrap();
        let thresholds = Thresholds::fit(&scores, &labels, &calibration).unwrap();
        assert!((1.0..3.0).contains(&thresholds.values()[0]), "{thresholds:?}");
        // A model fitted on everything scores higher than those fitted on folds did.
        scores.values_mut().iter_mut().for_each(|score| *score += 0.05);
        let given = thresholds.decide(&scores).unwrap();
        assert!((0..20).all(|at| given[at].contains(&0)) && (20..40).all(|at| given[at].is_empty()), "{given:?}");
        let back =
            crate::store::tests::round_trip(|out| thresholds.save(out), |s| Thresholds::load(s, Some(2))).unwrap();
        assert_eq!(back, thresholds);
        assert!(crate::store::tests::round_trip(|out| thresholds.save(out), |s| Thresholds::load(s, Some(3))).is_err());
    }

    #[test]
    fn a_line_lies_between_that_of_all_labels_and_the_labels_own() {
        let (labels, scores) = rare_and_common(40, 20);
        let calibration = Calibration::fit(&scores, &labels, &Run::new(0, 1).unwrap()).unwrap();
        let thresholds = Thresholds::fit(&scores, &labels, &calibration).unwrap();
        let at = Dense::new(1, 2, thresholds.values().to_vec()).unwrap();
        let lines = calibration.probabilities(&at).unwrap();
        // All labels together reach 40 of 41, each of the two can be told from the rest.
        let of_all = 40.0 / 41.0;
        let of_label = |twice: f64| (of_all + (twice + Thresholds::PRIOR * of_all) / (twice + Thresholds::PRIOR)) / 4.0;
        for (line, twice) in lines.row(0).iter().zip([40.0, 2.0]) {
            assert!((f64::from(*line) - of_label(twice)).abs() < 1e-3, "{lines:?}");
        }
    }

    #[test]
    fn scores_that_say_nothing_give_a_label_to_all_or_to_none() {
        let rows: Vec<Vec<&str>> = (0..10).map(|at| if at < 8 { vec!["often"] } else { vec!["seldom"] }).collect();
        let (labels, scores) = (labels(&rows), Dense::zeros(10, 2));
        let calibration = Calibration::fit(&scores, &labels, &Run::new(0, 1).unwrap()).unwrap();
        let thresholds = Thresholds::fit(&scores, &labels, &calibration).unwrap();
        assert_eq!(thresholds.decide(&scores).unwrap(), vec![vec![0]; 10]);
    }

    #[test]
    fn sizes_that_do_not_fit_and_scores_that_are_none_are_refused() {
        let labels = labels(&[vec!["a"], vec!["a", "b"]]);
        let calibration = Calibration::fit(&Dense::zeros(2, 2), &labels, &Run::new(0, 1).unwrap()).unwrap();
        assert!(matches!(Thresholds::fit(&Dense::zeros(2, 1), &labels, &calibration), Err(Error::Shape { .. })));
        assert!(matches!(Thresholds::fit(&Dense::zeros(1, 2), &labels, &calibration), Err(Error::Shape { .. })));
        assert!(Thresholds::default(2).decide(&Dense::zeros(1, 3)).is_err());
        assert!(Thresholds::default(2).decide(&Dense::zeros(0, 2)).unwrap().is_empty());
    }
}
