//! Truncated Newton's method with preconditioned conjugate gradients, for several classes side by side.
//!
//! P(W, b) = ½‖W‖² + Σᵢ Cᵢ loss(W·xᵢ + b). Each step solves H d = −g to a rough accuracy by conjugate gradients, where a product Hp
//! takes one pass forward (scores of p) and one back (gradient of the curved scores), then halves the step until the
//! objective falls. Scores are linear in W, so the scores of d come for free with the conjugate gradients and neither
//! the line search nor the next step needs another pass forward.
//!
//! P is 1-strongly convex in W, hence P − min P ≤ ½‖∇P‖² (which is also the duality gap of the point that the
//! probabilities give); the bias, which is not penalised, adds its own Newton decrement. That bound is the stopping rule.
//!
//! A problem that differs from a solved one only in C starts where the last two solutions point to: W changes evenly with
//! log C, near enough for one Newton step to do where three are needed from the last solution (and 8 to 16 from 0, on 20
//! Newsgroups with C from 3 to 100). Scores go along, so it takes no pass.
//!
//! Joint classes (softmax) share every scalar of the method; separate ones (sigmoid) each have their own step sizes and
//! their own end. Vectors hold the weights of one tile of `N` classes after the other, then one bias per tile.
//! Inner products follow the sign of the columns (see `matrix::Matrix`), so that a projected matrix is fitted as if it
//! were written out; only then there is no diagonal preconditioner, which would not respect that inner product.

use rayon::prelude::*;

use super::design::Design;
use super::link::Link;
use crate::classify::assembly::Limits;
use crate::wide::by_place;
use crate::{Result, Run};

/// Conjugate gradients stop when the residual (in the preconditioner's norm) has fallen to this share.
const FORCING: f64 = 0.5;
/// Most conjugate gradient steps in a Newton step.
const MAX_INNER: usize = 60;
/// Most halvings of a Newton step.
const MAX_HALVINGS: usize = 30;
/// Newton steps in a row that may leave the objective where it is: the gradient still shrinks for a few when rounding
/// already hides the descent.
const MAX_STALLS: usize = 4;
/// Columns or documents a thread takes at a time; sums are made per chunk, then over chunks in order.
const CHUNK: usize = 1024;

/// One number per lane; the same in all when the classes are joint.
type Lanes<const N: usize> = [f64; N];

/// What was reached: the vector and the scores of the documents, and per lane the steps and the bound on (P − min P)/P.
pub(super) struct Solution<const N: usize> {
    pub(super) vector: Vec<[f32; N]>,
    pub(super) scores: Vec<[f32; N]>,
    pub(super) steps: [usize; N],
    pub(super) gaps: Lanes<N>,
}

/// A vector reached before and the scores it gives the documents.
#[derive(Clone, Copy)]
pub(super) struct Point<'a, const N: usize> {
    pub(super) vector: &'a [[f32; N]],
    pub(super) scores: &'a [[f32; N]],
}

/// Where to go, and how the scores change on the way.
struct Direction<const N: usize> {
    vector: Vec<[f32; N]>,
    change: Vec<[f32; N]>,
}

/// The problem and the buffers of one solve. Buffers by document hold the tiles of a document together.
pub(super) struct Newton<'a, const N: usize> {
    design: &'a Design,
    link: Link<'a>,
    tiles: usize,
    columns: usize,
    bias: bool,
    scores: Vec<[f32; N]>,
    probabilities: Vec<[f32; N]>,
    /// Slopes, curvatures or curved scores, as the moment needs.
    work: Vec<[f32; N]>,
    /// One tile of a buffer by document, for the products.
    tile: Vec<[f32; N]>,
}

impl<'a, const N: usize> Newton<'a, N> {
    pub(super) fn new(design: &'a Design, link: Link<'a>, tiles: usize, bias: bool) -> Self {
        let documents = design.data.len();
        let buffer = || vec![[0f32; N]; tiles * documents];
        let (scores, probabilities, work, tile) = (buffer(), buffer(), buffer(), vec![[0.0; N]; documents]);
        let columns = design.data.total_columns();
        Newton { design, link, tiles, columns, bias, scores, probabilities, work, tile }
    }

