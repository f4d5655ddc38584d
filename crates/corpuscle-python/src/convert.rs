//! Labels and arrays between the two languages.

use corpuscle::Error;
use corpuscle::corpus::Labels;
use corpuscle::matrix::Dense;
use corpuscle::params::Params;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::raised;

/// What is learnt from: class numbers of rows, and what each row counts.
#[pyclass(frozen, module = "corpuscle._native")]
pub(crate) struct Target {
    pub(crate) labels: Labels,
    pub(crate) weights: Option<Vec<f32>>,
}

#[pymethods]
impl Target {
    /// `codes[starts[i]:starts[i + 1]]` are the classes of row `i`; a row is unlabelled where `labelled` is false.
    #[new]
    #[pyo3(signature = (classes, starts, codes, labelled, weights=None))]
    fn new(
        classes: Vec<String>,
        starts: PyReadonlyArray1<'_, i64>,
        codes: PyReadonlyArray1<'_, u32>,
        labelled: PyReadonlyArray1<'_, bool>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
    ) -> PyResult<Self> {
        let (starts, codes, labelled) = (starts.as_slice()?, codes.as_slice()?, labelled.as_slice()?);
        let apart = || PyValueError::new_err("starts, codes and labelled do not fit together");
        if starts.len() != labelled.len() + 1 {
            return Err(apart());
        }
        let mut rows = Vec::with_capacity(labelled.len());
        for (pair, &labelled) in starts.windows(2).zip(labelled) {
            let range = usize::try_from(pair[0]).ok().zip(usize::try_from(pair[1]).ok());
            let own = range.and_then(|(from, to)| codes.get(from..to)).ok_or_else(apart)?;
            rows.push(labelled.then(|| own.to_vec()));
        }
        let labels = Labels::with_classes(classes, rows).map_err(raised)?;
        let weights = weights.map(|weights| weights.as_slice().map(<[f32]>::to_vec)).transpose()?;
        Ok(Target { labels, weights })
    }

    /// Rows without labels.
    #[staticmethod]
    fn none(rows: usize) -> Self {
        Target { labels: Labels::none(rows), weights: None }
    }

    fn __len__(&self) -> usize {
        self.labels.len()
    }
}

/// Parameters from JSON, checked.
pub(crate) fn params_of<P: Params>(settings: &str) -> PyResult<P> {
    let wrong = |e: serde_json::Error| Error::data(format!("settings of `{}`: {e}", P::NAME));
    serde_json::from_str(settings).map_err(wrong).and_then(|values| P::from_json(&values)).map_err(raised)
}

/// A dense matrix as an array, moved.
pub(crate) fn dense_to_python(py: Python<'_>, dense: Dense) -> PyResult<Bound<'_, PyArray2<f32>>> {
    let shape = [dense.rows(), dense.cols()];
    PyArray1::from_vec(py, dense.into_values()).reshape(shape)
}

/// The classes given to rows, as pointers and numbers.
pub(crate) type Lists<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u32>>);

/// Lists of class numbers as two arrays.
pub(crate) fn lists_to_python<'py>(py: Python<'py>, lists: &[Vec<u32>]) -> Lists<'py> {
    let mut starts = Vec::with_capacity(lists.len() + 1);
    starts.push(0);
    let mut codes = Vec::with_capacity(lists.len());
    for list in lists {
        codes.extend_from_slice(list);
        starts.push(codes.len() as i64);
    }
    (PyArray1::from_vec(py, starts), PyArray1::from_vec(py, codes))
}
