//! What can be set on logistic regression.

use serde::{Deserialize, Serialize};

use crate::classify::ClassWeight;
use crate::classify::cost::{about, check_solver};
use crate::params::{Auto, Param, Params};
use crate::{Result, param};

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

crate::words!(LogisticMulticlass { Multinomial = "multinomial", OneVsRest = "one_vs_rest" });

/// Parameters of logistic regression.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogisticParams {
    /// The price C of an error.
    pub c: Auto<f64>,
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
            c: Auto::Value(1.0),
            multiclass: LogisticMulticlass::default(),
            bias: true,
            class_weight: ClassWeight::default(),
            tolerance: 1e-3,
            max_iter: 100,
        }
    }
}

impl Params for LogisticParams {
    const NAME: &'static str = "logistic";
    const ABOUT: &'static str = "logistic regression";

    fn table() -> Vec<Param<Self>> {
        vec![
            param!("c", c, about::C),
            param!(
                "multiclass",
                multiclass,
                "one model, or one per class; several labels per document always take the latter"
            ),
            param!("bias", bias, "whether each class has a bias"),
            param!("class_weight", class_weight, about::CLASS_WEIGHT),
            param!("tolerance", tolerance, about::TOLERANCE),
            param!("max_iter", max_iter, about::MAX_ITER),
        ]
    }

    fn check(&self) -> Result<()> {
        check_solver(Self::NAME, self.c, self.tolerance, self.max_iter).done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_out_of_range_is_named() {
        let bad = [
            ("c", LogisticParams { c: Auto::Value(-1.0), ..Default::default() }),
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
