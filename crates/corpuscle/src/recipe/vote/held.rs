//! Out-of-fold scores of the members of a vote, and the weights they speak for.

use super::Vote;
use crate::classify::{right_rows, temperature};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::project::{Fold, FoldRows, Target};
use crate::recipe::erase::AnyClassifier;
use crate::{Result, Run};

/// Labels from which on weights are learnt.
pub(super) const MANY: usize = 300;

/// Out-of-fold scores of every member.
pub(super) struct Held {
    /// Of each member: labelled documents × classes.
    pub(super) scores: Vec<Dense>,
    pub(super) truth: Labels,
    /// Documents whose class the rest of their fold had seen; scores of the others say nothing about a scale.
    seen: Vec<usize>,
}

impl Held {
    /// `None` when there are too few labelled documents for folds.
    pub(super) fn of(vote: &Vote, x: &Matrix, target: &Target<'_>, folds: usize, run: &Run) -> Result<Option<Self>> {
        let (labels, rows) = (target.labels(), target.labels().labelled_rows());
        let mut scores = vec![Dense::zeros(rows.len(), labels.n_classes()); vote.members.len()];
        let mut seen = Vec::new();
        let which = if vote.self_trains() { FoldRows::All } else { FoldRows::Labelled };
        // Members that have tried themselves on these folds need not be fitted on them again, unless others are to teach them.
        let known: Option<Vec<Dense>> = match vote.found {
            None => vote.members.iter().map(|member| tried(member.as_ref(), folds)).collect(),
            Some(_) => None,
        };
        let walked = target.folds(x, folds, which, run, |fold| {
            seen.extend(known_rows(&fold).filter_map(|row| rows.binary_search(&row).ok()));
            if known.is_some() {
                return Ok(());
            }
            let own = fold.target();
            let mut fitted = vote.fit_members(&fold.x, &own, run)?;
            if let Some(found) = &vote.found {
                vote.teach(&mut fitted, &fold.x, &own, found, run)?;
            }
            for (member, model) in fitted.0.iter().enumerate() {
                let part = model.scores(&fold.held.part(own.parts(), member)?, run)?;
                for (at, row) in fold.held_rows.iter().enumerate() {
                    if let Ok(to) = rows.binary_search(row) {
                        scores[member].row_mut(to).copy_from_slice(part.row(at));
                    }
                }
            }
            Ok(())
        })?;
        let scores = known.unwrap_or(scores);
        seen.sort_unstable();
        Ok(walked.then(|| Held { scores, truth: labels.select(&rows), seen }))
    }

    pub(super) fn temperature(&self, scores: &Dense) -> Option<f64> {
        temperature(&scores.select_rows(&self.seen), &self.truth.select(&self.seen))
    }

    /// Weights of the members, whose scores are read at these temperatures.
    pub(super) fn weights(&self, temperatures: &[f64]) -> Vec<f64> {
        if self.truth.len() < MANY { self.near_the_best() } else { self.likeliest(temperatures) }
    }

    /// Equal weights for members within a standard error of the best, none for the others.
    fn near_the_best(&self) -> Vec<f64> {
        let n = self.truth.len().max(1) as f64;
        let shares: Vec<f64> = self
            .scores
            .iter()
            .map(|scores| right_rows(scores, &self.truth).iter().filter(|&&right| right).count() as f64 / n)
            .collect();
        let best = shares.iter().copied().fold(0.0, f64::max);
        let error = (best * (1.0 - best) / n).sqrt();
        let near: Vec<bool> = shares.iter().map(|share| best - share <= error).collect();
        let count = near.iter().filter(|&&near| near).count().max(1) as f64;
        near.into_iter().map(|near| if near { 1.0 / count } else { 0.0 }).collect()
    }

