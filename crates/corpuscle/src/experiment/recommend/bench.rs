//! Measures candidates on documents.
//!
//! Every stage is fitted inside the fold. One exception saves most of the time where labels are few: when at most a
//! quarter of the documents is labelled, a representation that knows no labels is fitted once on all texts, those of the
//! fold among them but without their labels, and shared by all candidates and folds.

use std::time::Instant;

use super::RecommendParams;
use super::contest::Referee;
use crate::corpus::{Document, Labels, hold_out};
use crate::experiment::compare::{Tokenised, measure};
use crate::experiment::objective::Objective;
use crate::experiment::splits::Split;
use crate::recipe::syntax::Expression;
use crate::recipe::{Corpus, Recipe, Represented, StageKind, stages};
use crate::text::WordsParams;
use crate::{Result, Run};

/// Below this many documents everything is quick, and a sample would tell nothing.
const WORTH_SAMPLING: usize = 1500;
/// The share of the documents in a sample.
const SAMPLE: f64 = 0.1;
/// A fit with calibration, which the final model has and the folds have not, against one without.
const CALIBRATION: f64 = 2.0;

/// The candidates, the documents and the clock.
pub(super) struct Bench<'a> {
    documents: &'a [Document],
    labels: &'a Labels,
    folds: Vec<Split>,
    objective: Objective,
    recipes: Vec<Recipe>,
    corpora: Tokenised,
    /// Corpora of their own for the shared representations: their labels are hidden and shown again.
    whole: Vec<(WordsParams, Corpus)>,
    represented: Vec<(String, Represented)>,
    shares: bool,
    started: Instant,
    seconds: f64,
    run: Run,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        documents: &'a [Document],
        labels: &'a Labels,
        folds: Vec<Split>,
        recipes: &[Recipe],
        params: &RecommendParams,
        run: &Run,
    ) -> Result<Self> {
        let objective = Objective::of(labels);
        let labelled = labels.labelled_rows().len();
        Ok(Bench {
            documents,
            labels,
            folds,
            objective,
            recipes: recipes.iter().map(|recipe| objective.measured(recipe)).collect::<Result<_>>()?,
            corpora: Tokenised::default(),
            whole: Vec::new(),
            represented: Vec::new(),
            shares: labelled * 4 <= documents.len(),
            started: Instant::now(),
            seconds: params.budget.as_secs_f64(),
            run: run.quiet(),
        })
    }

    /// One fold on the shared representation of all texts.
    fn measure_shared(&mut self, candidate: usize, fold: usize) -> Result<f64> {
        let recipe = &self.recipes[candidate];
        let at = match self.whole.iter().position(|(words, _)| words == recipe.words()) {
            Some(at) => at,
            None => {
                let corpus = Corpus::read(self.documents.iter().cloned().map(Ok), recipe.words(), &self.run)?;
                self.whole.push((recipe.words().clone(), corpus));
                self.whole.len() - 1
            }
        };
        let corpus = &mut self.whole[at].1;
        let body = representation(recipe)?;
        let known = match self.represented.iter().position(|(known, _)| *known == body) {
            Some(known) => known,
            None => {
                self.represented.push((body, recipe.represent(corpus, &self.run)?));
                self.represented.len() - 1
            }
        };
        let split = &self.folds[fold];
        corpus.labels = self.labels.only(&split.train);
        let model = recipe.fit_classifier(&self.represented[known].1, corpus, &self.run)?;
        let x = model.represent(&corpus.tokens.select(&split.test)?, &self.run)?;
        let (outcome, _) = measure(&model, &x, &self.labels.select(&split.test), 0.0, &self.run)?;
        Ok(self.objective.value(&outcome))
    }
}

impl Referee for Bench<'_> {
    fn left(&self) -> f64 {
        self.seconds - self.started.elapsed().as_secs_f64()
    }

    fn sample(&mut self, candidate: usize) -> Result<Option<f64>> {
        if self.documents.len() < WORTH_SAMPLING {
            return Ok(None);
        }
        let recipe = &self.recipes[candidate];
        let (labelled, _) = hold_out(self.labels, SAMPLE, self.run.seed())?;
        let every = (1.0 / SAMPLE) as usize;
        let unlabelled = (0..self.labels.len()).filter(|&row| self.labels.of(row).is_none()).step_by(every);
        let mut rows: Vec<usize> = labelled.into_iter().chain(unlabelled).collect();
        rows.sort_unstable();
        let corpus = self.corpora.corpus(recipe, self.documents, &self.run)?.select(&rows)?;
        let started = Instant::now();
        recipe.fit(&corpus, &self.run)?;
        Ok(Some(started.elapsed().as_secs_f64()))
    }

    fn measure(&mut self, candidate: usize, fold: usize) -> Result<(f64, f64)> {
        self.run.check()?;
        let started = Instant::now();
        let figure = if self.shares && self.recipes[candidate].representation_needs_labels().is_none() {
            self.measure_shared(candidate, fold)?
        } else {
            let split = &self.folds[fold];
            let measured = self.corpora.measure(&self.recipes[candidate], self.documents, split, &[], &self.run)?;
            self.objective.value(&measured.0)
        };
        Ok((figure, started.elapsed().as_secs_f64()))
    }

    fn tested(&self, folds: usize) -> usize {
        self.folds.iter().take(folds).map(|fold| fold.test.len()).sum()
    }

    fn whole_fit(&self, fold: f64) -> f64 {
        let folds = self.folds.len() as f64;
        let calibration = if self.objective == Objective::Accuracy { CALIBRATION } else { 1.0 };
        fold * calibration * folds / (folds - 1.0).max(1.0)
    }
}

/// A recipe without its classifier, as text: what recipes that represent documents alike have in common.
fn representation(recipe: &Recipe) -> Result<String> {
    let mut expression = Expression::parse(&recipe.to_string())?;
    if let Expression::Pipe(parts) = &mut expression {
        let classifies = |part: &Expression| match part {
            Expression::Stage(call) => stages::find(&call.name).is_some_and(|info| info.kind == StageKind::Classify),
            _ => false,
        };
        parts.retain(|part| !classifies(part));
    }
    Ok(expression.to_string())
}
