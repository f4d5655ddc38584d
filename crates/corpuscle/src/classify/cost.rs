//! The price C of a training error against large weights, given or found by cross-validation.
//!
//! `c=auto` fits the values of [`COST_GRID`](crate::classify::COST_GRID) in ascending order on folds (3; runs of neighbouring
//! rows, see [`Target::folds`]) and keeps the one that does best on the held-out parts: by
//! accuracy when every document has one label, by micro-F1 of the signs of the scores when it may have several. The
//! smaller C wins a tie, being the smoother model and the faster fit, and three values that are worse than the best before
//! them end the search, because the largest take longest.
//!
//! The fits of a fold are a path ([`CostPath`]): its documents are packed once, and each value starts from the solution at
//! the one before, which is near. Past the best, a value that is far behind after a rough fit is given up. Callers fit with a
//! looser tolerance than the final one. The cost is at most 3 · |grid| warm fits on two thirds of the documents, and the memory
//! of three such fits at once.

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

/// How far a value must be behind the best at a glance, in each fold's accuracy or F1, to be given up: what lies between a
/// glance and the whole fit, up to 0.0005 on 20 Newsgroups and 0.003 on search snippets (which trail by 0.02) …
const CLEARLY: f64 = 0.002;

/// … but no fewer documents of a fold than these.
const CLEARLY_DOCUMENTS: f64 = 5.0;

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

    /// A rough fit at cost `c` for a small part of the work, which [`CostPath::fit`] at the same cost takes further; nothing
    /// when all of the work is small.
    fn glance(&mut self, _c: f64) -> Result<Option<LinearModel>> {
        Ok(None)
    }
}

/// The value of the grid that does best on the held-out documents: for each fold, the fits of its training part, and the
/// documents left out of it with their labels.
fn best_cost<P: CostPath>(mut folds: Vec<(P, Matrix, Labels)>, run: &Run) -> Result<f64> {
    let (mut best, mut highest, mut worse) = (0, f64::NEG_INFINITY, 0);
    let clearly = |labels: &Labels| CLEARLY.max(CLEARLY_DOCUMENTS / labels.len().max(1) as f64);
    let clearly: f64 = folds.iter().map(|(_, _, labels)| clearly(labels)).sum();
    for (number, &c) in GRID.iter().enumerate() {
        // Past the best, a value that is far behind at a glance is spared the rest of its fit.
        let glance = if worse > 0 { quality(&mut folds, run, |path| path.glance(c))? } else { None };
        if glance.is_some_and(|glance| glance < highest - clearly) {
            worse += 1;
        } else {
            let quality = quality(&mut folds, run, |path| path.fit(c).map(Some))?.unwrap_or(0.0);
            // Folds differ by whole documents, so anything smaller than this is rounding.
            if quality > highest + 1e-9 {
                (best, highest, worse) = (number, quality, 0);
            } else if quality < highest - 1e-9 {
                worse += 1;
            }
        }
        if worse == PAST_THE_BEST {
            break;
        }
    }
    Ok(GRID[best])
}

