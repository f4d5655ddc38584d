//! One problem per class, solved four classes at a time by dual coordinate descent.
//!
//! For one class with signs yᵢ = ±1 and prices Cᵢ, the dual is
//! max Σ αᵢ − ½‖w‖² − ½ Σ dᵢαᵢ² with w = Σ αᵢyᵢxᵢ and 0 ≤ αᵢ ≤ uᵢ, where dᵢ = 0, uᵢ = Cᵢ for the hinge and dᵢ = 1/(2Cᵢ), uᵢ = ∞
//! for its square. Each visit of a document maximises over its αᵢ alone: with G = yᵢw·xᵢ − 1 + dᵢαᵢ,
//! αᵢ ← clamp(αᵢ − G/(‖xᵢ‖² + dᵢ), 0, uᵢ).
//!
//! A document whose α sits at a bound with a gradient that pushes it further out than any gradient of the pass before
//! is set aside for that class (shrinking) until the gap is measured. The losses met along a pass estimate the primal
//! objective for free; only when that estimate says the gap is closed is it measured, by one pass over all documents.

use rand::seq::SliceRandom;

use super::Loss;
use super::bias::{Bias, Documents, best_bias};
use crate::classify::assembly::Limits;
use crate::classify::lanes;
use crate::classify::packed::Packed;
use crate::wide::{by_place, wide};
use crate::{Result, Rng, Run};

/// Classes solved side by side.
pub(super) const LANES: usize = 4;

/// Documents visited in memory order between two jumps: long enough for the hardware to read ahead, short against
/// the number of documents, so that a pass is still random.
const BLOCK: usize = 64;

/// The gap is measured at least every so many passes, should the free estimate never fall low enough.
const PASSES_BETWEEN_CHECKS: usize = 20;

/// Up to [`LANES`] classes, each against others.
pub(super) struct Group {
    /// Bit `l` of a packed document: it is of the class in lane `l`.
    pub(super) signs: Vec<u8>,
    /// For each class, what an error on a document of it and on another counts.
    pub(super) counts: Vec<[f64; 2]>,
}

/// What is to be solved.
#[derive(Clone, Copy)]
pub(super) struct Problem<'a> {
    pub(super) documents: Documents<'a>,
    pub(super) group: &'a Group,
    pub(super) loss: Loss,
    pub(super) c: f64,
}

/// What was reached for a group of classes.
pub(super) struct Solution {
    pub(super) c: f64,
    /// By document, `lanes` side by side; empty where the weights were solved for themselves, and after the last fit of a path.
    pub(super) alpha: Vec<f32>,
    /// Weights by packed column, `lanes` side by side; empty where they are still to be made of α.
    pub(super) weights: Vec<f32>,
    pub(super) lanes: usize,
    pub(super) biases: Vec<f32>,
    pub(super) gaps: Vec<f64>,
    pub(super) passes: usize,
}

/// The state of up to [`LANES`] classes. `N` is how many are side by side.
struct Solver<'a, const N: usize> {
    data: &'a Packed,
    norms: &'a [f32],
    loss: Loss,
    group: &'a Group,
    /// For each lane, the price of an error on a document of its class, and on another.
    prices: [[f32; 2]; N],
    /// Bit `l` of a document: it is still visited for lane `l`.
    active: Vec<u8>,
    alpha: Vec<[f32; N]>,
    weights: Vec<[f32; N]>,
    bias: Bias,
    /// The fixed part of the bias (see [`Bias`]).
    offset: [f32; N],
    /// Σ αᵢyᵢ.
    pull: [f32; N],
    /// Largest and smallest projected gradient of the pass before.
    highest: [f32; N],
    lowest: [f32; N],
}

