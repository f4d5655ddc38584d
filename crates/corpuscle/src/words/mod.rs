//! Words as vectors: training, clustering, import and export.
//!
//! [`SkipGramParams`] trains [`WordVectors`] on tokens, by prediction or by decomposition; [`WordVectors::read`] and [`WordVectors::write`] exchange them
//! with other programs. [`KmeansParams`] and [`MixtureParams`] cluster vectors, hard and soft.

mod exchange;
mod exponential;
mod kmeans;
mod mixture;
mod skip_gram;
mod vectors;

pub use exchange::VectorFormat;
pub use kmeans::{Kmeans, KmeansParams};
pub use mixture::{Covariance, Mixture, MixtureParams};
pub use skip_gram::{Architecture, SkipGramParams};
pub(crate) use skip_gram::{Paragraphs, Reading, Topical};
pub use vectors::{Neighbour, WordVectors};
