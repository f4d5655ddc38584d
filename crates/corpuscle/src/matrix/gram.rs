//! Systems (I + α·X_c D⁻¹ X_cᵀ) Y = B over a sparse X: written out for a factorisation, or left as two sparse products
//! for conjugate gradients.
//!
//! X_c is X with every column centred, which is never written down: X_c v = X v − 1·(m·v) and X_cᵀ y = Xᵀ y − m·(1·y)
//! with the column means m. D is a positive diagonal.
//!
//! Conjugate gradients solve for sixteen right-hand sides at a time, each with its own steps, preconditioned by the
//! diagonal. A panel of sixteen is one task from start to end: its vectors (64 bytes a document) stay in the
//! second-level cache, nothing is shared, and the bits do not depend on the number of threads. The smallest eigenvalue
//! is at least 1, so a residual of ε·‖b‖ means an error of at most ε·‖b‖.

use rayon::prelude::*;

use super::Csr;
use super::panel::{LANES, Lane, gather};
use crate::wide::wide;
use crate::{Result, Run};

/// Rows whose sums are kept in `f32` before they are added up in `f64`.
const RUN: usize = 64;

/// The matrix I + α·X_c D⁻¹ X_cᵀ.
#[derive(Debug)]
pub(crate) struct ShiftedGram<'a> {
    by_rows: &'a Csr,
    by_columns: &'a Csr,
    /// Column means.
    means: &'a [f32],
    /// The diagonal of D⁻¹.
    inverse: &'a [f32],
    alpha: f32,
    /// One over the diagonal of the whole matrix.
    preconditioner: Vec<f32>,
}

/// The vectors of one panel: enough for a whole solution, used again for the next.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// Y, one lane per row of X.
    pub(crate) solution: Vec<Lane>,
    residual: Vec<Lane>,
    direction: Vec<Lane>,
    image: Vec<Lane>,
    /// D⁻¹ X_cᵀ y, one lane per column of X.
    pub(crate) columns: Vec<Lane>,
}

impl<'a> ShiftedGram<'a> {
    /// `by_columns` is the transpose of `by_rows`.
    pub(crate) fn new(by_rows: &'a Csr, by_columns: &'a Csr, means: &'a [f32], inverse: &'a [f32], alpha: f32) -> Self {
        let far: f64 = means.iter().zip(inverse).map(|(&m, &d)| f64::from(m) * f64::from(m) * f64::from(d)).sum();
        let preconditioner = (0..by_rows.rows())
            .into_par_iter()
            .map(|row| {
                let (columns, values) = by_rows.row(row);
                let mut sum = far;
                for (&column, &value) in columns.iter().zip(values) {
                    let (mean, inverse) = (f64::from(means[column as usize]), f64::from(inverse[column as usize]));
                    let value = f64::from(value);
                    sum += (value * value - 2.0 * value * mean) * inverse;
                }
                (1.0 / (1.0 + f64::from(alpha) * sum.max(0.0))) as f32
            })
            .collect();
        ShiftedGram { by_rows, by_columns, means, inverse, alpha, preconditioner }
    }