/// Solves the problem (of at most `N` classes) to the limits, starting from `last`, the solution at another cost.
pub(super) fn solve<const N: usize>(
    problem: Problem<'_>,
    limits: Limits,
    last: Option<&Solution>,
    mut rng: Rng,
    run: &Run,
) -> Result<Solution> {
    let Limits { tolerance, max_iter } = limits;
    let mut solver = Solver::<N>::new(problem);
    if let Some(last) = last {
        solver.resume(last, problem.c / last.c);
    }
    let classes = problem.group.counts.len();
    let mut blocks: Vec<usize> = (0..problem.documents.data.len().div_ceil(BLOCK)).collect();
    let mut gaps = vec![f64::INFINITY; classes];
    let (mut passes, mut since_check) = (0, 0);
    let mut biases = [0f32; N];
    // A warm start is soon done, so the gap is measured sooner (the estimate, of losses met before their step, is several
    // times too high in the first passes) and with a rougher bias.
    let (hope, precision) = if last.is_some() { (3.0, 0.1 * tolerance) } else { (1.5, 1e-3 * tolerance) };
    while passes < max_iter {
        run.check()?;
        blocks.shuffle(&mut rng);
        let met = solver.pass(&blocks);
        passes += 1;
        since_check += 1;
        let estimates = solver.gaps(met, solver.biases());
        let close = (0..classes).all(|lane| estimates[lane] <= hope * tolerance);
        if close || since_check == PASSES_BETWEEN_CHECKS || passes == max_iter {
            if since_check == PASSES_BETWEEN_CHECKS {
                solver.refresh();
            }
            since_check = 0;
            let losses;
            (losses, biases) = solver.losses(precision);
            gaps.copy_from_slice(&solver.gaps(losses, biases)[..classes]);
            if gaps.iter().all(|&gap| gap <= tolerance) {
                break;
            }
            solver.unshrink();
        }
        solver.offset = solver.biases().map(|score| solver.bias.next_offset(score));
    }
    let (alpha, weights) = (solver.alpha.into_flattened(), solver.weights.into_flattened());
    Ok(Solution { c: problem.c, alpha, weights, lanes: N, biases: biases.to_vec(), gaps, passes })
}

impl<'a, const N: usize> Solver<'a, N> {
    fn new(Problem { documents: Documents { data, norms, bias }, group, loss, c }: Problem<'a>) -> Self {
        debug_assert!(group.counts.len() <= N && N <= 8);
        let prices = |lane: usize| group.counts.get(lane).map_or([1.0; 2], |counts| counts.map(|n| (n * c) as f32));
        let mut solver = Solver {
            data,
            norms,
            bias,
            offset: [0.0; N],
            pull: [0.0; N],
            loss,
            group,
            prices: std::array::from_fn(prices),
            active: vec![0; data.len()],
            alpha: vec![[0.0; N]; data.len()],
            weights: vec![[0.0; N]; data.total_columns()],
            highest: [0.0; N],
            lowest: [0.0; N],
        };
        solver.unshrink();
        solver
    }

    /// Starts from the solution at a cost that was `growth` times smaller.
    ///
    /// Where errors are cheap α grows like C, where they are dear it hardly moves; the multiple of α that maximises D is
    /// near the first there and the second here. α ≤ C stays so, the multiple being at most `growth` under the hinge.
    fn resume(&mut self, last: &Solution, growth: f64) {
        self.alpha.copy_from_slice(last.alpha.as_chunks().0);
        if last.weights.is_empty() {
            self.bound();
            self.refresh();
        } else {
            self.weights.copy_from_slice(last.weights.as_chunks().0);
        }
        let mut curvature = self.squared_lengths();
        let (mut linear, mut pull) = ([0f64; N], [0f64; N]);
        for ((alpha, &signs), &count) in self.alpha.iter().zip(&self.group.signs).zip(&self.data.weights) {
            for lane in 0..N {
                let value = f64::from(alpha[lane]);
                let positive = signs >> lane & 1 == 1;
                pull[lane] += if positive { value } else { -value };
                linear[lane] += value;
                curvature[lane] += 2.0 * self.ridge(count, lane, positive) * value * value;
            }
        }
        let most = if self.loss == Loss::SquaredHinge { f64::INFINITY } else { growth };
        let multiple: [f32; N] = by_place(|lane| {
            let curvature = curvature[lane] + 2.0 * self.bias.conjugate(pull[lane]);
            if curvature > 0.0 { (linear[lane] / curvature).min(most) as f32 } else { 1.0 }
        });
        for values in self.alpha.iter_mut().chain(&mut self.weights) {
            for lane in 0..N {
                values[lane] *= multiple[lane];
            }
        }
        self.pull = by_place(|lane| (pull[lane] * f64::from(multiple[lane])) as f32);
        // The bias that belongs to α at the minimum.
        self.offset = self.pull.map(|pull| self.bias.next_offset(self.bias.of_pull(pull)));
    }

    /// Brings α that belongs to other prices within the bounds of these.
    fn bound(&mut self) {
        if self.loss == Loss::SquaredHinge {
            return;
        }
        for ((alpha, &signs), &count) in self.alpha.iter_mut().zip(&self.group.signs).zip(&self.data.weights) {
            for (lane, alpha) in alpha.iter_mut().enumerate() {
                *alpha = alpha.min(count * self.prices[lane][usize::from(signs >> lane & 1 == 0)]);
            }
        }
    }

