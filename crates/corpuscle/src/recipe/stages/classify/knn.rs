//! The `knn` stage.

use super::super::{StageInfo, StageKind, word_of};
use super::{CALIBRATE, CLASS_WEIGHT, CLASS_WEIGHTS, Method, build};
use crate::classify::{KnnModel, KnnParams, LinearModel, Metric, NearDocument, Vote};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::recipe::arguments::{Arguments, Parameter, Shown};
use crate::recipe::stage::FittedClassifier;
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
    build: build::<KnnParams>,
};

impl Method for KnnParams {
    fn info() -> &'static StageInfo {
        &KNN
    }

    fn read(&mut self, arguments: &mut Arguments<'_>) -> Result<()> {
        arguments.parse("k", &mut self.k)?;
        arguments.choice("metric", &mut self.metric, METRICS)?;
        arguments.choice("vote", &mut self.vote, VOTES)?;
        arguments.choice("class_weight", &mut self.class_weight, CLASS_WEIGHTS)
    }

    fn shown(&self) -> Shown {
        let default = Self::default();
        Shown::new()
            .plain("k", &self.k, &default.k)
            .add("metric", &self.metric, &default.metric, |value| word_of(METRICS, value))
            .add("vote", &self.vote, &default.vote, |value| word_of(VOTES, value))
            .add("class_weight", &self.class_weight, &default.class_weight, |value| word_of(CLASS_WEIGHTS, value))
    }

    fn check(&self) -> Result<()> {
        KnnParams::check(self)
    }

    fn rough(&self, _c: Option<f64>) -> Self {
        self.clone()
    }

    fn fit(
        &self,
        x: &Matrix,
        labels: &Labels,
        weights: Option<&[f32]>,
        run: &Run,
    ) -> Result<Box<dyn FittedClassifier>> {
        Ok(Box::new(KnnParams::fit(self, x, labels, weights, run)?))
    }

    fn load(store: &StoreReader<'_>, run: &Run) -> Result<Box<dyn FittedClassifier>> {
        Ok(Box::new(KnnModel::load(store, run)?))
    }
}

impl FittedClassifier for KnnModel {
    fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        KnnModel::scores(self, x, run)
    }

    /// The share of the votes is the probability.
    fn own_probabilities(&self, scores: &Dense) -> Option<Dense> {
        // Scores below 0 only rank the classes that got no vote.
        let mut votes = scores.clone();
        votes.values_mut().iter_mut().for_each(|vote| *vote = vote.max(0.0));
        Some(votes)
    }

    fn c(&self) -> Option<f64> {
        None
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

    fn nearest(&self, x: &Matrix, count: usize, run: &Run) -> Result<Option<Vec<Vec<NearDocument>>>> {
        self.near_documents(x, count, run).map(Some)
    }

    fn leaning(&self, x: &Matrix, class: u32, against: Option<u32>, run: &Run) -> Result<Option<Vec<f64>>> {
        KnnModel::leaning(self, x, class, against, run).map(Some)
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
