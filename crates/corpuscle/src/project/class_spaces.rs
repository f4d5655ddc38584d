//! Documents in spaces that belong to classes: the fitted `slsi` and `local_lsi`.

use super::projector::{check_columns, gradient_of_product};
use super::{ProjectorModel, Weights};
use crate::matrix::{Dense, Matrix};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// The number that stands for all documents where others stand for a class.
pub(super) const EVERYBODY: u32 = u32::MAX;

/// Directions, each found among the documents of one class or among all.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassSpacesModel {
    /// One row per input column, one column per direction, as weights: a projection is a plain product.
    vectors: Dense,
    /// The class each direction comes from, or [`EVERYBODY`].
    origins: Vec<u32>,
}

impl ClassSpacesModel {
    /// From directions given one after the other, `inputs` weights each.
    pub(super) fn new(inputs: usize, directions: &[f32], origins: Vec<u32>) -> Result<Self> {
        let vectors = Dense::new(origins.len(), inputs, directions.to_vec())?.transpose();
        Ok(ClassSpacesModel { vectors, origins })
    }

    /// The directions: one row per input column.
    pub fn vectors(&self) -> &Dense {
        &self.vectors
    }

    /// The class whose documents each direction was found among; `None` for all documents.
    pub fn origins(&self) -> impl ExactSizeIterator<Item = Option<usize>> + '_ {
        self.origins.iter().map(|&class| (class != EVERYBODY).then_some(class as usize))
    }

    /// Takes a model out of a store, checking it whole.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let vectors = Dense::load(store, "vectors", None, None)?;
        let origins = store.u32s("origins", Some(vectors.cols()))?;
        if origins.is_empty() {
            return Err(Error::model("there are no directions"));
        }
        Ok(ClassSpacesModel { vectors, origins })
    }
}

impl ProjectorModel for ClassSpacesModel {
    /// Documents along the directions.
    fn transform(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        run.check()?;
        check_columns("columns", self.n_inputs(), x)?;
        Ok(Matrix::from(run.install(|| x.multiply(&self.vectors, &vec![0.0; self.vectors.cols()]))?))
    }

    fn n_inputs(&self) -> usize {
        self.vectors.rows()
    }

    fn n_columns(&self) -> usize {
        self.vectors.cols()
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        self.vectors.save("vectors", out);
        out.put_u32("origins", &self.origins);
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
        let classes = self.origins().flatten().max().map_or(0, |last| last + 1);
        let count = |class: usize| self.origins().filter(|&origin| origin == Some(class)).count().to_string();
        vec![("directions of each class", (0..classes).map(count).collect::<Vec<_>>().join(", "))]
    }
}
