//! Measures candidates on documents.
//!
//! Every stage is fitted inside the fold. One exception saves most of the time where labels are few: when at most a
//! quarter of the documents is labelled, a representation that knows no labels is fitted once on all texts, those of the
//! fold among them but without their labels, and shared by all candidates and folds.

use std::time::{Duration, Instant};

use super::contest::{Referee, Sample, Standing};
use super::{FEW_FOR_A_CHOICE, RecommendParams, Setting};
use crate::corpus::{Document, Labels, hold_out};
use crate::experiment::compare::{Tokenised, measure};
use crate::experiment::objective::Objective;
use crate::experiment::splits::Split;
use crate::recipe::{Corpus, Recipe, Represented};
use crate::text::WordsParams;
use crate::{Error, Result, Run};

/// Below this many documents everything is quick, and a sample would tell nothing.
const WORTH_SAMPLING: usize = 1500;
/// The share of the documents in a sample.
const SAMPLE: f64 = 0.1;
/// Folds that tell the weights of a vote, each on two thirds of the documents, make a fit of it this many times those of its members.
const FITS_OF_VOTE: f64 = 3.0;
/// Members of a vote at most.
const MEMBERS: usize = 3;
/// Fewest labelled documents in a sample, as far as there are that many.
const FEWEST_SAMPLED: usize = 200;
/// A fit with calibration, which the final model has and the folds have not, against one without.
const CALIBRATION: f64 = 2.0;
/// The same for one that trains itself, which it does in every fold.
const CALIBRATION_OF_SELF_TRAINING: f64 = 4.0;

/// The share of the whole time by which a model may be reckoned to come late. Reckoning is rough, and the others may have used some of its
/// time; a comparison whose winner is not taken for the sake of seconds was for nothing.
const LATE: f64 = 0.25;

/// The longest time anything is waited for, a month.
const LONGEST: f64 = 2.6e6;

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
    represented: Vec<Shared>,
    shares: bool,
    /// Seconds of a fold of each candidate as if nobody had done part of its work before.
    alone: Vec<f64>,
    /// Whether whoever fits the model afterwards is handed what was shared.
    lends: bool,
    started: Instant,
    seconds: f64,
    run: Run,
}

