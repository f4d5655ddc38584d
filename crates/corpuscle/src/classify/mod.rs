//! Matrix to scores: linear SVM, logistic regression, naive Bayes, nearest neighbours; probabilities from scores, answers withheld, foreign documents.

mod abstain;
mod assembly;
mod bayes;
mod calibrate;
mod classifier;
mod cost;
#[cfg(test)]
mod fixture;
mod framed;
mod held;
mod knn;
mod lanes;
mod learn;
mod linear;
mod logistic;
mod names;
mod novelty;
mod packed;
mod self_training;
mod svm;
mod thresholds;
mod weights;

pub use abstain::{
    CANDIDATES as ABSTAIN_CANDIDATES, CoveragePoint, RiskCoverage, Selection, coverage_curve, error_bound,
};
pub use assembly::Reached;
pub use bayes::{BayesModel, BayesParams};
pub use calibrate::Calibration;
pub use classifier::{Classifier, ClassifierModel, Start};
pub use cost::GRID as COST_GRID;
pub use framed::{Framed, FramedModel};
pub use held::OutOfFold;
pub use knn::{KnnModel, KnnParams, Metric, NearDocument, Neighbours, Rest, Vote};
pub(crate) use learn::{is_clearly_worse, right_rows};
pub use linear::LinearModel;
pub use logistic::{LogisticModel, LogisticMulticlass, LogisticParams};
pub use names::ClassNames;
pub use novelty::{KEPT as NOVELTY_KEPT, Novelty, strangeness};
pub(crate) use self_training::{Alignment, temperature};
pub use self_training::{ROUNDS as SELF_TRAINING_ROUNDS, SelfTraining, align_train, self_train};
pub use svm::{Loss, Multiclass, SvmModel, SvmParams};
pub use thresholds::Thresholds;
pub use weights::{ClassWeight, check_weights};
