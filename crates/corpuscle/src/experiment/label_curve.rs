//! How recipes do with few labels: the labels of all but a drawn subset of the training part are hidden.
//!
//! Representations are fitted on the whole training part, as they may be when labels and not documents are scarce, and
//! classifiers on the labels that are left. A representation that knows no labels is fitted once for all draws, which is
//! what makes a curve cheap; one that does (`ig`, `sprinkle`, `dcot(noise=auto)`) is fitted anew in every draw, on the
//! labels of that draw alone.
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

use rand::seq::SliceRandom;
use serde::Serialize;

use super::compare::{Outcome, Tokenised, measure, timed};
use super::significance::mean_and_deviation;
use super::splits::Split;
use crate::corpus::{Document, Labels};
use crate::recipe::Recipe;
use crate::{Error, Result, Run};

/// What a recipe does as its labels grow in number.
#[derive(Debug, Clone, Serialize)]
pub struct LabelCurve {
    /// The recipe.
    pub recipe: String,
    /// Seconds to fit the representation once; 0 when it is fitted in every draw.
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

/// `count` of the labelled rows, drawn at random, ascending. Every class keeps at least one document when `count`
/// allows; more labelled rows than there are give all of them.
pub fn draw_labels(labels: &Labels, count: usize, draw: u64, run: &Run) -> Vec<usize> {
    let mut order = labels.labelled_rows();
    order.shuffle(&mut run.rng(draw));
    let mut seen = vec![false; labels.n_classes()];
    // Documents that bring a class not yet seen go first; both parts keep the order of the shuffle.
    let (mut first, rest): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|&row| {
        let classes = labels.of(row).unwrap_or(&[]);
        let new = classes.iter().any(|&class| !seen[class as usize]);
        classes.iter().for_each(|&class| seen[class as usize] = true);
        new
    });
    first.extend(rest);
    first.truncate(count);
    first.sort_unstable();
    first
}

/// Every recipe on one split, with `counts` labels left (`None`: all), each drawn `draws` times. All recipes see the
/// same draws.
pub fn label_curves(
    recipes: &[Recipe],
    documents: &[Document],
    split: &Split,
    counts: &[Option<usize>],
    draws: usize,
    run: &Run,
) -> Result<Vec<LabelCurve>> {
    if recipes.is_empty() || counts.is_empty() || draws == 0 {
        return Err(Error::data("a label curve needs at least one recipe, one number of labels and one draw"));
    }
    let all = split.train.iter().filter(|&&row| documents[row].labels.is_some()).count();
    // As many labels as there are leave nothing to draw.
    let drawn = |count: usize| if count >= all { 1 } else { draws };
    let counts: Vec<usize> = counts.iter().map(|count| count.unwrap_or(all).min(all)).collect();
    let steps = recipes.len() * counts.iter().map(|&count| drawn(count)).sum::<usize>();
    let mut corpora = Tokenised::default();
    run.watch("compare", Some(steps as u64), || {
        let quiet = run.quiet().sharing();
        let mut curves = Vec::with_capacity(recipes.len());
        for recipe in recipes {
            let corpus = corpora.corpus(recipe, documents, &quiet)?;
            let mut train = corpus.select(&split.train)?;
            let test = corpus.select(&split.test)?;
            let labels = train.labels.clone();
            let (shared, represent_seconds) = match recipe.representation_needs_labels() {
                None => {
                    let (shared, seconds) = timed(&quiet, || recipe.represent(&train, &quiet))?;
                    (Some(shared), seconds)
                }
                Some(_) => (None, 0.0),
            };
            let mut x = None;
            let mut points = Vec::with_capacity(counts.len());
            for &count in &counts {
                let mut outcomes = Vec::with_capacity(draws);
                for draw in 0..drawn(count) {
                    run.check()?;
                    train.labels = labels.only(&draw_labels(&labels, count, draw as u64, &quiet));
                    let (model, seconds) = timed(&quiet, || match &shared {
                        Some(represented) => recipe.fit_classifier(represented, &train, &quiet),
                        None => recipe.fit(&train, &quiet),
                    })?;
                    if x.is_none() || shared.is_none() {
                        x = Some(model.represent(&test.tokens, &quiet)?);
                    }
                    if let Some(x) = &x {
                        outcomes.push(measure(&model, x, &test.labels, seconds, &quiet)?.0);
                    }
                    run.advance(1);
                }
                points.push(CurvePoint { labels: count, draws: outcomes });
            }
            curves.push(LabelCurve { recipe: recipe.to_string(), represent_seconds, points });
        }
        Ok(curves)
    })
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
            let rows = draw_labels(&labels, 10, draw, &run);
            assert_eq!(rows.len(), 10);
            assert!(labels.select(&rows).class_counts().iter().all(|&count| count > 0));
            assert_eq!(rows, draw_labels(&labels, 10, draw, &run));
        }
        assert_ne!(draw_labels(&labels, 10, 0, &run), draw_labels(&labels, 10, 1, &run));
        assert_eq!(draw_labels(&labels, 2, 0, &run).len(), 2);
        assert_eq!(draw_labels(&labels, 999, 0, &run).len(), 200);
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
        let kept: Vec<usize> = draw_labels(&train, 30, 1, &run).iter().map(|&row| split.train[row]).collect();
        split.train.iter().filter(|row| !kept.contains(row)).for_each(|&row| hidden[row].labels = None);
        let whole = crate::experiment::compare(&[recipe], &hidden, &[split], &run).unwrap();
        assert_eq!(whole.recipes[0].splits[0].accuracy, curves[0].points[0].draws[1].accuracy);
    }
}
