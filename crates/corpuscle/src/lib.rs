//! Learn document representations and classify text, on a CPU.
//!
//! Documents are read ([`corpus`]), cut into words ([`text`]), made a matrix ([`vectorize`], [`project`]) and scored
//! ([`classify`]). A [`recipe`] is all of that in one line of text, and the model it becomes is one checked file:
//!
//! ```
//! use corpuscle::metrics::{Evaluation, Predictions};
//! use corpuscle::recipe::{Corpus, Model, Recipe};
//! use corpuscle::{Run, corpus};
//!
//! let run = Run::new(42, 0)?; // seed 42, a worker for every core
//! let demo = corpus::demo()?;
//! let recipe = Recipe::parse("words(stem=english) | tfidf(sublinear=true) | svm")?;
//! let train = Corpus::read(demo.train.into_iter().map(Ok), recipe.words(), &run)?;
//! let model = recipe.fit(&train, &run)?;
//!
//! let bytes = model.to_bytes()?; // or model.save(path)
//! let model = Model::from_bytes(&bytes, &run)?;
//!
//! let texts: Vec<&str> = demo.test.iter().map(|document| document.text.as_str()).collect();
//! let found = model.predict(&texts, &run)?;
//! let truth = corpus::Labels::from_lists(demo.test.iter().map(|document| document.labels.as_deref()));
//! let truth = truth.align(model.classes());
//! let evaluation = Evaluation::of(&truth, &Predictions::best(&found.scores)?, Some(&found.scores))?;
//! assert!(evaluation.accuracy > 0.75);
//! # Ok::<(), corpuscle::Error>(())
//! ```
//!
//! Everything that can take long is handed a [`Run`]: seed, threads, progress, cancel flag. The same seed gives the same
//! bits at any number of threads.
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod classify;
pub mod corpus;
mod error;
pub mod experiment;
pub mod file;
pub mod matrix;
pub mod metrics;
pub mod params;
pub mod project;
pub mod recipe;
pub mod report;
#[cfg(feature = "retrieve")]
pub mod retrieve;
mod run;
mod share;
pub mod store;
pub mod text;
pub mod topics;
pub mod vectorize;
mod wide;
pub mod words;

pub use error::{Error, ParameterFault, Result};
pub use run::{DEFAULT_SEED, Precision, Progress, Rng, Run, Silent};
pub use share::{Key, KeyWriter};
