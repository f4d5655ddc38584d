//! Matrix to scores: linear SVM, logistic regression, nearest neighbours, and probabilities from scores.

mod calibrate;
mod knn;
mod linear;
mod thresholds;
mod weights;

pub use calibrate::{Calibration, out_of_fold};
pub use knn::{KnnModel, KnnParams, Metric, Neighbours, Vote};
pub use linear::LinearModel;
pub use thresholds::Thresholds;
mod assembly;
mod cost;
#[cfg(test)]
mod fixture;
mod lanes;
mod linear;
mod logistic;
mod packed;
mod svm;
mod weights;

pub use assembly::Reached;
pub use cost::{Cost, GRID as COST_GRID};
pub use linear::LinearModel;
pub use logistic::{LogisticModel, LogisticMulticlass, LogisticParams};
pub use svm::{Loss, Multiclass, SvmModel, SvmParams};
pub use weights::{ClassWeight, check_weights};
