//! How a classifier learns from more than labels: from the names of classes, and from its own decisions about unlabelled documents.
//!
//! 1. On folds of the labelled documents (as many as calibrate), the plain method is tried, and, with `names=auto`, the method with names.
//!    The held-out scores say whether names help, and at which temperature scores are best read as probabilities.
//! 2. The first model learns from labels, and with names from a column for each class and from the documents that names are surest of
//!    ([`ClassNames`]).
//!    Names are expanded once and not in every fold, because no label has a part in that; only where a stage before has learnt from labels,
//!    a fold has other columns and expands them anew.
//! 3. Self-training is tried on the same folds and left out where held-out accuracy falls by more than the standard error of the
//!    difference; then it goes on from the first model.
//!
//! Without a labelled document nothing can be tried: names decide alone, and self-training goes on from them.

use super::names::ClassNames;
use super::self_training::{ROUNDS, USUAL_TEMPERATURE, align_train, self_train, temperature};
use super::{Classifier, ClassifierModel, Framed, OutOfFold, SelfTraining, Start};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::params::Auto;
use crate::project::{FoldRows, Target, best};
use crate::{Error, Result, Run};

/// What a fit on all documents has found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Found {
    /// Whether names were asked for.
    pub(super) asked: bool,
    /// Whether names are used.
    pub(super) named: bool,
    /// Whether it trains itself.
    pub(super) trains: bool,
    /// The temperature of scores; 0 when nobody asked.
    pub(super) temperature: f64,
}

/// One fit and everything it learns from.
pub(super) struct Learning<'a, P> {
    pub(super) framed: &'a Framed<P>,
    pub(super) x: &'a Matrix,
    pub(super) target: &'a Target<'a>,
    pub(super) run: &'a Run,
}

/// A model, the rounds of self-training, and what was found on the way, with the scores of held-out documents where there are such.
type Learnt<M> = (M, Option<Vec<usize>>, Found, Option<OutOfFold>);

/// The documents as names widen them.
struct Named {
    names: ClassNames,
    x: Matrix,
    labels: Labels,
    weights: Vec<f32>,
}

