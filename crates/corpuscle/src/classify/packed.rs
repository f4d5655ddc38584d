//! The labelled documents copied once into the layout the solvers run over.
//!
//! Only rows that are labelled and weigh more than 0 are kept, in an order the caller may shuffle, so that a pass in
//! memory order is a pass in random order. Sparse columns are renumbered by falling frequency and those that never
//! occur are dropped: the weights of common words then sit side by side in the fastest cache. Where documents fill a good part
//! of the columns, as those of `scdv` do, none is rare: then columns keep their order, and rows ascend. O(stored values).

use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::check_weights;
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::{Error, Result, Rng};

/// Labelled documents in solver order.
pub(super) struct Packed {
    /// The row of the matrix each document came from.
    pub(super) rows: Vec<usize>,
    /// What each document counts.
    pub(super) weights: Vec<f32>,
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
    /// The dense part of the documents.
    pub(super) dense: Dense,
    /// Dense entries from here on count negatively in inner products of rows.
    pub(super) negative_start: usize,
    /// The column of the matrix each packed sparse column came from.
    sources: Vec<u32>,
    /// Sparse columns of the matrix.
    original_sparse: usize,
}

impl Packed {
    /// Packs the labelled rows of `x`, shuffled when a generator is given.
    pub(super) fn new(x: &Matrix, labels: &Labels, weights: Option<&[f32]>, shuffle: Option<&mut Rng>) -> Result<Self> {
        if labels.len() != x.rows() {
            return Err(Error::Shape { what: "labels for the documents", expected: x.rows(), found: labels.len() });
        }
        check_weights(weights, x.rows())?;
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let mut rows: Vec<usize> = labels.labelled_rows().into_iter().filter(|&row| weight(row) > 0.0).collect();
        if rows.is_empty() {
            let reason = "no document has a label (and a weight above 0); a classifier needs some to learn from";
            return Err(Error::data(reason));
        }
        if let Some(row) = rows.par_iter().find_first(|&&row| !is_finite(x, row)) {
            return Err(Error::data(format!(
                "document {} has a value that is not finite; cannot learn from it",
                row + 1
            )));
        }
        if let Some(rng) = shuffle {
            rows.shuffle(rng);
        }
        let (number, sources) = by_frequency(x, &rows);
        let mut packed = Packed {
            weights: rows.iter().map(|&row| weight(row)).collect(),
            offsets: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
            dense: x.dense().select_rows(&rows),
            negative_start: x.dense().cols() - x.negative(),
            sources,
            original_sparse: x.sparse().cols(),
            rows,
        };
        let stored: usize = packed.rows.iter().map(|&row| x.sparse().row(row).0.len()).sum();
        packed.columns.reserve_exact(stored);
        packed.values.reserve_exact(stored);
        for &row in &packed.rows {
            let (columns, values) = x.sparse().row(row);
            packed.columns.extend(columns.iter().map(|&column| number[column as usize]));
            packed.values.extend_from_slice(values);
            packed.offsets.push(packed.columns.len());
        }
        Ok(packed)
    }

    /// How many documents there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many sparse columns there are.
    pub(super) fn sparse_columns(&self) -> usize {
        self.sources.len()
    }

    /// How many values are stored in the sparse columns.
    pub(super) fn sparse_entries(&self) -> usize {
        self.columns.len()
    }

    /// Whether the columns of a document ascend.
    pub(super) fn rows_ascend(&self) -> bool {
        self.sources.is_sorted()
    }

    /// How many columns there are in all: sparse, then dense.
    pub(super) fn total_columns(&self) -> usize {
        self.sparse_columns() + self.dense.cols()
    }

    /// Where the columns that count negatively begin.
    pub(super) fn first_negative(&self) -> usize {
        self.sparse_columns() + self.negative_start
    }