    /// Makes the weights from α anew, without the rounding of all the steps that led there.
    fn refresh(&mut self) {
        self.weights.fill([0.0; N]);
        self.pull = [0.0; N];
        for document in 0..self.data.len() {
            let (alpha, signs) = (self.alpha[document], self.group.signs[document]);
            if alpha != [0.0; N] {
                let signed = |lane: usize| if signs >> lane & 1 == 1 { alpha[lane] } else { -alpha[lane] };
                self.add(document, by_place(signed));
            }
        }
    }

    fn unshrink(&mut self) {
        let all = ((1u16 << self.group.counts.len()) - 1) as u8;
        self.active.iter_mut().for_each(|bits| *bits = all);
        (self.highest, self.lowest) = ([f32::INFINITY; N], [f32::NEG_INFINITY; N]);
    }

    #[inline(always)]
    fn scores(&self, document: usize) -> [f32; N] {
        let (columns, values) = self.data.sparse_row(document);
        let mut scores = lanes::dot(columns, values, &self.weights);
        let biases = self.biases();
        for lane in 0..N {
            scores[lane] += biases[lane];
        }
        if self.data.dense.cols() > 0 {
            let dense = lanes::dot_dense(self.data.dense.row(document), &self.weights[self.data.sparse_columns()..]);
            for lane in 0..N {
                scores[lane] += dense[lane];
            }
        }
        scores
    }

    #[inline(always)]
    fn add(&mut self, document: usize, mut scale: [f32; N]) {
        let pull = &mut self.pull;
        for lane in 0..N {
            pull[lane] += scale[lane];
        }
        let (columns, values) = self.data.sparse_row(document);
        lanes::add(columns, values, scale, &mut self.weights);
        if self.data.dense.cols() > 0 {
            let (positive, negative) = self.data.dense.row(document).split_at(self.data.negative_start);
            let to = &mut self.weights[self.data.sparse_columns()..];
            lanes::add_dense(positive, scale, to);
            scale.iter_mut().for_each(|scale| *scale = -*scale);
            lanes::add_dense(negative, scale, &mut to[positive.len()..]);
        }
    }

    /// One visit of every active document. Returns the losses met on the way.
    fn pass(&mut self, blocks: &[usize]) -> [f64; N] {
        wide(
            #[inline(always)]
            || self.visit(blocks),
        )
    }

    #[inline(always)]
    fn visit(&mut self, blocks: &[usize]) -> [f64; N] {
        let mut met = [0f64; N];
        let (mut highest, mut lowest) = ([f32::NEG_INFINITY; N], [f32::INFINITY; N]);
        let prices = self.prices;
        let squared = self.loss == Loss::SquaredHinge;
        for &block in blocks {
            for document in block * BLOCK..((block + 1) * BLOCK).min(self.data.len()) {
                let active = self.active[document];
                if active == 0 {
                    continue;
                }
                let scores = self.scores(document);
                let (norm, count) = (self.norms[document] + self.bias.feature(), self.data.weights[document]);
                let (signs, before) = (self.group.signs[document], self.alpha[document]);
                let mut after = before;
                let mut scale = [0f32; N];
                let (mut set_aside, mut has_moved) = (0u8, false);
                for lane in 0..N {
                    let on = active >> lane & 1 == 1;
                    let positive = signs >> lane & 1 == 1;
                    let sign = if positive { 1.0f32 } else { -1.0 };
                    let price = count * prices[lane][usize::from(!positive)];
                    let (ridge, upper) = if squared { (0.5 / price, f32::INFINITY) } else { (0.0, price) };
                    let slack = (1.0 - sign * scores[lane]).max(0.0);
                    let loss = price * if squared { slack * slack } else { slack };
                    met[lane] += if on { f64::from(loss) } else { 0.0 };
                    let gradient = sign * scores[lane] - 1.0 + ridge * before[lane];
                    let (at_zero, at_upper) = (before[lane] <= 0.0, before[lane] >= upper);
                    let shrink =
                        (at_zero && gradient > self.highest[lane]) || (at_upper && gradient < self.lowest[lane]);
                    set_aside |= u8::from(shrink) << lane;
                    let projected =
                        if at_zero && gradient > 0.0 || at_upper && gradient < 0.0 { 0.0 } else { gradient };
                    if on {
                        highest[lane] = highest[lane].max(projected);
                        lowest[lane] = lowest[lane].min(projected);
                    }
                    // A document of length 0 has no curvature under the hinge: it goes straight to its bound.
                    let curvature = (norm + ridge).max(1e-12);
                    let moved = (before[lane] - gradient / curvature).max(0.0).min(upper);
                    after[lane] = if on { moved } else { before[lane] };
                    has_moved |= after[lane] != before[lane];
                    scale[lane] = (after[lane] - before[lane]) * sign;
                }
                self.active[document] = active & !set_aside;
                if has_moved {
                    self.alpha[document] = after;
                    self.add(document, scale);
                }
            }
        }
        for lane in 0..N {
            // A bound that would set nothing aside is replaced by one that cannot set everything aside.
            self.highest[lane] = if highest[lane] > 0.0 { highest[lane] } else { f32::INFINITY };
            self.lowest[lane] = if lowest[lane] < 0.0 { lowest[lane] } else { f32::NEG_INFINITY };
        }
        met
    }

