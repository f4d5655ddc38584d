//! The command as people use it: one binary, a file for each kind of use.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod abstaining;
mod browser;
mod columns;
mod comparing;
mod corpora;
mod drifting;
mod embedding;
mod everyday;
mod explaining;
mod faults;
mod few_labels;
mod journey;
mod multi_label;
mod pages;
mod projecting;
mod recommending;
mod same_bits;
mod searching;
mod spilling;
mod support;
mod terminal;
mod terms;
mod topics;
mod tuning;
mod updating;
mod upgrading;
mod words;
mod writing;
