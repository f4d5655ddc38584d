//! Running a protocol.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;

use super::looks::FirstDraw;
use super::topic_looks::{SensesFound, TopicsFound};
use super::{Claim, Draw, Figure, Protocol, Sprinkling};
use crate::corpus::{Document, Labels, hold_out};
use crate::experiment::at_once::at_once;
use crate::experiment::compare::{Outcome, Tokenised};
use crate::experiment::label_curve::{CurvePoint, LabelDraws, tuned_label_curves};
use crate::experiment::significance::{TTest, mean_and_deviation, paired_t_test};
use crate::experiment::splits::{Split, k_folds};
use crate::metrics::{ClassScore, Confusion, Evaluation};
use crate::project::{SprinklePoint, sprinkle_curve};
use crate::recipe::Recipe;
use crate::vectorize::Spread;
use crate::{Error, Result, Run};

/// Folds by which values are chosen when there is no development part.
const FOLDS: usize = 5;

/// Predictions that stand behind a choice: with fewer documents the folds are drawn again, at most this often. One round
/// of folds over a few hundred documents tells candidates apart that differ by three of them, which is chance.
const CHOOSING: usize = 3000;
const MOST_ROUNDS: usize = 2;

/// Values chosen for the names of a recipe.
pub type Chosen = BTreeMap<String, f64>;

/// What came out of a protocol.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Reproduction {
    /// How many documents take part in a run.
    pub documents: usize,
    /// Runs made.
    pub runs: usize,
    /// One point, or one for each value of the curve.
    pub points: Vec<Point>,
    /// The claims that are not tested point by point: between places of a curve, and about topics and sprinkling.
    pub claims: Vec<ClaimTest>,
    /// Confusion matrices summed over the runs, of the systems the protocol names.
    pub confusions: Vec<(String, Confusion)>,
    /// Precision and recall of each class, means over the runs, of the systems the protocol names.
    pub per_class: Vec<(String, Vec<ClassMeans>)>,
    /// Intra-topic variability of the training documents, the paper's Q: topic, before and after, means over the runs.
    pub variability: Vec<(String, f64, f64)>,
    /// The analysis of plain sprinkling, means over the runs.
    pub sprinkling: Vec<SprinklePoint>,
    /// How the values of the training documents are spread before small ones are made zero, and what is left, in the first run.
    pub spread: Option<Spread>,
    /// What words bring to mind: the word and the terms reconstructed of it, largest first; none of a word that is not in the
    /// training part.
    pub reconstruction: Vec<(String, Vec<String>)>,
    /// The topics of the models the protocol names.
    pub topics: Vec<TopicsFound>,
    /// The senses of the words the protocol names.
    pub senses: Vec<SensesFound>,
}

/// A class with its precision and recall, means over runs.
#[derive(Debug, Clone, Serialize)]
pub struct ClassMeans {
    /// The class.
    pub class: String,
    /// Share of the documents given this class that have it.
    pub precision: f64,
    /// Share of the documents of this class that are given it.
    pub recall: f64,
}

/// The systems at one point of the curve.
#[derive(Debug, Clone, Serialize)]
pub struct Point {
    /// Where on the curve.
    pub at: Option<f64>,
    /// For each system and each figure of the protocol, the values of the runs.
    pub values: Vec<BTreeMap<Figure, Vec<f64>>>,
    /// For each system, what was chosen in each run.
    pub chosen: Vec<Vec<Chosen>>,
    /// The claims that are tested at every point, in the protocol's order.
    pub claims: Vec<ClaimTest>,
}

/// A claim put to the test.
#[derive(Debug, Clone, Serialize)]
pub struct ClaimTest {
    /// What is claimed.
    #[serde(flatten)]
    pub claim: Claim,
    /// The better system's figure minus the other's; `None` with fewer than two runs.
    pub test: Option<TTest>,
    /// Whether the claim holds: better with p < 0.05, or not worse with p < 0.05 when equality is enough.
    pub holds: bool,
}

impl Reproduction {
    /// How many of the claims hold, and how many there are.
    pub fn claims_held(&self) -> (usize, usize) {
        let claims = || self.points.iter().flat_map(|point| &point.claims).chain(&self.claims);
        (claims().filter(|claim| claim.holds).count(), claims().count())
    }

