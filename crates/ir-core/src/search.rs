use crate::filter::DocFilter;
use crate::ids::DocNum;

/// Parameters of one search: number of hits and filter.
///
/// Parameters of a model or an algorithm (k1 and b, beam width) belong to the searcher.
///
/// ```
/// use ir_core::{DocNum, Search};
/// let even = |doc: DocNum| doc.get() % 2 == 0;
/// let search = Search::top(10).within(&even);
/// assert_eq!(search.k(), 10);
/// assert!(search.allows(DocNum::new(4)) && !search.allows(DocNum::new(5)));
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Search<'a> {
    k: usize,
    within: Option<&'a dyn DocFilter>,
}

impl<'a> Search<'a> {
    /// Searches for the best `k` documents. `k` may be 0 (no hits) or exceed the collection (all
    /// matching documents).
    pub const fn top(k: usize) -> Self {
        Self { k, within: None }
    }

    /// Restricts the search to a filter. The result equals the filtered exhaustive ranking: `k`
    /// hits if `k` matching documents pass.
    pub fn within(mut self, filter: &'a dyn DocFilter) -> Self {
        self.within = Some(filter);
        self
    }

    /// Sets the number of hits.
    pub const fn with_k(mut self, k: usize) -> Self {
        self.k = k;
        self
    }

    /// Returns the maximum number of hits.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// Returns the filter, if one is set.
    #[must_use]
    pub const fn filter(&self) -> Option<&'a dyn DocFilter> {
        self.within
    }

    /// Returns whether a document passes the filter.
    #[inline]
    #[must_use]
    pub fn allows(&self, doc: DocNum) -> bool {
        self.within.is_none_or(|filter| filter.contains(doc))
    }
}
