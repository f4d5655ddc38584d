//! Noise and weight that are left to be found.
//!
//! The layers know no labels, so each noise is fitted once, on all documents, and only the judge fold by fold; where a stage
//! before learns from labels, everything is fitted fold by fold. What is usual stays unless another value is clearly better
//! ([`clearly_more`]): with a hundred labels the best of five values by count is often only the luckiest. Weights are tried
//! outwards from the usual one, either way as far as they do not get worse.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::{DcotModel, DcotParams, Given, Weight, effective_classes};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::project::{FoldRows, ProjectorModel, Target};
use crate::{Key, Result, Run};

/// What `noise=auto` chooses from; the usual value comes first.
const NOISES: [f64; 4] = [0.97, 0.9, 0.99, 0.7];
/// What `weight=auto` chooses from; the smallest leaves little more than the document itself.
const WEIGHTS: [f64; 5] = [8.0, 2.0, 0.5, 0.125, 0.03125];
/// Labels of each class at which reconstructions and document are worth about the same; see [`usual_weight`].
const LABELS_FOR_EQUAL: f64 = 40.0;
/// Folds of those choices.
const FOLDS: usize = 3;

/// Layers fitted with one noise, their outputs brought to weight 1, and those outputs.
type Layers = (DcotModel, Dense);

impl DcotParams {
    /// Fits with the values that do best on held-out documents.
    pub(super) fn fit_best(
        &self,
        x: &Matrix,
        prototypes: Vec<u32>,
        target: &Target<'_>,
        run: &Run,
    ) -> Result<(DcotModel, Matrix)> {
        let choices = Choices::of(self, target.labels());
        if target.has_upstream() {
            let values = self.best_by_refitting(x, &choices, target, run)?;
            return self.fit_on(x, prototypes, values, run);
        }
        let (values, layers) = self.best_of_shared(x, &prototypes, &choices, target, run)?;
        let (model, z) = Arc::unwrap_or_clone(layers);
        let model = model.truncated(values.layers).reweighted(values.weight.factor());
        let z = first_columns(z, model.n_outputs(values.layers), values.weight);
        Ok((model, Matrix::new(x.sparse().clone(), z, 0)?))
    }

    /// The best values where the documents themselves know no labels, and the layers of the best noise.
    fn best_of_shared(
        &self,
        x: &Matrix,
        prototypes: &[u32],
        choices: &Choices,
        target: &Target<'_>,
        run: &Run,
    ) -> Result<(Given, Arc<Layers>)> {
        let rows = target.labels().labelled_rows();
        let labels = target.labels().select(&rows);
        let weights: Option<Vec<f32>> = target.weights().map(|all| rows.iter().map(|&row| all[row]).collect());
        let target = target.narrowed(&labels, weights.as_deref());
        let sparse = x.sparse().select_rows(&rows);
        // Layers are large, so only those of the best noise so far and of the one at hand are held.
        let (held, best_noise) = (RefCell::new(Vec::<(f64, Arc<Layers>)>::new()), Cell::new(f64::NAN));
        let of_noise = |noise: f64| -> Result<Arc<Layers>> {
            if let Some((_, layers)) = held.borrow().iter().find(|(known, _)| *known == noise) {
                return Ok(Arc::clone(layers));
            }
            held.borrow_mut().retain(|(known, _)| *known == best_noise.get());
            let layers = self.shared_layers(x, prototypes, noise, choices, &target, run)?;
            held.borrow_mut().push((noise, Arc::clone(&layers)));
            Ok(layers)
        };
        let right = |values: Given| {
            let layers = of_noise(values.noise)?;
            let z = first_columns(layers.1.select_rows(&rows), layers.0.n_outputs(values.layers), values.weight);
            let as_is = Matrix::new(sparse.clone(), z, 0)?;
            let right = target.judge(&as_is, FOLDS, 1, run, |fold, verdict| verdict(0, &fold.x, &fold.held))?;
            Ok(right.and_then(|mut right| right.pop()))
        };
        let values = choices.search(right, |values| best_noise.set(values.noise), run)?;
        let layers = of_noise(values.noise)?;
        // The caller shall have them to itself where nobody shares them.
        held.borrow_mut().clear();
        Ok((values, layers))
    }

    /// The best values where a stage before learns from labels: every fold has layers of its own.
    fn best_by_refitting(&self, x: &Matrix, choices: &Choices, target: &Target<'_>, run: &Run) -> Result<Given> {
        let (all, quiet) = (choices.all(), run.quiet());
        let right = target.judge_rows(x, FOLDS, all.len(), FoldRows::All, run, |fold, verdict| {
            let prototypes = self.prototype_columns(&fold.x, &fold.target(), &quiet)?;
            for &noise in &choices.noises {
                let weight = choices.usual_weight.unit();
                let values = Given { noise, layers: choices.layers, weight, rank: choices.rank };
                let (model, fitted) = self.fit_on(&fold.x, prototypes.clone(), values, &quiet)?;
                let held = model.transform(&fold.held, &quiet)?;
                for (choice, values) in all.iter().enumerate().filter(|(_, values)| values.noise == noise) {
                    let part = |x: &Matrix| {
                        let z = first_columns(x.dense().clone(), model.n_outputs(values.layers), values.weight);
                        Matrix::new(x.sparse().clone(), z, 0)
                    };
                    verdict(choice, &part(&fitted)?, &part(&held)?)?;
                }
            }
            Ok(())
        })?;
        let known = |values: Given| {
            let at = all.iter().position(|&other| other == values);
            Ok(right.as_ref().zip(at).map(|(right, at)| right[at].clone()))
        };
        choices.search(known, |_| {}, run)
    }

