//! The price C of a training error against large weights, given or found by cross-validation.
//!
//! `c=auto` fits the values of [`COST_GRID`](crate::classify::COST_GRID) in ascending order on folds (3; runs of neighbouring
//! rows, see [`Target::folds`]) and keeps the one that does best on the held-out parts: by
//! accuracy when every document has one label, by micro-F1 of the signs of the scores when it may have several. The
//! smaller C wins a tie, being the smoother model and the faster fit, and three values that are worse than the best before
//! them end the search, because the largest take longest.
//!
//! The fits of a fold are a path ([`CostPath`]): its documents are packed once, and each value starts from the solution at
//! the one before, which is near. Callers fit with a looser tolerance than the final one. The cost is at most 3 · |grid| warm
//! fits on two thirds of the documents, and the memory of three such fits at once.

use rayon::prelude::*;

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

/// The value given, or the best value of the grid on held-out folds, where `path` begins the fits of a fold's documents.
pub(super) fn resolve<P: CostPath>(
    c: Auto<f64>,
    x: &Matrix,
    target: &Target<'_>,
    run: &Run,
    path: impl Fn(&Fold<'_>) -> Result<P>,
) -> Result<f64> {
    if let Auto::Value(value) = c {
        return Ok(value);
    }
    let mut folds = Vec::with_capacity(FOLDS);
    let walked = target.folds(x, FOLDS, FoldRows::Labelled, run, |fold| {
        folds.push((path(&fold)?, fold.held, fold.truth));
        Ok(())
    })?;
    if !walked {
        run.warn("c=auto: too few labelled documents to compare values; using c=1");
        return Ok(FALLBACK);
    }
    best_cost(folds, run)
}

/// Fits of the same documents at one cost after the other.
pub(crate) trait CostPath: Send {
    /// The fit at cost `c`. Costs are asked for in ascending order; the first fit starts from nothing, each further one
    /// from the solution before it.
    fn fit(&mut self, c: f64) -> Result<LinearModel>;
}

/// The value of the grid that does best on the held-out documents: for each fold, the fits of its training part, and the
/// documents left out of it with their labels.
fn best_cost<P: CostPath>(mut folds: Vec<(P, Matrix, Labels)>, run: &Run) -> Result<f64> {
    let (mut best, mut highest, mut worse) = (0, f64::NEG_INFINITY, 0);
    for (number, &c) in GRID.iter().enumerate() {
        // Folds side by side: a fit of few classes alone does not keep every core busy.
        let quality = |(path, held_out, labels): &mut (P, Matrix, Labels)| {
            run.check()?;
            Ok(agreement(&path.fit(c)?.scores(held_out, run)?, labels))
        };
        let qualities: Vec<f64> = run.install(|| folds.par_iter_mut().map(quality).collect::<Result<_>>())?;
        let quality: f64 = qualities.iter().sum();
        // Folds differ by whole documents, so anything smaller than this is rounding.
        if quality > highest + 1e-9 {
            (best, highest, worse) = (number, quality, 0);
        } else if quality < highest - 1e-9 {
            worse += 1;
        }
        if worse == PAST_THE_BEST {
            break;
        }
    }
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::matrix::Csr;

    fn blobs(n: usize) -> (Matrix, Labels) {
        let x = Csr::from_rows(2, (0..n).map(|row| vec![(row as u32 % 2, 1.0)]));
        (x.into(), Labels::from_single((0..n).map(|row| Some(["a", "b"][row % 2]))))
    }

    /// A path whose model at each cost is given by a function.
    struct Given<F>(F);

    impl<F: Fn(f64) -> Result<LinearModel> + Send> CostPath for Given<F> {
        fn fit(&mut self, c: f64) -> Result<LinearModel> {
            self.0(c)
        }
    }

    #[test]
    fn the_smaller_value_wins_a_tie_and_the_better_one_otherwise() {
        let (x, labels) = blobs(12);
        let run = Run::new(1, 1).unwrap();
        let constant = |sign: f32| LinearModel::new(Dense::from_rows(&[[sign, -sign], [-sign, sign]]), vec![0.0, 0.0]);
        let always = |_: &Fold<'_>| Ok(Given(|_| constant(1.0)));
        assert_eq!(resolve(Auto::Auto, &x, &Target::new(&labels), &run, always).unwrap(), GRID[0]);
        let from_one = |_: &Fold<'_>| Ok(Given(|c| constant(if c >= 1.0 { 1.0 } else { -1.0 })));
        assert_eq!(resolve(Auto::Auto, &x, &Target::new(&labels), &run, from_one).unwrap(), 1.0);
        // Past the best, three values that are worse are enough.
        let tried = Mutex::new(Vec::new());
        let only_one = |_: &Fold<'_>| {
            Ok(Given(|c| {
                tried.lock().unwrap().push(c);
                constant(if c == 0.03 { 1.0 } else { -1.0 })
            }))
        };
        assert_eq!(resolve(Auto::Auto, &x, &Target::new(&labels), &run, only_one).unwrap(), 0.03);
        assert_eq!(tried.lock().unwrap().iter().copied().fold(0.0, f64::max), 1.0);
        assert_eq!(resolve(Auto::Value(7.0), &x, &Target::new(&labels), &run, always).unwrap(), 7.0);
        let one = (x.select_rows(&[0]), labels.select(&[0]));
        assert_eq!(resolve(Auto::Auto, &one.0, &Target::new(&one.1), &run, always).unwrap(), 1.0);
    }
}