    /// How many of the claims could be tested: none with one draw.
    pub fn claims_tested(&self) -> usize {
        let claims = self.points.iter().flat_map(|point| &point.claims).chain(&self.claims);
        claims.filter(|claim| claim.test.is_some()).count()
    }
}

impl Point {
    /// A point before anything is known of so many systems.
    fn empty(at: Option<f64>, systems: usize) -> Self {
        Point { at, values: vec![BTreeMap::new(); systems], chosen: vec![Vec::new(); systems], claims: Vec::new() }
    }

    /// Mean and standard deviation of a figure of a system; one run has no deviation (NaN).
    pub fn spread(&self, system: usize, figure: Figure) -> (f64, f64) {
        let values = self.values[system].get(&figure).map_or(&[][..], Vec::as_slice);
        match values {
            [only] => (*only, f64::NAN),
            values => mean_and_deviation(values).unwrap_or((f64::NAN, f64::NAN)),
        }
    }
}

/// What draws are made of.
struct Drawn<'a> {
    documents: &'a [Document],
    /// How many of them are those of the first selection.
    learnt: usize,
    labels: Labels,
    /// The values of the curve, or one that stands for none.
    places: &'a [Option<f64>],
}

/// What every system did in one run.
struct DrawDone {
    /// How many documents were drawn.
    documents: usize,
    /// By the number of the system, one for each value of the curve.
    systems: Vec<(usize, Vec<Done>)>,
    sprinkling: Option<Vec<SprinklePoint>>,
    variability: Option<Vec<(String, f64, f64)>>,
}

/// What one system did in one run.
#[derive(Clone)]
struct Done {
    figures: BTreeMap<Figure, f64>,
    chosen: Chosen,
    confusion: Option<Confusion>,
    per_class: Vec<ClassScore>,
}

impl Protocol {
    /// Runs every system on every draw; `runs` instead of the protocol's own when given.
    /// The first `learnt` documents are those of the first of [`Protocol::selections`].
    pub fn run(&self, documents: &[Document], learnt: usize, runs: Option<usize>, run: &Run) -> Result<Reproduction> {
        let runs = runs.unwrap_or(self.runs);
        // Times are told of work that this protocol did itself.
        let run = &if self.is_timed() { run.sharing() } else { run.keep_sharing() };
        let (documents, learnt) = self.taking_part(documents, learnt)?;
        let documents = documents.as_slice();
        let mut result = match self.draws_labels() {
            true => self.run_labels(documents, learnt, runs, run)?,
            false => self.run_draws(documents, learnt, runs, run)?,
        };
        let started = Instant::now();
        let first = FirstDraw { documents, draw: self.draw(documents, learnt, 0, run.seed())? };
        if let Some(asked) = &self.reconstruction {
            result.reconstruction = first.reconstruction(asked, run)?;
        }
        if let Some(asked) = &self.topics {
            result.topics = first.topics(asked, runs, run)?;
            let umass = |name: &str, _| {
                let found = result.topics.iter().find(|found| found.name == name);
                Ok(found.map_or_else(Vec::new, |found| found.coherence.iter().map(|both| both.0).collect()))
            };
            let about = self.claims.iter().filter(|claim| claim.by == Figure::Umass);
            let tested = about.map(|claim| test(claim, umass)).collect::<Result<Vec<_>>>()?;
            result.claims.extend(tested);
        }
        if let Some(asked) = &self.senses {
            result.senses = first.senses(asked, run)?;
        }
        if let Some(recipe) = &self.spread {
            result.spread = first.spread(&Recipe::parse(recipe)?, run)?;
        }
        run.add_seconds("reproduce", started.elapsed().as_secs_f64());
        Ok(result)
    }

