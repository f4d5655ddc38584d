use serde::Deserialize;

use super::fit::LAMBDAS;
use super::*;
use crate::Run;
use crate::classify::{Classifier, ClassifierModel};
use crate::corpus::Labels;
use crate::matrix::{Csr, Dense, Matrix};
use crate::project::Target;
use crate::store::tests::round_trip;

/// Made by `tests/fixtures/make_bayes.py`.
#[derive(Deserialize)]
struct Fixture {
    x: Vec<Vec<f32>>,
    tfidf: Vec<Vec<f32>>,
    y: Vec<u32>,
    weights: Vec<f32>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    alpha: f64,
    probabilities: Vec<Vec<f32>>,
}

fn sparse(rows: &[Vec<f32>]) -> Matrix {
    let row = |row: &Vec<f32>| (0u32..).zip(row.iter().copied()).filter(|(_, value)| *value != 0.0).collect();
    Csr::from_rows(rows[0].len(), rows.iter().map(row)).into()
}

#[test]
fn probabilities_are_those_of_scikit_learn() {
    let fixture: Fixture = serde_json::from_str(include_str!("../../../tests/fixtures/bayes.json")).unwrap();
    let labels = Labels::from_ids(vec!["a".into(), "b".into(), "c".into()], &fixture.y).unwrap();
    let run = Run::new(1, 2).unwrap();
    assert_eq!(fixture.cases.len(), 6);
    for case in &fixture.cases {
        let x =
            sparse(if ["tfidf", "complement weights"].contains(&&*case.name) { &fixture.tfidf } else { &fixture.x });
        let weights = case.name.contains("weights").then_some(&fixture.weights[..]);
        let params =
            BayesParams { alpha: case.alpha, complement: case.name.starts_with("complement"), ..Default::default() };
        let model = params.fit(&x, &Target::new(&labels).with_weights(weights), &run).unwrap();
        let found = model.own_probabilities(&model.scores(&x, &run).unwrap()).unwrap();
        for (row, expected) in case.probabilities.iter().enumerate() {
            for (a, b) in found.row(row).iter().zip(expected) {
                assert!((a - b).abs() < 2e-5, "{}: {a} {b}", case.name);
            }
        }
    }
}

/// Two topics whose words overlap little; most documents have no label.
fn few_labels(labelled: usize) -> (Matrix, Labels, Labels) {
    let run = Run::new(3, 1).unwrap();
    let mut rng = run.rng(0);
    use rand::RngExt;
    let rows = (0..400).map(|row: usize| {
        let topic = row % 2;
        let mut counts = vec![0f32; 40];
        for _ in 0..6 {
            // Each document draws from a third of its topic's words, so that labels alone see few of them.
            let common = rng.random_range(0..10) < 3;
            let word = if common { 30 + rng.random_range(0..10) } else { 15 * topic + rng.random_range(0..15) };
            counts[word] += 1.0;
        }
        counts
    });
    let x = sparse(&rows.collect::<Vec<_>>());
    let truth =
        Labels::from_ids(vec!["a".into(), "b".into()], &(0..400).map(|row| row % 2).collect::<Vec<_>>()).unwrap();
    let known = truth.only(&(0..labelled).collect::<Vec<_>>());
    (x, truth, known)
}

fn accuracy(model: &BayesModel, x: &Matrix, truth: &Labels, run: &Run) -> f64 {
    let scores = model.scores(x, run).unwrap();
    let right = |&row: &usize| truth.has(row, u32::from(scores.row(row)[1] > scores.row(row)[0]));
    (0..truth.len()).filter(right).count() as f64 / truth.len() as f64
}

#[test]
fn unlabelled_documents_help_and_their_weight_is_found_on_folds() {
    let (x, truth, known) = few_labels(12);
    let run = Run::new(1, 2).unwrap();
    let plain = BayesParams::default().fit(&x, &Target::new(&known), &run).unwrap();
    let em = BayesParams { em: true, lambda: Auto::Value(1.0), ..Default::default() };
    let taught = em.fit(&x, &Target::new(&known), &run).unwrap();
    let (before, after) = (accuracy(&plain, &x, &truth, &run), accuracy(&taught, &x, &truth, &run));
    assert!(after > before && after > 0.95, "{before} {after}");
    assert!(taught.rounds() > 0 && taught.notes()[0].1.contains("rounds"));
    let auto = BayesParams { em: true, ..Default::default() };
    let found = auto.fit(&x, &Target::new(&known), &run).unwrap();
    assert!(LAMBDAS.contains(&found.lambda()));
    assert_eq!(auto.resolved(&found).lambda, Auto::Value(found.lambda()));
    // Weight 0 is no expectation maximisation, and no unlabelled document leaves nothing to do.
    let none = BayesParams { em: true, lambda: Auto::Value(0.0), ..Default::default() };
    let scores = |model: &BayesModel| model.scores(&x, &run).unwrap();
    assert_eq!(scores(&none.fit(&x, &Target::new(&known), &run).unwrap()), scores(&plain));
    assert_eq!(em.fit(&x, &Target::new(&truth), &run).unwrap().rounds(), 0);
    for threads in [1, 8] {
        let run = Run::new(1, threads).unwrap();
        assert_eq!(em.fit(&x, &Target::new(&known), &run).unwrap(), taught);
    }
}

