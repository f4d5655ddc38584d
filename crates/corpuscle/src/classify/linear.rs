//! What every linear classifier becomes once fitted: one weight vector and one bias per class.
//!
//! score(x, c) = w_c · x + b_c. Weights are stored column by column of the matrix with the classes side by side
//! (`weights` is cols × classes), so that one pass over a document's entries scores all classes.

use crate::matrix::{Dense, Matrix};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// One weight vector and one bias per class.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearModel {
    /// Columns of the matrix × classes.
    weights: Dense,
    bias: Vec<f32>,
}

/// The most weights of a model: 8 GB of them.
const MOST_WEIGHTS: usize = 1 << 31;

impl LinearModel {
    /// Refuses more weights than any machine we know of has room for, before they are set aside.
    pub(crate) fn check_size(stage: &str, classes: usize, columns: usize) -> Result<()> {
        match classes.checked_mul(columns) {
            Some(weights) if weights <= MOST_WEIGHTS => Ok(()),
            _ => Err(Error::data(format!(
                "`{stage}` would have {classes} classes times {columns} columns of weights, more than {MOST_WEIGHTS}; put rare classes together, \
                 or make fewer columns with min_df, max_features, ig or lsi"
            ))),
        }
    }

    /// A model from its weights (columns × classes) and biases.
    pub fn new(weights: Dense, bias: Vec<f32>) -> Result<Self> {
        if weights.cols() != bias.len() {
            return Err(Error::Shape { what: "bias", expected: weights.cols(), found: bias.len() });
        }
        Ok(LinearModel { weights, bias })
    }

    /// The model whose score of class c is `slope(c)` times this one's and `offset(c)` more.
    pub(super) fn scaled(&self, slope: impl Fn(usize) -> f64, offset: impl Fn(usize) -> f64) -> Self {
        let mut weights = self.weights.clone();
        for row in 0..weights.rows() {
            let of_column = weights.row_mut(row).iter_mut().enumerate();
            of_column.for_each(|(class, weight)| *weight = (slope(class) * f64::from(*weight)) as f32);
        }
        let bias = self.bias.iter().enumerate();
        let bias = bias.map(|(class, &bias)| (slope(class) * f64::from(bias) + offset(class)) as f32).collect();
        LinearModel { weights, bias }
    }

    /// How many classes it scores.
    pub fn n_classes(&self) -> usize {
        self.bias.len()
    }

    /// How many columns a matrix must have to be scored.
    pub fn n_inputs(&self) -> usize {
        self.weights.rows()
    }

    /// The weights: columns × classes.
    pub fn weights(&self) -> &Dense {
        &self.weights
    }

    /// The bias of each class.
    pub fn bias(&self) -> &[f32] {
        &self.bias
    }

    /// The score of every document for every class (documents × classes).
    pub fn scores(&self, x: &Matrix, run: &Run) -> Result<Dense> {
        run.install(|| x.multiply(&self.weights, &self.bias))
    }

    /// Puts the model into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        self.weights.save("weights", out);
        out.put_f32("bias", &[self.bias.len()], &self.bias);
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let weights = Dense::load(store, "weights", None, None)?;
        let (bias, _) = store.f32s("bias", &[Some(weights.cols())])?;
        LinearModel::new(weights, bias)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Csr;

    #[test]
    fn scores_are_dot_products_and_survive_the_store() {
        let model = LinearModel::new(Dense::from_rows(&[[1.0, -1.0], [2.0, 0.5]]), vec![0.25, 0.0]).unwrap();
        let x = Matrix::from(Csr::from_rows(2, [vec![(0, 2.0), (1, 1.0)], vec![]]));
        let run = Run::new(0, 1).unwrap();
        let scores = model.scores(&x, &run).unwrap();
        assert_eq!(scores, Dense::from_rows(&[[4.25, -1.5], [0.25, 0.0]]));
        let back = crate::store::tests::round_trip(|out| model.save(out), LinearModel::load).unwrap();
        assert_eq!(back, model);
    }
}