    /// The layers and what they make of `x`. They know no labels, so that draws of labels can have them in common.
    fn shared_layers(
        &self,
        x: &Matrix,
        prototypes: &[u32],
        noise: f64,
        choices: &Choices,
        target: &Target<'_>,
        run: &Run,
    ) -> Result<Arc<Layers>> {
        let (layers, rank) = (choices.layers, choices.rank);
        // Whatever weight the labels make usual, the layers are the same.
        let values = Given { noise, layers, weight: choices.usual_weight.unit(), rank };
        let key = target.input().map(|input| {
            let columns = prototypes.iter().map(|&column| u64::from(column));
            let settings = format!("{values:?} {} {:?} {:?}", self.ridge, self.solver, run.precision());
            Key::of("dcot layers").key(&input).text(&settings).numbers(columns).finish()
        });
        let bytes = |(model, z): &Layers| 4 * z.values().len() + model.size();
        run.shared(key, bytes, || {
            let (model, fitted) = self.fit_on(x, prototypes.to_vec(), values, run)?;
            Ok((model, fitted.into_parts().1))
        })
    }
}

impl Weight {
    /// What an output of weight 1 is multiplied by, squared; one that is left as it comes is not.
    fn factor(self) -> f64 {
        match self {
            Weight::None => 1.0,
            Weight::Times(times) => times,
        }
    }

    /// The weight that layers are fitted with before there is a choice.
    fn unit(self) -> Self {
        match self {
            Weight::None => Weight::None,
            Weight::Times(_) => Weight::Times(1.0),
        }
    }
}

/// What there is to choose from; where a value is given, that one alone. The usual value of each comes first.
struct Choices {
    noises: Vec<f64>,
    layers: usize,
    usual_weight: Weight,
    other_weights: Vec<f64>,
    rank: Option<usize>,
}

impl Choices {
    fn of(params: &DcotParams, labels: &Labels) -> Self {
        let usual = params.weight.value().unwrap_or_else(|| Weight::Times(usual_weight(labels)));
        let others = WEIGHTS.into_iter().filter(|&other| params.weight.is_auto() && Weight::Times(other) != usual);
        Choices {
            noises: params.noise.value().map_or(NOISES.to_vec(), |noise| vec![noise]),
            layers: params.layers_for(labels),
            usual_weight: usual,
            other_weights: others.collect(),
            rank: params.rank_for(labels),
        }
    }

    /// Every combination that [`Choices::search`] may ask about.
    fn all(&self) -> Vec<Given> {
        let others = || self.other_weights.iter().map(|&times| Weight::Times(times));
        let weights = || std::iter::once(self.usual_weight).chain(others());
        let with =
            |noise: f64| weights().map(move |weight| Given { noise, layers: self.layers, weight, rank: self.rank });
        self.noises.iter().flat_map(|&noise| with(noise)).collect()
    }

    /// The noise first, at the usual weight, then the weight. `right` says which documents come out right, `found` hears
    /// of every noise that is better than those before.
    fn search(
        &self,
        mut right: impl FnMut(Given) -> Result<Option<Vec<bool>>>,
        mut found: impl FnMut(Given),
        run: &Run,
    ) -> Result<Given> {
        let mut best: Option<(Given, Vec<bool>)> = None;
        let usual = Given { noise: self.noises[0], layers: self.layers, weight: self.usual_weight, rank: self.rank };
        for &noise in &self.noises {
            let values = Given { noise, ..usual };
            let Some(list) = right(values)? else {
                run.warn("dcot: too few labelled documents to choose noise or weight; the usual ones are taken");
                return Ok(usual);
            };
            if best.as_ref().is_none_or(|(_, best)| clearly_more(&list, best)) {
                best = Some((values, list));
                found(values);
            }
        }
        let Some((mut values, at_usual)) = best else { return Ok(usual) };
        let mut most = number(&at_usual);
        // Outwards from the usual weight, either way as far as it does not get worse.
        let (mut less, mut more): (Vec<f64>, Vec<f64>) =
            self.other_weights.iter().partition(|&&weight| weight < self.usual_weight.factor());
        less.sort_by(|a, b| b.total_cmp(a));
        more.sort_by(f64::total_cmp);
        for weights in [less, more] {
            let mut last = number(&at_usual);
            for weight in weights {
                let weight = Weight::Times(weight);
                let Some(list) = right(Given { weight, ..values })? else { continue };
                let found = number(&list);
                if clearly_more(&list, &at_usual) && found > most {
                    (values.weight, most) = (weight, found);
                }
                if found < last {
                    break;
                }
                last = found;
            }
        }
        Ok(values)
    }
}

