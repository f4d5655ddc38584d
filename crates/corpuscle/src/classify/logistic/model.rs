//! A fitted logistic regression.

use serde::{Deserialize, Serialize};

use super::link::{sigmoid, softmax_rows};
use super::{LogisticMulticlass, LogisticParams};
use crate::classify::cost::solver_notes;
use crate::classify::{ClassifierModel, LinearModel, Reached};
use crate::matrix::{Dense, Matrix};
use crate::params::Params;
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// A fitted logistic regression.
#[derive(Debug, Clone, PartialEq)]
pub struct LogisticModel {
    state: State,
    linear: LinearModel,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) params: LogisticParams,
    pub(super) c: f64,
    pub(super) multi_label: bool,
    pub(super) reached: Vec<Reached>,
}

impl LogisticModel {
    /// The same with other weights.
    pub(super) fn with_linear(self, linear: LinearModel) -> Self {
        LogisticModel { linear, ..self }
    }

    pub(super) fn new(state: State, linear: LinearModel) -> Self {
        LogisticModel { state, linear }
    }

    /// A model whose weights were found elsewhere: under these parameters, with the price `c`, and how far the solver came for each
    /// class.
    pub fn of(params: LogisticParams, c: f64, multi_label: bool, reached: Vec<Reached>, linear: LinearModel) -> Self {
        LogisticModel { state: State { params, c, multi_label, reached }, linear }
    }

    /// The parameters it was fitted with.
    pub fn params(&self) -> &LogisticParams {
        &self.state.params
    }

    /// The price of an error that was used: the one given, or the one found.
    pub fn c(&self) -> f64 {
        self.state.c
    }

    /// How far the solver came for each class.
    pub fn reached(&self) -> &[Reached] {
        &self.state.reached
    }

    /// Whether every class met the tolerance.
    pub fn converged(&self) -> bool {
        self.state.reached.iter().all(|reached| reached.converged)
    }

    /// The probability of every class, from scores. They add up to 1 over the classes of a document unless documents
    /// may have several labels, where each stands for itself.
    #[must_use]
    pub fn probabilities(&self, scores: &Dense) -> Dense {
        let mut probabilities = scores.clone();
        if self.state.params.multiclass == LogisticMulticlass::Multinomial && !self.state.multi_label {
            softmax_rows(&mut probabilities);
            return probabilities;
        }
        probabilities.values_mut().iter_mut().for_each(|value| *value = sigmoid(*value));
        if !self.state.multi_label {
            for row in 0..probabilities.rows() {
                let row = probabilities.row_mut(row);
                let sum: f32 = row.iter().sum();
                let share = 1.0 / row.len() as f32;
                row.iter_mut().for_each(|value| *value = if sum > 0.0 { *value / sum } else { share });
            }
        }
        probabilities
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let state: State = store.json("logistic")?;
        state.params.check().map_err(|e| Error::model(e.to_string()))?;
        let linear = LinearModel::load(&store.scope("linear"))?;
        if state.reached.len() != linear.n_classes() || !(state.c > 0.0 && state.c.is_finite()) {
            return Err(Error::model("logistic: classes, weights and c do not fit together"));
        }
        Ok(LogisticModel { state, linear })
    }
}

impl ClassifierModel for LogisticModel {
    /// The score of every document for every class: a logarithm of odds.
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        self.linear.scores(x, run)
    }

    fn n_classes(&self) -> usize {
        self.linear.n_classes()
    }

    fn n_inputs(&self) -> usize {
        self.linear.n_inputs()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        out.put_json("logistic", &self.state)?;
        out.scope("linear", |out| self.linear.save(out));
        Ok(())
    }

    fn own_probabilities(&self, scores: &Dense) -> Option<Dense> {
        Some(self.probabilities(scores))
    }

    fn linear(&self) -> Option<&LinearModel> {
        Some(&self.linear)
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        solver_notes(self.c(), self.reached(), "steps")
    }
}
