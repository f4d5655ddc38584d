//! The shape of every method that makes a matrix of a matrix: params, `fit`, model.

use std::fmt::Debug;

use super::{Columns, Target, TermShift};
use crate::matrix::{Dense, Matrix};
use crate::params::Params;
use crate::store::{StoreReader, StoreWriter};
use crate::vectorize::TopicTable;
use crate::{Error, Result, Run};

/// Columns with weights, largest first.
pub type ColumnWeights = Vec<(u32, f32)>;

/// Matrix to matrix, not yet fitted.
pub trait Projector: Params {
    /// What fitting gives.
    type Model: ProjectorModel + 'static;
    /// What the columns that come out are.
    const MAKES: Columns;
    /// Whether only terms can go in.
    const NEEDS_TERMS: bool = false;
    /// Whether it counts words in their order, so that it stands right behind the stage that makes a matrix of them.
    const WANTS_WORDS: bool = false;

    /// Learns from `x`, supervised methods from its labelled rows alone, and gives what becomes of all rows.
    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<(Self::Model, Matrix)>;

    /// Takes a fitted model out of a store, checking it whole.
    fn load(&self, store: &StoreReader<'_>) -> Result<Self::Model>;

    /// Whether it cannot be fitted without labels.
    fn needs_labels(&self) -> bool {
        false
    }

    /// Whether the model depends on labels even when every value is given; such a method is fitted anew in every fold.
    fn learns_from_labels(&self) -> bool {
        self.needs_labels()
    }

    /// Whether it asks the [judge](super::Judge) for something.
    fn asks_judge(&self) -> bool {
        false
    }

    /// The same with what fitting has found in place of `auto`.
    #[must_use]
    fn resolved(&self, _model: &Self::Model) -> Self {
        self.clone()
    }
}

/// Matrix to matrix, fitted.
pub trait ProjectorModel: Debug + Send + Sync {
    /// What becomes of any documents.
    fn transform(&self, x: &Matrix, run: &Run) -> Result<Matrix>;
    /// How many columns go in.
    fn n_inputs(&self) -> usize;
    /// How many columns come out.
    fn n_columns(&self) -> usize;
    /// Puts the model into a store.
    fn save(&self, out: &mut StoreWriter) -> Result<()>;

    /// What the sparse columns that come out stand for, given the same for those that go in: one name for each.
    fn feature_names(&self, before: Vec<String>) -> Vec<String> {
        before
    }

    /// Whether a score that is linear in what comes out is linear in what goes in, so that [`ProjectorModel::gradient`] is exact.
    fn is_linear(&self) -> bool {
        false
    }

    /// How a score changes with what goes in, where `weights` is how it changes with what comes out: the derivative at the
    /// document `x`, one row. Only columns that the document has need be right. `None` when the method has none to give.
    fn gradient(&self, _x: &Matrix, _weights: &Weights<'_>, _run: &Run) -> Result<Option<Dense>> {
        Ok(None)
    }

    /// For each document the columns of its input that it brings to mind, with weights, largest first; an empty document
    /// gets what is expected anywhere. `None` for a method that reconstructs nothing.
    fn reconstruct(&self, _x: &Matrix, _run: &Run) -> Result<Option<Vec<ColumnWeights>>> {
        Ok(None)
    }

    /// Which columns of its input were drawn together and apart, when it knows.
    fn term_shift(&self) -> Option<&TermShift> {
        None
    }

    /// A vector for every column of its input, in which terms can be compared; `None` when it has none.
    fn term_vectors(&self) -> Option<Dense> {
        None
    }

    /// Its dimensions as topics, given what the columns that go in stand for; `None` for a method whose dimensions are no topics.
    fn topics(&self, _names: Vec<String>) -> Option<TopicTable> {
        None
    }

    /// How much of each topic is in each document that goes in; every row adds up to 1.
    fn topic_shares(&self, _x: &Matrix, _run: &Run) -> Result<Option<Dense>> {
        Ok(None)
    }

    /// Whether it is there to make documents of one topic more alike, so that a report shows by how much.
    fn evens_out_topics(&self) -> bool {
        false
    }

    /// What was found in fitting, for people: (what, value).
    fn notes(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// The weight of each column in one score: a column of a matrix with a row for each.
#[derive(Debug, Clone, Copy)]
pub struct Weights<'a> {
    of: &'a Dense,
    score: usize,
    factor: f32,
}

impl<'a> Weights<'a> {
    /// Column `score` of a matrix that has a row for every column of documents.
    pub fn new(of: &'a Dense, score: usize) -> Self {
        Weights { of, score, factor: 1.0 }
    }

    /// The same, each times `factor`.
    #[must_use]
    pub fn times(self, factor: f32) -> Self {
        Weights { factor: self.factor * factor, ..self }
    }

    /// The weight of a column.
    #[inline]
    pub fn at(&self, column: usize) -> f32 {
        self.of.row(column)[self.score] * self.factor
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.of.rows()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.of.rows() == 0
    }

    /// The weights of a range of columns.
    pub fn range(&self, columns: std::ops::Range<usize>) -> Vec<f32> {
        columns.map(|column| self.at(column)).collect()
    }
}

/// The gradient of a product with `vectors` (one row per column that goes in): Σ_k vectors\[j, k\] · weights\[k\] for the columns
/// j of the document.
pub(crate) fn gradient_of_product(vectors: &Dense, x: &Matrix, weights: &Weights<'_>) -> Dense {
    let outer = weights.range(0..vectors.cols());
    let mut gradient = Dense::zeros(vectors.rows(), 1);
    x.row(0).for_each(|column, _| {
        gradient.row_mut(column)[0] = vectors.row(column).iter().zip(&outer).map(|(a, b)| a * b).sum();
    });
    gradient
}

/// An error when a matrix has not the columns a model was fitted on.
pub(crate) fn check_columns(what: &'static str, expected: usize, x: &Matrix) -> Result<()> {
    if x.cols() == expected { Ok(()) } else { Err(Error::Shape { what, expected, found: x.cols() }) }
}
