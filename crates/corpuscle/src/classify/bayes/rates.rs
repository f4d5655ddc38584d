//! Counts of terms by class, and the weights that follow from them.

use rayon::prelude::*;

use super::BayesParams;
use crate::classify::LinearModel;
use crate::corpus::Labels;
use crate::matrix::{Csr, Dense};
use crate::{Error, Result};

/// The score of a class that no document has: low enough never to win, finite so that it can be stored and squashed.
const EMPTY_CLASS: f32 = -1e3;
/// Classes counted by one task: it walks over the documents once for all of them.
const CLASSES: usize = 4;

/// How much of every term each class holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Counts {
    /// Columns × classes.
    pub(super) terms: Vec<f64>,
    /// Of each column in all documents, each once whatever labels it has.
    pub(super) total: Vec<f64>,
    /// Documents of each class.
    pub(super) classes: Vec<f64>,
    /// Documents in all.
    pub(super) documents: f64,
}

impl Counts {
    fn zeros(columns: usize, classes: usize) -> Self {
        Counts {
            terms: vec![0.0; columns * classes],
            total: vec![0.0; columns],
            classes: vec![0.0; classes],
            documents: 0.0,
        }
    }

    /// The labelled documents, each counting as much as its weight.
    pub(super) fn labelled(x: &Csr, labels: &Labels, weights: Option<&[f32]>) -> Self {
        let n_classes = labels.n_classes();
        let mut counts = Counts::zeros(x.cols(), n_classes);
        for row in 0..x.rows() {
            let Some(given) = labels.of(row) else { continue };
            let weight = weights.map_or(1.0, |weights| f64::from(weights[row]));
            if weight == 0.0 {
                continue;
            }
            counts.documents += weight;
            given.iter().for_each(|&class| counts.classes[class as usize] += weight);
            let (columns, values) = x.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                let amount = weight * f64::from(value);
                counts.total[column as usize] += amount;
                for &class in given {
                    counts.terms[column as usize * n_classes + class as usize] += amount;
                }
            }
        }
        counts
    }

    /// Documents that belong to classes by probabilities (documents × classes), each counting `weights` times `lambda`. Every sum is
    /// made by one task in the order of the documents.
    pub(super) fn shared_out(x: &Csr, shares: &Dense, weights: Option<&[f32]>, lambda: f64) -> Self {
        let n_classes = shares.cols();
        let mut counts = Counts::zeros(x.cols(), n_classes);
        let weight = |row: usize| lambda * weights.map_or(1.0, |weights| f64::from(weights[row]));
        let parts: Vec<(Vec<f64>, Vec<f64>)> = (0..n_classes.div_ceil(CLASSES))
            .into_par_iter()
            .map(|part| {
                let classes = part * CLASSES..n_classes.min((part + 1) * CLASSES);
                let width = classes.len();
                let (mut terms, mut sizes) = (vec![0f64; x.cols() * width], vec![0f64; width]);
                for row in 0..x.rows() {
                    let weight = weight(row);
                    let shares = &shares.row(row)[classes.clone()];
                    let mut amounts = [0f64; CLASSES];
                    amounts.iter_mut().zip(shares).for_each(|(to, &share)| *to = weight * f64::from(share));
                    sizes.iter_mut().zip(amounts).for_each(|(size, amount)| *size += amount);
                    let (columns, values) = x.row(row);
                    for (&column, &value) in columns.iter().zip(values) {
                        let to = &mut terms[column as usize * width..][..width];
                        to.iter_mut().zip(amounts).for_each(|(to, amount)| *to += amount * f64::from(value));
                    }
                }
                (terms, sizes)
            })
            .collect();
        for (part, (terms, sizes)) in parts.iter().enumerate() {
            let width = sizes.len();
            counts.classes[part * CLASSES..][..width].copy_from_slice(sizes);
            for (column, from) in terms.chunks_exact(width.max(1)).enumerate() {
                counts.terms[column * n_classes + part * CLASSES..][..width].copy_from_slice(from);
            }
        }
        for row in 0..x.rows() {
            let weight = weight(row);
            counts.documents += weight;
            let (columns, values) = x.row(row);
            columns.iter().zip(values).for_each(|(&column, &value)| {
                counts.total[column as usize] += weight * f64::from(value);
            });
        }
        counts
    }

    /// The sum of two.
    pub(super) fn plus(&self, other: &Counts) -> Counts {
        let add = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect();
        Counts {
            terms: add(&self.terms, &other.terms),
            total: add(&self.total, &other.total),
            classes: add(&self.classes, &other.classes),
            documents: self.documents + other.documents,
        }
    }

    /// The linear model of these counts; `several` when a document may have several labels.
    pub(super) fn model(&self, params: &BayesParams, several: bool) -> Result<LinearModel> {
        let n_classes = self.classes.len();
        let columns = self.total.len();
        let alpha = params.alpha;
        let mut sums = vec![0f64; n_classes];
        for row in self.terms.chunks_exact(n_classes.max(1)) {
            sums.iter_mut().zip(row).for_each(|(sum, &count)| *sum += count);
        }
        let all: f64 = self.total.iter().sum();
        let smoothed = alpha * columns as f64;
        let own: Vec<f64> = sums.iter().map(|sum| (sum + smoothed).ln()).collect();
        // What is left of a total may come out a little below 0 by rounding.
        let rest: Vec<f64> = sums.iter().map(|sum| ((all - sum).max(0.0) + smoothed).ln()).collect();
        let open: Vec<bool> = self.classes.iter().map(|&count| count > 0.0).collect();
        let n_open = open.iter().filter(|&&open| open).count().max(1) as f64;
        let mut weights = vec![0f32; columns * n_classes];
        let per_column = weights.par_chunks_mut(n_classes.max(1)).zip(self.terms.par_chunks(n_classes.max(1)));
        per_column.zip(&self.total).for_each(|((to, counts), &total)| {
            let rate = |class: usize| (counts[class] + alpha).ln() - own[class];
            let others = |class: usize| ((total - counts[class]).max(0.0) + alpha).ln() - rest[class];
            let raw = |class: usize| match (several, params.complement) {
                (true, _) => rate(class) - others(class),
                (false, true) => -others(class),
                (false, false) => rate(class),
            };
            // What all classes have in common decides nothing; without it a weight says for or against.
            let mean = match several {
                true => 0.0,
                false => (0..to.len()).filter(|&class| open[class]).map(raw).sum::<f64>() / n_open,
            };
            for (class, to) in to.iter_mut().enumerate().filter(|(class, _)| open[*class]) {
                *to = (raw(class) - mean) as f32;
            }
        });
        let bias = |(&count, &open): (&f64, &bool)| match (open, several, params.complement) {
            (false, _, _) => EMPTY_CLASS,
            // A class that every document has is all but certain, not infinitely so.
            (true, true, _) => (count / (self.documents - count).max(alpha)).ln() as f32,
            (true, false, true) => 0.0,
            (true, false, false) => (count / self.documents).ln() as f32,
        };
        let bias = self.classes.iter().zip(&open).map(bias).collect();
        LinearModel::new(Dense::new(columns, n_classes, weights)?, bias)
    }
}

/// The terms of documents, when they can be counted.
pub(super) fn terms_of(x: &crate::matrix::Matrix) -> Result<&Csr> {
    if x.dense().cols() > 0 {
        return Err(Error::data(
            "bayes counts terms, and these documents have columns that are none (of lsi, dcot, word vectors or numbers); put it \
             behind counts, binary or tfidf, or take svm or logistic",
        ));
    }
    let bad = x.sparse().values().par_iter().find_first(|value| !(**value >= 0.0 && value.is_finite()));
    match bad {
        Some(value) => Err(Error::data(format!(
            "bayes counts terms, and a document has the value {value} of one; put it behind counts, binary or tfidf, or take \
             svm or logistic"
        ))),
        None => Ok(x.sparse()),
    }
}
