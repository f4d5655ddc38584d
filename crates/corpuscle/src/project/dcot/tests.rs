use proptest::prelude::*;
use rand::RngExt;

use super::*;
use crate::matrix::svd::tests::random_sparse;
use crate::matrix::{Csr, Dense};
use crate::store::StoreWriter;
use crate::store::tests::round_trip;

fn run(threads: usize) -> Run {
    Run::new(1, threads).unwrap()
}

fn params(noise: f64, solver: Solver) -> DcotParams {
    DcotParams {
        prototypes: Prototypes::Value(20),
        noise: Noise::Value(noise),
        layers: Layers::Value(1),
        solver,
        ..Default::default()
    }
}

fn weights(x: &Csr, params: &DcotParams) -> (Dense, DcotModel) {
    let (model, _) = params.fit(Matrix::from(x.clone()), &run(2)).unwrap();
    (model.weights(0).unwrap().clone(), model)
}

#[test]
fn the_three_solvers_agree() {
    for (rows, cols, noise) in [(60, 150, 0.3), (60, 150, 0.95), (200, 40, 0.5), (90, 90, 0.05)] {
        let x = random_sparse(rows, cols, 3);
        let (reference, _) = weights(&x, &params(noise, Solver::Cholesky));
        let largest = reference.values().iter().fold(0f32, |largest, value| largest.max(value.abs()));
        for solver in [Solver::Woodbury, Solver::Gradients] {
            let (found, model) = weights(&x, &params(noise, solver));
            assert_eq!(model.solver(), Some(solver));
            for (a, b) in found.values().iter().zip(reference.values()) {
                assert!((a - b).abs() <= 1e-4 * largest, "{solver:?} {rows} × {cols}, noise {noise}: {a} {b}");
            }
        }
    }
}

