//! Probabilities from scores, learnt on documents the classifier was not fitted on.
//!
//! Each class gets a sigmoid p = 1 / (1 + exp(A f + B)) of its score f (Platt 1999), fitted by maximum likelihood
//! with the smoothed targets (n₊ + 1) / (n₊ + 2) and 1 / (n₋ + 2), by the guarded Newton method of Lin, Lin and Weng
//! (2007, "A note on Platt's probabilistic outputs for support vector machines"). With one label per document the
//! classes' sigmoids are divided by their sum; with several each stands for itself. O(documents · classes) per
//! iteration, some ten iterations; classes are fitted in parallel.
//!
//! We differ in that A is kept at or below 0: a higher score never means a lower probability, and a class whose scores
//! say the opposite gets its share of the documents. On 20 Newsgroups this has a lower log-loss than one temperature,
//! one slope with a bias per class, or a slope and a bias per class under a softmax (linear SVM 0.523 against 0.558,
//! 0.553 and 0.548; ten neighbours 0.962 against 1.012, 1.005 and 1.008).
//!
//! ```
//! use corpuscle::Run;
//! use corpuscle::classify::Calibration;
//! use corpuscle::corpus::Labels;
//! use corpuscle::matrix::Dense;
//! let labels = Labels::from_single(["a", "a", "b", "b"].map(Some));
//! let scores = Dense::from_rows(&[[2.0, -2.0], [1.0, -1.0], [-1.0, 1.0], [-2.0, 2.0]]);
//! let probabilities = Calibration::fit(&scores, &labels, &Run::new(0, 1)?)?.probabilities(&scores)?;
//! assert!(probabilities.row(0)[0] > probabilities.row(1)[0] && probabilities.row(1)[0] > 0.5);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use rayon::prelude::*;

use super::thresholds::check;
use crate::corpus::Labels;
use crate::matrix::Dense;
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// One sigmoid per class.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    slopes: Vec<f64>,
    offsets: Vec<f64>,
    /// Whether a document's probabilities sum to 1.
    normalised: bool,
}

impl Calibration {
    /// Learns from out-of-fold scores: a row per document, a column per class. Unlabelled documents are left out.
    pub fn fit(scores: &Dense, labels: &Labels, run: &Run) -> Result<Self> {
        check(scores, labels)?;
        let rows = labels.labelled_rows();
        if rows.is_empty() {
            return Err(Error::data("probabilities cannot be learnt without labelled documents"));
        }
        let sigmoid = |class: usize| {
            let values: Vec<f64> = rows.iter().map(|&row| f64::from(scores.row(row)[class])).collect();
            let belongs: Vec<bool> = rows.iter().map(|&row| labels.has(row, class as u32)).collect();
            fit_sigmoid(&values, &belongs)
        };
        let (slopes, offsets) = run.install(|| (0..labels.n_classes()).into_par_iter().map(sigmoid).unzip());
        Ok(Calibration { slopes, offsets, normalised: !labels.is_multi_label() })
    }

    /// How many classes there are.
    pub fn n_classes(&self) -> usize {
        self.slopes.len()
    }

    /// Probabilities from scores: within 0 … 1 and never falling as a class's own score rises. With one label per
    /// document each row sums to 1.
    pub fn probabilities(&self, scores: &Dense) -> Result<Dense> {
        if scores.cols() != self.n_classes() {
            return Err(Error::Shape { what: "classes scored", expected: self.n_classes(), found: scores.cols() });
        }
        let mut probabilities = Dense::zeros(scores.rows(), scores.cols());
        let mut logs = vec![0f64; scores.cols()];
        for row in 0..scores.rows() {
            for (class, (log, &score)) in logs.iter_mut().zip(scores.row(row)).enumerate() {
                // A score that is no number says nothing; one that is infinite is only very large.
                let score = if score.is_nan() { 0.0 } else { score.clamp(f32::MIN, f32::MAX) };
                let z = (self.slopes[class] * f64::from(score) + self.offsets[class]).clamp(-1e9, 1e9);
                *log = -softplus(z);
            }
            // Divided as logarithms, so that a document far below every class's line still gets its shares.
            let shift = if self.normalised { log_sum(&logs) } else { 0.0 };
            for (to, log) in probabilities.row_mut(row).iter_mut().zip(&logs) {
                *to = (log - shift).exp().min(1.0) as f32;
            }
        }
        Ok(probabilities)
    }

