//! Learn document representations and classify text, on a CPU.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod classify;
pub mod corpus;
mod error;
pub mod matrix;
pub mod metrics;
pub mod project;
pub mod recipe;
pub mod report;
mod run;
pub mod store;
pub mod text;
pub mod vectorize;

pub use error::{Error, Result};
pub use run::{DEFAULT_SEED, Progress, Rng, Run, Silent};