/// A representation that several candidates share.
struct Shared {
    /// The recipe up to it.
    body: String,
    represented: Represented,
    /// Seconds it took to fit.
    seconds: f64,
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
            recipes: recipes.iter().map(|recipe| objective.measured(recipe)).collect(),
            corpora: Tokenised::described(&params.descriptions),
            whole: Vec::new(),
            represented: Vec::new(),
            shares: labelled * 4 <= documents.len(),
            alone: vec![0.0; recipes.len()],
            lends: run.is_sharing(),
            started: Instant::now(),
            seconds: params.budget.as_secs_f64(),
            // Many candidates begin alike.
            run: run.quiet().keep_sharing(),
        })
    }

    /// Whether a candidate is a vote.
    pub(super) fn is_vote(&self, candidate: usize) -> bool {
        self.recipes[candidate].is_vote()
    }

    /// Whether a candidate's representation is shared.
    fn is_shared(&self, candidate: usize) -> bool {
        self.shares && self.recipes[candidate].representation_needs_labels().is_none()
    }

    /// Where the representation of a candidate is, when it has been fitted.
    fn shared(&self, candidate: usize) -> Option<usize> {
        let body = self.recipes[candidate].representation().to_string();
        self.represented.iter().position(|shared| shared.body == body)
    }

    /// The corpus for a candidate's shared representation, by its number.
    fn whole_corpus(&mut self, candidate: usize) -> Result<usize> {
        let words = self.recipes[candidate].words();
        if let Some(at) = self.whole.iter().position(|(known, _)| known == words) {
            return Ok(at);
        }
        let mut corpus = Corpus::read(self.documents.iter().cloned().map(Ok), words, &self.run)?;
        corpus.labels = self.labels.clone();
        self.whole.push((words.clone(), corpus));
        Ok(self.whole.len() - 1)
    }

    /// What `work` gives within `most` seconds; `None` when it was stopped.
    fn within<T>(&mut self, most: f64, work: impl FnOnce(&mut Self, &Run) -> Result<T>) -> Result<Option<T>> {
        self.run.check()?;
        let run = self.run.until(Instant::now() + Duration::from_secs_f64(most.clamp(0.0, LONGEST)));
        match work(self, &run) {
            Ok(value) => Ok(Some(value)),
            // Stopped by the deadline, unless somebody stopped everything.
            Err(Error::Cancelled) => self.run.check().map(|()| None),
            Err(error) => Err(error),
        }
    }

    /// One fold on the shared representation of all texts.
    fn measure_shared(&mut self, candidate: usize, fold: usize, run: &Run) -> Result<f64> {
        let at = self.whole_corpus(candidate)?;
        let known = match self.shared(candidate) {
            Some(known) => known,
            None => {
                let recipe = &self.recipes[candidate];
                let started = Instant::now();
                // An earlier fold has hidden some of the labels, by whose number stages may set themselves.
                self.whole[at].1.labels = self.labels.clone();
                let represented = recipe.represent(&self.whole[at].1, run)?;
                let (body, seconds) = (recipe.representation().to_string(), started.elapsed().as_secs_f64());
                self.represented.push(Shared { body, represented, seconds });
                self.represented.len() - 1
            }
        };
        let (recipe, split, corpus) = (&self.recipes[candidate], &self.folds[fold], &mut self.whole[at].1);
        corpus.labels = self.labels.only(&split.train);
        let model = recipe.fit_classifier(&self.represented[known].represented, corpus, run)?;
        let x = model.represent(&corpus.tokens.select(&split.test)?, run)?;
        let (outcome, _) = measure(&model, &x, &self.labels.select(&split.test), 0.0, run)?;
        Ok(self.objective.value(&outcome))
    }

    /// About a tenth of the labelled rows and of the others; of few labels all, because a tenth of a few of each class is none.
    fn sample_rows(&self) -> Result<Vec<usize>> {
        let (mut labelled, _) = hold_out(self.labels, SAMPLE, self.run.seed())?;
        if labelled.len() < FEWEST_SAMPLED {
            labelled = self.labels.labelled_rows();
        }
        let every = (1.0 / SAMPLE) as usize;
        let unlabelled = (0..self.labels.len()).filter(|&row| self.labels.of(row).is_none()).step_by(every);
        let mut rows: Vec<usize> = labelled.into_iter().chain(unlabelled).collect();
        rows.sort_unstable();
        Ok(rows)
    }

    /// Seconds to fit a candidate on a sample.
    fn fit_sample(&mut self, candidate: usize, run: &Run) -> Result<f64> {
        let rows = self.sample_rows()?;
        let mut corpus = match self.is_shared(candidate) {
            true => {
                let at = self.whole_corpus(candidate)?;
                self.whole[at].1.select(&rows)?
            }
            false => self.corpora.corpus(&self.recipes[candidate], self.documents, run)?.select(&rows)?,
        };
        corpus.labels = self.labels.select(&rows);
        let (recipe, started) = (&self.recipes[candidate], Instant::now());
        let represented = recipe.represent(&corpus, run)?;
        // What others have paid for already costs nothing.
        let started =
            if self.is_shared(candidate) && self.shared(candidate).is_some() { Instant::now() } else { started };
        recipe.fit_classifier(&represented, &corpus, run)?;
        Ok(started.elapsed().as_secs_f64())
    }
}

