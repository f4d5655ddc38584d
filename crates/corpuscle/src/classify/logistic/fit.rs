//! From documents and labels to the problems Newton's method takes, and back to one weight vector per class.

use super::design::Design;
use super::link::Link;
use super::model::{LogisticModel, State};
use super::newton::Newton;
use super::{LogisticMulticlass, LogisticParams};
use crate::classify::assembly::{Assembly, Limits, Reached};
use crate::classify::cost::{self, ROUGH_COSTS, ROUGH_TOLERANCE};
use crate::classify::lanes::{self, with_lanes};
use crate::classify::packed::Packed;
use crate::classify::{Classifier, LinearModel};
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::params::{Auto, Params};
use crate::project::Target;
use crate::store::StoreReader;
use crate::{Result, Run};

impl Classifier for LogisticParams {
    type Model = LogisticModel;
    const SELF_TRAINS: bool = true;

    /// Fits the labelled rows of `x`. Documents with several labels are always fitted one-vs-rest. Not reaching the tolerance
    /// within `max_iter` steps is a warning and a flag in the model, not an error.
    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<LogisticModel> {
        self.check()?;
        let (labels, mut params) = (target.labels(), *self);
        if labels.is_multi_label() {
            params.multiclass = LogisticMulticlass::OneVsRest;
        }
        run.install(|| {
            let search = params.rough();
            let c = cost::resolve(self.c, x, target, run, |fold, c| {
                search.solve(&fold.x, &fold.labels, fold.weights.as_deref(), c, run).map(|(linear, _)| linear)
            })?;
            let (linear, reached) = params.solve(x, labels, target.weights(), c, run)?;
            Reached::warn(&reached, Self::NAME, labels.classes(), run);
            let state = State { params, c, multi_label: labels.is_multi_label(), reached };
            Ok(LogisticModel::new(state, linear))
        })
    }

    fn load(&self, store: &StoreReader<'_>, _run: &Run) -> Result<LogisticModel> {
        LogisticModel::load(store)
    }

    fn resolved(&self, model: &LogisticModel) -> Self {
        LogisticParams { c: Auto::Value(model.c()), ..*self }
    }

    fn rough(&self) -> Self {
        LogisticParams { tolerance: self.tolerance.max(ROUGH_TOLERANCE), ..*self }
    }

    fn variants(&self) -> Vec<Self> {
        match self.c {
            Auto::Value(_) => vec![self.rough()],
            Auto::Auto => ROUGH_COSTS.map(|c| LogisticParams { c: Auto::Value(c), ..self.rough() }).to_vec(),
        }
    }
}

impl LogisticParams {
    fn solve(
        &self,
        x: &Matrix,
        labels: &Labels,
        weights: Option<&[f32]>,
        c: f64,
        run: &Run,
    ) -> Result<(LinearModel, Vec<Reached>)> {
        let data = Packed::new(x, labels, weights, None)?;
        let mut result = Assembly::new(&data, labels.n_classes());
        let open = result.settle_constant_classes(&data, labels);
        let design = Design::new(&data)?;
        let problem = Problem {
            design: &design,
            labels,
            prices: self.class_weight.of(labels).iter().map(|weight| (weight * c) as f32).collect(),
            c: c as f32,
            bias: self.bias,
            limits: Limits { tolerance: self.tolerance, max_iter: self.max_iter },
            run,
        };
        if !labels.is_multi_label() && open.len() == 2 {
            // Two classes are one problem: the second class's, mirrored for the first. Half of its score on each side
            // makes the softmax of both the sigmoid of the whole.
            separately::<4>(&problem, &open[1..], Some(open[0]), &mut result)?;
            let half = if self.multiclass == LogisticMulticlass::Multinomial { 0.5 } else { 1.0 };
            result.mirror(open[1], open[0], half);
        } else if self.multiclass == LogisticMulticlass::Multinomial {
            with_lanes!(lanes::width(open.len()), jointly(&problem, &open, &mut result))?;
        } else {
            let width = lanes::width(open.len());
            for block in open.chunks(width) {
                with_lanes!(width, separately(&problem, block, None, &mut result))?;
            }
        }
        result.finish()
    }
}

