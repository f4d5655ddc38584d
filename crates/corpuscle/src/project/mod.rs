//! Matrix to matrix: choosing terms, rescaling rows, representations with fewer columns.

mod information_gain;
mod lsi;
mod normalize;

pub use information_gain::{InformationGainModel, InformationGainParams};
pub use lsi::{LsiModel, LsiParams};
pub use normalize::{NormalizeModel, NormalizeParams};