    /// Columns and values of the sparse part of a document.
    #[inline]
    pub(super) fn sparse_row(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.offsets[row]..self.offsets[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Squared length of a document in the inner product of rows.
    pub(super) fn norm_squared(&self, row: usize) -> f64 {
        let square = |v: &f32| f64::from(*v) * f64::from(*v);
        let (positive, negative) = self.dense.row(row).split_at(self.negative_start);
        let sum = self.sparse_row(row).1.iter().map(square).sum::<f64>() + positive.iter().map(square).sum::<f64>();
        (sum - negative.iter().map(square).sum::<f64>()).max(0.0)
    }

    /// Calls `place(column of the matrix, packed column)` for every column that is kept.
    pub(super) fn for_each_source(&self, mut place: impl FnMut(usize, usize)) {
        for (packed, &source) in self.sources.iter().enumerate() {
            place(source as usize, packed);
        }
        for offset in 0..self.dense.cols() {
            place(self.original_sparse + offset, self.sparse_columns() + offset);
        }
    }

    /// Columns of the matrix this was packed from.
    pub(super) fn original_columns(&self) -> usize {
        self.original_sparse + self.dense.cols()
    }
}

fn is_finite(x: &Matrix, row: usize) -> bool {
    x.row(row).values.iter().chain(x.row(row).dense).all(|value| value.is_finite())
}

/// One in so many columns of a document, on average, is a good part of them …
const GOOD_PART: usize = 16;

/// … if there are so many: fewer fit the fastest cache in any order.
const MANY_COLUMNS: usize = 1 << 10;

/// New numbers of the sparse columns by falling frequency in `rows`, and the old number of each new one; in their order where
/// documents fill a good part of them.
fn by_frequency(x: &Matrix, rows: &[usize]) -> (Vec<u32>, Vec<u32>) {
    let mut counts = vec![0u32; x.sparse().cols()];
    for &row in rows {
        for &column in x.sparse().row(row).0 {
            counts[column as usize] += 1;
        }
    }
    let mut sources: Vec<u32> = (0..counts.len() as u32).filter(|&column| counts[column as usize] > 0).collect();
    let entries: usize = counts.iter().map(|&count| count as usize).sum();
    if sources.len() < MANY_COLUMNS || entries * GOOD_PART < sources.len() * rows.len() {
        sources.par_sort_by_key(|&column| (std::cmp::Reverse(counts[column as usize]), column));
    }
    let mut number = vec![0u32; counts.len()];
    for (new, &old) in sources.iter().enumerate() {
        number[old as usize] = new as u32;
    }
    (number, sources)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Csr;

    #[test]
    fn unlabelled_rows_and_unused_columns_are_left_out_and_common_columns_come_first() {
        let rows = [vec![(1, 1.0), (3, 2.0)], vec![(0, 9.0)], vec![(3, 4.0)], vec![(3, 5.0)]];
        let x = Matrix::from(Csr::from_rows(5, rows));
        let labels = Labels::from_single([Some("a"), None, Some("b"), Some("a")]);
        let packed = Packed::new(&x, &labels, Some(&[1.0, 1.0, 2.0, 0.0]), None).unwrap();
        assert_eq!(packed.rows, [0, 2]);
        assert_eq!(packed.weights, [1.0, 2.0]);
        assert_eq!(packed.sparse_row(0), (&[1, 0][..], &[1.0, 2.0][..]));
        assert_eq!(packed.sparse_row(1), (&[0][..], &[4.0][..]));
        assert_eq!(packed.norm_squared(1), 16.0);
        let mut places = Vec::new();
        packed.for_each_source(|source, packed| places.push((source, packed)));
        assert_eq!(places, [(3, 0), (1, 1)]);
    }

    #[test]
    fn what_cannot_be_learnt_from_is_refused() {
        let x = Matrix::from(Csr::from_rows(1, [vec![(0, f32::NAN)], vec![]]));
        let labels = Labels::from_single([Some("a"), Some("b")]);
        let error = |x: &Matrix, labels: &Labels| Packed::new(x, labels, None, None).err().unwrap().to_string();
        assert!(error(&x, &labels).contains("document 1"));
        assert!(error(&x, &Labels::from_single([None::<&str>, None])).contains("no document has a label"));
        assert!(error(&x, &labels.select(&[0])).contains("labels"));
    }
}