impl<P: Classifier> Learning<'_, P> {
    pub(super) fn fit(&self) -> Result<Learnt<P::Model>> {
        let (framed, target, run) = (self.framed, self.target, self.run);
        let asked = framed.names != Auto::Value(false);
        let several = target.labels().is_multi_label();
        if several && framed.names == Auto::Value(true) {
            return Err(Error::data(
                "names needs exactly one label per document, but some have none or several; leave it out",
            ));
        }
        let mut found = framed.found.unwrap_or(Found { asked, ..Found::default() });
        let names = if asked && !several { class_names(self.x, target, run)? } else { None };
        let named = names.map(|names| Named::new(names, self.x, target, run)).transpose()?;
        if asked && named.is_none() && framed.names == Auto::Value(true) {
            run.warn("names: fewer than two classes have a name with a known word, so they change nothing");
        }
        let nothing_labelled = target.labels().labelled_rows().is_empty();
        if nothing_labelled && named.is_none() {
            return Err(Error::data(
                "no document has a label and fewer than two classes have a name with a known word: there is nothing to learn from",
            ));
        }
        // A cost to be found is found on labels alone, once.
        let mut method = framed.method.clone();
        let plain = match nothing_labelled {
            true => None,
            false => {
                let plain = method.fit(self.x, target, run)?;
                method = method.resolved(&plain);
                Some(plain)
            }
        };
        let mut held = None;
        if framed.found.is_none() {
            held = self.survey(&method, named.as_ref().map(|named| &named.names), &mut found)?;
        } else {
            found.named &= named.is_some();
        }
        let named = named.filter(|_| found.named);
        let first = match (&named, plain) {
            (None, Some(plain)) => plain,
            _ => self.first(&method, named.as_ref(), run)?,
        };
        let (x, own_labels) = (named.as_ref().map_or(self.x, |named| &named.x), target.labels());
        let (model, taken) = match found.trains {
            true => {
                let (model, taken) = trained(
                    framed.self_training,
                    &method,
                    x,
                    (own_labels, target.weights()),
                    (first, found.temperature),
                    run,
                )?;
                if taken.is_empty() {
                    run.warn("self_training: there are no unlabelled documents, so it changes nothing");
                }
                (model, Some(taken))
            }
            false => (first, (framed.self_training != SelfTraining::Off).then(Vec::new)),
        };
        let model = match named {
            Some(named) => unfold::<P>(&named.names, model, self.x)?,
            None => model,
        };
        Ok((model, taken, found, held))
    }

    /// The model that self-training goes on from.
    fn first(&self, method: &P, named: Option<&Named>, run: &Run) -> Result<P::Model> {
        match named {
            Some(named) => method.fit(&named.x, &named.target(), run),
            None => method.fit(self.x, self.target, run),
        }
    }

    /// Tries names and self-training on held-out documents. Gives what the model in the way that was found says of them, so that
    /// nobody has to walk the same folds again to calibrate it.
    fn survey(&self, method: &P, names: Option<&ClassNames>, found: &mut Found) -> Result<Option<OutOfFold>> {
        let (framed, target, quiet) = (self.framed, self.target, self.run.quiet());
        let has_names = names.is_some();
        let named = |x: &Matrix, own: &Target<'_>| {
            let names = match names {
                Some(known) if !target.has_upstream() => Some(known.clone()),
                Some(_) => class_names(x, own, &quiet)?,
                None => None,
            };
            names.map(|names| Named::new(names, x, own, &quiet)).transpose()
        };
        let labels = target.labels();
        let (rows, rough) = (labels.labelled_rows(), method.rough());
        found.trains = framed.self_training != SelfTraining::Off;
        found.named = has_names;
        found.temperature = USUAL_TEMPERATURE;
        // Calibration folds are those of choices too; without any, what was asked for is done, and the temperature still wants a look.
        let folds = if framed.calibrate == 0 { TEMPERATURE_FOLDS } else { framed.calibrate };
        let truth = labels.select(&rows);
        let empty = OutOfFold::new(rows.clone(), labels.n_classes());
        let [mut plain, mut with_names] = [empty.clone(), empty.clone()];
        // A label that the rest of its fold has not seen says nothing about scores.
        let mut seen = vec![false; rows.len()];
        let which = if has_names { FoldRows::All } else { FoldRows::Labelled };
        let walked = target.folds(self.x, folds, which, &quiet, |fold| {
            let own = fold.target();
            let counts = fold.labels.class_counts();
            for (at, row) in fold.held_rows.iter().enumerate() {
                let class = fold.truth.of(at).and_then(|classes| classes.first());
                if let Ok(to) = rows.binary_search(row) {
                    seen[to] = class.is_some_and(|&class| counts[class as usize] > 0);
                }
            }
            let names = named(&fold.x, &own)?;
            // The plain model also speaks for names in a fold whose documents have no word of them.
            if !has_names || names.is_none() || framed.names.is_auto() {
                let model = rough.fit(&fold.x, &own, &quiet)?;
                plain.take(&fold, &model, &fold.held, &quiet)?;
                if has_names && names.is_none() {
                    with_names.take(&fold, &model, &fold.held, &quiet)?;
                }
            }
            if let Some(named) = names {
                let model = rough.fit(&named.x, &named.target(), &quiet)?;
                with_names.take(&fold, &model, &named.widened(&fold.held, &quiet)?, &quiet)?;
            }
            Ok(())
        })?;
        if !walked {
            return Ok(None);
        }
        let right = |held: &OutOfFold| right_rows(&held.scores, &truth);
        if has_names && framed.names.is_auto() {
            let count = |held: &OutOfFold| right(held).iter().filter(|&&good| good).count();
            found.named = count(&with_names) > count(&plain);
        }
        let chosen = if found.named { with_names } else { plain };
        let seen: Vec<usize> = (0..rows.len()).filter(|&place| seen[place]).collect();
        found.temperature =
            temperature(&chosen.scores.select_rows(&seen), &truth.select(&seen)).unwrap_or(USUAL_TEMPERATURE);
        if framed.calibrate == 0 {
            return Ok(None);
        }
        let has_unlabelled = rows.len() < labels.len();
        if !found.trains || !has_unlabelled {
            return Ok(Some(chosen));
        }
        let mut after = empty;
        target.folds(self.x, folds, FoldRows::All, &quiet, |fold| {
            let own = fold.target();
            let named = if found.named { named(&fold.x, &own)? } else { None };
            let (x, first) = match &named {
                Some(named) => (&named.x, rough.fit(&named.x, &named.target(), &quiet)?),
                None => (&fold.x, rough.fit(&fold.x, &own, &quiet)?),
            };
            let given = (own.labels(), own.weights());
            let (model, _) = trained(framed.self_training, &rough, x, given, (first, found.temperature), &quiet)?;
            match &named {
                Some(named) => after.take(&fold, &model, &named.widened(&fold.held, &quiet)?, &quiet),
                None => after.take(&fold, &model, &fold.held, &quiet),
            }
        })?;
        found.trains = !is_clearly_worse(&right(&chosen), &right(&after));
        Ok(Some(if found.trains { after } else { chosen }))
    }
}

