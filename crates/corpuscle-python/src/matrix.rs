//! Matrices: NumPy and the three arrays of SciPy's CSR in, the same out.

use corpuscle::matrix::{Csr, Dense, Matrix};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::convert::dense_to_python;
use crate::errors::raised;

/// A matrix handed in: a C-ordered float32 array, or `(indptr, indices, data, columns)` with indices in ascending order.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    Dense(PyReadonlyArray2<'py, f32>),
    Sparse(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i32>, PyReadonlyArray1<'py, f32>, usize),
}

impl Given<'_> {
    /// The matrix of the library; the arrays are copied once.
    pub(crate) fn matrix(&self) -> PyResult<Matrix> {
        match self {
            Given::Dense(array) => {
                let (rows, cols) = (array.shape()[0], array.shape()[1]);
                let values = array.as_slice()?.to_vec();
                finite(&values)?;
                Ok(Dense::new(rows, cols, values).map_err(raised)?.into())
            }
            Given::Sparse(indptr, indices, data, columns) => {
                let wrong = |_| PyValueError::new_err("sparse matrix: a negative index");
                let indptr = indptr.as_slice()?.iter().map(|&at| u64::try_from(at)).collect::<Result<Vec<_>, _>>();
                let indices = indices.as_slice()?.iter().map(|&at| u32::try_from(at)).collect::<Result<Vec<_>, _>>();
                let values = data.as_slice()?.to_vec();
                finite(&values)?;
                let sparse = Csr::new(*columns, indptr.map_err(wrong)?, indices.map_err(wrong)?, values);
                Ok(sparse.map_err(raised)?.into())
            }
        }
    }
}

fn finite(values: &[f32]) -> PyResult<()> {
    if values.iter().all(|value| value.is_finite()) {
        return Ok(());
    }
    Err(PyValueError::new_err("a value is too large for 32-bit floats, infinite or NaN"))
}

/// A matrix as `(sparse or None, dense or None, negative)`, where sparse is `(indptr, indices, data, columns)`. Arrays are moved;
/// pointers are 64-bit only when 32 bits are too few, since others refuse them.
pub(crate) fn to_python(py: Python<'_>, matrix: Matrix) -> PyResult<Bound<'_, PyTuple>> {
    let (sparse, dense, negative) = matrix.into_parts();
    let columns = sparse.cols();
    let mut parts = [py.None(), py.None(), negative.into_py_any(py)?];
    if columns > 0 || dense.cols() == 0 {
        let (indptr, indices, values) = sparse.into_parts();
        let small = i32::try_from(indices.len()).is_ok();
        let indices: Vec<u32> = indices.into_vec();
        let indices: Vec<i32> = bytemuck::allocation::cast_vec(indices);
        let values = PyArray1::from_vec(py, values.into_vec());
        parts[0] = if small {
            let pointers: Vec<i32> = indptr.iter().map(|&at| at as i32).collect();
            (PyArray1::from_vec(py, pointers), PyArray1::from_vec(py, indices), values, columns).into_py_any(py)?
        } else {
            let pointers: Vec<i64> = indptr.iter().map(|&at| at as i64).collect();
            let indices: Vec<i64> = indices.into_iter().map(i64::from).collect();
            (PyArray1::from_vec(py, pointers), PyArray1::from_vec(py, indices), values, columns).into_py_any(py)?
        };
    }
    if dense.cols() > 0 {
        parts[1] = dense_to_python(py, dense)?.into_py_any(py)?;
    }
    PyTuple::new(py, parts)
}
