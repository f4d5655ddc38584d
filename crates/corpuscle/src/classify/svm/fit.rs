//! From documents and labels to the problems the solvers take, and back to one weight vector per class.

use rayon::prelude::*;

use super::bias::{Bias, Documents};
use super::crammer_singer::{self, solve as solve_jointly};
use super::model::SvmModel;
use super::naive_bayes::RatioPath;
use super::one_vs_rest::{self, Group, LANES};
use super::{Loss, Multiclass, SvmParams, primal};
use crate::classify::assembly::{Assembly, Classes, Limits, Reached};
use crate::classify::cost::{self, CostPath, ROUGH_COSTS, ROUGH_TOLERANCE};
use crate::classify::lanes::{self, with_lanes};
use crate::classify::packed::Packed;
use crate::classify::{Classifier, LinearModel, Start};
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::params::{Auto, Params};
use crate::project::{Fold, Target};
use crate::store::StoreReader;
use crate::{Error, Result, Run};

/// Passes of a glance at a cost.
const GLANCE_PASSES: usize = 2;
/// Passes of a fit that only leads to the next one.
const ROUND_PASSES: usize = 3;

impl Classifier for SvmParams {
    type Model = SvmModel;
    const SELF_TRAINS: bool = true;

    /// Fits the labelled rows of `x`. Not reaching the tolerance within `max_iter` passes is a warning and a flag in the model,
    /// not an error.
    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<SvmModel> {
        self.check()?;
        LinearModel::check_size(Self::NAME, target.labels().n_classes(), x.cols())?;
        let labels = target.labels();
        if labels.is_multi_label() && self.multiclass == Multiclass::CrammerSinger {
            return Err(Error::data(
                "svm: multiclass=crammer_singer needs exactly one label per document, but some have none or several; \
                 use multiclass=one_vs_rest",
            ));
        }
        run.install(|| {
            let search = self.rough();
            if self.nb {
                let path =
                    |fold: &Fold<'_>| RatioPath::new(&search, &fold.x, &fold.labels, fold.weights.as_deref(), run);
                let c = cost::resolve(self.c, x, target, run, path)?;
                let path = RatioPath::new(self, x, labels, target.weights(), run)?;
                let (linear, reached) = path.solve(c, self.max_iter)?;
                Reached::warn(&reached, Self::NAME, labels.classes(), run);
                return Ok(SvmModel::new(*self, c, reached, linear));
            }
            let path = |fold: &Fold<'_>| search.cost_path(&fold.x, &fold.labels, fold.weights.as_deref(), run);
            let c = cost::resolve(self.c, x, target, run, path)?;
            let (linear, reached) = self.cost_path(x, labels, target.weights(), run)?.solve_last(c, self.max_iter)?;
            Reached::warn(&reached, Self::NAME, labels.classes(), run);
            Ok(SvmModel::new(*self, c, reached, linear))
        })
    }

    fn fit_from(&self, x: &Matrix, target: &Target<'_>, start: &mut Start, run: &Run) -> Result<SvmModel> {
        let Auto::Value(c) = self.c else { return self.fit(x, target, run) };
        if self.nb || self.multiclass == Multiclass::CrammerSinger {
            return self.fit(x, target, run);
        }
        self.check()?;
        LinearModel::check_size(Self::NAME, target.labels().n_classes(), x.cols())?;
        run.install(|| {
            let labels = target.labels();
            let mut path = self.cost_path(x, labels, target.weights(), run)?;
            if let Some(duals) = start.take::<Duals>() {
                path.begin_at(&duals, c);
            }
            let (linear, reached) = path.solve(c, self.max_iter)?;
            Reached::warn(&reached, Self::NAME, labels.classes(), run);
            if let Some(duals) = path.into_duals() {
                start.leave(duals);
            }
            Ok(SvmModel::new(*self, c, reached, linear))
        })
    }

    fn load(&self, store: &StoreReader<'_>, _run: &Run) -> Result<SvmModel> {
        SvmModel::load(store)
    }

    fn with_linear(model: SvmModel, linear: LinearModel) -> Option<SvmModel> {
        Some(model.with_linear(linear))
    }

    fn resolved(&self, model: &SvmModel) -> Self {
        SvmParams { c: Auto::Value(model.c()), ..*self }
    }

    fn rough(&self) -> Self {
        SvmParams { tolerance: self.tolerance.max(ROUGH_TOLERANCE), ..*self }
    }

    fn glance(&self) -> Self {
        SvmParams { max_iter: self.max_iter.min(ROUND_PASSES), ..self.rough() }
    }

    fn variants(&self) -> Vec<Self> {
        match self.c {
            Auto::Value(_) => vec![self.rough()],
            Auto::Auto => ROUGH_COSTS.map(|c| SvmParams { c: Auto::Value(c), ..self.rough() }).to_vec(),
        }
    }

    /// One step for each class of each fit.
    fn steps(&self, labels: &Labels) -> Option<u64> {
        let classes = labels.class_counts().iter().filter(|&&count| count > 0).count();
        let problems = if !labels.is_multi_label() && classes == 2 { 1 } else { classes };
        (self.multiclass == Multiclass::OneVsRest).then(|| (cost::n_fits(self.c) * problems) as u64)
    }
}