impl Named {
    /// The documents with the columns of names, and with the labels that names are surest of.
    fn new(names: ClassNames, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<Self> {
        let scores = names.scores(x, run);
        let (hints, hint_weight) = names.hints(&scores, target.labels());
        let mut weights: Vec<f32> = target.weights().map_or_else(|| vec![1.0; x.rows()], <[f32]>::to_vec);
        hints.iter().for_each(|&(row, _)| weights[row] *= hint_weight);
        Ok(Named { x: names.beside(x, &scores)?, labels: target.labels().with(&hints), weights, names })
    }

    /// What is learnt from: labels, and those that names are surest of.
    fn target(&self) -> Target<'_> {
        Target::new(&self.labels).with_weights(Some(&self.weights))
    }

    /// Other documents with the columns of names.
    fn widened(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        self.names.beside(x, &self.names.scores(x, run))
    }
}

/// Folds that only tell the temperature.
const TEMPERATURE_FOLDS: usize = 3;

/// Which rows get their label.
pub(crate) fn right_rows(scores: &Dense, truth: &Labels) -> Vec<bool> {
    (0..truth.len()).map(|row| best(scores.row(row)).is_some_and(|class| truth.has(row, class))).collect()
}

/// Whether fewer are right after than before, by more than a standard error of the difference.
pub(crate) fn is_clearly_worse(before: &[bool], after: &[bool]) -> bool {
    let n = before.len().max(1) as f64;
    let (mut lost, mut won) = (0f64, 0f64);
    for (before, after) in before.iter().zip(after) {
        lost += f64::from(*before && !after);
        won += f64::from(!before && *after);
    }
    let difference = (lost - won) / n;
    let error = ((lost + won) / n - difference * difference).max(0.0).sqrt() / n.sqrt();
    difference > error
}

/// What the names of classes bring to mind; `None` when names say nothing.
fn class_names(x: &Matrix, target: &Target<'_>, run: &Run) -> Result<Option<ClassNames>> {
    let words = target.class_words();
    match words.len() == target.labels().n_classes() {
        true => ClassNames::fit(x, &target.names(), words, run),
        false => Ok(None),
    }
}

/// Self-training from a first model.
fn trained<P: Classifier>(
    how: SelfTraining,
    method: &P,
    x: &Matrix,
    (labels, weights): (&Labels, Option<&[f32]>),
    (first, temperature): (P::Model, f64),
    run: &Run,
) -> Result<(P::Model, Vec<usize>)> {
    let (quiet, mut start) = (run.quiet(), Start::default());
    // Few decisions change from round to round, so each fit begins where the one before ended.
    let mut again = |x: &Matrix, labels: &Labels, weights: Option<&[f32]>, last: bool| {
        let target = Target::new(labels).with_weights(weights);
        // The rounds between may stop early: what they have not reached the next ones will.
        match last {
            true => method.fit_from(x, &target, &mut start, run),
            false => method.glance().fit_from(x, &target, &mut start, &quiet),
        }
    };
    let scores = |model: &P::Model, x: &Matrix| model.scores(x, run);
    match how {
        SelfTraining::Off => Ok((first, Vec::new())),
        SelfTraining::Aligned => align_train(x, labels, weights, (first, temperature), run, again, scores),
        SelfTraining::Surest => {
            let mut first = Some(first);
            let fit = |x: &Matrix, labels: &Labels, weights: Option<&[f32]>, round: usize| match first.take() {
                Some(first) => Ok(first),
                None => again(x, labels, weights, round == ROUNDS),
            };
            self_train(x, labels, weights, run, fit, scores)
        }
    }
}

