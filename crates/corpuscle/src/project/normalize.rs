//! Brings every row to length 1, so that inner products are cosines.
//!
//! x ← x / √⟨x, x⟩, in the inner product of rows; rows of length 0 stay as they are. O(stored numbers).
//!
//! ```
//! use corpuscle::Run;
//! use corpuscle::corpus::Labels;
//! use corpuscle::matrix::{Csr, Matrix};
//! use corpuscle::project::{NormalizeParams, Projector, Target};
//! let x = Matrix::from(Csr::from_rows(2, [vec![(0, 3.0), (1, 4.0)]]));
//! let (_, unit) = NormalizeParams {}.fit(&x, &Target::new(&Labels::none(1)), &Run::new(1, 1)?)?;
//! assert_eq!(unit.row(0).values, [0.6, 0.8]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::projector::check_columns;
use super::{Columns, Projector, ProjectorModel, Target, Weights};
use crate::matrix::{Dense, Matrix};
use crate::params::{Param, Params};
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// Parameters of `normalize`: there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormalizeParams {}

/// A fitted `normalize`: it remembers how many columns it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NormalizeModel {
    columns: usize,
}

impl Params for NormalizeParams {
    const NAME: &'static str = "normalize";
    const ABOUT: &'static str = "brings every document to length 1";

    fn table() -> Vec<Param<Self>> {
        Vec::new()
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

impl Projector for NormalizeParams {
    type Model = NormalizeModel;
    const MAKES: Columns = Columns::Same;

    fn fit(&self, x: &Matrix, _: &Target<'_>, run: &Run) -> Result<(NormalizeModel, Matrix)> {
        let model = NormalizeModel::new(x.cols());
        let rows = model.transform(x, run)?;
        Ok((model, rows))
    }

    fn load(&self, store: &StoreReader<'_>) -> Result<NormalizeModel> {
        NormalizeModel::load(store)
    }
}

impl NormalizeModel {
    /// For rows of so many columns; there is nothing else to learn.
    pub fn new(columns: usize) -> Self {
        NormalizeModel { columns }
    }

    /// Takes a model out of a store.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let columns = usize::try_from(store.u64s("columns", Some(1))?[0]);
        Ok(NormalizeModel { columns: columns.map_err(|_| Error::model("normalize: too many columns"))? })
    }
}

impl ProjectorModel for NormalizeModel {
    /// The rows, each of length 1.
    fn transform(&self, x: &Matrix, run: &Run) -> Result<Matrix> {
        run.check()?;
        check_columns("columns to normalize", self.columns, x)?;
        let mut unit = x.clone();
        run.install(|| unit.normalize_rows());
        Ok(unit)
    }

    fn n_inputs(&self) -> usize {
        self.columns
    }

    fn n_columns(&self) -> usize {
        self.columns
    }

    fn save(&self, out: &mut StoreWriter) -> Result<()> {
        out.put_u64("columns", &[self.columns as u64]);
        Ok(())
    }

    /// d(w·x/‖x‖)/dx = (w − (w·u) J u)/‖x‖ with u = x/‖x‖, J turning the sign of columns that count negatively.
    fn gradient(&self, x: &Matrix, weights: &Weights<'_>, _run: &Run) -> Result<Option<Dense>> {
        let row = x.row(0);
        let length = row.norm_squared().max(0.0).sqrt();
        let mut gradient = Dense::zeros(self.columns, 1);
        let mut score = 0f64;
        row.for_each(|column, value| {
            let weight = weights.at(column);
            gradient.row_mut(column)[0] = weight;
            score += f64::from(weight) * f64::from(value);
        });
        if length > 0.0 {
            row.add_to((-score / (length * length)) as f32, gradient.values_mut());
            row.for_each(|column, _| {
                let value = &mut gradient.row_mut(column)[0];
                *value = (f64::from(*value) / length) as f32;
            });
        }
        Ok(Some(gradient))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Labels;
    use crate::store::tests::round_trip;

    #[test]
    fn both_parts_are_scaled_together() {
        let run = Run::new(0, 1).unwrap();
        let sparse = crate::matrix::Csr::from_rows(1, [vec![(0, 3.0)], vec![]]);
        let x = Matrix::new(sparse, Dense::from_rows(&[[4.0], [0.0]]), 0).unwrap();
        let model = NormalizeParams {}.fit(&x, &Target::new(&Labels::none(2)), &run).unwrap().0;
        let model = round_trip(|out| model.save(out).unwrap(), NormalizeModel::load).unwrap();
        let normalized = model.transform(&x, &run).unwrap();
        assert!((normalized.row(0).norm_squared() - 1.0).abs() < 1e-6);
        assert_eq!(normalized.row(1).norm_squared(), 0.0);
        assert!(model.transform(&Matrix::from(Dense::zeros(1, 3)), &run).is_err());
    }
}
