//! The nearest rows of a matrix, exactly, with a first pass over eight bits.
//!
//! Dense rows are also kept in a byte a value with a scale for each row, a quarter of the memory to walk through. With x̂ the row as
//! kept, |q·x − q·x̂| ≤ ‖q‖ ‖x − x̂‖, and ‖x − x̂‖ is known for each row; the k-th largest lower bound is a threshold, and every row
//! whose upper bound reaches it is scored again in full. So the result is that of a full scan. Rows with a sparse part are scanned in full.
//! O(rows · columns) bytes for a query.

use rayon::prelude::*;

use crate::matrix::{Codes, Matrix, Row};
use crate::wide::wide;
use crate::{Result, Run};

/// Rows that one thread takes at a time.
const CHUNK: usize = 4096;
/// What sums in `f32` may be off by, for unit rows of up to 10⁵ columns; far above what is seen.
const ROUNDING: f32 = 1e-4;
/// Sums side by side.
const LANES: usize = 16;

/// Rows of unit length, ready to be searched.
#[derive(Debug, Clone)]
pub struct Nearest {
    rows: Matrix,
    codes: Option<(Codes, Vec<f32>)>,
}

impl Nearest {
    /// Takes the rows and brings them to unit length; a row of zeros stays one.
    pub fn new(mut rows: Matrix) -> Self {
        rows.normalize_rows();
        Self::of_unit_rows(rows)
    }

    /// Takes rows of unit length as they are, to the last bit.
    pub(super) fn of_unit_rows(rows: Matrix) -> Self {
        let plain = rows.sparse().nnz() == 0 && rows.negative() == 0 && rows.dense().cols() > 0;
        let codes = plain.then(|| {
            let codes = Codes::of(rows.dense());
            let off = |row: usize| {
                let (scale, bytes) = codes.row(row);
                let exact = rows.dense().row(row);
                let square =
                    |(&exact, &byte): (&f32, &i8)| (f64::from(exact) - f64::from(scale * f32::from(byte))).powi(2);
                // Rounded up, since it is a bound.
                exact.iter().zip(bytes).map(square).sum::<f64>().sqrt() as f32 * 1.000_001
            };
            let errors: Vec<f32> = (0..rows.rows()).into_par_iter().map(off).collect();
            (codes, errors)
        });
        Nearest { rows, codes }
    }

    /// The rows at unit length.
    pub fn rows(&self) -> &Matrix {
        &self.rows
    }

    /// The `count` nearest rows of a row of unit length: cosine and row, best first; of equal ones the first row.
    pub fn of(&self, query: &Row<'_>, count: usize, run: &Run) -> Result<Vec<(f64, usize)>> {
        run.check()?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let all = self.rows.rows();
        let candidates: Vec<usize> = match &self.codes {
            Some((codes, errors)) if count < all => {
                let mut dense = vec![0f32; self.rows.cols()];
                query.add_to(1.0, &mut dense);
                let chunks: Vec<Vec<f32>> = run.install(|| {
                    let of = |start: usize| rough(codes, start..all.min(start + CHUNK), &dense);
                    (0..all).into_par_iter().step_by(CHUNK).map(of).collect()
                });
                let rough = chunks.concat();
                let mut lower: Vec<f32> = rough.iter().zip(errors).map(|(cosine, error)| cosine - error).collect();
                let (_, &mut threshold, _) = lower.select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a));
                let reaches = |&row: &usize| rough[row] + errors[row] + ROUNDING >= threshold - ROUNDING;
                (0..all).filter(reaches).collect()
            }
            _ => (0..all).collect(),
        };
        let score = |&row: &usize| (self.rows.row(row).inner(query), row);
        let mut found: Vec<(f64, usize)> = run.install(|| candidates.par_iter().map(score).collect());
        let order = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if count < found.len() {
            found.select_nth_unstable_by(count - 1, order);
            found.truncate(count);
        }
        found.sort_unstable_by(order);
        Ok(found)
    }
}

/// Products of rows in eight bits with a vector, in sixteen sums side by side, which the processor does at once.
fn rough(codes: &Codes, rows: std::ops::Range<usize>, vector: &[f32]) -> Vec<f32> {
    wide(
        #[inline(always)]
        || {
            let of = |row: usize| {
                let (scale, bytes) = codes.row(row);
                let mut sums = [0f32; LANES];
                let (whole, rest) = bytes.as_chunks::<LANES>();
                let (values, last) = vector.as_chunks::<LANES>();
                for (bytes, values) in whole.iter().zip(values) {
                    for lane in 0..LANES {
                        sums[lane] += f32::from(bytes[lane]) * values[lane];
                    }
                }
                let rest: f32 = rest.iter().zip(last).map(|(&byte, value)| f32::from(byte) * value).sum();
                scale * (sums.iter().sum::<f32>() + rest)
            };
            rows.clone().map(of).collect()
        },
    )
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::matrix::Dense;

    #[test]
    fn the_first_pass_in_eight_bits_loses_nothing() {
        let run = Run::new(3, 2).unwrap();
        for (rows, cols) in [(1, 1), (50, 3), (3000, 32)] {
            let mut rng = run.rng(rows as u64);
            // Many near ties: values of few levels.
            let values: Vec<f32> = (0..rows * cols).map(|_| (rng.random::<f32>() * 4.0).round() - 2.0).collect();
            let nearest = Nearest::new(Matrix::from(Dense::new(rows, cols, values).unwrap()));
            for query in 0..rows.min(20) {
                for count in [1, 7, rows] {
                    let found = nearest.of(&nearest.rows().row(query), count, &run).unwrap();
                    let mut full: Vec<(f64, usize)> =
                        (0..rows).map(|row| (nearest.rows().row(row).inner(&nearest.rows().row(query)), row)).collect();
                    full.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                    full.truncate(count);
                    assert_eq!(found, full, "{rows} x {cols}, {query}, {count}");
                }
            }
        }
    }
}
