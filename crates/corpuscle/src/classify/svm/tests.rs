use proptest::prelude::*;

use super::*;
use crate::classify::cost::CostPath;
use crate::classify::fixture::{Fixture, check_path, distance, projected, written_out};
use crate::classify::{COST_GRID, ClassWeight, Classifier, ClassifierModel, LinearModel, Start};
use crate::corpus::Labels;
use crate::matrix::{Csr, Matrix};
use crate::params::Auto;
use crate::project::Target;
use crate::store::tests::round_trip;
use crate::{Error, Run};

fn run() -> Run {
    Run::new(1, 2).unwrap()
}

fn tight() -> SvmParams {
    SvmParams { tolerance: 1e-6, max_iter: 5000, ..Default::default() }
}

#[test]
fn decision_values_are_those_of_scikit_learn() {
    let fixture = Fixture::read();
    for case in &fixture.svm {
        let balanced = SvmParams { class_weight: ClassWeight::Balanced, ..tight() };
        // About as far as 32-bit scores go under the hinge, whose gap is of first order in them.
        let hinge = SvmParams { loss: Loss::Hinge, tolerance: 3e-6, ..tight() };
        let joint = SvmParams { multiclass: Multiclass::CrammerSinger, ..hinge };
        let params = match case.name.as_str() {
            "squared-hinge" | "weights" | "two-classes" | "several-labels" => tight(),
            "hinge" | "hinge-weights" => hinge,
            "c=0.1" => SvmParams { c: Auto::Value(0.1), ..tight() },
            "c=10" => SvmParams { c: Auto::Value(10.0), ..tight() },
            "balanced" | "two-classes-balanced" => balanced,
            "no-bias" => SvmParams { bias: 0.0, ..tight() },
            "bias=3" => SvmParams { bias: 3.0, ..tight() },
            "crammer-singer" => joint,
            "crammer-singer-balanced" => SvmParams { class_weight: ClassWeight::Balanced, ..joint },
            other => panic!("no parameters for case {other}"),
        };
        let weights = case.name.ends_with("weights").then_some(&fixture.weights[..]);
        let model =
            params.fit(&fixture.x(), &Target::new(&fixture.labels(&case.name)).with_weights(weights), &run()).unwrap();
        let far = distance(&model.scores(&fixture.x(), &run()).unwrap(), &case.scores);
        assert!(model.converged(), "{}: {:?}", case.name, model.reached());
        assert!(far < 3e-3, "{}: scores differ by {far}", case.name);
    }
}

#[test]
fn a_projected_matrix_gives_the_scores_of_the_written_out_one() {
    let (kept, whole, labels) = projected(80, 15, 3, 5);
    let settings = [
        tight(),
        SvmParams { loss: Loss::Hinge, ..tight() },
        SvmParams { multiclass: Multiclass::CrammerSinger, ..tight() },
    ];
    for params in settings {
        let scores = |x: &Matrix| params.fit(x, &Target::new(&labels), &run()).unwrap().scores(x, &run()).unwrap();
        let far = distance(&scores(&kept), &written_out(&scores(&whole)));
        assert!(far < 1e-3 * 3.0, "{params:?}: {far}");
    }
}

#[test]
fn the_same_bits_at_any_thread_count() {
    let (x, _, labels) = projected(200, 20, 9, 3);
    for multiclass in [Multiclass::OneVsRest, Multiclass::CrammerSinger] {
        let params = SvmParams { multiclass, ..Default::default() };
        let fit = |threads| params.fit(&x, &Target::new(&labels), &Run::new(9, threads).unwrap()).unwrap();
        let first = fit(1);
        assert_eq!(first, fit(2));
        assert_eq!(first, fit(8));
    }
}

