//! Adapters of the `classify` room, and the parameters its methods share.

mod knn;
mod logistic;
mod svm;

pub(super) use knn::KNN;
pub(super) use logistic::LOGISTIC;
pub(super) use svm::SVM;

use crate::classify::{ClassWeight, Cost};
use crate::recipe::arguments::{Arguments, Parameter};
use crate::{Error, Result};

const CLASS_WEIGHTS: &[(&str, ClassWeight)] = &[("none", ClassWeight::None), ("balanced", ClassWeight::Balanced)];
const COST: Parameter = Parameter { name: "c", about: "cost of mistakes, above 0 (1), or auto: by cross-validation" };
const CLASS_WEIGHT: Parameter = Parameter { name: "class_weight", about: "none (default) or balanced" };
const TOLERANCE: Parameter = Parameter { name: "tolerance", about: "how close to the optimum to stop, relatively" };
const MAX_ITER: Parameter = Parameter { name: "max_iter", about: "most passes over the data" };
const CALIBRATE: Parameter =
    Parameter { name: "calibrate", about: "held-out folds for probabilities and thresholds (3), 0 for none" };

/// Folds for calibration when nothing is said.
const DEFAULT_FOLDS: usize = 3;
/// Held-out scores only place sigmoids and thresholds, so the fits behind them may stop earlier than the real one.
const ROUGH_TOLERANCE: f64 = 1e-2;

fn read_cost(arguments: &mut Arguments<'_>, to: &mut Cost) -> Result<()> {
    arguments.read("c", to, |text| match text {
        "auto" => Some(Cost::Auto),
        _ => text.parse().ok().map(Cost::Value),
    })
}

fn show_cost(cost: &Cost) -> String {
    match cost {
        Cost::Auto => "auto".to_string(),
        Cost::Value(value) => value.to_string(),
    }
}

fn check_folds(stage: &'static str, folds: usize) -> Result<()> {
    match folds {
        1 => Err(Error::parameter(stage, "calibrate", folds, "must be 0 for none, or at least 2")),
        101.. => Err(Error::parameter(stage, "calibrate", folds, "must be at most 100")),
        _ => Ok(()),
    }
}
