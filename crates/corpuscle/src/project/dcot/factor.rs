//! A layer in few directions: W ≈ P·(PᵀW), P the directions that its outputs on training documents take most.
//!
//! Of the first layer W is never written out. With M = W X_cᵀ, the outputs of all documents before tanh, P spans the
//! leading left singular vectors of M, found from random combinations of documents by power steps; each
//! multiplication by M or Mᵀ is a solve of the layer's equations for as many sides as there are directions, in place of
//! one for each prototype. PᵀW is then solved for beyond the precision of eight bits and kept in eight bits with a scale per term.
//!
//! How many directions: as many as it takes for the outputs of a sample of training documents, along the directions
//! that are kept of them, to be within `MOST_ERROR` of those of the exact layer, which for a sample are cheap to solve.
//!
//! Reference: Halko, Martinsson and Tropp (2011), "Finding structure with randomness". O((nnz + n)·directions) a step of
//! the solver, against O((nnz + n)·prototypes); d·directions bytes.

use rayon::prelude::*;

use super::layer::{Task, rough_tolerance};
use crate::matrix::Dense;
use crate::matrix::gram::{Workspace, narrow, sum};
use crate::matrix::panel::{LANES, Lane, gather, put_panel, take_panel};
use crate::matrix::svd::{fill_random, orthonormal_twice};
use crate::{Result, Run};

/// The stream of the first combinations.
const STREAM: u64 = 0xd1c0;

/// Power steps: a second one brings the error of search snippets from 0.136 to 0.121 and nothing to their accuracy.
const POWER_STEPS: usize = 1;

/// A residual well within the rounding of eight bits.
const TOLERANCE: f64 = 1e-4;

/// P (prototypes × directions) and PᵀW transposed (terms × directions).
pub(super) struct Factors {
    pub(super) up: Dense,
    pub(super) down: Dense,
}

/// The two factors of the first layer with so many directions.
pub(super) fn of_terms(task: &Task<'_>, directions: usize, run: &Run) -> Result<Factors> {
    let documents = task.x.rows();
    let mut combinations = Dense::zeros(documents, directions);
    fill_random(&mut combinations, 0, &mut run.rng(STREAM));
    let seen = multiply(task, &combinations, run)?;
    let mut up = orthonormal_twice(seen)?;
    for _ in 0..POWER_STEPS {
        let (_, back) = multiply_back(task, &up, rough_tolerance(), true, run)?;
        up = orthonormal_twice(multiply(task, &orthonormal_twice(back)?, run)?)?;
    }
    let (down, _) = multiply_back(task, &up, TOLERANCE, false, run)?;
    Ok(Factors { up, down })
}

/// M times columns over documents, up to a factor: prototypes × columns.
fn multiply(task: &Task<'_>, combinations: &Dense, run: &Run) -> Result<Dense> {
    let gram = task.gram();
    let panels: Vec<Vec<Lane>> = firsts(combinations)
        .map_init(Workspace::default, |work, first| {
            gram.solve_panel(
                |sides| take_panel(combinations, first, sides),
                rough_tolerance(),
                task.most_steps(),
                work,
                run,
            )?;
            let mut images = std::mem::take(&mut work.solution);
            gram.push(&work.columns, &mut images);
            let total = narrow(&sum(&images));
            let of_prototype = |&column: &u32| {
                let (rows, values) = task.by_columns.row(column as usize);
                let mut lane = gather(rows, values, &images);
                lane.add(-task.means[column as usize], &total);
                lane
            };
            Ok(task.prototypes.iter().map(of_prototype).collect())
        })
        .collect::<Result<_>>()?;
    Ok(side_by_side(&panels, task.prototypes.len(), combinations.cols()))
}

/// The columns of `basis` (over prototypes) times W: terms × columns; and, when asked for, times M: documents × columns, up to
/// a factor.
fn multiply_back(
    task: &Task<'_>,
    basis: &Dense,
    tolerance: f64,
    to_documents: bool,
    run: &Run,
) -> Result<(Dense, Dense)> {
    let gram = task.gram();
    let panels: Vec<(Vec<Lane>, Vec<Lane>)> = firsts(basis)
        .map_init(Workspace::default, |work, first| {
            let mut panel = vec![Lane::default(); basis.rows()];
            take_panel(basis, first, &mut panel);
            gram.solve_panel(|sides| task.combine(&panel, sides), tolerance, task.most_steps(), work, run)?;
            if !to_documents {
                return Ok((work.columns.clone(), Vec::new()));
            }
            let mut images = std::mem::take(&mut work.solution);
            gram.push(&work.columns, &mut images);
            Ok((Vec::new(), images))
        })
        .collect::<Result<_>>()?;
    let (columns, images): (Vec<_>, Vec<_>) = panels.into_iter().unzip();
    if to_documents {
        return Ok((Dense::zeros(0, 0), side_by_side(&images, task.x.rows(), basis.cols())));
    }
    let mut down = side_by_side(&columns, task.x.cols(), basis.cols());
    let scale = (1.0 / task.noise) as f32;
    down.values_mut().par_iter_mut().for_each(|value| *value *= scale);
    Ok((down, Dense::zeros(0, 0)))
}

fn firsts(matrix: &Dense) -> impl IndexedParallelIterator<Item = usize> {
    (0..matrix.cols().div_ceil(LANES)).into_par_iter().with_max_len(1).map(|panel| panel * LANES)
}

fn side_by_side(panels: &[Vec<Lane>], rows: usize, cols: usize) -> Dense {
    let mut all = Dense::zeros(rows, cols);
    panels.iter().enumerate().for_each(|(number, panel)| put_panel(panel, number * LANES, &mut all));
    all
}

/// What the exact first layer makes of some documents, before the bias and tanh: one row each.
pub(super) fn exact(task: &Task<'_>, documents: &[usize], run: &Run) -> Result<Dense> {
    let gram = task.gram();
    let panels: Vec<Vec<Lane>> = documents
        .par_chunks(LANES)
        .map_init(Workspace::default, |work, documents| {
            let mut columns = vec![Lane::default(); task.x.cols()];
            for (lane, &document) in documents.iter().enumerate() {
                let (terms, values) = task.x.row(document);
                for (&term, &value) in terms.iter().zip(values) {
                    columns[term as usize].0[lane] = value * task.inverse[term as usize];
                }
            }
            gram.solve_panel(|sides| gram.push(&columns, sides), task.tolerance(), task.most_steps(), work, run)?;
            let total = narrow(&sum(&work.solution));
            let of_prototype = |&column: &u32| {
                let (rows, values) = task.by_columns.row(column as usize);
                let mut lane = gather(rows, values, &work.solution);
                lane.add(-task.means[column as usize], &total);
                lane.0.iter_mut().for_each(|value| *value /= task.noise as f32);
                lane
            };
            Ok(task.prototypes.iter().map(of_prototype).collect())
        })
        .collect::<Result<_>>()?;
    Ok(side_by_side(&panels, task.prototypes.len(), documents.len()).transpose())
}
