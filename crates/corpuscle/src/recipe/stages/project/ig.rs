//! The `ig` stage.

use std::sync::Arc;

use super::super::{AnyStage, StageInfo, StageKind};
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::project::{InformationGainModel, InformationGainParams};
use crate::recipe::arguments::{Parameter, Shown};
use crate::recipe::later::Later;
use crate::recipe::stage::{FittedProjector, Projector, Stage};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

pub(in crate::recipe::stages) const IG: StageInfo = StageInfo {
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

    fn fit(
        &self,
        x: Matrix,
        labels: &Labels,
        _later: &Later<'_>,
        run: &Run,
    ) -> Result<(Box<dyn FittedProjector>, Matrix)> {
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
