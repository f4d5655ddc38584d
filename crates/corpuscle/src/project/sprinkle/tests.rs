use super::*;
use crate::matrix::Dense;
use crate::matrix::svd::tests::random_sparse;
use crate::store::tests::round_trip;
use proptest::prelude::*;

fn run() -> Run {
    Run::new(42, 1).unwrap()
}

fn fixed(rank: usize, terms: usize) -> SprinkleParams {
    SprinkleParams { rank, terms: Auto::Value(terms), ..Default::default() }
}

fn written_out(x: &Matrix) -> Dense {
    let mut dense = Dense::zeros(x.rows(), x.cols());
    for row in 0..x.rows() {
        x.row(row).for_each(|column, value| dense.row_mut(row)[column] = value);
    }
    dense
}

/// Sprinkled columns copied out, a dense decomposition: the approximation cut to real columns, and x V' V'ᵀ.
fn explicit(x: &Matrix, labels: &Labels, sprinkled: &[usize], rank: usize) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let real = written_out(x);
    let total: usize = sprinkled.iter().sum();
    let owner: Vec<u32> = (0..sprinkled.len() as u32).flat_map(|c| vec![c; sprinkled[c as usize]]).collect();
    let wide = faer::Mat::<f64>::from_fn(x.rows(), x.cols() + total, |i, j| {
        if j < x.cols() { f64::from(real.row(i)[j]) } else { f64::from(u8::from(labels.has(i, owner[j - x.cols()]))) }
    });
    let svd = wide.thin_svd().unwrap();
    let values = svd.S().column_vector();
    let (u, v) = (svd.U(), svd.V());
    let by_rows = |z: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        let entry = |i: usize, j: usize| (0..rank).map(|r| z(i, r) * v[(j, r)]).sum();
        (0..x.rows()).map(|i| (0..x.cols()).map(|j| entry(i, j)).collect()).collect()
    };
    let folded = |i: usize, r: usize| real.row(i).iter().enumerate().map(|(t, &x)| f64::from(x) * v[(t, r)]).sum();
    (by_rows(&|i, r| u[(i, r)] * values[r]), by_rows(&folded))
}

fn labelled(rows: usize) -> Labels {
    // Of seven documents one is unlabelled and one has two classes.
    let lists: Vec<Option<Vec<String>>> = (0..rows)
        .map(|row| match row % 7 {
            6 => None,
            5 => Some(vec!["a".into(), "c".into()]),
            rest => Some(vec![["a", "b", "c"][rest % 3].to_string()]),
        })
        .collect();
    Labels::from_lists(lists.iter().map(|list| list.as_deref()))
}

