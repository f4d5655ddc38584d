//! What a classifier says of labelled documents that were held out while it learnt.

use super::{ClassifierModel, strangeness};
use crate::matrix::{Dense, Matrix};
use crate::project::Fold;
use crate::{Result, Run};

/// Out-of-fold scores of labelled documents, in the order of their rows, and how strange each looked.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfFold {
    rows: Vec<usize>,
    /// Scores: labelled documents × classes.
    pub scores: Dense,
    /// How unlike the documents learnt from each is ([`ClassifierModel::strangeness`]).
    pub strangeness: Vec<f32>,
}

impl OutOfFold {
    /// Room for the scores of the documents in `rows`, ascending.
    pub fn new(rows: Vec<usize>, classes: usize) -> Self {
        OutOfFold { scores: Dense::zeros(rows.len(), classes), strangeness: vec![0.0; rows.len()], rows }
    }

    /// Given scores of the documents in `rows`, ascending, whose strangeness is told by the scores alone.
    pub fn of_scores(rows: Vec<usize>, scores: Dense) -> Self {
        let strangeness = (0..scores.rows()).map(|row| strangeness(scores.row(row))).collect();
        OutOfFold { rows, scores, strangeness }
    }

    /// Takes in what a model fitted on the rest of a fold says of the documents held out; `held` is them as the model reads them.
    pub fn take(&mut self, fold: &Fold<'_>, model: &dyn ClassifierModel, held: &Matrix, run: &Run) -> Result<()> {
        let scores = model.scores(held, run)?;
        let strangeness = model.strangeness(held, &scores, run)?;
        for (at, row) in fold.held_rows.iter().enumerate() {
            if let Ok(to) = self.rows.binary_search(row) {
                self.scores.row_mut(to).copy_from_slice(scores.row(at));
                self.strangeness[to] = strangeness[at];
            }
        }
        Ok(())
    }
}