/// The sum over the folds of how well their models do on the documents left out; nothing when some fold has no model.
fn quality<P: CostPath>(
    folds: &mut [(P, Matrix, Labels)],
    run: &Run,
    model: impl Fn(&mut P) -> Result<Option<LinearModel>> + Sync,
) -> Result<Option<f64>> {
    // Folds side by side: a fit of few classes alone does not keep every core busy.
    let one = |(path, held_out, labels): &mut (P, Matrix, Labels)| {
        run.check()?;
        let Some(model) = model(path)? else { return Ok(None) };
        Ok(Some(agreement(&model.scores(held_out, run)?, labels)))
    };
    let all: Vec<Option<f64>> = run.install(|| folds.par_iter_mut().map(one).collect::<Result<_>>())?;
    Ok(all.into_iter().sum())
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
    use crate::classify::fixture::{Fixture, projected};
    use crate::classify::{LogisticMulticlass, LogisticParams, Loss, Multiclass, SvmParams};
    use crate::matrix::Csr;
    use crate::text::WordsParams;
    use crate::vectorize::TfidfParams;

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

    /// Begins a new path for every cost, and glances at none.
    struct Cold<F>(F);

    impl<P: CostPath, F: Fn() -> Result<P> + Send> CostPath for Cold<F> {
        fn fit(&mut self, c: f64) -> Result<LinearModel> {
            self.0()?.fit(c)
        }
    }

    type Part = (Matrix, Labels, Option<Vec<f32>>);

    /// What `path` chooses with warm starts and without.
    fn both<P: CostPath>(
        (x, labels, weights): (&Matrix, &Labels, Option<&[f32]>),
        path: impl Fn(&Part) -> Result<P> + Sync,
    ) -> [f64; 2] {
        let run = Run::new(1, 2).unwrap();
        let target = Target::new(labels).with_weights(weights);
        let part = |fold: &Fold<'_>| -> Part { (fold.x.clone(), fold.labels.clone(), fold.weights.clone()) };
        let warm = resolve(Auto::Auto, x, &target, &run, |fold| path(&part(fold)));
        let cold = resolve(Auto::Auto, x, &target, &run, |fold| {
            let (part, path) = (part(fold), &path);
            Ok(Cold(move || path(&part)))
        });
        [warm.unwrap(), cold.unwrap()]
    }

    /// The demo corpus as tf-idf.
    fn demo() -> (Matrix, Labels) {
        let documents = crate::corpus::demo().unwrap().train;
        let texts: Vec<&str> = documents.iter().map(|document| document.text.as_str()).collect();
        let run = Run::new(1, 2).unwrap();
        let tokens = WordsParams::default().tokenize(&texts, &run).unwrap();
        let (_, x) = TfidfParams::default().fit(&tokens, &run).unwrap();
        (x.into(), Labels::from_lists(documents.iter().map(|document| document.labels.as_deref())))
    }

    #[test]
    fn warm_starts_choose_what_cold_ones_do() {
        const DEMO: usize = 0;
        let run = Run::new(1, 2).unwrap();
        let fixture = Fixture::read();
        let (projected, _, classes) = projected(600, 20, 6, 3);
        let (x, labels) = demo();
        let several = fixture.labels("several-labels");
        let sets = [
            (&x, &labels, None),
            (&fixture.x(), &fixture.labels(""), Some(&fixture.weights[..])),
            (&fixture.x(), &several, None),
            (&projected, &classes, None),
        ];
        // Tight, because on so few documents one more or less decides: at 1e-2 two cold fits would not agree either. The
        // demo corpus with Crammer-Singer or one sigmoid a class is a plateau that hangs on one document even so.
        let mut differ = Vec::new();
        for (number, set) in sets.into_iter().enumerate() {
            let one_vs_rest = SvmParams { tolerance: 1e-4, ..Default::default() };
            let mut settings = vec![one_vs_rest, SvmParams { loss: Loss::Hinge, ..one_vs_rest }];
            let mut multiclass = Vec::new();
            if number != DEMO {
                multiclass.push(LogisticMulticlass::OneVsRest);
            }
            if !set.1.is_multi_label() {
                multiclass.push(LogisticMulticlass::Multinomial);
            }
            if !set.1.is_multi_label() && number != DEMO {
                settings.push(SvmParams { multiclass: Multiclass::CrammerSinger, ..one_vs_rest });
            }
            for params in settings {
                let [warm, cold] =
                    both(set, |(x, labels, weights)| params.cost_path(x, labels, weights.as_deref(), &run));
                if warm != cold {
                    differ.push(format!("{number}: {warm} {cold} {params:?}"));
                }
            }
            for multiclass in multiclass {
                let params = LogisticParams { multiclass, tolerance: 1e-6, ..Default::default() };
                let [warm, cold] =
                    both(set, |(x, labels, weights)| params.cost_path(x, labels, weights.as_deref(), &run));
                if warm != cold {
                    differ.push(format!("{number}: {warm} {cold} {params:?}"));
                }
            }
        }
        assert!(differ.is_empty(), "{differ:#?}");
    }
}
