use super::*;
use crate::classify::{Classifier, ClassifierModel, KnnParams, SvmParams};
use crate::corpus::Labels;
use crate::matrix::small::transposed_product;
use crate::matrix::svd::tests::random_sparse;
use crate::matrix::{Csr, Dense};
use crate::project::{LsiParams, NormalizeParams, SprinkleParams};
use crate::store::tests::round_trip;
use proptest::prelude::*;

fn labels(n: usize, classes: usize) -> Labels {
    Labels::from_single((0..n).map(|row| Some(format!("c{}", row % classes))))
}

fn params(components: usize) -> VarNormParams {
    VarNormParams { components, ..Default::default() }
}

/// The projected rows of a sparse matrix, written out.
fn written_out(x: &Matrix, model: &VarNormModel) -> Matrix {
    let mut explicit = Dense::zeros(x.rows(), x.cols());
    for row in 0..x.rows() {
        x.row(row).for_each(|column, value| explicit.row_mut(row)[column] = value);
    }
    let a = explicit.matmul(model.vectors()).unwrap();
    let removed = a.matmul_transposed(model.vectors()).unwrap();
    explicit.values_mut().iter_mut().zip(removed.values()).for_each(|(value, part)| *value -= part);
    Matrix::from(explicit)
}

fn assert_same_inner_products(a: &Matrix, b: &Matrix) {
    for i in 0..a.rows() {
        for j in 0..=i {
            let (left, right) = (a.row(i).inner(&a.row(j)), b.row(i).inner(&b.row(j)));
            assert!((left - right).abs() < 1e-4, "{i} {j}: {left} {right}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn directions_are_orthonormal_and_projecting_twice_changes_nothing(
        seed in 0u64..1000, n in 6usize..40, d in 4usize..40, components in 1usize..12, classes in 1usize..5,
    ) {
        let x = Matrix::from(random_sparse(n, d, seed));
        let run = Run::new(seed, 1).unwrap();
        let model = params(components).fit(&x, &Target::new(&labels(n, classes)), &run).unwrap().0;
        let gram = transposed_product(model.vectors(), model.vectors(), 0);
        for i in 0..model.components() {
            for j in 0..model.components() {
                prop_assert!((gram.row(i)[j] - f64::from(u8::from(i == j))).abs() < 1e-5);
            }
        }
        let once = written_out(&x, &model);
        let twice = written_out(&once, &model);
        for (a, b) in once.dense().values().iter().zip(twice.dense().values()) {
            prop_assert!((a - b).abs() < 1e-5);
        }
        let before: f64 = intra_topic_variability(&x, &labels(n, classes), &run).unwrap().iter().map(|t| t.total).sum();
        let after: f64 = intra_topic_variability(&once, &labels(n, classes), &run).unwrap().iter().map(|t| t.total).sum();
        prop_assert!((before - after - 2.0 * model.eigenvalues().iter().sum::<f64>()).abs() < 1e-3 * before.max(1.0));
    }
}

#[test]
fn classifiers_see_the_written_out_rows() {
    let x = Matrix::from(random_sparse(210, 80, 2));
    let labels = labels(210, 7);
    let run = Run::new(1, 2).unwrap();
    let model = params(10).fit(&x, &Target::new(&labels), &run).unwrap().0;
    let explicit = written_out(&x, &model);
    let projected = model.transform(&x, &run).unwrap();
    assert_eq!((projected.cols(), projected.negative(), model.n_columns()), (90, 10, 90));
    assert_same_inner_products(&projected, &explicit);
    let (train, test): (Vec<usize>, Vec<usize>) = (0..210).partition(|row| row % 3 > 0);
    let known = labels.select(&train);
    for metric in [crate::classify::Metric::Cosine, crate::classify::Metric::Euclidean] {
        let scores = |x: &Matrix| {
            let knn = KnnParams { k: 5, metric, ..Default::default() };
            knn.fit(&x.select_rows(&train), &Target::new(&known), &run)
                .unwrap()
                .scores(&x.select_rows(&test), &run)
                .unwrap()
        };
        let (ours, theirs) = (scores(&projected), scores(&explicit));
        for (a, b) in ours.values().iter().zip(theirs.values()) {
            assert!((a - b).abs() < 1e-3, "{metric:?}: {a} {b}");
        }
    }
    let scores = |x: &Matrix| {
        let svm = SvmParams { tolerance: 1e-6, max_iter: 5000, ..Default::default() };
        svm.fit(&x.select_rows(&train), &Target::new(&known), &run)
            .unwrap()
            .scores(&x.select_rows(&test), &run)
            .unwrap()
    };
    let (ours, theirs) = (scores(&projected), scores(&explicit));
    for (a, b) in ours.values().iter().zip(theirs.values()) {
        assert!((a - b).abs() < 5e-3, "svm: {a} {b}");
    }
}

#[test]
fn dense_mixed_and_already_projected_matrices_are_projected_in_their_own_geometry() {
    let sparse = random_sparse(60, 30, 3);
    let labels = labels(60, 4);
    let run = Run::new(1, 1).unwrap();
    let all = Matrix::from(sparse.clone());
    let first = params(4).fit(&all, &Target::new(&labels), &run).unwrap().0;
    let plain = written_out(&all, &params(9).fit(&all, &Target::new(&labels), &run).unwrap().0);

    // Dense rows stay dense, as wide as they were.
    let mut dense = Dense::zeros(60, 30);
    (0..60).for_each(|row| all.row(row).for_each(|column, value| dense.row_mut(row)[column] = value));
    let dense = Matrix::from(dense);
    let model = params(9).fit(&dense, &Target::new(&labels), &run).unwrap().0;
    let projected = model.transform(&dense, &run).unwrap();
    assert_eq!((projected.cols(), projected.negative(), model.n_columns()), (30, 0, 30));
    assert_same_inner_products(&projected, &plain);

    // Half sparse, half dense.
    let left: Vec<u32> = (0..15).collect();
    let right: Vec<u32> = (15..30).collect();
    let right = sparse.select_columns(&right);
    let mut half = Dense::zeros(60, 15);
    for row in 0..60 {
        let (columns, values) = right.row(row);
        columns.iter().zip(values).for_each(|(&column, &value)| half.row_mut(row)[column as usize] = value);
    }
    let mixed = Matrix::new(sparse.select_columns(&left), half, 0).unwrap();
    let projected = params(9).fit(&mixed, &Target::new(&labels), &run).unwrap().0.transform(&mixed, &run).unwrap();
    assert_eq!((projected.cols(), projected.negative()), (39, 9));
    assert_same_inner_products(&projected, &plain);

    // Four directions, then five of what is left, are the nine leading ones.
    let once = first.transform(&all, &run).unwrap();
    let twice = params(5).fit(&once, &Target::new(&labels), &run).unwrap().0.transform(&once, &run).unwrap();
    assert_eq!(twice.negative(), 9);
    assert_same_inner_products(&twice, &plain);
}

#[test]
fn other_stages_take_what_comes_out() {
    let x = Matrix::from(random_sparse(60, 30, 3));
    let labels = labels(60, 4);
    let run = Run::new(1, 1).unwrap();
    let model = params(6).fit(&x, &Target::new(&labels), &run).unwrap().0;
    let explicit = written_out(&x, &model);
    let projected = model.transform(&x, &run).unwrap();
    let normalize = |x: &Matrix| NormalizeParams {}.fit(x, &Target::new(&Labels::none(x.rows())), &run).unwrap().1;
    assert_same_inner_products(&normalize(&projected), &normalize(&explicit));
    // More dimensions than are left: 24, and not noise in the place of the six that are gone.
    for rank in [5, 100] {
        let lsi = |x: &Matrix| {
            LsiParams { rank, ..Default::default() }.fit(x, &Target::new(&Labels::none(x.rows())), &run).unwrap().1
        };
        let (ours, theirs) = (lsi(&projected), lsi(&explicit));
        assert_eq!(ours.cols(), theirs.cols());
        assert_same_inner_products(&ours, &theirs);
    }
    let sprinkle = |x: &Matrix| {
        let params = SprinkleParams { rank: 6, terms: 8.into(), ..Default::default() };
        params.fit(x, &Target::new(&labels), &run).unwrap().1
    };
    assert_same_inner_products(&sprinkle(&projected), &sprinkle(&explicit));
}

#[test]
fn unlabelled_rows_are_transformed_and_not_fitted_on() {
    let x = random_sparse(40, 20, 8);
    let run = Run::new(1, 1).unwrap();
    let known: Vec<usize> = (0..40).filter(|row| row % 5 > 0).collect();
    let some = Labels::from_single((0..40).map(|row| (row % 5 > 0).then(|| format!("c{}", row % 3))));
    let all = params(3).fit(&Matrix::from(x.clone()), &Target::new(&some), &run).unwrap().0;
    let alone =
        params(3).fit(&Matrix::from(x.select_rows(&known)), &Target::new(&some.select(&known)), &run).unwrap().0;
    assert_eq!(all, alone);
    assert_eq!(all.transform(&Matrix::from(x), &run).unwrap().rows(), 40);
}

#[test]
fn bits_do_not_depend_on_threads_and_survive_the_store() {
    let x = Matrix::from(random_sparse(900, 700, 4));
    let labels = labels(900, 9);
    let fit = |threads| {
        let run = Run::new(3, threads).unwrap();
        let model = params(20).fit(&x, &Target::new(&labels), &run).unwrap().0;
        let rows = model.transform(&x, &run).unwrap();
        (model, rows)
    };
    let one = fit(1);
    assert!(fit(2) == one && fit(8) == one);
    assert_eq!(round_trip(|out| one.0.save(out).unwrap(), VarNormModel::load).unwrap(), one.0);
    let damaged = |out: &mut crate::store::StoreWriter| {
        one.0.save(out).unwrap();
        out.put_u64("make", &[1, 2, 0]);
    };
    assert!(round_trip(damaged, VarNormModel::load).is_err());
}

#[test]
fn fewer_directions_and_none_and_what_is_refused() {
    let run = Run::new(1, 1).unwrap();
    // Two topics of two documents: they can differ in two directions.
    let x = Matrix::from(random_sparse(4, 9, 1));
    let model = params(60).fit(&x, &Target::new(&labels(4, 2)), &run).unwrap().0;
    assert_eq!(model.components(), 2);
    // Alone in its topic, no document differs from another.
    let model = params(60).fit(&x, &Target::new(&labels(4, 4)), &run).unwrap().0;
    assert_eq!(model.components(), 0);
    assert_eq!(model.transform(&x, &run).unwrap(), x);
    assert!(params(0).check().unwrap_err().is_usage());
    assert!(params(30_000).check().is_err());
    assert!(params(2).fit(&x, &Target::new(&labels(3, 2)), &run).is_err());
    let none = Labels::from_single([None::<&str>; 4]);
    assert!(params(2).fit(&x, &Target::new(&none), &run).unwrap_err().to_string().contains("none of the 4 documents"));
    let nan = Matrix::from(Csr::from_rows(1, [vec![(0, f32::NAN)], vec![]]));
    assert!(params(1).fit(&nan, &Target::new(&labels(2, 1)), &run).is_err());
    let model = params(1).fit(&x, &Target::new(&labels(4, 2)), &run).unwrap().0;
    assert!(model.transform(&Matrix::from(Csr::empty(1, 8)), &run).is_err());
}
