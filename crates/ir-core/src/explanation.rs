//! Why a score is what it is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A small tree that says how a score came about: its root is the score, bit for bit.
///
/// `Display` draws it, one line a node:
/// ```
/// use ir_core::Explanation;
/// let leaf = |value, what: &str| Explanation::new(value, what);
/// let sum = Explanation::new(3.0, "sum of").with_detail(leaf(1.0, "tea")).with_detail(leaf(2.0, "leaves"));
/// assert_eq!(sum.to_string(), "3  sum of\n  1  tea\n  2  leaves\n");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The value of this node.
    pub value: f32,
    /// What the value is, formula included.
    #[serde(rename = "what")]
    pub description: String,
    /// What it was computed from.
    #[serde(rename = "parts", default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Explanation>,
}

impl Explanation {
    /// A node without parts.
    #[must_use]
    pub fn new(value: f32, description: impl Into<String>) -> Self {
        Self {
            value,
            description: description.into(),
            details: Vec::new(),
        }
    }

    /// With one more part.
    #[must_use]
    pub fn with_detail(mut self, detail: Self) -> Self {
        self.details.push(detail);
        self
    }

    fn draw(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        writeln!(
            f,
            "{:indent$}{}  {}",
            "",
            self.value,
            self.description,
            indent = 2 * depth
        )?;
        self.details
            .iter()
            .try_for_each(|detail| detail.draw(f, depth + 1))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.draw(f, 0)
    }
}
