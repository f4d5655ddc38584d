//! The closed form of one layer, solved in three ways.

use rayon::prelude::*;

use super::Solver;
use crate::matrix::cholesky::solve_symmetric;
use crate::matrix::gram::{ShiftedGram, Workspace, narrow, sum};
use crate::matrix::panel::{LANES, Lane, gather};
use crate::matrix::{Csr, Dense};
use crate::{Error, Result, Run};

/// Largest dense system, in bytes.
const MOST_BYTES: usize = 2_000_000_000;
/// A residual this small relative to its right-hand side is within the rounding of `f32` outputs.
pub(super) const TOLERANCE: f64 = 2e-6;
/// Steps after which gradients give up; at the lowest noise some hundreds are needed.
pub(super) const MOST_STEPS: usize = 2000;
/// Steps up to which a solve is easy; see [`Task::is_easy`].
const EASY_STEPS: usize = 100;

/// Measured on two cores, in seconds over both: a multiply-add of a dense `f32` and `f64` product, an addition while a
/// sparse Gram matrix is written out, and a sparse non-zero times sixteen lanes.
const DENSE_F32: f64 = 1.5e-11;
const DENSE_F64: f64 = 3e-11;
const SCATTERED: f64 = 6e-10;
const LANE: f64 = 1e-9;

/// Learns a further layer, W transposed: columns of given means and scatter (its lower triangle) about them over `rows`
/// rows, reconstructed from themselves.
pub(super) fn next(means: &[f64], scatter: &[f64], rows: usize, noise: f64, ridge: f64, run: &Run) -> Result<Dense> {
    let width = means.len();
    let mut weights: Vec<f64> = vec![0.0; width * width];
    for row in 0..width {
        for column in 0..=row {
            weights[row * width + column] = scatter[row * width + column];
            weights[column * width + row] = scatter[row * width + column];
        }
    }
    // D is of squares about 0, not about the mean: a word that is removed becomes 0.
    let squares: Vec<f64> =
        (0..width).map(|at| scatter[at * width + at].max(0.0) + rows as f64 * means[at] * means[at]).collect();
    let floor = ridge * squares.iter().sum::<f64>() / width as f64;
    // (E[R] E[Q]⁻¹)ᵀ with one p of each cancelled: p S + (1 − p) D, which is positive definite at any noise above 0.
    let mut system: Vec<f64> = scatter.iter().map(|value| (1.0 - noise) * value).collect();
    for (column, squares) in squares.iter().enumerate() {
        system[column * width + column] += noise * (squares + floor).max(f64::MIN_POSITIVE);
    }
    solve_symmetric(&mut system, width, &mut weights, width, run)?;
    Dense::new(width, width, weights.iter().map(|&weight| weight as f32).collect::<Vec<f32>>())
}

/// Mean and sum of squares of each column.
fn moments(z: &Dense, columns: std::ops::Range<usize>) -> Vec<(f64, f64)> {
    let mut sums = vec![(0f64, 0f64); columns.len()];
    for row in 0..z.rows() {
        for ((sum, squares), &value) in sums.iter_mut().zip(&z.row(row)[columns.clone()]) {
            let value = f64::from(value);
            *sum += value;
            *squares += value * value;
        }
    }
    sums.iter_mut().for_each(|(sum, _)| *sum /= z.rows().max(1) as f64);
    sums
}

/// The first layer's equations.
pub(super) struct Task<'a> {
    pub(super) x: &'a Csr,
    pub(super) by_columns: Csr,
    pub(super) prototypes: &'a [u32],
    pub(super) means: Vec<f32>,
    /// D with the ridge.
    diagonal: Vec<f64>,
    pub(super) inverse: Vec<f32>,
    pub(super) noise: f64,
}

