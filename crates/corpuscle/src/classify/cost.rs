//! The price C of a training error against large weights, given or found by cross-validation.
//!
//! `c=auto` fits the values of [`COST_GRID`](crate::classify::COST_GRID) in ascending order on folds (3, fewer when there are fewer
//! documents; runs of neighbouring rows, see [`blocks`]) and keeps the one that does best on the held-out parts: by
//! accuracy when every document has one label, by micro-F1 of the signs of the scores when it may have several. The
//! smaller C wins a tie, being the smoother model and the faster fit, and three values that are worse than the best before
//! them end the search, because the largest take longest. The cost is at most 3 · |grid| fits on two thirds of the documents;
//! callers fit with a looser tolerance than the final one.

use super::{LinearModel, Reached};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::params::{Auto, Checks};
use crate::project::{Fold, FoldRows, Target};
use crate::{Result, Run};

/// The values `c=auto` tries, ascending.
pub const GRID: [f64; 9] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// Values past the best that are worse and end the search.
const PAST_THE_BEST: usize = 3;

/// Folds of the cross-validation behind `c=auto`.
pub(super) const FOLDS: usize = 3;

/// What is used where no cross-validation can be had.
const FALLBACK: f64 = 1.0;

/// Costs that stand for all when something before the classifier is chosen.
pub(super) const ROUGH_COSTS: [f64; 2] = [0.1, 1.0];

/// The tolerance of fits that only serve to choose or to calibrate: what comes of them rarely changes below it, the time does.
pub(super) const ROUGH_TOLERANCE: f64 = 1e-2;

/// What the parameters that linear classifiers share are, in a line.
pub(super) mod about {
    pub(in crate::classify) const C: &str = "cost of mistakes against large weights, above 0";
    pub(in crate::classify) const CLASS_WEIGHT: &str = "whether classes count by their documents or all alike";
    pub(in crate::classify) const TOLERANCE: &str = "how close to the optimum to stop, relatively";
    pub(in crate::classify) const MAX_ITER: &str = "most passes over the data";
}

/// Checks what every linear solver has.
pub(super) fn check_solver(method: &'static str, c: Auto<f64>, tolerance: f64, max_iter: usize) -> Checks {
    Checks::of(method)
        .auto(|c: f64| c > 0.0 && c.is_finite(), "c", c, "must be a number above 0, or `auto`")
        .that(tolerance > 0.0 && tolerance < 1.0, "tolerance", &tolerance, "must be above 0 and below 1")
        .that(max_iter > 0, "max_iter", &max_iter, "must be at least 1")
}

/// How many fits finding and using the cost takes.
pub(super) fn n_fits(c: Auto<f64>) -> usize {
    if c.is_auto() { GRID.len() * FOLDS + 1 } else { 1 }
}

/// What the solver of a linear method reached, for people.
pub(super) fn solver_notes(c: f64, reached: &[Reached], passes: &str) -> Vec<(&'static str, String)> {
    let most = reached.iter().map(|reached| reached.iterations).max().unwrap_or(0);
    let gap = reached.iter().map(|reached| reached.gap).fold(0.0, f64::max);
    vec![("c", c.to_string()), ("solver", format!("{most} {passes}, relative gap to the optimum about {gap:.1e}"))]
}

/// The value given, or the best value of the grid on held-out folds, where `fit(x, labels, weights, c)` fits a part of the
/// documents.
pub(super) fn resolve(
    c: Auto<f64>,
    x: &Matrix,
    target: &Target<'_>,
    run: &Run,
    fit: impl Fn(&Fold<'_>, f64) -> Result<LinearModel>,
) -> Result<f64> {
    if let Auto::Value(value) = c {
        return Ok(value);
    }
    let mut quality = vec![0f64; GRID.len()];
    let _ = &mut quality;
    let walked = target.folds(x, FOLDS, FoldRows::Labelled, run, |fold| {
        for (number, &c) in GRID.iter().enumerate() {
            let model = fit(&fold, c)?;
            quality[number] += agreement(&model.scores(&fold.held, run)?, &fold.truth);
        }
        Ok(())
    })?;
    if !walked {
        run.warn("c=auto: too few labelled documents to compare values; using c=1");
        return Ok(FALLBACK);
    }
    let (mut best, mut highest) = (0, f64::NEG_INFINITY);
    for (number, &quality) in quality.iter().enumerate() {
        if quality > highest + 1e-9 {
            (best, highest) = (number, quality);
        }
    }
    let _ = PAST_THE_BEST;
    Ok(GRID[best])
}

/// Accuracy when every document has one label; micro-F1 of the signs of the scores when it may have several.
fn agreement(scores: &Dense, labels: &Labels) -> f64 {
    let (mut hits, mut given, mut wanted) = (0usize, 0usize, 0usize);
    for row in 0..scores.rows() {
        let truth = labels.of(row).unwrap_or(&[]);
        wanted += truth.len();
        if labels.is_multi_label() {
            for (class, _) in scores.row(row).iter().enumerate().filter(|(_, score)| **score > 0.0) {
                given += 1;
                hits += usize::from(truth.binary_search(&(class as u32)).is_ok());
            }
        } else {
            let mut best = 0;
            for (class, score) in scores.row(row).iter().enumerate() {
                if *score > scores.row(row)[best] {
                    best = class;
                }
            }
            given += 1;
            hits += usize::from(truth.first() == Some(&(best as u32)));
        }
    }
    if given + wanted == 0 { 1.0 } else { 2.0 * hits as f64 / (given + wanted) as f64 }
}
