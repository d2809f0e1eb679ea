//! One JSON object per document or query, read into buffers that the caller owns.

use std::collections::BTreeMap;
use std::fmt;

use ir_core::{Attributes, Document, Value};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::DataError;

/// Which fields of a JSON object mean what. Every other field becomes an attribute.
///
/// ```
/// use ir_data::JsonFields;
/// let mine = JsonFields { id: "docno".into(), text: "body".into(), ..JsonFields::beir() };
/// assert_eq!(mine.title.as_deref(), Some("title"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonFields {
    /// The id: a text, or a whole number. Must be there.
    pub id: String,
    /// The title; may be absent.
    pub title: Option<String>,
    /// The text. Must be there, and may be empty or `null`.
    pub text: String,
    /// A field that holds an object whose members are attributes.
    pub metadata: Option<String>,
}

impl JsonFields {
    /// BEIR's: `_id`, `title`, `text`, `metadata`.
    #[must_use]
    pub fn beir() -> Self {
        Self {
            id: "_id".to_owned(),
            title: Some("title".to_owned()),
            text: "text".to_owned(),
            metadata: Some("metadata".to_owned()),
        }
    }

    /// Anserini's and DataFinder's: `id`, `title`, `contents`.
    #[must_use]
    pub fn anserini() -> Self {
        Self {
            id: "id".to_owned(),
            title: Some("title".to_owned()),
            text: "contents".to_owned(),
            metadata: None,
        }
    }
}

/// Reads one JSON object into `doc`, in place of what it held.
pub(crate) fn parse(
    text: &str,
    fields: &JsonFields,
    doc: &mut Document,
    path: &str,
    line: u64,
) -> Result<(), DataError> {
    doc.clear();
    let mut record = Record {
        fields,
        doc,
        has_id: false,
        has_title: false,
        has_text: false,
        fault: None,
    };
    let mut parser = serde_json::Deserializer::from_str(text);
    let parsed = (&mut record)
        .deserialize(&mut parser)
        .and_then(|()| parser.end());
    let (has_id, has_text) = (record.has_id, record.has_text);
    let path = || path.to_owned();
    match record.fault {
        Some(Fault::Kind {
            field,
            expected,
            found,
        }) => {
            return Err(DataError::Kind {
                path: path(),
                line,
                field,
                expected,
                found,
            });
        }
        Some(Fault::Repeated { field }) => {
            return Err(DataError::RepeatedField {
                path: path(),
                line,
                field,
            });
        }
        None => {}
    }
    parsed.map_err(|error| json_error(&error, &path(), line))?;
    let missing = |field: &str| DataError::MissingField {
        path: path(),
        line,
        field: field.to_owned(),
    };
    if !has_id {
        return Err(missing(&fields.id));
    }
    if !has_text {
        return Err(missing(&fields.text));
    }
    Ok(())
}

/// A fault of the JSON parser at a line of a file.
pub(crate) fn json_error(error: &serde_json::Error, path: &str, line: u64) -> DataError {
    let text = error.to_string();
    let found = match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    };
    DataError::Json {
        path: path.to_owned(),
        line: line + (error.line() as u64).saturating_sub(1),
        column: error.column() as u64,
        found,
    }
}

#[derive(Debug)]
enum Fault {
    Kind {
        field: String,
        expected: &'static str,
        found: &'static str,
    },
    Repeated {
        field: String,
    },
}

struct Record<'a> {
    fields: &'a JsonFields,
    doc: &'a mut Document,
    has_id: bool,
    has_title: bool,
    has_text: bool,
    fault: Option<Fault>,
}

impl Record<'_> {
    fn fail<E: serde::de::Error>(&mut self, fault: Fault) -> E {
        self.fault = Some(fault);
        E::custom("see the fault")
    }

    fn kind<E: serde::de::Error>(
        &mut self,
        field: &str,
        expected: &'static str,
        found: &'static str,
    ) -> E {
        let field = format!("{field:?}");
        self.fail(Fault::Kind {
            field,
            expected,
            found,
        })
    }

    fn attribute<E: serde::de::Error>(&mut self, name: &str, value: Value) -> Result<(), E> {
        if self.doc.attributes.get(name).is_some() {
            let field = name.to_owned();
            return Err(self.fail(Fault::Repeated { field }));
        }
        self.doc.attributes.set(name, value);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &mut Record<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

macro_rules! not_an_object {
    ($($visit:ident($type:ty) = $found:literal),* $(,)?) => {
        $(fn $visit<E: serde::de::Error>(self, _: $type) -> Result<(), E> {
            Err(self.not_an_object($found))
        })*
    };
}

impl Record<'_> {
    fn not_an_object<E: serde::de::Error>(&mut self, found: &'static str) -> E {
        self.fail(Fault::Kind {
            field: "the line".to_owned(),
            expected: "an object",
            found,
        })
    }
}

