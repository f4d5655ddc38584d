use proptest::prelude::*;
use rand::RngExt;

use super::*;
use crate::corpus::Labels;
use crate::matrix::svd::tests::random_sparse;
use crate::matrix::{Csr, Dense};
use crate::project::{ColumnNames, ProjectorModel};
use crate::store::StoreWriter;
use crate::store::tests::round_trip;

fn run(threads: usize) -> Run {
    Run::new(1, threads).unwrap()
}

fn params(noise: f64, solver: Solver) -> DcotParams {
    DcotParams {
        prototypes: Auto::Value(20),
        noise: Auto::Value(noise),
        layers: Auto::Value(1),
        rank: Auto::Value(Rank::Full),
        solver,
        ..Default::default()
    }
}

fn weights(x: &Csr, params: &DcotParams) -> (Dense, DcotModel) {
    let (model, _) = params.fit(&Matrix::from(x.clone()), &Target::new(&Labels::none(x.rows())), &run(2)).unwrap();
    (model.weights(0).unwrap().unwrap(), model)
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
    let exact = DcotParams { prototypes: Auto::Value(cols), ..params(1.0 - keep, Solver::Cholesky) };
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
        let params = DcotParams { layers: Auto::Value(3), prototypes: Auto::Value(40), ..params(0.8, solver) };
        let fit = |threads| {
            params.fit(&Matrix::from(x.clone()), &Target::new(&Labels::none(x.rows())), &run(threads)).unwrap()
        };
        let (model, z) = fit(1);
        assert_eq!((z.cols(), z.sparse()), (200 + 3 * 40, &x));
        assert!(fit(2) == (model.clone(), z.clone()) && fit(8) == (model.clone(), z.clone()));
        assert_eq!(model.transform(&Matrix::from(x.clone()), &run(2)).unwrap(), z);
    }
}

/// Documents of four topics with words in common, enough prototypes for the first layer never to be written out.
fn topics(documents: u32) -> Matrix {
    let words = |row: u32| {
        let topic = row % 4;
        let mut words: Vec<u32> = (0..12).map(|k| topic * 100 + (row * 13 + k * k * 7 + row / 3) % 130).collect();
        words.sort_unstable();
        words.dedup();
        words.into_iter().map(|word| (word, 0.3)).collect()
    };
    Matrix::from(Csr::from_rows(430, (0..documents).map(words)))
}

fn compact(rank: usize) -> DcotParams {
    let rank = Auto::Value(Rank::Directions(rank));
    DcotParams { prototypes: Auto::Value(400), layers: Auto::Value(2), rank, ..params(0.9, Solver::Auto) }
}

