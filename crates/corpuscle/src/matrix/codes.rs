//! Dense matrices in eight bits a value: each row has a scale of its own, an entry is code · scale.
//!
//! scale = max |value| / 127 and code = round(value / scale), so that no entry is off by more than half a scale. A quarter
//! of the size of `f32`, in the file and in memory: the kernels below widen codes on the way into registers.
//!
//! ```
//! use corpuscle::matrix::{Codes, Dense};
//! let exact = Dense::from_rows(&[[0.5, -1.27], [0.0, 0.0]]);
//! let codes = Codes::of(&exact);
//! assert_eq!(codes.row(0).1, [50, -127]);
//! assert!((codes.widened().row(0)[0] - 0.5).abs() < 0.005);
//! ```

use rayon::prelude::*;

use super::Dense;
use crate::store::{StoreReader, StoreWriter};
use crate::wide::wide;
use crate::{Error, Precision, Result};

/// The largest code; −128 is not used, so that every row is symmetric.
const LARGEST: f32 = 127.0;

/// Values from which on a table is kept in eight bits: below a megabyte there is nothing to save.
pub(crate) const WORTH_CODING: usize = 1 << 18;

/// A dense matrix in eight bits a value with a scale for each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Codes {
    cols: usize,
    scales: Vec<f32>,
    codes: Vec<i8>,
}

impl Codes {
    /// The nearest codes of finite values.
    pub fn of(matrix: &Dense) -> Self {
        let cols = matrix.cols();
        let mut codes = vec![0i8; matrix.values().len()];
        let mut scales = vec![0f32; matrix.rows()];
        codes.par_chunks_mut(cols.max(1)).zip(&mut scales).enumerate().for_each(|(row, (codes, scale))| {
            let values = matrix.row(row);
            let largest = values.iter().fold(0f32, |largest, value| largest.max(value.abs()));
            *scale = largest / LARGEST;
            // A row so small that its scale has no reciprocal is 0.
            let inverse = if *scale > f32::MIN_POSITIVE { 1.0 / *scale } else { 0.0 };
            codes.iter_mut().zip(values).for_each(|(code, value)| *code = (value * inverse).round() as i8);
        });
        Codes { cols, scales, codes }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.scales.len()
    }

    /// Columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The scale of a row and its codes.
    pub fn row(&self, row: usize) -> (f32, &[i8]) {
        (self.scales[row], &self.codes[row * self.cols..(row + 1) * self.cols])
    }

    /// The matrix in 32 bits a value.
    pub fn widened(&self) -> Dense {
        let mut wide = Dense::zeros(self.rows(), self.cols);
        for row in 0..self.rows() {
            let (scale, codes) = self.row(row);
            wide.row_mut(row).iter_mut().zip(codes).for_each(|(to, &code)| *to = scale * f32::from(code));
        }
        wide
    }

    /// `out += Σ value · row(column)` over the stored entries of a sparse row.
    pub fn add_rows(&self, columns: &[u32], values: &[f32], out: &mut [f32]) {
        wide(
            #[inline(always)]
            || {
                for (&column, &value) in columns.iter().zip(values) {
                    let (scale, codes) = self.row(column as usize);
                    let factor = value * scale;
                    out.iter_mut().zip(codes).for_each(|(to, &code)| *to += factor * f32::from(code));
                }
            },
        );
    }

    /// The inner product of a row with `vector`.
    pub fn dot(&self, row: usize, vector: &[f32]) -> f32 {
        let (scale, codes) = self.row(row);
        scale * codes.iter().zip(vector).map(|(&code, value)| f32::from(code) * value).sum::<f32>()
    }

    /// Puts the matrix into a store under `name`.
    pub fn save(&self, name: &str, out: &mut StoreWriter) {
        out.put_i8(name, &[self.rows(), self.cols], &self.codes);
        out.put_f32(&format!("{name}.scales"), &[self.rows()], &self.scales);
    }

    /// Takes a matrix out of a store; `None` leaves an extent open.
    pub fn load(store: &StoreReader<'_>, name: &str, rows: Option<usize>, cols: Option<usize>) -> Result<Self> {
        let (codes, shape) = store.i8s(name, &[rows, cols])?;
        let (scales, _) = store.f32s(&format!("{name}.scales"), &[Some(shape[0])])?;
        if scales.iter().any(|&scale| scale < 0.0) {
            return Err(Error::model(format!("array `{name}.scales` holds a negative scale")));
        }
        Ok(Codes { cols: shape[1], scales, codes })
    }
}

