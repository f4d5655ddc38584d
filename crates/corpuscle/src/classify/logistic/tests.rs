use super::*;
use crate::classify::cost::CostPath;
use crate::classify::fixture::{Fixture, check_path, distance, projected, written_out};
use crate::classify::{COST_GRID, ClassWeight, Classifier, ClassifierModel, LinearModel};
use crate::corpus::Labels;
use crate::matrix::{Csr, Matrix};
use crate::params::Auto;
use crate::project::Target;
use crate::store::tests::round_trip;
use crate::{Error, Run};

fn run() -> Run {
    Run::new(1, 2).unwrap()
}

fn tight() -> LogisticParams {
    LogisticParams { tolerance: 1e-9, ..Default::default() }
}

fn separate() -> LogisticParams {
    LogisticParams { multiclass: LogisticMulticlass::OneVsRest, ..tight() }
}

#[test]
fn decision_values_are_those_of_scikit_learn() {
    let fixture = Fixture::read();
    for case in &fixture.logistic {
        let params = match case.name.as_str() {
            "multinomial" | "weights" | "two-classes" => tight(),
            "c=10" => LogisticParams { c: Auto::Value(10.0), ..tight() },
            "balanced" => LogisticParams { class_weight: ClassWeight::Balanced, ..tight() },
            "no-bias" => LogisticParams { bias: false, ..tight() },
            "one-vs-rest" | "several-labels" => separate(),
            other => panic!("no parameters for case {other}"),
        };
        let weights = (case.name == "weights").then_some(&fixture.weights[..]);
        let model =
            params.fit(&fixture.x(), &Target::new(&fixture.labels(&case.name)).with_weights(weights), &run()).unwrap();
        let mut scores = model.scores(&fixture.x(), &run()).unwrap();
        if case.name == "two-classes" {
            // scikit-learn gives the whole score to the second class; ours is half on each side.
            scores.values_mut().iter_mut().for_each(|score| *score *= 2.0);
        }
        let far = distance(&scores, &case.scores);
        assert!(far < 1e-3, "{}: scores differ by {far}, {:?}", case.name, model.reached());
        if case.name == "multinomial" {
            assert!(distance(&model.probabilities(&scores), &fixture.probabilities) < 1e-4);
        }
    }
}

#[test]
fn a_projected_matrix_gives_the_scores_of_the_written_out_one() {
    let (kept, whole, labels) = projected(80, 15, 3, 5);
    for params in [tight(), separate()] {
        let scores = |x: &Matrix| params.fit(x, &Target::new(&labels), &run()).unwrap().scores(x, &run()).unwrap();
        let far = distance(&scores(&kept), &written_out(&scores(&whole)));
        assert!(far < 1e-3, "{params:?}: {far}");
    }
}

#[test]
fn more_classes_than_lanes_are_cut_into_tiles() {
    // 40 classes make two tiles of 20; the same documents in one dense matrix take another path.
    let (kept, whole, labels) = projected(400, 45, 40, 2);
    let scores = |x: &Matrix| tight().fit(x, &Target::new(&labels), &run()).unwrap().scores(x, &run()).unwrap();
    let (sparse, dense) = (scores(&kept), scores(&whole));
    // As far as 32-bit sums go: the objective, some 1000, is within 1e-4 of its minimum.
    assert!(distance(&sparse, &written_out(&dense)) < 1e-2);
    // The gradient by bias is 0 at the minimum: probabilities add up to the number of documents of each class.
    let model = tight().fit(&kept, &Target::new(&labels), &run()).unwrap();
    let probabilities = model.probabilities(&sparse);
    for (class, &count) in labels.class_counts().iter().enumerate() {
        let sum: f64 = (0..400).map(|row| f64::from(probabilities.row(row)[class])).sum();
        assert!((sum - count as f64).abs() < 1e-2, "{class}: {sum} {count}");
    }
}