/// Labels of which some have changed and some are gone, other weights, a class more or less: the fit that begins where another ended
/// is as good as one that begins at 0, and sooner done.
#[test]
fn a_fit_that_begins_where_another_ended_reaches_the_same_model() {
    let (x, _, labels) = projected(300, 25, 6, 4);
    let n = labels.len();
    let changed = |every: usize, classes: u32| {
        let class = |row: usize| {
            let own = labels.of(row).and_then(|own| own.first()).copied().unwrap_or(0);
            let now = if row.is_multiple_of(every) { (own + 1) % 6 } else { own };
            (!row.is_multiple_of(13)).then(|| format!("{}", now.min(classes - 1)))
        };
        Labels::from_single((0..n).map(class))
    };
    let weights: Vec<f32> = (0..n).map(|row| 0.2 + (row % 5) as f32).collect();
    // 32-bit scores go no further under the hinge, whose gap is of first order in them.
    for (loss, tolerance) in [(Loss::SquaredHinge, 1e-5), (Loss::Hinge, 1e-4)] {
        let params = SvmParams { loss, tolerance, max_iter: 5000, ..Default::default() };
        let mut start = Start::default();
        params.fit_from(&x, &Target::new(&labels), &mut start, &run()).unwrap();
        for labels in [changed(9, 6), changed(7, 6), changed(7, 2), changed(5, 6), changed(5, 6)] {
            let target = Target::new(&labels).with_weights(Some(&weights));
            let warm = params.fit_from(&x, &target, &mut start, &run()).unwrap();
            let cold = params.fit(&x, &target, &run()).unwrap();
            let far = distance(&warm.scores(&x, &run()).unwrap(), &written_out(&cold.scores(&x, &run()).unwrap()));
            assert!(warm.converged() && far < 2e-2, "{loss:?}: {far}");
        }
        // Nothing has changed: the first look at the gap ends it.
        let labels = changed(5, 6);
        let target = Target::new(&labels).with_weights(Some(&weights));
        let again = params.fit_from(&x, &target, &mut start, &run()).unwrap();
        let cold = params.fit(&x, &target, &run()).unwrap();
        let passes = |model: &SvmModel| model.reached().iter().map(|reached| reached.iterations).sum::<usize>();
        assert!(passes(&again) * 2 < passes(&cold), "{} and {}", passes(&again), passes(&cold));
    }
    // What another method left is no beginning.
    let mut start = Start::default();
    start.leave(7u32);
    assert!(SvmParams::default().fit_from(&x, &Target::new(&labels), &mut start, &run()).unwrap().converged());
}

#[test]
fn classes_without_documents_or_with_all_of_them_have_constant_scores() {
    let x = Matrix::from(Csr::from_rows(2, [vec![(0, 1.0)], vec![(1, 1.0)], vec![]]));
    let names: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
    for multiclass in [Multiclass::OneVsRest, Multiclass::CrammerSinger] {
        let params = SvmParams { multiclass, ..Default::default() };
        let scores = |ids: &[u32]| {
            let labels = Labels::from_ids(names.clone(), ids).unwrap();
            params.fit(&x, &Target::new(&labels), &run()).unwrap().scores(&x, &run()).unwrap()
        };
        let two = scores(&[0, 2, 2]);
        assert!(two.row(0)[0] > two.row(0)[2] && two.row(1)[2] > two.row(1)[0], "{two:?}");
        assert!((0..3).all(|row| two.row(row)[1] == -1e3));
        let one = scores(&[1, 1, 1]);
        assert!((0..3).all(|row| one.row(row) == [-1e3, 1.0, -1e3]));
        let three = scores(&[0, 1, 2]);
        assert!((0..3).all(|row| three.row(row).iter().all(|&s| s <= three.row(row)[row])), "{three:?}");
    }
}

#[test]
fn what_cannot_be_fitted_says_what_to_do() {
    let fixture = Fixture::read();
    let joint = SvmParams { multiclass: Multiclass::CrammerSinger, ..Default::default() };
    let error = joint.fit(&fixture.x(), &Target::new(&fixture.labels("several-labels")), &run()).unwrap_err();
    assert!(error.to_string().contains("use multiclass=one_vs_rest"));
    let nobody = Labels::from_single(vec![None::<&str>; 60]);
    assert!(SvmParams::default().fit(&fixture.x(), &Target::new(&nobody), &run()).is_err());
    let stopped = run();
    stopped.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
    let result = SvmParams::default().fit(&fixture.x(), &Target::new(&fixture.labels("")), &stopped);
    assert!(matches!(result, Err(Error::Cancelled)));
}

#[test]
fn stopping_short_is_a_flag_and_not_an_error() {
    let fixture = Fixture::read();
    let params = SvmParams { tolerance: 1e-6, max_iter: 1, c: Auto::Value(100.0), ..Default::default() };
    let model = params.fit(&fixture.x(), &Target::new(&fixture.labels("")), &run()).unwrap();
    assert!(!model.converged());
    assert!(model.reached().iter().all(|reached| reached.iterations == 1 && reached.gap > 1e-6));
}

#[test]
fn auto_reports_the_value_it_chose_and_a_model_survives_the_store() {
    let fixture = Fixture::read();
    for case in ["", "several-labels"] {
        let params = SvmParams { c: Auto::Auto, ..Default::default() };
        let model = params.fit(&fixture.x(), &Target::new(&fixture.labels(case)), &run()).unwrap();
        assert!(crate::classify::COST_GRID.contains(&model.c()));
        let given = SvmParams { c: Auto::Value(model.c()), ..Default::default() };
        let again = given.fit(&fixture.x(), &Target::new(&fixture.labels(case)), &run()).unwrap();
        assert_eq!(again.linear(), model.linear());
        let back = round_trip(|out| model.save(out).unwrap(), SvmModel::load).unwrap();
        assert_eq!(back, model);
    }
}

