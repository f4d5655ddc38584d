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
pub use weights::{ClassWeight, check_weights};
