//! Matrices: sparse, dense, and the two side by side.
//!
//! faer's types stay behind this door: nothing outside this folder names them.

mod csr;
mod dense;
mod mixed;

pub use csr::{Csr, RowsMut};
pub use dense::Dense;
pub use mixed::{Matrix, Row};