struct Problem<'a> {
    design: &'a Design<'a>,
    labels: &'a Labels,
    /// C times the weight of each class.
    prices: Vec<f32>,
    c: f32,
    bias: bool,
    limits: Limits,
    run: &'a Run,
}

/// One softmax over all of `classes`.
fn jointly<const N: usize>(problem: &Problem<'_>, classes: &[usize], result: &mut Assembly) -> Result<()> {
    if classes.is_empty() {
        return Ok(());
    }
    let data = problem.design.data;
    let class_of = |row: usize| problem.labels.of(row).and_then(|ids| ids.first()).map_or(0, |&class| class as usize);
    let truth: Vec<u32> =
        data.rows.iter().map(|&row| classes.binary_search(&class_of(row)).unwrap_or(0) as u32).collect();
    let prices: Vec<f32> =
        data.rows.iter().zip(&data.weights).map(|(&row, weight)| weight * problem.prices[class_of(row)]).collect();
    let mut shares = vec![0f64; classes.len()];
    for (&class, &price) in truth.iter().zip(&prices) {
        shares[class as usize] += f64::from(price);
    }
    let tiles = classes.len().div_ceil(N);
    let mut biases = vec![[0f32; N]; tiles];
    for (bias, share) in biases.as_flattened_mut().iter_mut().zip(&shares) {
        *bias = share.ln() as f32;
    }
    let link = Link::Softmax { truth: &truth, prices: &prices, classes: classes.len() };
    let solver = Newton::<N>::new(problem.design, link, tiles, problem.bias);
    let mut solution = solver.solve(&biases, problem.limits, problem.run)?;
    // The same added to all biases changes no probability; centred is what scikit-learn's solver ends with.
    let biases = &mut solution.vector.as_flattened_mut()[tiles * data.total_columns() * N..][..classes.len()];
    let mean = biases.iter().map(|&bias| f64::from(bias)).sum::<f64>() / classes.len() as f64;
    biases.iter_mut().for_each(|bias| *bias -= mean as f32);
    place(problem, classes, &solution, result);
    Ok(())
}

/// A sigmoid for each of `classes` (at most `N`). With `other`, documents that are not of the class are of that one.
fn separately<const N: usize>(
    problem: &Problem<'_>,
    classes: &[usize],
    other: Option<usize>,
    result: &mut Assembly,
) -> Result<()> {
    let data = problem.design.data;
    let rest = other.map_or(problem.c, |class| problem.prices[class]);
    let prices: Vec<[f32; 2]> = classes.iter().map(|&class| [problem.prices[class], rest]).collect();
    let mut sums = vec![[0f64; 2]; classes.len()];
    let mut positive = vec![0u32; data.len()];
    for ((bits, &row), &weight) in positive.iter_mut().zip(&data.rows).zip(&data.weights) {
        for (lane, &class) in classes.iter().enumerate() {
            let has = problem.labels.has(row, class as u32);
            *bits |= u32::from(has) << lane;
            sums[lane][usize::from(!has)] += f64::from(weight * prices[lane][usize::from(!has)]);
        }
    }
    let mut biases = [[0f32; N]];
    for (bias, [with, without]) in biases[0].iter_mut().zip(&sums) {
        *bias = (with / without).ln() as f32;
    }
    let link = Link::Sigmoid { positive: &positive, weights: &data.weights, prices: &prices };
    let solver = Newton::<N>::new(problem.design, link, 1, problem.bias);
    let solution = solver.solve(&biases, problem.limits, problem.run)?;
    place(problem, classes, &solution, result);
    Ok(())
}

fn place<const N: usize>(
    problem: &Problem<'_>,
    classes: &[usize],
    solution: &super::newton::Solution<N>,
    result: &mut Assembly,
) {
    let data = problem.design.data;
    let columns = data.total_columns();
    let biases = &solution.vector[classes.len().div_ceil(N) * columns..];
    result.place(data, classes, |column, number| solution.vector[number / N * columns + column][number % N]);
    for (number, &class) in classes.iter().enumerate() {
        let (tile, lane) = (number / N, number % N);
        let reached = problem.limits.reached(solution.steps[lane], solution.gaps[lane]);
        result.settle(class, biases[tile][lane], reached);
    }
}
