//! How recipes do with few labels: the labels of all but a drawn subset of the training part are hidden.
//!
//! Representations are fitted on the whole training part, as they may be when labels and not documents are scarce, and
//! classifiers on the labels that are left. A representation that knows no labels is fitted once for all draws, which is
//! what makes a curve cheap; one that does (`ig`, `sprinkle`, `dcot(noise=auto)`) is fitted anew in every draw, on the
//! labels of that draw alone. Where a system is one of several candidates, every draw takes the one that does best on rows set
//! aside for that ([`tuned_label_curves`]). Labels need not come by chance: [`active_label_curves`] has them asked for document by
//! document as [`Suggester`](super::Suggester) suggests.
//!
//! ```
//! use corpuscle::{Run, corpus, experiment::{random_splits, label_curves}, recipe::Recipe};
//! let run = Run::new(42, 0)?;
//! let documents = corpus::demo()?.train;
//! let labels = corpus::Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
//! let split = random_splits(&labels, 1, 0.7, 42)?.remove(0);
//! let recipes = [Recipe::parse("tfidf | svm(calibrate=0)")?];
//! let curves = label_curves(&recipes, &documents, &split, &[Some(20), None], 2, &run)?;
//! assert!(curves[0].points[1].accuracy().0 > curves[0].points[0].accuracy().0);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use std::sync::{Arc, Mutex, PoisonError};

use rand::seq::SliceRandom;
use serde::Serialize;

use super::at_once::at_once;
use super::compare::{Outcome, Tokenised, measure, timed};
use super::significance::mean_and_deviation;
use super::splits::Split;
use super::suggest::SuggestParams;
use crate::corpus::{Document, Labels};
use crate::matrix::Matrix;
use crate::recipe::{Corpus, Model, Recipe};
use crate::text::Tokens;
use crate::{Error, Result, Run};

/// What a recipe does as its labels grow in number.
#[derive(Debug, Clone, Serialize)]
pub struct LabelCurve {
    /// The recipe.
    pub recipe: String,
    /// Seconds to fit the representation once, the slowest of several candidates; 0 when it is fitted in every draw.
    pub represent_seconds: f64,
    /// One point per number of labels.
    pub points: Vec<CurvePoint>,
}

/// What a recipe does with one number of labels.
#[derive(Debug, Clone, Serialize)]
pub struct CurvePoint {
    /// How many labels were left.
    pub labels: usize,
    /// One outcome per draw; all labels leave one draw only.
    pub draws: Vec<Outcome>,
    /// Which of several candidates each draw's outcome is of; empty where there was nothing to choose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<usize>,
}

impl CurvePoint {
    /// Mean and standard deviation of the accuracy over the draws.
    pub fn accuracy(&self) -> (f64, f64) {
        self.spread(|outcome| outcome.accuracy)
    }

    /// Mean and standard deviation of any figure over the draws.
    pub fn spread(&self, figure: impl Fn(&Outcome) -> f64) -> (f64, f64) {
        let values: Vec<f64> = self.draws.iter().map(figure).collect();
        mean_and_deviation(&values).unwrap_or((f64::NAN, f64::NAN))
    }
}

/// How the labels of a curve are drawn, and what values are chosen on.
#[derive(Debug, Clone)]
pub struct LabelDraws {
    /// Numbers of labels left; `None` for all.
    pub counts: Vec<Option<usize>>,
    /// Draws of each number.
    pub draws: usize,
    /// Whether every class keeps at least one label, as far as their number allows; otherwise chance decides.
    pub each_class: bool,
    /// Rows of the training part, by their place in it, whose labels are never learnt from and only say which of several
    /// candidates is taken; needed where there are several. With all labels left, the one taken learns from these too.
    pub validation: Vec<usize>,
    /// How many draws are fitted at the same time, each by its share of the threads. More than one makes the times of fitting
    /// meaningless, and must not be asked for from within the run's own workers.
    pub at_once: usize,
}

/// `count` of the labelled rows, drawn at random, ascending. With `each_class` every class keeps at least one document when
/// `count` allows; more labelled rows than there are give all of them.
pub fn draw_labels(labels: &Labels, count: usize, each_class: bool, draw: u64, run: &Run) -> Vec<usize> {
    let mut order = labels.labelled_rows();
    order.shuffle(&mut run.rng(draw));
    if each_class {
        let mut seen = vec![false; labels.n_classes()];
        // Documents that bring a class not yet seen go first; both parts keep the order of the shuffle.
        let (mut first, rest): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|&row| {
            let classes = labels.of(row).unwrap_or(&[]);
            let new = classes.iter().any(|&class| !seen[class as usize]);
            classes.iter().for_each(|&class| seen[class as usize] = true);
            new
        });
        first.extend(rest);
        order = first;
    }
    order.truncate(count);
    order.sort_unstable();
    order
}