#[test]
fn the_same_bits_at_any_thread_count() {
    let (x, _, labels) = projected(1500, 20, 9, 3);
    for multiclass in [LogisticMulticlass::OneVsRest, LogisticMulticlass::Multinomial] {
        let params = LogisticParams { multiclass, ..Default::default() };
        let fit = |threads| params.fit(&x, &Target::new(&labels), &Run::new(9, threads).unwrap()).unwrap();
        let first = fit(1);
        assert_eq!(first, fit(2));
        assert_eq!(first, fit(8));
    }
}

#[test]
fn the_bound_holds_and_each_class_ends_by_itself() {
    let (x, _, labels) = projected(200, 20, 5, 4);
    let loss = |params: &LogisticParams| {
        let model = params.fit(&x, &Target::new(&labels), &run()).unwrap();
        assert!(model.converged());
        let scores = model.scores(&x, &run()).unwrap();
        let probabilities = model.probabilities(&scores);
        let weights = model.linear().unwrap().weights();
        let mut sum = 0f64;
        for column in 0..x.cols() {
            let square: f64 = weights.row(column).iter().map(|&w| f64::from(w).powi(2)).sum();
            sum += 0.5 * if column < x.cols() - x.negative() { square } else { -square };
        }
        for row in 0..x.rows() {
            sum -= f64::from(probabilities.row(row)[labels.of(row).unwrap()[0] as usize]).ln();
        }
        sum
    };
    let best = loss(&tight());
    for tolerance in [0.3, 0.1, 1e-2, 1e-3] {
        let reached = loss(&LogisticParams { tolerance, ..Default::default() });
        assert!(reached <= best / (1.0 - tolerance) && reached >= best * (1.0 - 1e-6), "{tolerance}: {reached} {best}");
    }
}

#[test]
fn classes_without_documents_and_single_classes_are_no_trouble() {
    let x = Matrix::from(Csr::from_rows(2, [vec![(0, 1.0)], vec![(1, 1.0)], vec![]]));
    let names: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
    for multiclass in [LogisticMulticlass::OneVsRest, LogisticMulticlass::Multinomial] {
        let params = LogisticParams { multiclass, ..Default::default() };
        let probabilities = |ids: &[u32]| {
            let labels = Labels::from_ids(names.clone(), ids).unwrap();
            let model = params.fit(&x, &Target::new(&labels), &run()).unwrap();
            assert!(model.converged());
            model.probabilities(&model.scores(&x, &run()).unwrap())
        };
        let two = probabilities(&[0, 2, 2]);
        assert!(two.row(0)[0] > two.row(1)[0] && (0..3).all(|row| two.row(row)[1] == 0.0), "{two:?}");
        assert!((two.row(0).iter().sum::<f32>() - 1.0).abs() < 1e-6);
        let one = probabilities(&[1, 1, 1]);
        assert!((0..3).all(|row| one.row(row) == [0.0, 1.0, 0.0]), "{one:?}");
    }
    let nothing = Matrix::from(Csr::empty(3, 2));
    let labels = Labels::from_ids(names, &[0, 1, 2]).unwrap();
    assert!(LogisticParams::default().fit(&nothing, &Target::new(&labels), &run()).unwrap().converged());
}

#[test]
fn several_labels_have_probabilities_of_their_own() {
    let fixture = Fixture::read();
    let labels = fixture.labels("several-labels");
    let model = separate().fit(&fixture.x(), &Target::new(&labels), &run()).unwrap();
    // The default, one softmax, makes no sense for several labels, so it is not asked for.
    let usual = LogisticParams { multiclass: LogisticMulticlass::Multinomial, ..separate() };
    assert_eq!(usual.fit(&fixture.x(), &Target::new(&labels), &run()).unwrap(), model);
    let scores = model.scores(&fixture.x(), &run()).unwrap();
    let probabilities = model.probabilities(&scores);
    for (p, s) in probabilities.values().iter().zip(scores.values()) {
        assert!((p - 1.0 / (1.0 + (-s).exp())).abs() < 1e-6);
    }
    let stopped = run();
    stopped.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(separate().fit(&fixture.x(), &Target::new(&labels), &stopped), Err(Error::Cancelled)));
}

