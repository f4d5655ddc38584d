//! Errors of the library as Python's own.

use corpuscle::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};

/// The exception that says what the library says.
pub(crate) fn raised(error: Error) -> PyErr {
    match error {
        Error::Io { path, source } => match source.raw_os_error() {
            // With its number Python makes it FileNotFoundError, PermissionError and so on.
            Some(number) => {
                let text = source.to_string();
                let said = text.split(" (os error").next().unwrap_or_default().to_string();
                PyOSError::new_err((number, said, path.display().to_string()))
            }
            None => PyOSError::new_err(format!("{}: {source}", path.display())),
        },
        Error::Cancelled => PyKeyboardInterrupt::new_err(()),
        other => PyValueError::new_err(other.to_string()),
    }
}