    /// Puts the sigmoids into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        out.put_f64("slopes", &[self.slopes.len()], &self.slopes);
        out.put_f64("offsets", &[self.offsets.len()], &self.offsets);
        out.put_u32("normalised", &[u32::from(self.normalised)]);
    }

    /// Takes the sigmoids of `n` classes (`None`: any number) out of a store.
    pub fn load(store: &StoreReader<'_>, n: Option<usize>) -> Result<Self> {
        let (slopes, shape) = store.f64s("slopes", &[n])?;
        let (offsets, _) = store.f64s("offsets", &[Some(shape[0])])?;
        let normalised = store.u32s("normalised", Some(1))?[0];
        if normalised > 1 || slopes.iter().any(|&slope| slope > 0.0) {
            return Err(Error::model("calibration: the sigmoids are damaged"));
        }
        Ok(Calibration { slopes, offsets, normalised: normalised == 1 })
    }
}

/// A and B of the sigmoid, A ≤ 0.
fn fit_sigmoid(scores: &[f64], belongs: &[bool]) -> (f64, f64) {
    let positives = belongs.iter().filter(|&&b| b).count() as f64;
    let negatives = belongs.len() as f64 - positives;
    let (high, low) = ((positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0));
    let target = |b: bool| if b { high } else { low };
    let mean = (positives * high + negatives * low) / belongs.len() as f64;
    let flat = (0.0, ((1.0 - mean) / mean).ln());
    // Scores of any magnitude become scores of about 1, for which the tolerances below are meant.
    let scale = scores.iter().fold(0.0f64, |largest, score| largest.max(score.abs()));
    if scale == 0.0 {
        return flat;
    }
    let points = || scores.iter().zip(belongs).map(|(&score, &b)| (score / scale, target(b)));
    // Negative log-likelihood: t z + ln(1 + e^−z), with z = A f + B.
    let loss = |(a, b): (f64, f64)| points().map(|(f, t)| t * (a * f + b) + softplus(-(a * f + b))).sum::<f64>();
    let (mut at, mut value) = (flat, loss(flat));
    for _ in 0..200 {
        let (mut h11, mut h22, mut h21, mut g1, mut g2) = (1e-12, 1e-12, 0.0, 0.0, 0.0);
        for (f, t) in points() {
            let z = at.0 * f + at.1;
            let p = (-softplus(z)).exp();
            let curve = p * (1.0 - p);
            h11 += f * f * curve;
            h22 += curve;
            h21 += f * curve;
            g1 += f * (t - p);
            g2 += t - p;
        }
        if g1.abs() < 1e-9 * scores.len() as f64 && g2.abs() < 1e-9 * scores.len() as f64 {
            break;
        }
        let determinant = h11 * h22 - h21 * h21;
        let step = (-(h22 * g1 - h21 * g2) / determinant, -(h11 * g2 - h21 * g1) / determinant);
        let slope = g1 * step.0 + g2 * step.1;
        // What a step could still gain is lost in the rounding of the loss: no length of it would be found to be better.
        if -slope <= 1e-13 * value {
            break;
        }
        let mut length = 1.0;
        let moved = loop {
            let next = (at.0 + length * step.0, at.1 + length * step.1);
            let there = loss(next);
            if there < value + 1e-4 * length * slope {
                (at, value) = (next, there);
                break true;
            }
            length /= 2.0;
            if length < 1e-10 {
                break false;
            }
        };
        if !moved {
            break;
        }
    }
    // The loss is convex: where its lowest point has A > 0, the lowest with A ≤ 0 has A = 0.
    if at.0 < 0.0 && (at.0 / scale).is_finite() && at.1.is_finite() { (at.0 / scale, at.1) } else { flat }
}

/// ln(1 + e^z), without overflow.
fn softplus(z: f64) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p()
}