    /// The lower triangle, written out row by row: O(Σ (documents of a term)²) additions, rows² · 4 bytes.
    pub(crate) fn write_out(&self) -> Vec<f32> {
        let size = self.by_rows.rows();
        let far: f64 =
            self.means.iter().zip(self.inverse).map(|(&m, &d)| f64::from(m) * f64::from(m) * f64::from(d)).sum();
        let near: Vec<f32> = (0..size)
            .into_par_iter()
            .map(|row| {
                let (columns, values) = self.by_rows.row(row);
                let mut sum = 0f64;
                for (&column, &value) in columns.iter().zip(values) {
                    let column = column as usize;
                    sum += f64::from(value) * f64::from(self.means[column]) * f64::from(self.inverse[column]);
                }
                sum as f32
            })
            .collect();
        let mut matrix = vec![0f32; size * size];
        // Rows are as long as their number, so single rows are dealt out and not halves of the matrix.
        matrix.par_chunks_exact_mut(size.max(1)).with_max_len(16).enumerate().for_each(|(row, out)| {
            let (columns, values) = self.by_rows.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                let (documents, others) = self.by_columns.row(column as usize);
                let value = value * self.inverse[column as usize];
                let upto = documents.partition_point(|&document| document as usize <= row);
                for (&document, &other) in documents[..upto].iter().zip(&others[..upto]) {
                    out[document as usize] += value * other;
                }
            }
            let own = near[row] - far as f32;
            for (entry, near) in out[..=row].iter_mut().zip(&near) {
                *entry = self.alpha * (*entry - near - own);
            }
            out[row] += 1.0;
        });
        matrix
    }

    /// `columns = D⁻¹ X_cᵀ y`.
    #[inline(always)]
    fn pull(&self, y: &[Lane], columns: &mut [Lane]) {
        let total = narrow(&sum(y));
        for (column, out) in columns.iter_mut().enumerate() {
            let (rows, values) = self.by_columns.row(column);
            let mut lane = gather(rows, values, y);
            lane.add(-self.means[column], &total);
            lane.0.iter_mut().for_each(|value| *value *= self.inverse[column]);
            *out = lane;
        }
    }

    /// `out = X_c columns`.
    pub(crate) fn push(&self, columns: &[Lane], out: &mut [Lane]) {
        let shift = self.shift(columns);
        wide(
            #[inline(always)]
            || {
                for (row, out) in out.iter_mut().enumerate() {
                    let (columns_of_row, values) = self.by_rows.row(row);
                    *out = gather(columns_of_row, values, columns);
                    out.add(-1.0, &shift);
                }
            },
        );
    }

    /// m·columns.
    #[inline(always)]
    fn shift(&self, columns: &[Lane]) -> Lane {
        let mut shift = [0f64; LANES];
        for (columns, means) in columns.chunks(RUN).zip(self.means.chunks(RUN)) {
            let mut part = Lane::default();
            means.iter().zip(columns).for_each(|(&mean, lane)| part.add(mean, lane));
            widen(&mut shift, &part);
        }
        narrow(&shift)
    }

    /// `out = y + α·X_c D⁻¹ X_cᵀ y`, through `columns`.
    #[inline(always)]
    fn apply(&self, y: &[Lane], columns: &mut [Lane], out: &mut [Lane]) {
        self.pull(y, columns);
        let shift = self.shift(columns);
        for (row, (out, y)) in out.iter_mut().zip(y).enumerate() {
            let (columns_of_row, values) = self.by_rows.row(row);
            let mut lane = gather(columns_of_row, values, columns);
            lane.add(-1.0, &shift);
            *out = *y;
            out.add(self.alpha, &lane);
        }
    }

    /// Solves for the sixteen right-hand sides that `fill` writes, until every residual is at most `tolerance` times
    /// its side or `most` steps are done. Leaves D⁻¹ X_cᵀ Y in `work.columns`; gives the steps taken, or `None` when
    /// they did not do.
    pub(crate) fn solve_panel(
        &self,
        fill: impl Fn(&mut [Lane]),
        tolerance: f64,
        most: usize,
        work: &mut Workspace,
        run: &Run,
    ) -> Result<Option<usize>> {
        // Wide registers where the machine has them; the bits are the same.
        wide(
            #[inline(always)]
            || {
                let rows = self.by_rows.rows();
                let Workspace { solution, residual, direction, image, columns } = &mut *work;
                for vector in [&mut *solution, residual, direction, image] {
                    vector.clear();
                    vector.resize(rows, Lane::default());
                }
                columns.clear();
                columns.resize(self.by_columns.rows(), Lane::default());
                fill(residual);
                let mut norms = dots(residual, residual);
                let goals: [f64; LANES] = norms.map(|norm| norm * tolerance * tolerance);
                let mut along = self.precondition_into(residual, direction, &[0f64; LANES]);
                let mut steps = 0;
                while norms.iter().zip(&goals).any(|(norm, goal)| norm > goal) && steps < most {
                    run.check()?;
                    steps += 1;
                    self.apply(direction, columns, image);
                    let curvature = dots(direction, image);
                    let mut step = [0f32; LANES];
                    for lane in 0..LANES {
                        // A side that is done, or zero from the start, stays where it is.
                        let open = norms[lane] > goals[lane] && curvature[lane] > 0.0;
                        step[lane] = if open { (along[lane] / curvature[lane]) as f32 } else { 0.0 };
                    }
                    let back = step.map(|step| -step);
                    solution.iter_mut().zip(&*direction).for_each(|(to, from)| add_scaled(to, &step, from));
                    residual.iter_mut().zip(&*image).for_each(|(to, from)| add_scaled(to, &back, from));
                    norms = dots(residual, residual);
                    along = self.precondition_into(residual, direction, &along);
                }
                self.pull(solution, columns);
                Ok(norms.iter().zip(&goals).all(|(norm, goal)| norm <= goal).then_some(steps))
            },
        )
    }

    /// The next direction z + β·direction with z the preconditioned residual and β = r·z / `before`; gives r·z.
    #[inline(always)]
    fn precondition_into(&self, residual: &[Lane], direction: &mut [Lane], before: &[f64; LANES]) -> [f64; LANES] {
        let mut along = [0f64; LANES];
        for (residual, scales) in residual.chunks(RUN).zip(self.preconditioner.chunks(RUN)) {
            let mut part = Lane::default();
            for (residual, &scale) in residual.iter().zip(scales) {
                for lane in 0..LANES {
                    part.0[lane] += residual.0[lane] * residual.0[lane] * scale;
                }
            }
            widen(&mut along, &part);
        }
        let mut keep = [0f32; LANES];
        for lane in 0..LANES {
            keep[lane] = if before[lane] > 0.0 { (along[lane] / before[lane]) as f32 } else { 0.0 };
        }
        for ((direction, residual), &scale) in direction.iter_mut().zip(residual).zip(&self.preconditioner) {
            let (direction, residual) = (&mut direction.0, &residual.0);
            for lane in 0..LANES {
                direction[lane] = scale * residual[lane] + keep[lane] * direction[lane];
            }
        }
        along
    }
}

