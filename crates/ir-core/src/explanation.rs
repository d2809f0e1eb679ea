use std::fmt;

use serde::{Deserialize, Serialize};

/// Explanation of a score: a tree. The root equals the score bit for bit.
///
/// Values are f64, so that no summand is rounded before the sum is, and serialized as such. A value
/// that an f32 represents, such as every score, is printed with the digits of the f32.
///
/// `Display` prints one line per node, indented by depth:
///
/// ```
/// use ir_core::Explanation;
/// let sum = Explanation::sum(
///     "sum of",
///     vec![Explanation::new(0.9_f32, "tea"), Explanation::new(2.0_f32, "leaves")],
/// );
/// assert_eq!(sum.score(), 2.9);
/// assert_eq!(sum.to_string(), "2.9  sum of\n  0.9  tea\n  2  leaves\n");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Value of the node.
    pub value: f64,
    /// Description of the value, with its formula.
    #[serde(rename = "what")]
    pub description: String,
    /// Nodes that the value is computed from.
    #[serde(rename = "parts", default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Explanation>,
}

impl Explanation {
    /// Creates a node without children.
    #[must_use]
    pub fn new(value: impl Into<f64>, description: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            description: description.into(),
            details: Vec::new(),
        }
    }

    /// Creates the root of a score that is the sum of its details: added in order in f64, and
    /// rounded to f32 once.
    #[must_use]
    pub fn sum(description: impl Into<String>, details: Vec<Self>) -> Self {
        let sum = details
            .iter()
            .fold(0.0, |sum, detail: &Self| sum + detail.value);
        Self {
            details,
            ..Self::new(sum as f32, description)
        }
    }

    /// Returns the value as a score: rounded to f32.
    #[must_use]
    pub const fn score(&self) -> f32 {
        self.value as f32
    }

    /// Adds a child node.
    #[must_use]
    pub fn with_detail(mut self, detail: Self) -> Self {
        self.details.push(detail);
        self
    }

    fn fmt_indented(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        write!(f, "{:indent$}", "", indent = 2 * depth)?;
        match as_single(self.value) {
            Some(value) => write!(f, "{value}")?,
            None => write!(f, "{}", self.value)?,
        }
        writeln!(f, "  {}", self.description)?;
        self.details
            .iter()
            .try_for_each(|detail| detail.fmt_indented(f, depth + 1))
    }
}

/// Returns a value that an f32 represents.
fn as_single(value: f64) -> Option<f32> {
    (f64::from(value as f32) == value).then_some(value as f32)
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_indented(f, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_single_precision_keep_all_digits() {
        let (a, b) = (1.0 + 2.0_f64.powi(-30), 2.0_f64.powi(-24));
        let details = vec![Explanation::new(a, "a"), Explanation::new(b, "b")];
        let sum = Explanation::sum("sum of", details);
        // Rounding each summand to f32 first gives 1.
        assert_eq!(sum.score(), 1.0_f32.next_up());
        assert_eq!(
            sum.to_string(),
            "1.0000001  sum of\n  1.0000000009313226  a\n  0.000000059604645  b\n"
        );
        let json = serde_json::to_string(&sum).unwrap();
        let read: Explanation = serde_json::from_str(&json).unwrap();
        assert_eq!(read, sum);
    }
}
