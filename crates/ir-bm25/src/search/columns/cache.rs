//! The columns of the terms that were searched before.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use rustc_hash::FxHashMap;

use super::term_column::TermColumn;

/// Maximum size in bytes of the columns of a searcher and its clones.
const BUDGET: usize = 32 << 20;
/// Estimated size of an entry of the map besides term and column.
const ENTRY: usize = 64;

/// Columns by segment, field and term, shared by the clones of a searcher and its threads. What it
/// holds depends on the searches before, but no result does.
#[derive(Debug)]
pub(crate) struct ColumnCache {
    columns: RwLock<CachedColumns>,
    /// Maximum size in bytes.
    budget: usize,
}

impl Default for ColumnCache {
    fn default() -> Self {
        Self::with_budget(BUDGET)
    }
}

#[derive(Debug, Default)]
pub(super) struct CachedColumns {
    /// By the fields of all segments.
    by_field: Vec<FxHashMap<Box<str>, TermColumn>>,
    pub(super) bytes: usize,
}

impl CachedColumns {
    pub(super) fn get(&self, field: usize, term: &str) -> Option<&TermColumn> {
        self.by_field.get(field)?.get(term)
    }

    /// The idf of a term, if a segment has its column. `field` is one of the `fields` of a segment.
    pub(super) fn idf(&self, field: usize, fields: usize, term: &str) -> Option<f32> {
        let of_segments = self.by_field.iter().skip(field).step_by(fields.max(1));
        let mut columns = of_segments.filter_map(|columns| columns.get(term));
        columns.next().map(|column| column.idf)
    }
}

impl ColumnCache {
    pub(super) fn with_budget(budget: usize) -> Self {
        Self {
            columns: RwLock::default(),
            budget,
        }
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, CachedColumns> {
        self.columns.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the cache has room for a column of so many documents.
    pub(super) fn has_room(&self, documents: usize) -> bool {
        self.read().bytes + 2 * documents <= self.budget
    }

    /// Keeps a column while the cache is not full. Otherwise returns it.
    pub(super) fn keep(
        &self,
        field: usize,
        term: &str,
        column: TermColumn,
    ) -> Result<(), TermColumn> {
        let mut cached = self.columns.write().unwrap_or_else(PoisonError::into_inner);
        let size = column.size() + term.len() + ENTRY;
        if cached.bytes + size > self.budget {
            return Err(column);
        }
        if cached.by_field.len() <= field {
            cached.by_field.resize_with(field + 1, FxHashMap::default);
        }
        // Another thread may have been faster.
        let before = cached.by_field[field].insert(term.into(), column);
        cached.bytes += before.map_or(size, |_| 0);
        Ok(())
    }
}
