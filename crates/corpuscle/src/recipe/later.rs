//! What a stage may ask of the rooms after its own: how well the classifier that follows does on held-out documents.

use std::fmt;
use std::sync::Arc;

use super::stage::Classifier;
use crate::classify::out_of_fold;
use crate::corpus::{Labels, blocks, folds, without};
use crate::matrix::{Dense, Matrix};
use crate::metrics::{Predictions, confusion};
use crate::{Error, Key, KeyWriter, Result, Run};

/// Takes a choice, the rows to fit on and the held-out rows to test on.
pub type Judge<'a> = dyn FnMut(usize, &Matrix, &Matrix) -> Result<()> + 'a;

/// The classifier at the end of the recipe, as the stages before it see it.
#[derive(Clone, Copy)]
pub struct Later<'a> {
    classifier: Option<&'a dyn Classifier>,
    weights: Option<&'a [f32]>,
    names: Option<Names<'a>>,
    /// The key of the matrix that goes into the stage, where equal work is shared.
    input: Option<Key>,
}

/// Gives the names of columns; asked only by the few stages that need them, because they are many.
type Names<'a> = &'a (dyn Fn() -> Vec<String> + Sync);

impl fmt::Debug for Later<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Later").field("classifier", &self.classifier).finish_non_exhaustive()
    }
}

/// [`Later`] for some of the documents, with weights of its own.
pub(super) struct Selected<'a> {
    classifier: Option<&'a dyn Classifier>,
    weights: Option<Vec<f32>>,
    names: Option<Names<'a>>,
}

impl Selected<'_> {
    pub(super) fn get(&self) -> Later<'_> {
        Later { classifier: self.classifier, weights: self.weights.as_deref(), names: self.names, input: None }
    }
}

impl<'a> Later<'a> {
    /// The classifier that follows, if any, and the weights of the documents.
    pub fn new(classifier: Option<&'a dyn Classifier>, weights: Option<&'a [f32]>) -> Self {
        Later { classifier, weights, names: None, input: None }
    }

    /// The same for a stage whose sparse columns stand for what `names` gives.
    #[must_use]
    pub fn with_names(self, names: &'a (dyn Fn() -> Vec<String> + Sync)) -> Self {
        Later { names: Some(names), ..self }
    }

    /// The same for a stage whose input has that key.
    #[must_use]
    pub(super) fn with_input(self, input: Option<Key>) -> Self {
        Later { input, ..self }
    }

    /// The key of the matrix that goes into the stage, where equal work is shared.
    pub(super) fn input(&self) -> Option<Key> {
        self.input
    }

    /// Adds what a stage could learn from here to a key.
    pub(super) fn add_to(&self, key: KeyWriter) -> KeyWriter {
        let key = match self.classifier {
            None => key,
            Some(classifier) => {
                let arguments = classifier.arguments();
                arguments.iter().fold(key.text(classifier.name()), |key, (name, value)| key.text(name).text(value))
            }
        };
        key.numbers(self.weights.unwrap_or(&[]).iter().map(|weight| u64::from(weight.to_bits())))
    }

    /// What the sparse columns of the stage's input stand for; empty when nobody knows.
    pub fn names(&self) -> Vec<String> {
        self.names.map(|names| names()).unwrap_or_default()
    }

    /// Which classes the classifier that follows takes for which, in a cross-validation on `x`: rows are true classes,
    /// columns the ones given. A document with several labels counts once for each.
    pub fn confusion(
        &self,
        stage: &'static str,
        x: &Matrix,
        labels: &Labels,
        folds: usize,
        run: &Run,
    ) -> Result<Vec<Vec<u64>>> {
        // It knows nothing of the stage that asks, so that stage with other arguments can have the same.
        let key = self.input.map(|input| {
            let numbers = [run.seed(), folds as u64].into_iter();
            self.add_to(Key::of("confusion").key(&input).key(&labels.key()).numbers(numbers)).finish()
        });
        let size = |table: &Vec<Vec<u64>>| 8 * table.len() * table.len();
        let table = run.shared(key, size, || {
            let classifier = self.classifier(stage)?;
            let (scores, truth) = self.held_out(stage, x, labels, folds, run, |x, labels, weights, held, run| {
                classifier.fit(x, labels, weights, run)?.scores(held, run)
            })?;
            confusion_table(&scores, &truth, labels)
        })?;
        Ok(Arc::unwrap_or_clone(table))
    }