/// Every recipe on one split, with `counts` labels left (`None`: all), each drawn `draws` times, at least one of each class.
/// All recipes see the same draws.
pub fn label_curves(
    recipes: &[Recipe],
    documents: &[Document],
    split: &Split,
    counts: &[Option<usize>],
    draws: usize,
    run: &Run,
) -> Result<Vec<LabelCurve>> {
    let systems: Vec<Vec<Recipe>> = recipes.iter().map(|recipe| vec![recipe.clone()]).collect();
    let asked = LabelDraws { counts: counts.to_vec(), draws, each_class: true, validation: Vec::new(), at_once: 1 };
    tuned_label_curves(&systems, documents, split, &asked, run)
}

/// Like [`label_curves`], but a system is a list of candidates, of which every draw takes the one that decides most of the
/// validation rows right, the first of equals.
pub fn tuned_label_curves(
    systems: &[Vec<Recipe>],
    documents: &[Document],
    split: &Split,
    asked: &LabelDraws,
    run: &Run,
) -> Result<Vec<LabelCurve>> {
    let LabelDraws { counts, draws, validation, .. } = asked;
    if systems.is_empty() || systems.iter().any(Vec::is_empty) || counts.is_empty() || *draws == 0 {
        return Err(Error::data("a label curve needs at least one recipe, one number of labels and one draw"));
    }
    if validation.is_empty() && systems.iter().any(|candidates| candidates.len() > 1) {
        return Err(Error::data("to choose among recipes a label curve needs rows to validate on"));
    }
    let all = split.train.iter().filter(|&&row| documents[row].labels.is_some()).count();
    let counts: Vec<usize> = counts.iter().map(|count| count.unwrap_or(all).min(all)).collect();
    let mut corpora = Tokenised::default();
    let first = &systems[0][0];
    let labels = corpora.corpus(first, documents, &run.quiet())?.labels.select(&split.train);
    let kept = random_rows(&labels, &counts, asked, run);
    let kept = Kept { rows: &kept, counts: &counts, validation, at_once: asked.at_once };
    curves_of(systems, documents, split, &kept, &mut corpora, run)
}

/// Like [`label_curves`], but the labels are those of documents that are suggested ([`Suggester`](super::Suggester)): the labelled
/// set grows by `batch` documents at a time, each batch suggested with the labels before it, and a point of the curve is
/// what there is at that number. All recipes see the same documents. A draw differs from another in the seed that clusters.
pub fn active_label_curves(
    recipes: &[Recipe],
    documents: &[Document],
    split: &Split,
    asked: &LabelDraws,
    batch: usize,
    run: &Run,
) -> Result<Vec<LabelCurve>> {
    if recipes.is_empty() || asked.counts.is_empty() || asked.draws == 0 || batch == 0 {
        return Err(Error::data(
            "a label curve needs at least one recipe, one number of labels, one draw and documents in a batch",
        ));
    }
    let all = split.train.iter().filter(|&&row| documents[row].labels.is_some()).count();
    let counts: Vec<usize> = asked.counts.iter().map(|count| count.unwrap_or(all).min(all)).collect();
    let mut corpora = Tokenised::default();
    // Words as they are: which documents are worth a label does not depend on the recipes.
    let plain = Recipe::parse("tfidf")?;
    let train = corpora.corpus(&plain, documents, &run.quiet())?.select(&split.train)?;
    let kept = suggested_rows(&train, &counts, asked.draws, batch, run)?;
    drop(train);
    let systems: Vec<Vec<Recipe>> = recipes.iter().map(|recipe| vec![recipe.clone()]).collect();
    let kept = Kept { rows: &kept, counts: &counts, validation: &[], at_once: asked.at_once };
    curves_of(&systems, documents, split, &kept, &mut corpora, run)
}

/// The labelled rows of every draw of every point.
struct Kept<'a> {
    rows: &'a [Vec<Vec<usize>>],
    counts: &'a [usize],
    validation: &'a [usize],
    at_once: usize,
}

