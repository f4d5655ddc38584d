//! From documents and labels to the problems Newton's method takes, and back to one weight vector per class.

use std::cmp::Reverse;

use super::design::Design;
use super::link::Link;
use super::model::{LogisticModel, State};
use super::newton::{Newton, Point, Solution};
use super::{LogisticMulticlass, LogisticParams};
use crate::classify::assembly::{Assembly, Classes, Limits, Reached};
use crate::classify::cost::{self, CostPath, ROUGH_COSTS, ROUGH_TOLERANCE};
use crate::classify::lanes::{self, with_lanes};
use crate::classify::packed::Packed;
use crate::classify::{Classifier, LinearModel};
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::params::{Auto, Params};
use crate::project::{Fold, Target};
use crate::store::StoreReader;
use crate::{Result, Run};

/// Classes of a group have at least one in so many of the documents of its largest.
const LIKE: usize = 4;

impl Classifier for LogisticParams {
    type Model = LogisticModel;
    const SELF_TRAINS: bool = true;

    /// Fits the labelled rows of `x`. Documents with several labels are always fitted one-vs-rest. Not reaching the tolerance
    /// within `max_iter` steps is a warning and a flag in the model, not an error.
    fn fit(&self, x: &Matrix, target: &Target<'_>, run: &Run) -> Result<LogisticModel> {
        self.check()?;
        LinearModel::check_size(Self::NAME, target.labels().n_classes(), x.cols())?;
        let (labels, mut params) = (target.labels(), *self);
        if labels.is_multi_label() {
            params.multiclass = LogisticMulticlass::OneVsRest;
        }
        run.install(|| {
            let search = params.rough();
            let path = |fold: &Fold<'_>| search.cost_path(&fold.x, &fold.labels, fold.weights.as_deref(), run);
            let c = cost::resolve(self.c, x, target, run, path)?;
            let (linear, reached) = params.cost_path(x, labels, target.weights(), run)?.solve(c)?;
            Reached::warn(&reached, Self::NAME, labels.classes(), run);
            let state = State { params, c, multi_label: labels.is_multi_label(), reached };
            Ok(LogisticModel::new(state, linear))
        })
    }

    fn load(&self, store: &StoreReader<'_>, _run: &Run) -> Result<LogisticModel> {
        LogisticModel::load(store)
    }

    fn with_linear(model: LogisticModel, linear: LinearModel) -> Option<LogisticModel> {
        Some(model.with_linear(linear))
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
    /// Packs the labelled rows of `x` to be fitted at several costs, at this tolerance.
    pub(crate) fn cost_path<'r>(
        &self,
        x: &Matrix,
        labels: &Labels,
        weights: Option<&[f32]>,
        run: &'r Run,
    ) -> Result<LogisticPath<'r>> {
        let data = Packed::new(x, labels, weights, None)?;
        let classes = Classes::new(&data, labels);
        let (open, class_weights) = (&classes.open, self.class_weight.of(labels));
        let problems = if !labels.is_multi_label() && open.len() == 2 {
            // Two classes are one problem: the second class's, mirrored for the first. Half of its score on each side
            // makes the softmax of both the sigmoid of the whole.
            vec![Problem::separate(&data, labels, &open[1..], &class_weights, class_weights[open[0]], 4)]
        } else if self.multiclass == LogisticMulticlass::Multinomial {
            vec![Problem::joint(&data, labels, open, &class_weights, lanes::width(open.len()))]
        } else {
            let groups = groups(open, &classes.sizes);
            let problem = |(group, width): &(Vec<usize>, usize)| {
                Problem::separate(&data, labels, group, &class_weights, 1.0, *width)
            };
            groups.iter().map(problem).collect()
        };
        let mirrored = !labels.is_multi_label() && open.len() == 2;
        Ok(LogisticPath { params: *self, design: Design::new(data)?, classes, mirrored, problems, run })
    }
}

/// The classes in groups to be fitted side by side, each group with the lanes it takes.
///
/// A group goes on until its slowest class is done, and a class takes the more steps the more documents it has: with 445 labels
/// of Reuters, 16 lanes of the classes in the order of their names take 103 passes over the documents, of those with 15 to 17
/// documents 33, of those with one document 5. So a group has classes of like size, a quarter of the largest at least.
fn groups(open: &[usize], sizes: &[usize]) -> Vec<(Vec<usize>, usize)> {
    let mut sorted = open.to_vec();
    sorted.sort_by_key(|&class| Reverse(sizes[class]));
    let mut groups = Vec::new();
    let mut rest = &sorted[..];
    while let Some(&largest) = rest.first() {
        let alike = rest.iter().take_while(|&&class| LIKE * sizes[class] >= sizes[largest]).count();
        // All that is left is shared out evenly; otherwise no lane is to be idle.
        let width = if alike == rest.len() { lanes::width(alike) } else { lanes::filled(alike) };
        let (group, others) = rest.split_at(width.min(rest.len()));
        groups.push((group.to_vec(), width));
        rest = others;
    }
    groups
}

