use super::solve::Way;
use super::*;
use crate::corpus::Labels;
use crate::matrix::svd::tests::random_sparse;
use crate::matrix::{Csr, Dense};
use crate::project::VarNormParams;
use crate::store::tests::round_trip;

fn labels(n: usize, classes: usize) -> Labels {
    Labels::from_single((0..n).map(|row| Some(format!("c{:03}", row % classes))))
}

fn value(shrinkage: f64) -> DiscriminantParams {
    DiscriminantParams { shrinkage: Auto::Value(shrinkage), ..Default::default() }
}

fn rows_by(way: Way, x: &Matrix, labels: &Labels, shrinkage: f64, run: &Run) -> Matrix {
    run.install(|| {
        let prepared = Prepared::by(Some(way), x, labels, 0.01, run).unwrap();
        assert_eq!(prepared.way(), way);
        prepared.directions(0, shrinkage, run).unwrap().transform(x, run).unwrap()
    })
}

/// Inner products of rows do not depend on signs, nor on how directions of equal worth are turned.
fn assert_same_geometry(a: &Matrix, b: &Matrix, allowed: f64) {
    let largest = (0..a.rows()).map(|row| a.row(row).norm_squared()).fold(0.0, f64::max);
    for i in 0..a.rows() {
        for j in 0..=i {
            let (left, right) = (a.row(i).inner(&a.row(j)), b.row(i).inner(&b.row(j)));
            assert!((left - right).abs() < allowed * largest, "{i} {j}: {left} {right}");
        }
    }
}

#[test]
fn both_ways_agree() {
    let x = Matrix::from(random_sparse(150, 400, 5));
    let run = Run::new(1, 2).unwrap();
    for labels in [labels(150, 7), labels(150, 40)] {
        for shrinkage in [0.01, 1.0, 100.0] {
            let dual = rows_by(Way::Dual, &x, &labels, shrinkage, &run);
            let krylov = rows_by(Way::Krylov, &x, &labels, shrinkage, &run);
            assert_same_geometry(&dual, &krylov, 1e-4);
        }
    }
}

#[test]
fn projected_documents_are_seen_as_they_would_be_written_out() {
    // More columns than documents, so that the unit of the shrinkage is the same before and after.
    let x = Matrix::from(random_sparse(90, 200, 3));
    let labels = labels(90, 5);
    let run = Run::new(1, 2).unwrap();
    let varnorm =
        VarNormParams { components: 12, ..Default::default() }.fit(&x, &Target::new(&labels), &run).unwrap().0;
    let projected = varnorm.transform(&x, &run).unwrap();
    let mut explicit = Dense::zeros(90, 200);
    for row in 0..90 {
        let out = explicit.row_mut(row);
        x.row(row).for_each(|column, value| out[column] = value);
        for (column, value) in out.iter_mut().enumerate() {
            let part: f32 =
                varnorm.vectors().row(column).iter().zip(projected.row(row).dense).map(|(a, b)| a * b).sum();
            *value -= part;
        }
    }
    let explicit = Matrix::from(explicit);
    for way in [Way::Dual, Way::Krylov] {
        let (a, b) = (rows_by(way, &projected, &labels, 0.5, &run), rows_by(way, &explicit, &labels, 0.5, &run));
        assert_same_geometry(&a, &b, 1e-4);
    }
}

