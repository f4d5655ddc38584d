//! Compressed sparse rows: 64-bit row pointers, 32-bit column indices, `f32` values.
//!
//! Row `i` owns `indices[indptr[i]..indptr[i + 1]]` and the values beside them; columns ascend strictly within a row.
//! Memory is 8 bytes a non-zero and 8 a row. The arrays are [`Buffer`]s: a clone shares them, and arrays of other owners
//! are read where they are. Our own type because no sparse crate multiplies in parallel.
//!
//! ```
//! use corpuscle::matrix::Csr;
//! let x = Csr::from_rows(3, [vec![(0, 1.0), (2, 2.0)], vec![]]);
//! assert_eq!((x.rows(), x.cols(), x.nnz()), (2, 3, 2));
//! assert_eq!(x.transpose().row(2), (&[0u32][..], &[2.0f32][..]));
//! ```

use std::ops::Range;

use rayon::prelude::*;

use super::Buffer;
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result};

/// A sparse matrix by rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr {
    cols: usize,
    indptr: Buffer<u64>,
    indices: Buffer<u32>,
    values: Buffer<f32>,
}

impl Default for Csr {
    fn default() -> Self {
        Csr::empty(0, 0)
    }
}

impl Csr {
    /// A matrix of zeros.
    pub fn empty(rows: usize, cols: usize) -> Self {
        Csr { cols, indptr: vec![0; rows + 1].into(), indices: Buffer::default(), values: Buffer::default() }
    }

    /// A matrix from its three arrays, which are not copied; checks that they fit together.
    pub fn new(
        cols: usize,
        indptr: impl Into<Buffer<u64>>,
        indices: impl Into<Buffer<u32>>,
        values: impl Into<Buffer<f32>>,
    ) -> Result<Self> {
        let (indptr, indices, values) = (indptr.into(), indices.into(), values.into());
        let whole = indptr.first() == Some(&0)
            && indptr.windows(2).all(|pair| pair[0] <= pair[1])
            && indptr.last() == Some(&(indices.len() as u64))
            && indices.len() == values.len();
        if !whole {
            return Err(Error::data("sparse matrix: row pointers, indices and values do not fit together"));
        }
        let matrix = Csr { cols, indptr, indices, values };
        let ordered = (0..matrix.rows()).into_par_iter().all(|row| {
            let (indices, _) = matrix.row(row);
            indices.windows(2).all(|pair| pair[0] < pair[1])
                && indices.last().is_none_or(|&last| (last as usize) < cols)
        });
        if ordered { Ok(matrix) } else { Err(Error::data("sparse matrix: columns do not ascend or are out of range")) }
    }

    /// A matrix from arrays known to be right by construction, checked in debug builds only.
    pub(crate) fn from_parts(cols: usize, indptr: Vec<u64>, indices: Vec<u32>, values: Vec<f32>) -> Self {
        debug_assert_eq!(indptr.last().copied(), Some(indices.len() as u64));
        debug_assert_eq!(indices.len(), values.len());
        Csr::of(cols, indptr, indices, values)
    }

    fn of(cols: usize, indptr: Vec<u64>, indices: Vec<u32>, values: Vec<f32>) -> Self {
        Csr { cols, indptr: indptr.into(), indices: indices.into(), values: values.into() }
    }

    /// The row pointers, column indices and values, to take apart without a copy.
    pub fn into_parts(self) -> (Buffer<u64>, Buffer<u32>, Buffer<f32>) {
        (self.indptr, self.indices, self.values)
    }