/// The fits of the same documents at one cost after the other, each starting from where the two before it point to.
pub(crate) struct LogisticPath<'r> {
    params: LogisticParams,
    design: Design,
    classes: Classes,
    /// The second of two classes is fitted, the first is its mirror.
    mirrored: bool,
    problems: Vec<Problem>,
    run: &'r Run,
}

/// Classes that are fitted side by side.
struct Problem {
    classes: Vec<usize>,
    lanes: usize,
    truth: Truth,
    /// What was reached at the last two costs, the last one first.
    reached: [Option<At>; 2],
}

/// What was reached at a cost, lanes side by side.
struct At {
    c: f64,
    vector: Vec<f32>,
    scores: Vec<f32>,
}

/// What the documents are.
enum Truth {
    /// The class of each document, numbered without gaps, and what that class counts.
    Joint { truth: Vec<u32>, counts: Vec<f64> },
    /// Bit `l` of a document: it has the class in lane `l`; and for each lane what documents with and without it count.
    Separate { positive: Vec<u32>, counts: Vec<[f64; 2]> },
}

impl CostPath for LogisticPath<'_> {
    fn fit(&mut self, c: f64) -> Result<LinearModel> {
        self.solve(c).map(|(linear, _)| linear)
    }
}

impl LogisticPath<'_> {
    fn solve(&mut self, c: f64) -> Result<(LinearModel, Vec<Reached>)> {
        let mut result = Assembly::new(&self.design.data, &self.classes);
        for problem in &mut self.problems {
            let task = Task {
                design: &self.design,
                c,
                bias: self.params.bias,
                limits: Limits { tolerance: self.params.tolerance, max_iter: self.params.max_iter },
                run: self.run,
            };
            with_lanes!(problem.lanes, fit_lanes(&task, problem, &mut result))?;
        }
        if self.mirrored {
            let half = if self.params.multiclass == LogisticMulticlass::Multinomial { 0.5 } else { 1.0 };
            result.mirror(self.classes.open[1], self.classes.open[0], half);
        }
        result.finish()
    }
}

impl Problem {
    /// One softmax over all of `classes`.
    fn joint(data: &Packed, labels: &Labels, classes: &[usize], class_weights: &[f64], lanes: usize) -> Self {
        let class_of = |row: usize| labels.of(row).and_then(|ids| ids.first()).map_or(0, |&class| class as usize);
        let number = |row: usize| classes.binary_search(&class_of(row)).unwrap_or(0) as u32;
        let truth = data.rows.iter().map(|&row| number(row)).collect();
        let counts = data.rows.iter().map(|&row| class_weights[class_of(row)]).collect();
        Problem { classes: classes.to_vec(), lanes, truth: Truth::Joint { truth, counts }, reached: [None, None] }
    }

    /// A sigmoid for each of `classes` (at most `lanes`); documents that are not of the class count `rest`.
    fn separate(
        data: &Packed,
        labels: &Labels,
        classes: &[usize],
        class_weights: &[f64],
        rest: f64,
        lanes: usize,
    ) -> Self {
        let bits = |&row: &usize| {
            let has = |(lane, &class): (usize, &usize)| u32::from(labels.has(row, class as u32)) << lane;
            classes.iter().enumerate().map(has).fold(0, |bits, bit| bits | bit)
        };
        let positive = data.rows.iter().map(bits).collect();
        let counts = classes.iter().map(|&class| [class_weights[class], rest]).collect();
        Problem { classes: classes.to_vec(), lanes, truth: Truth::Separate { positive, counts }, reached: [None, None] }
    }
}

/// What the problems of one fit have in common.
struct Task<'a> {
    design: &'a Design,
    c: f64,
    bias: bool,
    limits: Limits,
    run: &'a Run,
}

