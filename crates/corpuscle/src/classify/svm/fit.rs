//! From documents and labels to the problems the solvers take, and back to one weight vector per class.

use rayon::prelude::*;

use super::bias::{Bias, Documents};
use super::crammer_singer::{self, solve as solve_jointly};
use super::model::SvmModel;
use super::one_vs_rest::{self, LANES, Target};
use super::{Loss, Multiclass, SvmParams};
use crate::classify::assembly::{Assembly, Limits, Reached};
use crate::classify::cost::{self, ROUGH_COSTS, ROUGH_TOLERANCE};
use crate::classify::lanes::{self, with_lanes};
use crate::classify::packed::Packed;
use crate::classify::{Classifier, LinearModel};
use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::params::{Auto, Params};
use crate::project::Target as Truth;
use crate::store::StoreReader;
use crate::{Error, Result, Run};

impl Classifier for SvmParams {
    type Model = SvmModel;
    const SELF_TRAINS: bool = true;

    /// Fits the labelled rows of `x`. Not reaching the tolerance within `max_iter` passes is a warning and a flag in the model,
    /// not an error.
    fn fit(&self, x: &Matrix, target: &Truth<'_>, run: &Run) -> Result<SvmModel> {
        self.check()?;
        let labels = target.labels();
        if labels.is_multi_label() && self.multiclass == Multiclass::CrammerSinger {
            return Err(Error::data(
                "svm: multiclass=crammer_singer needs exactly one label per document, but some have none or several; \
                 use multiclass=one_vs_rest",
            ));
        }
        run.install(|| {
            let search = self.rough();
            let c = cost::resolve(self.c, x, target, run, |fold, c| {
                search.solve(&fold.x, &fold.labels, fold.weights.as_deref(), c, run).map(|(linear, _)| linear)
            })?;
            let (linear, reached) = self.solve(x, labels, target.weights(), c, run)?;
            Reached::warn(&reached, Self::NAME, labels.classes(), run);
            Ok(SvmModel::new(*self, c, reached, linear))
        })
    }

    fn load(&self, store: &StoreReader<'_>, _run: &Run) -> Result<SvmModel> {
        SvmModel::load(store)
    }

    fn resolved(&self, model: &SvmModel) -> Self {
        SvmParams { c: Auto::Value(model.c()), ..*self }
    }

    fn rough(&self) -> Self {
        SvmParams { tolerance: self.tolerance.max(ROUGH_TOLERANCE), ..*self }
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
    fn solve(
        &self,
        x: &Matrix,
        labels: &Labels,
        weights: Option<&[f32]>,
        c: f64,
        run: &Run,
    ) -> Result<(LinearModel, Vec<Reached>)> {
        // Class streams are 0, 1, 2 …; the shuffle takes one far from them.
        let data = Packed::new(x, labels, weights, Some(&mut run.rng(u64::MAX)))?;
        let norms: Vec<f32> = (0..data.len()).into_par_iter().map(|row| data.norm_squared(row) as f32).collect();
        let squared = self.multiclass == Multiclass::OneVsRest && self.loss == Loss::SquaredHinge;
        let ridge = if squared { 0.5 / c } else { 0.0 };
        let documents = Documents { data: &data, norms: &norms, bias: Bias::new(self.bias, &norms, ridge) };
        let mut result = Assembly::new(&data, labels.n_classes());
        let open = result.settle_constant_classes(&data, labels);
        // Two classes are one problem: the second class's, mirrored for the first.
        let mirrored = !labels.is_multi_label() && open.len() == 2;
        let limits = Limits { tolerance: self.tolerance, max_iter: self.max_iter };
        let class_weights: Vec<f64> = self.class_weight.of(labels).iter().map(|weight| weight * c).collect();
        if self.multiclass == Multiclass::CrammerSinger && !open.is_empty() {
            let number = |row: usize| {
                let class = labels.of(row).and_then(|ids| ids.first()).map_or(0, |&class| class as usize);
                open.binary_search(&class).map_or((0, 0.0), |at| (at as u32, class_weights[class] as f32))
            };
            let numbers: Vec<(u32, f32)> = data.rows.iter().map(|&row| number(row)).collect();
            let truth: Vec<u32> = numbers.iter().map(|number| number.0).collect();
            let prices: Vec<f32> =
                numbers.iter().zip(&data.weights).map(|((_, price), weight)| price * weight).collect();
            let problem = crammer_singer::Problem { documents, truth: &truth, prices: &prices };
            let width = lanes::width(open.len());
            let solution = with_lanes!(width, solve_jointly(problem, open.len(), limits, run.rng(0), run))?;
            let lanes = solution.lanes;
            result
                .place(&data, &open, |column, number| solution.tiles[number / lanes][column * lanes + number % lanes]);
            for (&class, &bias) in open.iter().zip(&solution.biases) {
                result.settle(class, bias, limits.reached(solution.passes, solution.gap));
            }
            return result.finish();
        }
        let solved = if mirrored { &open[1..] } else { &open[..] };
        let target = |&class: &usize| {
            let rest = if mirrored { class_weights[open[0]] } else { c };
            let positive = data.rows.iter().map(|&row| labels.has(row, class as u32)).collect();
            Target { positive, prices: [class_weights[class] as f32, rest as f32] }
        };
        let groups: Vec<one_vs_rest::Solution> = solved
            .par_chunks(LANES)
            .map(|classes| {
                let targets: Vec<Target> = classes.iter().map(target).collect();
                let rng = run.rng(classes[0] as u64);
                let solution = match targets.len() {
                    1 => one_vs_rest::solve::<1>(documents, &targets, self.loss, limits, rng, run),
                    _ => one_vs_rest::solve::<LANES>(documents, &targets, self.loss, limits, rng, run),
                };
                run.advance(classes.len() as u64);
                solution
            })
            .collect::<Result<_>>()?;
        result.place(&data, solved, |column, number| {
            let group = &groups[number / LANES];
            group.weights[column * group.lanes + number % LANES]
        });
        for (number, &class) in solved.iter().enumerate() {
            let (group, lane) = (&groups[number / LANES], number % LANES);
            result.settle(class, group.biases[lane], limits.reached(group.passes, group.gaps[lane]));
        }
        if mirrored {
            result.mirror(open[1], open[0], 1.0);
        }
        result.finish()
    }
}
