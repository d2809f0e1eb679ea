//! Everything that a caller may ask of one search, as one value.

use std::fmt;

use crate::{DocFilter, DocNum};

/// What is asked of one search: how many hits, and which documents are allowed.
///
/// A small `Copy` value with private fields, so that it can grow without breaking anyone.
/// Effort and model parameters (BM25's k1 and b, the beam of a graph search) are not here: they
/// belong to the searcher, since no two engines share them.
///
/// ```
/// use ir_core::{DocNum, Search};
/// let even = |doc: DocNum| doc.get() % 2 == 0;
/// let how = Search::top(10).within(&even);
/// assert_eq!(how.k(), 10);
/// assert!(how.allows(DocNum::new(4)) && !how.allows(DocNum::new(5)));
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct Search<'a> {
    k: usize,
    within: Option<&'a dyn DocFilter>,
}

impl<'a> Search<'a> {
    /// The best `k` documents. `k` may be 0 (no hits) or larger than the collection (all that match).
    pub const fn top(k: usize) -> Self {
        Self { k, within: None }
    }

    /// Only documents that the filter contains. The result is that of filtering the
    /// exhaustive ranking: `k` hits whenever `k` documents of it pass.
    pub fn within(mut self, filter: &'a dyn DocFilter) -> Self {
        self.within = Some(filter);
        self
    }

    /// The same search with another number of hits.
    pub const fn with_k(mut self, k: usize) -> Self {
        self.k = k;
        self
    }

    /// How many hits are wanted at most.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// The filter, when there is one.
    #[must_use]
    pub const fn filter(&self) -> Option<&'a dyn DocFilter> {
        self.within
    }

    /// Whether a document is allowed.
    #[inline]
    #[must_use]
    pub fn allows(&self, doc: DocNum) -> bool {
        self.within.is_none_or(|filter| filter.contains(doc))
    }
}

impl fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search")
            .field("k", &self.k)
            .field("filtered", &self.within.is_some())
            .finish()
    }
}
