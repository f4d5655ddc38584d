//! A mixture of Gaussians over the rows of a matrix.

use corpuscle::matrix::Dense;
use corpuscle::params::Params;
use corpuscle::recipe::model_file::Provenance;
use corpuscle::store::StoreWriter;
use corpuscle::words::{Mixture as Fitted, MixtureParams};
use corpuscle::{Result, Run};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::convert::{dense_to_python, params_of};
use crate::errors::raised;
use crate::matrix::{Given, to_python};
use crate::run::Settings;
use crate::sealed;

/// A fitted mixture.
#[pyclass(frozen, module = "corpuscle._native")]
pub(crate) struct Mixture {
    fitted: Fitted,
}

#[pymethods]
impl Mixture {
    /// Fits a mixture with the settings, JSON, on the rows of a matrix without sparse columns; gives it and what [`Mixture::transform`] would.
    #[staticmethod]
    fn fit<'py>(
        py: Python<'py>,
        settings: &str,
        x: Given<'py>,
        run: &Settings,
    ) -> PyResult<(Self, Bound<'py, PyTuple>)> {
        let (params, x): (MixtureParams, Dense) = (params_of(settings)?, x.matrix()?.into_parts().1);
        let (fitted, rows) = run.work(py, |run| {
            let fitted = run.stage(MixtureParams::NAME, None, || params.fit(&x, run))?;
            let rows = posteriors(&fitted, &x, run)?;
            Ok((fitted, rows))
        })?;
        Ok((Mixture { fitted }, to_python(py, rows.into())?))
    }

    /// The probability of each component given each row.
    fn transform<'py>(&self, py: Python<'py>, x: Given<'py>, run: &Settings) -> PyResult<Bound<'py, PyTuple>> {
        let x = x.matrix()?.into_parts().1;
        to_python(py, run.work(py, |run| posteriors(&self.fitted, &x, run))?.into())
    }

    #[getter]
    fn means<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        dense_to_python(py, self.fitted.means())
    }

    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.fitted.weights())
    }

    /// The mean log-likelihood of a row before each step.
    #[getter]
    fn likelihoods(&self) -> Vec<f64> {
        self.fitted.likelihoods().to_vec()
    }

    #[getter]
    fn converged(&self) -> bool {
        self.fitted.converged()
    }

    #[getter]
    fn notes(&self) -> Vec<(&'static str, String)> {
        let steps = format!("{} steps", self.fitted.likelihoods().len());
        vec![("solver", if self.fitted.converged() { steps } else { format!("{steps}, not yet converged") })]
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = || {
            let mut store = StoreWriter::new();
            self.fitted.save(&mut store)?;
            sealed::to_bytes(MixtureParams::NAME.to_string(), Provenance::default(), store)
        };
        Ok(PyBytes::new(py, &bytes().map_err(raised)?))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let fitted = sealed::built(|_| Fitted::load(&sealed::from_bytes(bytes)?.1.reader()))?;
        Ok(Mixture { fitted })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Mixture>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }
}

/// Every probability, however small.
fn posteriors(mixture: &Fitted, x: &Dense, run: &Run) -> Result<Dense> {
    let shares = mixture.posteriors(x, 0.0, run)?;
    let mut rows = Dense::zeros(shares.rows(), shares.cols());
    for row in 0..shares.rows() {
        let (columns, values) = shares.row(row);
        columns.iter().zip(values).for_each(|(&column, &value)| rows.row_mut(row)[column as usize] = value);
    }
    Ok(rows)
}
