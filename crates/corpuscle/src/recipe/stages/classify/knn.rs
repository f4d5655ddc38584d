//! The `knn` stage.

use std::sync::Arc;

use super::super::{AnyStage, StageInfo, StageKind, word_of};
use super::{CALIBRATE, CLASS_WEIGHT, CLASS_WEIGHTS, DEFAULT_FOLDS, check_folds};
use crate::classify::{KnnModel, KnnParams, LinearModel, Metric, Vote};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::recipe::arguments::{Parameter, Shown};
use crate::recipe::stage::{Classifier, FittedClassifier, Stage};
use crate::store::{StoreReader, StoreWriter};
use crate::{Result, Run};

const METRICS: &[(&str, Metric)] = &[("cosine", Metric::Cosine), ("euclidean", Metric::Euclidean)];
const VOTES: &[(&str, Vote)] = &[("weighted", Vote::Weighted), ("majority", Vote::Majority)];

pub(in crate::recipe::stages) const KNN: StageInfo = StageInfo {
    name: "knn",
    kind: StageKind::Classify,
    about: "votes of the nearest training documents",
    parameters: &[
        Parameter { name: "k", about: "how many neighbours vote (10)" },
        Parameter { name: "metric", about: "cosine (default) or euclidean" },
        Parameter { name: "vote", about: "weighted by nearness (default) or majority" },
        CLASS_WEIGHT,
        CALIBRATE,
    ],
    build: |arguments| {
        let mut stage = Knn { params: KnnParams::default(), folds: DEFAULT_FOLDS };
        arguments.parse("k", &mut stage.params.k)?;
        arguments.choice("metric", &mut stage.params.metric, METRICS)?;
        arguments.choice("vote", &mut stage.params.vote, VOTES)?;
        arguments.choice("class_weight", &mut stage.params.class_weight, CLASS_WEIGHTS)?;
        arguments.parse("calibrate", &mut stage.folds)?;
        Ok(AnyStage::Classify(Arc::new(stage)))
    },
};

#[derive(Debug, Clone)]
struct Knn {
    params: KnnParams,
    folds: usize,
}

impl Stage for Knn {
    fn name(&self) -> &'static str {
        KNN.name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let (params, default) = (&self.params, KnnParams::default());
        Shown::new()
            .plain("k", &params.k, &default.k)
            .add("metric", &params.metric, &default.metric, |value| word_of(METRICS, value))
            .add("vote", &params.vote, &default.vote, |value| word_of(VOTES, value))
            .add("class_weight", &params.class_weight, &default.class_weight, |value| word_of(CLASS_WEIGHTS, value))
            .plain("calibrate", &self.folds, &DEFAULT_FOLDS)
            .into_arguments()
    }

    fn check(&self) -> Result<()> {
        self.params.check()?;
        check_folds(KNN.name, self.folds)
    }
}

impl Classifier for Knn {
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
        Box::new(self.clone())
    }

    fn load(&self, store: &StoreReader<'_>, run: &Run) -> Result<Box<dyn FittedClassifier>> {
        Ok(Box::new(KnnModel::load(store, run)?))
    }

    fn calibration_folds(&self) -> usize {
        self.folds
    }
}

impl FittedClassifier for KnnModel {
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        KnnModel::scores(self, x, run)
    }

    /// The share of the votes is the probability.
    fn own_probabilities(&self, scores: &Dense) -> Option<Dense> {
        Some(scores.clone())
    }

    fn usual_threshold(&self) -> f32 {
        0.5
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        KnnModel::save(self, out)
    }

    fn linear(&self) -> Option<&LinearModel> {
        None
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("neighbours", format!("{} documents kept", self.len()))]
    }

    fn n_classes(&self) -> usize {
        self.classes().len()
    }

    fn n_columns(&self) -> usize {
        KnnModel::n_columns(self)
    }
}