impl<'de> Visitor<'de> for &mut Record<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    not_an_object! {
        visit_bool(bool) = "a truth value",
        visit_i64(i64) = "a number",
        visit_u64(u64) = "a number",
        visit_f64(f64) = "a number",
        visit_str(&str) = "a text",
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Err(self.not_an_object("null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Err(self.not_an_object("a list"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        const TEXT: &str = "a text";
        // Names are short and mostly without escapes: compared in place.
        while let Some(name) = map.next_key_seed(Name(self.fields))? {
            match name {
                Key::Id => {
                    if self.has_id {
                        let field = self.fields.id.clone();
                        return Err(self.fail(Fault::Repeated { field }));
                    }
                    let got = map.next_value_seed(TextInto(&mut self.doc.id))?;
                    let field = &self.fields.id;
                    match got {
                        Got::Text if self.doc.id.is_empty() => {
                            return Err(self.kind(field, "an id", "an empty text"));
                        }
                        Got::Text | Got::Whole => self.has_id = true,
                        // Absent, and reported as such.
                        Got::Other("null") => {}
                        Got::Other(found) => return Err(self.kind(field, "an id", found)),
                    }
                }
                Key::Title => {
                    let field = self.fields.title.as_deref().unwrap_or_default();
                    if self.has_title {
                        let field = field.to_owned();
                        return Err(self.fail(Fault::Repeated { field }));
                    }
                    self.has_title = true;
                    match map.next_value_seed(TextInto(&mut self.doc.title))? {
                        Got::Text | Got::Other("null") => {}
                        Got::Whole => return Err(self.kind(field, TEXT, "a number")),
                        Got::Other(found) => return Err(self.kind(field, TEXT, found)),
                    }
                }
                Key::Text => {
                    let field = &self.fields.text;
                    if self.has_text {
                        let field = field.clone();
                        return Err(self.fail(Fault::Repeated { field }));
                    }
                    self.has_text = true;
                    match map.next_value_seed(TextInto(&mut self.doc.text))? {
                        Got::Text | Got::Other("null") => {}
                        Got::Whole => return Err(self.kind(field, TEXT, "a number")),
                        Got::Other(found) => return Err(self.kind(field, TEXT, found)),
                    }
                }
                Key::Metadata => match map.next_value_seed(AnyValue)? {
                    None => {}
                    Some(Value::Map(members)) => {
                        for (name, value) in members {
                            self.attribute(&name, value)?;
                        }
                    }
                    Some(other) => {
                        let field = self.fields.metadata.as_deref().unwrap_or_default();
                        return Err(self.kind(field, "an object", kind_of(&other)));
                    }
                },
                Key::Other(name) => {
                    if let Some(value) = map.next_value_seed(AnyValue)? {
                        self.attribute(&name, value)?;
                    }
                }
            }
        }
        Ok(())
    }
}

pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "a truth value",
        Value::Int(_) | Value::Float(_) => "a number",
        Value::Text(_) => "a text",
        Value::List(_) => "a list",
        Value::Map(_) => "an object",
    }
}

enum Key {
    Id,
    Title,
    Text,
    Metadata,
    Other(String),
}

struct Name<'a>(&'a JsonFields);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Key, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Key, E> {
        let fields = self.0;
        Ok(if name == fields.id {
            Key::Id
        } else if name == fields.text {
            Key::Text
        } else if Some(name) == fields.title.as_deref() {
            Key::Title
        } else if Some(name) == fields.metadata.as_deref() {
            Key::Metadata
        } else {
            Key::Other(name.to_owned())
        })
    }
}

/// Reads a text, or a whole number, into a buffer.
struct TextInto<'a>(&'a mut String);

