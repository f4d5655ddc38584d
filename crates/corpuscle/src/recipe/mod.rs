//! Recipes: a line of text that is a pipeline, the model it becomes, and the file that model lives in.
//!
//! ```text
//! words(stem=porter, stop=english) | tfidf(sublinear=true, min_df=2) | svm(c=1)
//! ```
//! [`Recipe::parse`] reads and checks the line, [`Recipe::fit`] makes a [`Model`] from a tokenised [`Corpus`], and
//! [`Model`] predicts, represents and explains. See [`model`](Model) for a whole example.

mod arguments;
mod data;
mod decide;
pub mod drift;
mod elsewhere;
mod erase;
mod explain;
mod fit;
mod fitted;
mod folds;
mod method;
mod model;
pub mod model_file;
mod names;
mod plan;
mod predictor;
pub mod presets;
mod registry;
mod spill;
pub mod syntax;
mod terms;
mod topics;
mod training;
mod vote;
mod written;

pub use data::{Corpus, for_each_batch};
pub use explain::{Contribution, Weighing};
pub use fitted::TermWeights;
pub use method::{FittedMethod, Method};
pub use model::{BeforeAndAfter, Model, Predictions, Represented};
pub use names::Expansion;
pub use plan::Recipe;
pub use predictor::{Prediction, Predictor};
pub use registry::{Parameter, Registry, Stage, StageKind};
pub use spill::Spilled;
pub use terms::{NearWord, Neighbourhood, TermPair};
pub use vote::{VoteParams, VoteWeights};
