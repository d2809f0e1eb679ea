//! What a system reads of an index.

use ir_bm25::StoredFields;

/// What a system reads of an index, besides terms and lengths. The default is nothing else.
///
/// ```
/// use ir_system::{Registry, SystemSpec};
///
/// let registry = Registry::default();
/// let phrases = "version = 1\n[[systems]]\nname = \"a\"\ntype = \"bm25\"\nsyntax = \"lucene\"";
/// let needs = SystemSpec::from_toml(phrases)?.index_needs(&registry)?;
/// assert!(needs.positions);
/// # Ok::<(), ir_system::SpecError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexNeeds {
    /// Fields of the documents.
    pub store: StoredFields,
    /// Positions of the terms, for phrases.
    pub positions: bool,
}

impl IndexNeeds {
    /// Returns what two systems need together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            store: self.store.max(other.store),
            positions: self.positions || other.positions,
        }
    }
}
