//! One problem over all classes: the right class must beat each other by 1 (Crammer and Singer, 2001).
//!
//! P = ½ Σ_m ‖w_m‖² + Σᵢ Cᵢ max_m (1 − [m = yᵢ] − (w_{yᵢ} − w_m)·xᵢ). The dual has one αᵢᵐ per document and class with
//! Σ_m αᵢᵐ = 0, αᵢᵐ ≤ Cᵢ[m = yᵢ] and w_m = Σᵢ αᵢᵐxᵢ; D = Σᵢ αᵢ^{yᵢ} − ½ Σ_m ‖w_m‖². Documents are visited in turn and all αᵢᵐ of one
//! are set to their joint maximum (Keerthi et al., 2008): with a = ‖xᵢ‖², Bᵐ = w_m·xᵢ + [m ≠ yᵢ] − aαᵢᵐ it is
//! αᵢᵐ = min(Cᵢ[m = yᵢ], (β − Bᵐ)/a) for the β that makes the sum 0. We find β by discarding classes below it until none
//! is left to discard (Michelot, 1986), not by sorting.
//!
//! A pass costs O(stored values · classes). α takes 4 bytes for each document and class.

use rand::seq::SliceRandom;

use super::bias::{Bias, Documents};
use crate::classify::assembly::Limits;
use crate::classify::lanes;
use crate::classify::packed::Packed;
use crate::wide::wide;
use crate::{Result, Rng, Run};

const BLOCK: usize = 64;
const PASSES_BETWEEN_CHECKS: usize = 20;

/// What was reached.
pub(super) struct Solution {
    c: f64,
    /// For each document, its classes in tiles of `lanes`.
    alpha: Vec<f32>,
    /// For each tile of `lanes` classes, the weights by packed column, classes side by side.
    pub(super) tiles: Vec<Vec<f32>>,
    pub(super) lanes: usize,
    pub(super) biases: Vec<f32>,
    pub(super) passes: usize,
    pub(super) gap: f64,
}

/// What is to be solved.
pub(super) struct Problem<'a> {
    pub(super) documents: Documents<'a>,
    /// The class of each document, numbered without gaps.
    pub(super) truth: &'a [u32],
    /// What an error on each document costs.
    pub(super) prices: &'a [f32],
    /// C, which the prices are already multiplied by.
    pub(super) c: f64,
}

/// Weights and α in tiles of `N` classes side by side; the last tile may have lanes without a class, which stay 0.
struct Solver<'a, const N: usize> {
    data: &'a Packed,
    norms: &'a [f32],
    truth: &'a [u32],
    prices: &'a [f32],
    classes: usize,
    tiles: Vec<Vec<[f32; N]>>,
    /// Tiles of the first document, then of the second …
    alpha: Vec<[f32; N]>,
    bias: Bias,
    /// For each class, the fixed part of its bias (see [`Bias`]) and Σ αᵢ.
    offset: Vec<f32>,
    pull: Vec<f32>,
    active: Vec<bool>,
    /// How far the gradient of the most violating document of the pass before was from its optimum.
    violation: f32,
}

/// Solves for `classes` classes to the limits, starting from `last`, the solution at another cost.
pub(super) fn solve<const N: usize>(
    problem: Problem<'_>,
    classes: usize,
    limits: Limits,
    last: Option<&Solution>,
    mut rng: Rng,
    run: &Run,
) -> Result<Solution> {
    let Limits { tolerance, max_iter } = limits;
    let Problem { documents: Documents { data, norms, bias }, truth, prices, c } = problem;
    let tiles = classes.div_ceil(N);
    let mut solver = Solver::<N> {
        data,
        norms,
        truth,
        prices,
        classes,
        tiles: vec![vec![[0.0; N]; data.total_columns()]; tiles],
        alpha: vec![[0.0; N]; data.len() * tiles],
        bias,
        offset: vec![0.0; tiles * N],
        pull: vec![0.0; tiles * N],
        active: vec![true; data.len()],
        violation: f32::INFINITY,
    };
    if let Some(last) = last {
        solver.resume(last, c / last.c);
    }
    let mut blocks: Vec<usize> = (0..data.len().div_ceil(BLOCK)).collect();
    let (mut passes, mut since_check, mut gap) = (0, 0, f64::INFINITY);
    while passes < max_iter {
        run.check()?;
        blocks.shuffle(&mut rng);
        let met = solver.pass(&blocks);
        passes += 1;
        since_check += 1;
        // Losses met on the way are of weights that changed meanwhile and miss the inactive documents, so they only tell when it
        // is worth a pass to measure the gap itself.
        let close = solver.gap(met) <= 1.5 * tolerance;
        if close || since_check == PASSES_BETWEEN_CHECKS || passes == max_iter {
            since_check = 0;
            gap = solver.gap(solver.losses());
            if gap <= tolerance {
                break;
            }
            // Some were passed over too early, or the gap would be closed: all are looked at again.
            solver.active.iter_mut().for_each(|active| *active = true);
            solver.violation = f32::INFINITY;
        }
        if passes < max_iter {
            solver.offset = solver.biases().into_iter().map(|score| bias.next_offset(score)).collect();
        }
    }
    let biases = solver.biases();
    let tiles = solver.tiles.into_iter().map(Vec::into_flattened).collect();
    Ok(Solution { c, alpha: solver.alpha.into_flattened(), tiles, lanes: N, biases, passes, gap })
}

