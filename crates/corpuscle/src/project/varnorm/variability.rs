//! The intra-topic variability of every topic: equation 3 of the paper, topic by topic (its figure 1).
//!
//! Q_c = Σ_{i,j∈c} ‖x_i − x_j‖² = 2 n_c (Σ_i ‖x_i‖² − ‖Σ_i x_i‖² / n_c), in the inner product of rows, so for any matrix
//! before or after any projection. O(stored numbers), all sums in `f64`.

use rayon::prelude::*;

use crate::corpus::Labels;
use crate::matrix::Matrix;
use crate::{Error, Result, Run};

/// How much the documents of a topic differ.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicVariability {
    /// The topic.
    pub topic: String,
    /// Its documents.
    pub documents: usize,
    /// Q_c: the sum of squared distances over all ordered pairs of its documents.
    pub total: f64,
}

impl TopicVariability {
    /// The sum of squared distances to the mean of the topic, Q_c / 2 n_c: comparable between topics of one size.
    pub fn scatter(&self) -> f64 {
        if self.documents == 0 { 0.0 } else { self.total / (2 * self.documents) as f64 }
    }

    /// The mean squared distance of two documents, Q_c / n_c²: comparable between topics of any size.
    pub fn mean(&self) -> f64 {
        if self.documents == 0 { 0.0 } else { self.total / (self.documents as f64 * self.documents as f64) }
    }
}

/// The intra-topic variability of every topic, in the order of the classes. A document counts in each of its topics.
///
/// ```
/// use corpuscle::{Run, corpus::Labels, matrix::{Dense, Matrix}, project::intra_topic_variability};
/// let x = Matrix::from(Dense::from_rows(&[[0.0], [3.0], [7.0]]));
/// let labels = Labels::from_single(["a", "a", "b"].map(Some));
/// let topics = intra_topic_variability(&x, &labels, &Run::new(42, 1)?)?;
/// assert_eq!((topics[0].total, topics[1].total), (18.0, 0.0));
/// # Ok::<(), corpuscle::Error>(())
/// ```
pub fn intra_topic_variability(x: &Matrix, labels: &Labels, run: &Run) -> Result<Vec<TopicVariability>> {
    if labels.len() != x.rows() {
        return Err(Error::Shape { what: "labels of the documents", expected: x.rows(), found: labels.len() });
    }
    let mut documents: Vec<Vec<usize>> = vec![Vec::new(); labels.n_classes()];
    for row in 0..labels.len() {
        for &class in labels.of(row).unwrap_or(&[]) {
            documents[class as usize].push(row);
        }
    }
    let negative_start = x.cols() - x.negative();
    let total = |sums: &mut Vec<f64>, met: &mut Vec<usize>, rows: &[usize]| {
        let mut squares = 0.0;
        for &row in rows {
            let row = x.row(row);
            squares += row.norm_squared();
            row.for_each(|column, value| {
                if sums[column] == 0.0 {
                    met.push(column);
                }
                sums[column] += f64::from(value);
            });
        }
        let mut length = 0.0;
        for column in met.drain(..) {
            // Taken as it is met, so a column that was met twice counts once.
            let sum = std::mem::take(&mut sums[column]);
            length += if column < negative_start { sum * sum } else { -sum * sum };
        }
        2.0 * (rows.len() as f64 * squares - length).max(0.0)
    };
    run.install(|| {
        documents
            .par_iter()
            .zip(labels.classes())
            .map_init(
                || (vec![0f64; x.cols()], Vec::new()),
                |(sums, met), (rows, topic)| {
                    run.check()?;
                    let total = total(sums, met, rows);
                    Ok(TopicVariability { topic: topic.clone(), documents: rows.len(), total })
                },
            )
            .collect()
    })
}
