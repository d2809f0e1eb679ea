//! Names of the id and text fields in published collections.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;

use super::FieldNames;
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location};

/// Content of a record: a document or a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// Document with an id, a text and optionally a title.
    Document,
    /// Query or topic with an id and a text.
    Query,
}

/// Names by precedence. A record has at most one name of a group.
type Names = &'static [&'static [&'static str]];

const DOCUMENT_IDS: Names = &[
    &["_id"],
    &["id"],
    // The document of a passage of MS MARCO 2 is its `docid`.
    &["pid"],
    &["docid", "docno", "doc_id"],
    // CORD-19.
    &["cord_uid"],
];
const QUERY_IDS: Names = &[
    &["_id"],
    &["id"],
    &["qid", "query_id", "query-id", "queryid"],
];
const DOCUMENT_TEXTS: Names = &[
    &["text"],
    &["contents"],
    &["passage", "body", "segment", "content"],
    &["abstract"],
];
const QUERY_TEXTS: Names = &[&["text"], &["contents"], &["query", "question"], &["title"]];

impl RecordKind {
    const fn ids(self) -> Names {
        match self {
            Self::Document => DOCUMENT_IDS,
            Self::Query => QUERY_IDS,
        }
    }

    const fn texts(self) -> Names {
        match self {
            Self::Document => DOCUMENT_TEXTS,
            Self::Query => QUERY_TEXTS,
        }
    }

    /// Names of id fields and of columns with ids, in order of precedence.
    ///
    /// ```
    /// use ir_data::RecordKind;
    /// assert_eq!(RecordKind::Document.id_names().last(), Some("cord_uid"));
    /// ```
    pub fn id_names(self) -> impl Iterator<Item = &'static str> {
        self.ids().iter().copied().flatten().copied()
    }

    /// Names of text fields and of columns with texts, in order of precedence.
    ///
    /// ```
    /// use ir_data::RecordKind;
    /// assert_eq!(RecordKind::Query.text_names().last(), Some("title"));
    /// ```
    pub fn text_names(self) -> impl Iterator<Item = &'static str> {
        self.texts().iter().copied().flatten().copied()
    }
}

impl FieldNames {
    /// Field names of a file, by the fields of its first record.
    ///
    /// | field | names, by precedence |
    /// |---|---|
    /// | id of a document | `_id`; `id`; `pid`; `docid`, `docno`, `doc_id`; `cord_uid` |
    /// | its text | `text`; `contents`; `passage`, `body`, `segment`, `content`; `abstract` |
    /// | id of a query | `_id`; `id`; `qid`, `query_id`, `query-id`, `queryid` |
    /// | text of a query | `text`; `contents`; `query`, `question`; `title` |
    ///
    /// There is no precedence between names that a comma separates. `contents` takes precedence
    /// over `text` unless the id is `_id`. The members of an object `metadata` become attributes. A
    /// `record` that is not a JSON object gives [`FieldNames::beir`]; the reader of the file
    /// reports it. `line` is the line of the record in `source`.
    ///
    /// ```
    /// use ir_data::{FieldNames, RecordKind};
    /// let record = "{\"pid\": \"m_1\", \"passage\": \"Green tea\", \"docid\": \"m\"}";
    /// let fields = FieldNames::detect(record, RecordKind::Document, "docs.jsonl", 1)?;
    /// assert_eq!((fields.id.as_str(), fields.text.as_str()), ("pid", "passage"));
    /// # Ok::<(), ir_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`DataError::FieldNames`] if the record has no id or no text of these names, or two
    /// between which there is no precedence, such as `docid` and `docno`.
    pub fn detect(
        record: &str,
        kind: RecordKind,
        source: &str,
        line: u64,
    ) -> Result<Self, DataError> {
        Self::detect_with(record, kind, &GivenNames::default(), source, line)
    }

    /// [`FieldNames::detect`] with names that the user has given.
    ///
    /// # Errors
    /// The record has no field of a given name, or the other names are an error of
    /// [`FieldNames::detect`].
    pub fn detect_with(
        record: &str,
        kind: RecordKind,
        given: &GivenNames,
        source: &str,
        line: u64,
    ) -> Result<Self, DataError> {
        let Ok(members) = serde_json::from_str::<BTreeMap<String, IgnoredAny>>(record) else {
            return Ok(Self::beir());
        };
        let names: Vec<&str> = members.keys().map(String::as_str).collect();
        Self::detect_in(&names, kind, given, source, line)
    }