/// Rows drawn by chance, none of those to validate on.
fn random_rows(labels: &Labels, counts: &[usize], asked: &LabelDraws, run: &Run) -> Vec<Vec<Vec<usize>>> {
    let all = labels.labelled_rows();
    let mut is_held = vec![false; labels.len()];
    asked.validation.iter().for_each(|&place| is_held[place] = true);
    let pool = labels.only(&all.iter().copied().filter(|&row| !is_held[row]).collect::<Vec<_>>());
    let draw = |count: usize, draw: usize| draw_labels(&pool, count, asked.each_class, draw as u64, run);
    let point = |&count: &usize| (0..drawn(count, all.len(), asked.draws)).map(|number| draw(count, number)).collect();
    counts.iter().map(point).collect()
}

/// Rows suggested batch by batch. Documents of the training part that have no label in the data cannot be asked about.
fn suggested_rows(
    train: &Corpus,
    counts: &[usize],
    draws: usize,
    batch: usize,
    run: &Run,
) -> Result<Vec<Vec<Vec<usize>>>> {
    let all = train.labels.labelled_rows();
    let pool = train.select(&all)?;
    let suggester = SuggestParams::default().prepare(&pool.tokens, run)?;
    let mut order: Vec<usize> = (0..counts.len()).filter(|&point| counts[point] < all.len()).collect();
    order.sort_by_key(|&point| counts[point]);
    let mut kept: Vec<Vec<Vec<usize>>> = vec![vec![all.clone()]; counts.len()];
    order.iter().for_each(|&point| kept[point].clear());
    for draw in 0..draws {
        let run = run.with_seed(run.seed().wrapping_add(draw as u64));
        let mut labelled: Vec<usize> = Vec::new();
        for &point in &order {
            while labelled.len() < counts[point] {
                run.check()?;
                let known = pool.labels.only(&labelled);
                let wanted = batch.min(counts[point] - labelled.len());
                let found = suggester.next(&known, None, wanted, &run)?;
                if found.is_empty() {
                    break;
                }
                labelled.extend(found.iter().map(|suggestion| suggestion.row));
            }
            let mut rows: Vec<usize> = labelled.iter().map(|&row| all[row]).collect();
            rows.sort_unstable();
            kept[point].push(rows);
        }
    }
    Ok(kept)
}

/// Every system on the rows given.
fn curves_of(
    systems: &[Vec<Recipe>],
    documents: &[Document],
    split: &Split,
    kept: &Kept<'_>,
    corpora: &mut Tokenised,
    run: &Run,
) -> Result<Vec<LabelCurve>> {
    let candidates: usize = systems.iter().map(Vec::len).sum();
    let steps = candidates * kept.rows.iter().map(Vec::len).sum::<usize>();
    run.watch("compare", Some(steps as u64), || {
        let sharing = run.keep_sharing();
        let mut curves = Vec::with_capacity(systems.len());
        for candidates in systems {
            let choosing = candidates.len() > 1;
            let mut best: Option<Candidate> = None;
            // One candidate after the other: no more than one representation is held.
            for (number, recipe) in candidates.iter().enumerate() {
                let corpus = corpora.corpus(recipe, documents, &sharing.quiet())?;
                let found = Candidate::measure((number, recipe), corpus, split, kept, choosing, &sharing)?;
                match &mut best {
                    None => best = Some(found),
                    Some(best) => best.take_better(found),
                }
            }
            curves.extend(best.map(|best| best.curve));
        }
        Ok(curves)
    })
}

/// Draws of so many of all labels: as many as there are leave nothing to draw.
fn drawn(count: usize, all: usize, draws: usize) -> usize {
    if count >= all { 1 } else { draws }
}

/// What one candidate does.
struct Candidate {
    curve: LabelCurve,
    /// Its accuracy on the validation rows in every draw of every point; empty where there is nothing to choose.
    right: Vec<Vec<f64>>,
}

