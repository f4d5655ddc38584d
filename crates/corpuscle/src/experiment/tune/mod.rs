//! Finds values for the parameters of a recipe that are given as ranges.
//!
//! ```text
//! tfidf | varnorm(20..120) | svm(c=0.01..100 log)
//! ```
//! `20..120` are whole numbers, `0.1..2` (an end with a point or exponent) real ones, `log` steps by ratios instead of
//! differences, and `{1|3|10}` lists the values. Every trial is one cross-validation on the rows handed in, all trials
//! on the same folds, every stage fitted inside the fold; other rows are never seen. Folds are runs of neighbouring rows
//! of each class, as for `recommend`: documents of one source must not help each other. What trials have in common, such
//! as all stages before the first range, is done once for each fold. See [`tune`] for the search.
//!
//! ```
//! use corpuscle::{Run, corpus, experiment::{Space, TuneParams, tune}};
//! let run = Run::new(42, 0)?;
//! let documents = corpus::demo()?.train;
//! let space = Space::parse("tfidf(sublinear={true|false}) | svm(c=0.1..10 log)")?;
//! let params = TuneParams { trials: Some(4), folds: 3, ..TuneParams::default() };
//! let tuning = tune(&space, &documents, &params, &run, |_, _| {})?;
//! assert_eq!(tuning.trials.len(), 4);
//! assert!(corpuscle::recipe::Recipe::parse(&tuning.best().recipe).is_ok());
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod propose;
mod search;
mod space;

pub use search::{Trial, TuneParams, Tuning, tune};
pub use space::{Dimension, Range, Space};
