//! Layer after layer from documents, in passes over chunks of them: no more outputs are held than a chunk has.

use rayon::prelude::*;

use super::factor::{self, Factors};
use super::layer::{self, Task};
use super::model::DcotModel;
use super::scatter::{Scatter, leading, symmetric};
use super::weights::{Layer, Weights};
use super::{DcotParams, Given, Solver, Weight};
use crate::matrix::rowwise::multiply_into;
use crate::matrix::small::tall_product;
use crate::matrix::{Codes, Csr, Dense, Matrix, Table};
use crate::run::Precision;
use crate::{Result, Run};

/// Rows that a task takes through the layers at once.
pub(super) const ROWS: usize = 256;
/// Rows whose outputs are held while their scatter is added up.
const CHUNK: usize = 16 * ROWS;
/// How far the outputs of a compact layer may be from those of the exact one, along the directions that are kept, on a
/// sample of training documents, relative to their length.
const MOST_ERROR: f64 = 0.15;
/// Documents of that sample.
const SAMPLE: usize = 64;
/// Directions a layer is written in beyond those kept of its output.
const SPARE_DIRECTIONS: usize = 24;
/// Fewest directions a layer is written in.
const FEWEST_DIRECTIONS: usize = 128;

/// Means of a layer's outputs and the lower triangle of their scatter about them.
type Moments = (Vec<f64>, Vec<f64>);

/// Learns all layers from all rows of `x`.
pub(super) fn fit(
    params: &DcotParams,
    values: Given,
    x: &Matrix,
    prototypes: Vec<u32>,
    run: &Run,
) -> Result<(DcotModel, Matrix)> {
    let Given { noise, layers: count, weight, rank } = values;
    let x = x.sparse();
    let task = Task::new(x, &prototypes, noise, params.ridge);
    let exact = run.precision() == Precision::Full;
    let (mut layers, mut centres, mut directions) = (Vec::new(), Vec::new(), Vec::new());
    let mut width = rank.map(|rank| directions_for(rank, prototypes.len()));
    let (first, solver, mut moments) = match (rank, width.as_mut()) {
        (Some(rank), Some(width)) if !exact => compact_first(&task, rank, width, params.solver, run)?,
        _ => {
            let (weights, solver) = task.solve(params.solver, run)?;
            let layers = [of_terms(&task, Weights::Whole(weights))?];
            let moments = if count > 1 || rank.is_some() { moments_of(&layers, x, run)? } else { no_moments() };
            let [first] = layers;
            (first, solver, moments)
        }
    };
    layers.push(first);
    loop {
        run.check()?;
        run.advance(1);
        if let Some(rank) = rank {
            let covariance = symmetric(&moments.1, prototypes.len());
            directions.push(Some(Table::new(leading(&covariance, rank, run)?, exact)));
            let centred = weight != Weight::None;
            centres.push(moments.0.iter().map(|&mean| if centred { mean as f32 } else { 0.0 }).collect());
        }
        if layers.len() == count {
            break;
        }
        let narrow = width.filter(|_| !exact);
        layers.push(later(&moments, x.rows(), noise, params.ridge, narrow, run)?);
        if layers.len() < count || rank.is_some() {
            moments = moments_of(&layers, x, run)?;
        }
    }
    drop(task);
    let square = x.values().iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>() / x.rows() as f64;
    let length = match weight {
        Weight::None => None,
        Weight::Times(times) => Some((times * square).sqrt() as f32),
    };
    let mut model =
        DcotModel { layers, centres, directions, length, prototypes, noise, fitted: Some((weight, solver)) };
    let z = match rank {
        Some(_) => model.outputs(x, run)?,
        None => {
            let mut z = model.raw(x, run)?;
            let means = if length.is_some() { means(&z) } else { vec![0.0; z.cols()] };
            model.centres = means.chunks(model.prototypes.len()).map(<[f32]>::to_vec).collect();
            model.directions = vec![None; count];
            model.centre_and_scale(&mut z);
            z
        }
    };
    Ok((model, Matrix::new(x.clone(), z, 0)?))
}

/// Directions that a layer is first tried with.
fn directions_for(rank: usize, prototypes: usize) -> usize {
    (rank + SPARE_DIRECTIONS).max(FEWEST_DIRECTIONS).next_multiple_of(16).min(prototypes)
}

fn no_moments() -> Moments {
    (Vec::new(), Vec::new())
}

/// The first layer in few directions, how it was solved, and the moments of its outputs.
fn compact_first(
    task: &Task<'_>,
    rank: usize,
    width: &mut usize,
    solver: Solver,
    run: &Run,
) -> Result<(Layer, Solver, Moments)> {
    let prototypes = task.prototypes.len();
    let by_gradients = matches!(solver, Solver::Auto | Solver::Gradients);
    // Where gradients need many steps, or nearly as many directions as prototypes are kept, solving for the directions costs as much
    // as solving for W: then W is solved as a whole and cut afterwards.
    if !by_gradients || 2 * *width > prototypes || !task.is_easy(run)? {
        let (weights, solver) = task.solve(solver, run)?;
        let whole = [of_terms(task, Weights::Whole(weights))?];
        let (_, scatter) = moments_of(&whole, task.x, run)?;
        let up = leading(&symmetric(&scatter, prototypes), *width, run)?;
        let down = tall_product(&whole[0].weights.written_out()?, &up);
        let layers = [of_factors(task, Factors { down, up })?];
        let moments = moments_of(&layers, task.x, run)?;
        let [layer] = layers;
        return Ok((layer, solver, moments));
    }
    // The exact outputs of a few documents, spread over the corpus, tell whether the directions suffice.
    let sample: Vec<usize> =
        (0..SAMPLE.min(task.x.rows())).map(|at| at * task.x.rows() / SAMPLE.min(task.x.rows())).collect();
    let exact = factor::exact(task, &sample, run)?;
    loop {
        let layers = [of_factors(task, factor::of_terms(task, *width, run)?)?];
        let moments = moments_of(&layers, task.x, run)?;
        let kept = leading(&symmetric(&moments.1, prototypes), rank, run)?;
        let error = error(&layers[0], task.x, &sample, &exact, &moments.0, &kept);
        let [layer] = layers;
        if error <= MOST_ERROR || 2 * *width > prototypes {
            return Ok((layer, Solver::Gradients, moments));
        }
        *width = (2 * *width).min(prototypes);
    }
}

