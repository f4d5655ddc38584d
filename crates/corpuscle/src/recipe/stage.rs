//! The three kinds of stage as the recipe sees them: parameters that can be fitted, and what fitting gives.
//!
//! A method lives in its own room (`vectorize`, `project`, `classify`) with concrete types; a small adapter in
//! [`super::stages`] puts it behind one of these traits, so that fitting, predicting, saving and explaining are written
//! once for all methods.

use std::fmt::Debug;

use super::later::Later;
use crate::classify::{LinearModel, NearDocument};
use crate::corpus::Labels;
use crate::matrix::{Csr, Dense, Matrix};
use crate::project::TermShift;
use crate::store::{StoreReader, StoreWriter};
use crate::text::Tokens;
use crate::vectorize::WordSpace;
use crate::{Error, Result, Run};

/// What every stage can say of itself.
pub trait Stage: Debug + Send + Sync {
    /// Its name in recipes.
    fn name(&self) -> &'static str;
    /// The arguments that differ from the defaults, in the order of the parameter list.
    fn arguments(&self) -> Vec<(&'static str, String)>;
    /// Names the first value that is out of range.
    fn check(&self) -> Result<()>;
}

/// Tokens to matrix, not yet fitted.
pub trait Vectorizer: Stage {
    /// Fits on all documents and gives their matrix too.
    fn fit(&self, tokens: &Tokens, run: &Run) -> Result<(Box<dyn FittedVectorizer>, Matrix)>;
    /// Takes the fitted stage out of a store.
    fn load(&self, store: &StoreReader<'_>) -> Result<Box<dyn FittedVectorizer>>;
}

/// Tokens to matrix, fitted.
pub trait FittedVectorizer: Debug + Send + Sync {
    /// The matrix of any documents.
    fn transform(&self, tokens: &Tokens, run: &Run) -> Result<Matrix>;
    /// Puts the fitted stage into a store.
    fn save(&self, out: &mut StoreWriter) -> Result<()>;
    /// What the sparse columns stand for.
    fn feature_names(&self) -> Vec<String>;
    /// How many columns come out.
    fn n_columns(&self) -> usize;
    /// What an update of the model needs to keep of documents: how often each known term is in each. `None` for a stage
    /// that cannot be fitted again from that.
    fn raw_counts(&self, _tokens: &Tokens, _run: &Run) -> Result<Option<Csr>> {
        Ok(None)
    }
    /// Fits again, with the same terms, on documents kept as [`FittedVectorizer::raw_counts`].
    fn refit(&self, _counts: &Csr, _run: &Run) -> Result<(Box<dyn FittedVectorizer>, Matrix)> {
        Err(Error::data("this stage cannot be fitted again from counts"))
    }
    /// The word vectors, when it has some.
    fn word_space(&self) -> Option<&WordSpace> {
        None
    }
}

/// Matrix to matrix, not yet fitted.
pub trait Projector: Stage {
    /// Whether labelled documents are needed.
    fn needs_labels(&self) -> bool;
    /// Whether what it learns depends on the classifier that follows.
    fn asks_classifier(&self) -> bool {
        false
    }
    /// Fits (supervised ones on the labelled rows) and gives the matrix of all rows.
    /// What it needs of the classifier that follows it asks of `later`.
    fn fit(
        &self,
        x: Matrix,
        labels: &Labels,
        later: &Later<'_>,
        run: &Run,
    ) -> Result<(Box<dyn FittedProjector>, Matrix)>;
    /// Takes the fitted stage out of a store.
    fn load(&self, store: &StoreReader<'_>) -> Result<Box<dyn FittedProjector>>;
}

/// Columns with weights, largest first.
pub type ColumnWeights = Vec<(u32, f32)>;

/// Matrix to matrix, fitted.
pub trait FittedProjector: Debug + Send + Sync {
    /// The projected matrix of any documents.
    fn transform(&self, x: Matrix, run: &Run) -> Result<Matrix>;
    /// Puts the fitted stage into a store.
    fn save(&self, out: &mut StoreWriter) -> Result<()>;
    /// What the sparse columns stand for, given what they stood for before.
    fn feature_names(&self, before: Vec<String>) -> Vec<String>;
    /// How many columns come out of `before` columns, or an error when that many cannot go in.
    fn n_columns(&self, before: usize) -> Result<usize>;
    /// Which terms of its input were drawn together and apart, when it knows.
    fn term_shift(&self) -> Option<&TermShift> {
        None
    }
    /// A vector for every column of its input, in which terms can be compared; `None` when it has none.
    fn term_vectors(&self) -> Option<Dense> {
        None
    }
    /// The stage with what fitting found out in place of `auto`, for fits on folds; `None` when there is nothing to
    /// find out.
    fn found(&self) -> Option<Box<dyn Projector>> {
        None
    }
    /// For each document the columns of its input that it brings to mind, with weights, largest first; an empty document
    /// gets what is expected anywhere. `None` for a stage that reconstructs nothing.
    fn reconstruct(&self, _x: &Matrix, _run: &Run) -> Result<Option<Vec<ColumnWeights>>> {
        Ok(None)
    }
    /// The weights of the columns that go in which score every document as `weights` of the columns that come out do, up
    /// to a constant; `None` for a stage that is not linear. One row per column, one column per score.
    fn pull_back(&self, _weights: &Dense) -> Result<Option<Dense>> {
        Ok(None)
    }
}

/// Matrix to scores, not yet fitted.
pub trait Classifier: Stage {
    /// Fits on the labelled rows.
    fn fit(&self, x: &Matrix, labels: &Labels, weights: Option<&[f32]>, run: &Run)
    -> Result<Box<dyn FittedClassifier>>;
    /// The same method for fits that only serve to calibrate `fitted`: with what that one found, and looser where that
    /// saves time.
    fn rough(&self, fitted: &dyn FittedClassifier) -> Box<dyn Classifier>;
    /// The same method for fits that only serve to choose something before it, looser where that saves time. One that
    /// finds its own cost comes at a few fixed ones instead, the best of which counts: to find the cost anew for
    /// every fit of a choice would take thirty fits where two will do.
    fn choosing(&self) -> Vec<Box<dyn Classifier>>;
    /// Takes the fitted stage out of a store.
    fn load(&self, store: &StoreReader<'_>, run: &Run) -> Result<Box<dyn FittedClassifier>>;
    /// Steps that fitting reports, when known beforehand.
    fn steps(&self, labels: &Labels) -> Option<u64>;
    /// Folds for calibration and thresholds; 0 for none.
    fn calibration_folds(&self) -> usize;
}

/// Matrix to scores, fitted.
pub trait FittedClassifier: Debug + Send + Sync {
    /// Scores: documents × classes.
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense>;
    /// Probabilities when the method has them of its own.
    fn own_probabilities(&self, scores: &Dense) -> Option<Dense>;
    /// The cost of mistakes that was used, when the method has one.
    fn c(&self) -> Option<f64>;
    /// The score from which a label is given when nothing better is known.
    fn usual_threshold(&self) -> f32;
    /// Puts the fitted stage into a store.
    fn save(&self, out: &mut StoreWriter) -> Result<()>;
    /// The weights, when the method is linear: what an explanation is made of.
    fn linear(&self) -> Option<&LinearModel>;
    /// The documents it has kept that are nearest to each row of `x`; `None` for a method that keeps none.
    fn nearest(&self, _x: &Matrix, _count: usize, _run: &Run) -> Result<Option<Vec<Vec<NearDocument>>>> {
        Ok(None)
    }
    /// How much each row leans to a class against another, measured so that it changes smoothly with the row, for a method
    /// whose scores do not; `None` for any other. The first row is the whole document, the others are variants of it.
    fn leaning(&self, _x: &Matrix, _class: u32, _against: Option<u32>, _run: &Run) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }
    /// What was reached in fitting, for people: (what, value).
    fn notes(&self) -> Vec<(&'static str, String)>;
    /// How many classes it scores.
    fn n_classes(&self) -> usize;
    /// How many columns a matrix must have.
    fn n_columns(&self) -> usize;
}