impl SvmParams {
    /// Packs the labelled rows of `x` to be fitted at several costs, at this tolerance.
    pub(crate) fn cost_path<'r>(
        &self,
        x: &Matrix,
        labels: &Labels,
        weights: Option<&[f32]>,
        run: &'r Run,
    ) -> Result<SvmPath<'r>> {
        // Class streams are 0, 1, 2 …; the shuffle takes one far from them.
        let data = Packed::new(x, labels, weights, Some(&mut run.rng(u64::MAX)))?;
        let norms: Vec<f32> = (0..data.len()).into_par_iter().map(|row| data.norm_squared(row) as f32).collect();
        let classes = Classes::new(&data, labels);
        let open = &classes.open;
        // Two classes are one problem: the second class's, mirrored for the first.
        let mirrored = !labels.is_multi_label() && open.len() == 2;
        let class_weights = self.class_weight.of(labels);
        let problem = if self.multiclass == Multiclass::CrammerSinger && !open.is_empty() {
            let number = |row: usize| {
                let class = labels.of(row).and_then(|ids| ids.first()).map_or(0, |&class| class as usize);
                open.binary_search(&class).map_or((0, 0.0), |at| (at as u32, class_weights[class]))
            };
            let (truth, counts) = data.rows.iter().map(|&row| number(row)).unzip();
            Problem::Joint { truth, counts, last: None }
        } else {
            let solved = if mirrored { &open[1..] } else { &open[..] };
            let rest = if mirrored { class_weights[open[0]] } else { 1.0 };
            let group = |classes: &[usize]| {
                let sign = |row: usize| {
                    let has = |(lane, &class): (usize, &usize)| u8::from(labels.has(row, class as u32)) << lane;
                    classes.iter().enumerate().map(has).fold(0, |bits, bit| bits | bit)
                };
                let signs = data.rows.iter().map(|&row| sign(row)).collect();
                Group { signs, counts: classes.iter().map(|&class| [class_weights[class], rest]).collect() }
            };
            let groups = solved.par_chunks(LANES).map(group).collect();
            Problem::Separate { solved: solved.to_vec(), groups, mirrored, last: Vec::new() }
        };
        Ok(SvmPath { params: *self, data, norms, classes, problem, run, goes_on: true })
    }
}

/// The fits of the same documents at one cost after the other, each starting from the dual variables of the one before.
pub(crate) struct SvmPath<'r> {
    params: SvmParams,
    data: Packed,
    /// Squared length of each document.
    norms: Vec<f32>,
    classes: Classes,
    problem: Problem,
    run: &'r Run,
    /// Whether another fit may start from this one's dual variables.
    goes_on: bool,
}

enum Problem {
    /// Crammer-Singer: the class of each document, numbered without gaps, and what that class counts.
    Joint { truth: Vec<u32>, counts: Vec<f64>, last: Option<crammer_singer::Solution> },
    /// The classes that have a problem of their own, in groups; of two classes only the second has, and the first is its mirror.
    Separate { solved: Vec<usize>, groups: Vec<Group>, mirrored: bool, last: Vec<one_vs_rest::Solution> },
}

/// The dual variables of one problem per class, as they were when it was solved.
struct Duals {
    /// The row of the matrix each document was.
    rows: Vec<usize>,
    /// The classes that had a problem of their own.
    solved: Vec<usize>,
    groups: Vec<Group>,
    solutions: Vec<one_vs_rest::Solution>,
}

impl Duals {
    /// α of the documents at `places` (`None` for one that was not there) in the problem of each of `classes`, side by side in `lanes`:
    /// 0 where a document has changed sides, for its α pulls the wrong way now.
    fn of(&self, places: &[Option<usize>], group: &Group, classes: &[usize], lanes: usize) -> Vec<f32> {
        let mut alpha = vec![0f32; places.len() * lanes];
        for (lane, class) in classes.iter().enumerate() {
            let Ok(number) = self.solved.binary_search(class) else { continue };
            let (old, from) = (number / LANES, number % LANES);
            let (signs, solution) = (&self.groups[old].signs, &self.solutions[old]);
            for (document, place) in places.iter().enumerate() {
                let Some(place) = *place else { continue };
                if signs[place] >> from & 1 == group.signs[document] >> lane & 1 {
                    alpha[document * lanes + lane] = solution.alpha[place * solution.lanes + from];
                }
            }
        }
        alpha
    }
}

