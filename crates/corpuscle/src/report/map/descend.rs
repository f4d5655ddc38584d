//! Gradient descent from a start to a map.

use rayon::prelude::*;

use super::affinity::Affinities;
use super::tree::Tree;
use super::{Layout, MapParams, Point};
use crate::{Result, Run};

/// Affinities are this much larger in the first steps, so that clusters form while points are still close.
const EXAGGERATION: f64 = 12.0;
const EXAGGERATED: usize = 250;
/// Points of one piece of parallel work.
const CHUNK: usize = 128;
const LEAST_GAIN: f64 = 0.01;
/// No point moves further in a step: a guard against steps that overshoot in tiny maps.
const LONGEST_STEP: f64 = 5.0;

/// Σ p log(p / q) with the sum of all q given.
fn divergence(p: &Affinities, points: &[Point], total: f64) -> f64 {
    let mut sum = 0.0;
    for (row, at) in points.iter().enumerate() {
        for (column, value) in p.row(row) {
            let q = near(at, &points[column]) / total;
            sum += value * (value.max(f64::MIN_POSITIVE) / q.max(f64::MIN_POSITIVE)).ln();
        }
    }
    sum
}

fn near(a: &Point, b: &Point) -> f64 {
    let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
    1.0 / (1.0 + dx * dx + dy * dy)
}

/// The push on every point (in the order of the points) and the sum of all q.
fn pushes(tree: &Tree, theta_squared: f64, places: &mut [(Point, f64)], out: &mut [Point]) -> f64 {
    places.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, places)| {
        for (offset, to) in places.iter_mut().enumerate() {
            *to = tree.push(chunk * CHUNK + offset, theta_squared);
        }
    });
    let mut total = 0.0;
    for (place, at) in tree.order().enumerate() {
        out[at] = places[place].0;
        total += places[place].1;
    }
    total.max(f64::MIN_POSITIVE)
}

/// Moves the points until the steps are used up. Runs on the workers of the caller.
pub(super) fn descend(p: &Affinities, mut points: Vec<Point>, params: &MapParams, run: &Run) -> Result<Layout> {
    let n = p.rows();
    let theta_squared = params.theta * params.theta;
    let rate = (n as f64 / EXAGGERATION / 4.0).max(50.0);
    let exaggerated = EXAGGERATED.min(params.iterations / 3);
    let mut tree = Tree::default();
    let mut places = vec![([0f64; 2], 0f64); n];
    let mut push = vec![[0f64; 2]; n];
    let mut steps = vec![[0f64; 2]; n];
    let mut gains = vec![[1f64; 2]; n];
    let mut next = points.clone();
    let mut first_divergence = 0.0;
    for iteration in 0..params.iterations {
        run.check()?;
        let (exaggeration, momentum) = if iteration < exaggerated { (EXAGGERATION, 0.5) } else { (1.0, 0.8) };
        tree.build(&points);
        let total = pushes(&tree, theta_squared, &mut places, &mut push);
        if iteration == 0 {
            first_divergence = divergence(p, &points, total);
        }
        let moved = next.par_chunks_mut(CHUNK).zip(steps.par_chunks_mut(CHUNK)).zip(gains.par_chunks_mut(CHUNK));
        moved.enumerate().for_each(|(chunk, ((next, steps), gains))| {
            for (offset, ((next, step), gain)) in next.iter_mut().zip(steps).zip(gains).enumerate() {
                let row = chunk * CHUNK + offset;
                let at = points[row];
                let mut pull = [0f64; 2];
                for (column, value) in p.row(row) {
                    let other = points[column];
                    let strength = value * near(&at, &other);
                    pull[0] += strength * (at[0] - other[0]);
                    pull[1] += strength * (at[1] - other[1]);
                }
                for axis in 0..2 {
                    let gradient = 4.0 * (exaggeration * pull[axis] - push[row][axis] / total);
                    // A step that still goes downhill gains speed; one that has overshot loses it.
                    let downhill = (gradient > 0.0) != (step[axis] > 0.0);
                    gain[axis] = if downhill { gain[axis] + 0.2 } else { (gain[axis] * 0.8).max(LEAST_GAIN) };
                    let wanted = momentum * step[axis] - rate * gain[axis] * gradient;
                    step[axis] = wanted.clamp(-LONGEST_STEP, LONGEST_STEP);
                    next[axis] = at[axis] + step[axis];
                }
            }
        });
        std::mem::swap(&mut points, &mut next);
        centre(&mut points);
        run.advance(1);
    }
    tree.build(&points);
    let total = pushes(&tree, theta_squared, &mut places, &mut push);
    let divergence = divergence(p, &points, total);
    Ok(Layout { points, first_divergence, divergence })
}

fn centre(points: &mut [Point]) {
    let mut mean = [0f64; 2];
    for point in points.iter() {
        mean[0] += point[0];
        mean[1] += point[1];
    }
    let n = points.len().max(1) as f64;
    points.iter_mut().for_each(|point| *point = [point[0] - mean[0] / n, point[1] - mean[1] / n]);
}
