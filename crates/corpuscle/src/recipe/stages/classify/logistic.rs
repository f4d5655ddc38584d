//! The `logistic` stage.

use super::super::{StageInfo, StageKind, word_of};
use super::{
    CALIBRATE, CLASS_WEIGHT, CLASS_WEIGHTS, COST, MAX_ITER, Method, ROUGH_TOLERANCE, SELF_TRAINING, TOLERANCE, build,
    read_cost, show_cost, solver_notes,
};
use crate::classify::{Cost, LinearModel, LogisticModel, LogisticMulticlass, LogisticParams};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::recipe::arguments::{Arguments, Parameter, Shown};
use crate::recipe::stage::FittedClassifier;
use crate::store::{StoreReader, StoreWriter};
use crate::{Result, Run};

const MULTICLASS: &[(&str, LogisticMulticlass)] =
    &[("multinomial", LogisticMulticlass::Multinomial), ("one_vs_rest", LogisticMulticlass::OneVsRest)];

pub(in crate::recipe::stages) const LOGISTIC: StageInfo = StageInfo {
    name: "logistic",
    kind: StageKind::Classify,
    about: "logistic regression",
    parameters: &[
        COST,
        Parameter {
            name: "multiclass",
            about: "multinomial (default) or one_vs_rest; several labels per document are always one_vs_rest",
        },
        Parameter { name: "bias", about: "true (default) or false" },
        CLASS_WEIGHT,
        TOLERANCE,
        MAX_ITER,
        CALIBRATE,
        SELF_TRAINING,
    ],
    build: build::<LogisticParams>,
};

impl Method for LogisticParams {
    fn info() -> &'static StageInfo {
        &LOGISTIC
    }

    fn read(&mut self, arguments: &mut Arguments<'_>) -> Result<()> {
        read_cost(arguments, &mut self.c)?;
        arguments.choice("multiclass", &mut self.multiclass, MULTICLASS)?;
        arguments.parse("bias", &mut self.bias)?;
        arguments.choice("class_weight", &mut self.class_weight, CLASS_WEIGHTS)?;
        arguments.float("tolerance", &mut self.tolerance)?;
        arguments.parse("max_iter", &mut self.max_iter)
    }

    fn shown(&self) -> Shown {
        let default = Self::default();
        Shown::new()
            .add("c", &self.c, &default.c, show_cost)
            .add("multiclass", &self.multiclass, &default.multiclass, |value| word_of(MULTICLASS, value))
            .plain("bias", &self.bias, &default.bias)
            .add("class_weight", &self.class_weight, &default.class_weight, |value| word_of(CLASS_WEIGHTS, value))
            .plain("tolerance", &self.tolerance, &default.tolerance)
            .plain("max_iter", &self.max_iter, &default.max_iter)
    }

    fn check(&self) -> Result<()> {
        LogisticParams::check(self)
    }

    fn with_cost(&self, c: Option<f64>) -> Self {
        LogisticParams { c: c.map_or(self.c, Cost::Value), ..*self }
    }

    fn finds_cost(&self) -> bool {
        self.c == Cost::Auto
    }

    fn can_self_train() -> bool {
        true
    }

    fn rough(&self, c: Option<f64>) -> Self {
        LogisticParams { c: c.map_or(self.c, Cost::Value), tolerance: self.tolerance.max(ROUGH_TOLERANCE), ..*self }
    }

    fn fit(
        &self,
        x: &Matrix,
        labels: &Labels,
        weights: Option<&[f32]>,
        run: &Run,
    ) -> Result<Box<dyn FittedClassifier>> {
        let mut params = *self;
        if labels.is_multi_label() {
            params.multiclass = LogisticMulticlass::OneVsRest;
        }
        Ok(Box::new(LogisticParams::fit(&params, x, labels, weights, run)?))
    }

    fn load(store: &StoreReader<'_>, _run: &Run) -> Result<Box<dyn FittedClassifier>> {
        Ok(Box::new(LogisticModel::load(store)?))
    }
}

impl FittedClassifier for LogisticModel {
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        LogisticModel::scores(self, x, run)
    }

    fn own_probabilities(&self, scores: &Dense) -> Option<Dense> {
        Some(self.probabilities(scores))
    }

    fn c(&self) -> Option<f64> {
        Some(LogisticModel::c(self))
    }

    fn usual_threshold(&self) -> f32 {
        0.0
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        LogisticModel::save(self, out)
    }

    fn linear(&self) -> Option<&LinearModel> {
        Some(LogisticModel::linear(self))
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        solver_notes(LogisticModel::c(self), self.reached(), "steps")
    }

    fn n_classes(&self) -> usize {
        LogisticModel::linear(self).n_classes()
    }

    fn n_columns(&self) -> usize {
        LogisticModel::linear(self).n_columns()
    }
}