    /// A matrix from rows of (column, value) in ascending columns. For tests and small data.
    pub fn from_rows(cols: usize, rows: impl IntoIterator<Item = Vec<(u32, f32)>>) -> Self {
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            for (column, value) in row {
                indices.push(column);
                values.push(value);
            }
            indptr.push(indices.len() as u64);
        }
        Csr::of(cols, indptr, indices, values)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored values.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// Columns and values of a row.
    #[inline]
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let indptr = self.indptr.as_slice();
        let range = indptr[row] as usize..indptr[row + 1] as usize;
        (&self.indices[range.clone()], &self.values[range])
    }

    /// The row pointers.
    pub fn indptr(&self) -> &[u64] {
        &self.indptr
    }

    /// The column indices of all rows.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The values of all rows.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The values of all rows, to rescale in place (copied before when they are shared).
    pub fn values_mut(&mut self) -> &mut [f32] {
        self.values.to_mut()
    }

    /// Row pointers and the values they cut, for in-place work row by row.
    pub fn rows_mut(&mut self) -> RowsMut<'_> {
        RowsMut { indptr: &self.indptr, indices: &self.indices, values: self.values.to_mut() }
    }

    /// Row `i` times `scales[i]`.
    pub(super) fn scale_rows(&mut self, scales: &[f32]) {
        let values = self.values.to_mut();
        for (pair, &scale) in self.indptr.windows(2).zip(scales) {
            values[pair[0] as usize..pair[1] as usize].iter_mut().for_each(|v| *v *= scale);
        }
    }

    /// The given rows, in the given order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let nnz = rows.iter().map(|&row| self.row(row).0.len()).sum();
        let mut indptr = Vec::with_capacity(rows.len() + 1);
        let mut indices = Vec::with_capacity(nnz);
        let mut values = Vec::with_capacity(nnz);
        indptr.push(0);
        for &row in rows {
            let (columns, entries) = self.row(row);
            indices.extend_from_slice(columns);
            values.extend_from_slice(entries);
            indptr.push(indices.len() as u64);
        }
        Csr::of(self.cols, indptr, indices, values)
    }

    /// The given columns, which must ascend; column `columns[j]` becomes column `j`.
    #[must_use]
    pub fn select_columns(&self, columns: &[u32]) -> Self {
        let mut renumbered = vec![u32::MAX; self.cols];
        for (new, &old) in columns.iter().enumerate() {
            renumbered[old as usize] = new as u32;
        }
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..self.rows() {
            let (of_row, entries) = self.row(row);
            for (&column, &value) in of_row.iter().zip(entries) {
                let new = renumbered[column as usize];
                if new != u32::MAX {
                    indices.push(new);
                    values.push(value);
                }
            }
            indptr.push(indices.len() as u64);
        }
        Csr::of(columns.len(), indptr, indices, values)
    }

    /// The transpose: O(nnz + cols), by counting.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let mut indptr = vec![0u64; self.cols + 1];
        for &column in self.indices() {
            indptr[column as usize + 1] += 1;
        }
        for column in 0..self.cols {
            indptr[column + 1] += indptr[column];
        }
        let mut next = indptr.clone();
        let mut indices = vec![0u32; self.nnz()];
        let mut values = vec![0f32; self.nnz()];
        for row in 0..self.rows() {
            let (columns, entries) = self.row(row);
            for (&column, &value) in columns.iter().zip(entries) {
                let at = next[column as usize] as usize;
                indices[at] = row as u32;
                values[at] = value;
                next[column as usize] += 1;
            }
        }
        Csr::of(self.rows(), indptr, indices, values)
    }

    /// Appends the rows of another matrix with the same columns.
    pub fn append_rows(&mut self, other: &Csr) -> Result<()> {
        if self.cols != other.cols {
            return Err(Error::Shape { what: "columns of the rows to add", expected: self.cols, found: other.cols });
        }
        let base = self.nnz() as u64;
        self.indptr.to_mut().extend(other.indptr[1..].iter().map(|&end| base + end));
        self.indices.to_mut().extend_from_slice(&other.indices);
        self.values.to_mut().extend_from_slice(&other.values);
        Ok(())
    }

    /// The columns of a range, renumbered from 0.
    #[must_use]
    pub fn columns(&self, range: Range<usize>) -> Self {
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..self.rows() {
            let (of_row, entries) = self.row(row);
            // Columns ascend, so the range is a run of them.
            let from = of_row.partition_point(|&column| (column as usize) < range.start);
            let to = of_row.partition_point(|&column| (column as usize) < range.end);
            indices.extend(of_row[from..to].iter().map(|&column| column - range.start as u32));
            values.extend_from_slice(&entries[from..to]);
            indptr.push(indices.len() as u64);
        }
        Csr::from_parts(range.len(), indptr, indices, values)
    }

    /// The two matrices side by side.
    pub fn beside(&self, other: &Csr) -> Result<Self> {
        if self.rows() != other.rows() {
            return Err(Error::Shape { what: "rows side by side", expected: self.rows(), found: other.rows() });
        }
        let shift = u32::try_from(self.cols).ok().filter(|_| self.cols + other.cols <= u32::MAX as usize);
        let shift = shift.ok_or_else(|| Error::data("more than 4 294 967 295 columns side by side"))?;
        let nnz = self.nnz() + other.nnz();
        let mut indptr = Vec::with_capacity(self.rows() + 1);
        let (mut indices, mut values) = (Vec::with_capacity(nnz), Vec::with_capacity(nnz));
        indptr.push(0);
        for row in 0..self.rows() {
            let (left, right) = (self.row(row), other.row(row));
            indices.extend_from_slice(left.0);
            indices.extend(right.0.iter().map(|&column| column + shift));
            values.extend_from_slice(left.1);
            values.extend_from_slice(right.1);
            indptr.push(indices.len() as u64);
        }
        Ok(Csr::of(self.cols + other.cols, indptr, indices, values))
    }

    /// Puts the matrix into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        out.put_u64("shape", &[self.rows() as u64, self.cols as u64]);
        out.put_u64("indptr", &self.indptr);
        out.put_u32("indices", &self.indices);
        out.put_f32("values", &[self.values.len()], &self.values);
    }

    /// Takes a matrix out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let shape = store.u64s("shape", Some(2))?;
        let indptr = store.u64s("indptr", None)?;
        if indptr.len() as u64 != shape[0].saturating_add(1) || shape[1] > u64::from(u32::MAX) {
            return Err(Error::model("sparse matrix: shape and row pointers disagree"));
        }
        let indices = store.u32s("indices", None)?;
        let (values, _) = store.f32s("values", &[Some(indices.len())])?;
        Csr::new(shape[1] as usize, indptr, indices, values).map_err(|e| Error::model(e.to_string()))
    }
}

