//! Tests of `slsi` and `local_lsi`.

use super::*;
use crate::corpus::Labels;
use crate::matrix::svd::tests::random_sparse;
use crate::matrix::{Csr, Dense, Matrix};
use crate::params::Params;
use crate::store::tests::round_trip;
use crate::{Error, Run};

/// Three classes of forty documents: noise in all columns, and a column or two of its own for each.
fn data() -> (Matrix, Labels) {
    let noise = random_sparse(120, 60, 3);
    let rows = (0..120).map(|row| {
        let (columns, values) = noise.row(row);
        let mut list: Vec<(u32, f32)> = columns.iter().copied().zip(values.iter().copied()).collect();
        list.retain(|&(column, _)| column >= 6);
        list.push((2 * (row % 3) as u32, 1.0 + (row % 5) as f32 / 5.0));
        list.sort_by_key(|&(column, _)| column);
        list
    });
    let x = Csr::from_rows(60, rows.collect::<Vec<_>>());
    (Matrix::from(x), Labels::from_single((0..120).map(|row| Some(["a", "b", "c"][row % 3]))))
}

fn right(x: &Matrix, z: &Matrix, labels: &Labels, run: &Run) -> usize {
    assert_eq!(x.rows(), z.rows());
    let right = Target::new(labels).judge(z, 5, 1, run, |fold, verdict| verdict(0, &fold.x, &fold.held)).unwrap();
    right.unwrap()[0].iter().filter(|&&good| good).count()
}

#[test]
fn directions_are_orthonormal_and_the_best_comes_first() {
    let (x, labels) = data();
    let run = Run::new(1, 2).unwrap();
    let params = SlsiParams { rank: 8, ..SlsiParams::default() };
    let (model, z) = params.fit(&x, &Target::new(&labels), &run).unwrap();
    let gram = model.vectors().transposed_matmul(model.vectors()).unwrap();
    for row in 0..8 {
        for column in 0..8 {
            let wanted = if row == column { 1.0 } else { 0.0 };
            assert!((gram.row(row)[column] - wanted).abs() < 1e-3, "{row} {column}: {}", gram.row(row)[column]);
        }
    }
    // Two directions that tell classes apart are enough; the two loudest of all documents are not.
    let few = SlsiParams { rank: 2, ..params }.fit(&x, &Target::new(&labels), &run).unwrap().1;
    let lsi = LsiParams { rank: 2, ..LsiParams::default() }.fit(&x, &Target::new(&labels), &run).unwrap().1;
    assert!(right(&x, &few, &labels, &run) > right(&x, &lsi, &labels, &run));
    assert!(right(&x, &z, &labels, &run) > 100);
}

#[test]
fn local_spaces_are_those_of_the_classes_alone() {
    let (x, labels) = data();
    let run = Run::new(1, 2).unwrap();
    let params = LocalLsiParams { rank: 4, local: 2, ..LocalLsiParams::default() };
    let (model, z) = params.fit(&x, &Target::new(&labels), &run).unwrap();
    let origins: Vec<Option<usize>> = model.origins().collect();
    assert_eq!(origins, [None, None, None, None, Some(0), Some(0), Some(1), Some(1), Some(2), Some(2)]);
    let alone = |rows: &[usize], rank: usize| {
        let (x, labels) = (x.select_rows(rows), Labels::none(rows.len()));
        LsiParams { rank, ..LsiParams::default() }.fit(&x, &Target::new(&labels), &run).unwrap().0
    };
    let own = alone(&(0..120).filter(|row| row % 3 == 1).collect::<Vec<_>>(), 2).transform(&x, &run).unwrap();
    let all = alone(&(0..120).collect::<Vec<_>>(), 4).transform(&x, &run).unwrap();
    for row in 0..120 {
        let (z, own, all) = (z.row(row).dense, own.row(row).dense, all.row(row).dense);
        assert!(z[..4].iter().zip(all).chain(z[6..8].iter().zip(own)).all(|(a, b)| (a - b).abs() < 1e-4));
    }
}

