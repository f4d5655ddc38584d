//! What sprinkling does to classes and to the original matrix (Figure 4 of the paper).

use serde::Serialize;

use super::shift::term_vectors;
use super::{Projector, SprinkleParams, Target};
use crate::corpus::Labels;
use crate::matrix::{Dense, Matrix};
use crate::{Error, Result, Run};

/// Terms of each class whose vectors are looked at.
const PROTOTYPICAL: usize = 10;

/// One point of the trade between classes pulled apart and a matrix distorted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SprinklePoint {
    /// Artificial terms per class.
    pub terms: usize,
    /// Within-class over between-class point scatter of the training rows; lower is better separated.
    pub within_over_between: f64,
    /// The same of the terms that are [typical](prototypical_terms) of one class each, as columns of the approximation.
    pub terms_within_over_between: f64,
    /// Mean square difference between the matrix and its approximation.
    pub mean_square_distortion: f64,
}

/// Fits once for each number of artificial terms per class and measures what came of it, all in k dimensions.
pub fn sprinkle_curve(
    x: &Matrix,
    labels: &Labels,
    rank: usize,
    terms: &[usize],
    run: &Run,
) -> Result<Vec<SprinklePoint>> {
    let (columns, classes): (Vec<u32>, Vec<usize>) = prototypical_terms(x, labels, PROTOTYPICAL).into_iter().unzip();
    let of_terms = Labels::from_single(classes.iter().map(|&class| Some(labels.classes()[class].as_str())));
    terms
        .iter()
        .map(|&terms| {
            let sprinkled = Some(vec![terms; labels.n_classes()]);
            let params = SprinkleParams { rank, sprinkled, ..SprinkleParams::default() };
            let (model, rows) = params.fit(x, &Target::new(labels), run)?;
            Ok(SprinklePoint {
                terms,
                within_over_between: within_over_between(&rows, labels)?,
                terms_within_over_between: within_over_between(
                    &Matrix::from(term_vectors(&columns, &model, &rows)?),
                    &of_terms,
                )?,
                mean_square_distortion: model.mean_square_distortion(x, &rows, run)?,
            })
        })
        .collect()
}

/// For each class the `count` terms whose share of its documents exceeds their share of the others by most: (column, class).
/// The paper picks such terms by hand.
pub fn prototypical_terms(x: &Matrix, labels: &Labels, count: usize) -> Vec<(u32, usize)> {
    let (classes, columns) = (labels.n_classes(), x.sparse().cols());
    let mut holders = Dense::zeros(columns, classes);
    let mut documents = vec![0f32; classes];
    for row in 0..labels.len().min(x.rows()) {
        let of = labels.of(row).unwrap_or(&[]);
        of.iter().for_each(|&class| documents[class as usize] += 1.0);
        for &column in x.sparse().row(row).0 {
            of.iter().for_each(|&class| holders.row_mut(column as usize)[class as usize] += 1.0);
        }
    }
    let all: f32 = documents.iter().sum();
    let mut found = Vec::with_capacity(classes * count);
    for class in 0..classes {
        let excess = |column: u32| {
            let row = holders.row(column as usize);
            let others = row.iter().sum::<f32>() - row[class];
            row[class] / documents[class].max(1.0) - others / (all - documents[class]).max(1.0)
        };
        let mut order: Vec<(u32, f32)> =
            (0..columns as u32).map(|column| (column, excess(column))).filter(|(_, excess)| *excess > 0.0).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.extend(order.into_iter().take(count).map(|(column, _)| (column, class)));
    }
    found
}

/// The within-class point scatter over the between-class one (Hastie, Tibshirani and Friedman, 14.3.5): with squared
/// distances, W = ½ Σ_c Σ_{i,j ∈ c} ‖x_i − x_j‖² = Σ_c n_c Σ_{i ∈ c} ‖x_i − μ_c‖², and B is the rest of the same sum
/// over all pairs.
///
/// A document of several classes counts as one point in each; unlabelled documents do not count. O(stored + classes ·
/// columns), no matrix of distances.
pub fn within_over_between(x: &Matrix, labels: &Labels) -> Result<f64> {
    if labels.len() != x.rows() {
        return Err(Error::Shape { what: "labels of the documents", expected: x.rows(), found: labels.len() });
    }
    let mut members = vec![Vec::new(); labels.n_classes()];
    for row in 0..labels.len() {
        labels.of(row).unwrap_or(&[]).iter().for_each(|&class| members[class as usize].push(row));
    }
    let negative_start = x.cols() - x.negative();
    let length = |sums: &[f64]| {
        let (positive, negative) = sums.split_at(negative_start);
        positive.iter().map(|v| v * v).sum::<f64>() - negative.iter().map(|v| v * v).sum::<f64>()
    };
    let mut all = vec![0f64; x.cols()];
    let (mut points, mut squares, mut within) = (0.0, 0.0, 0.0);
    for rows in members.iter().filter(|rows| !rows.is_empty()) {
        let mut sums = vec![0f64; x.cols()];
        let mut class_squares = 0.0;
        for &row in rows {
            let row = x.row(row);
            row.for_each(|column, value| sums[column] += f64::from(value));
            class_squares += row.norm_squared();
        }
        within += (rows.len() as f64 * class_squares - length(&sums)).max(0.0);
        points += rows.len() as f64;
        squares += class_squares;
        all.iter_mut().zip(&sums).for_each(|(all, sum)| *all += sum);
    }
    let between = points * squares - length(&all) - within;
    if between > 0.0 {
        Ok(within / between)
    } else {
        Err(Error::data("the scatter between classes is zero: it takes two classes with different documents"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Dense;

    #[test]
    fn the_ratio_is_that_of_the_double_sums() {
        let rows = [[0.0, 1.0], [2.0, 1.0], [5.0, 5.0], [4.0, 7.0], [9.0, 1.0]];
        let labels = Labels::from_single([Some("a"), Some("a"), Some("b"), Some("b"), None]);
        let (mut within, mut between) = (0.0, 0.0);
        for i in 0..4 {
            for j in 0..4 {
                let distance: f32 = rows[i].iter().zip(rows[j]).map(|(a, b)| (a - b) * (a - b)).sum();
                *(if i / 2 == j / 2 { &mut within } else { &mut between }) += f64::from(distance);
            }
        }
        let ratio = within_over_between(&Matrix::from(Dense::from_rows(&rows)), &labels).unwrap();
        assert!((ratio - within / between).abs() < 1e-12);
    }

    #[test]
    fn terms_are_typical_of_the_class_that_has_them_most() {
        let documents: [&[u32]; 4] = [&[0, 3], &[0, 1, 3], &[2, 3], &[1, 2, 3]];
        let x = crate::matrix::Csr::from_rows(4, documents.map(|terms| terms.iter().map(|&t| (t, 1.0)).collect()));
        let labels = Labels::from_single(["a", "a", "b", "b"].map(Some));
        assert_eq!(prototypical_terms(&Matrix::from(x), &labels, 1), [(0, 0), (2, 1)]);
    }

    #[test]
    fn one_class_has_nothing_between() {
        let x = Matrix::from(Dense::from_rows(&[[1.0], [2.0]]));
        assert!(within_over_between(&x, &Labels::from_single([Some("a"), Some("a")])).is_err());
        assert!(within_over_between(&x, &Labels::from_single([Some("a")])).is_err());
    }
}
