//! Adapters of the `classify` room: what its methods share here, and a file for each.
//!
//! A method says what is its own ([`Method`]); [`Calibrated`] makes a stage of it, adding the folds on which
//! probabilities and thresholds are learnt.

mod knn;
mod logistic;
mod self_trained;
mod svm;

pub(super) use knn::KNN;
pub(super) use logistic::LOGISTIC;
pub(super) use svm::SVM;

use std::fmt::Debug;
use std::sync::Arc;

use super::{AnyStage, StageInfo};
use crate::classify::{ClassWeight, Cost, Reached};
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::recipe::arguments::{Arguments, Parameter, Shown};
use crate::recipe::stage::{Classifier, FittedClassifier, Stage};
use crate::store::StoreReader;
use crate::{Error, Result, Run};

const CLASS_WEIGHTS: &[(&str, ClassWeight)] = &[("none", ClassWeight::None), ("balanced", ClassWeight::Balanced)];
const COST: Parameter = Parameter { name: "c", about: "cost of mistakes, above 0 (1), or auto: by cross-validation" };
const CLASS_WEIGHT: Parameter = Parameter { name: "class_weight", about: "none (default) or balanced" };
const TOLERANCE: Parameter = Parameter { name: "tolerance", about: "how close to the optimum to stop, relatively" };
const MAX_ITER: Parameter = Parameter { name: "max_iter", about: "most passes over the data" };
const CALIBRATE: Parameter =
    Parameter { name: "calibrate", about: "held-out folds for probabilities and thresholds (3), 0 for none" };

const SELF_TRAINING: Parameter = Parameter {
    name: "self_training",
    about: "true: learns from its surest decisions about unlabelled documents too (false)",
};

/// Folds for calibration when nothing is said.
const DEFAULT_FOLDS: usize = 3;
/// Held-out scores only place sigmoids and thresholds, so the fits behind them may stop earlier than the real one.
const ROUGH_TOLERANCE: f64 = 1e-2;
/// Costs that stand for all when something before the classifier is chosen.
const ROUGH_COSTS: [f64; 2] = [0.1, 1.0];

fn read_cost(arguments: &mut Arguments<'_>, to: &mut Cost) -> Result<()> {
    arguments.read("c", to, |text| match text {
        "auto" => Some(Cost::Auto),
        _ => text.parse().ok().map(Cost::Value),
    })
}

fn show_cost(cost: &Cost) -> String {
    match cost {
        Cost::Auto => "auto".to_string(),
        Cost::Value(value) => value.to_string(),
    }
}

/// What the solver of a linear method reached, for people.
fn solver_notes(c: f64, reached: &[Reached], passes: &str) -> Vec<(&'static str, String)> {
    let most = reached.iter().map(|reached| reached.iterations).max().unwrap_or(0);
    let gap = reached.iter().map(|reached| reached.gap).fold(0.0, f64::max);
    vec![("c", c.to_string()), ("solver", format!("{most} {passes}, relative gap to the optimum about {gap:.1e}"))]
}

/// A method of the `classify` room with its parameters.
trait Method: Debug + Clone + Default + Send + Sync + 'static {
    /// The stage's name and parameters.
    fn info() -> &'static StageInfo;
    /// Reads the method's own arguments.
    fn read(&mut self, arguments: &mut Arguments<'_>) -> Result<()>;
    /// The method's own arguments that differ from the defaults.
    fn shown(&self) -> Shown;
    /// Names the first value that is out of range.
    fn check(&self) -> Result<()>;
    /// The same method with the cost that was found, looser where that saves time.
    fn rough(&self, c: Option<f64>) -> Self;
    /// The same method with the cost that was found.
    fn with_cost(&self, _c: Option<f64>) -> Self {
        self.clone()
    }
    /// Whether the method finds its cost by cross-validation.
    fn finds_cost(&self) -> bool {
        false
    }
    /// Whether the method can learn from its own decisions.
    fn can_self_train() -> bool {
        false
    }
    /// Fits on the labelled rows.
    fn fit(&self, x: &Matrix, labels: &Labels, weights: Option<&[f32]>, run: &Run)
    -> Result<Box<dyn FittedClassifier>>;
    /// Steps that fitting reports, when known beforehand.
    fn steps(&self, _labels: &Labels) -> Option<u64> {
        None
    }
    /// Takes the fitted method out of a store.
    fn load(store: &StoreReader<'_>, run: &Run) -> Result<Box<dyn FittedClassifier>>;
}

/// A method with the folds that calibrate it.
#[derive(Debug, Clone)]
struct Calibrated<M> {
    method: M,
    folds: usize,
    self_training: bool,
}

/// Reads a stage of that method.
fn build<M: Method>(arguments: &mut Arguments<'_>) -> Result<AnyStage> {
    let mut stage = Calibrated { method: M::default(), folds: DEFAULT_FOLDS, self_training: false };
    stage.method.read(arguments)?;
    arguments.parse(CALIBRATE.name, &mut stage.folds)?;
    if M::can_self_train() {
        arguments.parse(SELF_TRAINING.name, &mut stage.self_training)?;
    }
    Ok(AnyStage::Classify(Arc::new(stage)))
}

impl<M: Method> Stage for Calibrated<M> {
    fn name(&self) -> &'static str {
        M::info().name
    }

    fn arguments(&self) -> Vec<(&'static str, String)> {
        let shown = self.method.shown().plain(CALIBRATE.name, &self.folds, &DEFAULT_FOLDS);
        shown.plain(SELF_TRAINING.name, &self.self_training, &false).into_arguments()
    }

    fn check(&self) -> Result<()> {
        self.method.check()?;
        let wrong = |reason| Err(Error::parameter(M::info().name, CALIBRATE.name, self.folds, reason));
        match self.folds {
            1 => wrong("must be 0 for none, or at least 2"),
            101.. => wrong("must be at most 100"),
            _ => Ok(()),
        }
    }
}

impl<M: Method> Classifier for Calibrated<M> {
    fn fit(
        &self,
        x: &Matrix,
        labels: &Labels,
        weights: Option<&[f32]>,
        run: &Run,
    ) -> Result<Box<dyn FittedClassifier>> {
        match self.self_training {
            true => self_trained::fit(&self.method, x, labels, weights, run),
            false => self.method.fit(x, labels, weights, run),
        }
    }

    fn rough(&self, fitted: &dyn FittedClassifier) -> Box<dyn Classifier> {
        // Folds hold labelled documents alone, so there is nothing to train itself on.
        Box::new(Calibrated { method: self.method.rough(fitted.c()), folds: self.folds, self_training: false })
    }

    fn choosing(&self) -> Vec<Box<dyn Classifier>> {
        let costs = if self.method.finds_cost() { ROUGH_COSTS.map(Some).to_vec() } else { vec![None] };
        let stage = |c| Calibrated { method: self.method.rough(c), folds: self.folds, self_training: false };
        costs.into_iter().map(|c| Box::new(stage(c)) as Box<dyn Classifier>).collect()
    }

    fn load(&self, store: &StoreReader<'_>, run: &Run) -> Result<Box<dyn FittedClassifier>> {
        match self.self_training {
            true => self_trained::load(M::load(store, run)?, store),
            false => M::load(store, run),
        }
    }

    fn steps(&self, labels: &Labels) -> Option<u64> {
        if self.self_training { None } else { self.method.steps(labels) }
    }

    fn calibration_folds(&self) -> usize {
        self.folds
    }
}
