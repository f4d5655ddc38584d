use super::*;
use crate::matrix::Csr;
use proptest::prelude::*;

/// About a tenth of the entries of a random matrix whose singular values fall slowly.
pub(crate) fn random_sparse(rows: usize, cols: usize, seed: u64) -> Csr {
    let mut rng = Run::new(seed, 1).unwrap().rng(1);
    let mut next = move || (rng.next_u32() >> 8) as f32 / 16_777_216.0;
    let rows: Vec<Vec<(u32, f32)>> = (0..rows)
        .map(|row| {
            let topic = row % 7;
            (0..cols as u32)
                .filter_map(|column| {
                    let likely = if column as usize % 7 == topic { 0.4 } else { 0.06 };
                    (next() < likely).then(|| (column, next() + 0.1))
                })
                .collect()
        })
        .collect();
    Csr::from_rows(cols, rows)
}

fn written_out(x: &Matrix) -> Dense {
    let mut dense = Dense::zeros(x.rows(), x.cols());
    for row in 0..x.rows() {
        x.row(row).for_each(|column, value| dense.row_mut(row)[column] = value);
    }
    dense
}

fn exact_singular_values(x: &Dense) -> Vec<f64> {
    let wide = faer::Mat::<f64>::from_fn(x.rows(), x.cols(), |i, j| f64::from(x.row(i)[j]));
    wide.singular_values().unwrap()
}

fn orthonormality_error(vectors: &Dense, negative: usize) -> f64 {
    let gram = transposed_product(vectors, vectors, negative);
    let mut worst = 0.0f64;
    for i in 0..vectors.cols() {
        for j in 0..vectors.cols() {
            worst = worst.max((gram.row(i)[j] - f64::from(u8::from(i == j))).abs());
        }
    }
    worst
}

#[test]
fn krylov_values_equal_those_of_a_dense_solver() {
    for (rows, cols) in [(700, 900), (900, 700)] {
        let x = Matrix::from(random_sparse(rows, cols, 3));
        let svd = truncated_svd(&x, 24, 0, &Run::new(1, 2).unwrap()).unwrap();
        let exact = exact_singular_values(&written_out(&x));
        assert_eq!(svd.singular_values.len(), 24);
        for (at, (found, exact)) in svd.singular_values.iter().zip(&exact).enumerate() {
            let allowed = if at < 12 { 1e-3 } else { 3e-2 };
            assert!((found / exact - 1.0).abs() < allowed, "{at}: {found} {exact}");
        }
        assert!(orthonormality_error(&svd.vectors, 0) < 1e-5);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let x = Matrix::from(random_sparse(1500, 700, 5));
    let one = truncated_svd(&x, 10, 4, &Run::new(1, 1).unwrap()).unwrap();
    for threads in [2, 8] {
        assert_eq!(truncated_svd(&x, 10, 4, &Run::new(1, threads).unwrap()).unwrap(), one);
    }
    let other = truncated_svd(&x, 10, 4, &Run::new(2, 1).unwrap()).unwrap();
    assert_ne!(other.vectors, one.vectors);
}

#[test]
fn repeated_and_missing_singular_values_are_found() {
    // Five hundred singular values of 1: a Krylov space of sixteen random vectors alone would find sixteen.
    let identity = Matrix::from(Csr::from_rows(500, (0..500).map(|i| vec![(i, 1.0)])));
    let svd = truncated_svd(&identity, 40, 8, &Run::new(1, 1).unwrap()).unwrap();
    assert_eq!(svd.singular_values.len(), 40);
    assert!(svd.singular_values.iter().all(|s| (s - 1.0).abs() < 1e-5));
    // Rank 2, asked for 10.
    let thin = Matrix::from(Csr::from_rows(400, (0..600).map(|i| vec![(i % 2, 1.0 + (i % 3) as f32)])));
    for steps in [0, 3] {
        let svd = truncated_svd(&thin, 10, steps, &Run::new(1, 1).unwrap()).unwrap();
        assert_eq!(svd.singular_values.len(), 2, "{:?}", svd.singular_values);
    }
    let nothing = Matrix::from(Csr::empty(4, 3));
    assert!(truncated_svd(&nothing, 2, 0, &Run::new(1, 1).unwrap()).unwrap().singular_values.is_empty());
    let nobody = Matrix::from(Csr::empty(0, 3));
    assert!(truncated_svd(&nobody, 2, 0, &Run::new(1, 1).unwrap()).unwrap().singular_values.is_empty());
}

#[test]
fn columns_that_count_negatively_act_as_the_written_out_projection() {
    // x̃ = x − V Vᵀx with V = the first two unit vectors turned by 30 degrees.
    let (c, s) = (0.866_025_4_f32, 0.5_f32);
    let sparse = random_sparse(300, 40, 9);
    let mut along = Dense::zeros(300, 1);
    let mut plain = written_out(&Matrix::from(sparse.clone()));
    for row in 0..300 {
        let a = c * plain.row(row)[0] + s * plain.row(row)[1];
        along.row_mut(row)[0] = a;
        plain.row_mut(row)[0] -= c * a;
        plain.row_mut(row)[1] -= s * a;
    }
    let projected = Matrix::new(sparse, along, 1).unwrap();
    let run = Run::new(1, 1).unwrap();
    let svd = truncated_svd(&projected, 12, 0, &run).unwrap();
    let expected = truncated_svd(&Matrix::from(plain), 12, 0, &run).unwrap();
    for (a, b) in svd.singular_values.iter().zip(&expected.singular_values) {
        assert!((a / b - 1.0).abs() < 1e-5, "{a} {b}");
    }
    assert!(orthonormality_error(&svd.vectors, 1) < 1e-4);
    for (a, b) in svd.rows.values().iter().zip(expected.rows.values()) {
        assert!((a.abs() - b.abs()).abs() < 1e-2, "{a} {b}");
    }
}

#[test]
fn what_is_not_finite_is_refused() {
    let x = Matrix::from(Csr::from_rows(2, [vec![(0, f32::INFINITY)], vec![(1, 1.0)]]));
    assert!(truncated_svd(&x, 1, 0, &Run::new(1, 1).unwrap()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn small_matrices_are_decomposed_exactly(rows in 1usize..30, cols in 1usize..30, seed in 0u64..1000) {
        let x = Matrix::from(random_sparse(rows, cols, seed));
        let exact = exact_singular_values(&written_out(&x));
        let svd = truncated_svd(&x, 30, 0, &Run::new(1, 1).unwrap()).unwrap();
        for (found, exact) in svd.singular_values.iter().zip(&exact) {
            prop_assert!((found - exact).abs() < 1e-5 * exact.max(1.0), "{} {}", found, exact);
        }
        prop_assert!(orthonormality_error(&svd.vectors, 0) < 1e-4);
        let rebuilt = svd.rows.matmul_transposed(&svd.vectors).unwrap();
        for (a, b) in rebuilt.values().iter().zip(written_out(&x).values()) {
            prop_assert!((a - b).abs() < 1e-4, "{} {}", a, b);
        }
    }
}