#[test]
fn documents_without_words_are_no_trouble() {
    let x = Matrix::from(Csr::empty(4, 3));
    let labels = Labels::from_single(["a", "b", "a", "c"].map(Some));
    for loss in [Loss::Hinge, Loss::SquaredHinge] {
        for bias in [0.0, 1.0] {
            for multiclass in [Multiclass::OneVsRest, Multiclass::CrammerSinger] {
                let params = SvmParams { loss, bias, multiclass, ..Default::default() };
                let model = params.fit(&x, &Target::new(&labels), &run()).unwrap();
                assert!(model.converged(), "{params:?} {:?}", model.reached());
            }
        }
    }
}

/// The objective of each class, and how far rounding may move it.
fn objectives(linear: &LinearModel, x: &Matrix, labels: &Labels, params: &SvmParams, c: f64) -> Vec<(f64, f64)> {
    let scores = linear.scores(x, &run()).unwrap();
    let squared = params.loss == Loss::SquaredHinge;
    let one = |class: usize| {
        let weights = linear.weights();
        let length = |column: usize| {
            let square = f64::from(weights.row(column)[class]).powi(2);
            if column < x.cols() - x.negative() { square } else { -square }
        };
        let bias = f64::from(linear.bias()[class]);
        let mut sum = 0.5 * (0..x.cols()).map(length).sum::<f64>() + 0.5 * bias * bias;
        for row in 0..x.rows() {
            let sign = if labels.has(row, class as u32) { 1.0 } else { -1.0 };
            let slack = (1.0 - sign * f64::from(scores.row(row)[class])).max(0.0);
            sum += c * if squared { slack * slack } else { slack };
        }
        // Columns that count negatively take away most of a length, but nothing of the rounding of its parts.
        let parts: f64 = (0..x.cols()).map(|column| f64::from(weights.row(column)[class]).powi(2)).sum();
        (sum, 1e-6 * parts)
    };
    (0..labels.n_classes()).map(one).collect()
}

#[test]
fn every_fit_of_a_path_is_as_good_as_a_cold_one() {
    let (all, _, labels) = projected(800, 30, 6, 7);
    let (rows, left): (Vec<usize>, Vec<usize>) = (0..800).partition(|row| row % 2 == 0);
    let (x, held, labels) = (all.select_rows(&rows), all.select_rows(&left), labels.select(&rows));
    for loss in [Loss::SquaredHinge, Loss::Hinge] {
        for tolerance in [1e-2, 1e-3] {
            let params = SvmParams { loss, tolerance, max_iter: 5000, ..Default::default() };
            let run_of_path = run();
            let mut path = params.cost_path(&x, &labels, None, &run_of_path).unwrap();
            // 32-bit scores do not take the hinge to 1e-3 where errors are dearer than that.
            let most = if loss == Loss::Hinge { 10.0 } else { f64::INFINITY };
            for c in COST_GRID.into_iter().filter(|&c| c <= most) {
                // A glance on the way does no harm.
                path.glance(c).unwrap().unwrap();
                let (warm, reached) = path.solve(c, params.max_iter).unwrap();
                let cold = SvmParams { c: Auto::Value(c), ..params }.fit(&x, &Target::new(&labels), &run()).unwrap();
                let converged = cold.converged() && reached.iter().all(|reached| reached.converged);
                assert!(converged, "{loss:?} {c}: {reached:?} {:?}", cold.reached());
                let cold = cold.linear().unwrap();
                let pairs = objectives(&warm, &x, &labels, &params, c).into_iter();
                for ((warm, one), (cold, other)) in pairs.zip(objectives(cold, &x, &labels, &params, c)) {
                    let most = |from: f64| from / (1.0 - tolerance) * (1.0 + 1e-5) + one + other;
                    assert!(warm <= most(cold) && cold <= most(warm), "{loss:?} {c}: {warm} {cold}");
                }
                let (warm, cold) = (warm.scores(&held, &run()).unwrap(), cold.scores(&held, &run()).unwrap());
                let differ = (0..400).filter(|&row| top(warm.row(row)) != top(cold.row(row))).count();
                assert!(differ <= if tolerance < 1e-2 { 6 } else { 30 }, "{loss:?} {c}: {differ}");
            }
        }
    }
}