impl<const N: usize> Solver<'_, N> {
    /// Starts from the multiple of the solution at a cost `growth` times smaller that maximises D, which is at most
    /// `growth` for αᵢᵐ ≤ Cᵢ[m = yᵢ] to stay so.
    fn resume(&mut self, last: &Solution, growth: f64) {
        let width = self.tiles.len() * N;
        for (tile, last) in self.tiles.iter_mut().zip(&last.tiles) {
            tile.copy_from_slice(last.as_chunks().0);
        }
        let pull = |class: usize| last.alpha.iter().skip(class).step_by(width).map(|&alpha| f64::from(alpha)).sum();
        let conjugate: f64 = (0..self.classes).map(|class| self.bias.conjugate(pull(class))).sum();
        let curvature = self.squared_length() + 2.0 * conjugate;
        let multiple = (self.linear(&last.alpha) / curvature).min(growth);
        let multiple = if curvature > 0.0 { multiple as f32 } else { 1.0 };
        self.tiles.iter_mut().for_each(|tile| tile.fill([0.0; N]));
        let mut alpha = vec![0f32; width];
        for (document, last) in last.alpha.chunks(width).enumerate() {
            // An empty document's α is set when it is 0, and only then.
            if self.norms[document] + self.bias.feature() > 0.0 && last.iter().any(|&alpha| alpha != 0.0) {
                alpha.iter_mut().zip(last).for_each(|(alpha, last)| *alpha = multiple * last);
                self.alpha.as_flattened_mut()[document * width..][..width].copy_from_slice(&alpha);
                self.add(document, &alpha);
            }
        }
        self.offset = self.pull.iter().map(|&pull| self.bias.next_offset(self.bias.of_pull(pull))).collect();
    }

    /// What each class adds to every score.
    fn biases(&self) -> Vec<f32> {
        let feature = self.bias.feature();
        self.offset.iter().zip(&self.pull).map(|(offset, pull)| offset + feature * pull).collect()
    }

    /// Scores of a document for every class, written over `scores` (tiles · N long).
    #[inline(always)]
    fn score(&self, document: usize, scores: &mut [f32]) {
        let (columns, values) = self.data.sparse_row(document);
        let dense = self.data.dense.row(document);
        for (tile, out) in self.tiles.iter().zip(scores.as_chunks_mut::<N>().0) {
            *out = lanes::dot(columns, values, tile);
            if !dense.is_empty() {
                let more = lanes::dot_dense(dense, &tile[self.data.sparse_columns()..]);
                for lane in 0..N {
                    out[lane] += more[lane];
                }
            }
        }
        let feature = self.bias.feature();
        for ((score, offset), pull) in scores.iter_mut().zip(&self.offset).zip(&self.pull) {
            *score += offset + feature * pull;
        }
    }

    #[inline(always)]
    fn add(&mut self, document: usize, scales: &[f32]) {
        let (columns, values) = self.data.sparse_row(document);
        let (positive, negative) = self.data.dense.row(document).split_at(self.data.negative_start);
        for (pull, scale) in self.pull.iter_mut().zip(scales) {
            *pull += scale;
        }
        for (tile, scale) in self.tiles.iter_mut().zip(scales.as_chunks::<N>().0) {
            if *scale == [0.0; N] {
                continue;
            }
            lanes::add(columns, values, *scale, tile);
            let to = &mut tile[self.data.sparse_columns()..];
            lanes::add_dense(positive, *scale, to);
            lanes::add_dense(negative, scale.map(|scale| -scale), &mut to[positive.len()..]);
        }
    }

    /// One visit of every active document. Returns the losses met on the way.
    fn pass(&mut self, blocks: &[usize]) -> f64 {
        wide(
            #[inline(always)]
            || self.visit(blocks),
        )
    }

    #[inline(always)]
    fn visit(&mut self, blocks: &[usize]) -> f64 {
        let tiles = self.tiles.len();
        let (mut b, mut change) = (vec![0f32; tiles * N], vec![0f32; tiles * N]);
        let (mut met, mut violation) = (0f64, 0f32);
        let feature = self.bias.feature();
        for &block in blocks {
            for document in block * BLOCK..((block + 1) * BLOCK).min(self.data.len()) {
                if !self.active[document] {
                    continue;
                }
                self.score(document, &mut b);
                let (truth, price, norm) =
                    (self.truth[document] as usize, self.prices[document], self.norms[document] + feature);
                let alpha = &mut self.alpha.as_flattened_mut()[document * tiles * N..][..self.classes];
                let b = &mut b[..self.classes];
                // b holds the gradient wᵐ·x + [m ≠ y] first, then B.
                let own = b[truth];
                b.iter_mut().for_each(|b| *b += 1.0);
                b[truth] = own;
                let highest = b.iter().fold(f32::NEG_INFINITY, |highest, &b| highest.max(b));
                met += f64::from(price * (highest - own));
                let idle = alpha[truth] <= 0.0;
                if idle && highest <= own {
                    // Nothing to gain here; when the margin is wide against what is still moving, nothing soon either.
                    let rival = b.iter().enumerate().filter(|(class, _)| *class != truth);
                    let rival = rival.fold(f32::NEG_INFINITY, |highest, (_, &b)| highest.max(b));
                    self.active[document] = own - rival <= self.violation;
                    continue;
                }
                if norm <= 0.0 {
                    // An empty document is lost whatever the weights are: its share of the dual is its price.
                    if idle && self.classes > 1 {
                        alpha[truth] = price;
                        alpha[(truth + 1) % self.classes] = -price;
                    }
                    continue;
                }
                let lowest = lowest_movable(b, alpha, truth, price);
                violation = violation.max(highest - lowest);
                // From here on b is B: the gradient without this document's own share in the weights.
                for (b, alpha) in b.iter_mut().zip(alpha.iter()) {
                    *b -= norm * *alpha;
                }
                let beta = threshold(b, truth, norm * price);
                let mut moved = false;
                for class in 0..self.classes {
                    let upper = if class == truth { price } else { 0.0 };
                    let target = ((beta - b[class]) / norm).min(upper);
                    change[class] = target - alpha[class];
                    moved |= change[class] != 0.0;
                    alpha[class] = target;
                }
                if moved {
                    self.add(document, &change);
                }
            }
        }
        self.violation = if violation > 0.0 { violation } else { f32::INFINITY };
        met
    }

    fn losses(&self) -> f64 {
        let mut scores = vec![0f32; self.tiles.len() * N];
        let mut sum = 0f64;
        for document in 0..self.data.len() {
            self.score(document, &mut scores);
            let truth = self.truth[document] as usize;
            let own = scores[truth];
            let mut loss = 0f32;
            for (class, &score) in scores[..self.classes].iter().enumerate() {
                loss = loss.max(score - own + if class == truth { 0.0 } else { 1.0 });
            }
            sum += f64::from(self.prices[document] * loss);
        }
        sum
    }

    /// (P − D)/P, given the losses in P.
    fn gap(&self, losses: f64) -> f64 {
        let (square, linear) = (self.squared_length(), self.linear(self.alpha.as_flattened()));
        let penalty: f64 = self.biases().iter().map(|&bias| self.bias.penalty(f64::from(bias))).sum();
        let conjugate: f64 = self.pull.iter().map(|&pull| self.bias.conjugate(f64::from(pull))).sum();
        let (primal, dual) = (0.5 * square + penalty + losses, linear - 0.5 * square - conjugate);
        if primal > 0.0 { ((primal - dual) / primal).max(0.0) } else { 0.0 }
    }

    /// Σ_m ‖w_m‖² without the biases.
    fn squared_length(&self) -> f64 {
        let mut square = 0f64;
        for tile in &self.tiles {
            for (column, weight) in tile.iter().enumerate() {
                let length: f64 = weight.iter().map(|&w| f64::from(w) * f64::from(w)).sum();
                square += if column < self.data.first_negative() { length } else { -length };
            }
        }
        square
    }

    /// Σᵢ αᵢ^{yᵢ}.
    fn linear(&self, alpha: &[f32]) -> f64 {
        let width = self.tiles.len() * N;
        self.truth.iter().enumerate().map(|(i, &class)| f64::from(alpha[i * width + class as usize])).sum()
    }
}