fn fit_lanes<const N: usize>(task: &Task<'_>, problem: &mut Problem, result: &mut Assembly) -> Result<()> {
    let Problem { classes, truth, reached, .. } = problem;
    if classes.is_empty() {
        return Ok(());
    }
    let data = &task.design.data;
    let tiles = classes.len().div_ceil(N);
    let solution = match truth {
        Truth::Joint { truth, counts } => {
            let price = |(count, weight): (&f64, &f32)| weight * (count * task.c) as f32;
            let prices: Vec<f32> = counts.iter().zip(&data.weights).map(price).collect();
            let mut shares = vec![0f64; classes.len()];
            for (&class, &price) in truth.iter().zip(&prices) {
                shares[class as usize] += f64::from(price);
            }
            let mut biases = vec![[0f32; N]; tiles];
            for (bias, share) in biases.as_flattened_mut().iter_mut().zip(&shares) {
                *bias = share.ln() as f32;
            }
            let link = Link::Softmax { truth, prices: &prices, classes: classes.len() };
            minimise(task, link, &biases, reached)?
        }
        Truth::Separate { positive, counts } => {
            let prices: Vec<[f32; 2]> = counts.iter().map(|counts| counts.map(|n| (n * task.c) as f32)).collect();
            let mut sums = vec![[0f64; 2]; classes.len()];
            for (bits, &weight) in positive.iter().zip(&data.weights) {
                for (lane, (sums, prices)) in sums.iter_mut().zip(&prices).enumerate() {
                    let side = usize::from(bits >> lane & 1 == 0);
                    sums[side] += f64::from(weight * prices[side]);
                }
            }
            let mut biases = [[0f32; N]];
            for (bias, [with, without]) in biases[0].iter_mut().zip(&sums) {
                *bias = (with / without).ln() as f32;
            }
            let link = Link::Sigmoid { positive, weights: &data.weights, prices: &prices };
            minimise(task, link, &biases, reached)?
        }
    };
    let columns = data.total_columns();
    let (weights, biases) = solution.vector.split_at(tiles * columns);
    // The same added to all biases changes no probability; centred is what scikit-learn's solver ends with.
    let mean = match truth {
        Truth::Joint { .. } => {
            let biases = biases.as_flattened()[..classes.len()].iter();
            biases.map(|&bias| f64::from(bias)).sum::<f64>() / classes.len() as f64
        }
        Truth::Separate { .. } => 0.0,
    };
    result.place(data, classes, |column, number| weights[number / N * columns + column][number % N]);
    for (number, &class) in classes.iter().enumerate() {
        let (tile, lane) = (number / N, number % N);
        let reached = task.limits.reached(solution.steps[lane], solution.gaps[lane]);
        result.settle(class, biases[tile][lane] - mean as f32, reached);
    }
    let Solution { vector, scores, .. } = solution;
    reached.swap(0, 1);
    reached[0] = Some(At { c: task.c, vector: vector.into_flattened(), scores: scores.into_flattened() });
    Ok(())
}

/// From where the costs before point to, or from W = 0 and the given biases.
fn minimise<const N: usize>(
    task: &Task<'_>,
    link: Link<'_>,
    biases: &[[f32; N]],
    reached: &[Option<At>; 2],
) -> Result<Solution<N>> {
    let solver = Newton::<N>::new(task.design, link, biases.len(), task.bias);
    fn point<const N: usize>(at: &At) -> Point<'_, N> {
        Point { vector: at.vector.as_chunks().0, scores: at.scores.as_chunks().0 }
    }
    let [Some(last), before] = reached else { return solver.solve(biases, task.limits, task.run) };
    let times = |before: &At| (task.c / last.c).ln() / (last.c / before.c).ln();
    let before = before.as_ref().map(|before| (point(before), times(before)));
    solver.resume(point(last), before.filter(|(_, times)| times.is_finite()), task.limits, task.run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_of_classes_alike_and_have_every_class() {
        // Sizes of tags of Reuters, about: a few large, many of one document.
        let sizes: Vec<usize> = (0..445usize).map(|class| 12_000 / (class * 7 % 445 + 1).pow(2) + 1).collect();
        let open: Vec<usize> = (0..445).collect();
        let groups = groups(&open, &sizes);
        let mut all: Vec<usize> = groups.iter().flat_map(|(group, _)| group.clone()).collect();
        all.sort_unstable();
        assert_eq!(all, open);
        for (group, width) in &groups {
            assert!(group.len() <= *width && (*width == 4 || sizes[group[0]] <= LIKE * sizes[group[group.len() - 1]]));
        }
        // Classes of one size are shared out as evenly as they ever were.
        let even = super::groups(&open[..40], &[9; 40]);
        assert_eq!(even.iter().map(|(group, width)| (group.len(), *width)).collect::<Vec<_>>(), [(20, 20); 2]);
        assert!(super::groups(&[], &[]).is_empty());
    }
}