    /// [`FieldNames::detect_with`] of a record with fields of these names.
    ///
    /// # Errors
    /// Returns the errors of [`FieldNames::detect_with`].
    pub fn detect_in(
        names: &[&str],
        kind: RecordKind,
        given: &GivenNames,
        source: &str,
        line: u64,
    ) -> Result<Self, DataError> {
        Self::of_columns(names, kind, given, Location::new(source, line))
    }

    /// Field names of a record or table with these names. Upper and lower case are equal, unless
    /// there is a name in the case of the table of [`FieldNames::detect`].
    pub(crate) fn of_columns(
        names: &[&str],
        kind: RecordKind,
        given: &GivenNames,
        at: Location<'_>,
    ) -> Result<Self, DataError> {
        let given = [&given.id, &given.title, &given.text].map(|name| {
            let name = name.as_deref();
            name.map(|name| given_name(name, names, at)).transpose()
        });
        let [id, title, text] = given;
        let (id, title, text) = (id?, title?, text?);
        let id = match id {
            Some(id) => id,
            None => one_name(kind.ids(), names, at)?,
        };
        let contents = find_name("contents", names).filter(|_| id != "_id");
        let text = match text.or(contents) {
            Some(text) => text,
            None => one_name(kind.texts(), names, at)?,
        };
        let mut seen = DuplicateFinder::default();
        for name in names.iter().filter(|name| !name.is_empty()) {
            if seen.add(&[name], at.line).is_some() {
                return Err(at.repeated_field(name));
            }
        }
        let beir = Self::beir();
        let title = match (title, beir.title) {
            (Some(title), _) => Some(title.to_owned()),
            (None, Some(title)) => Some(find_name(&title, names).map_or(title, str::to_owned)),
            (None, None) => None,
        };
        Ok(Self {
            title: title.filter(|title| *title != text),
            id: id.to_owned(),
            metadata: beir.metadata,
            text: text.to_owned(),
        })
    }
}

/// Names of fields that replace the detected ones.
///
/// ```
/// use ir_data::{FieldNames, GivenNames, RecordKind};
/// let given = GivenNames { text: Some("summary".to_owned()), ..GivenNames::default() };
/// let record = "{\"id\": 1, \"summary\": \"Green tea\", \"text\": \"...\"}";
/// let fields = FieldNames::detect_with(record, RecordKind::Document, &given, "docs.jsonl", 1)?;
/// assert_eq!((fields.id.as_str(), fields.text.as_str()), ("id", "summary"));
/// # Ok::<(), ir_data::DataError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenNames {
    /// Id field. Default: detected.
    pub id: Option<String>,
    /// Title field. Default: `title`, if there is one.
    pub title: Option<String>,
    /// Text field. Default: detected.
    pub text: Option<String>,
}

impl GivenNames {
    /// Returns `true` if no name is given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the name of a record that equals `wanted`, or differs from it in case only.
fn find_name<'a>(wanted: &str, names: &[&'a str]) -> Option<&'a str> {
    let mut equal = names.iter().copied().filter(|&name| name == wanted);
    let mut similar = names.iter().copied();
    let in_other_case = || similar.find(|name| name.eq_ignore_ascii_case(wanted));
    equal.next().or_else(in_other_case)
}

/// Returns the field of a record with a name that the user gave.
fn given_name<'a>(name: &str, names: &[&'a str], at: Location<'_>) -> Result<&'a str, DataError> {
    let found = || names.iter().map(|&name| name.to_owned()).collect();
    find_name(name, names).ok_or_else(|| at.missing_field_beside(name, found()))
}

/// Returns the accepted name that a record has.
fn one_name<'a>(
    accepted: Names,
    names: &[&'a str],
    at: Location<'_>,
) -> Result<&'a str, DataError> {
    let error = |expected: &[&str], found: &[&str], start: &str| DataError::FieldNames {
        path: at.path.to_owned(),
        line: at.line,
        expected: format!("{start} {}", alternatives(expected)),
        found: found.iter().map(|&name| name.to_owned()).collect(),
    };
    for group in accepted {
        let found = group.iter().filter_map(|name| find_name(name, names));
        let found: Vec<_> = found.collect();
        match found[..] {
            [] => {}
            [name] => return Ok(name),
            _ => return Err(error(group, &found, "one field of")),
        }
    }
    Err(error(&accepted.concat(), names, "a field"))
}