#[test]
fn a_compact_model_gives_nearly_what_the_exact_one_gives() {
    let (x, labels) = (topics(600), Labels::none(600));
    for solver in [Solver::Auto, Solver::Woodbury] {
        let params = DcotParams { solver, ..compact(20) };
        let fit = |precision| params.fit(&x, &Target::new(&labels), &run(2).with_precision(precision)).unwrap();
        let ((small, compact), (large, exact)) = (fit(crate::Precision::Compact), fit(crate::Precision::Full));
        assert_eq!(compact.cols(), 430 + 2 * 20);
        // Directions may differ in sign and turn, so what documents are to each other is compared.
        let alike = |z: &Matrix, a: usize, b: usize| -> f64 {
            z.row(a).dense.iter().zip(z.row(b).dense).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        let length = alike(&exact, 0, 0);
        for row in 1..600 {
            let (a, b) = (alike(&compact, 0, row), alike(&exact, 0, row));
            assert!((a - b).abs() < 0.1 * length, "{solver:?} {row}: {a} {b}");
        }
        let mut sizes = [&small, &large].map(|model| {
            let mut out = StoreWriter::measuring();
            model.save(&mut out).unwrap();
            out.into_entries().values().map(crate::store::Entry::size).sum::<usize>()
        });
        sizes[0] *= 4;
        assert!(sizes[0] < sizes[1], "{sizes:?}");
        let back = round_trip(|out| small.save(out).unwrap(), DcotModel::load).unwrap();
        assert_eq!(back.transform(&x, &run(1)).unwrap(), compact);
        assert_eq!(back.rank(), Some(20));
    }
}

#[test]
fn a_compact_model_has_the_same_bits_at_any_thread_count() {
    let (x, labels) = (topics(700), Labels::none(700));
    let fit = |threads| compact(30).fit(&x, &Target::new(&labels), &run(threads)).unwrap();
    let first = fit(1);
    assert!(fit(2) == first && fit(8) == first);
    assert_eq!(first.0.transform(&x, &run(2)).unwrap(), first.1);
}

#[test]
fn more_labels_and_classes_keep_more_directions() {
    let names: Vec<String> = (0..90).map(|class| format!("class {class}")).collect();
    let labels =
        |count: usize, classes: usize| Labels::from_single((0..count).map(|row| Some(names[row % classes].as_str())));
    let auto = DcotParams::default();
    assert_eq!([300, 301].map(|count| auto.layers_for(&labels(count, 3))), [2, 1]);
    let ranks = [(10, 2), (300, 90), (9000, 2), (9000, 8), (9000, 90)].map(|(n, k)| auto.rank_for(&labels(n, k)));
    assert_eq!(ranks, [100, 100, 100, 120, 300].map(Some));
    assert_eq!(DcotParams { rank: Auto::Value(Rank::Full), ..auto }.rank_for(&labels(10, 2)), None);
}

#[test]
fn blocks_of_every_document_are_as_long_as_x_is_on_average() {
    let params =
        DcotParams { layers: Auto::Value(2), weight: Auto::Value(Weight::Times(4.0)), ..params(0.7, Solver::Auto) };
    let x = random_sparse(200, 80, 2);
    let length = x.values().iter().map(|v| f64::from(v * v)).sum::<f64>() / 200.0;
    let (_, z) = params.fit(&Matrix::from(x), &Target::new(&Labels::none(200)), &run(2)).unwrap();
    for row in 0..200 {
        for block in z.row(row).dense.chunks(20) {
            let square: f64 = block.iter().map(|v| f64::from(v * v)).sum();
            assert!((square / (4.0 * length) - 1.0).abs() < 1e-3, "{square} {length}");
        }
    }
}

#[test]
fn without_a_weight_outputs_are_those_of_tanh() {
    let none = DcotParams {
        layers: Auto::Value(2),
        rank: Auto::Auto,
        weight: Auto::Value(Weight::None),
        ..params(0.7, Solver::Auto)
    };
    let x = Matrix::from(random_sparse(60, 30, 2));
    let (model, z) = none.fit(&x, &Target::new(&Labels::none(60)), &run(2)).unwrap();
    assert_eq!(z.dense().cols(), 2 * 20);
    assert_eq!(z.dense(), &model.raw(x.sparse(), &run(1)).unwrap());
    assert_eq!(model.weight(), Some(Weight::None));
    let back = round_trip(|out| model.save(out).unwrap(), DcotModel::load).unwrap();
    assert_eq!(back.transform(&x, &run(1)).unwrap(), z);
    // The noise can be found without a weight too.
    let labels = Labels::from_single((0..60).map(|row| Some(["a", "b"][row % 2])));
    let auto = DcotParams { noise: Auto::Auto, ..none };
    let (model, z) = auto.fit(&x, &Target::new(&labels), &run(2)).unwrap();
    assert_eq!(z, model.transform(&x, &run(1)).unwrap());
    assert_eq!(auto.resolved(&model).weight, Auto::Value(Weight::None));
}

#[test]
fn prototypes_are_frequent_telling_or_named() {
    let x = Matrix::from(Csr::from_rows(
        4,
        [vec![(0, 1.0), (2, 1.0)], vec![(0, 1.0), (2, 1.0)], vec![(0, 1.0), (3, 1.0)], vec![(0, 1.0)]],
    ));
    let labels = crate::corpus::Labels::from_single(["a", "a", "b", "b"].map(Some));
    let names: ColumnNames = std::sync::Arc::new(|| ["the", "unseen", "ball", "vote"].map(String::from).to_vec());
    let choose = |params: DcotParams| params.prototype_columns(&x, &Target::new(&labels).with_names(&names), &run(1));
    let by = |select: Select, count: usize| {
        choose(DcotParams { select, prototypes: Auto::Value(count), ..Default::default() })
    };
    assert_eq!(by(Select::Frequent, 2).unwrap(), [0, 2]);
    assert_eq!(by(Select::Frequent, 9).unwrap(), [0, 2, 3]);
    assert_eq!(by(Select::InformationGain, 1).unwrap(), [2]);
    let named = |list: &[&str]| {
        let terms = Terms(list.iter().map(ToString::to_string).collect());
        choose(DcotParams { terms, prototypes: Auto::Value(1), ..Default::default() })
    };
    assert_eq!(named(&["vote", "the", "goal", "the"]).unwrap(), [0, 3]);
    assert!(named(&["goal"]).unwrap_err().to_string().contains("not among the terms"));
}

#[test]
fn the_store_gives_back_the_same_and_refuses_what_does_not_fit() {
    let params = DcotParams { layers: Auto::Value(2), ..params(0.7, Solver::Auto) };
    let x = Matrix::from(random_sparse(50, 30, 2));
    let (model, _) = params.fit(&x.clone(), &Target::new(&Labels::none(x.clone().rows())), &run(1)).unwrap();
    let back = round_trip(|out| model.save(out).unwrap(), DcotModel::load).unwrap();
    assert_eq!(back.transform(&x, &run(1)).unwrap(), model.transform(&x, &run(1)).unwrap());
    let damaged = |name: &'static str, write: fn(&mut StoreWriter)| {
        round_trip(
            |out| {
                model.save(out).unwrap();
                write(out);
            },
            DcotModel::load,
        )
        .expect_err(name)
    };
    damaged("prototypes", |out| out.put_u32("prototypes", &[1; 20]));
    damaged("no layers", |out| out.put_u32("layers", &[0]));
    damaged("bias", |out| out.scope("1", |out| out.put_f32("bias", &[1], &[0.0])));
    assert!(model.transform(&Matrix::from(Csr::empty(2, 31)), &run(1)).is_err());
    assert_eq!(model.clone().truncated(1).n_layers(), 1);
    assert_eq!(model.clone().reweighted(4.0).reweighted(0.25), model);
}