fn log_sum(logs: &[f64]) -> f64 {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + logs.iter().map(|log| (log - largest).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;
    use crate::store::tests::round_trip;

    #[derive(Deserialize)]
    struct Fixture {
        classes: Vec<u32>,
        scores: Vec<[f32; 3]>,
        slopes: Vec<f64>,
        offsets: Vec<f64>,
        probabilities: Vec<[f32; 3]>,
    }

    fn run() -> Run {
        Run::new(0, 2).unwrap()
    }

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("c{i:02}")).collect()
    }

    #[test]
    fn sigmoids_and_probabilities_are_those_of_scikit_learn() {
        let fixture: Fixture =
            serde_json::from_str(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/calibration.json")))
                .unwrap();
        let labels = Labels::from_ids(names(3), &fixture.classes).unwrap();
        let scores = Dense::from_rows(&fixture.scores);
        let calibration = Calibration::fit(&scores, &labels, &run()).unwrap();
        for class in 0..3 {
            assert!((calibration.slopes[class] - fixture.slopes[class]).abs() < 1e-4);
            assert!((calibration.offsets[class] - fixture.offsets[class]).abs() < 1e-4);
        }
        let probabilities = calibration.probabilities(&scores).unwrap();
        for (row, expected) in fixture.probabilities.iter().enumerate() {
            for (ours, theirs) in probabilities.row(row).iter().zip(expected) {
                assert!((ours - theirs).abs() < 1e-4);
            }
        }
    }

    proptest! {
        #[test]
        fn probabilities_are_probabilities(
            rows in proptest::collection::vec((0u32..3, [-1f32..1.0, -1f32..1.0, -1f32..1.0]), 1..40),
            exponent in -30i32..30,
            asked in [any::<f32>(), any::<f32>(), any::<f32>()],
        ) {
            let scale = 10f32.powi(exponent);
            let ids: Vec<u32> = rows.iter().map(|row| row.0).collect();
            let labels = Labels::from_ids(names(3), &ids).unwrap();
            let scored: Vec<[f32; 3]> = rows.iter().map(|row| row.1.map(|v| v * scale)).collect();
            let calibration = Calibration::fit(&Dense::from_rows(&scored), &labels, &run()).unwrap();
            let mut asked = vec![asked];
            asked.extend_from_slice(&scored);
            // The same document with a higher score for class 1.
            asked.push({ let mut up = scored[0]; up[1] += scale; up });
            let found = calibration.probabilities(&Dense::from_rows(&asked)).unwrap();
            for row in 0..found.rows() {
                prop_assert!(found.row(row).iter().all(|p| (0.0..=1.0).contains(p)));
                prop_assert!((found.row(row).iter().sum::<f32>() - 1.0).abs() < 1e-5);
            }
            prop_assert!(found.row(found.rows() - 1)[1] >= found.row(1)[1] - 1e-7);
            let back = round_trip(|out| calibration.save(out), |store| Calibration::load(store, Some(3))).unwrap();
            prop_assert_eq!(back, calibration);
        }
    }

    #[test]
    fn several_labels_are_not_normalised_and_a_useless_score_gives_the_share() {
        let lists: Vec<Vec<String>> = (0..40).map(|i| if i % 2 == 0 { names(2) } else { vec!["c01".into()] }).collect();
        let labels = Labels::from_lists(lists.iter().map(|row| Some(row.as_slice())));
        // Class 0's scores point the wrong way.
        let values: Vec<f32> = (0..40).flat_map(|i| [if i % 2 == 0 { -1.0 } else { 1.0 }, 0.5]).collect();
        let scores = Dense::new(40, 2, values).unwrap();
        let found = Calibration::fit(&scores, &labels, &run()).unwrap().probabilities(&scores).unwrap();
        assert!((found.row(0)[0] - 0.5).abs() < 1e-6 && found.row(0)[0] == found.row(1)[0]);
        assert!(found.row(0)[1] > 0.95);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let labels = Labels::from_ids(names(2), &[0, 1]).unwrap();
        assert!(matches!(Calibration::fit(&Dense::zeros(2, 3), &labels, &run()), Err(Error::Shape { .. })));
        assert!(Calibration::fit(&Dense::from_rows(&[[f32::INFINITY, 0.0], [0.0, 0.0]]), &labels, &run()).is_err());
        assert!(Calibration::fit(&Dense::zeros(0, 2), &labels.select(&[]), &run()).is_err());
        let calibration = Calibration::fit(&Dense::zeros(2, 2), &labels, &run()).unwrap();
        assert!(matches!(calibration.probabilities(&Dense::zeros(1, 3)), Err(Error::Shape { .. })));
        assert_eq!(calibration.probabilities(&Dense::zeros(0, 2)).unwrap().rows(), 0);
        let damaged = Calibration { slopes: vec![1.0], offsets: vec![0.0], normalised: true };
        assert!(round_trip(|out| damaged.save(out), |store| Calibration::load(store, None)).is_err());
    }
}
