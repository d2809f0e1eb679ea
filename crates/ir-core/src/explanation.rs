use std::fmt;

use serde::{Deserialize, Serialize};

/// Explanation of a score: a tree whose root value equals the score bit for bit.
///
/// `Display` prints one line per node, indented by depth:
///
/// ```
/// use ir_core::Explanation;
/// let leaf = |value, description: &str| Explanation::new(value, description);
/// let sum = Explanation::new(3.0, "sum of")
///     .with_detail(leaf(1.0, "tea"))
///     .with_detail(leaf(2.0, "leaves"));
/// assert_eq!(sum.to_string(), "3  sum of\n  1  tea\n  2  leaves\n");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Value of the node.
    pub value: f32,
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
    pub fn new(value: f32, description: impl Into<String>) -> Self {
        Self {
            value,
            description: description.into(),
            details: Vec::new(),
        }
    }

    /// Adds a child node.
    #[must_use]
    pub fn with_detail(mut self, detail: Self) -> Self {
        self.details.push(detail);
        self
    }

    fn fmt_indented(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
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
            .try_for_each(|detail| detail.fmt_indented(f, depth + 1))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_indented(f, 0)
    }
}