    fn run_draws(&self, documents: &[Document], learnt: usize, runs: usize, run: &Run) -> Result<Reproduction> {
        let places: Vec<Option<f64>> = match &self.along {
            Some(along) => along.values.iter().copied().map(Some).collect(),
            None => vec![None],
        };
        let mut points: Vec<Point> = places.iter().map(|&at| Point::empty(at, self.systems.len())).collect();
        let mut confusions: Vec<Option<Confusion>> = vec![None; self.systems.len()];
        let mut scores: Vec<Vec<Vec<ClassScore>>> = vec![Vec::new(); self.systems.len()];
        let (mut sprinkling, mut variability) = (Vec::new(), Vec::new());
        let mut drawn = 0;
        let ours = || self.systems.iter().filter(|system| system.recipe.is_some());
        let moving = ours().filter(|system| !self.is_constant(system)).count();
        let steps = runs * (ours().count() + moving * (places.len() - 1));
        let draws = run.watch("reproduce", Some(steps as u64), || {
            let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
            self.each_draw(&Drawn { documents, learnt, labels, places: &places }, runs, run)
        })?;
        for draw in draws {
            drawn = draw.documents;
            for (index, done) in draw.systems {
                for (point, done) in points.iter_mut().zip(&done) {
                    for (&figure, &value) in &done.figures {
                        point.values[index].entry(figure).or_default().push(value);
                    }
                    if !done.chosen.is_empty() {
                        point.chosen[index].push(done.chosen.clone());
                    }
                }
                if let Some(done) = done.into_iter().last() {
                    if let Some(confusion) = done.confusion {
                        add(&mut confusions[index], confusion);
                    }
                    scores[index].push(done.per_class);
                }
            }
            sprinkling.extend(draw.sprinkling);
            variability.extend(draw.variability);
        }
        let mut claims = self.test_all(&mut points)?;
        for claim in self.claims.iter().filter(|claim| claim.by.is_of_sprinkling()) {
            claims.push(test(claim, |_, at| Ok(sprinkled(&sprinkling, claim.by, at)))?);
        }
        let shown = self.confusions.iter().map(|name| Ok((name.clone(), confusions[self.number(name)?].take())));
        let shown = shown.collect::<Result<Vec<_>>>()?;
        Ok(Reproduction {
            documents: drawn,
            runs,
            points,
            claims,
            confusions: shown.into_iter().filter_map(|(name, confusion)| Some((name, confusion?))).collect(),
            per_class: self
                .per_class
                .iter()
                .map(|by_class| Ok((by_class.system.clone(), class_means(&scores[self.number(&by_class.system)?]))))
                .collect::<Result<_>>()?,
            sprinkling: means(&sprinkling),
            variability: variability_means(&variability),
            ..Reproduction::default()
        })
    }

    /// Every draw in its order, several at once. Where times are asked for they are made one after another.
    fn each_draw(&self, from: &Drawn<'_>, runs: usize, run: &Run) -> Result<Vec<DrawDone>> {
        let several = self.at_once(run).min(runs) > 1;
        at_once(runs, self.at_once(run), Tokenised::default, |number, corpora| {
            // Stages of several draws would show through one another.
            let inner = if several { run.quiet() } else { run.clone() };
            let inner = inner.with_seed(run.seed().wrapping_add(number as u64));
            let inner = if self.is_timed() { inner.sharing() } else { inner };
            self.one_draw(from, number as u64, corpora, [run, &inner])
        })
    }

    /// How many draws are made at the same time.
    fn at_once(&self, run: &Run) -> usize {
        if self.is_timed() { 1 } else { run.threads() }
    }

    fn is_timed(&self) -> bool {
        self.figures.iter().any(|figure| figure.is_time())
    }

    /// Every system on one draw; the first run is told of progress, the second does the work.
    fn one_draw(
        &self,
        from: &Drawn<'_>,
        number: u64,
        corpora: &mut Tokenised,
        [watched, run]: [&Run; 2],
    ) -> Result<DrawDone> {
        let Drawn { documents, learnt, ref labels, places } = *from;
        let draw = self.draw(documents, learnt, number, watched.seed())?;
        let mut systems = Vec::new();
        for (index, system) in self.systems.iter().enumerate() {
            let Some(recipe) = &system.recipe else { continue };
            let mut done: Vec<Done> = Vec::new();
            for &at in places {
                match done.last() {
                    Some(before) if self.is_constant(system) => done.push(before.clone()),
                    _ => {
                        let candidates = self.candidates(recipe, at);
                        done.push(self.one(&candidates, documents, labels, &draw, corpora, run)?);
                        watched.advance(1);
                    }
                }
            }
            systems.push((index, done));
        }
        let asked = self.sprinkling.as_ref();
        let sprinkling = asked.map(|asked| analyse(asked, documents, &draw, corpora, run)).transpose()?;
        let variability = match &self.variability {
            Some(recipe) => Some(corpora.variability(&Recipe::parse(recipe)?, documents, &draw.train, run)?),
            None => None,
        };
        Ok(DrawDone { documents: draw.len(), systems, sprinkling, variability })
    }