impl Candidate {
    fn measure(
        (number, recipe): (usize, &Recipe),
        corpus: &Corpus,
        split: &Split,
        Kept { rows, counts, validation, at_once: several }: &Kept<'_>,
        choosing: bool,
        run: &Run,
    ) -> Result<Self> {
        let quiet = run.quiet();
        let train = corpus.select(&split.train)?;
        let test = corpus.select(&split.test)?;
        let held_rows: Vec<usize> = validation.iter().map(|&place| split.train[place]).collect();
        let held = if choosing { Some(corpus.select(&held_rows)?) } else { None };
        let labels = train.labels.clone();
        let all = labels.labelled_rows();
        let (shared, represent_seconds) = match recipe.representation_needs_labels() {
            None => {
                let (shared, seconds) = timed(&quiet, || recipe.represent(&train, &quiet))?;
                (Some(shared), seconds)
            }
            Some(_) => (None, 0.0),
        };
        let fit = |kept: &[usize], train: &mut Corpus| {
            train.labels = labels.only(kept);
            timed(&quiet, || match &shared {
                Some(represented) => recipe.fit_classifier(represented, train, &quiet),
                None => recipe.fit(train, &quiet),
            })
        };
        // What a shared representation makes of rows is the same in every draw.
        let (test_x, held_x) = (Mutex::new(None), Mutex::new(None));
        let represented = |x: &Mutex<Option<Arc<Matrix>>>, model: &Model, tokens: &Tokens| -> Result<Arc<Matrix>> {
            if shared.is_none() {
                return Ok(Arc::new(model.represent(tokens, &quiet)?));
            }
            // Held while it is worked out: who comes meanwhile waits and need not do it again.
            let mut x = x.lock().unwrap_or_else(PoisonError::into_inner);
            match &*x {
                Some(x) => Ok(Arc::clone(x)),
                None => Ok(Arc::clone(x.insert(Arc::new(model.represent(tokens, &quiet)?)))),
            }
        };
        // The outcome of a draw, and its accuracy on the validation rows where there is something to choose.
        let one = |count: usize, kept: &[usize], train: &mut Corpus| -> Result<(Outcome, Option<f64>)> {
            run.check()?;
            let (mut fitted, mut right) = (None, None);
            if let Some(held) = &held {
                let (model, seconds) = fit(kept, train)?;
                let x = represented(&held_x, &model, &held.tokens)?;
                right = Some(measure(&model, &x, &held.labels, 0.0, &quiet)?.0.accuracy);
                fitted = Some((model, seconds));
            }
            // With all labels left the validation rows are learnt from too.
            let (model, seconds) = match fitted.filter(|_| count < all.len() || kept.len() == all.len()) {
                Some(fitted) => fitted,
                None => fit(if count < all.len() { kept } else { &all }, train)?,
            };
            let x = represented(&test_x, &model, &test.tokens)?;
            let outcome = measure(&model, &x, &test.labels, seconds, &quiet)?.0;
            run.advance(1);
            Ok((outcome, right))
        };
        let draws = |(point, draws): (usize, &Vec<Vec<usize>>)| (0..draws.len()).map(move |draw| (point, draw));
        let jobs: Vec<(usize, usize)> = rows.iter().enumerate().flat_map(draws).collect();
        let done = at_once(
            jobs.len(),
            *several,
            || train.clone(),
            |job, train| {
                let (point, draw) = jobs[job];
                one(counts[point], &rows[point][draw], train)
            },
        )?;
        let point = |&labels: &usize| CurvePoint { labels, draws: Vec::new(), chosen: Vec::new() };
        let mut points: Vec<CurvePoint> = counts.iter().map(point).collect();
        let mut right: Vec<Vec<f64>> = vec![Vec::new(); counts.len()];
        for ((point, _), (outcome, accuracy)) in jobs.into_iter().zip(done) {
            points[point].draws.push(outcome);
            right[point].extend(accuracy);
            points[point].chosen.extend(accuracy.map(|_| number));
        }
        Ok(Candidate { curve: LabelCurve { recipe: recipe.to_string(), represent_seconds, points }, right })
    }

