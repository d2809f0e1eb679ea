//! Conversion of dictionaries of Python to documents, and back.

use std::collections::BTreeMap;

use ir_core::{AttributeValue, Document};
use ir_data::RecordKind;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};

use crate::ids::{expected, id_text};

/// Key of a dictionary of further attributes, as in JSON files.
const METADATA: &str = "metadata";

/// Converts a dictionary. `row` counts documents from 0, for errors.
///
/// Keys are as in JSON files: an id (`_id`, `id`, `docno`, ...), a text (`text`, `contents`,
/// ...), `title`. The others, and the members of `metadata`, are attributes; None, NaN and missing
/// values of pandas are left out.
pub(crate) fn document(record: &Bound<'_, PyAny>, row: usize) -> PyResult<Document> {
    let name = |field: &str| format!("document {row}: {field}");
    let Ok(record) = record.cast::<PyDict>() else {
        return Err(expected(&format!("document {row}"), "a dictionary", record));
    };
    let (id_key, id) = first_of(record, RecordKind::Document.id_names())?.ok_or_else(|| {
        let names: Vec<&str> = RecordKind::Document.id_names().collect();
        missing(record, &name("id"), &names.join(", "))
    })?;
    let mut document = Document::new(id_text(&id, &name(id_key))?);
    // As in files: Pyserini's `contents` is title and text.
    let contents = record.get_item("contents")?.filter(|_| id_key != "_id");
    let text = match contents {
        Some(contents) => Some(("contents", contents)),
        None => first_of(record, RecordKind::Document.text_names())?,
    };
    let title = record.get_item("title")?;
    if text.is_none() && title.is_none() {
        let names: Vec<&str> = RecordKind::Document.text_names().collect();
        return Err(missing(record, &name("text"), &names.join(", ")));
    }
    let text_key = text.as_ref().map(|(key, _)| *key);
    if let Some((key, text)) = &text {
        document.text = text_of(text, &name(key))?;
    }
    if let Some(title) = &title {
        document.title = text_of(title, &name("title"))?;
    }
    for (key, value) in record.iter() {
        let key = key
            .cast::<PyString>()
            .map_err(|_| expected(&name("key"), "a string", &key))?;
        let key = key.to_str()?;
        if key == id_key || Some(key) == text_key || key == "title" {
            continue;
        }
        if key == METADATA
            && let Ok(members) = value.cast::<PyDict>()
        {
            for (member, value) in members.iter() {
                let member = member.str()?;
                add(&mut document, member.to_str()?, &value, row)?;
            }
            continue;
        }
        add(&mut document, key, &value, row)?;
    }
    Ok(document)
}

/// First key of a list that a dictionary has, with its value.
fn first_of<'py>(
    record: &Bound<'py, PyDict>,
    names: impl Iterator<Item = &'static str>,
) -> PyResult<Option<(&'static str, Bound<'py, PyAny>)>> {
    for name in names {
        if let Some(value) = record.get_item(name)? {
            return Ok(Some((name, value)));
        }
    }
    Ok(None)
}

fn missing(record: &Bound<'_, PyDict>, name: &str, names: &str) -> PyErr {
    let keys: Vec<String> = record.keys().iter().map(|key| key.to_string()).collect();
    let keys = keys.join(", ");
    PyTypeError::new_err(format!(
        "{name}: expected one of the keys {names}, found {keys}"
    ))
}

/// Text of a field; empty for a missing value.
fn text_of(value: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    match value.cast::<PyString>() {
        Ok(text) => Ok(text.to_str()?.to_owned()),
        Err(_) if is_missing(value)? => Ok(String::new()),
        Err(_) => Err(expected(name, "a string", value)),
    }
}

fn add(document: &mut Document, key: &str, value: &Bound<'_, PyAny>, row: usize) -> PyResult<()> {
    if let Some(value) = attribute(value, &format!("document {row}: {key}"))? {
        document.attributes.set(key, value);
    }
    Ok(())
}

/// Returns `true` for None, NaN, and the missing values of pandas.
fn is_missing(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_none() {
        return Ok(true);
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(number.value().is_nan());
    }
    let kind = value.get_type().name()?;
    Ok(["NAType", "NaTType"].contains(&kind.to_str()?))
}

/// Converts the value of an attribute; `None` for a missing one.
pub(crate) fn attribute(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<AttributeValue>> {
    if is_missing(value)? {
        return Ok(None);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Some(text.to_str()?.into()));
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Some(value.is_true().into()));
    }
    if value.is_instance_of::<PyInt>() {
        let number = value.extract::<i64>();
        return number
            .map(|number| Some(number.into()))
            .map_err(|_| expected(name, "an integer of 64 bits", value));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        let number = number.value();
        // Integers beside missing values are floats in pandas.
        if number.fract() == 0.0 && number.abs() < 9e15 {
            return Ok(Some((number as i64).into()));
        }
        return Ok(Some(number.into()));
    }
    if let Ok(members) = value.cast::<PyList>() {
        return list(members.iter(), name).map(Some);
    }
    if let Ok(members) = value.cast::<PyTuple>() {
        return list(members.iter(), name).map(Some);
    }
    if let Ok(members) = value.cast::<PyDict>() {
        let mut map = BTreeMap::new();
        for (key, value) in members.iter() {
            let key = key.str()?.to_str()?.to_owned();
            if let Some(value) = attribute(&value, &format!("{name}.{key}"))? {
                map.insert(key, value);
            }
        }
        return Ok(Some(AttributeValue::Map(map)));
    }
    // Scalars and arrays of numpy; dates.
    for method in ["isoformat", "tolist"] {
        if value.hasattr(method)? {
            return attribute(&value.call_method0(method)?, name);
        }
    }
    if value.cast::<PyMapping>().is_ok() {
        let members = value.py().get_type::<PyDict>().call1((value,))?;
        return attribute(&members, name);
    }
    Err(expected(
        name,
        "a string, number, Boolean, list or dictionary",
        value,
    ))
}

fn list<'py>(
    members: impl Iterator<Item = Bound<'py, PyAny>>,
    name: &str,
) -> PyResult<AttributeValue> {
    let mut values = Vec::new();
    for member in members {
        values.extend(attribute(&member, name)?);
    }
    Ok(AttributeValue::List(values))
}

/// Converts a document to a dictionary: `id`, `title`, `text`, then the attributes.
pub(crate) fn to_dict<'py>(py: Python<'py>, document: &Document) -> PyResult<Bound<'py, PyDict>> {
    let record = PyDict::new(py);
    record.set_item("id", &document.id)?;
    record.set_item("title", &document.title)?;
    record.set_item("text", &document.text)?;
    for (name, value) in document.attributes.iter() {
        record.set_item(name, to_python(py, value)?)?;
    }
    Ok(record)
}

fn to_python<'py>(py: Python<'py>, value: &AttributeValue) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        AttributeValue::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        AttributeValue::Int(value) => value.into_pyobject(py)?.into_any(),
        AttributeValue::Float(value) => value.into_pyobject(py)?.into_any(),
        AttributeValue::Text(value) => value.into_pyobject(py)?.into_any(),
        AttributeValue::List(members) => {
            let list = PyList::empty(py);
            for member in members {
                list.append(to_python(py, member)?)?;
            }
            list.into_any()
        }
        AttributeValue::Map(members) => {
            let map = PyDict::new(py);
            for (key, value) in members {
                map.set_item(key, to_python(py, value)?)?;
            }
            map.into_any()
        }
    })
}