#[test]
fn there_are_fewer_prototypes_where_documents_are_very_many() {
    let auto = DcotParams::default();
    assert_eq!([auto.count(10), auto.count(100_000), auto.count(100_001)], [2000, 2000, 1000]);
    assert_eq!(DcotParams { prototypes: Auto::Value(7), ..auto }.count(1_000_000), 7);
}

#[test]
fn every_auto_is_found_without_a_recipe_and_select_by_gain_works_too() {
    let topic = |row: u32| (0..4).map(|k| row % 2 * 10 + (row * 3 + k * 2 + row / 2) % 10).collect::<Vec<u32>>();
    let words = |row: u32| {
        let mut words = topic(row);
        words.sort_unstable();
        words.dedup();
        words.into_iter().map(|word| (word, 1.0)).collect()
    };
    let x = Matrix::from(Csr::from_rows(20, (0..80).map(words)));
    let labels = Labels::from_single((0..80).map(|row| (row < 40).then_some(["z", "a"][row % 2])));
    let target = Target::new(&labels);
    let auto = DcotParams { noise: Auto::Auto, layers: Auto::Auto, weight: Auto::Auto, ..params(0.5, Solver::Auto) };
    let (model, rows) = auto.fit(&x, &target, &run(2)).unwrap();
    let resolved = auto.resolved(&model);
    assert!(!resolved.asks_judge() && !resolved.needs_labels());
    let (again, same) = resolved.fit(&x, &target, &run(2)).unwrap();
    assert_eq!(again.n_columns(), model.n_columns());
    let close =
        |a: &Matrix, b: &Matrix| a.dense().values().iter().zip(b.dense().values()).all(|(a, b)| (a - b).abs() < 1e-4);
    assert!(close(&rows, &same) && close(&rows, &model.transform(&x, &run(2)).unwrap()));
    let by_gain = DcotParams { select: Select::InformationGain, ..params(0.5, Solver::Auto) };
    assert_eq!(by_gain.fit(&x, &target, &run(2)).unwrap().0.prototypes().len(), 20);
    // Too few labels choose nothing, and the usual values stay.
    let few = labels.only(&[0, 1, 2]);
    assert_eq!(auto.fit(&x, &Target::new(&few), &run(2)).unwrap().0.n_layers(), 2);
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    for rank in [Rank::Full, Rank::Directions(7)] {
        let params = DcotParams { layers: Auto::Value(2), rank: Auto::Value(rank), ..params(0.7, Solver::Auto) };
        gradient_is_right(DcotParams { weight: Auto::Value(Weight::None), ..params.clone() });
        gradient_is_right(params);
    }
}

