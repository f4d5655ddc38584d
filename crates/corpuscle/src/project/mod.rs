//! Matrix to matrix: choosing terms, rescaling rows.

mod information_gain;
mod normalize;

pub use information_gain::{InformationGainModel, InformationGainParams};
pub use normalize::{NormalizeModel, NormalizeParams};
