//! The equal error rate, and the curve of misses against false alarms.
//!
//! Every (document, class) pair is one verification trial, a target when the document has the class. At a threshold
//! t the miss rate is the share of targets scored below t, the false alarm rate the share of other trials scored at or
//! above it. The equal error rate is where the two meet as t falls, interpolated linearly between the two neighbouring
//! operating points; trials with equal scores are accepted together. This is the crossing of the ROC curve of all pooled
//! pairs with the line miss = false alarm, as used for topic verification in the VarNorm paper.
//!
//! A class the model has no score for makes every document that has it a target that is accepted last of all; its other
//! pairs are no trials, since they would count as correct rejections that no model made.
//!
//! O(m log m) time and 4 m bytes for m = documents × classes: scores are sorted as integers in the order of the floats.
//!
//! ```
//! use corpuscle::{corpus::Labels, matrix::Dense, metrics::DetCurve};
//! let truth = Labels::from_single([Some("a"), Some("b")]);
//! let curve = DetCurve::of(&truth, &Dense::from_rows(&[[0.9, 0.1], [0.2, 0.8]]))?;
//! assert_eq!(curve.eer(), Some(0.0));
//! # Ok::<(), corpuscle::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::ranking::check_scores;
use crate::Result;
use crate::corpus::Labels;
use crate::matrix::Dense;

/// The pooled trials of a set of scores, from which every operating point follows.
#[derive(Debug, Clone)]
pub struct DetCurve {
    /// Sort keys of the target trials, descending.
    targets: Vec<u32>,
    /// Sort keys of the other trials, descending.
    others: Vec<u32>,
}

/// The two error rates at one threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DetPoint {
    /// Trials scored at least this high are accepted.
    pub threshold: f32,
    /// The share of trials accepted wrongly.
    pub false_alarm: f64,
    /// The share of targets not accepted.
    pub miss: f64,
}

/// Below the key of every score.
const UNSCORED: u32 = 0;

/// An integer in the order of the floats, the same for 0 and -0.
fn key(score: f32) -> u32 {
    let bits = (score + 0.0).to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

fn score(key: u32) -> f32 {
    match key {
        UNSCORED => f32::NEG_INFINITY,
        key if key >> 31 == 1 => f32::from_bits(key & !(1 << 31)),
        key => f32::from_bits(!key),
    }
}

impl DetCurve {
    /// Pools the trials of all labelled documents.
    pub fn of(truth: &Labels, scores: &Dense) -> Result<Self> {
        check_scores(truth, scores)?;
        let (mut targets, mut others) = (Vec::new(), Vec::with_capacity(scores.values().len()));
        for row in 0..truth.len() {
            let Some(relevant) = truth.of(row) else { continue };
            let mut relevant = relevant.iter().copied().peekable();
            for (class, &score) in (0u32..).zip(scores.row(row)) {
                let list = if relevant.next_if_eq(&class).is_some() { &mut targets } else { &mut others };
                list.push(key(score));
            }
            targets.extend(relevant.map(|_| UNSCORED));
        }
        targets.sort_unstable_by(|a, b| b.cmp(a));
        others.sort_unstable_by(|a, b| b.cmp(a));
        Ok(DetCurve { targets, others })
    }

    /// Where miss and false alarm rates are equal; `None` when there are no targets or nothing but targets.
    pub fn eer(&self) -> Option<f64> {
        if self.targets.is_empty() || self.others.is_empty() {
            return None;
        }
        let mut before = START;
        for point in self.operating_points() {
            if point.miss <= point.false_alarm {
                let (gap_before, gap) = (before.miss - before.false_alarm, point.false_alarm - point.miss);
                let share = gap_before / (gap_before + gap);
                return Some(before.false_alarm + share * (point.false_alarm - before.false_alarm));
            }
            before = point;
        }
        // Not reached: the last point accepts everything, so its miss rate is 0.
        None
    }

    /// The curve from "accept nothing" to "accept everything" in at most `most` points (at least 2), close together
    /// where rates are small, as the axes of such charts are. Empty when [`DetCurve::eer`] is `None`.
    pub fn points(&self, most: usize) -> Vec<DetPoint> {
        if self.targets.is_empty() || self.others.is_empty() {
            return Vec::new();
        }
        let step = |a: &DetPoint, b: &DetPoint| {
            (logit(a.false_alarm, self.others.len()) - logit(b.false_alarm, self.others.len())).abs()
                + (logit(a.miss, self.targets.len()) - logit(b.miss, self.targets.len())).abs()
        };
        let mut length = 0.0;
        let mut last = START;
        let mut count = 0usize;
        for point in self.operating_points() {
            length += step(&last, &point);
            last = point;
            count += 1;
        }
        if count < most {
            return std::iter::once(START).chain(self.operating_points()).collect();
        }
        // One stretch is kept back, so that rounding cannot make one point too many.
        let stretch = length / most.max(3).saturating_sub(2) as f64;
        let mut kept = vec![START];
        let (mut walked, mut before) = (0.0, START);
        for point in self.operating_points() {
            walked += step(&before, &point);
            before = point;
            if walked >= stretch && kept.len() + 1 < most {
                kept.push(point);
                walked = 0.0;
            }
        }
        if kept.last().is_some_and(|kept| kept.threshold != last.threshold) {
            kept.push(last);
        }
        kept
    }

    /// The operating point of every threshold that occurs as a score, highest first.
    fn operating_points(&self) -> impl Iterator<Item = DetPoint> + '_ {
        let (mut hits, mut alarms) = (0, 0);
        std::iter::from_fn(move || {
            let threshold = match (self.targets.get(hits), self.others.get(alarms)) {
                (Some(&a), Some(&b)) => a.max(b),
                (a, b) => *a.or(b)?,
            };
            while self.targets.get(hits) == Some(&threshold) {
                hits += 1;
            }
            while self.others.get(alarms) == Some(&threshold) {
                alarms += 1;
            }
            Some(DetPoint {
                threshold: score(threshold),
                false_alarm: alarms as f64 / self.others.len() as f64,
                miss: (self.targets.len() - hits) as f64 / self.targets.len() as f64,
            })
        })
    }
}