    /// The weights under which the labels are likeliest when member v's scores are divided by its temperature: Newton's method, each
    /// step the least of its quadratic over weights that are not negative, halved until the loss falls.
    fn likeliest(&self, temperatures: &[f64]) -> Vec<f64> {
        let n = self.scores.len();
        let mut weights = vec![1.0 / n as f64; n];
        let mut at = self.loss(&weights, temperatures);
        for _ in 0..30 {
            let goal = least_of_quadratic(&weights, &at);
            let mut step = 1.0;
            let next = loop {
                let tried: Vec<f64> = weights.iter().zip(&goal).map(|(from, to)| from + step * (to - from)).collect();
                let there = self.loss(&tried, temperatures);
                if there.value < at.value {
                    break Some((tried, there));
                }
                step /= 2.0;
                if step < 1e-4 {
                    break None;
                }
            };
            let Some((tried, there)) = next else { break };
            let gained = at.value - there.value;
            (weights, at) = (tried, there);
            if gained < 1e-9 * at.value.abs() {
                break;
            }
        }
        // Without a member that counts there would be no decision.
        if weights.iter().any(|&weight| weight > 0.0) { weights } else { self.near_the_best() }
    }

    /// The negative logarithm of the labels' likelihood, with its derivatives by the weights.
    fn loss(&self, weights: &[f64], temperatures: &[f64]) -> Loss {
        let (n, classes) = (weights.len(), self.truth.n_classes());
        let mut loss = Loss { value: 0.0, gradient: vec![0.0; n], hessian: vec![0.0; n * n] };
        let mut z = vec![0f64; n * classes];
        let mut p = vec![0f64; classes];
        for &row in &self.seen {
            let Some(&label) = self.truth.of(row).and_then(|labels| labels.first()) else { continue };
            p.fill(0.0);
            for member in 0..n {
                let own = &mut z[member * classes..(member + 1) * classes];
                for ((z, p), &score) in own.iter_mut().zip(&mut p).zip(self.scores[member].row(row)) {
                    *z = f64::from(score) / temperatures[member];
                    *p += weights[member] * *z;
                }
            }
            let most = p.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let right = p[label as usize];
            p.iter_mut().for_each(|p| *p = (*p - most).exp());
            let sum: f64 = p.iter().sum();
            p.iter_mut().for_each(|p| *p /= sum);
            loss.value += most + sum.ln() - right;
            let means: Vec<f64> =
                z.chunks_exact(classes).map(|own| own.iter().zip(&p).map(|(z, p)| z * p).sum()).collect();
            for a in 0..n {
                loss.gradient[a] += means[a] - z[a * classes + label as usize];
                for b in 0..=a {
                    let product: f64 =
                        (0..classes).map(|class| p[class] * z[a * classes + class] * z[b * classes + class]).sum();
                    loss.hessian[a * n + b] += product - means[a] * means[b];
                    loss.hessian[b * n + a] = loss.hessian[a * n + b];
                }
            }
        }
        loss
    }
}

/// What a member has said of documents held out in so many folds.
fn tried(member: &dyn AnyClassifier, folds: usize) -> Option<Dense> {
    let own = member.out_of_fold().filter(|_| member.calibration_folds() == folds);
    own.map(|own| own.scores.clone())
}

/// The rows of held-out documents whose class the documents to learn from have.
fn known_rows<'a>(fold: &'a Fold<'_>) -> impl Iterator<Item = usize> + 'a {
    let counts = fold.labels.class_counts();
    fold.held_rows.iter().enumerate().filter_map(move |(at, &row)| {
        let class = *fold.truth.of(at)?.first()?;
        (counts[class as usize] > 0).then_some(row)
    })
}

/// A function of the weights at a point, to second order.
struct Loss {
    value: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

/// Where the quadratic about `from` is least over weights that are not negative, by its coordinates in turn.
fn least_of_quadratic(from: &[f64], loss: &Loss) -> Vec<f64> {
    let n = from.len();
    let mut to = from.to_vec();
    for _ in 0..100 {
        for a in 0..n {
            let curvature = loss.hessian[a * n + a].max(1e-12);
            let slope = loss.gradient[a] + (0..n).map(|b| loss.hessian[a * n + b] * (to[b] - from[b])).sum::<f64>();
            to[a] = (to[a] - slope / curvature).max(0.0);
        }
    }
    to
}
