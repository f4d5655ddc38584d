//! Recipes against each other on the same splits, and whether the difference is more than chance.

mod at_once;
mod compare;
mod label_curve;
mod memory;
mod objective;
mod protocol;
mod recommend;
mod results;
mod significance;
mod splits;
mod suggest;
mod tune;

pub use compare::{Comparison, Outcome, Outcomes, compare, compare_with};
pub use label_curve::{
    CurvePoint, LabelCurve, LabelDraws, active_label_curves, draw_labels, label_curves, tuned_label_curves,
};
pub use objective::Objective;
pub use protocol::{
    Along, ByClass, Chosen, Claim, ClaimTest, ClassMeans, Constant, Draw, Figure, Parts, Point, Protocol,
    Reconstruction, Reproduction, SensesAsked, SensesFound, Sprinkling, System, TopicSystem, TopicsAsked, TopicsFound,
};
pub use recommend::{Fate, NAMED, PLAIN, RecommendParams, Recommendation, Setting, Standing, TakenFor, recommend};
pub use results::ResultsFile;
pub use significance::{TTest, corrected_t_test, holm, mean_and_deviation, paired_t_test};
pub use splits::{Split, blocked_folds, k_folds, random_splits};
pub use suggest::{Doubt, Reason, SuggestParams, Suggester, Suggestion};
pub use tune::{Dimension, Range, Space, Trial, TuneParams, Tuning, tune};
