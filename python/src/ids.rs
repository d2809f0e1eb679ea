//! Arguments: ids of queries and documents, which are strings or integers in decimal form, and
//! values that have names.

use std::borrow::Cow;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};

use crate::error::invalid;

/// Text of an id: a string, or an integer (also of numpy) in decimal form.
pub(crate) fn id_text<'a>(id: &'a Bound<'_, PyAny>, name: &str) -> PyResult<Cow<'a, str>> {
    if let Ok(text) = id.cast::<PyString>() {
        return Ok(Cow::Borrowed(text.to_str()?));
    }
    let is_number = !id.is_instance_of::<PyBool>() && !id.is_instance_of::<PyFloat>();
    if is_number && (id.is_instance_of::<PyInt>() || id.hasattr("__index__")?) {
        let number = id.call_method0("__index__")?;
        return Ok(Cow::Owned(number.str()?.to_str()?.to_owned()));
    }
    Err(expected(name, "a string or an integer", id))
}

/// Value of a parameter by its name.
pub(crate) fn choice<T: Copy>(name: &str, found: &str, values: &[(&str, T)]) -> PyResult<T> {
    let value = values.iter().find(|(known, _)| *known == found);
    value.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = values.iter().map(|(known, _)| *known).collect();
        invalid(format!(
            "{name}: expected one of {}, found {found:?}",
            known.join(", ")
        ))
    })
}

/// `TypeError` of a value, with its type.
pub(crate) fn expected(name: &str, expected: &str, found: &Bound<'_, PyAny>) -> PyErr {
    let kind = found.get_type().name();
    let kind = kind.map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let shown = found.repr().map_or_else(
        |_| String::new(),
        |repr| {
            let repr = repr.to_string();
            repr.chars().take(60).collect()
        },
    );
    PyTypeError::new_err(format!(
        "{name}: expected {expected}, found {shown} ({kind})"
    ))
}