#[test]
fn figure_1_of_the_paper() {
    let documents: [&[u32]; 6] = [&[0, 1, 2], &[0, 2], &[0, 1, 2], &[3, 4, 5], &[3, 5], &[0, 3, 4, 5]];
    let x = Matrix::from(Csr::from_rows(6, documents.map(|terms| terms.iter().map(|&t| (t, 1.0)).collect())));
    let labels = Labels::from_single(["c1", "c1", "c1", "c2", "c2", "c2"].map(Some));
    let (model, rows) = fixed(2, 1).fit(&x, &Target::new(&labels), &run()).unwrap();
    let expected = [
        [1.10, 0.74, 1.04, -0.02, 0.02, -0.02],
        [0.90, 0.60, 0.84, 0.01, 0.03, 0.01],
        [1.10, 0.74, 1.04, -0.02, 0.02, -0.02],
        [0.27, -0.08, -0.11, 1.03, 0.74, 1.03],
        [0.21, -0.07, -0.09, 0.83, 0.60, 0.83],
        [0.60, 0.12, 0.18, 1.10, 0.80, 1.10],
    ];
    for (i, expected) in expected.iter().enumerate() {
        for (j, expected) in expected.iter().enumerate() {
            let found: f32 = rows.row(i).dense.iter().zip(model.basis().row(j)).map(|(a, b)| a * b).sum();
            assert!((found - expected).abs() < 0.0051, "{i} {j}: {found} {expected}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn inner_products_are_those_of_the_written_out_approximation(
        rows in 14usize..40, cols in 8usize..30, seed in 0u64..1000, rank in 2usize..5,
        sprinkled in proptest::collection::vec(0usize..9, 3),
    ) {
        let x = Matrix::from(random_sparse(rows, cols, seed));
        let labels = labelled(rows);
        let params = SprinkleParams { sprinkled: Some(sprinkled.clone()), ..fixed(rank, 0) };
        let (model, z) = params.fit(&x, &Target::new(&labels), &run()).unwrap();
        let approximation = explicit(&x, &labels, &sprinkled, rank).0;
        let (test, real) = (model.transform(&x, &run()).unwrap(), written_out(&x));
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        for i in 0..rows {
            let plain: Vec<f64> = real.row(i).iter().map(|&v| f64::from(v)).collect();
            prop_assert!((test.row(i).norm_squared() - product(&plain, &plain)).abs() < 1e-4);
            for j in 0..rows {
                let within = product(&approximation[i], &approximation[j]);
                prop_assert!((z.row(i).inner(&z.row(j)) - within).abs() < 2e-3, "{} {}", i, j);
                let across = product(&plain, &approximation[j]);
                prop_assert!((test.row(i).inner(&z.row(j)) - across).abs() < 2e-3, "{} {}", i, j);
            }
        }
        let errors = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j)));
        let squares: f64 = errors.map(|(i, j)| (f64::from(real.row(i)[j]) - approximation[i][j]).powi(2)).sum();
        let found = model.mean_square_distortion(&x, &z, &run()).unwrap();
        prop_assert!((found - squares / (rows * cols) as f64).abs() < 1e-4);
    }
}

#[test]
fn folding_in_takes_a_document_through_the_decomposition() {
    let x = Matrix::from(random_sparse(30, 20, 4));
    let unlabelled = Labels::from_single(vec![None::<&str>; 30]);
    let params = SprinkleParams { fold_in: true, ..fixed(5, 3) };
    // Without labels the decomposition is plain, so a folded-in training document is its own training row.
    let (model, rows) = params.fit(&x, &Target::new(&unlabelled), &run()).unwrap();
    let folded = model.transform(&x, &run()).unwrap();
    assert_eq!(folded.cols(), 5);
    for (a, b) in rows.dense().values().iter().zip(folded.dense().values()) {
        assert!((a - b).abs() < 1e-4, "{a} {b}");
    }
    // With labels it is x V' V'ᵀ.
    let (model, _) = params.fit(&x, &Target::new(&labelled(30)), &run()).unwrap();
    let folded = model.transform(&x, &run()).unwrap();
    let found = folded.dense().matmul_transposed(model.basis()).unwrap();
    let expected = explicit(&x, &labelled(30), &[3; 3], 5).1;
    for (i, expected) in expected.iter().enumerate() {
        for (found, expected) in found.row(i).iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-3, "{found} {expected}");
        }
    }
}

#[test]
fn an_approximation_that_would_not_fit_is_never_built() {
    // 100 000 × 300 000 entries would take 120 GB.
    let (rows, cols) = (100_000u32, 300_000u32);
    let sparse = Csr::from_rows(
        cols as usize,
        (0..rows).map(|row| {
            let first = (row % 4) * 75_000 + row * 7 % 1000;
            vec![(first, 1.0), (first + 1 + row % 50, 1.0), (first + 2000 + row * 13 % 70_000, 1.0)]
        }),
    );
    let x = Matrix::from(sparse);
    let labels = Labels::from_single((0..rows).map(|row| Some(["a", "b", "c", "d"][(row % 4) as usize])));
    let (model, rows) = fixed(4, 4).fit(&x, &Target::new(&labels), &run()).unwrap();
    assert_eq!((rows.rows(), rows.cols(), model.rank()), (100_000, 5, 4));
}

