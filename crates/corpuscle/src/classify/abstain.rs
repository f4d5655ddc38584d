//! Answering only where it is sure enough: a threshold that keeps the error among answers at a rate asked for.
//!
//! Out-of-fold answers, each with a confidence and whether it was right, say how often answers at least so confident are wrong.
//! A share of 5 wrong in 100 seen is no guarantee of 5 % to come, so the share is replaced by an upper bound that holds with
//! probability 1 − δ: the b with P(Binomial(n, b) ≤ wrong) = δ. The threshold is searched by halving, in k = ⌊log₂ m⌋ + 1 tests
//! among m candidates, each at δ/k (Bonferroni), so that all of them hold at once (Geifman and El-Yaniv, 2017, "Selective
//! classification for deep neural networks", algorithm SGR; δ = 0.05 here unless told otherwise). O(n log n) once, O(log m) a search.
//!
//! We differ in the documents the bound is made on: theirs are set aside, ours are the out-of-fold documents of calibration,
//! scored by models that learnt from fewer documents than the final one, which therefore errs less. The promise is for documents
//! that come as the training documents came; nothing is promised for others. Calibration and thresholds of labels are fitted on the same
//! answers, so the guarantee is approximate by as much as those few numbers can adapt. At most [`CANDIDATES`] thresholds are kept, at
//! equal steps of answers.
//!
//! ```
//! use corpuscle::classify::RiskCoverage;
//! // 1000 answers; the 300 least sure are wrong every second time.
//! let answers = (0..1000).map(|n| (n as f32 / 1000.0, n >= 300 || n % 2 == 0));
//! let kept = RiskCoverage::of(answers)?;
//! let selection = kept.select(0.05, 0.95)?.unwrap();
//! assert!((0.7..0.8).contains(&selection.coverage) && selection.bound <= 0.05);
//! assert!(kept.select(0.0001, 0.95)?.is_none());   // 1000 answers cannot promise 1 in 10 000
//! # Ok::<(), corpuscle::Error>(())
//! ```

use serde::Serialize;
use statrs::function::beta::checked_beta_reg;

use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result};

/// The most thresholds that are kept.
pub const CANDIDATES: usize = 512;

/// How many out-of-fold answers are at least so confident, and how many of those are wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct RiskCoverage {
    /// Candidates for a threshold, strictly falling.
    thresholds: Vec<f32>,
    /// Answers at least so confident.
    answered: Vec<u32>,
    /// The wrong ones of them.
    wrong: Vec<u32>,
}

/// A threshold that keeps a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Selection {
    /// The least confidence of an answer.
    pub threshold: f32,
    /// The upper bound of the error among answers.
    pub bound: f64,
    /// The share of out-of-fold documents answered.
    pub coverage: f64,
    /// The share of those answers that was wrong.
    pub error: f64,
}

impl RiskCoverage {
    /// From answers: the confidence of each and whether it was right. A confidence that is no number is the least.
    pub fn of(answers: impl IntoIterator<Item = (f32, bool)>) -> Result<Self> {
        let finite = |c: f32| if c.is_nan() { f32::MIN } else { c.clamp(f32::MIN, f32::MAX) };
        let mut answers: Vec<(f32, bool)> = answers.into_iter().map(|(c, right)| (finite(c), right)).collect();
        if answers.is_empty() || u32::try_from(answers.len()).is_err() {
            return Err(Error::data(format!("{} answers: there must be from 1 to 2³² − 1", answers.len())));
        }
        answers.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut kept = RiskCoverage { thresholds: Vec::new(), answered: Vec::new(), wrong: Vec::new() };
        let (mut count, mut wrong) = (0, 0);
        for equal in answers.chunk_by(|a, b| a.0 == b.0) {
            count += equal.len();
            wrong += equal.iter().filter(|answer| !answer.1).count();
            // Enough answers more than at the threshold before, or all of them.
            if count * CANDIDATES.min(answers.len()) >= (kept.thresholds.len() + 1) * answers.len() {
                kept.thresholds.push(equal[0].0);
                kept.answered.push(count as u32);
                kept.wrong.push(wrong as u32);
            }
        }
        Ok(kept)
    }

    /// How many answers it was made of.
    pub fn documents(&self) -> usize {
        self.answered.last().map_or(0, |&count| count as usize)
    }

