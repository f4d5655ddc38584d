//! Matrix to scores: linear SVM, logistic regression, nearest neighbours, and probabilities from scores.

mod knn;
mod linear;
mod weights;

pub use knn::{KnnModel, KnnParams, Metric, Neighbours, Vote};
pub use linear::LinearModel;
pub use weights::{ClassWeight, check_weights};
