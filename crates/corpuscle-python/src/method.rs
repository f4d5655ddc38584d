//! One fitted stage over matrices.

use corpuscle::project::{ColumnNames, Target as Learnt};
use corpuscle::recipe::{FittedMethod, Method};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::convert::{Lists, Target, dense_to_python, lists_to_python};
use crate::errors::raised;
use crate::matrix::{Given, to_python};
use crate::run::Settings;

/// A fitted projection or classifier.
#[pyclass(frozen, module = "corpuscle._native")]
pub(crate) struct Fitted {
    fitted: FittedMethod,
}

/// Weights and bias of a linear classifier.
type Linear<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray1<f32>>);

/// Labels given, scores, and probabilities when there are some.
pub(crate) type Said<'py> = (Lists<'py>, Bound<'py, PyArray2<f32>>, Option<Bound<'py, PyArray2<f32>>>);

/// Fits the stage `text` names on a matrix; gives it and what became of the rows (`None` for a classifier).
#[pyfunction]
#[pyo3(signature = (text, x, target, run, names=None))]
pub(crate) fn fit_method<'py>(
    py: Python<'py>,
    text: &str,
    x: Given<'py>,
    target: &Target,
    run: &Settings,
    names: Option<Vec<String>>,
) -> PyResult<(Fitted, Option<Bound<'py, PyTuple>>)> {
    let method = Method::parse(text).map_err(raised)?;
    let matrix = x.matrix()?;
    let (fitted, rows) = run.work(py, |run| {
        let names: Option<ColumnNames> = names.map(|names| {
            let give: ColumnNames = std::sync::Arc::new(move || names.clone());
            give
        });
        let mut learnt = Learnt::new(&target.labels).with_weights(target.weights.as_deref());
        if let Some(names) = &names {
            learnt = learnt.with_names(names);
        }
        method.fit(&matrix, &learnt, run)
    })?;
    let rows = rows.map(|rows| to_python(py, rows)).transpose()?;
    Ok((Fitted { fitted }, rows))
}

#[pymethods]
impl Fitted {
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let run = corpuscle::Run::new(corpuscle::DEFAULT_SEED, 1).map_err(raised)?;
        Ok(Fitted { fitted: run.install(|| FittedMethod::from_bytes(bytes, &run)).map_err(raised)? })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.fitted.to_bytes().map_err(raised)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Fitted>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    fn transform<'py>(&self, py: Python<'py>, x: Given<'py>, run: &Settings) -> PyResult<Bound<'py, PyTuple>> {
        let matrix = x.matrix()?;
        to_python(py, run.work(py, |run| self.fitted.transform(&matrix, run))?)
    }

    fn predict<'py>(&self, py: Python<'py>, x: Given<'py>, run: &Settings) -> PyResult<Said<'py>> {
        let matrix = x.matrix()?;
        let found = run.work(py, |run| self.fitted.predict(&matrix, run))?;
        let probabilities = found.probabilities.map(|values| dense_to_python(py, values)).transpose()?;
        Ok((lists_to_python(py, &found.labels), dense_to_python(py, found.scores)?, probabilities))
    }

    /// Weights (columns × classes) and bias of a linear classifier.
    fn linear<'py>(&self, py: Python<'py>) -> PyResult<Option<Linear<'py>>> {
        let Some(linear) = self.fitted.linear() else { return Ok(None) };
        let weights = dense_to_python(py, linear.weights().clone())?;
        Ok(Some((weights, PyArray1::from_slice(py, linear.bias()))))
    }

    fn feature_names(&self, before: Vec<String>) -> Vec<String> {
        self.fitted.feature_names(before)
    }

    #[getter]
    fn recipe(&self) -> &str {
        self.fitted.recipe()
    }

    #[getter]
    fn n_inputs(&self) -> usize {
        self.fitted.n_inputs()
    }

    #[getter]
    fn n_columns(&self) -> usize {
        self.fitted.n_columns()
    }

    #[getter]
    fn has_probabilities(&self) -> bool {
        self.fitted.has_probabilities()
    }

    #[getter]
    fn notes(&self) -> Vec<(&'static str, String)> {
        self.fitted.notes()
    }
}
