//! Why a score is what it is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A small tree that says how a score came about: its root is the score, bit for bit.
///
/// `Display` draws it, one line a node:
/// ```
/// use ir_core::Explanation;
/// let leaf = |value, what: &str| Explanation::new(value, what);
/// let sum = Explanation::new(3.0, "sum of").with(leaf(1.0, "tea")).with(leaf(2.0, "leaves"));
/// assert_eq!(sum.to_string(), "3  sum of\n  1  tea\n  2  leaves\n");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The value of this node.
    pub value: f32,
    /// What the value is, formula included.
    pub what: String,
    /// What it was computed from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Explanation>,
}

impl Explanation {
    /// A node without parts.
    #[must_use]
    pub fn new(value: f32, what: impl Into<String>) -> Self {
        Self {
            value,
            what: what.into(),
            parts: Vec::new(),
        }
    }

    /// With one more part.
    #[must_use]
    pub fn with(mut self, part: Self) -> Self {
        self.parts.push(part);
        self
    }

    fn draw(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        writeln!(
            f,
            "{:indent$}{}  {}",
            "",
            self.value,
            self.what,
            indent = 2 * depth
        )?;
        self.parts
            .iter()
            .try_for_each(|part| part.draw(f, depth + 1))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.draw(f, 0)
    }
}