/// A matrix that products want in 32 bits; in the file it is codes, unless every bit is to be kept. Its values are those the codes say, so
/// that a model does the same before it is saved and after.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    wide: Dense,
    /// The scale of each row, where values are multiples of it.
    scales: Option<Vec<f32>>,
}

impl Table {
    /// In codes, which the values are rounded to, or with every bit.
    pub(crate) fn new(matrix: Dense, exact: bool) -> Self {
        if exact {
            return Table { wide: matrix, scales: None };
        }
        Table::of(Codes::of(&matrix))
    }

    /// As a model of this precision keeps a matrix that is wide: below [`WORTH_CODING`] values with every bit in any case.
    pub(crate) fn at(matrix: Dense, precision: Precision) -> Self {
        let exact = precision == Precision::Full || matrix.values().len() < WORTH_CODING;
        Table::new(matrix, exact)
    }

    /// Whether every bit is kept.
    pub(crate) fn is_exact(&self) -> bool {
        self.scales.is_none()
    }

    fn of(codes: Codes) -> Self {
        Table { wide: codes.widened(), scales: Some(codes.scales) }
    }

    /// The values without the scales.
    pub(crate) fn into_wide(self) -> Dense {
        self.wide
    }

    /// The values.
    pub(crate) fn wide(&self) -> &Dense {
        &self.wide
    }

    /// Puts the matrix into a store under `name`.
    pub(crate) fn save(&self, name: &str, out: &mut StoreWriter) {
        let Some(scales) = &self.scales else { return self.wide.save(name, out) };
        let mut codes = vec![0i8; self.wide.values().len()];
        for (row, codes) in codes.chunks_mut(self.wide.cols().max(1)).enumerate() {
            // The quotient is a whole number but for one rounding.
            let code =
                |value: &f32| if scales[row] > f32::MIN_POSITIVE { (value / scales[row]).round() as i8 } else { 0 };
            codes.iter_mut().zip(self.wide.row(row)).for_each(|(to, value)| *to = code(value));
        }
        Codes { cols: self.wide.cols(), scales: scales.clone(), codes }.save(name, out);
    }

    /// Takes a matrix out of a store, however it was put there.
    pub(crate) fn load(store: &StoreReader<'_>, name: &str, rows: Option<usize>, cols: Option<usize>) -> Result<Self> {
        if store.has(&format!("{name}.scales")) {
            return Ok(Table::of(Codes::load(store, name, rows, cols)?));
        }
        Ok(Table { wide: Dense::load(store, name, rows, cols)?, scales: None })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::tests::round_trip;

    proptest! {
        #[test]
        fn no_entry_is_off_by_more_than_half_a_scale(values in prop::collection::vec(-1e6f32..1e6, 12)) {
            let exact = Dense::new(3, 4, values).unwrap();
            let codes = Codes::of(&exact);
            let wide = codes.widened();
            for row in 0..3 {
                for (a, b) in exact.row(row).iter().zip(wide.row(row)) {
                    prop_assert!((a - b).abs() <= 0.5001 * codes.row(row).0);
                }
                let direct: f32 = wide.row(row).iter().sum();
                prop_assert!((codes.dot(row, &[1.0; 4]) - direct).abs() <= 1e-5 * 4e6);
            }
            let back = round_trip(|out| codes.save("m", out), |store| Codes::load(store, "m", Some(3), None)).unwrap();
            prop_assert_eq!(&back, &codes);
            let table = Table::new(exact, false);
            let back = round_trip(|out| table.save("m", out), |store| Table::load(store, "m", None, Some(4))).unwrap();
            prop_assert_eq!(back, table);
        }
    }

    #[test]
    fn rows_are_added_as_the_widened_matrix_says_and_tiny_rows_are_zero() {
        let exact = Dense::from_rows(&[[1.0, -2.0, 3.0], [1e-42, 0.0, 0.0], [0.25, 0.5, -1.0]]);
        let codes = Codes::of(&exact);
        assert_eq!(codes.row(1).1, [0, 0, 0]);
        let mut out = [1f32; 3];
        codes.add_rows(&[0, 2], &[2.0, -1.0], &mut out);
        let wide = codes.widened();
        for (column, found) in out.iter().enumerate() {
            let expected = 1.0 + 2.0 * wide.row(0)[column] - wide.row(2)[column];
            assert!((found - expected).abs() < 1e-5);
        }
    }

    #[test]
    fn a_negative_scale_is_refused() {
        let mut codes = Codes::of(&Dense::from_rows(&[[1.0, 2.0]]));
        codes.scales[0] = -1.0;
        assert!(round_trip(|out| codes.save("m", out), |store| Codes::load(store, "m", None, None)).is_err());
    }
}