    /// Takes each draw of `other` that does better on the validation rows.
    fn take_better(&mut self, other: Candidate) {
        self.curve.represent_seconds = self.curve.represent_seconds.max(other.curve.represent_seconds);
        let own = self.curve.points.iter_mut().zip(&mut self.right);
        for ((own, most), (other, reached)) in own.zip(other.curve.points.into_iter().zip(other.right)) {
            for (draw, (outcome, chosen)) in other.draws.into_iter().zip(other.chosen).enumerate() {
                if reached[draw] > most[draw] {
                    (own.draws[draw], own.chosen[draw], most[draw]) = (outcome, chosen, reached[draw]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::demo;
    use crate::experiment::random_splits;

    #[test]
    fn draws_keep_every_class_and_repeat_with_the_seed() {
        let names: Vec<String> =
            (0..200).map(|row| if row < 195 { format!("c{}", row % 3) } else { "rare".into() }).collect();
        let labels = Labels::from_single(names.iter().map(Some));
        let run = Run::new(4, 1).unwrap();
        for draw in 0..5 {
            let rows = draw_labels(&labels, 10, true, draw, &run);
            assert_eq!(rows.len(), 10);
            assert!(labels.select(&rows).class_counts().iter().all(|&count| count > 0));
            assert_eq!(rows, draw_labels(&labels, 10, true, draw, &run));
        }
        assert_ne!(draw_labels(&labels, 10, true, 0, &run), draw_labels(&labels, 10, true, 1, &run));
        assert_eq!(draw_labels(&labels, 2, true, 0, &run).len(), 2);
        assert_eq!(draw_labels(&labels, 999, true, 0, &run).len(), 200);
    }

    #[test]
    fn a_shared_representation_gives_what_whole_fits_give() {
        let run = Run::new(42, 2).unwrap();
        let documents = demo().unwrap().train;
        let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
        let split = random_splits(&labels, 1, 0.7, 1).unwrap().remove(0);
        let recipe = Recipe::parse("tfidf | lsi(10) | svm(calibrate=0)").unwrap();
        let curves = label_curves(std::slice::from_ref(&recipe), &documents, &split, &[Some(30)], 2, &run).unwrap();
        let mut hidden = documents.clone();
        let train = labels.select(&split.train);
        let kept: Vec<usize> = draw_labels(&train, 30, true, 1, &run).iter().map(|&row| split.train[row]).collect();
        split.train.iter().filter(|row| !kept.contains(row)).for_each(|&row| hidden[row].labels = None);
        let whole = crate::experiment::compare(&[recipe], &hidden, &[split], &run).unwrap();
        assert_eq!(whole.recipes[0].splits[0].accuracy, curves[0].points[0].draws[1].accuracy);
    }

    #[test]
    fn chance_alone_may_leave_a_class_without_labels() {
        let names: Vec<String> =
            (0..200).map(|row| if row < 199 { "many".into() } else { "rare".to_string() }).collect();
        let labels = Labels::from_single(names.iter().map(Some));
        let run = Run::new(4, 1).unwrap();
        let with_rare = (0..40).filter(|&draw| draw_labels(&labels, 20, false, draw, &run).contains(&199)).count();
        assert!((1..15).contains(&with_rare), "{with_rare} of 40, expected about 4");
    }

    #[test]
    fn every_draw_takes_the_candidate_that_does_best_on_validation_rows() {
        let run = Run::new(42, 2).unwrap();
        let documents = demo().unwrap().train;
        let labels = Labels::from_lists(documents.iter().map(|document| document.labels.as_deref()));
        let split = random_splits(&labels, 1, 0.7, 1).unwrap().remove(0);
        let recipe = |rank: usize| Recipe::parse(&format!("tfidf | lsi({rank}) | svm(calibrate=0)")).unwrap();
        let asked = LabelDraws {
            counts: vec![Some(30), None],
            draws: 2,
            each_class: true,
            validation: (0..split.train.len()).step_by(4).collect(),
            at_once: 1,
        };
        let alone = |rank: usize| {
            tuned_label_curves(&[vec![recipe(rank)]], &documents, &split, &asked, &run).unwrap().remove(0)
        };
        // One direction cannot tell eight classes apart, wherever it stands in the list.
        let both = vec![recipe(1), recipe(30)];
        let several = LabelDraws { at_once: 3, ..asked.clone() };
        let tuned = tuned_label_curves(&[both], &documents, &split, &several, &run).unwrap().remove(0);
        let good = alone(30);
        for (tuned, good) in tuned.points.iter().zip(&good.points) {
            assert!(tuned.chosen.iter().all(|&chosen| chosen == 1));
            let accuracy = |point: &CurvePoint| point.draws.iter().map(|draw| draw.accuracy).collect::<Vec<_>>();
            assert_eq!(accuracy(tuned), accuracy(good));
        }
        // All labels are learnt from when all are left, those of the validation rows too.
        let plain = label_curves(&[recipe(30)], &documents, &split, &[None], 1, &run).unwrap();
        assert_eq!(plain[0].points[0].draws[0].accuracy, good.points[1].draws[0].accuracy);
        let none = LabelDraws { validation: Vec::new(), ..asked };
        assert!(tuned_label_curves(&[vec![recipe(1), recipe(2)]], &documents, &split, &none, &run).is_err());
    }
}
