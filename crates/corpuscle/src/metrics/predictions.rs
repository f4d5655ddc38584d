//! The decisions of a classifier: one class per document, or any number of them.

use crate::matrix::Dense;
use crate::{Error, Result};

/// The classes decided for each document.
///
/// ```
/// use corpuscle::{matrix::Dense, metrics::Predictions};
/// let scores = Dense::from_rows(&[[0.2, 0.7, 0.7], [-0.1, -0.3, -0.2]]);
/// let best = Predictions::best(&scores)?;
/// assert_eq!((best.of(0), best.of(1)), (&[1][..], &[0][..]));
/// let above = Predictions::above(&scores, 0.0);
/// assert_eq!((above.of(0), above.of(1)), (&[0, 1, 2][..], &[][..]));
/// # Ok::<(), corpuscle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predictions {
    /// Row `i` has the class numbers `ids[offsets[i]..offsets[i + 1]]`, ascending, none twice.
    offsets: Vec<usize>,
    ids: Vec<u32>,
    multi: bool,
}

impl Predictions {
    /// One class per document.
    pub fn single(ids: Vec<u32>) -> Self {
        Predictions { offsets: (0..=ids.len()).collect(), ids, multi: false }
    }

    /// Any number of classes per document. This is a multi-label decision even where every document has one class.
    pub fn lists<R: AsRef<[u32]>>(rows: impl IntoIterator<Item = R>) -> Self {
        let (mut offsets, mut ids) = (vec![0], Vec::new());
        let mut sorted = Vec::new();
        for row in rows {
            sorted.clear();
            sorted.extend_from_slice(row.as_ref());
            sorted.sort_unstable();
            sorted.dedup();
            ids.extend_from_slice(&sorted);
            offsets.push(ids.len());
        }
        Predictions { offsets, ids, multi: true }
    }

    /// The class of the highest score of each row, the first of several equal ones. Scores that are no numbers lose.
    pub fn best(scores: &Dense) -> Result<Self> {
        if scores.cols() == 0 && scores.rows() > 0 {
            return Err(Error::data("there are no classes to choose from"));
        }
        let best = |row: &[f32]| {
            let mut best = (0, f32::NEG_INFINITY);
            for (class, &score) in (0u32..).zip(row) {
                if score > best.1 {
                    best = (class, score);
                }
            }
            best.0
        };
        Ok(Self::single((0..scores.rows()).map(|row| best(scores.row(row))).collect()))
    }

    /// Every class whose score is above the threshold: 0 for margins, 0.5 for probabilities.
    pub fn above(scores: &Dense, threshold: f32) -> Self {
        let (mut offsets, mut ids) = (vec![0], Vec::new());
        for row in 0..scores.rows() {
            ids.extend((0u32..).zip(scores.row(row)).filter(|&(_, &score)| score > threshold).map(|(class, _)| class));
            offsets.push(ids.len());
        }
        Predictions { offsets, ids, multi: true }
    }

    /// The classes decided for a document, ascending.
    #[inline]
    pub fn of(&self, row: usize) -> &[u32] {
        &self.ids[self.offsets[row]..self.offsets[row + 1]]
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether any number of classes per document was allowed.
    pub fn is_multi_label(&self) -> bool {
        self.multi
    }

    /// An error unless there is one decision for each of `rows` documents, each for one of `classes` classes.
    pub(crate) fn check(&self, rows: usize, classes: usize) -> Result<()> {
        if self.len() != rows {
            return Err(Error::Shape { what: "documents with a prediction", expected: rows, found: self.len() });
        }
        match self.ids.iter().find(|&&id| id as usize >= classes) {
            Some(&id) => Err(Error::Shape { what: "predicted class number", expected: classes, found: id as usize }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_put_in_order() {
        let lists = Predictions::lists([vec![3, 1, 3], vec![]]);
        assert_eq!((lists.of(0), lists.of(1)), (&[1, 3][..], &[][..]));
        assert!(lists.is_multi_label() && lists.check(2, 4).is_ok());
        assert!(lists.check(3, 4).is_err() && lists.check(2, 3).is_err());
    }

    #[test]
    fn no_number_never_wins() {
        let best = Predictions::best(&Dense::from_rows(&[[f32::NAN, 1.0], [f32::NAN, f32::NAN]])).unwrap();
        assert_eq!((best.of(0), best.of(1)), (&[1][..], &[0][..]));
        assert!(Predictions::best(&Dense::zeros(2, 0)).is_err());
        assert!(Predictions::best(&Dense::zeros(0, 0)).unwrap().is_empty());
    }
}