#[test]
fn several_labels_a_document_are_set_against_the_rest_each() {
    let x = sparse(&[vec![3.0, 0.0, 1.0], vec![0.0, 3.0, 1.0], vec![2.0, 2.0, 0.0], vec![0.0, 0.0, 3.0]]);
    let lists = [Some(vec![0]), Some(vec![1]), Some(vec![0, 1]), Some(vec![])];
    let labels = Labels::with_classes(vec!["a".into(), "b".into()], lists).unwrap();
    let run = Run::new(1, 1).unwrap();
    let model = BayesParams::default().fit(&x, &Target::new(&labels), &run).unwrap();
    let scores = model.scores(&x, &run).unwrap();
    let given: Vec<Vec<bool>> = (0..4).map(|row| scores.row(row).iter().map(|&score| score > 0.0).collect()).collect();
    assert_eq!(given, [[true, false], [false, true], [true, true], [false, false]]);
    // ln of (3 + 2 + 1)/(8 + 3) against (0 + 1)/(7 + 3), by hand.
    let weight = model.linear().unwrap().weights().row(0)[0];
    let expected = ((6.0f32 / 11.0) / (1.0 / 10.0)).ln();
    assert!((weight - expected).abs() < 1e-5, "{weight} {expected}");
    let refused = BayesParams { complement: true, ..Default::default() }.fit(&x, &Target::new(&labels), &run);
    assert!(refused.unwrap_err().to_string().contains("exactly one label"));
    let em = BayesParams { em: true, lambda: Auto::Value(0.5), ..Default::default() };
    let hidden = labels.only(&[0, 1, 3]);
    assert!(em.fit(&x, &Target::new(&hidden), &run).unwrap().scores(&x, &run).unwrap().row(2)[0].is_finite());
}

#[test]
fn a_class_without_documents_never_wins_and_the_store_gives_back_the_same() {
    let x = sparse(&[vec![3.0, 0.0], vec![0.0, 3.0]]);
    let labels = Labels::from_ids(vec!["a".into(), "b".into(), "empty".into()], &[0, 1]).unwrap();
    let run = Run::new(1, 1).unwrap();
    let model = BayesParams::default().fit(&x, &Target::new(&labels), &run).unwrap();
    let scores = model.scores(&x, &run).unwrap();
    assert!((0..2).all(|row| scores.row(row)[2] < -100.0));
    assert_eq!(round_trip(|out| model.save(out).unwrap(), BayesModel::load).unwrap(), model);
}

#[test]
fn what_is_no_count_is_refused_with_the_reason() {
    let run = Run::new(1, 1).unwrap();
    let labels = Labels::from_single([Some("a"), Some("b")]);
    let said = |x: Matrix| BayesParams::default().fit(&x, &Target::new(&labels), &run).unwrap_err().to_string();
    assert!(said(Matrix::from(Dense::from_rows(&[[1.0], [2.0]]))).contains("counts terms"));
    assert!(said(sparse(&[vec![-1.0], vec![2.0]])).contains("-1"));
    assert!(said(sparse(&[vec![f32::NAN], vec![2.0]])).contains("NaN"));
    assert!(said(sparse(&[vec![1.0]])).contains("labels"));
    for bad in [
        BayesParams { alpha: 0.0, ..Default::default() },
        BayesParams { lambda: Auto::Value(2.0), ..Default::default() },
        BayesParams { max_iter: 0, ..Default::default() },
    ] {
        assert!(bad.check().unwrap_err().is_usage());
    }
    let none = Labels::none(2);
    assert!(BayesParams::default().fit(&sparse(&[vec![1.0], vec![2.0]]), &Target::new(&none), &run).is_err());
}
