//! Range of a number, as a JSON Schema describes it.

use std::fmt;

use serde_json::Value;

use crate::error::SystemError;

/// Range of a number.
pub(crate) struct Range {
    pub(crate) minimum: Option<f64>,
    /// The minimum is not in the range.
    pub(crate) is_open: bool,
    pub(crate) maximum: Option<f64>,
    is_integer: bool,
    /// Infinity is in a range without a maximum.
    is_infinite: bool,
}

impl Range {
    pub(crate) fn from_schema(schema: &Value) -> Self {
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let open = bound("exclusiveMinimum");
        Self {
            minimum: open.or(bound("minimum")),
            is_open: open.is_some(),
            maximum: bound("maximum"),
            is_integer: is_type(schema, "integer"),
            is_infinite: schema.get(INFINITE).is_some(),
        }
    }

    fn contains(&self, number: f64) -> bool {
        let is_above = self
            .minimum
            .is_none_or(|minimum| number > minimum || (number == minimum && !self.is_open));
        let is_below = self.maximum.is_none_or(|maximum| number <= maximum);
        is_above && is_below && (number.is_finite() || self.is_infinite)
    }

    /// Checks a number, shown as `found` in the error.
    pub(crate) fn check(&self, key: &str, number: f64, found: Found) -> Result<(), SystemError> {
        if (self.minimum.is_none() && self.maximum.is_none()) || self.contains(number) {
            return Ok(());
        }
        // Numbers of single precision are infinite beyond its maximum.
        let overflows = number == f64::INFINITY && found.is_finite() && self.maximum.is_none();
        let limit = if overflows {
            format!(", at most {:e}", f32::MAX)
        } else {
            String::new()
        };
        let message = format!("expected {self}{limit}, found {found}");
        Err(SystemError::parameter(key, message))
    }
}

/// Number of a table, in messages: very large and very small ones with an exponent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found {
    Integer(i64),
    Float(f64),
}

impl Found {
    fn is_finite(self) -> bool {
        match self {
            Self::Integer(_) => true,
            Self::Float(number) => number.is_finite(),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Integer(number) => number.fmt(f),
            Self::Float(number) if number == 0.0 || (1e-4..1e15).contains(&number.abs()) => {
                number.fmt(f)
            }
            Self::Float(number) if number.is_finite() => write!(f, "{number:e}"),
            Self::Float(number) => number.fmt(f),
        }
    }
}

/// The range in words: `a number from 0 to 1`.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.minimum, self.maximum) {
            // A negative number is no value of an unsigned integer.
            (Some(0.0), Some(maximum)) if self.is_integer => write!(f, "at most {maximum}"),
            (Some(minimum), Some(maximum)) if self.is_open => {
                write!(f, "a number > {minimum}, at most {maximum}")
            }
            (Some(minimum), Some(maximum)) => write!(f, "a number from {minimum} to {maximum}"),
            (Some(minimum), None) if self.is_integer => write!(f, "at least {minimum}"),
            (Some(minimum), None) if self.is_infinite => write!(f, "a number >= {minimum} or inf"),
            (Some(minimum), None) if self.is_open => write!(f, "a finite number > {minimum}"),
            (Some(minimum), None) => write!(f, "a finite number >= {minimum}"),
            (None, Some(maximum)) => write!(f, "at most {maximum}"),
            (None, None) => f.write_str("a number"),
        }
    }
}

/// Key of the schema of a number that may be infinite, which JSON Schema has no word for.
pub(crate) const INFINITE: &str = "x-infinite";

/// Returns `true` if a schema has a JSON type, alone or among others.
pub(crate) fn is_type(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(found)) => found == name,
        Some(Value::Array(found)) => found.iter().any(|found| found == name),
        _ => false,
    }
}
