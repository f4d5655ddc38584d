//! The price C of a training error against large weights, given or found by cross-validation.
//!
//! `c=auto` fits the values of [`COST_GRID`](crate::classify::COST_GRID) in ascending order on folds (3, fewer when there are fewer
//! documents; runs of neighbouring rows, see [`blocks`]) and keeps the one that does best on the held-out parts: by
//! accuracy when every document has one label, by micro-F1 of the signs of the scores when it may have several. The
//! smaller C wins a tie, being the smoother model and the faster fit, and three values that are worse than the best before
//! them end the search, because the largest take longest.
//!
//! The fits of a fold are a path ([`CostPath`]): its documents are packed once, and each value starts from the solution at
//! the one before, which is near. Callers fit with a looser tolerance than the final one. The cost is at most 3 · |grid| warm
//! fits on two thirds of the documents, and the memory of three such fits at once.

use rayon::prelude::*;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::LinearModel;
use crate::corpus::{Labels, blocks, without};
use crate::matrix::{Dense, Matrix};
use crate::{Error, Result, Run};

/// The values `c=auto` tries, ascending.
pub const GRID: [f64; 9] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// Values past the best that are worse and end the search.
const PAST_THE_BEST: usize = 3;

/// Folds of the cross-validation behind `c=auto`.
const FOLDS: usize = 3;

/// The price of a training error: a value, or to be found by cross-validation.
///
/// It is written as a number or as the word `auto`.
///
/// ```
/// use corpuscle::classify::Cost;
/// assert_eq!(serde_json::from_str::<Cost>("0.5")?, Cost::Value(0.5));
/// assert_eq!(serde_json::to_string(&Cost::Auto)?, "\"auto\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    /// This value.
    Value(f64),
    /// The best of [`COST_GRID`](crate::classify::COST_GRID) by cross-validation.
    Auto,
}

impl Default for Cost {
    fn default() -> Self {
        Cost::Value(1.0)
    }
}

impl Cost {
    /// An error naming `stage` when the value is not a positive finite number.
    pub(super) fn check(self, stage: &'static str) -> Result<()> {
        match self {
            Cost::Value(value) if !(value > 0.0 && value.is_finite()) => {
                Err(Error::parameter(stage, "c", value, "must be a number above 0, or `auto`"))
            }
            _ => Ok(()),
        }
    }

    /// How many fits finding and using the cost takes.
    pub(super) fn fits(self) -> usize {
        match self {
            Cost::Value(_) => 1,
            Cost::Auto => GRID.len() * FOLDS + 1,
        }
    }

    /// The value, or the best value of the grid, where `path(x, labels, weights)` begins the fits of a part of the documents.
    pub(super) fn resolve<P: CostPath>(
        self,
        x: &Matrix,
        labels: &Labels,
        weights: Option<&[f32]>,
        run: &Run,
        path: impl Fn(&Matrix, &Labels, Option<&[f32]>) -> Result<P>,
    ) -> Result<f64> {
        let Cost::Value(value) = self else { return choose(x, labels, weights, run, path) };
        Ok(value)
    }
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Cost::Value(value) => to.serialize_f64(*value),
            Cost::Auto => to.serialize_str("auto"),
        }
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Word(String),
        }
        match Written::deserialize(from)? {
            Written::Number(value) => Ok(Cost::Value(value)),
            Written::Word(word) if word == "auto" => Ok(Cost::Auto),
            Written::Word(word) => Err(D::Error::invalid_value(Unexpected::Str(&word), &"a number or `auto`")),
        }
    }
}

/// Fits of the same documents at one cost after the other.
pub(crate) trait CostPath: Send {
    /// The fit at cost `c`. Costs are asked for in ascending order; the first fit starts from nothing, each further one
    /// from the solution before it.
    fn fit(&mut self, c: f64) -> Result<LinearModel>;
}

/// Cuts the folds and compares the values of the grid on them.
fn choose<P: CostPath>(
    x: &Matrix,
    labels: &Labels,
    weights: Option<&[f32]>,
    run: &Run,
    path: impl Fn(&Matrix, &Labels, Option<&[f32]>) -> Result<P>,
) -> Result<f64> {
    let rows = labels.labelled_rows();
    let k = FOLDS.min(rows.len());
    if k < 2 {
        run.warn("c=auto needs at least 2 labelled documents to compare values; using c=1");
        return Ok(1.0);
    }
    let mut folds = Vec::with_capacity(k);
    for held_out in blocks(labels, k)? {
        run.check()?;
        let kept = without(&rows, &held_out);
        let weights = weights.map(|all| kept.iter().map(|&row| all[row]).collect::<Vec<f32>>());
        if weights.as_ref().is_some_and(|weights| weights.iter().all(|&weight| weight == 0.0)) {
            continue;
        }
        let path = path(&x.select_rows(&kept), &labels.select(&kept), weights.as_deref())?;
        folds.push((path, x.select_rows(&held_out), labels.select(&held_out)));
    }
    best_cost(folds, run)
}

/// The value of the grid that does best on the held-out documents: for each fold, the fits of its training part, and the
/// documents left out of it with their labels.
pub(crate) fn best_cost<P: CostPath>(mut folds: Vec<(P, Matrix, Labels)>, run: &Run) -> Result<f64> {
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
        let always = |_: &Matrix, _: &Labels, _: Option<&[f32]>| Ok(Given(|_| constant(1.0)));
        assert_eq!(Cost::Auto.resolve(&x, &labels, None, &run, always).unwrap(), GRID[0]);
        let from_one =
            |_: &Matrix, _: &Labels, _: Option<&[f32]>| Ok(Given(|c| constant(if c >= 1.0 { 1.0 } else { -1.0 })));
        assert_eq!(Cost::Auto.resolve(&x, &labels, None, &run, from_one).unwrap(), 1.0);
        // Past the best, three values that are worse are enough.
        let tried = Mutex::new(Vec::new());
        let only_one = |_: &Matrix, _: &Labels, _: Option<&[f32]>| {
            Ok(Given(|c| {
                tried.lock().unwrap().push(c);
                constant(if c == 0.03 { 1.0 } else { -1.0 })
            }))
        };
        assert_eq!(Cost::Auto.resolve(&x, &labels, None, &run, only_one).unwrap(), 0.03);
        assert_eq!(tried.lock().unwrap().iter().copied().fold(0.0, f64::max), 1.0);
        assert_eq!(Cost::Value(7.0).resolve(&x, &labels, None, &run, always).unwrap(), 7.0);
        let one = (x.select_rows(&[0]), labels.select(&[0]));
        assert_eq!(Cost::Auto.resolve(&one.0, &one.1, None, &run, always).unwrap(), 1.0);
    }

    #[test]
    fn values_out_of_range_are_named() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Cost::Value(bad).check("svm").unwrap_err().to_string().starts_with("svm: c ="));
        }
        assert!(Cost::Auto.check("svm").is_ok());
        assert!(serde_json::from_str::<Cost>("\"automatic\"").is_err());
        assert_eq!(serde_json::from_str::<Cost>("2").unwrap(), Cost::Value(2.0));
    }
}
