//! Recipes against each other on the same splits, and whether the difference is more than chance.

mod compare;
mod label_curve;
mod protocol;
mod significance;
mod splits;

pub use compare::{Comparison, Outcome, Outcomes, compare};
pub use label_curve::{CurvePoint, LabelCurve, draw_labels, label_curves};
pub use protocol::{
    Along, ByClass, Chosen, Claim, ClaimTest, ClassMeans, Constant, Draw, Figure, Parts, Point, Protocol, Reproduction,
    Sprinkling, System,
};
pub use significance::{TTest, corrected_t_test, holm, mean_and_deviation, paired_t_test};
pub use splits::{Split, halves, k_folds};
