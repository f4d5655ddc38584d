//! Chooses a recipe for documents when none is given, within a time.
//!
//! A small set of recipes ([`Setting::candidates`]) is compared by cross-validation on the documents handed in, cheap
//! ones first, then votes of the best, and what does not fit the time is left out and named. Rows that stand near each other are often of one
//! source (a thread, a query, a day), and a document is easier to decide when others of its source were learnt from; new
//! documents have no such help. So folds are runs of neighbouring rows of each class and not random draws
//! ([`blocked_folds`]), which for rows in random order is the same.
//!
//! The winner has the highest mean, with one exception: where fewer than 300 documents are labelled and most have no label, folds do not
//! tell candidates apart that are within two standard errors of the best (eight to ten points with 100 labels), and of these a vote is
//! taken, or where there was no time for one [`NAMED`], which has several representations side by side. They stand for several views at
//! once, so they are seldom far from the best of them, whichever that is (the one-standard-error rule of
//! Breiman, Friedman, Olshen and Stone, 1984, with steadiness in the place of size, and two, which is how far one must be behind to be
//! dropped). Whether the winner is more than luck is told by a paired t-test over the folds against each
//! candidate that went all the way, corrected by Holm. Below a few thousand documents one round of folds tells candidates
//! apart that differ by one or two of them, so while time is left a second round with twice as many folds follows; the
//! t-test keeps to the first, because folds of two rounds are not independent. How many rounds there is time for depends
//! on the machine, so the choice can differ from run to run; the model of a given recipe does not.
//!
//! ```
//! use std::time::Duration;
//! use corpuscle::{Run, corpus, experiment::{RecommendParams, recommend}};
//! let run = Run::new(42, 0)?;
//! let documents = corpus::demo()?.train;
//! let params = RecommendParams { budget: Duration::from_secs(5), ..RecommendParams::default() };
//! let found = recommend(&documents, &params, &run, |_| {})?;
//! println!("{} is best of {}", found.recipe(), found.standings.len());
//! # Ok::<(), corpuscle::Error>(())
//! ```

mod bench;
mod candidates;
mod contest;

use std::time::Duration;

use bench::Bench;
pub use candidates::{NAMED, PLAIN, Setting};
use contest::Referee;
pub use contest::{Fate, Standing};

use super::objective::Objective;
use super::significance::{TTest, holm, paired_t_test};
use super::splits::blocked_folds;
use crate::corpus::{Document, Labels};
use crate::recipe::Recipe;
use crate::{Result, Run};

/// Labelled documents below which a comparison would tell nothing.
const FEWEST: usize = 20;
/// Labelled documents below which a second round of folds follows.
const FEW_FOR_ONE_ROUND: usize = 3000;

/// Labelled documents below which folds do not tell candidates apart that are not clearly behind the best.
const FEW_FOR_A_CHOICE: usize = 300;

/// How long to look, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct RecommendParams {
    /// The time for the comparison and the training of the model after it.
    pub budget: Duration,
    /// Folds of the first cross-validation.
    pub folds: usize,
    /// What classes are about, (class, description) each, where more is known than their names.
    pub descriptions: Vec<(String, String)>,
}

impl Default for RecommendParams {
    fn default() -> Self {
        RecommendParams { budget: Duration::from_secs(60), folds: 5, descriptions: Vec::new() }
    }
}

/// Why the winner is the one taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenFor {
    /// It has the highest mean.
    Highest,
    /// It has several views of the texts and is not clearly behind the highest, which so few labels do not tell from it.
    Steady,
    /// It has the highest mean of those whose model could be fitted in the time that was left.
    InTime,
}

/// What was tried and what came out best.
#[derive(Debug, Clone)]
pub struct Recommendation {
    /// Every candidate, in the order tried.
    pub standings: Vec<Standing>,
    /// What they were judged by.
    pub objective: Objective,
    /// What there was to learn from.
    pub setting: Setting,
    /// Folds that the winner was measured on; 0 when there was no time or too little data to compare anything.
    pub folds: usize,
    /// How many of them are of the first round, in which every document is tested once at most.
    pub first_round: usize,
    /// Why the winner was taken.
    pub taken_for: TakenFor,
    winner: usize,
}

impl Recommendation {
    /// The recipe chosen.
    pub fn recipe(&self) -> &str {
        &self.standings[self.winner].recipe
    }