/// The model over the documents' own columns.
fn unfold<P: Classifier>(names: &ClassNames, model: P::Model, x: &Matrix) -> Result<P::Model> {
    let linear = model.linear().map(|linear| names.folded(linear, x)).transpose()?;
    linear.and_then(|linear| P::with_linear(model, linear)).ok_or_else(|| Error::data("names need a linear classifier"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::SvmParams;
    use crate::matrix::Csr;
    use crate::project::{ClassWords, ColumnNames, Refitted, Upstream};
    use std::sync::Arc;

    /// 90 documents of three topics, every third with its label.
    fn documents() -> (Matrix, Labels) {
        let row = |document: u32| {
            let topic = document % 3;
            let mut words: Vec<u32> = (0..4).map(|k| topic * 5 + (document / 3 + k * (1 + document % 4)) % 7).collect();
            words.sort_unstable();
            words.dedup();
            words.into_iter().map(|word| (word, 0.5)).collect()
        };
        let labels = (0..90u32).map(|document| (document / 3 % 3 == 0).then(|| ["a", "b", "c"][document as usize % 3]));
        (Matrix::from(Csr::from_rows(17, (0..90).map(row))), Labels::from_single(labels))
    }

    #[test]
    fn scores_made_on_the_way_are_those_of_folds_walked_again() {
        let (x, labels) = documents();
        let target = Target::new(&labels);
        for self_training in [SelfTraining::Aligned, SelfTraining::Surest] {
            let framed = Framed { self_training, ..Framed::from(SvmParams::default()) };
            let by_threads = [1, 2, 8].map(|threads| {
                let run = Run::new(3, threads).unwrap();
                let model = framed.fit(&x, &target, &run).unwrap();
                let stage = framed.resolved(&model).rough();
                let held = stage.held.clone().unwrap();
                let mut again = OutOfFold::new(labels.labelled_rows(), 3);
                let walk = |fold: crate::project::Fold<'_>| {
                    again.take(&fold, &stage.fit(&fold.x, &fold.target(), &run)?, &fold.held, &run)
                };
                assert!(target.folds(&x, framed.calibrate, FoldRows::All, &run, walk).unwrap());
                assert_eq!(*held, again);
                held
            });
            assert!(by_threads.iter().all(|held| *held == by_threads[0]));
        }
        // A plain classifier makes none, nor does one that calibrates nothing.
        let run = Run::new(3, 1).unwrap();
        let none = |framed: Framed<SvmParams>| framed.resolved(&framed.fit(&x, &target, &run).unwrap()).held.is_none();
        assert!(none(Framed::from(SvmParams::default())));
        let framed = Framed { self_training: SelfTraining::Aligned, calibrate: 0, ..Framed::default() };
        assert!(none(framed));
    }

    /// Documents that a stage before makes anew in every fold.
    struct Anew<'a>(&'a Matrix, &'a ColumnNames);

    impl Upstream for Anew<'_> {
        fn fold(&self, rows: &[usize], held: &[usize], _: &Run) -> Result<Refitted> {
            let (x, held) = (self.0.select_rows(rows), self.0.select_rows(held));
            Ok(Refitted { x, held, names: Some(Arc::clone(self.1)), parts: Vec::new() })
        }
    }

    #[test]
    fn a_fold_without_a_word_of_names_is_judged_by_the_plain_model() {
        let (x, labels) = documents();
        // One labelled document of each topic has the name of its class, a word of its own.
        let named_rows = [0usize, 10, 20];
        let rows = (0..90).map(|row| {
            let (columns, values) = x.sparse().row(row);
            let mut own: Vec<(u32, f32)> = columns.iter().copied().zip(values.iter().copied()).collect();
            own.extend(named_rows.iter().position(|&named| named == row).map(|class| (17 + class as u32, 0.5)));
            own
        });
        let x = Matrix::from(Csr::from_rows(20, rows));
        let names: ColumnNames = Arc::new(|| (0..20).map(|column| format!("w{column}")).collect());
        // With one of two names held out, the other alone says nothing.
        let words = ["w17", "w18", "unknown"].map(|word| ClassWords { words: vec![word.to_owned()], struck: vec![] });
        let upstream = Anew(&x, &names);
        let target = Target::new(&labels).with_names(&names).with_class_words(&words).with_upstream(&upstream);
        let framed = Framed { names: Auto::Value(true), calibrate: 3, ..Framed::from(SvmParams::default()) };
        let run = Run::new(3, 1).unwrap();
        let model = framed.fit(&x, &target, &run).unwrap();
        let held = framed.resolved(&model).held.unwrap();
        let silent = (0..held.scores.rows()).filter(|&row| held.scores.row(row).iter().all(|&score| score == 0.0));
        assert_eq!(silent.count(), 0);
    }

    #[test]
    fn worse_by_chance_is_not_worse() {
        let (good, bad) = (vec![true; 100], vec![false; 100]);
        assert!(is_clearly_worse(&good, &bad) && !is_clearly_worse(&bad, &good) && !is_clearly_worse(&good, &good));
        // Two lost and one won are chance; five lost are not.
        let (mut before, mut after) = (good.clone(), good.clone());
        (after[3], after[4], before[5]) = (false, false, false);
        assert!(!is_clearly_worse(&before, &after));
        after[6..9].fill(false);
        assert!(is_clearly_worse(&before, &after));
    }
}
