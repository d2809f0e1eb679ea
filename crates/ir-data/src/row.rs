//! Documents from the rows of a table.

use ir_core::{AttributeValue, Document};

use crate::error::{DataError, Location};
use crate::json::{FieldNames, id_of, type_name};

/// Sets a field of `doc` to the value of a cell; `name` is the column. `fields` says which columns
/// are id, title, text and metadata; all others are attributes.
pub(crate) fn set_field(
    doc: &mut Document,
    fields: &FieldNames,
    name: &str,
    value: AttributeValue,
    at: Location<'_>,
) -> Result<(), DataError> {
    if name == fields.id {
        doc.id =
            id_of(value).map_err(|found| at.wrong_type(format!("{name:?}"), "an id", found))?;
    } else if name == fields.text || Some(name) == fields.title.as_deref() {
        let AttributeValue::Text(text) = value else {
            return Err(at.wrong_type(format!("{name:?}"), "a string", type_name(&value)));
        };
        if name == fields.text {
            doc.text = text;
        } else {
            doc.title = text;
        }
    } else if Some(name) == fields.metadata.as_deref()
        && let AttributeValue::Map(members) = value
    {
        for (name, value) in members {
            set_attribute(doc, &name, value, at)?;
        }
    } else {
        set_attribute(doc, name, value, at)?;
    }
    Ok(())
}

fn set_attribute(
    doc: &mut Document,
    name: &str,
    value: AttributeValue,
    at: Location<'_>,
) -> Result<(), DataError> {
    if doc.attributes.get(name).is_some() {
        return Err(at.repeated_field(name));
    }
    doc.attributes.set(name, value);
    Ok(())
}

/// Returns an error if a row had no id.
pub(crate) fn check_id(
    doc: &Document,
    fields: &FieldNames,
    at: Location<'_>,
) -> Result<(), DataError> {
    if doc.id.is_empty() {
        return Err(at.wrong_type(format!("{:?}", fields.id), "an id", "an empty cell"));
    }
    Ok(())
}
