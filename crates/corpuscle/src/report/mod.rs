//! Charts and reports to read, print and send: SVG and one self-contained HTML file.
//!
//! Nothing here computes a result: plain structs go in, text comes out. Every name and text is escaped, every
//! coordinate is a finite number, and a page needs neither network nor script.

mod escape;
pub mod html;
pub mod svg;

pub use escape::{escape, shorten, snippet};
