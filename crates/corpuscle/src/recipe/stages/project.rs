//! Adapters of the `project` room.

use std::sync::Arc;

use super::{AnyStage, StageInfo, StageKind};
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::project::{InformationGainModel, InformationGainParams};
use crate::recipe::arguments::{Parameter, Shown};
use crate::recipe::stage::{FittedProjector, Projector, Stage};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

pub(super) const IG: StageInfo = StageInfo {
    name: "ig",
    kind: StageKind::Project,
    about: "keeps the terms that tell most about the label (information gain)",
    parameters: &[Parameter { name: "terms", about: "how many terms to keep (1000)" }],
    build: |arguments| {
        let mut params = InformationGainParams::default();
        arguments.parse("terms", &mut params.terms)?;
        Ok(AnyStage::Project(Arc::new(params)))
    },
};

impl Stage for InformationGainParams {
    fn name(&self) -> &'static str {
        IG.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        Shown::new().plain("terms", &self.terms, &Self::default().terms).into_arguments()
    }

    fn check(&self) -> Result<()> {
        InformationGainParams::check(self)
    }
}

impl Projector for InformationGainParams {
    fn needs_labels(&self) -> bool {
        true
    }

    fn fit(&self, x: Matrix, labels: &Labels, run: &Run) -> Result<(Box<dyn FittedProjector>, Matrix)> {
        let model = InformationGainParams::fit(self, &x, labels, run)?;
        let kept = model.transform(&x)?;
        Ok((Box::new(model), kept))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<Box<dyn FittedProjector>> {
        Ok(Box::new(InformationGainModel::load(store)?))
    }
}

impl FittedProjector for InformationGainModel {
    fn transform(&self, x: Matrix, _run: &Run) -> Result<Matrix> {
        InformationGainModel::transform(self, &x)
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        InformationGainModel::save(self, out);
        Ok(())
    }

    fn feature_names(&self, before: Vec<String>) -> Vec<String> {
        self.columns().iter().filter_map(|&column| before.get(column as usize).cloned()).collect()
    }

    fn n_columns(&self, before: usize) -> Result<usize> {
        match self.columns().last() {
            Some(&last) if last as usize >= before => {
                Err(Error::Shape { what: "columns for ig", expected: last as usize + 1, found: before })
            }
            _ => Ok(self.columns().len()),
        }
    }
}

pub(super) const NORMALIZE: StageInfo = StageInfo {
    name: "normalize",
    kind: StageKind::Project,
    about: "brings every document to length 1",
    parameters: &[],
    build: |_| Ok(AnyStage::Project(Arc::new(Normalize))),
};

/// Rows of length 1. Nothing is learnt, so the stage is its own fitted form.
#[derive(Debug, Clone, Copy)]
struct Normalize;

impl Stage for Normalize {
    fn name(&self) -> &'static str {
        NORMALIZE.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

impl Projector for Normalize {
    fn needs_labels(&self) -> bool {
        false
    }

    fn fit(&self, x: Matrix, _labels: &Labels, run: &Run) -> Result<(Box<dyn FittedProjector>, Matrix)> {
        Ok((Box::new(*self), self.transform(x, run)?))
    }

    fn load(&self, _store: &StoreReader<'_>) -> Result<Box<dyn FittedProjector>> {
        Ok(Box::new(*self))
    }
}

impl FittedProjector for Normalize {
    fn transform(&self, mut x: Matrix, run: &Run) -> Result<Matrix> {
        run.install(|| x.normalize_rows());
        Ok(x)
    }

    fn save(&self, _out: &mut StoreWriter) -> Result<()> {
        Ok(())
    }

    fn feature_names(&self, before: Vec<String>) -> Vec<String> {
        before
    }

    fn n_columns(&self, before: usize) -> Result<usize> {
        Ok(before)
    }
}
