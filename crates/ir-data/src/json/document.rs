use std::borrow::Cow;
use std::fmt;

use ir_core::{AttributeValue, Attributes, Document};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::FieldNames;
use super::value::{AnyValue, exact_integer, number_name, parse_object, record_error};
use crate::error::{DataError, Location};

/// Parses a JSON object into `doc`, and reuses the buffers of `doc`.
pub(crate) fn parse_document(
    text: &str,
    fields: &FieldNames,
    doc: &mut Document,
    at: Location<'_>,
) -> Result<(), DataError> {
    let json_space = [' ', '\t', '\n', '\r'];
    if !text.trim_start_matches(json_space).starts_with('{') {
        // Not an object: returns the error.
        return parse_object(text, at).map(drop);
    }
    doc.clear();
    let mut record = DocumentVisitor {
        fields,
        doc,
        at,
        has_id: false,
        has_title: false,
        has_text: false,
        error: None,
    };
    let mut parser = serde_json::Deserializer::from_str(text);
    let parsed = parser
        .deserialize_map(&mut record)
        .and_then(|()| parser.end());
    if let Some(error) = record.error {
        return Err(with_object(error, text, fields));
    }
    parsed.map_err(|error| document_error(&error, text, at))?;
    if !record.has_id {
        return Err(at.missing_field(&fields.id));
    }
    if !record.has_text {
        return Err(at.missing_field(&fields.text));
    }
    Ok(())
}

/// Adds to the error of a repeated field that one of the two is in the object of metadata.
fn with_object(mut error: DataError, text: &str, fields: &FieldNames) -> DataError {
    if let DataError::RepeatedField { field, place, .. } = &mut error
        && let Some(metadata) = &fields.metadata
        && let Ok(record) = serde_json::from_str::<Map<String, Value>>(text)
        && let Some(Value::Object(members)) = record.get(metadata)
        && record.contains_key(field.as_str())
        && members.contains_key(field.as_str())
    {
        *place = format!(", one of them in {metadata:?}");
    }
    error
}

/// [`record_error`], with the fix if the record may continue on the next line.
fn document_error(error: &serde_json::Error, text: &str, at: Location<'_>) -> DataError {
    let mut fault = record_error(error, text, at);
    let is_first_line = !text.contains('\n') && text.trim_end().ends_with(['{', '[', ',']);
    if let DataError::Json { found, .. } = &mut fault
        && error.is_eof()
        && is_first_line
    {
        found.push_str("; JSON lines have one object per line");
    }
    fault
}

struct DocumentVisitor<'a> {
    fields: &'a FieldNames,
    doc: &'a mut Document,
    at: Location<'a>,
    has_id: bool,
    has_title: bool,
    has_text: bool,
    /// Error that the parser's own error stands for.
    error: Option<DataError>,
}

impl DocumentVisitor<'_> {
    fn fail<E: serde::de::Error>(&mut self, error: DataError) -> E {
        self.error = Some(error);
        E::custom("see the error of the record")
    }

    fn wrong_type<E: serde::de::Error>(
        &mut self,
        field: &str,
        expected: &'static str,
        found: impl Into<Cow<'static, str>>,
    ) -> E {
        self.fail(self.at.wrong_type(format!("{field:?}"), expected, found))
    }

    fn attribute<E: serde::de::Error>(
        &mut self,
        name: &str,
        value: AttributeValue,
    ) -> Result<(), E> {
        self.check_first(self.doc.attributes.get(name).is_some(), name)?;
        self.doc.attributes.set(name, value);
        Ok(())
    }

    fn check_first<E: serde::de::Error>(&mut self, exists: bool, field: &str) -> Result<(), E> {
        if exists {
            return Err(self.fail(self.at.repeated_field(field)));
        }
        Ok(())
    }

    fn check_text<E: serde::de::Error>(&mut self, field: &str, found: TextValue) -> Result<(), E> {
        let found = match found {
            TextValue::Text | TextValue::Null => return Ok(()),
            TextValue::Integer | TextValue::Float(_) => "a number",
            TextValue::Other(found) => found,
        };
        Err(self.wrong_type(field, "a string", found))
    }
}

