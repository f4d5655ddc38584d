//! The `lsi` stage.

use std::sync::Arc;

use super::super::{AnyStage, StageInfo, StageKind};
use super::same_columns;
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::project::{LsiModel, LsiParams};
use crate::recipe::arguments::{Parameter, Shown};
use crate::recipe::later::Later;
use crate::recipe::stage::{FittedProjector, Projector, Stage};
use crate::store::{StoreReader, StoreWriter};
use crate::{Result, Run};

pub(in crate::recipe::stages) const LSI: StageInfo = StageInfo {
    name: "lsi",
    kind: StageKind::Project,
    about: "latent semantic indexing: the leading singular vectors",
    parameters: &[
        Parameter { name: "rank", about: "dimensions to keep (100)" },
        Parameter { name: "iterations", about: "steps of the solver, 16 vectors each; 0 for automatic (0)" },
    ],
    build: |arguments| {
        let mut params = LsiParams::default();
        arguments.parse("rank", &mut params.rank)?;
        arguments.parse("iterations", &mut params.iterations)?;
        Ok(AnyStage::Project(Arc::new(params)))
    },
};

impl Stage for LsiParams {
    fn name(&self) -> &'static str {
        LSI.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let default = Self::default();
        Shown::new()
            .plain("rank", &self.rank, &default.rank)
            .plain("iterations", &self.iterations, &default.iterations)
            .into_arguments()
    }

    fn check(&self) -> Result<()> {
        LsiParams::check(self)
    }
}

impl Projector for LsiParams {
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
        let (model, rows) = LsiParams::fit(self, &x, run)?;
        Ok((Box::new(model), rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<Box<dyn FittedProjector>> {
        Ok(Box::new(LsiModel::load(store)?))
    }
}

impl FittedProjector for LsiModel {
    fn transform(&self, x: Matrix, run: &Run) -> Result<Matrix> {
        LsiModel::transform(self, &x, run)
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        LsiModel::save(self, out);
        Ok(())
    }

    /// Dimensions stand for no term.
    fn feature_names(&self, _before: Vec<String>) -> Vec<String> {
        Vec::new()
    }

    fn n_columns(&self, before: usize) -> Result<usize> {
        same_columns("columns for lsi", self.vectors().rows(), before, self.rank())
    }

    /// Rows of V times the singular values: their inner products are those of the columns of the approximation.
    fn term_vectors(&self) -> Option<Dense> {
        let mut vectors = self.vectors().clone();
        for row in 0..vectors.rows() {
            let values = vectors.row_mut(row).iter_mut();
            values.zip(self.singular_values()).for_each(|(value, &scale)| *value *= scale as f32);
        }
        Some(vectors)
    }

    fn pull_back(&self, weights: &Dense) -> Result<Option<Dense>> {
        self.vectors().matmul(weights).map(Some)
    }
}
