//! Every stage a recipe can name: its parameters, and the adapter that puts its method behind the stage traits.
//!
//! A new method adds a file here and a line to [`all`].

mod classify;
mod embedding;
mod project;
mod vectorize;
mod words;

use std::sync::Arc;

use super::arguments::{Arguments, Parameter};
use super::stage::{Classifier, Projector, Stage, Vectorizer};
use crate::Result;
use crate::text::WordsParams;

/// The kinds of stage, in the order they can follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageKind {
    /// Texts to words.
    Words,
    /// Words to matrix.
    Vectorize,
    /// Matrix to matrix.
    Project,
    /// Matrix to scores.
    Classify,
}

/// A stage of any kind, not yet fitted.
#[derive(Debug, Clone)]
pub enum AnyStage {
    /// Texts to words.
    Words(WordsParams),
    /// Words to matrix.
    Vectorize(Arc<dyn Vectorizer>),
    /// Matrix to matrix.
    Project(Arc<dyn Projector>),
    /// Matrix to scores.
    Classify(Arc<dyn Classifier>),
}

impl AnyStage {
    /// Names the first value that is out of range.
    pub fn check(&self) -> Result<()> {
        match self {
            AnyStage::Words(words) => words.check(),
            AnyStage::Vectorize(stage) => stage.check(),
            AnyStage::Project(stage) => stage.check(),
            AnyStage::Classify(stage) => stage.check(),
        }
    }
}

/// What a recipe can say about a stage.
#[derive(Debug, Clone, Copy)]
pub struct StageInfo {
    /// The name.
    pub name: &'static str,
    /// The kind.
    pub kind: StageKind,
    /// What it does, in a line.
    pub about: &'static str,
    /// Its parameters; the first may be given by position.
    pub parameters: &'static [Parameter],
    /// Reads the arguments.
    pub build: fn(&mut Arguments<'_>) -> Result<AnyStage>,
}

/// Every stage, in the order of the kinds.
pub fn all() -> impl Iterator<Item = &'static StageInfo> {
    const STAGES: &[StageInfo] = &[
        words::WORDS,
        vectorize::COUNTS,
        vectorize::BINARY,
        vectorize::TFIDF,
        embedding::SCDV,
        embedding::BOWV,
        embedding::CONCEPTS,
        embedding::AVERAGE,
        project::IG,
        project::LSI,
        project::SPRINKLE,
        project::VARNORM,
        project::DISCRIMINANT,
        project::DCOT,
        project::NORMALIZE,
        classify::KNN,
        classify::SVM,
        classify::LOGISTIC,
    ];
    STAGES.iter()
}

/// The stage of that name.
pub fn find(name: &str) -> Option<&'static StageInfo> {
    all().find(|info| info.name == name)
}

/// Whether a recipe is printed with the first parameter by position when it stands alone: `ig(1000)`, but `svm(c=10)`.
pub(super) fn positional(name: &str) -> bool {
    find(name).is_some_and(|info| info.kind == StageKind::Project)
}

/// The `words` stage as something that can be printed.
pub(super) fn words_stage(words: &WordsParams) -> impl Stage {
    words::Words(words.clone())
}

/// The word of a choice, from the list it is read with.
fn word_of<T: PartialEq>(words: &[(&str, T)], value: &T) -> String {
    words.iter().find(|(_, known)| known == value).map_or(String::new(), |(word, _)| word.to_string())
}