    /// The number of the candidate chosen.
    pub fn winner(&self) -> usize {
        self.winner
    }

    /// The mean figure of a candidate over the winner's folds, as far as it was measured on them.
    pub fn mean(&self, candidate: usize) -> Option<f64> {
        let mean = self.standings[candidate].mean(self.folds);
        mean.is_finite().then_some(mean)
    }

    /// By how much a candidate is behind the winner, in the mean over the winner's folds.
    pub fn behind(&self, candidate: usize) -> f64 {
        self.standings[self.winner].mean(self.folds) - self.standings[candidate].mean(self.folds)
    }

    /// The best of the other candidates that were measured on all the winner's folds.
    pub fn runner_up(&self) -> Option<usize> {
        let others = (0..self.standings.len()).filter(|&index| index != self.winner && self.is_finisher(index));
        others.reduce(|best, index| if self.mean(index) > self.mean(best) { index } else { best })
    }

    /// The winner against every other candidate measured on all its folds: a paired t-test, and its p-value corrected
    /// for all of them (Holm). `None` for the others and with fewer than two folds.
    pub fn tests(&self) -> Vec<Option<(TTest, f64)>> {
        let folds = |index: usize| &self.standings[index].folds[..self.first_round];
        let tests: Vec<Option<TTest>> = (0..self.standings.len())
            .map(|index| {
                let other = index != self.winner && self.is_finisher(index);
                other.then(|| paired_t_test(folds(self.winner), folds(index))).flatten()
            })
            .collect();
        let mut corrected = holm(&tests.iter().flatten().map(|test| test.p).collect::<Vec<_>>()).into_iter();
        tests.into_iter().map(|test| test.and_then(|test| Some((test, corrected.next()?)))).collect()
    }

    /// The best of the other candidates that were measured on all the winner's folds and have a higher mean than it.
    pub fn passed_over(&self) -> Option<usize> {
        let others = (0..self.standings.len()).filter(|&index| self.is_measured(index) && self.behind(index) < 0.0);
        others.reduce(|best, index| if self.mean(index) > self.mean(best) { index } else { best })
    }

    /// The best of those measured that are `in_time`: one too slow for one more fold may be quick enough for a model. Where none is, the
    /// finisher whose `fit` takes the fewest seconds.
    fn best_within(&self, in_time: impl Fn(usize) -> bool, fit: impl Fn(usize) -> f64) -> usize {
        let all = 0..self.standings.len();
        let in_time = all.clone().filter(|&index| self.is_measured(index) && in_time(index));
        let best = in_time.reduce(|best, index| if self.mean(index) > self.mean(best) { index } else { best });
        let quickest = || all.filter(|&index| self.is_finisher(index)).min_by(|&a, &b| fit(a).total_cmp(&fit(b)));
        best.or_else(quickest).unwrap_or(0)
    }

    /// The best of the finishers that are `steady` and not clearly behind `best`, by standard errors over so many documents.
    fn steadiest(&self, best: usize, documents: usize, steady: impl Fn(usize) -> bool) -> Option<usize> {
        let top = self.mean(best)?;
        let error = (top * (1.0 - top) / documents.max(1) as f64).max(0.0).sqrt();
        let near = |index: &usize| self.mean(*index).is_some_and(|mean| mean >= top - contest::BEHIND * error);
        let steady = (0..self.standings.len()).filter(|&index| self.is_finisher(index) && steady(index)).filter(near);
        steady.reduce(|best, index| if self.mean(index) > self.mean(best) { index } else { best })
    }

    fn is_finisher(&self, index: usize) -> bool {
        self.standings[index].fate == Fate::Finished && self.is_measured(index)
    }

    /// Whether a candidate was measured on all the winner's folds.
    fn is_measured(&self, index: usize) -> bool {
        let standing = &self.standings[index];
        let counts = matches!(standing.fate, Fate::Finished | Fate::TooSlow(_));
        self.folds > 0 && counts && standing.folds.len() >= self.folds
    }
}