/// A rate on the scale of the log odds, kept finite by half a trial at either end.
fn logit(rate: f64, trials: usize) -> f64 {
    let edge = 0.5 / trials as f64;
    let rate = rate.clamp(edge, 1.0 - edge);
    (rate / (1.0 - rate)).ln()
}

/// A threshold above all scores: nothing is accepted.
const START: DetPoint = DetPoint { threshold: f32::INFINITY, false_alarm: 0.0, miss: 1.0 };

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curve(trials: &[(bool, f32)]) -> DetCurve {
        let rows: Vec<Option<Vec<String>>> =
            trials.iter().map(|&(target, _)| Some(if target { vec!["a".into()] } else { vec![] })).collect();
        let truth = Labels::from_lists(rows.iter().map(|row| row.as_deref())).align(&["a".into()]);
        DetCurve::of(&truth, &Dense::new(trials.len(), 1, trials.iter().map(|t| t.1).collect::<Vec<f32>>()).unwrap())
            .unwrap()
    }

    #[test]
    fn keys_keep_the_order_and_come_back() {
        let ordered = [f32::NEG_INFINITY, -2.0, -1e-30, 0.0, 1e-30, 3.0, f32::INFINITY];
        assert!(ordered.windows(2).all(|pair| key(pair[0]) < key(pair[1])));
        assert!(ordered.iter().all(|&value| score(key(value)) == value && key(value) > UNSCORED));
        assert_eq!(key(-0.0), key(0.0));
    }

    #[test]
    fn the_extremes() {
        assert_eq!(curve(&[(true, 1.0), (false, 0.0)]).eer(), Some(0.0));
        assert_eq!(curve(&[(true, 0.0), (false, 1.0)]).eer(), Some(1.0));
        assert_eq!(curve(&[(true, 0.0), (false, 0.0)]).eer(), Some(0.5));
        assert_eq!(curve(&[(true, 0.0)]).eer(), None);
        assert!(curve(&[(false, 0.0)]).points(10).is_empty());
    }

    #[test]
    fn a_class_without_scores_is_always_missed() {
        let truth = Labels::from_single([Some("z"), Some("a")]).align(&["a".into(), "b".into()]);
        let curve = DetCurve::of(&truth, &Dense::from_rows(&[[0.0, 0.0], [1.0, 0.0]])).unwrap();
        assert_eq!((curve.targets.len(), curve.others.len()), (2, 3));
        assert_eq!(curve.eer(), Some(0.5));
    }

    proptest! {
        #[test]
        fn mirrored_scores_mirror_the_rate_and_points_only_go_down(
            trials in prop::collection::vec((any::<bool>(), -4i8..4), 1..60), most in 2usize..20
        ) {
            let with = |f: fn(f32) -> f32| -> DetCurve {
                curve(&trials.iter().map(|&(t, s)| (t, f(f32::from(s)))).collect::<Vec<_>>())
            };
            let plain = with(|s| s);
            prop_assert_eq!(plain.eer(), with(|s| (s / 2.0).exp()).eer());
            if let Some(eer) = plain.eer() {
                prop_assert!((eer + with(|s| -s).eer().unwrap() - 1.0).abs() < 1e-12);
                let points = plain.points(most);
                prop_assert!((2..=most).contains(&points.len()), "{} points", points.len());
                prop_assert!((points[0].false_alarm, points[0].miss) == (0.0, 1.0));
                let last = points[points.len() - 1];
                prop_assert!((last.false_alarm, last.miss) == (1.0, 0.0));
                for pair in points.windows(2) {
                    prop_assert!(pair[0].threshold > pair[1].threshold && pair[0].miss >= pair[1].miss);
                }
            }
        }
    }
}
