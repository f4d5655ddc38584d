//! Adapters of the `project` room, a file for each.

mod dcot;
mod discriminant;
mod ig;
mod lsi;
mod normalize;
mod sprinkle;
mod varnorm;

pub(super) use dcot::DCOT;
pub(super) use discriminant::DISCRIMINANT;
pub(super) use ig::IG;
pub(super) use lsi::LSI;
pub(super) use normalize::NORMALIZE;
pub(super) use sprinkle::SPRINKLE;
pub(super) use varnorm::VARNORM;

use crate::{Error, Result};

/// The width of a stage that takes just as many columns as it was fitted on.
fn same_columns(what: &'static str, expected: usize, found: usize, width: usize) -> Result<usize> {
    if expected == found { Ok(width) } else { Err(Error::Shape { what, expected, found }) }
}
