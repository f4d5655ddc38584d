//! Brings every row to length 1, so that inner products are cosines.
//!
//! x ← x / √⟨x, x⟩, in the inner product of rows; rows of length 0 stay as they are. O(stored numbers).
//!
//! ```
//! use corpuscle::Run;
//! use corpuscle::matrix::{Csr, Matrix};
//! use corpuscle::project::NormalizeParams;
//! let x = Matrix::from(Csr::from_rows(2, [vec![(0, 3.0), (1, 4.0)]]));
//! let model = NormalizeParams {}.fit(&x, &Run::new(1, 1)?)?;
//! assert_eq!(model.transform(x)?.row(0).values, [0.6, 0.8]);
//! # Ok::<(), corpuscle::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::matrix::Matrix;
use crate::store::{StoreReader, StoreWriter};
use crate::{Error, Result, Run};

/// Parameters of `normalize`: there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormalizeParams {}

/// A fitted `normalize`: it remembers how many columns it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NormalizeModel {
    cols: usize,
}

impl NormalizeParams {
    /// Nothing can be out of range.
    pub fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Remembers the shape of the rows.
    pub fn fit(&self, x: &Matrix, run: &Run) -> Result<NormalizeModel> {
        run.check()?;
        Ok(NormalizeModel { cols: x.cols() })
    }
}

impl NormalizeModel {
    /// The rows, each of length 1.
    pub fn transform(&self, mut x: Matrix) -> Result<Matrix> {
        if x.cols() != self.cols {
            return Err(Error::Shape { what: "columns to normalize", expected: self.cols, found: x.cols() });
        }
        x.normalize_rows();
        Ok(x)
    }

    /// How many columns the rows must have.
    pub fn n_columns(&self) -> usize {
        self.cols
    }

    /// Puts the model into a store.
    pub fn save(&self, out: &mut StoreWriter) {
        out.put_u64("columns", &[self.cols as u64]);
    }

    /// Takes a model out of a store.
    pub fn load(store: &StoreReader<'_>) -> Result<Self> {
        let cols = usize::try_from(store.u64s("columns", Some(1))?[0]);
        Ok(NormalizeModel { cols: cols.map_err(|_| Error::model("normalize: too many columns"))? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Dense;
    use crate::store::tests::round_trip;

    #[test]
    fn both_parts_are_scaled_together() {
        let sparse = crate::matrix::Csr::from_rows(1, [vec![(0, 3.0)], vec![]]);
        let x = Matrix::new(sparse, Dense::from_rows(&[[4.0], [0.0]]), 0).unwrap();
        let model = NormalizeParams {}.fit(&x, &Run::new(0, 1).unwrap()).unwrap();
        let model = round_trip(|out| model.save(out), NormalizeModel::load).unwrap();
        let normalized = model.transform(x).unwrap();
        assert!((normalized.row(0).norm_squared() - 1.0).abs() < 1e-6);
        assert_eq!(normalized.row(1).norm_squared(), 0.0);
        assert!(model.transform(Matrix::from(Dense::zeros(1, 3))).is_err());
    }
}
