//! The `discriminant` stage.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::{AnyStage, StageInfo, StageKind};
use super::same_columns;
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::project::{DiscriminantModel, DiscriminantParams, Prepared, SHRINKAGE_GRID, Shrinkage, VarNormParams};
use crate::recipe::arguments::{Parameter, Shown};
use crate::recipe::later::Later;
use crate::recipe::stage::{FittedProjector, Projector, Stage};
use crate::store::{StoreReader, StoreWriter};
use crate::{Result, Run};

/// Folds behind `shrinkage=auto`.
const FOLDS: usize = 3;
/// What is used where no cross-validation can be had.
const FALLBACK: f64 = 1.0;

pub(in crate::recipe::stages) const DISCRIMINANT: StageInfo = StageInfo {
    name: "discriminant",
    kind: StageKind::Project,
    about: "discriminant analysis: the directions that tell classes apart",
    parameters: &[
        Parameter { name: "components", about: "directions to keep; 0 for one less than there are classes (0)" },
        Parameter {
            name: "shrinkage",
            about: "how much the scatter within classes is evened out, above 0, or auto: by cross-validation (auto)",
        },
    ],
    build: |arguments| {
        let mut params = DiscriminantParams::default();
        arguments.parse("components", &mut params.components)?;
        arguments.read("shrinkage", &mut params.shrinkage, |text| match text {
            "auto" => Some(Shrinkage::Auto),
            _ => text.parse().ok().map(Shrinkage::Value),
        })?;
        Ok(AnyStage::Project(Arc::new(params)))
    },
};

impl Stage for DiscriminantParams {
    fn name(&self) -> &'static str {
        DISCRIMINANT.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let default = Self::default();
        Shown::new()
            .plain("components", &self.components, &default.components)
            .add("shrinkage", &self.shrinkage, &default.shrinkage, |shrinkage| match shrinkage {
                Shrinkage::Auto => "auto".to_string(),
                Shrinkage::Value(value) => value.to_string(),
            })
            .into_arguments()
    }

    fn check(&self) -> Result<()> {
        DiscriminantParams::check(self)
    }
}

impl Projector for DiscriminantParams {
    fn needs_labels(&self) -> bool {
        true
    }

    fn asks_classifier(&self) -> bool {
        self.shrinkage == Shrinkage::Auto
    }

    fn fit(
        &self,
        x: Matrix,
        labels: &Labels,
        later: &Later<'_>,
        run: &Run,
    ) -> Result<(Box<dyn FittedProjector>, Matrix)> {
        let shrinkage = match self.shrinkage {
            Shrinkage::Value(value) => value,
            Shrinkage::Auto => self.best_shrinkage(&x, labels, later, run)?,
        };
        let params = DiscriminantParams { shrinkage: Shrinkage::Value(shrinkage), ..self.clone() };
        let model = DiscriminantParams::fit(&params, &x, labels, run)?;
        let rows = model.transform(&x, run)?;
        Ok((Box::new(model), rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<Box<dyn FittedProjector>> {
        Ok(Box::new(DiscriminantModel::load(store)?))
    }
}

impl DiscriminantParams {
    /// The shrinkage with which the classifier that follows gets most held-out documents right; the stronger of equals.
    fn best_shrinkage(&self, x: &Matrix, labels: &Labels, later: &Later<'_>, run: &Run) -> Result<f64> {
        let least = SHRINKAGE_GRID.iter().copied().fold(f64::INFINITY, f64::min);
        let quiet = run.quiet();
        let right = match later.follows() {
            false => None,
            true => later.right_for_each(
                DISCRIMINANT.name,
                (x, labels),
                FOLDS,
                SHRINKAGE_GRID.len(),
                &quiet,
                |x, labels, held, judge| {
                    let (x, held) = unseen(x, labels, held, &quiet)?;
                    let (x, held) = (x.as_ref(), held.as_ref());
                    // What does not depend on the shrinkage is done once for each fold.
                    let prepared = Prepared::new(x, labels, least, &quiet)?;
                    for (choice, &shrinkage) in SHRINKAGE_GRID.iter().enumerate() {
                        let model = prepared.directions(self.components, shrinkage, &quiet)?;
                        judge(choice, &model.transform(x, &quiet)?, &model.transform(held, &quiet)?)?;
                    }
                    Ok(())
                },
            )?,
        };
        let Some(right) = right else {
            let why = if later.follows() { "too few labelled documents" } else { "no classifier that follows" };
            run.warn(&format!(
                "discriminant: {why} for a cross-validation, so the shrinkage is {FALLBACK} and not chosen"
            ));
            return Ok(FALLBACK);
        };
        let most = right.iter().copied().max().unwrap_or(0);
        Ok(SHRINKAGE_GRID.iter().zip(&right).find(|(_, right)| **right == most).map_or(FALLBACK, |(value, _)| *value))
    }
}

/// The training and held-out rows of a fold as they are when `varnorm` has not seen the labels of the held-out ones:
/// columns that count negatively come from it, and the rows without them are what it was given, so it is fitted again.
/// Otherwise held-out documents would lie as near to their classes as training ones, and too little shrinkage would win.
fn unseen<'a>(
    x: &'a Matrix,
    labels: &Labels,
    held: &'a Matrix,
    run: &Run,
) -> Result<(Cow<'a, Matrix>, Cow<'a, Matrix>)> {
    let components = x.negative();
    if components == 0 {
        return Ok((Cow::Borrowed(x), Cow::Borrowed(held)));
    }
    let plain = |x: &Matrix| {
        let (sparse, dense, negative) = x.clone().into_parts();
        let kept = dense.cols() - negative;
        let values: Vec<f32> = (0..dense.rows()).flat_map(|row| dense.row(row)[..kept].iter().copied()).collect();
        Matrix::new(sparse, Dense::new(dense.rows(), kept, values)?, 0)
    };
    let (x, held) = (plain(x)?, plain(held)?);
    let varnorm = VarNormParams { components, ..VarNormParams::default() }.fit(&x, labels, run)?;
    Ok((Cow::Owned(varnorm.transform(x, run)?), Cow::Owned(varnorm.transform(held, run)?)))
}

impl FittedProjector for DiscriminantModel {
    fn transform(&self, x: Matrix, run: &Run) -> Result<Matrix> {
        DiscriminantModel::transform(self, &x, run)
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        DiscriminantModel::save(self, out);
        Ok(())
    }

    /// Directions stand for no term.
    fn feature_names(&self, _before: Vec<String>) -> Vec<String> {
        Vec::new()
    }

    fn n_columns(&self, before: usize) -> Result<usize> {
        same_columns("columns for discriminant", self.vectors().rows(), before, self.components())
    }

    fn pull_back(&self, weights: &Dense) -> Result<Option<Dense>> {
        self.vectors().matmul(weights).map(Some)
    }
}
