//! What the solvers reached, put back into one weight vector and one bias per class of the labels.

use serde::{Deserialize, Serialize};

use super::LinearModel;
use super::packed::Packed;
use crate::corpus::Labels;
use crate::matrix::Dense;
use crate::{Error, Result, Run};

/// The score of a class that no document has: low enough never to win, finite so that it can be stored and squashed.
pub(super) const EMPTY_CLASS_BIAS: f32 = -1e3;

/// The score of a class that every document has.
const FULL_CLASS_BIAS: f32 = 1.0;

/// How far the solver came for one class. Crammer-Singer has one problem, reported for each class alike.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// Passes over the documents (SVM) or Newton steps (logistic regression).
    pub iterations: usize,
    /// The relative gap (P − bound)/P at the end.
    pub gap: f64,
    /// Whether the gap is within the tolerance asked for.
    pub converged: bool,
}

impl Reached {
    /// A class that needed no solving.
    pub(super) const AT_ONCE: Reached = Reached { iterations: 0, gap: 0.0, converged: true };

    /// Tells the person which classes stopped short.
    pub(super) fn warn(all: &[Reached], stage: &str, classes: &[String], run: &Run) {
        let short: Vec<&str> = all.iter().zip(classes).filter(|(r, _)| !r.converged).map(|(_, c)| c.as_str()).collect();
        if let Some(first) = short.first() {
            let others = if short.len() > 1 { format!(" and {} more", short.len() - 1) } else { String::new() };
            let worst = all.iter().fold(0f64, |worst, reached| worst.max(reached.gap));
            run.warn(&format!(
                "{stage}: class {first}{others} stopped at max_iter before the tolerance was met (relative gap {worst:.1e}); \
                 raise max_iter, lower c, or bring the documents to length 1"
            ));
        }
    }
}

/// When a solver stops.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// At this relative gap …
    pub(super) tolerance: f64,
    /// … or after so many steps.
    pub(super) max_iter: usize,
}

impl Limits {
    pub(super) fn reached(self, iterations: usize, gap: f64) -> Reached {
        Reached { iterations, gap, converged: gap <= self.tolerance }
    }
}

/// Which classes there is something to learn about, and what the others score.
pub(super) struct Classes {
    /// The classes that some documents have and others have not, ascending.
    pub(super) open: Vec<usize>,
    /// For each class, how many documents have it or how many have not, whichever is fewer.
    pub(super) sizes: Vec<usize>,
    /// For each class, the score it starts from: that of a class no document or every document has, else 0.
    constant: Vec<f32>,
}

impl Classes {
    pub(super) fn new(data: &Packed, labels: &Labels) -> Self {
        let mut counts = vec![0usize; labels.n_classes()];
        for &row in &data.rows {
            labels.of(row).unwrap_or(&[]).iter().for_each(|&class| counts[class as usize] += 1);
        }
        let constant = |&count: &usize| match count {
            0 => EMPTY_CLASS_BIAS,
            all if all == data.len() => FULL_CLASS_BIAS,
            _ => 0.0,
        };
        let is_open = |&class: &usize| counts[class] > 0 && counts[class] < data.len();
        Classes {
            open: (0..counts.len()).filter(is_open).collect(),
            constant: counts.iter().map(constant).collect(),
            sizes: counts.iter().map(|&count| count.min(data.len() - count)).collect(),
        }
    }
}

/// A linear model under construction.
pub(super) struct Assembly {
    weights: Dense,
    bias: Vec<f32>,
    reached: Vec<Reached>,
}

impl Assembly {
    /// A model for the documents' columns in which only the constant classes are settled.
    pub(super) fn new(data: &Packed, classes: &Classes) -> Self {
        Assembly {
            weights: Dense::zeros(data.original_columns(), classes.constant.len()),
            bias: classes.constant.clone(),
            reached: vec![Reached::AT_ONCE; classes.constant.len()],
        }
    }

    /// Takes over the packed weights of classes: `weight(column, i)` is that of `classes[i]`. Column by column, because the
    /// classes of a column lie side by side in the model.
    pub(super) fn place(&mut self, data: &Packed, classes: &[usize], weight: impl Fn(usize, usize) -> f32) {
        let (width, weights) = (self.weights.cols(), self.weights.values_mut());
        data.for_each_source(|source, column| {
            let row = &mut weights[source * width..][..width];
            for (number, &class) in classes.iter().enumerate() {
                row[class] = weight(column, number);
            }
        });
    }

    /// Sets the bias of a class and how far its solver came.
    pub(super) fn settle(&mut self, class: usize, bias: f32, reached: Reached) {
        self.bias[class] = bias;
        self.reached[class] = reached;
    }

    /// Gives class `to` the negated scores of class `from`, both times `factor`.
    pub(super) fn mirror(&mut self, from: usize, to: usize, factor: f32) {
        let width = self.weights.cols().max(1);
        for row in self.weights.values_mut().chunks_exact_mut(width) {
            row[from] *= factor;
            row[to] = -row[from];
        }
        self.bias[from] *= factor;
        self.bias[to] = -self.bias[from];
        self.reached[to] = self.reached[from];
    }

    /// The model, unless a weight has overflowed.
    pub(super) fn finish(self) -> Result<(LinearModel, Vec<Reached>)> {
        let finite = self.weights.values().iter().chain(&self.bias).all(|value| value.is_finite());
        if !finite {
            let reason = "the weights overflowed; scale the documents (for example to length 1) or lower c";
            return Err(Error::data(reason));
        }
        Ok((LinearModel::new(self.weights, self.bias)?, self.reached))
    }
}
