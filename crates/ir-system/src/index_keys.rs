//! Keys that describe an index, compared with the index that a system is opened on.

use std::collections::BTreeSet;

use ir_bm25::{IndexConfig, IndexedFields};
use ir_data::DocTemplate;
use serde::Deserialize;
use toml::Table;

use crate::entries::{AnalyzerEntry, IndexedFieldsEntry, template};
use crate::error::SystemError;

/// Type with the key `template` of its index. Other types render stored texts by their `template`.
const BM25: &str = "bm25";

/// Compares the key `analyzer` of any type, and `template` of the type `bm25`, with an index.
///
/// An index does not record the template of its texts. Returns a warning about the key `template`
/// for a template that the index may have.
///
/// # Errors
/// Returns [`SystemError::Parameter`] with the key, the value of the index and the value found.
pub(crate) fn check_index_keys(
    kind: &str,
    parameters: &Table,
    index: &IndexConfig,
) -> Result<Option<String>, SystemError> {
    if let Some(value) = parameters.get("analyzer") {
        let entry = AnalyzerEntry::deserialize(value.clone());
        let entry = entry.map_err(|error| SystemError::parameter("analyzer", error.message()))?;
        let (expected, found) = (&index.analysis, entry.analysis()?);
        if *expected != found {
            let message = match (expected.to_string(), found.to_string()) {
                // The name has the number of words of a list only.
                (expected, found) if expected == found => {
                    format!("expected the analyzer of the index, found other words in {found}")
                }
                (expected, found) => {
                    format!("expected the analyzer of the index, {expected}, found {found}")
                }
            };
            return Err(SystemError::parameter("analyzer", message));
        }
    }
    let given = parameters.get("template").and_then(toml::Value::as_str);
    let Some(given) = given.filter(|_| kind == BM25).map(template).transpose()? else {
        return Ok(None);
    };
    let given = given.to_string();
    if index.fields != IndexedFields::TextOnly {
        let fields = name(index.fields);
        let message =
            format!("expected no template, the index has the fields {fields}, found {given:?}");
        return Err(SystemError::parameter("template", message));
    }
    let warning = || format!("the index has no record of its template, which must be {given:?}");
    Ok((given != DocTemplate::text_only().to_string()).then(warning))
}

/// Compares the key `fields` of any type with an index.
///
/// # Errors
/// Returns [`SystemError::Parameter`] with the fields of the index and the fields found.
pub(crate) fn check_fields(parameters: &Table, index: &IndexConfig) -> Result<(), SystemError> {
    let Some(value) = parameters.get("fields") else {
        return Ok(());
    };
    let entry = IndexedFieldsEntry::deserialize(value.clone());
    let entry = entry.map_err(|error| SystemError::parameter("fields", error.message()))?;
    let found = entry.fields()?;
    let names = |fields: IndexedFields| fields.names().iter().collect::<BTreeSet<_>>();
    if names(found) == names(index.fields) {
        return Ok(());
    }
    let (expected, found) = (name(index.fields), name(found));
    let message = format!("expected the fields of the index, {expected}, found {found}");
    Err(SystemError::parameter("fields", message))
}

/// Value of the key `fields`.
fn name(fields: IndexedFields) -> String {
    match fields {
        IndexedFields::One => "one".to_owned(),
        IndexedFields::TextOnly => "text".to_owned(),
        IndexedFields::Separate => "separate".to_owned(),
        other => format!("{:?}", other.names()),
    }
}