fn of_factors(task: &Task<'_>, Factors { up, down }: Factors) -> Result<Layer> {
    of_terms(task, Weights::Terms { down: Codes::of(&down), up: Table::new(up, false) })
}

fn of_terms(task: &Task<'_>, weights: Weights) -> Result<Layer> {
    let means: Vec<f64> = task.means.iter().map(|&mean| f64::from(mean)).collect();
    let bias = bias(&weights, &means, &task.targets(), 1.0 - task.noise);
    Layer::new(weights, bias)
}

/// A further layer from the moments of the one before; in so many directions, or written out.
fn later(
    (means, scatter): &Moments,
    rows: usize,
    noise: f64,
    ridge: f64,
    directions: Option<usize>,
    run: &Run,
) -> Result<Layer> {
    let weights = layer::next(means, scatter, rows, noise, ridge, run)?;
    let weights = match directions {
        None => Weights::Whole(weights),
        Some(directions) => {
            // The covariance of the outputs before tanh, W S Wᵀ.
            let spread = tall_product(&symmetric(scatter, means.len()), &weights);
            let covariance = tall_product(&weights.transpose(), &spread);
            let up = leading(&covariance, directions, run)?;
            let down = Table::new(tall_product(&weights, &up), false);
            Weights::Layer { down, up: Table::new(up, false) }
        }
    };
    let bias = bias(&weights, means, means, 1.0 - noise);
    Layer::new(weights, bias)
}

/// b = m̄ − p·W m.
fn bias(weights: &Weights, means: &[f64], targets: &[f64], keep: f64) -> Vec<f32> {
    let sums = weights.of_means(means);
    targets.iter().zip(&sums).map(|(target, sum)| (target - keep * sum) as f32).collect()
}

/// The moments of the last layer's outputs over all rows.
fn moments_of(layers: &[Layer], x: &Csr, run: &Run) -> Result<Moments> {
    let width = layers.last().map_or(0, |layer| layer.weights.outputs());
    let mut scatter = Scatter::new(width);
    for first in (0..x.rows()).step_by(CHUNK) {
        run.check()?;
        let mut chunk = Dense::zeros(CHUNK.min(x.rows() - first), width);
        chunk.values_mut().par_chunks_mut(ROWS * width.max(1)).enumerate().for_each(|(number, out)| {
            let from = first + number * ROWS;
            let z = last_outputs(layers, x, from..from + out.len() / width);
            out.copy_from_slice(z.values());
        });
        scatter.add(&chunk, run)?;
    }
    Ok(scatter.finish())
}

fn last_outputs(layers: &[Layer], x: &Csr, rows: std::ops::Range<usize>) -> Dense {
    let count = rows.len();
    let mut z = Dense::zeros(count, layers[0].weights.outputs());
    layers[0].of_terms(x, rows, &mut z);
    for layer in &layers[1..] {
        let mut next = Dense::zeros(count, layer.weights.outputs());
        layer.of_layer(&z, &mut next);
        z = next;
    }
    z
}

/// The error of a compact first layer on sample documents along the directions kept, relative to the length of what the exact
/// one (`exact`, before bias and tanh) gives there.
fn error(layer: &Layer, x: &Csr, sample: &[usize], exact: &Dense, means: &[f64], kept: &Dense) -> f64 {
    let mut whole = exact.clone();
    layer.squash(&mut whole);
    let mut compact = Dense::zeros(sample.len(), whole.cols());
    layer.of_terms(&x.select_rows(sample), 0..sample.len(), &mut compact);
    for row in 0..sample.len() {
        compact.row_mut(row).iter_mut().zip(whole.row(row)).for_each(|(to, value)| *to -= value);
        whole.row_mut(row).iter_mut().zip(means).for_each(|(to, mean)| *to -= *mean as f32);
    }
    let along = |z: &Dense| -> f64 {
        let mut part = Dense::zeros(z.rows(), kept.cols());
        multiply_into(z, kept, &mut part);
        part.values().iter().map(|&value| f64::from(value) * f64::from(value)).sum()
    };
    let length = along(&whole);
    if length > 0.0 { (along(&compact) / length).sqrt() } else { 0.0 }
}

fn means(z: &Dense) -> Vec<f32> {
    let mut sums = vec![0f64; z.cols()];
    for row in 0..z.rows() {
        sums.iter_mut().zip(z.row(row)).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    sums.iter().map(|sum| (sum / z.rows().max(1) as f64) as f32).collect()
}