#[test]
fn the_store_gives_back_the_same_and_threads_do_not_matter() {
    let x = Matrix::from(random_sparse(700, 600, 8));
    let labels = labelled(700);
    let (model, rows) = fixed(9, 4).fit(&x, &Target::new(&labels), &run()).unwrap();
    assert_eq!(round_trip(|out| model.save(out).unwrap(), SprinkleModel::load).unwrap(), model);
    for threads in [2, 8] {
        let run = Run::new(42, threads).unwrap();
        assert_eq!(fixed(9, 4).fit(&x, &Target::new(&labels), &run).unwrap(), (model.clone(), rows.clone()));
    }
}

#[test]
fn sprinkling_separates_classes_and_more_terms_distort_the_matrix_more() {
    let x = Matrix::from(random_sparse(140, 60, 6));
    let labels = Labels::from_single((0..140).map(|row| Some(if row % 7 < 3 { "a" } else { "b" })));
    let points = sprinkle_curve(&x, &labels, 6, &[0, 1, 4, 16], &run()).unwrap();
    assert!(points[1..].iter().all(|p| p.within_over_between < points[0].within_over_between), "{points:?}");
    assert!(points.windows(2).all(|p| p[0].mean_square_distortion < p[1].mean_square_distortion), "{points:?}");
}

#[test]
fn what_is_confused_gets_more_terms_and_every_auto_is_found_without_a_recipe() {
    let confusion = vec![vec![8, 2, 0], vec![2, 8, 0], vec![1, 0, 9]];
    assert_eq!(sprinkled_terms(&confusion, 8).unwrap(), [10, 8, 2]);
    // Classes b and a look alike and are confused with each other; c is by itself. Names are not in order.
    let names = ["b", "c", "a"].map(String::from).to_vec();
    let ids: Vec<u32> = (0..90).map(|row| row % 3).collect();
    let labels = Labels::from_ids(names, &ids).unwrap();
    let words = |row: u32| {
        let own = if row % 3 == 1 { 10 } else { 0 };
        let mut words: Vec<u32> = (0..3).map(|k| own + (row * 7 + k * 5 + row / 3) % 8).collect();
        words.sort_unstable();
        words.dedup();
        words.into_iter().map(|word| (word, 1.0)).collect()
    };
    let x = Matrix::from(Csr::from_rows(20, (0..90).map(words)));
    for msl in [Auto::Value(8), Auto::Auto] {
        let params = SprinkleParams { rank: 4, msl, ..Default::default() };
        let (model, rows) = params.fit(&x, &Target::new(&labels), &run()).unwrap();
        let terms = model.sprinkled();
        assert!(terms[1] <= terms[0] && terms[1] <= terms[2], "{terms:?}");
        // With what was found it is the same fit without asking anybody.
        let again = params.resolved(&model);
        assert!(!again.asks_judge());
        assert_eq!(again.fit(&x, &Target::new(&labels), &run()).unwrap().1, rows);
    }
    let few = labels.only(&[0, 1, 2]);
    let error = SprinkleParams::default().fit(&x, &Target::new(&few), &run()).unwrap_err();
    assert!(error.to_string().contains("too few labelled documents"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let x = Matrix::from(random_sparse(30, 20, 4));
    assert!(fixed(0, 1).fit(&x, &Target::new(&labelled(30)), &run()).is_err());
    assert!(fixed(2, 2_000_000).fit(&x, &Target::new(&labelled(30)), &run()).is_err());
    assert!(fixed(2, 1).fit(&x, &Target::new(&labelled(29)), &run()).is_err());
    let wrong = SprinkleParams { sprinkled: Some(vec![1]), ..fixed(2, 1) };
    assert!(wrong.fit(&x, &Target::new(&labelled(30)), &run()).is_err());
    let zeros = Matrix::from(Csr::empty(30, 4));
    assert!(fixed(2, 1).fit(&zeros, &Target::new(&labelled(30)), &run()).unwrap_err().to_string().contains("zeros"));
    let (model, rows) = fixed(2, 1).fit(&x, &Target::new(&labelled(30)), &run()).unwrap();
    assert!(model.transform(&Matrix::from(Csr::empty(1, 21)), &run()).is_err());
    assert!(model.mean_square_distortion(&Matrix::from(Csr::empty(3, 20)), &rows, &run()).is_err());
}
