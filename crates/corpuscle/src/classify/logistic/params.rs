//! What can be set on logistic regression.

use serde::{Deserialize, Serialize};

use crate::classify::{ClassWeight, Cost};
use crate::{Error, Result};

/// How more than two classes are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogisticMulticlass {
    /// One model whose probabilities add up to 1 (softmax). For documents with one label each.
    #[default]
    Multinomial,
    /// One model per class: its documents against all others.
    OneVsRest,
}

/// Parameters of logistic regression.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogisticParams {
    /// The price C of an error.
    pub c: Cost,
    /// How more than two classes are told apart.
    pub multiclass: LogisticMulticlass,
    /// Whether each class has a bias. It is not penalised, as in scikit-learn.
    pub bias: bool,
    /// How classes of different sizes are weighed.
    pub class_weight: ClassWeight,
    /// Stop when the objective is within this share of its minimum: a bound for the weights, an estimate for the bias,
    /// which is not penalised.
    pub tolerance: f64,
    /// Stop after so many Newton steps in any case.
    pub max_iter: usize,
}

impl Default for LogisticParams {
    fn default() -> Self {
        LogisticParams {
            c: Cost::default(),
            multiclass: LogisticMulticlass::default(),
            bias: true,
            class_weight: ClassWeight::default(),
            tolerance: 1e-3,
            max_iter: 100,
        }
    }
}

impl LogisticParams {
    /// An error that names the value out of its range.
    pub fn check(&self) -> Result<()> {
        self.c.check("logistic")?;
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return Err(Error::parameter("logistic", "tolerance", self.tolerance, "must be above 0 and below 1"));
        }
        if self.max_iter == 0 {
            return Err(Error::parameter("logistic", "max_iter", self.max_iter, "must be at least 1"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_out_of_range_is_named() {
        let bad = [
            ("c", LogisticParams { c: Cost::Value(-1.0), ..Default::default() }),
            ("tolerance", LogisticParams { tolerance: 2.0, ..Default::default() }),
            ("max_iter", LogisticParams { max_iter: 0, ..Default::default() }),
        ];
        for (name, params) in bad {
            assert!(params.check().unwrap_err().to_string().starts_with(&format!("logistic: {name} = ")), "{name}");
        }
        let text = serde_json::to_string(&LogisticParams::default()).unwrap();
        assert_eq!(serde_json::from_str::<LogisticParams>(&text).unwrap(), LogisticParams::default());
    }
}
