//! The `normalize` stage.

use std::sync::Arc;

use super::super::{AnyStage, StageInfo, StageKind};
use super::same_columns;
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::project::{NormalizeModel, NormalizeParams};
use crate::recipe::later::Later;
use crate::recipe::stage::{FittedProjector, Projector, Stage};
use crate::store::{StoreReader, StoreWriter};
use crate::{Result, Run};

pub(in crate::recipe::stages) const NORMALIZE: StageInfo = StageInfo {
    name: "normalize",
    kind: StageKind::Project,
    about: "brings every document to length 1",
    parameters: &[],
    build: |_| Ok(AnyStage::Project(Arc::new(NormalizeParams {}))),
};

impl Stage for NormalizeParams {
    fn name(&self) -> &'static str {
        NORMALIZE.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn check(&self) -> Result<()> {
        NormalizeParams::check(self)
    }
}

impl Projector for NormalizeParams {
    fn needs_labels(&self) -> bool {
        false
    }

    fn fit(
        &self,
        x: Matrix,
        _labels: &Labels,
        _later: &Later<'_>,
        run: &Run,
    ) -> Result<(Box<dyn FittedProjector>, Matrix)> {
        let model = NormalizeParams::fit(self, &x, run)?;
        let rows = model.transform(x)?;
        Ok((Box::new(model), rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<Box<dyn FittedProjector>> {
        Ok(Box::new(NormalizeModel::load(store)?))
    }
}

impl FittedProjector for NormalizeModel {
    fn transform(&self, x: Matrix, run: &Run) -> Result<Matrix> {
        run.install(|| NormalizeModel::transform(self, x))
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        NormalizeModel::save(self, out);
        Ok(())
    }

    fn feature_names(&self, before: Vec<String>) -> Vec<String> {
        before
    }

    fn n_columns(&self, before: usize) -> Result<usize> {
        same_columns("columns to normalize", NormalizeModel::n_columns(self), before, before)
    }
}
