//! Matrix to scores: linear SVM, logistic regression, nearest neighbours, and probabilities from scores.

mod linear;
mod weights;

pub use linear::LinearModel;
pub use weights::{ClassWeight, check_weights};
