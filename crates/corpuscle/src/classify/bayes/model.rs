//! A fitted naive Bayes.

use serde::{Deserialize, Serialize};

use super::BayesParams;
use crate::classify::{ClassifierModel, LinearModel};
use crate::matrix::{Dense, Matrix};
use crate::params::Params;
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// A fitted naive Bayes.
#[derive(Debug, Clone, PartialEq)]
pub struct BayesModel {
    params: BayesParams,
    lambda: f64,
    rounds: usize,
    several: bool,
    linear: LinearModel,
}

/// What is stored beside the weights.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    params: BayesParams,
    lambda: f64,
    rounds: usize,
    several: bool,
}

impl BayesModel {
    pub(super) fn new(params: BayesParams, lambda: f64, rounds: usize, several: bool, linear: LinearModel) -> Self {
        BayesModel { params, lambda, rounds, several, linear }
    }

    /// What an unlabelled document counted; 0 where none was learnt from.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// Rounds of expectation maximisation.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let Stored { params, lambda, rounds, several } = store.json("bayes")?;
        params.check().map_err(|e| Error::model(e.to_string()))?;
        if !(0.0..=1.0).contains(&lambda) {
            return Err(Error::model("bayes: lambda is not from 0 to 1"));
        }
        Ok(BayesModel { params, lambda, rounds, several, linear: LinearModel::load(&store.scope("linear"))? })
    }
}

impl ClassifierModel for BayesModel {
    /// ln P(c) + Σ_j x_j ln θ_jc but for what all classes have in common; with several labels a document, the log odds of each.
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
        let BayesModel { params, lambda, rounds, several, .. } = *self;
        out.put_json("bayes", &Stored { params, lambda, rounds, several })?;
        out.scope("linear", |out| self.linear.save(out));
        Ok(())
    }

    fn own_probabilities(&self, scores: &Dense) -> Option<Dense> {
        Some(probabilities(scores, self.several))
    }

    fn linear(&self) -> Option<&LinearModel> {
        Some(&self.linear)
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        let em = || format!("{} rounds, an unlabelled document counts {}", self.rounds, self.lambda);
        if self.params.em { vec![("expectation maximisation", em())] } else { Vec::new() }
    }
}

/// The softmax of each row, or of several labels a document the logistic function of each score.
pub(super) fn probabilities(scores: &Dense, several: bool) -> Dense {
    let mut shares = scores.clone();
    for row in shares.values_mut().chunks_mut(scores.cols().max(1)) {
        if several {
            row.iter_mut().for_each(|value| *value = 1.0 / (1.0 + (-*value).exp()));
            continue;
        }
        let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        row.iter_mut().for_each(|value| *value = (*value - highest).exp());
        let sum: f32 = row.iter().sum();
        row.iter_mut().for_each(|value| *value /= sum);
    }
    shares
}
