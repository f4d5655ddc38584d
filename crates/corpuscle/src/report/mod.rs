//! Charts and reports to read, print and send: SVG and one self-contained HTML file.
//!
//! Nothing here computes a result but the [`map`]: plain structs go in, text comes out. Every name and text is escaped,
//! every coordinate is a finite number, and a page needs no network. A script serves only to look at documents behind a
//! picture; every picture is there without it.

mod escape;
pub mod html;
pub mod map;
pub mod svg;

pub use escape::{escape, shorten, snippet};
