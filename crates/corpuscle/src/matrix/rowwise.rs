//! Products of some rows with a small matrix in which no row knows of the others: a document has the same bits alone, in a
//! batch, and in whichever batch.
//!
//! A general matrix product does not promise that: faer, as others, takes one row by another path than sixty-four, and their
//! last bits differ. Here every entry is one sum in one order. `left · factor` adds term after term; `left · factorᵀ` adds in
//! sixteen lanes, which are then added in a fixed order. Rows go four at a time, so that each load from `factor` is used four
//! times. O(rows · inner · columns), all in registers but the loads.

use std::ops::Range;

use rayon::prelude::*;

use super::Dense;
use crate::Result;

/// Rows that go together.
const ROWS: usize = 4;
/// Columns, or lanes of one sum, that are worked on at once: two registers of eight.
const WIDTH: usize = 16;

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
    let width = factor.cols();
    let to = to.values_mut();
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            // A panel of columns stays in the first cache while all rows pass it.
            for first in (0..width).step_by(WIDTH) {
                let columns = first..width.min(first + WIDTH);
                let mut row = 0;
                while row + ROWS <= left.rows() {
                    let sums = panel::<ROWS>(std::array::from_fn(|at| left.row(row + at)), factor, columns.clone());
                    for (at, sums) in sums.iter().enumerate() {
                        store(to, width, row + at, &columns, sums);
                    }
                    row += ROWS;
                }
                for row in row..left.rows() {
                    let sums = panel::<1>([left.row(row)], factor, columns.clone());
                    store(to, width, row, &columns, &sums[0]);
                }
            }
        },
    );
}

/// `to = left · factorᵀ`, likewise.
pub(crate) fn multiply_transposed_into(left: &Dense, factor: &Dense, to: &mut Dense) {
    let width = factor.rows();
    let to = to.values_mut();
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            // So do a few rows of `factor` here.
            for first in (0..width).step_by(WIDTH) {
                let columns = first..width.min(first + WIDTH);
                let mut row = 0;
                while row + ROWS <= left.rows() {
                    let rows: [&[f32]; ROWS] = std::array::from_fn(|at| left.row(row + at));
                    for column in columns.clone() {
                        let sums = dots(rows, factor.row(column));
                        sums.iter().enumerate().for_each(|(at, &sum)| to[(row + at) * width + column] = sum);
                    }
                    row += ROWS;
                }
                for row in row..left.rows() {
                    for column in columns.clone() {
                        [to[row * width + column]] = dots([left.row(row)], factor.row(column));
                    }
                }
            }
        },
    );
}

/// Writes some columns of a row of a matrix with `width` columns.
#[inline(always)]
fn store(to: &mut [f32], width: usize, row: usize, columns: &Range<usize>, sums: &[f32; WIDTH]) {
    to[row * width + columns.start..row * width + columns.end].copy_from_slice(&sums[..columns.len()]);
}

/// The products of some rows with at most [`WIDTH`] columns of `factor`.
#[inline(always)]
fn panel<const N: usize>(rows: [&[f32]; N], factor: &Dense, columns: Range<usize>) -> [[f32; WIDTH]; N] {
    let mut sums = [[0f32; WIDTH]; N];
    let whole = columns.len() == WIDTH;
    for inner in 0..factor.rows() {
        let from = &factor.row(inner)[columns.clone()];
        let mut values = [0f32; WIDTH];
        if whole {
            values.copy_from_slice(from);
        } else {
            values[..from.len()].copy_from_slice(from);
        }
        for (sums, row) in sums.iter_mut().zip(rows) {
            let factor = row[inner];
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = factor.mul_add(value, *sum));
        }
    }
    sums
}

/// The inner products of some rows with another.
#[inline(always)]
fn dots<const N: usize>(rows: [&[f32]; N], other: &[f32]) -> [f32; N] {
    let mut sums = [[0f32; WIDTH]; N];
    let whole = other.len() - other.len() % WIDTH;
    for from in (0..whole).step_by(WIDTH) {
        let values = &other[from..from + WIDTH];
        for (sums, row) in sums.iter_mut().zip(rows) {
            let row = &row[from..from + WIDTH];
            sums.iter_mut().zip(row).zip(values).for_each(|((sum, a), b)| *sum = a.mul_add(*b, *sum));
        }
    }
    for (sums, row) in sums.iter_mut().zip(rows) {
        let rest = row[whole..other.len()].iter().zip(&other[whole..]);
        sums.iter_mut().zip(rest).for_each(|(sum, (a, b))| *sum = a.mul_add(*b, *sum));
    }
    sums.map(|lanes| {
        let eight: [f32; 8] = std::array::from_fn(|lane| lanes[lane] + lanes[lane + 8]);
        let four: [f32; 4] = std::array::from_fn(|lane| eight[lane] + eight[lane + 4]);
        (four[0] + four[2]) + (four[1] + four[3])
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_right_and_have_the_same_bits_alone(
            rows in 1usize..11, inner in 0usize..40, columns in 1usize..40, seed in 0u64..1000,
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
                    prop_assert!((f64::from(plain.row(row)[column]) - exact).abs() < 1e-5);
                    prop_assert!((f64::from(turned.row(row)[column]) - exact).abs() < 1e-5);
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
