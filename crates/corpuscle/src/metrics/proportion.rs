//! A share of something counted, with an interval around it.
//!
//! Wilson's score interval: with z = 1.96, p = count / of and n = of, the centre is (p + z² / 2n) / (1 + z² / n) and the half width
//! z √(p (1 − p) / n + z² / 4n²) / (1 + z² / n). It holds the true share in about 19 of 20 cases, also for few documents and for shares
//! near 0 and 1, where p ± z √(p (1 − p) / n) does not. O(1).
//!
//! Reference: Wilson, Probable inference, the law of succession, and statistical inference, JASA 1927.
//!
//! ```
//! use corpuscle::metrics::Proportion;
//! let right = Proportion::new(8, 10);
//! assert_eq!((right.value(), right.low < 0.5, right.high > 0.9), (0.8, true, true));
//! ```

/// A share of something counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proportion {
    /// How many were counted.
    pub count: usize,
    /// Of how many.
    pub of: usize,
    /// Where the interval begins; 0 when there are none to count.
    pub low: f64,
    /// Where it ends; 1 when there are none to count.
    pub high: f64,
}

impl Proportion {
    /// Standard errors of a 95 % interval.
    pub const USUAL: f64 = 1.959_963_984_540_054;

    /// `count` of so many.
    pub fn new(count: usize, of: usize) -> Self {
        Self::within(count, of, Self::USUAL)
    }

    /// The same with an interval of another width, `z` standard errors.
    pub fn within(count: usize, of: usize, z: f64) -> Self {
        if of == 0 {
            return Proportion { count, of, low: 0.0, high: 1.0 };
        }
        let (n, p) = (of as f64, count as f64 / of as f64);
        let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
        let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        Proportion { count, of, low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
    }

    /// The share itself; 0 when there are none to count.
    pub fn value(&self) -> f64 {
        self.count as f64 / self.of.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_wilsons() {
        // The formula by hand for 8 of 10: centre 0.716740, half width 0.226578.
        let share = Proportion::new(8, 10);
        assert!((share.low - 0.490_162).abs() < 1e-6 && (share.high - 0.943_318).abs() < 1e-6, "{share:?}");
        let none = Proportion::new(0, 0);
        assert_eq!((none.low, none.high, none.value()), (0.0, 1.0, 0.0));
        assert!(Proportion::new(5, 5).high == 1.0 && Proportion::new(0, 5).low < 1e-12);
    }
}