    /// How many documents the classifier gets right in a cross-validation in which `project(x, labels, held_out)` gives
    /// the rows it is fitted on and the held-out rows it is tested on.
    pub fn right_on_folds(
        &self,
        stage: &'static str,
        x: &Matrix,
        labels: &Labels,
        folds: usize,
        run: &Run,
        project: impl Fn(&Matrix, &Labels, &Matrix, &Run) -> Result<(Matrix, Matrix)>,
    ) -> Result<usize> {
        let classifier = self.classifier(stage)?;
        let (scores, truth) = self.held_out(stage, x, labels, folds, run, |x, labels, weights, held, run| {
            let (rows, held) = project(x, labels, held, run)?;
            classifier.fit(&rows, labels, weights, run)?.scores(&held, run)
        })?;
        count_right(&scores, &truth)
    }

    /// The same for some of the documents.
    pub(super) fn at(later: &Later<'a>, rows: &[usize]) -> Selected<'a> {
        let weights = later.weights.map(|weights| rows.iter().map(|&row| weights[row]).collect());
        Selected { classifier: later.classifier, weights, names: later.names }
    }

    /// Whether a classifier follows that can be asked.
    pub fn follows(&self) -> bool {
        self.classifier.is_some()
    }

    /// For each of `choices` ways to project, how many documents the classifier gets right in one cross-validation that
    /// all share. `project(x, labels, held_out, judge)` is called once for each fold and calls `judge(choice, rows,
    /// held_out_rows)` for every choice, so that what the choices have in common is done once. `None` when there are too
    /// few labelled documents.
    pub fn right_for_each(
        &self,
        stage: &'static str,
        (x, labels): (&Matrix, &Labels),
        n_folds: usize,
        choices: usize,
        run: &Run,
        project: impl Fn(&Matrix, &Labels, &Matrix, &mut Judge<'_>) -> Result<()>,
    ) -> Result<Option<Vec<usize>>> {
        let classifier = self.classifier(stage)?;
        let rows = labels.labelled_rows();
        if rows.len() < 2 * n_folds {
            return Ok(None);
        }
        let mut right = vec![0; choices];
        for held in folds(labels, n_folds, run.seed())? {
            run.check()?;
            let rest = without(&rows, &held);
            let (known, truth) = (labels.select(&rest), labels.select(&held));
            let weights: Option<Vec<f32>> = self.weights.map(|weights| rest.iter().map(|&row| weights[row]).collect());
            if known.class_counts().iter().filter(|&&count| count > 0).count() < 2 {
                return Ok(None);
            }
            let mut judge = |choice: usize, rows: &Matrix, held: &Matrix| {
                let scores = classifier.fit(rows, &known, weights.as_deref(), run)?.scores(held, run)?;
                right[choice] += count_right(&scores, &truth)?;
                Ok(())
            };
            project(&x.select_rows(&rest), &known, &x.select_rows(&held), &mut judge)?;
        }
        Ok(Some(right))
    }

    /// Which of the labelled documents the classifier gets right in a cross-validation on `x`, whose rows are the
    /// documents `rows` of all, represented without knowledge of labels; `None` when there are too few for one. Folds are
    /// [`blocks`], as for `c=auto`; the other choices here still go by random ones.
    pub fn right_as_is(
        &self,
        stage: &'static str,
        x: &Matrix,
        labels: &Labels,
        rows: &[usize],
        folds: usize,
        run: &Run,
    ) -> Result<Option<Vec<bool>>> {
        if rows.len() < 2 * folds {
            return Ok(None);
        }
        let (labels, run) = (labels.select(rows), run.quiet());
        let all: Vec<usize> = (0..rows.len()).collect();
        let choices = self.classifier(stage)?.choosing();
        let mut right = vec![vec![false; rows.len()]; choices.len()];
        for held in blocks(&labels, folds)? {
            run.check()?;
            let rest = without(&all, &held);
            let (known, truth) = (labels.select(&rest), labels.select(&held));
            if known.class_counts().iter().filter(|&&count| count > 0).count() < 2 {
                return Ok(None);
            }
            let weights: Option<Vec<f32>> =
                self.weights.map(|weights| rest.iter().map(|&row| weights[rows[row]]).collect());
            let (x, tested) = (x.select_rows(&rest), x.select_rows(&held));
            for (classifier, right) in choices.iter().zip(&mut right) {
                let scores = classifier.fit(&x, &known, weights.as_deref(), &run)?.scores(&tested, &run)?;
                held.iter().zip(right_rows(&scores, &truth)?).for_each(|(&row, good)| right[row] = good);
            }
        }
        Ok(right.into_iter().rev().max_by_key(|right| right.iter().filter(|&&good| good).count()))
    }

    fn classifier(&self, stage: &'static str) -> Result<&'a dyn Classifier> {
        self.classifier.ok_or_else(|| {
            Error::data(format!(
                "`{stage}` asks the classifier that follows it, but none does; end the recipe with one"
            ))
        })
    }

    fn held_out(
        &self,
        stage: &'static str,
        x: &Matrix,
        labels: &Labels,
        folds: usize,
        run: &Run,
        fit_and_score: impl Fn(&Matrix, &Labels, Option<&[f32]>, &Matrix, &Run) -> Result<Dense>,
    ) -> Result<(Dense, Labels)> {
        let held = out_of_fold(x, labels, self.weights, folds, run.seed(), &run.quiet(), fit_and_score)?;
        let (scores, rows) = held.ok_or_else(|| {
            Error::data(format!("`{stage}` needs a cross-validation, and there are too few labelled documents for one"))
        })?;
        Ok((scores, labels.select(&rows)))
    }
}

/// Documents whose best class is one of theirs.
fn count_right(scores: &Dense, truth: &Labels) -> Result<usize> {
    Ok(right_rows(scores, truth)?.into_iter().filter(|&good| good).count())
}

/// Whether the best class of each document is one of its own.
fn right_rows(scores: &Dense, truth: &Labels) -> Result<Vec<bool>> {
    let best = Predictions::best(scores)?;
    Ok((0..truth.len()).map(|row| best.of(row).iter().any(|&class| truth.has(row, class))).collect())
}

/// Rows are true classes, columns the ones with the best score; every class of `labels` has its row.
fn confusion_table(scores: &Dense, truth: &Labels, labels: &Labels) -> Result<Vec<Vec<u64>>> {
    let best = Predictions::best(scores)?;
    if !truth.is_multi_label() {
        // The figure's own classes are those that occur; here every class has its row.
        let found = confusion(truth, &best)?;
        let mut counts = vec![vec![0; labels.n_classes()]; labels.n_classes()];
        let number = |name: &String| labels.classes().binary_search(name).ok();
        for (from, row) in found.classes.iter().zip(&found.counts) {
            for (to, &count) in found.classes.iter().zip(row) {
                if let (Some(from), Some(to)) = (number(from), number(to)) {
                    counts[from][to] += count;
                }
            }
        }
        return Ok(counts);
    }
    let mut counts = vec![vec![0; labels.n_classes()]; labels.n_classes()];
    for row in 0..truth.len() {
        for &class in truth.of(row).unwrap_or(&[]) {
            for &given in best.of(row) {
                // A label the document has is no mistake for another label it has.
                let to = if truth.has(row, given) { class } else { given };
                counts[class as usize][to as usize] += 1;
            }
        }
    }
    Ok(counts)
}