#[test]
fn the_within_class_covariance_is_white_when_hardly_shrunk() {
    let n = 600;
    let values = random_sparse(n, 8, 9);
    let x = Matrix::from(values);
    let labels = labels(n, 3);
    let run = Run::new(1, 1).unwrap();
    let z = value(1e-6).fit(&x, &Target::new(&labels), &run).unwrap().0.transform(&x, &run).unwrap();
    let mut means = [[0f64; 2]; 3];
    for row in 0..n {
        (0..2).for_each(|at| means[row % 3][at] += f64::from(z.row(row).dense[at]) / (n / 3) as f64);
    }
    let mut scatter = [[0f64; 2]; 2];
    for row in 0..n {
        let about: Vec<f64> = (0..2).map(|at| f64::from(z.row(row).dense[at]) - means[row % 3][at]).collect();
        (0..2).for_each(|i| (0..2).for_each(|j| scatter[i][j] += about[i] * about[j] / n as f64));
    }
    for (i, row) in scatter.iter().enumerate() {
        for (j, value) in row.iter().enumerate() {
            assert!((value - f64::from(u8::from(i == j))).abs() < 1e-3, "{scatter:?}");
        }
    }
    let sum: f64 = (0..n).map(|row| f64::from(z.row(row).dense[0])).sum();
    assert!(sum.abs() / n as f64 <= 1e-4, "not about the mean: {sum}");
}

#[test]
fn bits_do_not_depend_on_threads_and_survive_the_store() {
    let x = Matrix::from(random_sparse(700, 300, 4));
    let labels = labels(700, 9);
    let fit = |threads| value(1.0).fit(&x, &Target::new(&labels), &Run::new(3, threads).unwrap()).unwrap().0;
    let one = fit(1);
    assert_eq!(one.components(), 8);
    assert!(fit(2) == one && fit(8) == one);
    assert_eq!(round_trip(|out| one.save(out).unwrap(), DiscriminantModel::load).unwrap(), one);
}

#[test]
fn several_labels_count_in_each_class_and_unlabelled_rows_are_only_transformed() {
    let x = Matrix::from(random_sparse(40, 30, 6));
    let names: Vec<Option<Vec<String>>> = (0..40)
        .map(|row| match row % 10 {
            9 => None,
            8 => Some(vec![]),
            _ => Some((0..=(row % 2)).map(|more| format!("c{}", (row + more) % 4)).collect()),
        })
        .collect();
    let several = Labels::from_lists(names.iter().map(|row| row.as_deref()));
    let run = Run::new(1, 1).unwrap();
    let model = value(1.0).fit(&x, &Target::new(&several), &run).unwrap().0;
    // The same as repeating each document once for every class it has.
    let (mut rows, mut single) = (Vec::new(), Vec::new());
    for row in 0..40 {
        for &class in several.of(row).unwrap_or(&[]) {
            rows.push(row);
            single.push(Some(format!("c{class}")));
        }
    }
    let repeated = value(1.0).fit(&x.select_rows(&rows), &Target::new(&Labels::from_single(single)), &run).unwrap().0;
    assert_same_geometry(&model.transform(&x, &run).unwrap(), &repeated.transform(&x, &run).unwrap(), 1e-4);
}

#[test]
fn what_cannot_be_done_says_why() {
    let run = Run::new(1, 1).unwrap();
    let x = Matrix::from(random_sparse(20, 10, 6));
    assert!(value(0.0).check().unwrap_err().is_usage());
    assert!(value(f64::NAN).check().is_err());
    assert!(value(1.0).fit(&x, &Target::new(&labels(20, 1)), &run).unwrap_err().to_string().contains("two classes"));
    assert!(value(1.0).fit(&x, &Target::new(&labels(19, 2)), &run).is_err());
    let same = Matrix::from(Csr::from_rows(2, [vec![(0, 1.0)], vec![(1, 1.0)]]));
    assert!(value(1.0).fit(&same, &Target::new(&labels(2, 2)), &run).unwrap_err().to_string().contains("all the same"));
    let most =
        DiscriminantParams { components: 50, ..value(1.0) }.fit(&x, &Target::new(&labels(20, 4)), &run).unwrap().0;
    assert_eq!(most.components(), 3);
    let fewer =
        DiscriminantParams { components: 2, ..value(1.0) }.fit(&x, &Target::new(&labels(20, 4)), &run).unwrap().0;
    assert_eq!(fewer.components(), 2);
}
