//! The `sprinkle` stage.

use std::sync::Arc;

use super::super::{AnyStage, StageInfo, StageKind};
use super::same_columns;
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::project::{Msl, SprinkleModel, SprinkleParams, TermShift, sprinkled_terms};
use crate::recipe::arguments::{Parameter, Shown};
use crate::recipe::later::Later;
use crate::recipe::stage::{FittedProjector, Projector, Stage};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// Folds behind the confusion matrix, as in the paper.
const FOLDS: usize = 5;
/// What `msl=auto` chooses from; 0 where sprinkling does not help.
const MSL_GRID: [usize; 5] = [0, 2, 4, 8, 16];
/// Folds of that choice.
const MSL_FOLDS: usize = 3;

pub(in crate::recipe::stages) const SPRINKLE: StageInfo = StageInfo {
    name: "sprinkle",
    kind: StageKind::Project,
    about: "lsi with class knowledge: sprinkled terms, adaptive to what the classifier confuses",
    parameters: &[
        Parameter { name: "rank", about: "dimensions to keep (100)" },
        Parameter {
            name: "adaptive",
            about: "true (default unless terms are given): by the confusion matrix; false: the same for every class",
        },
        Parameter { name: "terms", about: "terms for every class, not adaptive (8)" },
        Parameter {
            name: "msl",
            about: "most terms for a pair of classes when adaptive (8), or auto: by cross-validation",
        },
        Parameter {
            name: "fold_in",
            about: "true: new documents are folded in instead of compared as they are (false)",
        },
    ],
    build: |arguments| {
        let mut params = SprinkleParams::default();
        arguments.parse("rank", &mut params.rank)?;
        let (mut adaptive, mut terms) = (None, None);
        arguments.read("adaptive", &mut adaptive, |text| text.parse().ok().map(Some))?;
        arguments.read("terms", &mut terms, |text| text.parse().ok().map(Some))?;
        // The same number of terms for every class is what not being adaptive means.
        params.adaptive = adaptive.unwrap_or(terms.is_none());
        if let (true, Some(terms)) = (params.adaptive, terms) {
            let reason = "is for every class alike; leave it out, or say adaptive=false";
            return Err(Error::parameter(SPRINKLE.name, "terms", terms, reason));
        }
        params.terms = terms.unwrap_or(params.terms);
        arguments.read("msl", &mut params.msl, |text| match text {
            "auto" => Some(Msl::Auto),
            _ => text.parse().ok().map(Msl::Value),
        })?;
        arguments.parse("fold_in", &mut params.fold_in)?;
        Ok(AnyStage::Project(Arc::new(params)))
    },
};

impl Stage for SprinkleParams {
    fn name(&self) -> &'static str {
        SPRINKLE.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let default = Self::default();
        Shown::new()
            .plain("rank", &self.rank, &default.rank)
            .add("terms", &(!self.adaptive).then_some(self.terms), &None, |terms| terms.unwrap_or_default().to_string())
            .add("msl", &self.msl, &default.msl, |msl| match msl {
                Msl::Auto => "auto".to_string(),
                Msl::Value(value) => value.to_string(),
            })
            .plain("fold_in", &self.fold_in, &default.fold_in)
            .into_arguments()
    }

    fn check(&self) -> Result<()> {
        SprinkleParams::check(self)
    }
}

impl Projector for SprinkleParams {
    fn needs_labels(&self) -> bool {
        true
    }

    fn asks_classifier(&self) -> bool {
        self.adaptive
    }

    fn fit(
        &self,
        x: Matrix,
        labels: &Labels,
        later: &Later<'_>,
        run: &Run,
    ) -> Result<(Box<dyn FittedProjector>, Matrix)> {
        let (mut model, rows) = if self.adaptive {
            let confusion = later.confusion(SPRINKLE.name, &x, labels, FOLDS, run)?;
            let msl = match self.msl {
                Msl::Value(value) => value,
                Msl::Auto => self.best_msl(&x, labels, &confusion, later, run)?,
            };
            self.fit_with_counts(&x, labels, &sprinkled_terms(&confusion, msl)?, run)?
        } else {
            SprinkleParams::fit(self, &x, labels, run)?
        };
        model.look_at_terms(&x, &rows, run)?;
        Ok((Box::new(model), rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<Box<dyn FittedProjector>> {
        Ok(Box::new(SprinkleModel::load(store)?))
    }
}

impl SprinkleParams {
    /// The level whose sprinkled documents the classifier gets right most often on held-out folds; the smaller of equals.
    fn best_msl(
        &self,
        x: &Matrix,
        labels: &Labels,
        confusion: &[Vec<u64>],
        later: &Later<'_>,
        run: &Run,
    ) -> Result<usize> {
        let mut best = (MSL_GRID[0], 0);
        for msl in MSL_GRID {
            let counts = sprinkled_terms(confusion, msl)?;
            let right = later.right_on_folds(SPRINKLE.name, x, labels, MSL_FOLDS, run, |x, labels, held, run| {
                let (model, rows) = self.fit_with_counts(x, labels, &counts, run)?;
                Ok((rows, model.transform(held, run)?))
            })?;
            if right > best.1 {
                best = (msl, right);
            }
        }
        Ok(best.0)
    }
}

impl FittedProjector for SprinkleModel {
    fn transform(&self, x: Matrix, run: &Run) -> Result<Matrix> {
        SprinkleModel::transform(self, &x, run)
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        SprinkleModel::save(self, out)
    }

    /// Dimensions stand for no term.
    fn feature_names(&self, _before: Vec<String>) -> Vec<String> {
        Vec::new()
    }

    fn n_columns(&self, before: usize) -> Result<usize> {
        same_columns("columns for sprinkle", self.basis().rows(), before, self.width())
    }

    fn term_shift(&self) -> Option<&TermShift> {
        self.shift()
    }

    /// The terms each class got, so that a fold need not ask the classifier again which classes it confuses.
    fn found(&self) -> Option<Box<dyn Projector>> {
        let params = SprinkleParams { rank: self.rank(), fold_in: self.fold_in(), ..SprinkleParams::default() };
        let counts = self.sprinkled().iter().map(|&count| count as usize).collect();
        Some(Box::new(KnownTerms { params, counts }))
    }
}

/// Sprinkling with as many terms for each class as were found before.
#[derive(Debug)]
struct KnownTerms {
    params: SprinkleParams,
    counts: Vec<usize>,
}

impl Stage for KnownTerms {
    fn name(&self) -> &'static str {
        SPRINKLE.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        self.params.arguments()
    }

    fn check(&self) -> Result<()> {
        self.params.check()
    }
}

impl Projector for KnownTerms {
    fn needs_labels(&self) -> bool {
        true
    }

    fn fit(&self, x: Matrix, labels: &Labels, _: &Later<'_>, run: &Run) -> Result<(Box<dyn FittedProjector>, Matrix)> {
        let (model, rows) = self.params.fit_with_counts(&x, labels, &self.counts, run)?;
        Ok((Box::new(model), rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<Box<dyn FittedProjector>> {
        self.params.load(store)
    }
}