    /// Draws of labels: representations are fitted once, on all texts of the training part.
    fn run_labels(&self, documents: &[Document], learnt: usize, runs: usize, run: &Run) -> Result<Reproduction> {
        let draw = self.draw(documents, learnt, 0, run.seed())?;
        let split = Split { train: draw.train.clone(), test: draw.test.clone() };
        // A number of labels beyond all there are stands for all.
        let count = |labels: usize| (labels < draw.train.len()).then_some(labels);
        let values = self.along.as_ref().map_or(&[][..], |along| &along.values);
        let curve: Vec<(Option<f64>, Vec<Option<usize>>)> = match (self.is_label_curve(), self.labels) {
            (true, _) => vec![(None, values.iter().map(|&value| count(value as usize)).collect())],
            (false, labels) => {
                let counts = vec![labels.and_then(count)];
                let places = values.iter().map(|&value| Some(value)).chain(values.is_empty().then_some(None));
                places.map(|at| (at, counts.clone())).collect()
            }
        };
        let validation = match self.validation {
            None => Vec::new(),
            Some(share) => {
                let labels = Labels::from_lists(split.train.iter().map(|&row| documents[row].labels.as_deref()));
                hold_out(&labels, 1.0 - share, run.seed())?.1
            }
        };
        let ours: Vec<usize> = (0..self.systems.len()).filter(|&index| self.systems[index].recipe.is_some()).collect();
        let mut points = Vec::new();
        for (at, counts) in curve {
            let of = |&index: &usize| self.candidates(self.systems[index].recipe.as_deref().unwrap_or_default(), at);
            let candidates: Vec<Vec<(String, Chosen)>> = ours.iter().map(of).collect();
            let parsed = |list: &Vec<(String, Chosen)>| list.iter().map(|(recipe, _)| Recipe::parse(recipe)).collect();
            let systems = candidates.iter().map(parsed).collect::<Result<Vec<Vec<Recipe>>>>()?;
            let (each_class, validation) = (self.each_class, validation.clone());
            let asked = LabelDraws { counts, draws: runs, each_class, validation, at_once: self.at_once(run) };
            let curves = tuned_label_curves(&systems, documents, &split, &asked, run)?;
            for place in 0..asked.counts.len() {
                let labels = curves.first().map(|curve| curve.points[place].labels as f64);
                let mut point = Point::empty(if self.is_label_curve() { labels } else { at }, self.systems.len());
                for ((&index, curve), candidates) in ours.iter().zip(&curves).zip(&candidates) {
                    let CurvePoint { draws, chosen, .. } = &curve.points[place];
                    for &figure in &self.figures {
                        let of = draws.iter().map(|outcome| figure.of_outcome(outcome, curve.represent_seconds));
                        point.values[index].insert(figure, of.collect());
                    }
                    point.chosen[index] = chosen.iter().map(|&number| candidates[number].1.clone()).collect();
                }
                points.push(point);
            }
        }
        let claims = self.test_all(&mut points)?;
        Ok(Reproduction { documents: draw.len(), runs, points, claims, ..Reproduction::default() })
    }

    /// Tests the claims about systems: at every point, and those between two points, which are given back.
    fn test_all(&self, points: &mut [Point]) -> Result<Vec<ClaimTest>> {
        let about = || self.claims.iter().filter(|claim| self.figures.contains(&claim.by));
        let values = |point: &Point, name: &str, by: Figure| -> Result<Vec<f64>> {
            Ok(point.values[self.number(name)?].get(&by).cloned().unwrap_or_default())
        };
        for point in points.iter_mut() {
            let here = about().filter(|claim| claim.at.is_none());
            let tested = here.map(|claim| test(claim, |name, _| values(point, name, claim.by)));
            point.claims = tested.collect::<Result<_>>()?;
        }
        let between = about().filter(|claim| claim.at.is_some()).map(|claim| {
            test(claim, |name, at| match points.iter().find(|point| point.at == at) {
                Some(point) => values(point, name, claim.by),
                None => Ok(Vec::new()),
            })
        });
        between.collect()
    }