#[inline(always)]
pub(crate) fn sum(lanes: &[Lane]) -> [f64; LANES] {
    let mut total = [0f64; LANES];
    for lanes in lanes.chunks(RUN) {
        let mut part = Lane::default();
        lanes.iter().for_each(|lane| part.add(1.0, lane));
        widen(&mut total, &part);
    }
    total
}

#[inline(always)]
fn dots(left: &[Lane], right: &[Lane]) -> [f64; LANES] {
    let mut total = [0f64; LANES];
    for (left, right) in left.chunks(RUN).zip(right.chunks(RUN)) {
        let mut part = Lane::default();
        for (left, right) in left.iter().zip(right) {
            for lane in 0..LANES {
                part.0[lane] += left.0[lane] * right.0[lane];
            }
        }
        widen(&mut total, &part);
    }
    total
}

/// Adds `from` to `to`, each lane with a factor of its own.
#[inline(always)]
fn add_scaled(to: &mut Lane, factors: &[f32; LANES], from: &Lane) {
    let (to, from) = (&mut to.0, &from.0);
    for lane in 0..LANES {
        to[lane] += factors[lane] * from[lane];
    }
}

#[inline(always)]
fn widen(total: &mut [f64; LANES], part: &Lane) {
    let part = &part.0;
    for lane in 0..LANES {
        total[lane] += f64::from(part[lane]);
    }
}

#[inline(always)]
pub(crate) fn narrow(total: &[f64; LANES]) -> Lane {
    Lane(total.map(|value| value as f32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::svd::tests::random_sparse;

    #[test]
    fn the_products_are_those_of_the_matrix_written_out() {
        let x = random_sparse(70, 40, 5);
        let by_columns = x.transpose();
        let means: Vec<f32> = (0..40).map(|c| by_columns.row(c).1.iter().sum::<f32>() / 70.0).collect();
        let inverse: Vec<f32> = (0..40).map(|c| 0.5 + (c % 7) as f32).collect();
        let gram = ShiftedGram::new(&x, &by_columns, &means, &inverse, 0.3);
        let written = gram.write_out();
        let entry = |i: usize, j: usize| written[i.max(j) * 70 + i.min(j)];
        let mut y = vec![Lane::default(); 70];
        for (row, lane) in y.iter_mut().enumerate() {
            lane.0.iter_mut().enumerate().for_each(|(k, value)| *value = ((row * 5 + k * 3) % 11) as f32 - 4.0);
        }
        let (mut columns, mut out) = (vec![Lane::default(); 40], vec![Lane::default(); 70]);
        gram.apply(&y, &mut columns, &mut out);
        for (i, out) in out.iter().enumerate() {
            assert!((1.0 / gram.preconditioner[i] - entry(i, i)).abs() < 1e-3 * entry(i, i));
            for (k, found) in out.0.iter().enumerate() {
                let sum: f32 = (0..70).map(|j| entry(i, j) * y[j].0[k]).sum();
                assert!((sum - found).abs() < 1e-2, "{sum} {found}");
            }
        }
        let mut work = Workspace::default();
        let run = Run::new(1, 1).unwrap();
        let steps = gram.solve_panel(|sides| sides.copy_from_slice(&out), 1e-6, 200, &mut work, &run).unwrap();
        assert!(steps.is_some_and(|steps| steps < 100));
        for (found, expected) in work.solution.iter().zip(&y) {
            assert!(found.0.iter().zip(&expected.0).all(|(a, b)| (a - b).abs() < 1e-3), "{found:?} {expected:?}");
        }
    }
}
