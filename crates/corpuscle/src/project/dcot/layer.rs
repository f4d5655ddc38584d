//! The closed form of one layer, solved in three ways.

use rayon::prelude::*;

use super::Solver;
use crate::matrix::cholesky::solve_symmetric;
use crate::matrix::gram::{ShiftedGram, Workspace};
use crate::matrix::panel::{LANES, Lane};
use crate::matrix::small::centred_scatter;
use crate::matrix::{Csr, Dense};
use crate::{Error, Result, Run};

/// Largest dense system, in bytes.
const MOST_BYTES: usize = 2_000_000_000;
/// A residual this small relative to its right-hand side is within the rounding of `f32` outputs.
const TOLERANCE: f64 = 2e-6;
/// Steps after which gradients give up; at the lowest noise some hundreds are needed.
const MOST_STEPS: usize = 2000;

/// Measured on two cores, in seconds over both: a multiply-add of a dense `f32` and `f64` product, an addition while a
/// sparse Gram matrix is written out, and a sparse non-zero times sixteen lanes.
const DENSE_F32: f64 = 1.5e-11;
const DENSE_F64: f64 = 3e-11;
const SCATTERED: f64 = 6e-10;
const LANE: f64 = 1e-9;

/// z = tanh(x · weights + bias): one row of `weights` per input, one column per prototype.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layer {
    pub(super) weights: Dense,
    pub(super) bias: Vec<f32>,
}

/// Learns the first layer from sparse rows. Also gives the solver that was used.
pub(super) fn first(
    x: &Csr,
    prototypes: &[u32],
    noise: f64,
    ridge: f64,
    solver: Solver,
    run: &Run,
) -> Result<(Layer, Solver)> {
    let task = Task::new(x, prototypes, noise, ridge);
    let (weights, used) = match solver {
        Solver::Auto => task.cheapest(run)?,
        Solver::Woodbury => (task.woodbury(run)?, solver),
        Solver::Cholesky => (task.cholesky(run)?, solver),
        Solver::Gradients => (task.gradients(None, run)?, solver),
    };
    let means: Vec<f64> = task.means.iter().map(|&mean| f64::from(mean)).collect();
    let targets: Vec<f64> = prototypes.iter().map(|&column| means[column as usize]).collect();
    let bias = bias(&weights, &means, &targets, 1.0 - noise);
    finite(Layer { weights, bias }).map(|layer| (layer, used))
}

/// Learns a further layer: `columns` of `z`, reconstructed from themselves.
pub(super) fn next(z: &Dense, first: usize, width: usize, noise: f64, ridge: f64, run: &Run) -> Result<Layer> {
    let columns = first..first + width;
    let moments = moments(z, columns.clone());
    let means: Vec<f64> = moments.iter().map(|&(mean, _)| mean).collect();
    let centre: Vec<f32> = means.iter().map(|&mean| mean as f32).collect();
    let mut scatter = centred_scatter(z, columns, &centre, run)?;
    let mut weights: Vec<f64> = vec![0.0; width * width];
    for row in 0..width {
        for column in 0..=row {
            weights[row * width + column] = scatter[row * width + column];
            weights[column * width + row] = scatter[row * width + column];
        }
    }
    let keep = 1.0 - noise;
    let floor = ridge * moments.iter().map(|moments| moments.1).sum::<f64>() / width as f64;
    scatter.iter_mut().for_each(|value| *value *= keep);
    for (column, (_, squares)) in moments.iter().enumerate() {
        scatter[column * width + column] += noise * (squares + floor).max(f64::MIN_POSITIVE);
    }
    solve_symmetric(&mut scatter, width, &mut weights, width, run)?;
    let weights = Dense::new(width, width, weights.iter().map(|&weight| weight as f32).collect::<Vec<f32>>())?;
    let bias = bias(&weights, &means, &means, keep);
    finite(Layer { weights, bias })
}

/// Mean and sum of squares of each column.
pub(super) fn moments(z: &Dense, columns: std::ops::Range<usize>) -> Vec<(f64, f64)> {
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

/// b = m̄ − p·W m.
fn bias(weights: &Dense, means: &[f64], targets: &[f64], keep: f64) -> Vec<f32> {
    let mut sums = vec![0f64; weights.cols()];
    for (row, &mean) in means.iter().enumerate().filter(|(_, mean)| **mean != 0.0) {
        for (sum, &weight) in sums.iter_mut().zip(weights.row(row)) {
            *sum += mean * f64::from(weight);
        }
    }
    targets.iter().zip(&sums).map(|(target, sum)| (target - keep * sum) as f32).collect()
}

fn finite(layer: Layer) -> Result<Layer> {
    match layer.weights.values().iter().chain(&layer.bias).all(|value| value.is_finite()) {
        true => Ok(layer),
        false => Err(Error::data("dcot: the weights overflowed; bring the documents to length 1 or raise the noise")),
    }
}

/// The first layer's equations.
struct Task<'a> {
    x: &'a Csr,
    by_columns: Csr,
    prototypes: &'a [u32],
    means: Vec<f32>,
    /// D with the ridge.
    diagonal: Vec<f64>,
    inverse: Vec<f32>,
    noise: f64,
}

impl<'a> Task<'a> {
    fn new(x: &'a Csr, prototypes: &'a [u32], noise: f64, ridge: f64) -> Self {
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

    fn gram(&self) -> ShiftedGram<'_> {
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
                let upto = others.partition_point(|&other| other as usize <= column);
                for (&other, &entry) in others[..upto].iter().zip(&entries[..upto]) {
                    out[other as usize] += f64::from(value) * f64::from(entry);
                }
            }
            let own = n * f64::from(self.means[column]);
            out[..=column].iter_mut().zip(&self.means).for_each(|(entry, &mean)| *entry -= own * f64::from(mean));
        });
        run.check()?;
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