/// Least squares on many documents with words really removed.
#[test]
fn the_closed_form_is_what_random_corruptions_tend_to() {
    let (rows, cols, copies, keep) = (40, 12, 4000, 0.4);
    let x = random_sparse(rows, cols, 8);
    let mut rng = run(1).rng(5);
    // Normal equations of [x̂, 1] → x, by plain sums.
    let size = cols + 1;
    let (mut gram, mut cross) = (vec![0f64; size * size], vec![0f64; size * cols]);
    for row in 0..rows {
        let mut full = vec![0f64; cols];
        let (columns, values) = x.row(row);
        columns.iter().zip(values).for_each(|(&c, &v)| full[c as usize] = f64::from(v));
        for _ in 0..copies {
            let kept = full.iter().map(|&v| if rng.random::<f64>() < keep { v } else { 0.0 });
            let kept: Vec<f64> = kept.chain([1.0]).collect();
            for i in 0..size {
                (0..size).for_each(|j| gram[i * size + j] += kept[i] * kept[j]);
                (0..cols).for_each(|j| cross[i * cols + j] += kept[i] * full[j]);
            }
        }
    }
    crate::matrix::cholesky::solve_symmetric(&mut gram, size, &mut cross, cols, &run(1)).unwrap();
    let exact = DcotParams { prototypes: Prototypes::Value(cols), ..params(1.0 - keep, Solver::Cholesky) };
    let (found, model) = weights(&x, &exact);
    assert_eq!(model.prototypes().len(), cols);
    for i in 0..cols {
        for j in 0..cols {
            let sampled = cross[i * cols + j];
            // 160 000 corrupted documents: sampling errors of about a hundredth.
            assert!((sampled - f64::from(found.row(i)[j])).abs() < 0.02, "{i} {j}: {sampled} {}", found.row(i)[j]);
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads_and_rows_are_what_transform_gives() {
    let x = random_sparse(300, 200, 1);
    for solver in [Solver::Auto, Solver::Woodbury, Solver::Cholesky, Solver::Gradients] {
        let params = DcotParams { layers: Layers::Value(3), prototypes: Prototypes::Value(40), ..params(0.8, solver) };
        let fit = |threads| params.fit(Matrix::from(x.clone()), &run(threads)).unwrap();
        let (model, z) = fit(1);
        assert_eq!((z.cols(), z.sparse()), (200 + 3 * 40, &x));
        assert!(fit(2) == (model.clone(), z.clone()) && fit(8) == (model.clone(), z.clone()));
        assert_eq!(model.transform(Matrix::from(x.clone()), &run(2)).unwrap(), z);
    }
}

#[test]
fn blocks_of_every_document_are_as_long_as_x_is_on_average() {
    let params = DcotParams { layers: Layers::Value(2), weight: Weight::Value(4.0), ..params(0.7, Solver::Auto) };
    let x = random_sparse(200, 80, 2);
    let length = x.values().iter().map(|v| f64::from(v * v)).sum::<f64>() / 200.0;
    let (_, z) = params.fit(Matrix::from(x), &run(2)).unwrap();
    for row in 0..200 {
        for block in z.row(row).dense.chunks(20) {
            let square: f64 = block.iter().map(|v| f64::from(v * v)).sum();
            assert!((square / (4.0 * length) - 1.0).abs() < 1e-3, "{square} {length}");
        }
    }
}

#[test]
fn prototypes_are_frequent_telling_or_named() {
    let x = Matrix::from(Csr::from_rows(
        4,
        [vec![(0, 1.0), (2, 1.0)], vec![(0, 1.0), (2, 1.0)], vec![(0, 1.0), (3, 1.0)], vec![(0, 1.0)]],
    ));
    let labels = crate::corpus::Labels::from_single(["a", "a", "b", "b"].map(Some));
    let names = || ["the", "unseen", "ball", "vote"].map(String::from).to_vec();
    let choose = |select: Select, count| {
        DcotParams { select, prototypes: Prototypes::Value(count), ..Default::default() }.choose(
            &x,
            Some(&labels),
            &names,
            &run(1),
        )
    };
    assert_eq!(choose(Select::Frequent, 2).unwrap(), [0, 2]);
    assert_eq!(choose(Select::Frequent, 9).unwrap(), [0, 2, 3]);
    assert_eq!(choose(Select::InformationGain, 1).unwrap(), [2]);
    let terms = |list: &[&str]| Select::Terms(list.iter().map(ToString::to_string).collect());
    assert_eq!(choose(terms(&["vote", "the", "goal", "the"]), 1).unwrap(), [0, 3]);
    assert!(choose(terms(&["goal"]), 1).unwrap_err().to_string().contains("not among the terms"));
}

#[test]
fn the_store_gives_back_the_same_and_refuses_what_does_not_fit() {
    let params = DcotParams { layers: Layers::Value(2), ..params(0.7, Solver::Auto) };
    let x = Matrix::from(random_sparse(50, 30, 2));
    let (model, _) = params.fit(x.clone(), &run(1)).unwrap();
    let back = round_trip(|out| model.save(out), DcotModel::load).unwrap();
    assert_eq!(back.transform(x.clone(), &run(1)).unwrap(), model.transform(x, &run(1)).unwrap());
    let damaged = |name: &'static str, write: fn(&mut StoreWriter)| {
        round_trip(
            |out| {
                model.save(out);
                write(out);
            },
            DcotModel::load,
        )
        .expect_err(name)
    };
    damaged("prototypes", |out| out.put_u32("prototypes", &[1; 20]));
    damaged("no layers", |out| out.put_u32("layers", &[0]));
    damaged("bias", |out| out.scope("1", |out| out.put_f32("bias", &[1], &[0.0])));
    assert!(model.transform(Matrix::from(Csr::empty(2, 31)), &run(1)).is_err());
    assert_eq!(model.clone().truncated(1).layers(), 1);
    assert_eq!(model.clone().reweighted(4.0).reweighted(0.25), model);
}

#[test]
fn there_are_fewer_prototypes_where_documents_are_very_many() {
    assert_eq!(
        [Prototypes::Auto.of(10), Prototypes::Auto.of(100_000), Prototypes::Auto.of(100_001)],
        [2000, 2000, 1000]
    );
    assert_eq!(Prototypes::Value(7).of(1_000_000), 7);
}

#[test]
fn values_out_of_range_and_data_without_terms_are_refused() {
    let default = DcotParams::default;
    for wrong in [
        DcotParams { prototypes: Prototypes::Value(0), ..default() },
        DcotParams { noise: Noise::Value(1.0), ..default() },
        DcotParams { noise: Noise::Value(f64::NAN), ..default() },
        DcotParams { layers: Layers::Value(0), ..default() },
        DcotParams { weight: Weight::Value(0.0), ..default() },
        DcotParams { ridge: -1.0, ..default() },
        DcotParams { select: Select::Terms(Vec::new()), ..default() },
    ] {
        assert!(wrong.check().unwrap_err().is_usage(), "{wrong:?}");
    }
    assert!(default().fit(Matrix::from(Csr::empty(3, 3)), &run(1)).is_err());
    assert!(default().fit(Matrix::from(Dense::zeros(3, 3)), &run(1)).unwrap_err().to_string().contains("dense"));
    let auto = DcotParams { noise: Noise::Auto, ..default() };
    assert!(auto.fit(Matrix::from(random_sparse(9, 9, 1)), &run(1)).unwrap_err().is_usage());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_matrix_gives_finite_rows(seed in 0u64..1000, rows in 2usize..40, cols in 1usize..30, noise in 0.02f64..0.99) {
        let x = random_sparse(rows, cols, seed);
        prop_assume!(x.nnz() > 0);
        let params = DcotParams { layers: Layers::Value(2), ..params(noise, Solver::Auto) };
        let (_, z) = params.fit(Matrix::from(x), &run(1)).unwrap();
        prop_assert!(z.dense().values().iter().all(|value| value.is_finite()));
    }
}
