use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use ir_core::AttributeValue;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{DataError, Location};
use crate::parser_message::parser_message;

/// Parses a JSON object. Members that are `null` are omitted.
pub(crate) fn parse_object(
    text: &str,
    at: Location<'_>,
) -> Result<BTreeMap<String, AttributeValue>, DataError> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = AnyValue
        .deserialize(&mut parser)
        .and_then(|value| parser.end().map(|()| value))
        .map_err(|error| record_error(&error, text, at))?;
    match value {
        Some(AttributeValue::Map(members)) => Ok(members),
        other => {
            let found = other.as_ref().map_or("null", type_name);
            Err(at.wrong_type("the line", "an object", found))
        }
    }
}

/// Adds path and line to an error of the JSON parser.
pub(crate) fn json_error(error: &serde_json::Error, at: Location<'_>) -> DataError {
    DataError::Json {
        path: at.path.to_owned(),
        line: at.line + (error.line() as u64).saturating_sub(1),
        column: error.column() as u64,
        found: parser_message(&error.to_string(), "an object"),
    }
}

/// [`json_error`] of a record. The message names NaN and Infinity, which Python writes.
pub(super) fn record_error(error: &serde_json::Error, text: &str, at: Location<'_>) -> DataError {
    let mut fault = json_error(error, at);
    if let DataError::Json { found, .. } = &mut fault {
        let mut lines = text.split('\n');
        let line = lines.nth(error.line().saturating_sub(1));
        let rest = line.and_then(|line| line.get(error.column().saturating_sub(1)..));
        let names = ["NaN", "Infinity"];
        let start = |name: &&str| rest.is_some_and(|rest| rest.starts_with(name));
        if let Some(name) = names.into_iter().find(start) {
            *found = format!("{name} is no JSON; write null");
        }
    }
    fault
}

/// Integer that equals a floating-point number: pandas writes integers with gaps as `1008.0`.
/// `None` from 2^53 on, where several integers have the same floating-point number.
pub(super) fn exact_integer(number: f64) -> Option<i64> {
    const LIMIT: f64 = (1_u64 << 53) as f64;
    (number.fract() == 0.0 && number.abs() < LIMIT).then_some(number as i64)
}

/// Describes a number that is no id.
pub(super) fn number_name(number: f64) -> String {
    // A number of this size is an integer that does not fit into 64 bits.
    const LARGE: f64 = (1_u64 << 63) as f64;
    if number.abs() >= LARGE {
        return "a number beyond 64 bits".to_owned();
    }
    format!("the number {number:?}")
}

/// Id in a value: a string, an integer, or a floating-point number that equals an integer. The
/// error describes another value.
pub(crate) fn id_of(value: AttributeValue) -> Result<String, Cow<'static, str>> {
    match value {
        AttributeValue::Text(id) => Ok(id),
        AttributeValue::Int(id) => Ok(id.to_string()),
        AttributeValue::Float(number) => match exact_integer(number) {
            Some(id) => Ok(id.to_string()),
            None => Err(number_name(number).into()),
        },
        other => Err(type_name(&other).into()),
    }
}

/// Name of a value's JSON type, with article.
pub(crate) fn type_name(value: &AttributeValue) -> &'static str {
    match value {
        AttributeValue::Bool(_) => "a Boolean",
        AttributeValue::Int(_) | AttributeValue::Float(_) => "a number",
        AttributeValue::Text(_) => "a string",
        AttributeValue::List(_) => "an array",
        AttributeValue::Map(_) => "an object",
    }
}

/// Visitor of any JSON value. `null` is omitted, also inside arrays and objects.
pub(super) struct AnyValue;

impl<'de> DeserializeSeed<'de> for AnyValue {
    type Value = Option<AttributeValue>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        from: D,
    ) -> Result<Option<AttributeValue>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = Option<AttributeValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Option<AttributeValue>, E> {
        Ok(Some(AttributeValue::Bool(truth)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Option<AttributeValue>, E> {
        Ok(Some(AttributeValue::Int(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Option<AttributeValue>, E> {
        Ok(Some(match i64::try_from(number) {
            Ok(number) => AttributeValue::Int(number),
            Err(_) => AttributeValue::Float(number as f64),
        }))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Option<AttributeValue>, E> {
        Ok(Some(AttributeValue::Float(number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Option<AttributeValue>, E> {
        Ok(Some(AttributeValue::Text(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Option<AttributeValue>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Option<AttributeValue>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(AnyValue)? {
            values.extend(value);
        }
        Ok(Some(AttributeValue::List(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<AttributeValue>, A::Error> {
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
        Ok(Some(AttributeValue::Map(members)))
    }
}

/// Line numbers of the parts of a JSON text, requested in ascending order.
pub(crate) struct JsonLineNumbers<'a> {
    text: &'a str,
    at: usize,
    line: u64,
}

impl<'a> JsonLineNumbers<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
        }
    }

    /// Line number, from 1, of the start of a part.
    pub(crate) fn line(&mut self, part: &RawValue) -> u64 {
        // A part borrows from the text, so that addresses give its offset.
        let start = part.get().as_ptr().addr() - self.text.as_ptr().addr();
        let passed = &self.text[self.at..start];
        self.line += passed.matches('\n').count() as u64;
        self.at = start;
        self.line
    }
}