    /// Chooses among the candidates without the test part, and tests the chosen one.
    fn one(
        &self,
        candidates: &[(String, Chosen)],
        documents: &[Document],
        labels: &Labels,
        draw: &Draw,
        corpora: &mut Tokenised,
        run: &Run,
    ) -> Result<Done> {
        let mut best = 0;
        if candidates.len() > 1 {
            let splits = tuning(labels, draw, if self.quick { 1 } else { MOST_ROUNDS }, run.seed())?;
            let sign = if self.figures[0].is_cost() { -1.0 } else { 1.0 };
            let (mut highest, mut failed) = (f64::NEG_INFINITY, None);
            for (number, (recipe, _)) in candidates.iter().enumerate() {
                match self.worth(&Recipe::parse(recipe)?, &splits, documents, draw, corpora, run) {
                    Ok(sum) if sign * sum > highest => (best, highest) = (number, sign * sum),
                    Ok(_) => {}
                    // A value that the data do not allow is not chosen.
                    Err(error @ Error::BadData { .. }) => failed = Some(error),
                    Err(error) => return Err(error),
                }
            }
            if let Some(error) = failed.filter(|_| highest == f64::NEG_INFINITY) {
                return Err(error);
            }
        }
        let (recipe, chosen) = &candidates[best];
        let split = Split { train: draw.train.clone(), test: draw.test.clone() };
        let (outcome, evaluation) =
            corpora.measure(&Recipe::parse(recipe)?, documents, &split, &draw.unlabelled, run)?;
        let figures = self.figures.iter().map(|&figure| (figure, figure.of(&evaluation, &outcome)));
        let (figures, chosen) = (figures.collect(), chosen.clone());
        Ok(Done { figures, chosen, confusion: evaluation.confusion, per_class: evaluation.per_class })
    }

    /// The first figure of a recipe, added up over splits that values are chosen by.
    fn worth(
        &self,
        recipe: &Recipe,
        splits: &[Split],
        documents: &[Document],
        draw: &Draw,
        corpora: &mut Tokenised,
        run: &Run,
    ) -> Result<f64> {
        let of = |evaluation: &Evaluation, outcome: &Outcome| self.figures[0].of(evaluation, outcome);
        if self.fixed_vectors && recipe.representation_needs_labels().is_none() {
            return corpora.on_fixed_vectors(recipe, documents, [&draw.train, &draw.unlabelled], splits, run, of);
        }
        let mut sum = 0.0;
        for split in splits {
            run.check()?;
            let (outcome, evaluation) = corpora.measure(recipe, documents, split, &draw.unlabelled, run)?;
            sum += of(&evaluation, &outcome);
        }
        Ok(sum)
    }
}

/// Puts a claim to the test; `values` gives the figures of the runs of a system at a place of the curve.
fn test(claim: &Claim, values: impl Fn(&str, Option<f64>) -> Result<Vec<f64>>) -> Result<ClaimTest> {
    let mut than = values(&claim.than, claim.than_at)?;
    than.iter_mut().for_each(|value| *value *= claim.times.unwrap_or(1.0));
    let test = paired_t_test(&values(&claim.better, claim.at)?, &than);
    let holds = test.is_some_and(|test| {
        let gain = if claim.by.is_cost() { -test.difference } else { test.difference };
        if claim.or_equal { gain >= 0.0 || test.p >= 0.05 } else { gain > 0.0 && test.p < 0.05 }
    });
    Ok(ClaimTest { claim: claim.clone(), test, holds })
}

/// A figure of the analysis of sprinkling with so many terms, run by run.
fn sprinkled(runs: &[Vec<SprinklePoint>], figure: Figure, terms: Option<f64>) -> Vec<f64> {
    let at = runs.iter().filter_map(|run| run.iter().find(|point| Some(point.terms as f64) == terms));
    at.map(|point| match figure {
        Figure::TermsWithinOverBetween => point.terms_within_over_between,
        _ => point.within_over_between,
    })
    .collect()
}