impl Referee for Bench<'_> {
    fn left(&self) -> f64 {
        self.seconds - self.started.elapsed().as_secs_f64()
    }

    fn sample(&mut self, candidate: usize, most: f64) -> Result<Sample> {
        if self.documents.len() < WORTH_SAMPLING {
            return Ok(Sample::NotWorth);
        }
        let took = self.within(most, |bench, run| bench.fit_sample(candidate, run))?;
        Ok(took.map_or(Sample::TooLong, Sample::Took))
    }

    fn measure(&mut self, candidate: usize, fold: usize, most: f64) -> Result<Option<(f64, f64)>> {
        let (started, known, saved) = (Instant::now(), self.represented.len(), self.run.saved_seconds());
        let figure = self.within(most, |bench, run| match bench.is_shared(candidate) {
            true => bench.measure_shared(candidate, fold, run),
            false => {
                let (recipe, split) = (&bench.recipes[candidate], &bench.folds[fold]);
                let (outcome, _) = bench.corpora.measure(recipe, bench.documents, split, &[], run)?;
                Ok(bench.objective.value(&outcome))
            }
        })?;
        // The next fold will not fit the shared representation again, and `whole_fit` counts it on its own.
        let shared: f64 = self.represented[known..].iter().map(|shared| shared.seconds).sum();
        let seconds = (started.elapsed().as_secs_f64() - shared).max(0.0);
        self.alone[candidate] =
            seconds + if self.is_shared(candidate) { 0.0 } else { self.run.saved_seconds() - saved };
        Ok(figure.map(|figure| (figure, seconds)))
    }

    fn tested(&self, folds: usize) -> usize {
        // In a second round the same documents are tested again.
        let tested: usize = self.folds.iter().take(folds).map(|fold| fold.test.len()).sum();
        tested.min(self.labels.labelled_rows().len())
    }

    fn few(&self) -> bool {
        let labelled = self.labels.labelled_rows().len();
        Setting::of(labelled, self.labels.len() - labelled) == Setting::FewLabels && labelled < FEW_FOR_A_CHOICE
    }

    fn spares(&self, candidate: usize, folds: usize) -> bool {
        self.few() && self.is_vote(candidate) && self.tested(folds) < self.labels.labelled_rows().len()
    }

    /// Votes of the best two and three of which none has all that another has side by side (two that differ by a cost or by one part decide
    /// alike, and a vote of them takes the time of one that could tell more), also some whose members teach each other where most documents
    /// have no label. None where labels are few: which candidates are the best is not known then, and there is a vote among them.
    fn newcomers(&mut self, standings: &[Standing], best: &[usize]) -> Result<Vec<(String, f64)>> {
        if self.few() {
            return Ok(Vec::new());
        }
        let mut members: Vec<usize> = Vec::new();
        for &candidate in best {
            let own = &self.recipes[candidate];
            let tells_nothing_new = |known: &usize| {
                let known = &self.recipes[*known];
                own.is_part_of(known) || known.is_part_of(own)
            };
            if members.len() < MEMBERS && !own.is_vote() && !members.iter().any(tells_nothing_new) {
                members.push(candidate);
            }
        }
        let mut votes = Vec::new();
        for count in 2..=members.len() {
            let members = &members[..count];
            let texts: Vec<&str> = members.iter().map(|&member| standings[member].recipe.as_str()).collect();
            let seconds: f64 = members.iter().filter_map(|&member| standings[member].fold_seconds).sum();
            votes.push((format!("vote({})", texts.join("; ")), FITS_OF_VOTE * seconds));
            if self.shares && self.objective == Objective::Accuracy {
                votes
                    .push((format!("vote({}; self_training=aligned)", texts.join("; ")), 2.0 * FITS_OF_VOTE * seconds));
            }
        }
        let recipes = votes.iter().map(|(text, _)| Recipe::parse(text)).collect::<Result<Vec<_>>>()?;
        for (recipe, (text, _)) in recipes.iter().zip(&mut votes) {
            *text = recipe.to_string();
            self.recipes.push(self.objective.measured(recipe));
            self.alone.push(0.0);
        }
        Ok(votes)
    }

    fn whole_fit(&self, candidate: usize, fold: f64) -> f64 {
        let folds = self.folds.len() as f64;
        let calibration = match self.objective {
            Objective::Accuracy if self.recipes[candidate].self_trains() => CALIBRATION_OF_SELF_TRAINING,
            Objective::Accuracy => CALIBRATION,
            Objective::MicroF1 => 1.0,
        };
        // Folds on a shared representation have not paid for it; the model will, unless it is handed on.
        let shared = self.shared(candidate).filter(|_| !self.lends);
        let shared = shared.map_or(0.0, |known| self.represented[known].seconds);
        shared + fold.max(self.alone[candidate]) * calibration * folds / (folds - 1.0).max(1.0)
    }

    fn in_time(&self, candidate: usize, fold: f64) -> bool {
        self.whole_fit(candidate, fold) <= self.left() + LATE * self.seconds
    }
}
