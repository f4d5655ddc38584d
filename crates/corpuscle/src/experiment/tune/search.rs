//! The search: one cross-validation per trial, within a number of trials or seconds.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::propose::Proposer;
use super::space::Space;
use crate::corpus::{Document, Labels};
use crate::experiment::compare::Tokenised;
use crate::experiment::objective::Objective;
use crate::experiment::significance::mean_and_deviation;
use crate::experiment::splits::{Split, blocked_folds};
use crate::recipe::Recipe;
use crate::{Error, Result, Run};

/// Trials when neither a number nor a time is given.
const TRIALS: usize = 20;
/// The part of the trials or of the time that goes into the even cover; the rest refines.
const EVEN: f64 = 0.5;

/// How long to search, and how each trial is judged.
#[derive(Debug, Clone, PartialEq)]
pub struct TuneParams {
    /// Most trials. With trials alone, the same seed gives the same choice.
    pub trials: Option<usize>,
    /// Most time. The first trial is always finished, others only within it.
    pub budget: Option<Duration>,
    /// Folds of the cross-validation.
    pub folds: usize,
}

impl Default for TuneParams {
    fn default() -> Self {
        TuneParams { trials: None, budget: None, folds: 5 }
    }
}

impl TuneParams {
    /// Names the first value that is out of range.
    pub fn check(&self) -> Result<()> {
        if self.trials == Some(0) {
            return Err(Error::parameter("tune", "trials", 0, "must be at least 1"));
        }
        if self.folds < 2 {
            return Err(Error::parameter("tune", "folds", self.folds, "must be at least 2"));
        }
        Ok(())
    }
}

/// One point that was tried.
#[derive(Debug, Clone, Serialize)]
pub struct Trial {
    /// The recipe, as `train` takes it.
    pub recipe: String,
    /// The values of the parameters searched, in the order of [`Space::dimensions`].
    pub values: Vec<String>,
    /// The figure of every fold; empty when the trial failed.
    pub folds: Vec<f64>,
    /// Seconds it took.
    pub seconds: f64,
    /// Why the recipe could not be fitted.
    pub failed: Option<String>,
}

/// What was tried and what came out best.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// In the order they were run.
    pub trials: Vec<Trial>,
    /// What they were judged by.
    pub objective: Objective,
    /// Whether every value was tried, so that more trials would find nothing.
    pub exhausted: bool,
    best: usize,
}

impl Trial {
    /// Mean and standard deviation over the folds; `None` when it failed.
    pub fn spread(&self) -> Option<(f64, f64)> {
        mean_and_deviation(&self.folds)
    }

    fn score(&self) -> f64 {
        self.spread().map_or(f64::NEG_INFINITY, |(mean, _)| mean)
    }
}

impl Tuning {
    /// The trial of the highest mean, the first of equals.
    pub fn best(&self) -> &Trial {
        &self.trials[self.best]
    }
}

/// Searches the ranges of a recipe by cross-validation on `documents`; unlabelled ones are learnt from in every fold.
/// `watch` sees every trial as it ends, and whether it is the best so far.
pub fn tune(
    space: &Space,
    documents: &[Document],
    params: &TuneParams,
    run: &Run,
    mut watch: impl FnMut(&Trial, bool),
) -> Result<Tuning> {
    params.check()?;
    let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
    let mut bench = Bench {
        documents,
        folds: blocked_folds(&labels, params.folds)?,
        objective: Objective::of(&labels),
        corpora: Tokenised::default(),
        // Trials differ in a few values, and all before the first of them is the same work.
        run: run.quiet().sharing(),
    };
    let clock = Clock::new(params);
    let mut proposer = Proposer::new(space, run);
    let mut found = Tuning { trials: Vec::new(), objective: bench.objective, exhausted: false, best: 0 };
    let mut best_point = proposer.first();
    let mut next = Some(best_point.clone());
    let mut fault = None;
    run.watch("tune", params.trials.map(|trials| trials as u64), || {
        while let Some(point) = next.take() {
            run.check()?;
            let started = Instant::now();
            let recipe = space.recipe(&point)?;
            let deadline = if found.trials.is_empty() { None } else { clock.end() };
            let (folds, failed) = match bench.measure(&recipe, deadline) {
                Ok(Some(folds)) => (folds, None),
                Ok(None) => break,
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(error) => {
                    let reason = error.to_string();
                    fault = Some(error);
                    (Vec::new(), Some(reason))
                }
            };
            let seconds = started.elapsed().as_secs_f64();
            let trial = Trial { recipe: recipe.to_string(), values: space.values(&point), folds, seconds, failed };
            let better = match found.trials.get(found.best) {
                Some(best) => trial.score() > best.score(),
                None => trial.failed.is_none(),
            };
            if better {
                (found.best, best_point) = (found.trials.len(), point);
            }
            watch(&trial, better);
            found.trials.push(trial);
            run.advance(1);
            let even = clock.is_even(found.trials.len());
            if !even {
                proposer.learn(better);
            }
            if clock.is_over(&found.trials) {
                break;
            }
            next = if even { proposer.explore() } else { None }.or_else(|| proposer.refine(&best_point));
            found.exhausted = next.is_none();
        }
        Ok(())
    })?;
    match (found.trials.iter().any(|trial| trial.failed.is_none()), fault) {
        (false, Some(fault)) => Err(fault),
        _ => Ok(found),
    }
}

/// What trials are measured on.
struct Bench<'a> {
    documents: &'a [Document],
    folds: Vec<Split>,
    objective: Objective,
    corpora: Tokenised,
    run: Run,
}

