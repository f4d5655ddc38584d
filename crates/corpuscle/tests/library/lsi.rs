//! `lsi` against scikit-learn's exact `TruncatedSVD` (`fixtures/make_lsi.py`), signs included.

use corpuscle::Run;
use corpuscle::corpus::Labels;
use corpuscle::matrix::{Csr, Matrix};
use corpuscle::project::{LsiParams, Projector, ProjectorModel, Target};
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    columns: usize,
    train: Vec<Vec<(u32, f32)>>,
    new: Vec<Vec<(u32, f32)>>,
    singular_values: Vec<f64>,
    explained_variance_ratio: Vec<f64>,
    components: Vec<Vec<f32>>,
    transformed: Vec<Vec<f32>>,
}

fn assert_rows_close(ours: &corpuscle::matrix::Dense, theirs: &[Vec<f32>]) {
    assert_eq!(ours.rows(), theirs.len());
    for (row, theirs) in theirs.iter().enumerate() {
        for (ours, theirs) in ours.row(row).iter().zip(theirs) {
            assert!((ours - theirs).abs() < 1e-5, "row {row}: ours {ours}, scikit-learn's {theirs}");
        }
    }
}

#[test]
fn vectors_values_and_new_documents_agree() {
    let fixture: Fixture = serde_json::from_str(include_str!("../fixtures/lsi.json")).unwrap();
    let matrix = |rows: &[Vec<(u32, f32)>]| Matrix::from(Csr::from_rows(fixture.columns, rows.to_vec()));
    let run = Run::new(42, 2).unwrap();
    let (model, _) = LsiParams { rank: 6, ..LsiParams::default() }
        .fit(&matrix(&fixture.train), &Target::new(&Labels::none(matrix(&fixture.train).rows())), &run)
        .unwrap();
    for (ours, theirs) in model.singular_values().iter().zip(&fixture.singular_values) {
        assert!((ours / theirs - 1.0).abs() < 1e-6, "ours {ours}, scikit-learn's {theirs}");
    }
    for (ours, theirs) in model.explained_variance_ratio().iter().zip(&fixture.explained_variance_ratio) {
        assert!((ours - theirs).abs() < 1e-6, "ours {ours}, scikit-learn's {theirs}");
    }
    assert_rows_close(model.vectors(), &fixture.components);
    assert_rows_close(model.transform(&matrix(&fixture.new), &run).unwrap().dense(), &fixture.transformed);
}