#[test]
fn auto_reports_the_value_it_chose_and_a_model_survives_the_store() {
    let fixture = Fixture::read();
    let params = LogisticParams { c: Auto::Auto, ..Default::default() };
    let model = params.fit(&fixture.x(), &Target::new(&fixture.labels("")), &run()).unwrap();
    assert!(COST_GRID.contains(&model.c()));
    let back = round_trip(|out| model.save(out).unwrap(), LogisticModel::load).unwrap();
    assert_eq!(back, model);
}

#[test]
fn every_fit_of_a_path_is_as_good_as_a_cold_one() {
    let (all, _, labels) = projected(800, 30, 6, 7);
    let (rows, left): (Vec<usize>, Vec<usize>) = (0..800).partition(|row| row % 2 == 0);
    let (x, held, labels) = (all.select_rows(&rows), all.select_rows(&left), labels.select(&rows));
    let objective = |linear: &LinearModel, c: f64| {
        let weights = linear.weights();
        let mut sum = 0f64;
        for column in 0..x.cols() {
            let square: f64 = weights.row(column).iter().map(|&w| f64::from(w).powi(2)).sum();
            sum += 0.5 * if column < x.cols() - x.negative() { square } else { -square };
        }
        let scores = linear.scores(&x, &run()).unwrap();
        for row in 0..x.rows() {
            let own = f64::from(scores.row(row)[labels.of(row).unwrap()[0] as usize]);
            sum += c * scores.row(row).iter().map(|&score| (f64::from(score) - own).exp()).sum::<f64>().ln();
        }
        sum
    };
    let top = |scores: &[f32]| (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
    for tolerance in [1e-2, 1e-3] {
        let params = LogisticParams { tolerance, ..Default::default() };
        let run_of_path = run();
        let mut path = params.cost_path(&x, &labels, None, &run_of_path).unwrap();
        for c in COST_GRID {
            let warm = path.fit(c).unwrap();
            let cold = params.cost_path(&x, &labels, None, &run()).unwrap().fit(c).unwrap();
            let (ours, theirs) = (objective(&warm, c), objective(&cold, c));
            // A warm fit ends by an estimate, which without a preconditioner, as here, is up to twice too low.
            let most = |from: f64| from / (1.0 - 2.0 * tolerance) * (1.0 + 1e-5);
            assert!(ours <= most(theirs) && theirs <= most(ours), "{tolerance} {c}: {ours} {theirs}");
            let (warm, cold) = (warm.scores(&held, &run()).unwrap(), cold.scores(&held, &run()).unwrap());
            let differ = (0..400).filter(|&row| top(warm.row(row)) != top(cold.row(row))).count();
            assert!(differ <= if tolerance < 1e-2 { 6 } else { 30 }, "{tolerance} {c}: {differ}");
        }
    }
}

#[test]
fn a_path_takes_weights_and_several_labels_and_has_the_same_bits_at_any_thread_count() {
    let fixture = Fixture::read();
    let (x, weights) = (fixture.x(), Some(&fixture.weights[..]));
    for (multiclass, case) in
        [(LogisticMulticlass::OneVsRest, "several-labels"), (LogisticMulticlass::Multinomial, "two-classes")]
    {
        let labels = fixture.labels(case);
        let params = LogisticParams { multiclass, ..Default::default() };
        let target = Target::new(&labels).with_weights(weights);
        let exact = |c: f64| LogisticParams { c: Auto::Value(c), multiclass, ..tight() };
        check_path(&x, &target, exact, &LogisticParams { c: Auto::Auto, ..params }, |run| {
            let mut path = params.cost_path(&x, &labels, weights, run).unwrap();
            COST_GRID.map(|c| path.fit(c).unwrap())
        });
    }
}
