//! Where the line is drawn for each label of a multi-label problem.
//!
//! A score counts as a label when it is above the label's threshold. The threshold is the cut of out-of-fold scores with
//! the highest F1 = 2 tp / (2 tp + fp + fn) of that label, found exactly by one sweep down the sorted scores:
//! O(n log n) per label. Of cuts with the same F1 the one nearest the usual threshold wins. A label with fewer than
//! [`Thresholds::FEW`] documents says too little about its own cut and takes the one that is best for all labels pooled; this is
//! SCut (Yang 2001) with the care for rare labels that Fan and Lin (2007) found it needs, though they fall back by
//! the F1 reached and we by the number of documents.
//!
//! ```
//! use corpuscle::classify::Thresholds;
//! use corpuscle::corpus::Labels;
//! use corpuscle::matrix::Dense;
//! let thresholds = Thresholds::constant(2, 0.5);
//! assert_eq!(thresholds.decide(&Dense::from_rows(&[[0.4, 0.6], [0.7, 0.9]]))?, [vec![1], vec![0, 1]]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

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
    /// Labels with fewer documents than this take the pooled threshold.
    pub const FEW: usize = 5;

    /// The threshold 0 for `n` labels: that of margins.
    pub fn default(n: usize) -> Self {
        Thresholds::constant(n, 0.0)
    }

    /// The same threshold for `n` labels.
    pub fn constant(n: usize, value: f32) -> Self {
        Thresholds { values: vec![value; n] }
    }

    /// The thresholds with the best F1 on out-of-fold margins, for which 0 is usual.
    pub fn fit(scores: &Dense, labels: &Labels) -> Result<Self> {
        Self::fit_near(scores, labels, 0.0)
    }

    /// The thresholds with the best F1 on out-of-fold scores for which `usual` is the usual threshold (0.5 for shares and
    /// probabilities). Rows are documents; unlabelled ones are left out.
    pub fn fit_near(scores: &Dense, labels: &Labels, usual: f32) -> Result<Self> {
        check(scores, labels)?;
        if !usual.is_finite() {
            return Err(Error::parameter("thresholds", "usual", usual, "must be finite"));
        }
        let rows = labels.labelled_rows();
        let of_label =
            |label: usize| rows.iter().map(move |&row| (scores.row(row)[label], labels.has(row, label as u32)));
        let counts = labels.class_counts();
        let pooled = if counts.iter().any(|&count| count < Self::FEW) {
            best_cut((0..labels.n_classes()).flat_map(of_label).collect(), usual)
        } else {
            usual
        };
        let values = counts.iter().enumerate();
        let values =
            values.map(|(label, &n)| if n < Self::FEW { pooled } else { best_cut(of_label(label).collect(), usual) });
        Ok(Thresholds { values: values.collect() })
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

/// The threshold with the best F1 of (score, belongs) pairs; `usual` when nothing belongs.
fn best_cut(mut scored: Vec<(f32, bool)>, usual: f32) -> f32 {
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let positives = scored.iter().filter(|(_, belongs)| *belongs).count();
    let mut best = (0.0f64, usual);
    let (mut taken, mut right) = (0, 0);
    for (at, &(high, belongs)) in scored.iter().enumerate() {
        taken += 1;
        right += usize::from(belongs);
        let low = scored.get(at + 1).map(|&(low, _)| low);
        if low == Some(high) {
            continue;
        }
        let f1 = 2.0 * right as f64 / (taken + positives) as f64;
        let cut = between(low, high, usual);
        if f1 > best.0 || (f1 == best.0 && f1 > 0.0 && (cut - usual).abs() < (best.1 - usual).abs()) {
            best = (f1, cut);
        }
    }
    best.1
}

/// A threshold that takes `high` and leaves `low`: the usual one if it does, else the middle.
fn between(low: Option<f32>, high: f32, usual: f32) -> f32 {
    if usual < high && low.is_none_or(|low| low <= usual) {
        return usual;
    }
    match low {
        // Neighbouring floats have no middle; then the lower one is the line.
        Some(low) => {
            Some(low + (high / 2.0 - low / 2.0)).filter(|&middle| low <= middle && middle < high).unwrap_or(low)
        }
        None => high.next_down().max(f32::MIN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(rows: &[Vec<&str>]) -> Labels {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect();
        Labels::from_lists(rows.iter().map(|row| Some(row.as_slice())))
    }

    fn f1(scored: &[(f32, bool)], threshold: f32) -> f64 {
        let right = scored.iter().filter(|(score, belongs)| *score > threshold && *belongs).count();
        let taken = scored.iter().filter(|(score, _)| *score > threshold).count();
        let positives = scored.iter().filter(|(_, belongs)| *belongs).count();
        if taken + positives == 0 { 0.0 } else { 2.0 * right as f64 / (taken + positives) as f64 }
    }

    proptest! {
        #[test]
        fn no_other_cut_is_better(scored in proptest::collection::vec((-8i8..8, any::<bool>()), 0..40), usual in -3i8..3) {
            let scored: Vec<(f32, bool)> = scored.iter().map(|&(s, b)| (f32::from(s) / 4.0, b)).collect();
            let cut = best_cut(scored.clone(), f32::from(usual));
            let reached = f1(&scored, cut);
            for other in -20..20 {
                let other = f32::from(other as i8) / 8.0 + 0.01;
                prop_assert!(f1(&scored, other) <= reached + 1e-12);
            }
            prop_assert!(f1(&scored, f32::from(usual)) < reached || cut == f32::from(usual));
        }
    }

    #[test]
    fn the_cut_separates_what_can_be_separated() {
        let scored = vec![(0.9, true), (0.7, true), (0.3, false), (0.1, false)];
        assert_eq!(best_cut(scored.clone(), 0.0), 0.5);
        assert_eq!(best_cut(scored, 0.6), 0.6);
        let (low, high) = (1.0f32, 1.0f32.next_up());
        assert_eq!(best_cut(vec![(high, true), (low, false)], 0.0), low);
        assert_eq!(best_cut(vec![(-2.0, true)], 0.0), (-2.0f32).next_down());
        assert_eq!(best_cut(vec![(f32::MAX, true), (f32::MIN, false)], f32::MAX), 0.0);
        assert_eq!(best_cut(vec![(3.0, false)], 0.25), 0.25);
    }

    #[test]
    fn a_rare_label_takes_the_pooled_threshold() {
        let rows: Vec<Vec<&str>> = (0..20)
            .map(|i| {
                if i == 0 {
                    vec!["common", "rare"]
                } else if i < 10 {
                    vec!["common"]
                } else {
                    vec![]
                }
            })
            .collect();
        let labels = labels(&rows);
        let values: Vec<f32> =
            (0..20).flat_map(|i| [if i < 10 { 3.0 } else { 1.0 }, if i == 0 { 0.1 } else { 0.0 }]).collect();
        let scores = Dense::new(20, 2, values).unwrap();
        let thresholds = Thresholds::fit(&scores, &labels).unwrap();
        assert_eq!(thresholds.values(), [2.0, 2.0]);
        assert_eq!(thresholds.decide(&scores).unwrap()[3], [0]);
        let back =
            crate::store::tests::round_trip(|out| thresholds.save(out), |s| Thresholds::load(s, Some(2))).unwrap();
        assert_eq!(back, thresholds);
        assert!(crate::store::tests::round_trip(|out| thresholds.save(out), |s| Thresholds::load(s, Some(3))).is_err());
    }

    #[test]
    fn sizes_that_do_not_fit_and_scores_that_are_none_are_refused() {
        let labels = labels(&[vec!["a"], vec!["a", "b"]]);
        assert!(matches!(Thresholds::fit(&Dense::zeros(2, 1), &labels), Err(Error::Shape { .. })));
        assert!(matches!(Thresholds::fit(&Dense::zeros(1, 2), &labels), Err(Error::Shape { .. })));
        assert!(Thresholds::fit(&Dense::from_rows(&[[f32::NAN, 0.0], [0.0, 0.0]]), &labels).is_err());
        assert!(Thresholds::default(2).decide(&Dense::zeros(1, 3)).is_err());
        assert!(Thresholds::default(2).decide(&Dense::zeros(0, 2)).unwrap().is_empty());
    }
}
