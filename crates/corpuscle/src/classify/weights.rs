//! How much each document counts: its own weight times that of its class.

use serde::{Deserialize, Serialize};

use crate::corpus::Labels;
use crate::{Error, Result};

/// How classes of different sizes are weighed against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClassWeight {
    /// Every document counts the same.
    #[default]
    None,
    /// A class of n_c of n documents counts n / (classes · n_c), as in scikit-learn.
    Balanced,
}

crate::words!(ClassWeight { None = "none", Balanced = "balanced" });

impl ClassWeight {
    /// The weight of each class.
    pub fn of(self, labels: &Labels) -> Vec<f64> {
        self.of_counts(labels.labelled_rows().len(), &labels.class_counts())
    }

    /// The weight of each class from how many of `n` labelled documents have it.
    pub fn of_counts(self, n: usize, counts: &[usize]) -> Vec<f64> {
        match self {
            ClassWeight::None => vec![1.0; counts.len()],
            ClassWeight::Balanced => {
                let present = counts.iter().filter(|&&count| count > 0).count();
                counts.iter().map(|&count| if count == 0 { 1.0 } else { n as f64 / (present * count) as f64 }).collect()
            }
        }
    }
}

/// Checks sample weights: one per row, finite, not negative, not all zero.
pub fn check_weights(weights: Option<&[f32]>, rows: usize) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    if weights.len() != rows {
        return Err(Error::Shape { what: "document weights", expected: rows, found: weights.len() });
    }
    if let Some(row) = weights.iter().position(|weight| !weight.is_finite() || *weight < 0.0) {
        let reason =
            format!("document {} has weight {}; weights must be finite and not negative", row + 1, weights[row]);
        return Err(Error::data(reason));
    }
    if rows > 0 && weights.iter().all(|&weight| weight == 0.0) {
        return Err(Error::data("every document has weight 0; give at least one a positive weight"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_weights_are_those_of_scikit_learn() {
        let labels = Labels::from_single(["a", "a", "a", "b"].map(Some));
        let weights = ClassWeight::Balanced.of(&labels);
        assert!((weights[0] - 4.0 / 6.0).abs() < 1e-12 && (weights[1] - 2.0).abs() < 1e-12);
    }

    #[test]
    fn weights_that_are_no_weights_are_refused() {
        assert!(check_weights(Some(&[1.0, f32::NAN]), 2).unwrap_err().to_string().contains("document 2"));
        assert!(check_weights(Some(&[1.0, -1.0]), 2).is_err());
        assert!(check_weights(Some(&[0.0, 0.0]), 2).is_err());
        assert!(check_weights(Some(&[1.0]), 2).is_err());
        assert!(check_weights(Some(&[0.0, 0.5]), 2).is_ok());
    }
}