    /// The threshold with the most answers whose bound the search finds within `rate`, true with probability `confidence`;
    /// `None` where no threshold keeps it.
    pub fn select(&self, rate: f64, confidence: f64) -> Result<Option<Selection>> {
        for (what, value) in [("rate of errors", rate), ("confidence", confidence)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(Error::data(format!(
                    "a {what} of {value} cannot be kept; ask for one between 0 and 1, such as 0.05"
                )));
            }
        }
        let (mut low, mut high, mut found) = (0, self.thresholds.len(), None);
        let delta = (1.0 - confidence) / f64::from(high.max(1).ilog2() + 1);
        while low < high {
            let at = low.midpoint(high);
            let (n, wrong) = (self.answered[at], self.wrong[at]);
            let bound = error_bound(wrong, n, delta);
            if bound <= rate {
                let coverage = f64::from(n) / self.documents() as f64;
                let error = f64::from(wrong) / f64::from(n);
                found = Some(Selection { threshold: self.thresholds[at], bound, coverage, error });
                low = at + 1;
            } else {
                high = at;
            }
        }
        Ok(found)
    }

    /// Puts the counts into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        out.put_f32("thresholds", &[self.thresholds.len()], &self.thresholds);
        out.put_u32("answered", &self.answered);
        out.put_u32("wrong", &self.wrong);
    }

    /// Takes the counts out of a store.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let (thresholds, shape) = store.f32s("thresholds", &[None])?;
        let (answered, wrong) = (store.u32s("answered", Some(shape[0]))?, store.u32s("wrong", Some(shape[0]))?);
        let falling = thresholds.windows(2).all(|pair| pair[0] > pair[1]);
        let rising = answered.windows(2).all(|pair| pair[0] < pair[1]) && wrong.is_sorted();
        let fits = answered.iter().zip(&wrong).all(|(answered, wrong)| wrong <= answered && *answered > 0);
        if !(falling && rising && fits) || thresholds.is_empty() || thresholds.len() > CANDIDATES {
            return Err(Error::model("the counts of out-of-fold answers are damaged"));
        }
        Ok(RiskCoverage { thresholds, answered, wrong })
    }
}

/// The error among the surest answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CoveragePoint {
    /// The share of documents answered.
    pub coverage: f64,
    /// The share of those answers that is wrong.
    pub error: f64,
    /// The least confidence among them.
    pub confidence: f32,
}

/// Error against coverage: for each of `steps` equal steps, the error among the answers at least as confident as the last that
/// the step takes in. Answers of equal confidence come together, so that steps can be fewer.
pub fn coverage_curve(answers: &[(f32, bool)], steps: usize) -> Vec<CoveragePoint> {
    let mut sorted = answers.to_vec();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (n, mut points, mut count, mut wrong) = (sorted.len(), Vec::new(), 0, 0);
    for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
        let step = count * steps / n;
        count += equal.len();
        wrong += equal.iter().filter(|answer| !answer.1).count();
        if count * steps / n > step {
            let (coverage, error) = (count as f64 / n as f64, wrong as f64 / count as f64);
            points.push(CoveragePoint { coverage, error, confidence: equal[0].0 });
        }
    }
    points
}