#[test]
fn both_keep_their_bits_and_survive_the_store() {
    let (x, labels) = data();
    let fit = |threads: usize| {
        let run = Run::new(5, threads).unwrap();
        let slsi = SlsiParams { rank: 5, ..SlsiParams::default() }.fit(&x, &Target::new(&labels), &run).unwrap();
        let local = LocalLsiParams { rank: 3, local: 2, ..LocalLsiParams::default() };
        (slsi, local.fit(&x, &Target::new(&labels), &run).unwrap())
    };
    let one = fit(1);
    assert_eq!(fit(2), one);
    assert_eq!(fit(8), one);
    for (model, _) in [one.0, one.1] {
        assert_eq!(round_trip(|out| model.save(out).unwrap(), ClassSpacesModel::load).unwrap(), model);
        assert!(model.transform(&Matrix::from(Csr::empty(2, 61)), &Run::new(1, 1).unwrap()).is_err());
        assert!(model.is_linear() && model.feature_names(vec!["a".into()]).is_empty());
        assert!(!model.notes().is_empty());
    }
}

#[test]
fn rows_that_count_negatively_and_several_labels_do_no_harm() {
    let (x, _) = data();
    let run = Run::new(1, 2).unwrap();
    let classes = vec!["a".to_string(), "b".to_string(), "c".to_string()];
    let several = |row: usize| match row % 4 {
        0 => None,
        1 => Some(vec![(row % 3) as u32, ((row + 1) % 3) as u32]),
        _ => Some(vec![(row % 3) as u32]),
    };
    let labels = Labels::with_classes(classes, (0..120).map(several).collect::<Vec<_>>()).unwrap();
    let (varnorm, x) = VarNormParams::default().fit(&x, &Target::new(&labels), &run).unwrap();
    assert!(x.negative() > 0 && varnorm.n_columns() == x.cols());
    let (_, slsi) = SlsiParams { rank: 4, ..SlsiParams::default() }.fit(&x, &Target::new(&labels), &run).unwrap();
    let (_, local) = LocalLsiParams::default().fit(&x, &Target::new(&labels), &run).unwrap();
    for z in [slsi, local] {
        assert_eq!(z.rows(), 120);
        assert!(z.dense().values().iter().all(|value| value.is_finite()));
    }
}

#[test]
fn what_cannot_work_is_said() {
    let run = Run::new(1, 1).unwrap();
    let x = Matrix::from(Csr::from_rows(2, [vec![(0, 2.0)], vec![(1, 1.0)]]));
    let (none, two) = (Labels::none(2), Labels::from_single([Some("a"), Some("b")]));
    assert!(SlsiParams { candidates: 0, rank: 0 }.check().unwrap_err().to_string().contains("candidates = 0"));
    assert!(LocalLsiParams { local: 0, ..Default::default() }.check().unwrap_err().is_usage());
    let zeros = Matrix::from(Csr::empty(2, 2));
    let say = |error: Error| error.to_string();
    assert!(say(SlsiParams::default().fit(&x, &Target::new(&none), &run).unwrap_err()).contains("needs labels"));
    assert!(say(LocalLsiParams::default().fit(&x, &Target::new(&none), &run).unwrap_err()).contains("needs labels"));
    assert!(say(SlsiParams::default().fit(&zeros, &Target::new(&two), &run).unwrap_err()).contains("only zeros"));
    assert!(say(LocalLsiParams::default().fit(&zeros, &Target::new(&two), &run).unwrap_err()).contains("only zeros"));
    // More directions than there are: as many as there are.
    let (model, z) = SlsiParams::default().fit(&x, &Target::new(&two), &run).unwrap();
    assert_eq!((model.n_columns(), z.dense().rows()), (2, 2));
    let (model, _) = LocalLsiParams::default().fit(&x, &Target::new(&two), &run).unwrap();
    assert_eq!(model.vectors(), &Dense::from_rows(&[[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]));
}