impl SvmPath<'_> {
    /// Begins at dual variables of other labels and weights instead of 0.
    fn begin_at(&mut self, duals: &Duals, c: f64) {
        let Problem::Separate { solved, groups, last, .. } = &mut self.problem else { return };
        if primal::suits(&self.data, self.params.loss) {
            return;
        }
        let most = self.data.rows.iter().chain(&duals.rows).max().map_or(0, |&row| row + 1);
        let mut place_of = vec![None; most];
        duals.rows.iter().enumerate().for_each(|(place, &row)| place_of[row] = Some(place));
        let places: Vec<Option<usize>> = self.data.rows.iter().map(|&row| place_of[row]).collect();
        let begin = |(classes, group): (&[usize], &Group)| {
            let lanes = if classes.len() == 1 { 1 } else { LANES };
            one_vs_rest::Solution {
                c,
                alpha: duals.of(&places, group, classes, lanes),
                weights: Vec::new(),
                lanes,
                biases: vec![0.0; lanes],
                gaps: Vec::new(),
                passes: 0,
            }
        };
        *last = solved.par_chunks(LANES).zip(groups.par_iter()).map(begin).collect();
    }

    /// The dual variables; `None` where weights were solved for themselves.
    fn into_duals(self) -> Option<Duals> {
        let rows = self.data.rows;
        match self.problem {
            Problem::Separate { solved, groups, mut last, .. }
                if last.iter().all(|solution| !solution.alpha.is_empty()) =>
            {
                last.iter_mut().for_each(|solution| solution.weights = Vec::new());
                Some(Duals { rows, solved, groups, solutions: last })
            }
            _ => None,
        }
    }
}

impl CostPath for SvmPath<'_> {
    fn fit(&mut self, c: f64) -> Result<LinearModel> {
        self.solve(c, self.params.max_iter).map(|(linear, _)| linear)
    }

    fn glance(&mut self, c: f64) -> Result<Option<LinearModel>> {
        self.solve(c, GLANCE_PASSES.min(self.params.max_iter)).map(|(linear, _)| Some(linear))
    }
}

impl SvmPath<'_> {
    /// [`Self::solve`] where no fit follows: dual variables of classes that are done are let go, four bytes a document and class.
    pub(super) fn solve_last(mut self, c: f64, max_iter: usize) -> Result<(LinearModel, Vec<Reached>)> {
        self.goes_on = false;
        self.solve(c, max_iter)
    }

    /// The fit at cost `c`, after at most `max_iter` passes.
    pub(super) fn solve(&mut self, c: f64, max_iter: usize) -> Result<(LinearModel, Vec<Reached>)> {
        let SvmPath { params, data, norms, classes, problem, run, goes_on } = self;
        let squared = params.multiclass == Multiclass::OneVsRest && params.loss == Loss::SquaredHinge;
        let ridge = if squared { 0.5 / c } else { 0.0 };
        let documents = Documents { data, norms, bias: Bias::new(params.bias, norms, ridge) };
        let limits = Limits { tolerance: params.tolerance, max_iter };
        let mut result = Assembly::new(data, classes);
        let open = &classes.open;
        match problem {
            Problem::Joint { truth, counts, last } => {
                let price = |(count, weight): (&f64, &f32)| (count * c) as f32 * weight;
                let prices: Vec<f32> = counts.iter().zip(&data.weights).map(price).collect();
                let problem = crammer_singer::Problem { documents, truth, prices: &prices, c };
                let (width, from) = (lanes::width(open.len()), last.as_ref());
                let solution = with_lanes!(width, solve_jointly(problem, open.len(), limits, from, run.rng(0), run))?;
                let lanes = solution.lanes;
                result.place(data, open, |column, number| {
                    solution.tiles[number / lanes][column * lanes + number % lanes]
                });
                for (&class, &bias) in open.iter().zip(&solution.biases) {
                    result.settle(class, bias, limits.reached(solution.passes, solution.gap));
                }
                *last = Some(solution);
            }
            Problem::Separate { solved, groups, mirrored, last } => {
                let few_columns = primal::suits(data, params.loss);
                let solve = |(number, group): (usize, &Group)| {
                    let classes = group.counts.len();
                    let (rng, from) = (run.rng(solved[number * LANES] as u64), last.get(number));
                    let problem = one_vs_rest::Problem { documents, group, loss: params.loss, c };
                    let solution = match classes {
                        1 if few_columns => primal::solve::<1>(problem, limits, from, run),
                        _ if few_columns => primal::solve::<LANES>(problem, limits, from, run),
                        1 => one_vs_rest::solve::<1>(problem, limits, from, rng, run),
                        _ => one_vs_rest::solve::<LANES>(problem, limits, from, rng, run),
                    };
                    // A glance that is followed by a fit is not a step of its own.
                    if max_iter == params.max_iter {
                        run.advance(classes as u64);
                    }
                    let keep = |solution: one_vs_rest::Solution| match *goes_on {
                        true => solution,
                        false => one_vs_rest::Solution { alpha: Vec::new(), ..solution },
                    };
                    solution.map(keep)
                };
                *last = groups.par_iter().enumerate().map(solve).collect::<Result<_>>()?;
                result.place(data, solved, |column, number| {
                    let group = &last[number / LANES];
                    group.weights[column * group.lanes + number % LANES]
                });
                for (number, &class) in solved.iter().enumerate() {
                    let (group, lane) = (&last[number / LANES], number % LANES);
                    result.settle(class, group.biases[lane], limits.reached(group.passes, group.gaps[lane]));
                }
                if *mirrored {
                    result.mirror(open[1], open[0], 1.0);
                }
            }
        }
        result.finish()
    }
}