fn gradient_is_right(params: DcotParams) {
    let x = Matrix::from(random_sparse(60, 30, 2));
    let (model, _) = params.fit(&x, &Target::new(&Labels::none(60)), &run(1)).unwrap();
    let weights: Vec<f32> = (0..model.n_columns()).map(|column| ((column * 37 % 11) as f32 - 5.0) * 0.1).collect();
    let of = Dense::new(weights.len(), 1, weights.clone()).unwrap();
    let (columns, values) = x.sparse().row(3);
    let score = |values: &[f32]| {
        let row = columns.iter().copied().zip(values.iter().copied()).collect();
        let z = model.transform(&Matrix::from(Csr::from_rows(30, [row])), &run(1)).unwrap();
        z.row(0).dot(&weights)
    };
    let found = model.gradient(&x.select_rows(&[3]), &crate::project::Weights::new(&of, 0), &run(1)).unwrap().unwrap();
    for (at, &column) in columns.iter().enumerate() {
        let moved = |by: f32| {
            let mut values = values.to_vec();
            values[at] += by;
            score(&values)
        };
        let expected = (moved(1e-2) - moved(-1e-2)) / 2e-2;
        let found = f64::from(found.row(column as usize)[0]);
        assert!((found - expected).abs() < 2e-2 * expected.abs().max(0.5), "{found} {expected}");
    }
}

#[test]
fn values_out_of_range_and_data_without_terms_are_refused() {
    let default = DcotParams::default;
    for wrong in [
        DcotParams { prototypes: Auto::Value(0), ..default() },
        DcotParams { noise: Auto::Value(1.0), ..default() },
        DcotParams { noise: Auto::Value(f64::NAN), ..default() },
        DcotParams { layers: Auto::Value(0), ..default() },
        DcotParams { weight: Auto::Value(Weight::Times(0.0)), ..default() },
        DcotParams { ridge: -1.0, ..default() },
        DcotParams { rank: Auto::Value(Rank::Directions(0)), ..default() },
    ] {
        assert!(wrong.check().unwrap_err().is_usage(), "{wrong:?}");
    }
    assert!(
        default()
            .fit(
                &Matrix::from(Csr::empty(3, 3)),
                &Target::new(&Labels::none(Matrix::from(Csr::empty(3, 3)).rows())),
                &run(1)
            )
            .is_err()
    );
    assert!(
        default()
            .fit(
                &Matrix::from(Dense::zeros(3, 3)),
                &Target::new(&Labels::none(Matrix::from(Dense::zeros(3, 3)).rows())),
                &run(1)
            )
            .unwrap_err()
            .to_string()
            .contains("dense")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_matrix_gives_finite_rows(seed in 0u64..1000, rows in 2usize..40, cols in 1usize..30, noise in 0.02f64..0.99) {
        let x = random_sparse(rows, cols, seed);
        prop_assume!(x.nnz() > 0);
        let params = DcotParams { layers: Auto::Value(2), ..params(noise, Solver::Auto) };
        let (_, z) = params.fit(&Matrix::from(x), &Target::new(&Labels::none(rows)), &run(1)).unwrap();
        prop_assert!(z.dense().values().iter().all(|value| value.is_finite()));
    }
}