/// The weight for so many labels, of those there are to choose from: 40 labels of a class make reconstructions worth as
/// much as the document, fewer more. Rare classes count for what they hold (the classes are as many as equally large
/// ones would be with the same entropy).
fn usual_weight(labels: &Labels) -> f64 {
    let total = labels.class_counts().iter().sum::<usize>() as f64;
    let classes = effective_classes(labels);
    let wanted = (LABELS_FOR_EQUAL * classes / total.max(1.0)).ln();
    let nearest = |a: &f64, b: &f64| (a.ln() - wanted).abs().total_cmp(&(b.ln() - wanted).abs());
    WEIGHTS.into_iter().min_by(nearest).unwrap_or(WEIGHTS[1])
}

/// Whether one choice is right more often than another by more than two standard errors of the difference; one is the
/// square root of the number of documents that only one of them gets right.
fn clearly_more(right: &[bool], than: &[bool]) -> bool {
    let only = |a: &[bool], b: &[bool]| a.iter().zip(b).filter(|&(&a, &b)| a && !b).count() as f64;
    let (won, lost) = (only(right, than), only(than, right));
    won - lost > 2.0 * (won + lost).sqrt()
}

fn number(right: &[bool]) -> usize {
    right.iter().filter(|&&good| good).count()
}

/// The first columns, brought from weight 1 to `weight`.
fn first_columns(z: Dense, width: usize, weight: Weight) -> Dense {
    let factor = weight.factor().sqrt() as f32;
    if width == z.cols() {
        let mut z = z;
        z.values_mut().iter_mut().for_each(|value| *value *= factor);
        return z;
    }
    let mut part = Dense::zeros(z.rows(), width);
    for row in 0..z.rows() {
        part.row_mut(row).iter_mut().zip(z.row(row)).for_each(|(to, value)| *to = value * factor);
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(counts: &[usize]) -> Labels {
        let names: Vec<String> = (0..counts.len()).map(|class| format!("class {class:02}")).collect();
        let of_class = |class: usize| std::iter::repeat_n(Some(names[class].as_str()), counts[class]);
        Labels::from_single((0..counts.len()).flat_map(of_class))
    }

    #[test]
    fn the_fewer_the_labels_of_a_class_the_more_reconstructions_weigh() {
        let at = |each: usize, classes: usize| usual_weight(&labels(&vec![each; classes]));
        assert_eq!(
            [at(2, 20), at(5, 20), at(25, 20), at(50, 20), at(250, 20), at(5000, 20)],
            [8.0, 8.0, 2.0, 0.5, 0.125, 0.03125]
        );
        assert_eq!(at(25, 2), at(25, 50));
        // Thirty classes of one document each hardly count beside two large ones.
        let mut counts = vec![1; 30];
        counts.extend([1000, 1000]);
        assert_eq!(usual_weight(&labels(&counts)), usual_weight(&labels(&[1000, 1000])));
        assert!(WEIGHTS.contains(&usual_weight(&labels(&[]))));
    }

    #[test]
    fn two_standard_errors_are_clear_and_less_is_not() {
        let right = |good: std::ops::Range<usize>| -> Vec<bool> { (0..20).map(|row| good.contains(&row)).collect() };
        assert!(clearly_more(&right(0..15), &right(0..10)), "five won, none lost");
        assert!(!clearly_more(&right(0..14), &right(0..10)), "four won, none lost");
        assert!(!clearly_more(&right(4..13), &right(0..8)), "five won, four lost");
        assert!(!clearly_more(&[], &[]));
    }

    #[test]
    fn the_search_asks_only_what_it_says_it_may() {
        let params =
            DcotParams { noise: crate::params::Auto::Auto, weight: crate::params::Auto::Auto, ..DcotParams::default() };
        let choices = Choices::of(&params, &labels(&[10, 10]));
        let (all, run) = (choices.all(), Run::new(1, 1).unwrap());
        // Every document is right at noise 0.9 and weight 0.5, fewer the further away.
        let best = Given { noise: 0.9, layers: choices.layers, weight: Weight::Times(0.5), rank: choices.rank };
        let right = |values: Given| {
            assert!(all.contains(&values));
            let same = usize::from(values.noise == best.noise) + usize::from(values.weight == best.weight);
            Ok(Some((0..100).map(|row| row < 33 * (same + 1)).collect()))
        };
        assert_eq!(choices.search(right, |_| {}, &run).unwrap(), best);
        let nothing = choices.search(|_| Ok(None), |_| {}, &run).unwrap();
        assert_eq!((nothing.noise, nothing.layers), (0.97, 2));
    }
}
