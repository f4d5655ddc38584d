//! The shape of every method that scores classes: params, `fit`, model.

use std::any::Any;
use std::fmt::Debug;

use super::{LinearModel, NearDocument, strangeness};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::params::Params;
use crate::project::Target;
use crate::store::{StoreReader, StoreWriter};
use crate::{Result, Run};

/// Where a fit ended, for the next fit of the same rows with somewhat other labels and weights to begin at.
#[derive(Default)]
pub struct Start(Option<Box<dyn Any + Send>>);

impl Start {
    /// What the fit before left here, if it was one of a method that leaves a `T`.
    pub fn take<T: Any + Send>(&mut self) -> Option<T> {
        self.0.take().and_then(|left| left.downcast().ok()).map(|left| *left)
    }

    /// Leaves something for the next fit.
    pub fn leave<T: Any + Send>(&mut self, left: T) {
        self.0 = Some(Box::new(left));
    }
}

/// Matrix to scores, not yet fitted.
pub trait Classifier: Params {
    /// What fitting gives.
    type Model: ClassifierModel + 'static;
    /// Whether it can learn from its own decisions about unlabelled documents.
    const SELF_TRAINS: bool = false;

    /// Learns from the labelled rows of `x`.
    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<Self::Model>;

    /// Like [`Classifier::fit`], beginning where the fit before ended, for a method that is sooner done so. The same
    /// model within the method's tolerance.
    fn fit_from(&self, x: &Matrix, target: &Target<'_>, _start: &mut Start, run: &Run) -> Result<Self::Model> {
        self.fit(x, target, run)
    }

    /// Takes a fitted model out of a store, checking it whole.
    fn load(&self, store: &StoreReader<'_>, run: &Run) -> Result<Self::Model>;

    /// The same with what fitting has found in place of `auto`.
    #[must_use]
    fn resolved(&self, _model: &Self::Model) -> Self {
        self.clone()
    }

    /// The same, looser where that saves time, for fits whose scores only place thresholds and sigmoids.
    #[must_use]
    fn rough(&self) -> Self {
        self.clone()
    }

    /// The same, stopped after a few steps, for a fit that only leads to the next one, which begins where it ended.
    #[must_use]
    fn glance(&self) -> Self {
        self.rough()
    }

    /// What stands for the method while something before it is chosen. One that finds a value of its own comes at a few fixed
    /// ones, the best of which counts: to find it anew for every fit of a choice would take thirty fits where two will do.
    fn variants(&self) -> Vec<Self> {
        vec![self.rough()]
    }

    /// The model with other weights, for a linear method; `None` for any other.
    fn with_linear(_model: Self::Model, _linear: LinearModel) -> Option<Self::Model> {
        None
    }

    /// Steps that fitting reports, when known beforehand.
    fn steps(&self, _labels: &Labels) -> Option<u64> {
        None
    }
}

/// Matrix to scores, fitted.
pub trait ClassifierModel: Debug + Send + Sync {
    /// Scores: documents × classes.
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense>;
    /// How many classes it scores.
    fn n_classes(&self) -> usize;
    /// How many columns a matrix must have.
    fn n_inputs(&self) -> usize;
    /// Puts the model into a store.
    fn save(&self, out: &mut StoreWriter) -> Result<()>;

    /// Probabilities when the method has them of its own.
    fn own_probabilities(&self, _scores: &Dense) -> Option<Dense> {
        None
    }

    /// The score from which a label is given when nothing better is known.
    fn usual_threshold(&self) -> f32 {
        0.0
    }

    /// How unlike the documents it learnt from each row of `x` is, whose scores are given: higher is stranger. By the scores alone
    /// unless the method knows better.
    fn strangeness(&self, _x: &Matrix, scores: &Dense, _run: &Run) -> Result<Vec<f32>> {
        Ok((0..scores.rows()).map(|row| strangeness(scores.row(row))).collect())
    }

    /// The weights, when the method is linear: what an explanation is made of.
    fn linear(&self) -> Option<&LinearModel> {
        None
    }

    /// The documents it has kept that are nearest to each row of `x`; `None` for a method that keeps none.
    fn nearest(&self, _x: &Matrix, _count: usize, _run: &Run) -> Result<Option<Vec<Vec<NearDocument>>>> {
        Ok(None)
    }

    /// How much each row leans to a class against another, measured so that it changes smoothly with the row, for a method
    /// whose scores do not; `None` for any other. The first row is the whole document, the others are variants of it.
    fn leaning(&self, _x: &Matrix, _class: u32, _against: Option<u32>, _run: &Run) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }

    /// The derivative of [`ClassifierModel::leaning`] by the columns of the document `x`, one row.
    fn leaning_gradient(&self, _x: &Matrix, _class: u32, _against: Option<u32>, _run: &Run) -> Result<Option<Dense>> {
        Ok(None)
    }

    /// What was reached in fitting, for people: (what, value).
    fn notes(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}
