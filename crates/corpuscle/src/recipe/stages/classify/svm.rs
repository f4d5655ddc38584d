//! The `svm` stage.

use std::sync::Arc;

use super::super::{AnyStage, StageInfo, StageKind, word_of};
use super::{
    CALIBRATE, CLASS_WEIGHT, CLASS_WEIGHTS, COST, DEFAULT_FOLDS, MAX_ITER, ROUGH_TOLERANCE, TOLERANCE, check_folds,
    read_cost, show_cost,
};
use crate::classify::{LinearModel, Loss, Multiclass, SvmModel, SvmParams};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::recipe::arguments::{Parameter, Shown};
use crate::recipe::stage::{Classifier, FittedClassifier, Stage};
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
    ],
    build: |arguments| {
        let mut stage = Svm { params: SvmParams::default(), folds: DEFAULT_FOLDS };
        let params = &mut stage.params;
        read_cost(arguments, &mut params.c)?;
        arguments.choice("loss", &mut params.loss, LOSSES)?;
        arguments.choice("multiclass", &mut params.multiclass, MULTICLASS)?;
        arguments.float("bias", &mut params.bias)?;
        arguments.choice("class_weight", &mut params.class_weight, CLASS_WEIGHTS)?;
        arguments.float("tolerance", &mut params.tolerance)?;
        arguments.parse("max_iter", &mut params.max_iter)?;
        arguments.parse("calibrate", &mut stage.folds)?;
        Ok(AnyStage::Classify(Arc::new(stage)))
    },
};

#[derive(Debug, Clone)]
struct Svm {
    params: SvmParams,
    folds: usize,
}

impl Stage for Svm {
    fn name(&self) -> &'static str {
        SVM.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let (params, default) = (&self.params, SvmParams::default());
        Shown::new()
            .add("c", &params.c, &default.c, show_cost)
            .add("loss", &params.loss, &default.loss, |value| word_of(LOSSES, value))
            .add("multiclass", &params.multiclass, &default.multiclass, |value| word_of(MULTICLASS, value))
            .plain("bias", &params.bias, &default.bias)
            .add("class_weight", &params.class_weight, &default.class_weight, |value| word_of(CLASS_WEIGHTS, value))
            .plain("tolerance", &params.tolerance, &default.tolerance)
            .plain("max_iter", &params.max_iter, &default.max_iter)
            .plain("calibrate", &self.folds, &DEFAULT_FOLDS)
            .into_arguments()
    }

    fn check(&self) -> Result<()> {
        self.params.check()?;
        check_folds(SVM.name, self.folds)
    }
}

impl Classifier for Svm {
    fn fit(
        &self,
        x: &Matrix,
        labels: &Labels,
        weights: Option<&[f32]>,
        run: &Run,
    ) -> Result<Box<dyn FittedClassifier>> {
        Ok(Box::new(self.params.fit(x, labels, weights, run)?))
    }

    fn rough(&self) -> Box<dyn Classifier> {
        let mut rough = self.clone();
        rough.params.tolerance = rough.params.tolerance.max(ROUGH_TOLERANCE);
        Box::new(rough)
    }

    fn load(&self, store: &StoreReader<'_>, _run: &Run) -> Result<Box<dyn FittedClassifier>> {
        Ok(Box::new(SvmModel::load(store)?))
    }

    fn calibration_folds(&self) -> usize {
        self.folds
    }
}

impl FittedClassifier for SvmModel {
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        SvmModel::scores(self, x, run)
    }

    fn own_probabilities(&self, _scores: &Dense) -> Option<Dense> {
        None
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
        let passes = self.reached().iter().map(|reached| reached.iterations).max().unwrap_or(0);
        let gap = self.reached().iter().map(|reached| reached.gap).fold(0.0, f64::max);
        vec![("c", self.c().to_string()), ("solver", format!("{passes} passes, relative duality gap {gap:.1e}"))]
    }

    fn n_classes(&self) -> usize {
        SvmModel::linear(self).n_classes()
    }

    fn n_columns(&self) -> usize {
        SvmModel::linear(self).n_columns()
    }
}
