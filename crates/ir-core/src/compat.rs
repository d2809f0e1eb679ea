//! What published code does where it differs from the exact contract, by name.
//!
//! Nothing here is a default. These functions exist because a published figure cannot be
//! reproduced without the procedure that produced it.

use crate::{DocFilter, DocIds, Hit, Ranking};

/// Filters a ranking that was already cut, and refills nothing: what most published code does.
/// The result has fewer hits than were asked for whenever one of them fails the filter.
pub fn filter_after_cut(ranking: Ranking, filter: &dyn DocFilter) -> Ranking {
    ranking.retain(|hit| filter.contains(hit.doc))
}

/// How many hits the published DataFinder code fetches for a list of `limit`: five times as many.
#[must_use]
pub const fn datafinder_depth(limit: usize) -> usize {
    5 * limit
}

/// The walk of the published DataFinder code (ACL 2023) over the raw hits of a lexical search.
///
/// Give it [`datafinder_depth`]`(limit)` raw hits. It skips a hit whose id was already
/// written or which fails the filter, and stops only when a *written* hit stands exactly at raw
/// position `limit`. So a query gets either the survivors among its first `limit` hits, or, when
/// the hit at that position was skipped, every survivor of all raw hits.
///
/// ```
/// use ir_core::{DocIds, DocNum, Hit, Ranking, compat};
/// let ids: DocIds = ["a", "b", "c", "d"].into_iter().collect();
/// let raw = Ranking::from_hits((0..4).map(|n| Hit::new(DocNum::new(n), -(n as f32))).collect())?;
/// let not = |doc: u32| move |d: DocNum| d.get() != doc;
/// // Position 2 ("b") survives: the walk ends there.
/// assert_eq!(compat::datafinder_walk(&raw, &ids, &not(0), 2).len(), 1);
/// // Position 2 is skipped: the walk runs to the end.
/// assert_eq!(compat::datafinder_walk(&raw, &ids, &not(1), 2).len(), 3);
/// # Ok::<(), ir_core::SearchError>(())
/// ```
/// # Source
/// Viswanathan et al., "DataFinder: Scientific Dataset Recommendation from Natural Language
/// Descriptions", ACL 2023, and the code published with it.
pub fn datafinder_walk(
    raw: &Ranking,
    ids: &DocIds,
    filter: &dyn DocFilter,
    limit: usize,
) -> Ranking {
    let mut seen = std::collections::HashSet::new();
    let mut stopped = false;
    let mut position = 0;
    let keep = |hit: &Hit| {
        position += 1;
        if stopped || !filter.contains(hit.doc) || !seen.insert(ids.id(hit.doc)) {
            return false;
        }
        stopped = position == limit;
        true
    };
    raw.clone().retain(keep)
}