/// Rows whose values can be changed, one after the other or in parallel.
#[derive(Debug)]
pub struct RowsMut<'a> {
    indptr: &'a [u64],
    indices: &'a [u32],
    values: &'a mut [f32],
}

impl RowsMut<'_> {
    /// Calls `change(columns, values)` for every row, in parallel over blocks of rows.
    pub fn for_each(self, change: impl Fn(&[u32], &mut [f32]) + Sync) {
        self.halve(&change);
    }

    fn halve<F: Fn(&[u32], &mut [f32]) + Sync>(self, change: &F) {
        const SMALL: usize = 256;
        let rows = self.indptr.len() - 1;
        if rows <= SMALL {
            let mut rest = self.values;
            for pair in self.indptr.windows(2) {
                let (row, tail) = rest.split_at_mut((pair[1] - pair[0]) as usize);
                change(&self.indices[pair[0] as usize..pair[1] as usize], row);
                rest = tail;
            }
            return;
        }
        // Halves are cut by row number, so the pieces do not depend on the number of threads.
        let half = rows / 2;
        let cut = (self.indptr[half] - self.indptr[0]) as usize;
        let (left, right) = self.values.split_at_mut(cut);
        rayon::join(
            || RowsMut { indptr: &self.indptr[..=half], indices: self.indices, values: left }.halve(change),
            || RowsMut { indptr: &self.indptr[half..], indices: self.indices, values: right }.halve(change),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn random_csr() -> impl Strategy<Value = Csr> {
        (1usize..12, 1usize..9).prop_flat_map(|(cols, rows)| {
            proptest::collection::vec(proptest::collection::btree_map(0..cols as u32, -4.0f32..4.0, 0..=cols), rows)
                .prop_map(move |rows| Csr::from_rows(cols, rows.into_iter().map(|row| row.into_iter().collect())))
        })
    }

    proptest! {
        #[test]
        fn transposing_twice_changes_nothing(x in random_csr()) {
            prop_assert_eq!(x.transpose().transpose(), x);
        }

        #[test]
        fn side_by_side_then_selected_gives_the_parts(x in random_csr()) {
            let joined = x.beside(&x).unwrap();
            let left: Vec<u32> = (0..x.cols() as u32).collect();
            prop_assert_eq!(&joined.select_columns(&left), &x);
            prop_assert!(Csr::new(joined.cols(), joined.indptr, joined.indices, joined.values).is_ok());
        }

        #[test]
        fn the_store_gives_back_the_same(x in random_csr()) {
            let back = crate::store::tests::round_trip(|out| x.save(out), Csr::load).unwrap();
            prop_assert_eq!(back, x);
        }
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        assert!(Csr::new(2, vec![0, 1], vec![2], vec![1.0]).is_err());
        assert!(Csr::new(2, vec![0, 2], vec![1, 1], vec![1.0, 1.0]).is_err());
        assert!(Csr::new(2, vec![0, 2, 1], vec![0, 1], vec![1.0, 1.0]).is_err());
        assert!(Csr::new(2, vec![], vec![], vec![]).is_err());
        assert!(Csr::new(2, vec![0, 1], vec![0], vec![]).is_err());
    }

    #[test]
    fn rows_are_changed_in_place_however_many() {
        let mut x = Csr::from_rows(1, (0..1000).map(|_| vec![(0, 2.0)]));
        x.rows_mut().for_each(|_, values| values[0] *= 3.0);
        assert!(x.values().iter().all(|&v| v == 6.0));
    }
}
