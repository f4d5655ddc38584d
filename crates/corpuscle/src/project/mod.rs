//! Matrix to matrix: choosing terms, rescaling rows, representations with fewer columns.

mod information_gain;
mod lsi;
mod normalize;
mod sprinkle;

pub use information_gain::{InformationGainModel, InformationGainParams};
pub use lsi::{LsiModel, LsiParams};
pub use normalize::{NormalizeModel, NormalizeParams};
pub use sprinkle::{Msl, NearTerm, SprinkleModel, SprinkleParams, SprinklePoint, TermShift};
pub use sprinkle::{sprinkle_curve, sprinkled_terms, within_over_between};
