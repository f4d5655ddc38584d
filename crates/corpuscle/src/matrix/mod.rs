//! Matrices: sparse, dense, and the two side by side.
//!
//! faer's types stay behind this door: nothing outside this folder names them.

mod buffer;
pub(crate) mod cholesky;
pub(crate) mod codes;
mod csr;
mod dense;
pub(crate) mod gram;
mod mixed;
pub(crate) mod panel;
pub(crate) mod rowwise;
pub(crate) mod small;
pub(crate) mod small_cholesky;
pub(crate) mod svd;

pub use buffer::Buffer;
pub use codes::Codes;
pub(crate) use codes::Table;
pub use csr::{Csr, RowsMut};
pub use dense::Dense;
pub use mixed::{Matrix, Row, Widths};
pub use panel::{LANES, Lane, Linear, Operator};
pub use svd::{TruncatedSvd, truncated_svd_of as truncated_svd};
