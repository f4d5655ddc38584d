//! Products of some rows with a small matrix in which no row knows of the others: a document has the same bits alone, in a
//! batch, and in whichever batch.
//!
//! A general matrix product does not promise that: faer, as others, takes one row by another path than sixty-four, and their
//! last bits differ. So every product is one of exactly [`BATCH`] rows, the last filled up with zeros: of the same shape every entry is the
//! same sum in the same order, wherever its row stands, which the tests hold faer to. One row costs as much as a batch (a quarter of a
//! millisecond for a layer of 200 × 1000); tried before: kernels of our own, in plain Rust a tenth as fast as faer.

use corpuscle_dense::Real;
use faer::{Accum, MatMut, MatRef};
use rayon::prelude::*;

use super::Dense;
use crate::Result;

/// Rows of every product.
const BATCH: usize = 32;

/// Rows of a task.
const BLOCK: usize = 256;

/// `left · factor`, parallel over rows.
pub(crate) fn multiply(left: &Dense, factor: &Dense) -> Result<Dense> {
    in_blocks(left, factor.cols(), |block, to| multiply_into(block, factor, to))
}

/// `left · factorᵀ`, parallel over rows.
pub(crate) fn multiply_transposed(left: &Dense, factor: &Dense) -> Result<Dense> {
    in_blocks(left, factor.rows(), |block, to| multiply_transposed_into(block, factor, to))
}

fn in_blocks(left: &Dense, width: usize, multiply: impl Fn(&Dense, &mut Dense) + Sync) -> Result<Dense> {
    let (rows, from) = (left.rows(), left.cols());
    let block = |first: usize| {
        let count = BLOCK.min(rows - first);
        let part = Dense::new(count, from, left.values()[first * from..(first + count) * from].to_vec())?;
        let mut to = Dense::zeros(count, width);
        multiply(&part, &mut to);
        Ok(to.into_values())
    };
    let blocks: Result<Vec<Vec<f32>>> = (0..rows.div_ceil(BLOCK)).into_par_iter().map(|n| block(n * BLOCK)).collect();
    Dense::new(rows, width, blocks?.concat())
}

/// `to = left · factor` on one thread, for blocks of rows that are shared out already.
pub(crate) fn multiply_into(left: &Dense, factor: &Dense, to: &mut Dense) {
    in_batches(left, factor.as_faer(), to);
}

/// `to = left · factorᵀ`, likewise.
pub(crate) fn multiply_transposed_into(left: &Dense, factor: &Dense, to: &mut Dense) {
    in_batches(left, factor.as_faer().transpose(), to);
}

fn in_batches(left: &Dense, factor: MatRef<'_, f32>, to: &mut Dense) {
    let (rows, inner, width) = (left.rows(), factor.nrows(), factor.ncols());
    if inner == 0 || width == 0 {
        return to.values_mut().fill(0.0);
    }
    let whole = rows - rows % BATCH;
    let (full, rest) = to.values_mut().split_at_mut(whole * width);
    for (left, to) in
        left.values()[..whole * inner].chunks_exact(BATCH * inner).zip(full.chunks_exact_mut(BATCH * width))
    {
        batch(left, factor, to);
    }
    if !rest.is_empty() {
        let mut padded = vec![0f32; BATCH * inner];
        padded[..(rows - whole) * inner].copy_from_slice(&left.values()[whole * inner..]);
        let mut product = vec![0f32; BATCH * width];
        batch(&padded, factor, &mut product);
        rest.copy_from_slice(&product[..rest.len()]);
    }
}

/// Exactly [`BATCH`] rows.
fn batch(left: &[f32], factor: MatRef<'_, f32>, to: &mut [f32]) {
    let left = MatRef::from_row_major_slice(left, BATCH, factor.nrows());
    let to = MatMut::from_row_major_slice_mut(to, BATCH, factor.ncols());
    f32::matmul(to, Accum::Replace, left, factor, 1.0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn rows_are_right_and_have_the_same_bits_alone(
            rows in 1usize..80, inner in 0usize..700, columns in 1usize..90, seed in 0u64..1000,
        ) {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as f32 / 8_388_608.0 - 1.0
            };
            let mut made = |rows: usize, columns: usize| {
                Dense::new(rows, columns, (0..rows * columns).map(|_| next()).collect::<Vec<f32>>()).unwrap()
            };
            let (left, factor) = (made(rows, inner), made(inner, columns));
            let (mut plain, mut turned) = (Dense::zeros(rows, columns), Dense::zeros(rows, columns));
            multiply_into(&left, &factor, &mut plain);
            multiply_transposed_into(&left, &factor.transpose(), &mut turned);
            for row in 0..rows {
                for column in 0..columns {
                    let exact: f64 =
                        (0..inner).map(|at| f64::from(left.row(row)[at]) * f64::from(factor.row(at)[column])).sum();
                    prop_assert!((f64::from(plain.row(row)[column]) - exact).abs() < 1e-4);
                    prop_assert!((f64::from(turned.row(row)[column]) - exact).abs() < 1e-4);
                }
                let one = Dense::new(1, inner, left.row(row).to_vec()).unwrap();
                let (mut alone, mut turned_alone) = (Dense::zeros(1, columns), Dense::zeros(1, columns));
                multiply_into(&one, &factor, &mut alone);
                multiply_transposed_into(&one, &factor.transpose(), &mut turned_alone);
                prop_assert_eq!(alone.row(0), plain.row(row));
                prop_assert_eq!(turned_alone.row(0), turned.row(row));
            }
        }
    }
}
