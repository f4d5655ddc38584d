//! Matrix to matrix: choosing terms, rescaling rows, representations with fewer columns.

mod dcot;
mod discriminant;
mod gain_counts;
mod information_gain;
mod lsi;
mod members;
mod normalize;
mod sprinkle;
mod varnorm;

pub use dcot::{DcotModel, DcotParams, Layers, Noise, Prototypes, Select, Solver, Weight};
pub use discriminant::{DiscriminantModel, DiscriminantParams, Shrinkage};
pub(crate) use discriminant::{Prepared, SHRINKAGE_GRID};
pub use gain_counts::GainCounts;
pub use information_gain::{InformationGainModel, InformationGainParams};
pub use lsi::{LsiModel, LsiParams};
pub use normalize::{NormalizeModel, NormalizeParams};
pub use sprinkle::{Msl, NearTerm, SprinkleModel, SprinkleParams, SprinklePoint, TermShift};
pub use sprinkle::{sprinkle_curve, sprinkled_terms, within_over_between};
pub use varnorm::{TopicVariability, VarNormModel, VarNormParams, intra_topic_variability};