impl<'a> Task<'a> {
    pub(super) fn new(x: &'a Csr, prototypes: &'a [u32], noise: f64, ridge: f64) -> Self {
        let by_columns = x.transpose();
        let sums: Vec<(f64, f64)> = (0..x.cols())
            .into_par_iter()
            .with_min_len(256)
            .map(|column| {
                let values = by_columns.row(column).1.iter().map(|&value| f64::from(value));
                values.fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value))
            })
            .collect();
        let floor = ridge * sums.iter().map(|sums| sums.1).sum::<f64>() / x.cols() as f64;
        let means = sums.iter().map(|sums| (sums.0 / x.rows() as f64) as f32).collect();
        let diagonal: Vec<f64> = sums.iter().map(|sums| sums.1 + floor).collect();
        let inverse = diagonal.iter().map(|&value| (1.0 / value) as f32).collect();
        Task { x, by_columns, prototypes, means, diagonal, inverse, noise }
    }

    /// The prototype means m̄.
    pub(super) fn targets(&self) -> Vec<f64> {
        self.prototypes.iter().map(|&column| f64::from(self.means[column as usize])).collect()
    }

    /// The layer's weights written out, one row per term and one column per prototype, and the solver that was used.
    pub(super) fn solve(&self, solver: Solver, run: &Run) -> Result<(Dense, Solver)> {
        Ok(match solver {
            Solver::Auto => self.cheapest(run)?,
            Solver::Woodbury => (self.woodbury(run)?, solver),
            Solver::Cholesky => (self.cholesky(run)?, solver),
            Solver::Gradients => (self.gradients(None, run)?, solver),
        })
    }

    /// Whether gradients solve the first prototypes in few steps, as they do at high noise.
    pub(super) fn is_easy(&self, run: &Run) -> Result<bool> {
        let first = &self.prototypes[..LANES.min(self.prototypes.len())];
        let fill = |sides: &mut [Lane]| self.fill(first, sides);
        let mut work = Workspace::default();
        Ok(self.gram().solve_panel(fill, TOLERANCE, EASY_STEPS, &mut work, run)?.is_some())
    }

    /// Sums of the centred prototype columns weighed by `panel`, one row of it for each prototype.
    #[inline(always)]
    pub(super) fn combine(&self, panel: &[Lane], sides: &mut [Lane]) {
        let mut shift = Lane::default();
        for (&column, weights) in self.prototypes.iter().zip(panel) {
            shift.add(-self.means[column as usize], weights);
        }
        sides.fill(shift);
        for (&column, weights) in self.prototypes.iter().zip(panel) {
            let (rows, values) = self.by_columns.row(column as usize);
            for (&row, &value) in rows.iter().zip(values) {
                sides[row as usize].add(value, weights);
            }
        }
    }

    /// X̄_cᵀ times one vector over documents a lane: the centred prototype columns' products with it, one for each prototype.
    pub(super) fn to_prototypes(&self, y: &[Lane]) -> Vec<Lane> {
        let total = narrow(&sum(y));
        let product = |&column: &u32| {
            let (rows, values) = self.by_columns.row(column as usize);
            let mut lane = gather(rows, values, y);
            lane.add(-self.means[column as usize], &total);
            lane
        };
        self.prototypes.iter().map(product).collect()
    }

    pub(super) fn gram(&self) -> ShiftedGram<'_> {
        let alpha = (1.0 - self.noise) / self.noise;
        ShiftedGram::new(self.x, &self.by_columns, &self.means, &self.inverse, alpha as f32)
    }

    /// Solves sixteen prototypes to count steps, then all in the way that promises to be done first.
    fn cheapest(&self, run: &Run) -> Result<(Dense, Solver)> {
        let (n, d, r) = (self.x.rows() as f64, self.x.cols() as f64, self.prototypes.len() as f64);
        let squares = |matrix: &Csr| -> f64 {
            matrix.indptr().windows(2).map(|pair| ((pair[1] - pair[0]) as f64).powi(2)).sum::<f64>() / 2.0
        };
        let woodbury = SCATTERED * squares(&self.by_columns) + DENSE_F32 * (n * n * n / 6.0 + n * n * r);
        let cholesky = SCATTERED * squares(self.x) + DENSE_F64 * (d * d * d / 6.0 + d * d * r);
        let fits = |size: f64, bytes: f64| size * size * bytes <= MOST_BYTES as f64;
        let mut best = (f64::INFINITY, Solver::Gradients);
        for (cost, solver, fits) in
            [(woodbury, Solver::Woodbury, fits(n, 4.0)), (cholesky, Solver::Cholesky, fits(d, 8.0))]
        {
            if fits && cost < best.0 {
                best = (cost, solver);
            }
        }
        let gram = self.gram();
        let mut probe = Workspace::default();
        let per_step = LANE * (2.0 * self.x.nnz() as f64 + 3.0 * n + d) * (r / LANES as f64).ceil();
        // No more steps than the other ways cost; on its own it may take all it needs.
        let affordable = if best.0.is_finite() { (best.0 / per_step).ceil() as usize } else { MOST_STEPS };
        let first = &self.prototypes[..LANES.min(self.prototypes.len())];
        let fill = |sides: &mut [Lane]| self.fill(first, sides);
        let steps = gram.solve_panel(fill, TOLERANCE, affordable.min(MOST_STEPS), &mut probe, run)?;
        match (steps, best.1) {
            (None, Solver::Woodbury) => Ok((self.woodbury(run)?, Solver::Woodbury)),
            (None, Solver::Cholesky) => Ok((self.cholesky(run)?, Solver::Cholesky)),
            _ => Ok((self.gradients(Some(gram), run)?, Solver::Gradients)),
        }
    }

    /// The centred prototype columns, one a lane.
    fn fill(&self, prototypes: &[u32], sides: &mut [Lane]) {
        for (lane, &column) in prototypes.iter().enumerate() {
            let mean = self.means[column as usize];
            sides.iter_mut().for_each(|side| side.0[lane] = -mean);
            let (rows, values) = self.by_columns.row(column as usize);
            for (&row, &value) in rows.iter().zip(values) {
                sides[row as usize].0[lane] = value - mean;
            }
        }
    }

    fn gradients(&self, gram: Option<ShiftedGram<'_>>, run: &Run) -> Result<Dense> {
        let gram = gram.unwrap_or_else(|| self.gram());
        // Sixteen prototypes fill the registers, so that a row of X is fetched once for sixteen systems.
        let panels: Vec<(Vec<Lane>, bool)> = self
            .prototypes
            .par_chunks(LANES)
            .map_init(Workspace::default, |work, prototypes| {
                let steps = gram.solve_panel(|sides| self.fill(prototypes, sides), TOLERANCE, MOST_STEPS, work, run)?;
                Ok((work.columns.clone(), steps.is_some()))
            })
            .collect::<Result<_>>()?;
        if panels.iter().any(|(_, done)| !done) {
            run.warn("dcot: the equations were not solved to full precision; raise the noise or the ridge");
        }
        let (cols, r) = (self.x.cols(), self.prototypes.len());
        let mut weights = Dense::zeros(cols, r);
        let scale = (1.0 / self.noise) as f32;
        weights.values_mut().par_chunks_mut(r).enumerate().for_each(|(column, out)| {
            for (out, (panel, _)) in out.chunks_mut(LANES).zip(&panels) {
                out.iter_mut().zip(&panel[column].0).for_each(|(to, value)| *to = scale * value);
            }
        });
        Ok(weights)
    }

    fn woodbury(&self, run: &Run) -> Result<Dense> {
        let (n, r) = (self.x.rows(), self.prototypes.len());
        check_size("documents", n, 4)?;
        // (αX_cᵀX_c + D)⁻¹X_cᵀ = D⁻¹X_cᵀ(αX_c D⁻¹X_cᵀ + I)⁻¹: a system as large as the documents are many, not the terms.
        let mut system = self.gram().write_out();
        run.check()?;
        let mut sides = Dense::zeros(n, r);
        let mut place = vec![u32::MAX; self.x.cols()];
        self.prototypes.iter().zip(0..).for_each(|(&column, number)| place[column as usize] = number);
        let means: Vec<f32> = self.prototypes.iter().map(|&column| -self.means[column as usize]).collect();
        sides.values_mut().par_chunks_mut(r).enumerate().for_each(|(row, out)| {
            out.copy_from_slice(&means);
            let (columns, values) = self.x.row(row);
            for (&column, &value) in columns.iter().zip(values).filter(|&(&c, _)| place[c as usize] != u32::MAX) {
                out[place[column as usize] as usize] += value;
            }
        });
        solve_symmetric(&mut system, n, sides.values_mut(), r, run)?;
        drop(system);
        // X is never centred, which would fill it: a column's mean times the total of the solution is taken off instead.
        let totals: Vec<f32> = moments(&sides, 0..r).iter().map(|&(mean, _)| (mean * n as f64) as f32).collect();
        let mut weights = Dense::zeros(self.x.cols(), r);
        weights.values_mut().par_chunks_mut(r).enumerate().for_each(|(column, out)| {
            let mean = self.means[column];
            out.iter_mut().zip(&totals).for_each(|(to, total)| *to = -mean * total);
            let (rows, values) = self.by_columns.row(column);
            for (&row, &value) in rows.iter().zip(values) {
                out.iter_mut().zip(sides.row(row as usize)).for_each(|(to, side)| *to += value * side);
            }
            let scale = self.inverse[column] / self.noise as f32;
            out.iter_mut().for_each(|to| *to *= scale);
        });
        Ok(weights)
    }

    fn cholesky(&self, run: &Run) -> Result<Dense> {
        let (n, d, r) = (self.x.rows() as f64, self.x.cols(), self.prototypes.len());
        check_size("columns", d, 8)?;
        let mut system = vec![0f64; d * d];
        system.par_chunks_exact_mut(d).with_max_len(16).enumerate().for_each(|(column, out)| {
            let (rows, values) = self.by_columns.row(column);
            for (&row, &value) in rows.iter().zip(values) {
                let (others, entries) = self.x.row(row as usize);
                // Only the lower triangle is read; terms stand in order, so its entries are the first ones of a row.
                let upto = others.partition_point(|&other| other as usize <= column);
                for (&other, &entry) in others[..upto].iter().zip(&entries[..upto]) {
                    out[other as usize] += f64::from(value) * f64::from(entry);
                }
            }
            let own = n * f64::from(self.means[column]);
            out[..=column].iter_mut().zip(&self.means).for_each(|(entry, &mean)| *entry -= own * f64::from(mean));
        });
        run.check()?;
        // E[R] is columns of the same scatter, so they are taken before the diagonal is added to it.
        let mut sides = vec![0f64; d * r];
        sides.par_chunks_exact_mut(r).enumerate().for_each(|(row, out)| {
            for (to, &column) in out.iter_mut().zip(self.prototypes) {
                let (low, high) = (row.min(column as usize), row.max(column as usize));
                *to = system[high * d + low];
            }
        });
        let keep = 1.0 - self.noise;
        system.par_chunks_exact_mut(d).enumerate().for_each(|(row, out)| {
            out.iter_mut().for_each(|value| *value *= keep);
            out[row] += self.noise * self.diagonal[row];
        });
        solve_symmetric(&mut system, d, &mut sides, r, run)?;
        Dense::new(d, r, sides.iter().map(|&weight| weight as f32).collect::<Vec<f32>>())
    }
}

fn check_size(what: &str, size: usize, bytes: usize) -> Result<()> {
    match size.checked_mul(size).and_then(|entries| entries.checked_mul(bytes)) {
        Some(needed) if needed <= 4 * MOST_BYTES => Ok(()),
        _ => {
            Err(Error::data(format!("dcot: a system over {size} {what} does not fit in memory; use solver=gradients")))
        }
    }
}
