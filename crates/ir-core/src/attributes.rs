//! Typed attributes of documents and queries.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Value of an attribute, in the types of JSON.
///
/// An integer that does not fit in `i64` is read as [`AttributeValue::Float`]. A `null` attribute
/// is absent ([`Attributes`]); a `null` inside a list or map is a deserialization error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AttributeValue {
    /// JSON boolean, as `bool`.
    Bool(bool),
    /// JSON integer, as `i64`.
    Int(i64),
    /// Any other JSON number, as `f64`.
    Float(f64),
    /// JSON string, as `String`.
    Text(String),
    /// JSON array of values.
    List(Vec<AttributeValue>),
    /// Map from names to values.
    Map(BTreeMap<String, AttributeValue>),
}

macro_rules! from {
    ($($type:ty => $variant:ident),*) => {$(
        impl From<$type> for AttributeValue {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

from!(&str => Text, String => Text, i64 => Int, f64 => Float, bool => Bool);

impl<V: Into<AttributeValue>> From<Vec<V>> for AttributeValue {
    fn from(values: Vec<V>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

/// Named, typed attributes of a document or a query: year, repository, task, ...
///
/// When deserialized, a `null` attribute is absent. Clones share memory until one is changed, so
/// that all parts of a document can have its attributes.
///
/// ```
/// use ir_core::Attributes;
/// let mut attributes = Attributes::new();
/// attributes.set("year", 2017_i64);
/// attributes.set("task", "question answering");
/// assert_eq!(attributes.year(), Some(2017));
/// assert_eq!(attributes.text("task"), Some("question answering"));
/// assert_eq!(attributes.text("year"), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attributes(Arc<BTreeMap<String, AttributeValue>>);

impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        self.0.as_ref().serialize(out)
    }
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let all = BTreeMap::<String, Option<AttributeValue>>::deserialize(input)?.into_iter();
        let present = all.filter_map(|(name, value)| Some((name, value?)));
        Ok(present.collect())
    }
}

impl Attributes {
    /// Name of the attribute that [`Attributes::year`] reads: publication year or date.
    pub const YEAR: &'static str = "year";

    /// Creates an empty set of attributes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an attribute, replacing an earlier value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<AttributeValue>) {
        Arc::make_mut(&mut self.0).insert(name.into(), value.into());
    }

    /// Returns the value of an attribute.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.0.get(name)
    }

    /// Returns the value of a string attribute; `None` for other types.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(AttributeValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of an integer attribute; `None` for other types.
    #[must_use]
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(AttributeValue::Int(number)) => Some(*number),
            _ => None,
        }
    }

    /// Returns whether there are no attributes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all attributes of the record.
    pub fn clear(&mut self) {
        match Arc::get_mut(&mut self.0) {
            Some(own) => own.clear(),
            None => *self = Self::default(),
        }
    }

    /// Iterates over names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AttributeValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl<N: Into<String>, V: Into<AttributeValue>> FromIterator<(N, V)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let pairs = pairs.into_iter();
        let all: BTreeMap<_, _> = pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self(Arc::new(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_memory_until_changed() {
        let first: Attributes = [("task", "qa")].into_iter().collect();
        let mut second = first.clone();
        let address = |attributes: &Attributes| attributes.text("task").map(str::as_ptr);
        assert_eq!(address(&first), address(&second));
        second.set("task", "tagging");
        let mut third = first.clone();
        third.clear();
        assert!(third.is_empty());
        assert_eq!(first.text("task"), Some("qa"));
        assert_eq!(second.text("task"), Some("tagging"));
    }

    #[test]
    fn null_is_absent() {
        let text =
            r#"{"year":null,"task":"qa","most":9223372036854775807,"more":9223372036854775808}"#;
        let read: Attributes = serde_json::from_str(text).unwrap();
        assert_eq!(read.year(), None);
        assert_eq!(read.get("year"), None);
        assert_eq!(read.text("task"), Some("qa"));
        assert_eq!(read.int("most"), Some(i64::MAX));
        assert_eq!(
            read.get("more"),
            Some(&AttributeValue::Float(2.0_f64.powi(63)))
        );
        let again: Attributes =
            serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
        assert_eq!(again, read);
        for nested in [r#"{"a":[null]}"#, r#"{"a":{"b":null}}"#] {
            assert!(serde_json::from_str::<Attributes>(nested).is_err());
        }
    }
}
