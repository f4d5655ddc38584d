//! A layer in few directions: W ≈ P·(PᵀW), P the directions that its outputs on training documents take most.
//!
//! Of the first layer W is never written out. With M = W X_cᵀ, the outputs of all documents before tanh, P spans the
//! leading left singular vectors of M, found from random combinations of documents by power steps; each
//! multiplication by M or Mᵀ is a solve of the layer's equations for as many sides as there are directions, in place of
//! one for each prototype. PᵀW is then solved for beyond the precision of eight bits and kept in eight bits with a scale per term.
//!
//! How many directions: doubled until the outputs of a sample of training documents, along the directions that are kept of
//! them, are within `MOST_ERROR` (`fit.rs`) of those of the exact layer, which for a sample are cheap to solve; or until they
//! are half as many as the prototypes, when two factors are no smaller than W.
//!
//! Reference: Halko, Martinsson and Tropp (2011), "Finding structure with randomness". O((nnz + n)·directions) a step of
//! the solver, against O((nnz + n)·prototypes); d·directions bytes.

use rayon::prelude::*;

use super::layer::{MOST_STEPS, TOLERANCE, Task};
use crate::matrix::Dense;
use crate::matrix::gram::{ShiftedGram, Workspace};
use crate::matrix::panel::{LANES, Lane, put_panel, take_panel};
use crate::matrix::svd::{fill_random, orthonormal_twice};
use crate::{Result, Run};

/// The stream of the first combinations.
const STREAM: u64 = 0xd1c0;
/// Power steps, which tell directions of slowly falling weight apart; a second makes finding them half as slow again.
const POWER_STEPS: usize = 1;
/// A residual small enough where only directions are looked for.
const ROUGH_TOLERANCE: f64 = 1e-2;
/// A residual well within the rounding of eight bits.
const CODED_TOLERANCE: f64 = 1e-4;

/// P (prototypes × directions) and PᵀW transposed (terms × directions).
pub(super) struct Factors {
    pub(super) up: Dense,
    pub(super) down: Dense,
}

/// The two factors of the first layer with so many directions.
pub(super) fn of_terms(task: &Task<'_>, directions: usize, run: &Run) -> Result<Factors> {
    let gram = task.gram();
    let mut combinations = Dense::zeros(task.x.rows(), directions);
    fill_random(&mut combinations, 0, &mut run.rng(STREAM));
    // The image of random combinations of documents lies mostly in the leading directions; a step of M Mᵀ turns it further into
    // them, and bases are made orthonormal between, or all columns would lean to the first direction.
    let mut up = orthonormal_twice(times_outputs(task, &gram, &combinations, run)?)?;
    for _ in 0..POWER_STEPS {
        let back = transposed_times_outputs(task, &gram, &up, run)?;
        up = orthonormal_twice(times_outputs(task, &gram, &orthonormal_twice(back)?, run)?)?;
    }
    // Only this product is kept, so only it is solved beyond the rounding of eight bits.
    let down = transposed_times_weights(task, &gram, &up, run)?;
    Ok(Factors { up, down })
}

/// M times columns over documents, up to a factor: prototypes × columns.
fn times_outputs(task: &Task<'_>, gram: &ShiftedGram<'_>, columns: &Dense, run: &Run) -> Result<Dense> {
    let panels: Vec<Vec<Lane>> = firsts(columns)
        .map_init(Workspace::default, |work, first| {
            gram.solve_panel(|sides| take_panel(columns, first, sides), ROUGH_TOLERANCE, MOST_STEPS, work, run)?;
            Ok(task.to_prototypes(&pushed(gram, work)))
        })
        .collect::<Result<_>>()?;
    Ok(side_by_side(&panels, task.prototypes.len(), columns.cols()))
}

/// Mᵀ times columns over prototypes, up to a factor: documents × columns.
fn transposed_times_outputs(task: &Task<'_>, gram: &ShiftedGram<'_>, columns: &Dense, run: &Run) -> Result<Dense> {
    let panels: Vec<Vec<Lane>> = firsts(columns)
        .map_init(Workspace::default, |work, first| {
            solve_for_prototypes(task, gram, columns, first, ROUGH_TOLERANCE, work, run)?;
            Ok(pushed(gram, work))
        })
        .collect::<Result<_>>()?;
    Ok(side_by_side(&panels, task.x.rows(), columns.cols()))
}

/// Wᵀ times columns over prototypes: terms × columns.
fn transposed_times_weights(task: &Task<'_>, gram: &ShiftedGram<'_>, columns: &Dense, run: &Run) -> Result<Dense> {
    let panels: Vec<Vec<Lane>> = firsts(columns)
        .map_init(Workspace::default, |work, first| {
            solve_for_prototypes(task, gram, columns, first, CODED_TOLERANCE, work, run)?;
            Ok(work.columns.clone())
        })
        .collect::<Result<_>>()?;
    let mut product = side_by_side(&panels, task.x.cols(), columns.cols());
    let scale = (1.0 / task.noise) as f32;
    product.values_mut().par_iter_mut().for_each(|value| *value *= scale);
    Ok(product)
}

/// Solves the equations for the sums of prototype columns that sixteen of `columns` make.
fn solve_for_prototypes(
    task: &Task<'_>,
    gram: &ShiftedGram<'_>,
    columns: &Dense,
    first: usize,
    tolerance: f64,
    work: &mut Workspace,
    run: &Run,
) -> Result<()> {
    let mut panel = vec![Lane::default(); columns.rows()];
    take_panel(columns, first, &mut panel);
    gram.solve_panel(|sides| task.combine(&panel, sides), tolerance, MOST_STEPS, work, run)?;
    Ok(())
}

/// X_c D⁻¹ X_cᵀ Y of the solution Y, in its memory.
fn pushed(gram: &ShiftedGram<'_>, work: &mut Workspace) -> Vec<Lane> {
    let mut images = std::mem::take(&mut work.solution);
    gram.push(&work.columns, &mut images);
    images
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
            gram.solve_panel(|sides| gram.push(&columns, sides), TOLERANCE, MOST_STEPS, work, run)?;
            let mut products = task.to_prototypes(&work.solution);
            let scale = task.noise as f32;
            products.iter_mut().flat_map(|lane| &mut lane.0).for_each(|value| *value /= scale);
            Ok(products)
        })
        .collect::<Result<_>>()?;
    Ok(side_by_side(&panels, task.prototypes.len(), documents.len()).transpose())
}