impl<'de> Visitor<'de> for &mut DocumentVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let fields = self.fields;
        while let Some(FieldName(name)) = map.next_key()? {
            match &*name {
                field if field == fields.id => {
                    self.check_first(self.has_id, field)?;
                    match map.next_value_seed(TextVisitor(&mut self.doc.id))? {
                        TextValue::Text if self.doc.id.is_empty() => {
                            return Err(self.wrong_type(field, "an id", "an empty string"));
                        }
                        TextValue::Text | TextValue::Integer => self.has_id = true,
                        // `null` counts as absent.
                        TextValue::Null => {}
                        TextValue::Float(number) => {
                            return Err(self.wrong_type(field, "an id", number_name(number)));
                        }
                        TextValue::Other(found) => {
                            return Err(self.wrong_type(field, "an id", found));
                        }
                    }
                }
                field if field == fields.text => {
                    self.check_first(self.has_text, field)?;
                    self.has_text = true;
                    let found = map.next_value_seed(TextVisitor(&mut self.doc.text))?;
                    self.check_text(field, found)?;
                }
                field if Some(field) == fields.title.as_deref() => {
                    self.check_first(self.has_title, field)?;
                    self.has_title = true;
                    let found = map.next_value_seed(TextVisitor(&mut self.doc.title))?;
                    self.check_text(field, found)?;
                }
                name => match map.next_value_seed(AnyValue)? {
                    None => {}
                    Some(AttributeValue::Map(members))
                        if Some(name) == fields.metadata.as_deref() =>
                    {
                        for (name, value) in members {
                            self.attribute(&name, value)?;
                        }
                    }
                    Some(value) => self.attribute(name, value)?,
                },
            }
        }
        Ok(())
    }
}

/// Name of a field, borrowed from the line unless it contains escapes.
#[derive(Deserialize)]
struct FieldName<'a>(#[serde(borrow)] Cow<'a, str>);

/// Visitor that writes a string or an integer into a buffer, also an integer such as `1008.0`.
struct TextVisitor<'a>(&'a mut String);

/// JSON type of a visited value; `Other` is its name.
enum TextValue {
    Text,
    Integer,
    Float(f64),
    Null,
    Other(&'static str),
}

impl<'de> DeserializeSeed<'de> for TextVisitor<'_> {
    type Value = TextValue;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<TextValue, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextVisitor<'_> {
    type Value = TextValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<TextValue, E> {
        self.0.clear();
        self.0.push_str(text);
        Ok(TextValue::Text)
    }

    fn visit_i64<E>(self, number: i64) -> Result<TextValue, E> {
        *self.0 = number.to_string();
        Ok(TextValue::Integer)
    }

    fn visit_u64<E>(self, number: u64) -> Result<TextValue, E> {
        *self.0 = number.to_string();
        Ok(TextValue::Integer)
    }

    fn visit_f64<E>(self, number: f64) -> Result<TextValue, E> {
        Ok(match exact_integer(number) {
            Some(integer) => {
                *self.0 = integer.to_string();
                TextValue::Integer
            }
            None => TextValue::Float(number),
        })
    }

    fn visit_bool<E>(self, _: bool) -> Result<TextValue, E> {
        Ok(TextValue::Other("a Boolean"))
    }

    fn visit_unit<E>(self) -> Result<TextValue, E> {
        Ok(TextValue::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TextValue, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(TextValue::Other("an array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TextValue, A::Error> {
        // `DataFrame.to_json` writes `{"id": {"0": "a", "1": "b"}, "text": {"0": ...}}`.
        const PANDAS: &str =
            "columns of pandas (orient=\"records\", lines=True writes one object per line)";
        let (mut names, mut numbers) = (0, 0);
        while let Some((name, _)) = map.next_entry::<String, IgnoredAny>()? {
            names += 1;
            numbers += usize::from(name.parse::<u64>().is_ok());
        }
        let is_column = names > 0 && names == numbers;
        Ok(TextValue::Other(if is_column {
            PANDAS
        } else {
            "an object"
        }))
    }
}

/// Writes a document or query as a JSON line. Attributes are members of the metadata field or,
/// without one, fields.
pub(crate) fn write_document(
    out: &mut Vec<u8>,
    fields: &FieldNames,
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