/// The smallest gradient among the classes whose α can still grow.
fn lowest_movable(gradient: &[f32], alpha: &[f32], truth: usize, price: f32) -> f32 {
    let mut lowest = f32::INFINITY;
    for (class, (&gradient, &alpha)) in gradient.iter().zip(alpha).enumerate() {
        if alpha < if class == truth { price } else { 0.0 } {
            lowest = lowest.min(gradient);
        }
    }
    lowest
}

/// The β with β = (Σ_{S} Dᵐ − `mass`)/|S| over S = {m: Dᵐ > β}, where D is b with `mass` added to the true class.
fn threshold(b: &[f32], truth: usize, mass: f32) -> f32 {
    let mut beta = f32::NEG_INFINITY;
    loop {
        let (mut sum, mut count) = (0f32, 0f32);
        for &b in b {
            let keep = b > beta;
            sum += if keep { b } else { 0.0 };
            count += if keep { 1.0 } else { 0.0 };
        }
        // The true class's own D is b + mass, and the mass to hand out is `mass`: they cancel while it is kept.
        let own = b[truth];
        if own <= beta {
            if own + mass > beta {
                sum += own;
                count += 1.0;
            } else {
                sum -= mass;
            }
        }
        let next = sum / count;
        if next > beta {
            beta = next;
        } else {
            return if beta.is_finite() { beta } else { next };
        }
    }
}
