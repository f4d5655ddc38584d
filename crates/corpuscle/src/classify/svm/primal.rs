//! One problem per class by Newton's method on the weights, where documents are many and columns few and dense.
//!
//! Under the squared hinge P(w) = ½‖w‖² + Σ Cᵢξᵢ² is smooth and quadratic wherever no document crosses its margin. With
//! A the documents inside theirs, the gradient is w − Σ_A 2Cᵢξᵢyᵢxᵢ and the Hessian I + Σ_A 2Cᵢxᵢxᵢᵀ; a step goes to the
//! minimum of that quadratic, halved until P falls enough. αᵢ = 2Cᵢξᵢ is feasible in the dual, so the gap is known for
//! free. Five to ten steps of O(|A|·columns²) whatever the number of documents, where coordinate descent on so few
//! directions needs more passes the more documents there are: twenty classes of 160 000 documents in 19 columns took
//! 28 s, and take 1.3 s so.
//!
//! Reference: Keerthi and DeCoste (2005), "A modified finite Newton method for fast solution of large scale linear
//! SVMs". We differ in solving the equations by Cholesky, the columns being few.

use super::one_vs_rest::{Problem, Solution};
use super::{Loss, bias::Documents};
use crate::classify::assembly::Limits;
use crate::classify::packed::Packed;
use crate::matrix::cholesky::solve_symmetric;
use crate::wide::wide;
use crate::{Result, Run};

/// Most columns: beyond, writing out the Hessian costs more than the passes of coordinate descent.
const MOST_COLUMNS: usize = 64;
/// Fewest documents for each column: with fewer, coordinate descent is soon done.
const DOCUMENTS_FOR_A_COLUMN: usize = 20;
/// The share of the expected fall of P that a step must bring, and how often it is halved for it.
const ENOUGH: f64 = 1e-4;
const MOST_HALVINGS: usize = 30;

/// Whether documents are many and columns few and dense, so that this way is the faster one.
pub(super) fn suits(data: &Packed, loss: Loss) -> bool {
    let columns = data.dense.cols();
    loss == Loss::SquaredHinge
        && data.sparse_columns() == 0
        && data.negative_start == columns
        && (1..=MOST_COLUMNS).contains(&columns)
        && data.len() >= DOCUMENTS_FOR_A_COLUMN * columns
}

/// Solves the problem of each class of the group to the limits, starting from the weights of `last`.
pub(super) fn solve<const N: usize>(
    problem: Problem<'_>,
    limits: Limits,
    last: Option<&Solution>,
    run: &Run,
) -> Result<Solution> {
    let columns = problem.documents.data.dense.cols();
    let classes = problem.group.counts.len();
    let mut weights = last.map_or_else(|| vec![0f32; columns * N], |last| last.weights.clone());
    let mut biases = last.map_or_else(|| vec![0f32; N], |last| last.biases.clone());
    let mut gaps = vec![f64::INFINITY; classes];
    let mut steps = 0;
    for lane in 0..classes {
        let start = (0..columns).map(|column| weights[column * N + lane]).chain([biases[lane]]);
        let mut class = Class::new(problem, lane, start.map(f64::from).collect());
        let taken = class.descend(limits, run)?;
        (gaps[lane], steps) = (class.gap, steps.max(taken));
        class.w[..columns].iter().enumerate().for_each(|(column, &w)| weights[column * N + lane] = w as f32);
        biases[lane] = class.w[columns] as f32;
    }
    Ok(Solution { c: problem.c, alpha: Vec::new(), weights, lanes: N, biases, gaps, passes: steps })
}

/// The problem of one class.
struct Class<'a> {
    problem: Problem<'a>,
    lane: usize,
    /// The weights and, last, the bias.
    w: Vec<f64>,
    /// yᵢ·score of each document.
    margins: Vec<f64>,
    gap: f64,
}

impl<'a> Class<'a> {
    fn new(problem: Problem<'a>, lane: usize, w: Vec<f64>) -> Self {
        let mut class = Class { problem, lane, w, margins: Vec::new(), gap: f64::INFINITY };
        class.margins = class.along(&class.w);
        class
    }

    /// Takes steps until the gap is small enough, and says how many.
    fn descend(&mut self, limits: Limits, run: &Run) -> Result<usize> {
        let mut steps = 0;
        loop {
            run.check()?;
            let (gradient, mut hessian) = self.derivatives();
            if self.gap <= limits.tolerance || steps == limits.max_iter {
                return Ok(steps);
            }
            let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
            let size = step.len();
            solve_symmetric(&mut hessian, size, &mut step, 1, run)?;
            steps += 1;
            if !self.go(&step, &gradient) {
                // Nothing is gained beyond the rounding of P.
                return Ok(steps);
            }
        }
    }

