//! The `svm` stage.

use super::super::{StageInfo, StageKind, word_of};
use super::{
    CALIBRATE, CLASS_WEIGHT, CLASS_WEIGHTS, COST, MAX_ITER, Method, ROUGH_TOLERANCE, SELF_TRAINING, TOLERANCE, build,
    read_cost, show_cost, solver_notes,
};
use crate::classify::{Cost, LinearModel, Loss, Multiclass, SvmModel, SvmParams};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::recipe::arguments::{Arguments, Parameter, Shown};
use crate::recipe::stage::FittedClassifier;
use crate::store::{StoreReader, StoreWriter};
use crate::{Result, Run};

const LOSSES: &[(&str, Loss)] = &[("squared_hinge", Loss::SquaredHinge), ("hinge", Loss::Hinge)];
const MULTICLASS: &[(&str, Multiclass)] =
    &[("one_vs_rest", Multiclass::OneVsRest), ("crammer_singer", Multiclass::CrammerSinger)];

pub(in crate::recipe::stages) const SVM: StageInfo = StageInfo {
    name: "svm",
    kind: StageKind::Classify,
    about: "linear support vector machine",
    parameters: &[
        COST,
        Parameter { name: "loss", about: "squared_hinge (default) or hinge" },
        Parameter { name: "multiclass", about: "one_vs_rest (default) or crammer_singer" },
        Parameter { name: "bias", about: "value of the constant feature (1), 0 for no bias" },
        CLASS_WEIGHT,
        TOLERANCE,
        MAX_ITER,
        CALIBRATE,
        SELF_TRAINING,
    ],
    build: build::<SvmParams>,
};

impl Method for SvmParams {
    fn info() -> &'static StageInfo {
        &SVM
    }

    fn read(&mut self, arguments: &mut Arguments<'_>) -> Result<()> {
        read_cost(arguments, &mut self.c)?;
        arguments.choice("loss", &mut self.loss, LOSSES)?;
        arguments.choice("multiclass", &mut self.multiclass, MULTICLASS)?;
        arguments.float("bias", &mut self.bias)?;
        arguments.choice("class_weight", &mut self.class_weight, CLASS_WEIGHTS)?;
        arguments.float("tolerance", &mut self.tolerance)?;
        arguments.parse("max_iter", &mut self.max_iter)
    }

    fn shown(&self) -> Shown {
        let default = Self::default();
        Shown::new()
            .add("c", &self.c, &default.c, show_cost)
            .add("loss", &self.loss, &default.loss, |value| word_of(LOSSES, value))
            .add("multiclass", &self.multiclass, &default.multiclass, |value| word_of(MULTICLASS, value))
            .plain("bias", &self.bias, &default.bias)
            .add("class_weight", &self.class_weight, &default.class_weight, |value| word_of(CLASS_WEIGHTS, value))
            .plain("tolerance", &self.tolerance, &default.tolerance)
            .plain("max_iter", &self.max_iter, &default.max_iter)
    }

    fn check(&self) -> Result<()> {
        SvmParams::check(self)
    }

    fn with_cost(&self, c: Option<f64>) -> Self {
        SvmParams { c: c.map_or(self.c, Cost::Value), ..*self }
    }

    fn finds_cost(&self) -> bool {
        self.c == Cost::Auto
    }

    fn can_self_train() -> bool {
        true
    }

    fn rough(&self, c: Option<f64>) -> Self {
        SvmParams { c: c.map_or(self.c, Cost::Value), tolerance: self.tolerance.max(ROUGH_TOLERANCE), ..*self }
    }

    fn fit(
        &self,
        x: &Matrix,
        labels: &Labels,
        weights: Option<&[f32]>,
        run: &Run,
    ) -> Result<Box<dyn FittedClassifier>> {
        Ok(Box::new(SvmParams::fit(self, x, labels, weights, run)?))
    }

    fn steps(&self, labels: &Labels) -> Option<u64> {
        SvmParams::steps(self, labels)
    }

    fn load(store: &StoreReader<'_>, _run: &Run) -> Result<Box<dyn FittedClassifier>> {
        Ok(Box::new(SvmModel::load(store)?))
    }
}

impl FittedClassifier for SvmModel {
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        SvmModel::scores(self, x, run)
    }

    fn own_probabilities(&self, _scores: &Dense) -> Option<Dense> {
        None
    }

    fn c(&self) -> Option<f64> {
        Some(SvmModel::c(self))
    }

    fn usual_threshold(&self) -> f32 {
        0.0
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        SvmModel::save(self, out)
    }

    fn linear(&self) -> Option<&LinearModel> {
        Some(SvmModel::linear(self))
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        solver_notes(SvmModel::c(self), self.reached(), "passes")
    }

    fn n_classes(&self) -> usize {
        SvmModel::linear(self).n_classes()
    }

    fn n_columns(&self) -> usize {
        SvmModel::linear(self).n_columns()
    }
}
