//! The `logistic` stage.

use std::sync::Arc;

use super::super::{AnyStage, StageInfo, StageKind, word_of};
use super::{
    CALIBRATE, CLASS_WEIGHT, CLASS_WEIGHTS, COST, DEFAULT_FOLDS, MAX_ITER, ROUGH_TOLERANCE, TOLERANCE, check_folds,
    read_cost, show_cost,
};
use crate::classify::{LinearModel, LogisticModel, LogisticMulticlass, LogisticParams};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::recipe::arguments::{Parameter, Shown};
use crate::recipe::stage::{Classifier, FittedClassifier, Stage};
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
    ],
    build: |arguments| {
        let mut stage = Logistic { params: LogisticParams::default(), folds: DEFAULT_FOLDS };
        let params = &mut stage.params;
        read_cost(arguments, &mut params.c)?;
        arguments.choice("multiclass", &mut params.multiclass, MULTICLASS)?;
        arguments.parse("bias", &mut params.bias)?;
        arguments.choice("class_weight", &mut params.class_weight, CLASS_WEIGHTS)?;
        arguments.float("tolerance", &mut params.tolerance)?;
        arguments.parse("max_iter", &mut params.max_iter)?;
        arguments.parse("calibrate", &mut stage.folds)?;
        Ok(AnyStage::Classify(Arc::new(stage)))
    },
};

#[derive(Debug, Clone)]
struct Logistic {
    params: LogisticParams,
    folds: usize,
}

impl Stage for Logistic {
    fn name(&self) -> &'static str {
        LOGISTIC.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let (params, default) = (&self.params, LogisticParams::default());
        Shown::new()
            .add("c", &params.c, &default.c, show_cost)
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
        check_folds(LOGISTIC.name, self.folds)
    }
}

impl Classifier for Logistic {
    fn fit(
        &self,
        x: &Matrix,
        labels: &Labels,
        weights: Option<&[f32]>,
        run: &Run,
    ) -> Result<Box<dyn FittedClassifier>> {
        let mut params = self.params;
        if labels.is_multi_label() {
            params.multiclass = LogisticMulticlass::OneVsRest;
        }
        Ok(Box::new(params.fit(x, labels, weights, run)?))
    }

    fn rough(&self) -> Box<dyn Classifier> {
        let mut rough = self.clone();
        rough.params.tolerance = rough.params.tolerance.max(ROUGH_TOLERANCE);
        Box::new(rough)
    }

    fn load(&self, store: &StoreReader<'_>, _run: &Run) -> Result<Box<dyn FittedClassifier>> {
        Ok(Box::new(LogisticModel::load(store)?))
    }

    fn calibration_folds(&self) -> usize {
        self.folds
    }
}

impl FittedClassifier for LogisticModel {
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        LogisticModel::scores(self, x, run)
    }

    fn own_probabilities(&self, scores: &Dense) -> Option<Dense> {
        Some(self.probabilities(scores))
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
        let passes = self.reached().iter().map(|reached| reached.iterations).max().unwrap_or(0);
        let gap = self.reached().iter().map(|reached| reached.gap).fold(0.0, f64::max);
        vec![("c", self.c().to_string()), ("solver", format!("{passes} steps, within {gap:.1e} of the optimum"))]
    }

    fn n_classes(&self) -> usize {
        LogisticModel::linear(self).n_classes()
    }

    fn n_columns(&self) -> usize {
        LogisticModel::linear(self).n_columns()
    }
}
