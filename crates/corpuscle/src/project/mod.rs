//! Matrix to matrix: choosing terms, rescaling rows, representations with fewer columns.
//!
//! Every method has one shape: a params struct that is a [`Projector`], `fit(&x, &target, &run)` that gives a model and what
//! becomes of the rows, and a [`ProjectorModel`] whose `transform(&x, &run)` does the same to any rows. Every default fits,
//! and every `auto` works with or without a recipe around it; [`Target`] says how.

mod class_spaces;
#[cfg(test)]
mod class_spaces_tests;
mod dcot;
mod discriminant;
mod gain_counts;
mod information_gain;
mod local_lsi;
mod lsi;
mod members;
mod normalize;
mod pmi;
mod projector;
mod slsi;
mod sprinkle;
mod target;
mod varnorm;

pub use crate::vectorize::Columns;
pub use class_spaces::ClassSpacesModel;
pub use dcot::{DcotModel, DcotParams, FoundLayer, Rank, Select, Solver, Terms, Weight};
pub use discriminant::{DiscriminantModel, DiscriminantParams};
pub use gain_counts::GainCounts;
pub use information_gain::{InformationGainModel, InformationGainParams};
pub use local_lsi::LocalLsiParams;
pub use lsi::{LsiModel, LsiParams};
pub use normalize::{NormalizeModel, NormalizeParams};
pub use pmi::{PmiModel, PmiParams};
pub use projector::{ColumnWeights, Projector, ProjectorModel, Weights};
pub use slsi::SlsiParams;
pub use sprinkle::{NearTerm, SprinkleModel, SprinkleParams, SprinklePoint, TermShift};
pub use sprinkle::{prototypical_terms, sprinkle_curve, sprinkled_terms, within_over_between};
pub(crate) use target::best;
pub use target::{ClassWords, ColumnNames, Fold, FoldRows, Judge, NearestMean, Refitted, Target, Upstream, Verdict};
pub use varnorm::{TopicVariability, VarNormModel, VarNormParams, intra_topic_variability};