impl Bench<'_> {
    /// The figure of every fold; `None` when the time was up before the last.
    fn measure(&mut self, recipe: &Recipe, deadline: Option<Instant>) -> Result<Option<Vec<f64>>> {
        let measured = self.objective.measured(recipe);
        let mut figures = Vec::with_capacity(self.folds.len());
        for fold in &self.folds {
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Ok(None);
            }
            self.run.check()?;
            let (outcome, _) = self.corpora.measure(&measured, self.documents, fold, &[], &self.run)?;
            figures.push(self.objective.value(&outcome));
        }
        Ok(Some(figures))
    }
}

/// Trials and seconds left.
struct Clock {
    started: Instant,
    trials: Option<usize>,
    budget: Option<Duration>,
}

impl Clock {
    fn new(params: &TuneParams) -> Self {
        let trials = match (params.trials, params.budget) {
            (None, None) => Some(TRIALS),
            (trials, _) => trials,
        };
        Clock { started: Instant::now(), trials, budget: params.budget }
    }

    fn end(&self) -> Option<Instant> {
        self.budget.and_then(|budget| self.started.checked_add(budget))
    }

    /// Whether the trial after `done` ones belongs to the even cover.
    fn is_even(&self, done: usize) -> bool {
        let by_trials = self.trials.map(|trials| (done as f64) < EVEN * trials as f64);
        let by_time = self.budget.map(|budget| self.started.elapsed().as_secs_f64() < EVEN * budget.as_secs_f64());
        // With both limits, whichever is nearer decides.
        by_trials.unwrap_or(true) && by_time.unwrap_or(true)
    }

    /// Whether no further trial fits.
    fn is_over(&self, trials: &[Trial]) -> bool {
        let mean = trials.iter().map(|trial| trial.seconds).sum::<f64>() / trials.len().max(1) as f64;
        self.trials.is_some_and(|most| trials.len() >= most)
            || self.budget.is_some_and(|budget| self.started.elapsed().as_secs_f64() + mean > budget.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::demo;

    fn search(text: &str, params: &TuneParams, seed: u64, threads: usize) -> Tuning {
        let mut documents = demo().unwrap().train;
        documents.truncate(160);
        let run = Run::new(seed, threads).unwrap();
        let mut seen = 0;
        let tuning =
            tune(&Space::parse(text).unwrap(), &documents, params, &run, |_, better| seen += usize::from(better));
        assert!(seen > 0);
        tuning.unwrap()
    }

    #[test]
    fn the_same_seed_finds_the_same_at_any_number_of_threads() {
        let params = TuneParams { trials: Some(7), budget: None, folds: 3 };
        let text = "tfidf(min_df=1..4) | svm(c=0.001..100 log)";
        let recipes = |seed, threads| -> Vec<(String, Vec<f64>)> {
            search(text, &params, seed, threads).trials.into_iter().map(|trial| (trial.recipe, trial.folds)).collect()
        };
        let first = recipes(42, 1);
        assert_eq!(first.len(), 7);
        assert_eq!(first[0].0, "tfidf | svm");
        assert!(first == recipes(42, 2) && first == recipes(42, 8));
        assert_ne!(first, recipes(43, 1));
    }

    #[test]
    fn figures_are_those_of_a_cross_validation_and_better_values_win() {
        let params = TuneParams { trials: Some(6), budget: None, folds: 3 };
        let tuning = search("tfidf | lsi(1..40) | svm", &params, 1, 2);
        assert_eq!(tuning.objective, Objective::Accuracy);
        let mut documents = demo().unwrap().train;
        documents.truncate(160);
        let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
        let recipe = Recipe::parse(&tuning.best().recipe).unwrap();
        let run = Run::new(1, 2).unwrap();
        let again =
            crate::experiment::compare(&[recipe], &documents, &blocked_folds(&labels, 3).unwrap(), &run).unwrap();
        let figures: Vec<f64> = again.recipes[0].splits.iter().map(|outcome| outcome.accuracy).collect();
        assert_eq!(figures, tuning.best().folds);
        // One or two dimensions cannot hold eight topics.
        let few = search("tfidf | lsi({1|2}) | svm", &params, 1, 2);
        assert!(tuning.best().score() > few.best().score() + 0.1, "{} {}", tuning.best().score(), few.best().score());
    }

    #[test]
    fn a_small_space_and_a_short_time_end_the_search() {
        let params = TuneParams { trials: Some(50), budget: None, folds: 2 };
        let tuning = search("tfidf | knn(k={1|3|5})", &params, 1, 2);
        assert!(tuning.trials.len() == 3 && tuning.exhausted);
        let params = TuneParams { trials: None, budget: Some(Duration::ZERO), folds: 2 };
        assert_eq!(search("tfidf | svm(c=0.1..10)", &params, 1, 2).trials.len(), 1);
    }

    #[test]
    fn a_value_that_cannot_be_fitted_is_a_failed_trial() {
        let mut documents = demo().unwrap().train;
        documents.truncate(60);
        let run = Run::new(1, 2).unwrap();
        // No term is in that many documents.
        let space = Space::parse("tfidf(min_df={1|5000}) | svm").unwrap();
        let params = TuneParams { trials: Some(5), budget: None, folds: 2 };
        let tuning = tune(&space, &documents, &params, &run, |_, _| {}).unwrap();
        assert_eq!(tuning.trials.iter().filter(|trial| trial.failed.is_some()).count(), 1);
        assert_eq!(tuning.best().recipe, "tfidf | svm");
        let space = Space::parse("tfidf(min_df={4000|5000}) | svm").unwrap();
        assert!(tune(&space, &documents, &params, &run, |_, _| {}).is_err());
        assert!(TuneParams { folds: 1, ..params }.check().is_err());
    }
}
