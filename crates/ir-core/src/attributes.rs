//! Typed attributes of documents and queries.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

/// The names of the attributes that several collections share.
pub mod name {
    /// Year of publication or introduction, an integer.
    pub const YEAR: &str = "year";
    /// The keyphrase form of a query.
    pub const KEYPHRASES: &str = "keyphrase_query";
    /// What is to be done: "question answering".
    pub const TASK: &str = "task";
    /// Kind of data: "images".
    pub const MODALITY: &str = "modality";
    /// Field of application: "biomedicine".
    pub const DOMAIN: &str = "domain";
    /// Language of the data.
    pub const LANGUAGE: &str = "language";
    /// Length of the texts: "sentence-level".
    pub const TEXT_LENGTH: &str = "text_length";
    /// How a model is trained: "unsupervised".
    pub const TRAINING_STYLE: &str = "training_style";
    /// The repository that a record comes from.
    pub const REPOSITORY: &str = "repository";
}

/// The value of one attribute, as JSON has it.
///
/// A whole number that `i64` cannot hold is read as a [`Value::Float`]. An attribute that is `null`
/// is absent ([`Attributes`]); a `null` inside a list or a map is refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(String),
    /// Several values.
    List(Vec<Value>),
    /// Named values.
    Map(BTreeMap<String, Value>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl<V: Into<Value>> From<Vec<V>> for Value {
    fn from(values: Vec<V>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

/// Named, typed attributes of a document or a query: year, repository, task, keyphrase form, ...
///
/// Read from JSON, an attribute that is `null` is absent.
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
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Attributes(BTreeMap<String, Value>);

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let all = BTreeMap::<String, Option<Value>>::deserialize(input)?;
        let present = all
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        Ok(Self(present.collect()))
    }
}

impl Attributes {
    /// No attributes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an attribute, in place of an earlier value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into());
    }

    /// The value of an attribute.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The value of a text attribute.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The value of a whole-number attribute.
    #[must_use]
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        }
    }

    /// The attribute [`name::YEAR`].
    #[must_use]
    pub fn year(&self) -> Option<i64> {
        self.int(name::YEAR)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl<N: Into<String>, V: Into<Value>> FromIterator<(N, V)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_absent() {
        let text =
            r#"{"year":null,"task":"qa","most":9223372036854775807,"more":9223372036854775808}"#;
        let read: Attributes = serde_json::from_str(text).unwrap();
        assert_eq!(read.year(), None);
        assert_eq!(read.get("year"), None);
        assert_eq!(read.text("task"), Some("qa"));
        assert_eq!(read.int("most"), Some(i64::MAX));
        assert_eq!(read.get("more"), Some(&Value::Float(2.0_f64.powi(63))));
        let again: Attributes =
            serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
        assert_eq!(again, read);
        for nested in [r#"{"a":[null]}"#, r#"{"a":{"b":null}}"#] {
            assert!(serde_json::from_str::<Attributes>(nested).is_err());
        }
    }
}
