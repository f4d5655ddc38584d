//! Texts of Python, borrowed: strings of a list as they stand, Arrow memory as it lies.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyList, PyString, PyTuple};
use pyo3_arrow::input::AnyArray;

/// A column of texts.
#[pyclass(frozen, module = "corpuscle._native")]
pub(crate) struct Texts {
    kept: Kept,
    length: usize,
}

enum Kept {
    Strings(Vec<PyBackedStr>),
    Arrow(Vec<ArrayRef>),
}

#[pymethods]
impl Texts {
    /// From a list or tuple of `str`, or from anything that exports Arrow strings.
    #[new]
    fn new(texts: &Bound<'_, PyAny>) -> PyResult<Self> {
        let kept = if let Ok(list) = texts.cast::<PyList>() {
            Kept::Strings(strings(list.iter())?)
        } else if let Ok(tuple) = texts.cast::<PyTuple>() {
            Kept::Strings(strings(tuple.iter())?)
        } else {
            Kept::Arrow(arrow(texts)?)
        };
        let length = match &kept {
            Kept::Strings(list) => list.len(),
            Kept::Arrow(chunks) => chunks.iter().map(|chunk| chunk.len()).sum(),
        };
        Ok(Texts { kept, length })
    }

    fn __len__(&self) -> usize {
        self.length
    }

    /// The texts as strings of Python.
    fn to_list(&self) -> PyResult<Vec<&str>> {
        self.slices()
    }

    /// Where the bytes of each chunk lie, for tests that nothing was copied; empty for a list of strings.
    fn addresses(&self) -> Vec<usize> {
        match &self.kept {
            Kept::Strings(_) => Vec::new(),
            Kept::Arrow(chunks) => chunks
                .iter()
                .flat_map(|c| c.to_data().buffers().iter().map(|b| b.as_ptr().addr()).collect::<Vec<_>>())
                .collect(),
        }
    }
}

impl Texts {
    /// Every text, 16 bytes for each and none of its own.
    pub(crate) fn slices(&self) -> PyResult<Vec<&str>> {
        match &self.kept {
            Kept::Strings(list) => Ok(list.iter().map(|text| text.as_str()).collect()),
            Kept::Arrow(chunks) => {
                let mut slices = Vec::with_capacity(self.length);
                for chunk in chunks {
                    push(chunk, &mut slices)?;
                }
                Ok(slices)
            }
        }
    }
}

fn strings<'py>(items: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Vec<PyBackedStr>> {
    let one = |(row, item): (usize, Bound<'py, PyAny>)| match item.cast_into::<PyString>() {
        Ok(text) => PyBackedStr::try_from(text),
        Err(error) => Err(not_a_text(row, &error.into_inner())),
    };
    items.enumerate().map(one).collect()
}

fn not_a_text(row: usize, item: &Bound<'_, PyAny>) -> PyErr {
    let kind = item.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    let missing = item.is_none() || (kind == "float" || kind == "NAType" || kind == "NaTType");
    let advice = match kind.as_str() {
        _ if missing => "is missing; put an empty string where a text is missing",
        "bytes" | "bytes_" => "is bytes; decode it to str",
        _ => "is no str",
    };
    let said = format!("text {row} ({}) {advice}", if item.is_none() { "None" } else { &kind });
    if missing { PyValueError::new_err(said) } else { PyTypeError::new_err(said) }
}

fn arrow(texts: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let exported: AnyArray = texts.extract()?;
    let chunks = exported.into_chunked_array()?.into_inner().0;
    chunks.into_iter().map(one_column).collect()
}

/// A frame comes as a struct; with one column that column is meant.
fn one_column(array: ArrayRef) -> PyResult<ArrayRef> {
    match array.as_struct_opt() {
        Some(columns) if columns.num_columns() == 1 => Ok(Arc::clone(columns.column(0))),
        Some(columns) => {
            let n = columns.num_columns();
            Err(PyValueError::new_err(format!("texts are one column, but this frame has {n}; choose one")))
        }
        None => Ok(array),
    }
}

fn push<'a>(array: &'a ArrayRef, slices: &mut Vec<&'a str>) -> PyResult<()> {
    if let Some(list) = array.as_string_opt::<i32>() {
        return collect(list.iter(), slices);
    }
    if let Some(list) = array.as_string_opt::<i64>() {
        return collect(list.iter(), slices);
    }
    if let Some(list) = array.as_string_view_opt() {
        return collect(list.iter(), slices);
    }
    macro_rules! dictionaries {
        ($($key:ty),+) => {
            $(if array.as_dictionary_opt::<$key>().is_some() {
                return dictionary::<$key>(array, slices);
            })+
        };
    }
    dictionaries!(Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type);
    if array.null_count() == array.len() && array.is_empty() {
        return Ok(());
    }
    Err(PyTypeError::new_err(format!("texts must be strings, not {}", array.data_type())))
}

fn collect<'a>(list: impl Iterator<Item = Option<&'a str>>, slices: &mut Vec<&'a str>) -> PyResult<()> {
    for text in list {
        let row = slices.len();
        slices.push(text.ok_or_else(|| missing(row))?);
    }
    Ok(())
}

fn dictionary<'a, K: ArrowDictionaryKeyType>(array: &'a ArrayRef, slices: &mut Vec<&'a str>) -> PyResult<()> {
    let Some(coded) = array.as_dictionary_opt::<K>() else { return Ok(()) };
    let mut values = Vec::with_capacity(coded.values().len());
    push(coded.values(), &mut values)?;
    for row in 0..coded.len() {
        let text = coded.key(row).and_then(|key| values.get(key).copied());
        slices.push(text.ok_or_else(|| missing(slices.len()))?);
    }
    Ok(())
}

fn missing(row: usize) -> PyErr {
    PyValueError::new_err(format!("text {row} (null) is missing; put an empty string where a text is missing"))
}
