//! A fitted `discriminant`.

use crate::matrix::{Dense, Matrix};
use crate::store::{StoreReader, StoreWriter};
use crate::{Result, Run};

/// The directions that tell classes apart.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscriminantModel {
    /// One row per input column, one column per direction, as weights: a projection is a plain product.
    vectors: Dense,
    /// Brings the mean of the documents to 0.
    offset: Vec<f32>,
    /// How well each direction tells classes apart: between-class over within-class variance.
    ratios: Vec<f64>,
    shrinkage: f64,
}

impl DiscriminantModel {
    pub(super) fn new(vectors: Dense, offset: Vec<f32>, ratios: Vec<f64>, shrinkage: f64) -> Self {
        DiscriminantModel { vectors, offset, ratios, shrinkage }
    }

    /// Documents in the directions learnt, about the overall mean.
    pub fn transform(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        run.check()?;
        Ok(Matrix::from(run.install(|| x.multiply(&self.vectors, &self.offset))?))
    }

    /// How many directions there are.
    pub fn components(&self) -> usize {
        self.vectors.cols()
    }

    /// The directions: one row per input column.
    pub fn vectors(&self) -> &Dense {
        &self.vectors
    }

    /// λ of each direction, largest first: between-class over shrunk within-class scatter.
    pub fn ratios(&self) -> &[f64] {
        &self.ratios
    }

    /// The shrinkage used.
    pub fn shrinkage(&self) -> f64 {
        self.shrinkage
    }

    /// Puts the model into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        self.vectors.save("vectors", out);
        out.put_f32("offset", &[self.offset.len()], &self.offset);
        out.put_f64("ratios", &[self.ratios.len()], &self.ratios);
        out.put_f64("shrinkage", &[1], &[self.shrinkage]);
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let vectors = Dense::load(store, "vectors", None, None)?;
        let (offset, _) = store.f32s("offset", &[Some(vectors.cols())])?;
        let (ratios, _) = store.f64s("ratios", &[Some(vectors.cols())])?;
        let (shrinkage, _) = store.f64s("shrinkage", &[Some(1)])?;
        Ok(DiscriminantModel { vectors, offset, ratios, shrinkage: shrinkage[0] })
    }
}
