//! Whether a difference between two recipes is more than chance: the paired t-test, and Holm's correction for many.
//!
//! For differences d_1 … d_n of two recipes over the same splits, t = mean(d) / (sd(d) / √n) with n − 1 degrees of
//! freedom (Student, 1908). The p-value is two-sided. With repeated random splits of one corpus the differences are not
//! independent, which makes the plain test too bold; `corrected` widens the variance by 1/n + test/train instead of 1/n
//! (Nadeau and Bengio, 2003). The papers use the plain test, so that is what the tables show beside theirs.
//!
//! ```
//! use corpuscle::experiment::paired_t_test;
//! let test = paired_t_test(&[0.9, 0.8, 0.85, 0.95], &[0.8, 0.75, 0.8, 0.8]).unwrap();
//! assert!(test.p < 0.05 && test.low > 0.0);
//! ```

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The outcome of a paired t-test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TTest {
    /// Mean of the differences, first minus second.
    pub difference: f64,
    /// Lower end of the 95 % interval of the difference.
    pub low: f64,
    /// Upper end of the 95 % interval of the difference.
    pub high: f64,
    /// The statistic.
    pub t: f64,
    /// Two-sided probability of a difference at least as large by chance.
    pub p: f64,
}

/// Compares two recipes over the same splits. `None` with fewer than two splits or lists of different lengths.
pub fn paired_t_test(first: &[f64], second: &[f64]) -> Option<TTest> {
    test(first, second, 0.0)
}

/// The same for repeated random splits of one corpus, with `test_share` = test documents / training documents.
pub fn corrected_t_test(first: &[f64], second: &[f64], test_share: f64) -> Option<TTest> {
    test(first, second, test_share)
}

fn test(first: &[f64], second: &[f64], extra: f64) -> Option<TTest> {
    let n = first.len();
    if n < 2 || second.len() != n {
        return None;
    }
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    let (mean, deviation) = mean_and_deviation(&differences)?;
    let error = deviation * (1.0 / n as f64 + extra).sqrt();
    // The same difference every time: accuracies are whole documents, so two or three differences are soon equal by accident, and a spread
    // of 0 says nothing. What is left is how often the sign came out the same (the sign test): 1/2 of two, 1/512 of ten.
    if error <= f64::EPSILON * mean.abs().max(1.0) {
        let sign = 0.5f64.powi(i32::try_from(n - 1).unwrap_or(i32::MAX));
        let (t, p) = if mean == 0.0 { (0.0, 1.0) } else { (f64::INFINITY.copysign(mean), sign) };
        return Some(TTest { difference: mean, low: mean, high: mean, t, p });
    }
    let student = StudentsT::new(0.0, 1.0, (n - 1) as f64).ok()?;
    let t = mean / error;
    let half = student.inverse_cdf(0.975) * error;
    Some(TTest { difference: mean, low: mean - half, high: mean + half, t, p: 2.0 * student.cdf(-t.abs()) })
}

/// Mean and sample standard deviation (n − 1); `None` without values, deviation 0 for one.
pub fn mean_and_deviation(values: &[f64]) -> Option<(f64, f64)> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, if values.len() < 2 { 0.0 } else { (squares / (n - 1.0)).sqrt() }))
}

/// Holm's step-down correction (1979): p-values that hold for all comparisons together, in the order given.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut corrected = vec![0.0; p.len()];
    let mut floor = 0.0f64;
    for (rank, &index) in order.iter().enumerate() {
        floor = floor.max((p[index] * (p.len() - rank) as f64).min(1.0));
        corrected[index] = floor;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.ttest_rel` and `confidence_interval()` (scipy 1.17) on the same numbers.
    #[test]
    fn agrees_with_scipy() {
        let a = [0.62, 0.65, 0.61, 0.66, 0.64, 0.63, 0.67, 0.62, 0.65, 0.64];
        let b = [0.60, 0.66, 0.58, 0.63, 0.62, 0.62, 0.64, 0.63, 0.62, 0.61];
        let test = paired_t_test(&a, &b).unwrap();
        assert!((test.t - 3.515_100_596_482_244_4).abs() < 1e-9, "{}", test.t);
        assert!((test.p - 0.006_565_782_110_803_093).abs() < 1e-9, "{}", test.p);
        assert!(
            (test.low - 0.006_416_027_418_641_4).abs() < 1e-8 && (test.high - 0.029_583_972_581_358_7).abs() < 1e-8,
            "{test:?}"
        );
    }

    #[test]
    fn equal_differences_count_by_their_sign() {
        assert_eq!(paired_t_test(&[1.0, 1.0], &[1.0, 1.0]).unwrap().p, 1.0);
        assert_eq!(paired_t_test(&[1.0, 2.0], &[0.5, 1.5]).unwrap().p, 0.5);
        assert_eq!(paired_t_test(&[1.0; 10], &[0.5; 10]).unwrap().p, 1.0 / 512.0);
        assert!(paired_t_test(&[1.0], &[0.5]).is_none());
        assert!(paired_t_test(&[1.0, 2.0], &[0.5]).is_none());
    }

    #[test]
    fn the_corrected_test_is_more_careful() {
        let (a, b) = ([0.62, 0.65, 0.61, 0.66], [0.60, 0.66, 0.58, 0.63]);
        let plain = paired_t_test(&a, &b).unwrap();
        assert!(corrected_t_test(&a, &b, 0.5).unwrap().p > plain.p);
    }

    #[test]
    fn holm_steps_down() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(corrected.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{corrected:?}");
    }
}