/// The upper bound of a rate of which `wrong` of `n` were seen, true with probability 1 − δ: the inverse of the binomial tail.
/// 1 where nothing was seen.
pub fn error_bound(wrong: u32, n: u32, delta: f64) -> f64 {
    if wrong >= n {
        return 1.0;
    }
    // P(Binomial(n, b) ≤ wrong) is the regularised incomplete beta function I_{1−b}(n − wrong, wrong + 1), and falls with b.
    let (a, b) = (f64::from(n - wrong), f64::from(wrong) + 1.0);
    let (mut low, mut high) = (f64::from(wrong) / f64::from(n), 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        match checked_beta_reg(a, b, 1.0 - middle) {
            Ok(tail) if tail > delta => low = middle,
            _ => high = middle,
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::Run;
    use crate::store::tests::round_trip;

    #[test]
    fn the_bound_is_the_inverse_of_the_binomial_tail() {
        // Nothing wrong: (1 − b)^n = δ.
        for (n, delta) in [(1, 0.05), (59, 0.05), (1000, 0.005)] {
            let expected = 1.0 - f64::powf(delta, 1.0 / f64::from(n));
            assert!((error_bound(0, n, delta) - expected).abs() < 1e-9, "{n} {delta}");
        }
        // Clopper and Pearson (1934), scipy.stats.beta.ppf(1 - delta, wrong + 1, n - wrong).
        for (wrong, n, delta, expected) in
            [(5, 100, 0.05, 0.102_253_377_6), (30, 1000, 0.005, 0.046_802_486_3), (400, 10_000, 0.01, 0.044_793_970_4)]
        {
            let found = error_bound(wrong, n, delta);
            assert!((found - expected).abs() < 1e-8, "{wrong} of {n}: {found}");
        }
        assert_eq!((error_bound(3, 3, 0.05), error_bound(0, 0, 0.05)), (1.0, 1.0));
    }

    /// Scores whose true error at any threshold is known: an answer of confidence c is right with probability c^power.
    fn draw(n: usize, power: f32, seed: u64) -> Result<Vec<(f32, bool)>> {
        let mut rng = Run::new(seed, 1)?.rng(1);
        let mut one = || {
            let confidence: f32 = rng.random();
            (confidence, rng.random::<f32>() < confidence.powf(power))
        };
        Ok((0..n).map(|_| one()).collect())
    }

    /// The true error among answers at or above a threshold, for `draw`.
    fn true_error(threshold: f64, power: f64) -> f64 {
        1.0 - (1.0 - threshold.powf(power + 1.0)) / (power + 1.0) / (1.0 - threshold)
    }

    #[test]
    fn the_rate_is_kept_in_19_of_20_draws() -> Result<()> {
        for (n, power, rate) in [(500, 0.15, 0.1), (2000, 0.15, 0.05), (5000, 1.0, 0.1)] {
            let (mut kept, mut answered) = (0, 0);
            for seed in 0..200 {
                let found = RiskCoverage::of(draw(n, power, seed)?)?.select(rate, 0.95)?;
                answered += usize::from(found.is_some());
                kept += usize::from(found.is_none_or(|s| true_error(f64::from(s.threshold), f64::from(power)) <= rate));
            }
            assert!(kept >= 190, "{n} answers: kept in {kept} of 200 draws");
            assert!(answered >= 100, "{n} answers: {answered} of 200 draws answered at all");
        }
        Ok(())
    }

    #[test]
    fn the_coverage_is_close_to_the_best_there_is() -> Result<()> {
        // With power 0.3 the true error is 5 % at a coverage of 33 %.
        let best = 1.0 - (0..1000).map(|n| f64::from(n) / 1000.0).find(|&t| true_error(t, 0.3) <= 0.05).unwrap_or(1.0);
        let found = RiskCoverage::of(draw(20_000, 0.3, 7)?)?.select(0.05, 0.95)?;
        assert!(found.is_some_and(|s| (0.8 * best..best).contains(&s.coverage)), "{found:?} against {best}");
        Ok(())
    }

    #[test]
    fn rates_out_of_range_and_no_answers_are_refused() -> Result<()> {
        let kept = RiskCoverage::of([(0.5, true)])?;
        for rate in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(kept.select(rate, 0.95).is_err_and(|e| e.to_string().contains("between 0 and 1")));
        }
        assert!(kept.select(0.05, 1.0).is_err() && RiskCoverage::of([]).is_err());
        assert_eq!(kept.select(0.05, 0.95)?, None);
        Ok(())
    }

    #[test]
    fn the_curve_ends_with_all_answers() {
        let answers: Vec<(f32, bool)> = (0..100).map(|n| (n as f32, n >= 20)).collect();
        let curve = coverage_curve(&answers, 10);
        assert_eq!(curve.len(), 10);
        assert_eq!(curve[0], CoveragePoint { coverage: 0.1, error: 0.0, confidence: 90.0 });
        assert_eq!(curve[9], CoveragePoint { coverage: 1.0, error: 0.2, confidence: 0.0 });
        let equal = coverage_curve(&[(0.5, true), (0.5, false)], 10);
        assert_eq!(equal, [CoveragePoint { coverage: 1.0, error: 0.5, confidence: 0.5 }]);
        assert!(coverage_curve(&[], 10).is_empty());
    }

    proptest! {
        #[test]
        fn what_is_kept_is_small_true_and_comes_back(
            answers in prop::collection::vec((prop_oneof![0f32..1.0, Just(0.5f32), Just(f32::NAN)], any::<bool>()), 1..2000),
            rate in 0.01f64..0.9,
        ) {
            let kept = RiskCoverage::of(answers.clone()).unwrap();
            prop_assert!(kept.thresholds.len() <= CANDIDATES);
            prop_assert_eq!(kept.documents(), answers.len());
            for ((&threshold, &n), &wrong) in kept.thresholds.iter().zip(&kept.answered).zip(&kept.wrong) {
                let sure = || answers.iter().filter(|a| a.0 >= threshold || threshold == f32::MIN);
                prop_assert_eq!(sure().count(), n as usize);
                prop_assert_eq!(sure().filter(|a| !a.1).count(), wrong as usize);
            }
            prop_assert_eq!(&round_trip(|out| kept.save(out), RiskCoverage::load).unwrap(), &kept);
            if let Some(found) = kept.select(rate, 0.95).unwrap() {
                prop_assert!(found.error <= found.bound && found.bound <= rate && found.coverage > 0.0);
                // A stricter rate never answers more.
                let strict = kept.select(rate / 2.0, 0.95).unwrap();
                prop_assert!(strict.is_none_or(|strict| strict.coverage <= found.coverage));
            }
        }
    }

    #[test]
    fn damaged_counts_are_refused() {
        let bad = |thresholds: &[f32], answered: &[u32], wrong: &[u32]| {
            let save = |out: &mut StoreWriter| {
                out.put_f32("thresholds", &[thresholds.len()], thresholds);
                out.put_u32("answered", answered);
                out.put_u32("wrong", wrong);
            };
            round_trip(save, RiskCoverage::load).is_err()
        };
        assert!(!bad(&[0.9, 0.5], &[1, 2], &[0, 1]));
        assert!(bad(&[], &[], &[]) && bad(&[0.5, 0.9], &[1, 2], &[0, 1]) && bad(&[0.9, 0.5], &[2, 2], &[0, 1]));
        assert!(bad(&[0.9], &[1], &[2]) && bad(&[0.9], &[0], &[0]) && bad(&[0.9, 0.5], &[1, 2], &[1, 0]));
    }
}
