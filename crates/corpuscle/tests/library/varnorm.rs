//! `varnorm` against the paper's own equations and `discriminant` against scikit-learn (`fixtures/make_varnorm.py`).
#![allow(missing_docs, clippy::unwrap_used)]

use corpuscle::Run;
use corpuscle::corpus::Labels;
use corpuscle::matrix::{Csr, Dense, Matrix};
use corpuscle::project::{
    DiscriminantParams, Projector, ProjectorModel, Target, VarNormParams, intra_topic_variability,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    varnorm: Vec<VarNormCase>,
    discriminant: Vec<DiscriminantCase>,
}

#[derive(Deserialize)]
struct VarNormCase {
    columns: usize,
    rows: Vec<Vec<(u32, f32)>>,
    labels: Vec<Vec<u32>>,
    components: usize,
    eigenvalues: Vec<f64>,
    vectors: Vec<Vec<f64>>,
    q_before: f64,
    q_after: f64,
    topics_before: Vec<f64>,
    topics_after: Vec<f64>,
}

#[derive(Deserialize)]
struct DiscriminantCase {
    rows: Vec<Vec<f32>>,
    labels: Vec<u32>,
    shrinkage: f64,
    transformed: Vec<Vec<f64>>,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("../fixtures/varnorm.json")).unwrap()
}

#[test]
fn directions_and_variability_are_those_of_the_papers_equations() {
    let run = Run::new(42, 2).unwrap();
    for case in fixture().varnorm {
        let names: Vec<Vec<String>> =
            case.labels.iter().map(|list| list.iter().map(|class| format!("topic{class}")).collect()).collect();
        let labels = Labels::from_lists(names.iter().map(|list| Some(&list[..])));
        let x = Matrix::from(Csr::from_rows(case.columns, case.rows.clone()));
        let params = VarNormParams { components: case.components, ..VarNormParams::default() };
        let model = params.fit(&x, &Target::new(&labels), &run).unwrap().0;
        for (ours, theirs) in model.eigenvalues().iter().zip(&case.eigenvalues) {
            assert!((ours / theirs - 1.0).abs() < 1e-5, "{ours} {theirs}");
        }
        let v = model.vectors();
        let projector = v.matmul_transposed(v).unwrap();
        for (row, left) in case.vectors.iter().enumerate() {
            for (ours, right) in projector.row(row).iter().zip(&case.vectors) {
                let theirs: f64 = left.iter().zip(right).map(|(a, b)| a * b).sum();
                assert!((f64::from(*ours) - theirs).abs() < 1e-5, "{ours} {theirs}");
            }
        }
        let projected = model.transform(&x, &run).unwrap();
        for (x, q, topics) in [(&x, case.q_before, &case.topics_before), (&projected, case.q_after, &case.topics_after)]
        {
            let found = intra_topic_variability(x, &labels, &run).unwrap();
            let sum: f64 = found.iter().map(|topic| topic.total).sum();
            assert!((sum / q - 1.0).abs() < 1e-5, "{sum} {q}");
            for (ours, theirs) in found.iter().zip(topics) {
                assert!((ours.total / theirs - 1.0).abs() < 1e-5, "{ours:?} {theirs}");
            }
        }
    }
}

#[test]
fn discriminant_rows_are_those_of_scikit_learn() {
    let run = Run::new(42, 2).unwrap();
    for case in fixture().discriminant {
        let columns = case.rows[0].len();
        let x = Matrix::from(Dense::new(case.rows.len(), columns, case.rows.concat()).unwrap());
        let labels = Labels::from_ids(["a", "b", "c"].map(String::from).to_vec(), &case.labels).unwrap();
        let params = DiscriminantParams { shrinkage: case.shrinkage.into(), ..Default::default() };
        let z = params.fit(&x, &Target::new(&labels), &run).unwrap().0.transform(&x, &run).unwrap();
        assert_eq!(z.cols(), 2);
        for direction in 0..2 {
            let sign = (case.transformed[0][direction] * f64::from(z.row(0).dense[direction])).signum();
            for (row, theirs) in case.transformed.iter().enumerate() {
                let (ours, theirs) = (f64::from(z.row(row).dense[direction]), sign * theirs[direction]);
                assert!((ours - theirs).abs() < 1e-4 * theirs.abs().max(1.0), "{ours} {theirs}");
            }
        }
    }
}