enum Got {
    Text,
    Whole,
    Other(&'static str),
}

impl<'de> DeserializeSeed<'de> for TextInto<'_> {
    type Value = Got;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Got, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextInto<'_> {
    type Value = Got;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Got, E> {
        self.0.clear();
        self.0.push_str(text);
        Ok(Got::Text)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Got, E> {
        *self.0 = number.to_string();
        Ok(Got::Whole)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Got, E> {
        *self.0 = number.to_string();
        Ok(Got::Whole)
    }

    fn visit_f64<E>(self, number: f64) -> Result<Got, E> {
        // So large a number has no fraction: it did not fit into 64 bits.
        const LARGE: f64 = (1_u64 << 63) as f64;
        Ok(Got::Other(if number.abs() >= LARGE {
            "a number beyond 64 bits"
        } else {
            "a number with a fraction"
        }))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Got, E> {
        Ok(Got::Other("a truth value"))
    }

    fn visit_unit<E>(self) -> Result<Got, E> {
        Ok(Got::Other("null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Got, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Got::Other("a list"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Got, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Got::Other("an object"))
    }
}

/// Any JSON value as an attribute; `null` is none, also inside lists and objects.
struct AnyValue;

impl<'de> DeserializeSeed<'de> for AnyValue {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<Value>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Option<Value>, E> {
        Ok(Some(Value::Bool(truth)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Option<Value>, E> {
        Ok(Some(Value::Int(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Option<Value>, E> {
        Ok(Some(match i64::try_from(number) {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Float(number as f64),
        }))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Option<Value>, E> {
        Ok(Some(Value::Float(number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Option<Value>, E> {
        Ok(Some(Value::Text(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Option<Value>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(AnyValue)? {
            values.extend(value);
        }
        Ok(Some(Value::List(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Value>, A::Error> {
        let mut members = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            if members.contains_key(&name) {
                let twice = format_args!("a second member {name:?}");
                return Err(serde::de::Error::custom(twice));
            }
            if let Some(value) = map.next_value_seed(AnyValue)? {
                members.insert(name, value);
            }
        }
        Ok(Some(Value::Map(members)))
    }
}

/// The lines on which parts of a JSON text begin; asked for in their order.
pub(crate) struct LinesOf<'a> {
    text: &'a str,
    at: usize,
    line: u64,
}

impl<'a> LinesOf<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
        }
    }

    /// The line, from 1, on which a part of the text begins.
    pub(crate) fn line(&mut self, part: &RawValue) -> u64 {
        // Parts lie inside the text: their addresses say where.
        let start = part.get().as_ptr().addr() - self.text.as_ptr().addr();
        let passed = &self.text[self.at..start];
        self.line += passed.matches('\n').count() as u64;
        self.at = start;
        self.line
    }
}

/// The members of a JSON object; those that are `null` are absent.
pub(crate) fn object(
    text: &str,
    path: &str,
    line: u64,
) -> Result<BTreeMap<String, Value>, DataError> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = AnyValue
        .deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value))
        .map_err(|error| json_error(&error, path, line))?;
    match value {
        Some(Value::Map(members)) => Ok(members),
        other => Err(DataError::Kind {
            path: path.to_owned(),
            line,
            field: "the line".to_owned(),
            expected: "an object",
            found: other.as_ref().map_or("null", kind_of),
        }),
    }
}

/// The JSON of a record: id, title, text, and the attributes as one object or as fields.
pub(crate) fn write(
    out: &mut Vec<u8>,
    fields: &JsonFields,
    id: &str,
    title: Option<&str>,
    text: &str,
    attributes: &Attributes,
) -> Result<(), serde_json::Error> {
    fn member<T: serde::Serialize + ?Sized>(
        out: &mut Vec<u8>,
        name: &str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        out.extend_from_slice(if out.is_empty() { b"{" } else { b", " });
        serde_json::to_writer(&mut *out, name)?;
        out.extend_from_slice(b": ");
        serde_json::to_writer(&mut *out, value)
    }
    out.clear();
    member(out, &fields.id, id)?;
    if let (Some(name), Some(title)) = (&fields.title, title) {
        member(out, name, title)?;
    }
    member(out, &fields.text, text)?;
    match &fields.metadata {
        Some(name) if !attributes.is_empty() => member(out, name, attributes)?,
        Some(_) => {}
        None => {
            for (name, value) in attributes.iter() {
                member(out, name, value)?;
            }
        }
    }
    out.extend_from_slice(b"}\n");
    Ok(())
}