fn top(scores: &[f32]) -> usize {
    (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap()
}

#[test]
fn a_path_takes_weights_and_several_labels_and_has_the_same_bits_at_any_thread_count() {
    let fixture = Fixture::read();
    let (x, several) = (fixture.x(), fixture.labels("several-labels"));
    let joint = SvmParams { multiclass: Multiclass::CrammerSinger, ..Default::default() };
    let weights = Some(&fixture.weights[..]);
    for (params, labels) in [(SvmParams::default(), several), (joint, fixture.labels(""))] {
        let target = Target::new(&labels).with_weights(weights);
        let exact = |c: f64| SvmParams { c: Auto::Value(c), tolerance: 1e-5, max_iter: 20_000, ..params };
        check_path(&x, &target, exact, &SvmParams { c: Auto::Auto, ..params }, |run| {
            let mut path = params.cost_path(&x, &labels, weights, run).unwrap();
            COST_GRID.map(|c| path.fit(c).unwrap())
        });
    }
}

proptest! {
    /// The gap a fit reports bounds how far its objective is above that of any other fit.
    #[test]
    fn the_reported_gap_bounds_the_distance_from_the_minimum(seed in 0u64..1000, c in 0.05f64..20.0, squared: bool) {
        let (x, _, labels) = projected(40, 8, 4, seed);
        let loss = if squared { Loss::SquaredHinge } else { Loss::Hinge };
        let objective = |tolerance: f64| {
            let params = SvmParams { c: Auto::Value(c), loss, tolerance, max_iter: 3000, ..Default::default() };
            let model = params.fit(&x, &Target::new(&labels), &run()).unwrap();
            let linear = model.linear().unwrap();
            let objectives = objectives(linear, &x, &labels, &params, c).into_iter().zip(model.reached());
            objectives.map(|((sum, rounding), reached)| (sum, reached.gap, rounding)).collect::<Vec<_>>()
        };
        for ((rough, gap, rounding), (fine, fine_gap, fine_rounding)) in objective(1e-1).into_iter().zip(objective(1e-5)) {
            let rounding = 1e-6 + rounding + fine_rounding;
            prop_assert!(rough <= fine / (1.0 - gap) * (1.0 + 1e-4) + rounding, "{rough} {gap} {fine} {rounding}");
            prop_assert!(fine * (1.0 - fine_gap) <= rough * (1.0 + 1e-5) + rounding, "{rough} {fine} {fine_gap} {rounding}");
        }
    }
}

/// Documents in few dense columns, once as they are (solved for their weights) and once with a sparse column that is
/// always 1e-20 (solved by coordinate descent).
fn few_columns(rows: usize) -> (Matrix, Matrix, Labels) {
    let value = |row: usize, column: usize| ((row * 37 + column * 101 + row * row % 11) % 29) as f32 / 14.5 - 1.0;
    let class = |row: usize| (value(row, 0) + 0.7 * value(row, 1) > 0.0) as usize + row.is_multiple_of(7) as usize;
    let dense: Vec<f32> = (0..rows).flat_map(|row| (0..4).map(move |column| value(row, column))).collect();
    let dense = crate::matrix::Dense::new(rows, 4, dense).unwrap();
    let tiny = Csr::from_rows(1, (0..rows).map(|_| vec![(0, 1e-20)]));
    let labels = Labels::from_single((0..rows).map(|row| Some(["no", "yes", "perhaps"][class(row)])));
    (Matrix::from(dense.clone()), Matrix::new(tiny, dense, 0).unwrap(), labels)
}

#[test]
fn few_dense_columns_are_solved_to_the_same_optimum() {
    let (alone, beside, labels) = few_columns(400);
    let weights: Vec<f32> = (0..400).map(|row| 0.5 + (row % 3) as f32).collect();
    for (params, weights) in [
        (tight(), None),
        (tight(), Some(&weights[..])),
        (SvmParams { bias: 0.0, ..tight() }, None),
        (SvmParams { bias: 3.0, c: Auto::Value(0.05), ..tight() }, None),
        (SvmParams { class_weight: ClassWeight::Balanced, c: Auto::Value(2.0), ..tight() }, None),
    ] {
        let fit = |x: &Matrix| params.fit(x, &Target::new(&labels).with_weights(weights), &run()).unwrap();
        let (newton, descent) = (fit(&alone), fit(&beside));
        assert!(newton.converged() && newton.reached().iter().all(|reached| reached.iterations < 30), "{params:?}");
        let far =
            distance(&newton.scores(&alone, &run()).unwrap(), &written_out(&descent.scores(&beside, &run()).unwrap()));
        assert!(far < 3e-3, "{params:?}: {far}");
    }
    // A path over costs ends where a fit at its last cost does.
    let one = Run::new(1, 1).unwrap();
    let mut path = tight().cost_path(&alone, &labels, None, &one).unwrap();
    let warm = COST_GRID.map(|c| path.fit(c).unwrap()).into_iter().next_back().unwrap();
    let last = SvmParams { c: Auto::Value(COST_GRID[COST_GRID.len() - 1]), ..tight() };
    let cold = last.fit(&alone, &Target::new(&labels), &run()).unwrap();
    let far = distance(&warm.scores(&alone, &run()).unwrap(), &written_out(&cold.scores(&alone, &run()).unwrap()));
    assert!(far < 3e-3, "{far}");
}