    /// The gradient and the lower triangle of the Hessian, row by row; the gap on the way.
    fn derivatives(&mut self) -> (Vec<f64>, Vec<f64>) {
        let Documents { data, bias, .. } = self.problem.documents;
        let columns = data.dense.cols();
        let size = columns + 1;
        let (mut pull, mut hessian) = (vec![0f64; size], vec![0f64; size * size]);
        let (mut losses, mut linear) = (0f64, 0f64);
        let mut x = vec![0f64; size];
        // Without a bias its row is that of a column always 0.
        x[columns] = if bias.stiffness().is_finite() { 1.0 } else { 0.0 };
        wide(
            #[inline(always)]
            || {
                for document in 0..data.len() {
                    let slack = 1.0 - self.margins[document];
                    if slack <= 0.0 {
                        continue;
                    }
                    let (sign, price) = self.terms(document);
                    let alpha = 2.0 * price * slack;
                    losses += price * slack * slack;
                    // α − α²/(4C): what the document adds to the dual.
                    linear += alpha - 0.5 * alpha * slack;
                    x.iter_mut().zip(data.dense.row(document)).for_each(|(to, &value)| *to = f64::from(value));
                    add_multiple(&mut pull, sign * alpha, &x);
                    for (row, out) in hessian.chunks_exact_mut(size).enumerate() {
                        add_multiple(&mut out[..=row], 2.0 * price * x[row], &x);
                    }
                }
            },
        );
        let mut gradient = vec![0f64; size];
        let (mut primal, mut dual) = (losses, linear);
        for column in 0..size {
            let stiffness = self.stiffness(column);
            primal += 0.5 * stiffness * self.w[column].powi(2);
            dual -= 0.5 * pull[column].powi(2) / stiffness;
            gradient[column] = stiffness * self.w[column] - pull[column];
            hessian[column * size + column] += stiffness;
        }
        self.gap = if primal > 0.0 { ((primal - dual) / primal).max(0.0) } else { 0.0 };
        (gradient, hessian)
    }

    /// What the square of a weight costs, twice; of the bias 1/B².
    fn stiffness(&self, column: usize) -> f64 {
        let stiffness = self.problem.documents.bias.stiffness();
        if column == self.w.len() - 1 && stiffness.is_finite() { stiffness } else { 1.0 }
    }

    /// Goes along `step`, halved until P falls enough. False when it never does.
    fn go(&mut self, step: &[f64], gradient: &[f64]) -> bool {
        let along = self.along(step);
        let before = self.objective(&[], 0.0, &along);
        let slope: f64 = step.iter().zip(gradient).map(|(s, g)| s * g).sum();
        let mut length = 1.0;
        for _ in 0..MOST_HALVINGS {
            if self.objective(step, length, &along) <= before + ENOUGH * length * slope {
                self.w.iter_mut().zip(step).for_each(|(w, s)| *w += length * s);
                self.margins.iter_mut().zip(&along).for_each(|(margin, change)| *margin += length * change);
                return true;
            }
            length *= 0.5;
        }
        false
    }

    /// P after a step of this length.
    fn objective(&self, step: &[f64], length: f64, along: &[f64]) -> f64 {
        let mut sum = 0f64;
        for (column, &w) in self.w.iter().enumerate() {
            let w = w + length * step.get(column).unwrap_or(&0.0);
            sum += 0.5 * self.stiffness(column) * w * w;
        }
        for (document, (margin, change)) in self.margins.iter().zip(along).enumerate() {
            let slack = 1.0 - (margin + length * change);
            if slack > 0.0 {
                sum += self.terms(document).1 * slack * slack;
            }
        }
        sum
    }

    /// yᵢ times what the weights `w` make of each document.
    fn along(&self, w: &[f64]) -> Vec<f64> {
        let data = self.problem.documents.data;
        let (bias, w) = w.split_last().unwrap_or((&0.0, &[]));
        let bias = if self.problem.documents.bias.stiffness().is_finite() { *bias } else { 0.0 };
        let score = |document: usize| -> f64 {
            let row = data.dense.row(document);
            bias + row.iter().zip(w).map(|(&x, w)| f64::from(x) * w).sum::<f64>()
        };
        (0..data.len()).map(|document| self.terms(document).0 * score(document)).collect()
    }

    /// The sign of a document and the price of an error on it.
    fn terms(&self, document: usize) -> (f64, f64) {
        let Problem { documents, group, c, .. } = self.problem;
        let positive = group.signs[document] >> self.lane & 1 == 1;
        let price = group.counts[self.lane][usize::from(!positive)] * c * f64::from(documents.data.weights[document]);
        (if positive { 1.0 } else { -1.0 }, price)
    }
}

/// `to += scale · from`, as far as `to` goes.
#[inline(always)]
fn add_multiple(to: &mut [f64], scale: f64, from: &[f64]) {
    let from = &from[..to.len()];
    for at in 0..to.len() {
        to[at] += scale * from[at];
    }
}
