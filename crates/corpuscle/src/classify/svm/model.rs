//! A fitted linear SVM.

use serde::{Deserialize, Serialize};

use super::SvmParams;
use crate::classify::cost::solver_notes;
use crate::classify::{ClassifierModel, LinearModel, Reached};
use crate::matrix::{Dense, Matrix};
use crate::params::Params;
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// A fitted linear SVM.
#[derive(Debug, Clone, PartialEq)]
pub struct SvmModel {
    params: SvmParams,
    c: f64,
    reached: Vec<Reached>,
    linear: LinearModel,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    params: SvmParams,
    c: f64,
    reached: Vec<Reached>,
}

impl SvmModel {
    /// The same with other weights.
    pub(super) fn with_linear(self, linear: LinearModel) -> Self {
        SvmModel { linear, ..self }
    }

    /// A model whose weights were found elsewhere: under these parameters, with the price `c`, and how far the solver came for each
    /// class.
    pub fn new(params: SvmParams, c: f64, reached: Vec<Reached>, linear: LinearModel) -> Self {
        SvmModel { params, c, reached, linear }
    }

    /// The parameters it was fitted with.
    pub fn params(&self) -> &SvmParams {
        &self.params
    }

    /// The price of an error that was used: the one given, or the one found.
    pub fn c(&self) -> f64 {
        self.c
    }

    /// How far the solver came for each class.
    pub fn reached(&self) -> &[Reached] {
        &self.reached
    }

    /// Whether every class met the tolerance.
    pub fn converged(&self) -> bool {
        self.reached.iter().all(|reached| reached.converged)
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let Stored { params, c, reached } = store.json("svm")?;
        params.check().map_err(|e| Error::model(e.to_string()))?;
        let linear = LinearModel::load(&store.scope("linear"))?;
        if reached.len() != linear.n_classes() || !(c > 0.0 && c.is_finite()) {
            return Err(Error::model("svm: classes, weights and c do not fit together"));
        }
        Ok(SvmModel { params, c, reached, linear })
    }
}

impl ClassifierModel for SvmModel {
    /// The score of every document for every class: its signed distance from the class's border, in margins.
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
        let stored = Stored { params: self.params, c: self.c, reached: self.reached.clone() };
        out.put_json("svm", &stored)?;
        out.scope("linear", |out| self.linear.save(out));
        Ok(())
    }

    fn linear(&self) -> Option<&LinearModel> {
        Some(&self.linear)
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        solver_notes(self.c(), self.reached(), "passes")
    }
}