/// Compares the candidates that suit `documents`; unlabelled ones are learnt from in every fit. `watch` sees the
/// standings after every step. The model is still to be fitted: `Recipe::parse(found.recipe())?.fit(…)`, with a run made by
/// [`Run::sharing`] for both in less time.
pub fn recommend(
    documents: &[Document],
    params: &RecommendParams,
    run: &Run,
    watch: impl FnMut(&[Standing]),
) -> Result<Recommendation> {
    let mut labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
    if !params.descriptions.is_empty() {
        labels = labels.described(&params.descriptions);
    }
    let labelled = labels.labelled_rows().len();
    let setting = Setting::of(labelled, documents.len() - labelled);
    let recipes = setting.candidates().iter().map(|text| Recipe::parse(text)).collect::<Result<Vec<_>>>()?;
    let standing = |recipe: &Recipe| Standing {
        recipe: recipe.to_string(),
        folds: Vec::new(),
        fold_seconds: None,
        fate: Fate::NotTried,
    };
    let mut found = Recommendation {
        standings: recipes.iter().map(standing).collect(),
        objective: Objective::of(&labels),
        setting,
        folds: 0,
        first_round: 0,
        taken_for: TakenFor::Highest,
        winner: 0,
    };
    if labelled < FEWEST || labels.n_classes() < 2 {
        // Nothing is compared, so there is one recipe to speak of.
        found.standings.truncate(1);
        if labels.are_described() && !labels.is_multi_label() {
            found.standings[0].recipe = NAMED.to_string();
        }
        found.standings[0].fate = Fate::TooFewDocuments(labelled);
        return Ok(found);
    }
    let mut folds = blocked_folds(&labels, params.folds)?;
    if (4 * params.folds..FEW_FOR_ONE_ROUND).contains(&labelled) {
        folds.extend(blocked_folds(&labels, 2 * params.folds)?);
    }
    let rounds = folds.len();
    let mut bench = Bench::new(documents, &labels, folds, &recipes, params, run)?;
    found.folds = run.watch("recommend", None, || contest::contest(&mut found.standings, rounds, &mut bench, watch))?;
    found.first_round = found.folds.min(params.folds);
    let fold = |index: usize| found.standings[index].fold_seconds.unwrap_or(0.0);
    let in_time = |index: usize| bench.in_time(index, fold(index));
    let best = found.best_within(in_time, |index| bench.whole_fit(index, fold(index)));
    let steadier = || {
        let tested = bench.tested(found.folds);
        let of =
            |steady: &dyn Fn(usize) -> bool| found.steadiest(best, tested, |index| steady(index) && in_time(index));
        of(&|index| bench.is_vote(index)).or_else(|| of(&|index| found.standings[index].recipe == NAMED))
    };
    let few = bench.few() && found.objective == Objective::Accuracy;
    let steady = few.then(steadier).flatten();
    found.winner = steady.unwrap_or(best);
    found.taken_for = match found.passed_over().is_some() {
        false => TakenFor::Highest,
        true if steady.is_some_and(|steady| steady != best) => TakenFor::Steady,
        true => TakenFor::InTime,
    };
    if found.is_measured(found.winner) {
        found.standings[found.winner].fate = Fate::Finished;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::demo;

    fn look(documents: &[Document], seconds: f64) -> Recommendation {
        let params =
            RecommendParams { budget: Duration::from_secs_f64(seconds), folds: 3, ..RecommendParams::default() };
        recommend(documents, &params, &Run::new(42, 2).unwrap(), |_| {}).unwrap()
    }

    #[test]
    fn the_winner_has_the_highest_mean_of_those_that_finished() {
        let found = look(&demo().unwrap().train, 300.0);
        assert_eq!((found.setting, found.folds, found.first_round), (Setting::ManyLabels, 9, 3));
        let best = found.mean(found.winner()).unwrap();
        assert!(best > 0.6, "{best}");
        assert_eq!(found.taken_for, TakenFor::Highest);
        if let Some(second) = found.runner_up() {
            assert!(found.mean(second).unwrap() <= best);
            let (test, corrected) = found.tests()[second].unwrap();
            // The test keeps to the first round, in which the winner of all folds need not be ahead.
            let mean = |index: usize| found.standings[index].mean(found.first_round);
            assert!((test.difference - (mean(found.winner()) - mean(second))).abs() < 1e-12 && corrected >= test.p);
        }
        assert!(found.tests()[found.winner()].is_none());
        assert!(!found.standings.iter().any(|standing| matches!(standing.fate, Fate::Failed(_))), "{found:?}");
    }

    #[test]
    fn of_candidates_that_folds_do_not_tell_apart_the_steady_one_is_taken() {
        let standing = |figure: f64| Standing {
            recipe: String::new(),
            folds: vec![figure; 5],
            fold_seconds: Some(1.0),
            fate: Fate::Finished,
        };
        let mut found = Recommendation {
            standings: [0.60, 0.57, 0.58, 0.50].map(standing).to_vec(),
            objective: Objective::Accuracy,
            setting: Setting::FewLabels,
            folds: 5,
            first_round: 5,
            taken_for: TakenFor::Highest,
            winner: 0,
        };
        // Two standard errors of 60 % over 100 documents are 9.8 points.
        assert_eq!(found.steadiest(0, 100, |index| index > 0), Some(2));
        assert_eq!(found.steadiest(0, 100, |index| index == 1), Some(1));
        assert_eq!(found.steadiest(0, 100, |index| index == 3), None);
        assert_eq!(found.steadiest(0, 100_000, |index| index > 0), None);
        found.standings[2].fate = Fate::Dropped;
        assert_eq!(found.steadiest(0, 100, |index| index > 0), Some(1));
        // The first takes too long to be fitted. The second was too slow for another fold, and is still better than what is left.
        found.standings[1].fate = Fate::TooSlow(2.0);
        let fit = |index: usize| [50.0, 8.0, 8.0, 1.0][index];
        let best_within = |found: &Recommendation, left: f64| found.best_within(|index| fit(index) <= left, fit);
        assert_eq!(best_within(&found, 100.0), 0);
        assert_eq!(best_within(&found, 10.0), 1);
        assert_eq!(best_within(&found, 2.0), 3);
        assert_eq!(best_within(&found, 0.0), 3);
        assert_eq!(found.passed_over(), None);
        found.winner = 3;
        assert_eq!(found.passed_over(), Some(0));
        found.winner = 0;
        found.standings[1].folds.pop();
        assert_eq!(best_within(&found, 10.0), 3);
    }

    #[test]
    fn few_labels_bring_other_candidates() {
        let mut documents = demo().unwrap().train;
        for (index, document) in documents.iter_mut().enumerate() {
            if index % 4 > 0 {
                document.labels = None;
            }
        }
        let found = look(&documents, 300.0);
        assert_eq!(found.setting, Setting::FewLabels);
        assert!(found.standings.iter().any(|standing| standing.recipe.contains("self_training")));
        assert!(!found.standings.iter().any(|standing| matches!(standing.fate, Fate::Failed(_))), "{found:?}");
    }

    #[test]
    fn one_or_two_labels_a_class_are_compared_too() {
        // So many documents that times are told from a sample, and so few labels of each class that a tenth of them is none.
        let documents: Vec<Document> = (0..1600usize)
            .map(|n| {
                let class = n % 40;
                let document =
                    Document::new(n.to_string(), format!("word{class} near{} some text {}", class % 20, n % 7));
                if n < 60 { document.labelled(format!("c{class}")) } else { document }
            })
            .collect();
        let found = look(&documents, 20.0);
        assert!(found.folds > 0 && found.standings[0].fate == Fate::Finished, "{found:?}");
    }

    #[test]
    fn without_time_or_data_the_plain_recipe_is_named() {
        let documents = demo().unwrap().train;
        for found in [look(&documents, 0.0), look(&documents[..10], 9.0), look(&[], 9.0)] {
            assert!(found.folds <= 1 && found.runner_up().is_none());
            assert_eq!(found.recipe(), PLAIN);
        }
        let few = look(&documents[..6], 9.0);
        assert_eq!((few.standings.len(), &few.standings[0].fate), (1, &Fate::TooFewDocuments(6)));
    }

    #[test]
    fn several_labels_are_judged_by_f1() {
        let mut documents = demo().unwrap().train;
        for (index, document) in documents.iter_mut().enumerate() {
            if index % 3 == 0 {
                document.labels.get_or_insert_default().push("third".into());
            }
        }
        let found = look(&documents, 300.0);
        assert_eq!(found.objective, Objective::MicroF1);
        assert!(found.folds == 9 && found.mean(found.winner()).unwrap() > 0.3, "{found:?}");
    }
}