    /// Minimises from W = 0 and the given biases, one array per tile.
    pub(super) fn solve(mut self, biases: &[[f32; N]], limits: Limits, run: &Run) -> Result<Solution<N>> {
        let mut vector = vec![[0f32; N]; self.tiles * (self.columns + 1)];
        if self.bias {
            vector[self.tiles * self.columns..].copy_from_slice(biases);
            self.scores.par_chunks_mut(self.tiles).for_each(|scores| scores.copy_from_slice(biases));
        }
        self.descend(vector, limits, false, run)
    }

    /// Minimises from `last`, moved by `times` its distance from `before` (or half of that, a quarter …) if it helps.
    ///
    /// It ends with the first step that promises to lower P by no more than the tolerance: an estimate of what was
    /// missing before the step, and no bound. The bound knows only the curvature of ½‖W‖² and asks for more steps the
    /// larger C is.
    pub(super) fn resume(
        mut self,
        last: Point<'_, N>,
        before: Option<(Point<'_, N>, f64)>,
        limits: Limits,
        run: &Run,
    ) -> Result<Solution<N>> {
        let mut vector = last.vector.to_vec();
        self.scores.copy_from_slice(last.scores);
        if let Some((before, times)) = before {
            let move_on = |last: &[[f32; N]], before: &[[f32; N]]| {
                let pairs = last.par_iter().zip(before).with_min_len(CHUNK);
                pairs.map(|(last, before)| by_place(|l| times as f32 * (last[l] - before[l]))).collect()
            };
            let direction =
                Direction { vector: move_on(last.vector, before.vector), change: move_on(last.scores, before.scores) };
            let mut objective = self.objective(&vector);
            self.search(&mut vector, [0.0; N], &direction, &mut objective, run)?;
        }
        self.descend(vector, limits, true, run)
    }

    /// Takes Newton steps from a vector whose scores are those at hand; see `resume` for `estimate`.
    fn descend(mut self, mut vector: Vec<[f32; N]>, limits: Limits, estimate: bool, run: &Run) -> Result<Solution<N>> {
        let (mut gradient, mut inverse) = (vec![[0f32; N]; vector.len()], vec![[0f32; N]; vector.len()]);
        let (mut steps, mut gaps, mut stalled) = ([0usize; N], [f64::INFINITY; N], 0);
        let mut objective = self.objective(&vector);
        for step in 0..=limits.max_iter {
            run.check()?;
            // Slopes are left by `objective`, so the gradient needs one pass back and none forward.
            self.back(&mut gradient)?;
            self.add_weights(&vector, &mut gradient);
            self.curvatures(&mut inverse);
            let bounds = self.bound(&gradient, &inverse);
            let mut going = [false; N];
            for lane in 0..N {
                gaps[lane] = if objective[lane] > 0.0 { bounds[lane].max(0.0) / objective[lane] } else { 0.0 };
                going[lane] = gaps[lane] > limits.tolerance;
            }
            if step == limits.max_iter || !going.contains(&true) {
                break;
            }
            // After the stopping rule: the diagonal takes a pass over the documents, and the last step does not need it.
            self.precondition(&mut inverse);
            let direction = self.conjugate_gradients(&gradient, &inverse, going, run)?;
            for lane in 0..N {
                steps[lane] += usize::from(going[lane]);
            }
            let (before, slope) = (objective, self.dot(&gradient, &direction.vector, None));
            self.search(&mut vector, slope, &direction, &mut objective, run)?;
            let fell = (0..N).any(|lane| objective[lane] < before[lane]);
            stalled = if fell { 0 } else { stalled + 1 };
            // A Newton step lowers the quadratic that it minimises by half of its slope.
            let promised = |lane: usize| -0.5 * slope[lane] <= limits.tolerance * before[lane];
            if stalled == MAX_STALLS || estimate && (0..N).all(promised) {
                break;
            }
        }
        Ok(Solution { vector, scores: self.scores, steps, gaps })
    }

    /// A direction d with H d ≈ −gradient for the lanes still going, 0 for others.
    fn conjugate_gradients(
        &mut self,
        gradient: &[[f32; N]],
        inverse: &[[f32; N]],
        going: [bool; N],
        run: &Run,
    ) -> Result<Direction<N>> {
        let on: [f32; N] = by_place(|lane| if going[lane] { -1.0 } else { 0.0 });
        let mut residual: Vec<[f32; N]> = gradient.par_iter().map(|g| by_place(|l| g[l] * on[l])).collect();
        let mut search: Vec<[f32; N]> =
            residual.par_iter().zip(inverse).map(|(r, i)| by_place(|l| r[l] * i[l])).collect();
        let mut direction = vec![[0f32; N]; gradient.len()];
        let mut product = vec![[0f32; N]; gradient.len()];
        let mut change = vec![[0f32; N]; self.scores.len()];
        let mut moved = vec![[0f32; N]; self.scores.len()];
        // Conjugate gradients from 0, so the first residual is −g. They stop early: far from the optimum a better solution of the
        // quadratic is no better direction.
        let first = self.dot(&residual, &residual, Some(inverse));
        let mut length = first;
        for _ in 0..MAX_INNER {
            run.check()?;
            self.forward(&search, &mut moved)?;
            self.curve(&moved);
            self.back(&mut product)?;
            self.add_weights(&search, &mut product);
            let curvature = self.dot(&search, &product, None);
            let step: [f32; N] = by_place(|lane| ratio(length[lane], curvature[lane]));
            add(&mut direction, step, &search);
            add(&mut change, step, &moved);
            add(&mut residual, step.map(|step| -step), &product);
            let next = self.dot(&residual, &residual, Some(inverse));
            if (0..N).all(|lane| next[lane] <= FORCING * FORCING * first[lane]) {
                break;
            }
            let keep: [f32; N] = by_place(|lane| ratio(next[lane], length[lane]));
            search.par_iter_mut().zip(&residual).zip(inverse).with_min_len(CHUNK).for_each(|((s, r), i)| {
                for lane in 0..N {
                    s[lane] = r[lane] * i[lane] + keep[lane] * s[lane];
                }
            });
            length = next;
        }
        Ok(Direction { vector: direction, change })
    }

    /// Moves along the direction by the largest of 1, ½, ¼ … that lowers the objective enough, given its slope there.
    fn search(
        &mut self,
        vector: &mut [[f32; N]],
        slope: Lanes<N>,
        direction: &Direction<N>,
        objective: &mut Lanes<N>,
        run: &Run,
    ) -> Result<()> {
        let Direction { vector: direction, change } = direction;
        let (mut size, mut taken) = ([1f32; N], [0f32; N]);
        for _ in 0..MAX_HALVINGS {
            run.check()?;
            let move_by: [f32; N] = by_place(|lane| size[lane] - taken[lane]);
            add(vector, move_by, direction);
            add(&mut self.scores, move_by, change);
            taken = size;
            let next = self.objective(vector);
            let mut settled = true;
            for lane in 0..N {
                let enough = objective[lane] + 1e-4 * f64::from(size[lane]) * slope[lane].min(0.0);
                // The slack is what rounding may add to an objective that has stopped falling.
                let low_enough = next[lane] <= enough + 1e-8 * objective[lane].abs();
                if !low_enough {
                    (size[lane], settled) = (0.5 * size[lane], false);
                }
            }
            if settled {
                *objective = next;
                return Ok(());
            }
        }
        // Rounding hides any descent that is left: the vector goes back to where it was, and the caller counts a stall.
        let back = taken.map(|taken| -taken);
        add(vector, back, direction);
        add(&mut self.scores, back, change);
        *objective = self.objective(vector);
        Ok(())
    }

    /// P at the scores as they stand; leaves probabilities and slopes behind.
    fn objective(&mut self, vector: &[[f32; N]]) -> Lanes<N> {
        let (tiles, link) = (self.tiles, &self.link);
        let chunks: Vec<Lanes<N>> = self
            .scores
            .par_chunks(CHUNK * tiles)
            .zip(self.probabilities.par_chunks_mut(CHUNK * tiles))
            .zip(self.work.par_chunks_mut(CHUNK * tiles))
            .enumerate()
            .map(|(chunk, ((scores, probabilities), work))| {
                let mut sums = [0f64; N];
                let documents = scores.chunks(tiles).zip(probabilities.chunks_mut(tiles)).zip(work.chunks_mut(tiles));
                for (document, ((scores, probabilities), work)) in (chunk * CHUNK..).zip(documents) {
                    link.evaluate(document, scores, probabilities, work, &mut sums);
                }
                sums
            })
            .collect();
        let losses = self.join(in_order(&chunks));
        let squares = self.sum(|index| {
            let sign = self.sign(index);
            by_place(|lane| sign * f64::from(vector[index][lane]).powi(2))
        });
        by_place(|lane| 0.5 * squares[lane] + losses[lane])
    }

    /// Replaces each document's `change` of scores, in `work`, by the Hessian of its loss times that change.
    fn curve(&mut self, change: &[[f32; N]]) {
        let (tiles, link) = (self.tiles, &self.link);
        self.work
            .par_chunks_mut(tiles)
            .zip(self.probabilities.par_chunks(tiles))
            .zip(change.par_chunks(tiles))
            .enumerate()
            .with_min_len(CHUNK / 4)
            .for_each(|(document, ((work, probabilities), change))| {
                link.curve(document, probabilities, change, work);
            });
    }

    /// The scores of a vector.
    fn forward(&mut self, vector: &[[f32; N]], scores: &mut [[f32; N]]) -> Result<()> {
        let (weights, biases) = vector.split_at(self.tiles * self.columns);
        if self.tiles == 1 {
            return self.design.scores(weights, biases[0], scores);
        }
        for tile in 0..self.tiles {
            let weights = &weights[tile * self.columns..(tile + 1) * self.columns];
            self.design.scores(weights, biases[tile], &mut self.tile)?;
            scores.par_chunks_mut(self.tiles).zip(&self.tile).for_each(|(to, from)| to[tile] = *from);
        }
        Ok(())
    }

    /// The gradient of the losses, given their slopes by document in `work`.
    fn back(&mut self, gradient: &mut [[f32; N]]) -> Result<()> {
        self.by_tile(gradient, |design, slopes, sums| design.gradient(slopes, sums))?;
        self.sum_biases(gradient);
        Ok(())
    }

    /// Curvatures of the losses by document into `work`, and for the biases the inverse of the Hessian's diagonal.
    fn curvatures(&mut self, inverse: &mut [[f32; N]]) {
        let (tiles, link) = (self.tiles, &self.link);
        let work = self.work.par_chunks_mut(tiles).zip(self.probabilities.par_chunks(tiles));
        work.enumerate().for_each(|(document, (work, probabilities))| link.diagonal(document, probabilities, work));
        self.sum_biases(inverse);
        for value in inverse[self.tiles * self.columns..].as_flattened_mut() {
            *value = if *value > 0.0 { 1.0 / *value } else { 0.0 };
        }
    }

    /// The inverse of the Hessian's diagonal for the weights, given the curvatures.
    fn precondition(&mut self, inverse: &mut [[f32; N]]) {
        let weights = self.tiles * self.columns;
        if self.design.data.first_negative() < self.columns {
            inverse[..weights].fill([0.0; N]);
        } else {
            // Never an error: the diagonal has no shapes that could differ.
            let _ = self.by_tile(inverse, |design, curvatures, sums| {
                design.diagonal(curvatures, sums);
                Ok(())
            });
        }
        inverse[..weights].par_iter_mut().with_min_len(CHUNK).for_each(|values| {
            for value in values {
                *value = 1.0 / (1.0 + *value);
            }
        });
    }

    /// Calls `product(design, work of a tile, weights of a tile)` for every tile.
    fn by_tile(
        &mut self,
        out: &mut [[f32; N]],
        product: impl Fn(&Design, &[[f32; N]], &mut [[f32; N]]) -> Result<()>,
    ) -> Result<()> {
        let weights = &mut out[..self.tiles * self.columns];
        if self.tiles == 1 {
            return product(self.design, &self.work, weights);
        }
        for tile in 0..self.tiles {
            self.tile.par_iter_mut().zip(self.work.par_chunks(self.tiles)).for_each(|(to, from)| *to = from[tile]);
            product(self.design, &self.tile, &mut weights[tile * self.columns..(tile + 1) * self.columns])?;
        }
        Ok(())
    }

    /// Writes the sum of `work` over the documents to the biases of a vector; 0 when there is no bias.
    fn sum_biases(&self, vector: &mut [[f32; N]]) {
        for (tile, out) in vector[self.tiles * self.columns..].iter_mut().enumerate() {
            let chunk = |work: &[[f32; N]]| {
                let mut sums = [0f64; N];
                for work in work.iter().skip(tile).step_by(self.tiles) {
                    for lane in 0..N {
                        sums[lane] += f64::from(work[lane]);
                    }
                }
                sums
            };
            let chunks: Vec<Lanes<N>> = self.work.par_chunks(CHUNK * self.tiles).map(chunk).collect();
            *out = if self.bias { in_order(&chunks).map(|sum| sum as f32) } else { [0.0; N] };
        }
    }

    /// Adds the gradient of ½‖W‖², which leaves biases alone.
    fn add_weights(&self, vector: &[[f32; N]], gradient: &mut [[f32; N]]) {
        let weights = self.tiles * self.columns;
        add(&mut gradient[..weights], [1.0; N], &vector[..weights]);
    }

    /// Σ a·b, each product times `scale` when given.
    fn dot(&self, a: &[[f32; N]], b: &[[f32; N]], scale: Option<&[[f32; N]]>) -> Lanes<N> {
        let weights = self.tiles * self.columns;
        self.sum(|index| {
            let sign = if index < weights { self.sign(index) } else { 1.0 };
            by_place(|lane| {
                let scale = scale.map_or(1.0, |scale| f64::from(scale[index][lane]));
                sign * f64::from(a[index][lane]) * f64::from(b[index][lane]) * scale
            })
        })
    }

    /// ½‖g‖² over the weights plus half the Newton decrement of the biases: no less than P − min P.
    fn bound(&self, gradient: &[[f32; N]], inverse: &[[f32; N]]) -> Lanes<N> {
        let weights = self.tiles * self.columns;
        self.sum(|index| {
            by_place(|lane| {
                let square = 0.5 * f64::from(gradient[index][lane]).powi(2);
                if index < weights { self.sign(index) * square } else { square * f64::from(inverse[index][lane]) }
            })
        })
    }

    /// 1 for a weight, −1 for one of a column that counts negatively, 0 for a bias.
    fn sign(&self, index: usize) -> f64 {
        if index >= self.tiles * self.columns {
            0.0
        } else if index % self.columns < self.design.data.first_negative() {
            1.0
        } else {
            -1.0
        }
    }

    /// Sums over the entries of a vector by chunks in order, then over all classes when they are joint.
    fn sum(&self, term: impl Fn(usize) -> Lanes<N> + Sync) -> Lanes<N> {
        let length = self.tiles * (self.columns + 1);
        let chunks: Vec<Lanes<N>> = (0..length.div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let mut sums = [0f64; N];
                for index in chunk * CHUNK..((chunk + 1) * CHUNK).min(length) {
                    let term = term(index);
                    for lane in 0..N {
                        sums[lane] += term[lane];
                    }
                }
                sums
            })
            .collect();
        self.join(in_order(&chunks))
    }

    fn join(&self, lanes: Lanes<N>) -> Lanes<N> {
        if self.link.joint() { [lanes.iter().sum(); N] } else { lanes }
    }
}

fn in_order<const N: usize>(chunks: &[Lanes<N>]) -> Lanes<N> {
    let mut sums = [0f64; N];
    for chunk in chunks {
        for lane in 0..N {
            sums[lane] += chunk[lane];
        }
    }
    sums
}

/// a / b, or 0 where that means nothing (a lane that is done, or without a class).
fn ratio(a: f64, b: f64) -> f32 {
    if b > 0.0 && a.is_finite() { (a / b) as f32 } else { 0.0 }
}

/// to += factor · from, each lane with its own factor.
fn add<const N: usize>(to: &mut [[f32; N]], factor: [f32; N], from: &[[f32; N]]) {
    to.par_iter_mut().zip(from).with_min_len(CHUNK).for_each(|(to, from)| {
        for lane in 0..N {
            to[lane] += factor[lane] * from[lane];
        }
    });
}