/// Quoted names, as in `"text", "body" or "passage"`.
pub(crate) fn alternatives(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_by_precedence() {
        use RecordKind::{Document, Query};
        for (kind, record, expected) in [
            (Document, r#"{"_id": 1, "id": 2, "text": ""}"#, "_id text"),
            (Document, r#"{"id": 1, "docid": 2, "text": ""}"#, "id text"),
            (
                Document,
                r#"{"id": 1, "text": "", "contents": ""}"#,
                "id contents",
            ),
            (
                Document,
                r#"{"_id": 1, "text": "", "contents": ""}"#,
                "_id text",
            ),
            (
                Document,
                r#"{"docid": 1, "title": "", "text": ""}"#,
                "docid text",
            ),
            (Document, r#"{"docno": 1, "body": ""}"#, "docno body"),
            (
                Document,
                r#"{"doc_id": 1, "content": ""}"#,
                "doc_id content",
            ),
            (
                Document,
                r#"{"pid": 1, "docid": 2, "passage": ""}"#,
                "pid passage",
            ),
            (Document, r#"{"docid": 1, "segment": ""}"#, "docid segment"),
            (Document, r#"{"ID": 1, "Text": ""}"#, "ID Text"),
            (Document, r#"{"Id": 0, "id": 1, "text": ""}"#, "id text"),
            (
                Document,
                r#"{"cord_uid": 1, "title": "", "abstract": ""}"#,
                "cord_uid abstract",
            ),
            (Query, r#"{"_id": 1, "text": "", "query": ""}"#, "_id text"),
            (Query, r#"{"qid": 1, "query": ""}"#, "qid query"),
            (
                Query,
                r#"{"query_id": 1, "title": "", "question": ""}"#,
                "query_id question",
            ),
            (Query, r#"{"id": 1, "title": ""}"#, "id title"),
            (Query, r#"{"id": 1, "contents": ""}"#, "id contents"),
            // The reader reports these.
            (Query, "[1]", "_id text"),
            (Document, "{\"id\": ", "_id text"),
        ] {
            let fields = FieldNames::detect(record, kind, "f", 1).unwrap();
            assert_eq!(
                format!("{} {}", fields.id, fields.text),
                expected,
                "{record}"
            );
        }
    }

    #[test]
    fn names_that_are_missing_or_ambiguous() {
        use RecordKind::{Document, Query};
        for (kind, record, expected) in [
            (
                Document,
                r#"{"docno": 1, "docid": 2, "text": ""}"#,
                r#"f:7: expected one field of "docid", "docno" or "doc_id", found "docid", "docno""#,
            ),
            (
                Document,
                r#"{"name": 1, "text": ""}"#,
                r#"f:7: expected a field "_id", "id", "pid", "docid", "docno", "doc_id" or "cord_uid", found "name", "text""#,
            ),
            (
                Document,
                r#"{"id": 1, "notes": ""}"#,
                r#"f:7: expected a field "text", "contents", "passage", "body", "segment", "content" or "abstract", found "id", "notes""#,
            ),
            (
                Document,
                r#"{"id": 1, "body": "", "passage": ""}"#,
                r#"f:7: expected one field of "passage", "body", "segment" or "content", found "passage", "body""#,
            ),
            (
                Query,
                r#"{"docno": 1, "text": ""}"#,
                r#"f:7: expected a field "_id", "id", "qid", "query_id", "query-id" or "queryid", found "docno", "text""#,
            ),
            (
                Query,
                "{}",
                r#"f:7: expected a field "_id", "id", "qid", "query_id", "query-id" or "queryid", found none"#,
            ),
            (
                Query,
                r#"{"qid": 1, "body": ""}"#,
                r#"f:7: expected a field "text", "contents", "query", "question" or "title", found "body", "qid""#,
            ),
        ] {
            let error = FieldNames::detect(record, kind, "f", 7).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