/// Splits that values are chosen by: the development part, or folds of the training part, in as many rounds as [`CHOOSING`] asks.
fn tuning(labels: &Labels, draw: &Draw, most_rounds: usize, seed: u64) -> Result<Vec<Split>> {
    if !draw.development.is_empty() {
        return Ok(vec![Split { train: draw.train.clone(), test: draw.development.clone() }]);
    }
    let rows = |part: &[usize]| part.iter().map(|&row| draw.train[row]).collect::<Vec<usize>>();
    let labels = labels.select(&draw.train);
    let rounds = (CHOOSING / labels.labelled_rows().len().max(1)).clamp(1, most_rounds) as u64;
    let mut splits = Vec::new();
    for round in 0..rounds {
        let folds = k_folds(&labels, FOLDS, seed.wrapping_add(round.wrapping_mul(0x9E37_79B9_7F4A_7C15)))?;
        splits.extend(folds.iter().map(|fold| Split { train: rows(&fold.train), test: rows(&fold.test) }));
    }
    Ok(splits)
}

/// Sums confusion matrices of the same classes; runs in which a class never occurs are lined up by name.
fn add(sum: &mut Option<Confusion>, other: Confusion) {
    let Some(sum) = sum else {
        *sum = Some(other);
        return;
    };
    let place = |sum: &Confusion, class: &String| sum.classes.iter().position(|known| known == class);
    for (from, row) in other.classes.iter().zip(&other.counts) {
        for (to, &count) in other.classes.iter().zip(row) {
            if let (Some(from), Some(to)) = (place(sum, from), place(sum, to)) {
                sum.counts[from][to] += count;
            }
        }
    }
}

fn analyse(
    asked: &Sprinkling,
    documents: &[Document],
    draw: &Draw,
    corpora: &mut Tokenised,
    run: &Run,
) -> Result<Vec<SprinklePoint>> {
    let recipe = Recipe::parse(&asked.recipe)?;
    let (x, labels) = corpora.represented(&recipe, documents, &draw.train, run)?;
    sprinkle_curve(&x, &labels, asked.rank, &asked.terms, &run.quiet())
}

/// Precision and recall class by class; a run in which a class does not occur does not count for it.
fn class_means(runs: &[Vec<ClassScore>]) -> Vec<ClassMeans> {
    let mut sums: BTreeMap<&str, (f64, f64, f64)> = BTreeMap::new();
    for score in runs.iter().flatten().filter(|score| score.support > 0) {
        let sum = sums.entry(&score.class).or_default();
        *sum = (sum.0 + score.precision, sum.1 + score.recall, sum.2 + 1.0);
    }
    let mean = |(class, (precision, recall, n)): (&str, (f64, f64, f64))| ClassMeans {
        class: class.to_string(),
        precision: precision / n,
        recall: recall / n,
    };
    sums.into_iter().map(mean).collect()
}

/// Means over the runs, topic by topic; a run in which a topic does not occur does not count for it.
fn variability_means(runs: &[Vec<(String, f64, f64)>]) -> Vec<(String, f64, f64)> {
    let mut sums: BTreeMap<&str, (f64, f64, f64)> = BTreeMap::new();
    for (topic, before, after) in runs.iter().flatten() {
        let sum = sums.entry(topic).or_default();
        *sum = (sum.0 + before, sum.1 + after, sum.2 + 1.0);
    }
    sums.into_iter().map(|(topic, (before, after, n))| (topic.to_string(), before / n, after / n)).collect()
}

fn means(curves: &[Vec<SprinklePoint>]) -> Vec<SprinklePoint> {
    let mean = |at: usize, of: fn(&SprinklePoint) -> f64| {
        curves.iter().filter_map(|curve| curve.get(at)).map(of).sum::<f64>() / curves.len() as f64
    };
    let terms = curves.first().map_or(&[][..], Vec::as_slice).iter().map(|point| point.terms).enumerate();
    let point = |(at, terms)| SprinklePoint {
        terms,
        within_over_between: mean(at, |point| point.within_over_between),
        terms_within_over_between: mean(at, |point| point.terms_within_over_between),
        mean_square_distortion: mean(at, |point| point.mean_square_distortion),
    };
    terms.map(point).collect()
}
