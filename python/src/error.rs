//! Exceptions with the texts of the library's errors.

use std::error::Error;
use std::io;

use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyPermissionError, PyValueError};
use pyo3::{PyErr, create_exception};

create_exception!(
    irrs,
    IrError,
    PyValueError,
    "Error of the library: invalid input, damaged files, parameters out of range. The text names file, line, expected and \
     found. Files that cannot be opened raise OSError."
);

/// Converts an error with its sources: `OSError` or a subclass if a source is an error of the
/// operating system, otherwise [`IrError`].
pub(crate) fn raise<E: Error + 'static>(error: E) -> PyErr {
    raise_dyn(&error)
}

/// [`raise`] of a trait object.
pub(crate) fn raise_dyn(error: &(dyn Error + 'static)) -> PyErr {
    let mut text = String::new();
    let mut kind = None;
    let mut next = Some(error);
    while let Some(current) = next {
        let message = current.to_string();
        if !text.contains(&message) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&message);
        }
        if let Some(io) = current.downcast_ref::<io::Error>() {
            kind = Some(io.kind());
        }
        next = current.source();
    }
    match kind {
        Some(io::ErrorKind::NotFound) => PyFileNotFoundError::new_err(text),
        Some(io::ErrorKind::PermissionDenied) => PyPermissionError::new_err(text),
        None
        | Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other) => {
            IrError::new_err(text)
        }
        Some(_) => PyOSError::new_err(text),
    }
}

/// Creates an [`IrError`] with a text.
pub(crate) fn invalid(text: impl Into<String>) -> PyErr {
    IrError::new_err(text.into())
}