    /// What each class adds to every score.
    #[inline(always)]
    fn biases(&self) -> [f32; N] {
        let feature = self.bias.feature();
        by_place(|lane| self.offset[lane] + feature * self.pull[lane])
    }

    /// The losses of all documents under the weights as they stand with each bias moved to where it serves P best; and
    /// those biases.
    ///
    /// Every document pulls at the bias, so it still swings with the last documents of a pass when all other weights
    /// have settled.
    fn losses(&self, precision: f64) -> ([f64; N], [f32; N]) {
        let mut slacks: [Vec<f32>; N] = std::array::from_fn(|_| Vec::with_capacity(self.data.len()));
        wide(
            #[inline(always)]
            || {
                for document in 0..self.data.len() {
                    let scores = self.scores(document);
                    for lane in 0..self.group.counts.len() {
                        slacks[lane].push(1.0 - self.terms(document, lane).0 * scores[lane]);
                    }
                }
            },
        );
        let (mut losses, mut biases) = ([0f64; N], self.biases());
        for lane in 0..self.group.counts.len() {
            let of = |document: usize| self.terms(document, lane);
            (losses[lane], biases[lane]) = best_bias(&slacks[lane], of, biases[lane], self.bias, self.loss, precision);
        }
        (losses, biases)
    }

    /// The sign of a document for a lane, and the price of an error on it.
    #[inline(always)]
    fn terms(&self, document: usize, lane: usize) -> (f32, f32) {
        let positive = self.group.signs[document] >> lane & 1 == 1;
        let price = self.data.weights[document] * self.prices[lane][usize::from(!positive)];
        (if positive { 1.0 } else { -1.0 }, price)
    }

    /// (P − D)/P for each lane, given the losses and the biases in P.
    fn gaps(&self, losses: [f64; N], biases: [f32; N]) -> [f64; N] {
        let squares = self.squared_lengths();
        let (mut linear, mut pull) = ([0f64; N], [0f64; N]);
        for ((alpha, &signs), &count) in self.alpha.iter().zip(&self.group.signs).zip(&self.data.weights) {
            for lane in 0..N {
                let value = f64::from(alpha[lane]);
                let positive = signs >> lane & 1 == 1;
                pull[lane] += if positive { value } else { -value };
                linear[lane] += value - self.ridge(count, lane, positive) * value * value;
            }
        }
        by_place(|lane| {
            let primal = 0.5 * squares[lane] + self.bias.penalty(f64::from(biases[lane])) + losses[lane];
            let dual = linear[lane] - 0.5 * squares[lane] - self.bias.conjugate(pull[lane]);
            if primal > 0.0 { ((primal - dual) / primal).max(0.0) } else { 0.0 }
        })
    }

    /// ½dᵢ of a document that counts `count`.
    #[inline(always)]
    fn ridge(&self, count: f32, lane: usize, positive: bool) -> f64 {
        let price = count * self.prices[lane][usize::from(!positive)];
        if self.loss == Loss::SquaredHinge { 0.25 / f64::from(price) } else { 0.0 }
    }

    /// ‖w‖² without the bias.
    fn squared_lengths(&self) -> [f64; N] {
        let mut sums = [0f64; N];
        let (plain, negative) = self.weights.split_at(self.data.first_negative());
        for weight in plain {
            for lane in 0..N {
                sums[lane] += f64::from(weight[lane]) * f64::from(weight[lane]);
            }
        }
        for weight in negative {
            for lane in 0..N {
                sums[lane] -= f64::from(weight[lane]) * f64::from(weight[lane]);
            }
        }
        sums
    }
}
