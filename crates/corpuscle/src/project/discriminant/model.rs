//! A fitted `discriminant`.

use super::super::projector::gradient_of_product;
use super::super::{ProjectorModel, Weights};
use crate::matrix::{Dense, Matrix};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

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

    /// A model whose directions (a row for each input column) were found elsewhere, with what brings the documents' mean to 0 in
    /// each, its ratio of variances, and the shrinkage used.
    pub fn from_parts(vectors: Dense, offset: Vec<f32>, ratios: Vec<f64>, shrinkage: f64) -> Result<Self> {
        for found in [offset.len(), ratios.len()] {
            if found != vectors.cols() {
                return Err(Error::Shape { what: "values of the directions", expected: vectors.cols(), found });
            }
        }
        Ok(Self::new(vectors, offset, ratios, shrinkage))
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

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let vectors = Dense::load(store, "vectors", None, None)?;
        let (offset, _) = store.f32s("offset", &[Some(vectors.cols())])?;
        let (ratios, _) = store.f64s("ratios", &[Some(vectors.cols())])?;
        let (shrinkage, _) = store.f64s("shrinkage", &[Some(1)])?;
        Ok(DiscriminantModel { vectors, offset, ratios, shrinkage: shrinkage[0] })
    }
}

impl ProjectorModel for DiscriminantModel {
    /// Documents in the directions learnt, about the overall mean.
    fn transform(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        run.check()?;
        Ok(Matrix::from(run.install(|| x.multiply(&self.vectors, &self.offset))?))
    }

    fn n_inputs(&self) -> usize {
        self.vectors.rows()
    }

    fn n_columns(&self) -> usize {
        self.components()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.vectors.save("vectors", out);
        out.put_f32("offset", &[self.offset.len()], &self.offset);
        out.put_f64("ratios", &[self.ratios.len()], &self.ratios);
        out.put_f64("shrinkage", &[1], &[self.shrinkage]);
        Ok(())
    }

    /// Directions stand for no term.
    fn feature_names(&self, _before: Vec<String>) -> Vec<String> {
        Vec::new()
    }

    fn is_linear(&self) -> bool {
        true
    }

    fn gradient(&self, x: &Matrix, weights: &Weights<'_>, _run: &Run) -> Result<Option<Dense>> {
        Ok(Some(gradient_of_product(&self.vectors, x, weights)))
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        vec![("shrinkage", self.shrinkage.to_string())]
    }
}
