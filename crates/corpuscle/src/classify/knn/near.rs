//! What nearest neighbours can say about a decision: which documents are near, and which class a document leans to.

use super::Metric;
use super::model::KnnModel;
use crate::matrix::{Dense, Matrix, Row};
use crate::{Result, Run};

/// A document near another.
#[derive(Debug, Clone, PartialEq)]
pub struct NearDocument {
    /// Its number among all documents the model was given.
    pub row: u32,
    /// Its classes, by number.
    pub labels: Vec<u32>,
    /// Its cosine or its distance.
    pub value: f32,
    /// Which of the two.
    pub metric: Metric,
}

impl KnnModel {
    /// The `count` nearest documents of every row of `x`, with their classes.
    pub fn near_documents(&self, x: &Matrix, count: usize, run: &Run) -> Result<Vec<Vec<NearDocument>>> {
        let found = self.neighbours(x, count, run)?;
        let metric = self.params().metric;
        let near = |(&row, &value): (&u32, &f32)| {
            let labels = self.labels_of(row).unwrap_or(&[]).to_vec();
            NearDocument { row, labels, value, metric }
        };
        Ok((0..found.len())
            .map(|query| {
                let (rows, values) = found.of(query);
                rows.iter().zip(values).map(near).collect()
            })
            .collect())
    }

    /// How much each row of `x` leans to `class`: the mean cosine (or minus the mean distance) to the documents of `class`
    /// that are nearest to the *first* row, as many as vote, less the same for `against`. The documents are the same for
    /// every row, so unlike a vote the answer changes smoothly when a little is taken from a row.
    pub fn leanings(&self, x: &Matrix, class: u32, against: Option<u32>, run: &Run) -> Result<Vec<f64>> {
        self.check_columns(x)?;
        if x.rows() == 0 {
            return Ok(Vec::new());
        }
        let (own, other) = self.sides(&x.row(0), class, against);
        let mean = |row: &Row<'_>, documents: &[usize]| {
            let sum: f64 = documents.iter().map(|&document| self.nearness(row, document)).sum();
            sum / documents.len().max(1) as f64
        };
        let mut leaning = Vec::with_capacity(x.rows());
        for row in 0..x.rows() {
            run.check()?;
            let row = x.row(row);
            leaning.push(mean(&row, &own) - mean(&row, &other));
        }
        Ok(leaning)
    }

    /// The derivative of the leaning of one document by its columns; others are left at 0. With y a neighbour, the cosine has
    /// (y/‖y‖ − cos·x/‖x‖)/‖x‖ and the distance, counted negatively, (y − x)/‖x − y‖; columns that count negatively do so.
    pub(super) fn gradient_of_leaning(&self, x: &Matrix, class: u32, against: Option<u32>, run: &Run) -> Result<Dense> {
        run.check()?;
        self.check_columns(x)?;
        let row = x.row(0);
        let (own, other) = self.sides(&row, class, against);
        let (mut gradient, mut of_x) = (Dense::zeros(x.cols(), 1), 0f64);
        let length = row.norm_squared().max(0.0).sqrt();
        for (documents, sign) in [(own, 1.0), (other, -1.0)] {
            let share = sign / documents.len().max(1) as f64;
            for document in documents {
                let near = self.document(document);
                let nearness = self.nearness(&row, document);
                let (of_near, of_row) = match self.params().metric {
                    Metric::Cosine => {
                        let other = near.norm_squared().max(0.0).sqrt();
                        if length <= 0.0 || other <= 0.0 {
                            continue;
                        }
                        (share / (length * other), -share * nearness / (length * length))
                    }
                    // At a copy of the document the distance has no slope, and 1 / distance no value.
                    Metric::Euclidean if -nearness < 1e-6 => continue,
                    Metric::Euclidean => (share / -nearness, share / nearness),
                };
                near.add_to(of_near as f32, gradient.values_mut());
                of_x += of_row;
            }
        }
        row.add_to(of_x as f32, gradient.values_mut());
        Ok(gradient)
    }

    /// The documents of `class` nearest to a row, as many as vote, and those of `against`.
    fn sides(&self, row: &Row<'_>, class: u32, against: Option<u32>) -> (Vec<usize>, Vec<usize>) {
        let nearest = |class: u32| -> Vec<usize> {
            let members = (0..self.len()).filter(|&document| self.of(document).contains(&class));
            let mut near: Vec<(f64, usize)> =
                members.map(|document| (self.nearness(row, document), document)).collect();
            near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            near.truncate(self.params().k);
            near.into_iter().map(|(_, document)| document).collect()
        };
        (nearest(class), against.map(nearest).unwrap_or_default())
    }

    /// Larger is nearer.
    fn nearness(&self, row: &Row<'_>, document: usize) -> f64 {
        let other = self.document(document);
        let (inner, a, b) = (row.inner(&other), row.norm_squared(), other.norm_squared());
        match self.params().metric {
            Metric::Cosine if a > 0.0 && b > 0.0 => inner / (a * b).sqrt(),
            Metric::Cosine => 0.0,
            Metric::Euclidean => -(a + b - 2.0 * inner).max(0.0).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::KnnParams;
    use super::*;
    use crate::classify::Classifier;
    use crate::corpus::Labels;
    use crate::matrix::Csr;
    use crate::project::Target;

    #[test]
    fn leaning_changes_where_votes_do_not() -> Result<()> {
        let run = Run::new(1, 1)?;
        let rows = [vec![(0, 1.0), (1, 1.0)], vec![(0, 1.0)], vec![(2, 1.0)], vec![(2, 1.0), (3, 1.0)]];
        let x = Matrix::from(Csr::from_rows(4, rows));
        let labels = Labels::from_single([Some("a"), None, Some("b"), Some("b")]);
        for metric in [Metric::Cosine, Metric::Euclidean] {
            let model = KnnParams { k: 1, metric, ..KnnParams::default() }.fit(&x, &Target::new(&labels), &run)?;
            let whole = vec![(0, 1.0), (1, 1.0), (2, 0.2)];
            let without = |column: u32| whole.iter().copied().filter(|entry| entry.0 != column).collect::<Vec<_>>();
            let asked = Matrix::from(Csr::from_rows(4, [whole.clone(), without(0), without(2)]));
            let leaning = model.leanings(&asked, 0, Some(1), &run)?;
            assert!(leaning[0] > 0.0 && leaning[1] < leaning[0] && leaning[2] > leaning[0], "{leaning:?}");
            let near = model.near_documents(&asked, 2, &run)?;
            assert_eq!((near[0][0].row, near[0][0].labels.as_slice()), (0, &[0][..]));
            assert_eq!((near[0][1].row, near[0][1].labels.as_slice()), (2, &[1][..]));
        }
        Ok(())
    }
}
