//! The `varnorm` stage.

use std::sync::Arc;

use super::super::{AnyStage, StageInfo, StageKind};
use super::same_columns;
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::project::{VarNormModel, VarNormParams};
use crate::recipe::arguments::{Parameter, Shown};
use crate::recipe::later::Later;
use crate::recipe::stage::{FittedProjector, Projector, Stage};
use crate::store::{StoreReader, StoreWriter};
use crate::{Result, Run};

pub(in crate::recipe::stages) const VARNORM: StageInfo = StageInfo {
    name: "varnorm",
    kind: StageKind::Project,
    about: "removes the directions in which documents of one topic differ most",
    parameters: &[
        Parameter { name: "components", about: "directions to remove (60)" },
        Parameter { name: "iterations", about: "steps of the solver, 16 vectors each; 0 for automatic (0)" },
    ],
    build: |arguments| {
        let mut params = VarNormParams::default();
        arguments.parse("components", &mut params.components)?;
        arguments.parse("iterations", &mut params.iterations)?;
        Ok(AnyStage::Project(Arc::new(params)))
    },
};

impl Stage for VarNormParams {
    fn name(&self) -> &'static str {
        VARNORM.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let default = Self::default();
        Shown::new()
            .plain("components", &self.components, &default.components)
            .plain("iterations", &self.iterations, &default.iterations)
            .into_arguments()
    }

    fn check(&self) -> Result<()> {
        VarNormParams::check(self)
    }
}

impl Projector for VarNormParams {
    fn needs_labels(&self) -> bool {
        true
    }

    fn fit(
        &self,
        x: Matrix,
        labels: &Labels,
        _later: &Later<'_>,
        run: &Run,
    ) -> Result<(Box<dyn FittedProjector>, Matrix)> {
        let model = VarNormParams::fit(self, &x, labels, run)?;
        let rows = model.transform(x, run)?;
        Ok((Box::new(model), rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<Box<dyn FittedProjector>> {
        Ok(Box::new(VarNormModel::load(store)?))
    }
}

impl FittedProjector for VarNormModel {
    fn transform(&self, x: Matrix, run: &Run) -> Result<Matrix> {
        VarNormModel::transform(self, x, run)
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        VarNormModel::save(self, out);
        Ok(())
    }

    /// What a term adds to a score comes through the removed directions too, so no column stands for its term alone.
    fn feature_names(&self, _before: Vec<String>) -> Vec<String> {
        Vec::new()
    }

    fn n_columns(&self, before: usize) -> Result<usize> {
        same_columns("columns for varnorm", VarNormModel::n_columns(self), before, self.width())
    }

    fn pull_back(&self, weights: &Dense) -> Result<Option<Dense>> {
        VarNormModel::pull_back(self, weights).map(Some)
    }
}
