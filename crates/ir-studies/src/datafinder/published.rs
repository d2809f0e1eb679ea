//! The published document order and time filter of DataFinder.

use std::collections::HashSet;

use ir_core::{Corpus, CorpusError, DocFilter, DocIds, Document, Hit, Ranking};

/// Returns the number of hits that the published code retrieves for a list of `limit` hits.
#[must_use]
pub const fn published_depth(limit: usize) -> usize {
    5 * limit
}

/// Filters a ranking as the published DataFinder code does, including its off-by-one behavior.
///
/// `raw` has [`published_depth`]`(limit)` hits. A hit is skipped if its id was already returned or
/// if it fails the filter. The walk stops only at a *returned* hit at raw position `limit`. A query
/// therefore gets either the hits that pass among the first `limit`, or, when the hit at that
/// position was skipped, all hits that pass.
///
/// ```
/// use ir_core::{DocIds, DocNum, Hit, Ranking};
/// use ir_studies::datafinder::published_filter;
/// let ids: DocIds = ["a", "b", "c", "d"].into_iter().collect();
/// let raw = Ranking::from_hits((0..4).map(|n| Hit::new(DocNum::new(n), -(n as f32))).collect())?;
/// let not = |doc: u32| move |d: DocNum| d.get() != doc;
/// // The hit at position 2 ("b") passes: the walk stops there.
/// assert_eq!(published_filter(&raw, &ids, &not(0), 2).len(), 1);
/// // The hit at position 2 is skipped: the walk does not stop.
/// assert_eq!(published_filter(&raw, &ids, &not(1), 2).len(), 3);
/// # Ok::<(), ir_core::SearchError>(())
/// ```
/// # Source
/// Viswanathan et al., "DataFinder: Scientific Dataset Recommendation from Natural Language
/// Descriptions", ACL 2023, and the code published with it.
pub fn published_filter(
    raw: &Ranking,
    ids: &DocIds,
    filter: &dyn DocFilter,
    limit: usize,
) -> Ranking {
    let mut seen = HashSet::new();
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

/// Returns the documents in lexicographic order of the row number: row 10 precedes row 9.
///
/// DataFinder's dataset names are not unique. The published Lucene index therefore uses row numbers
/// as ids, and Lucene orders equal scores by id as a string. Documents indexed in this order have
/// the same order among equal scores, which also decides which of two records with the same name
/// is ranked first.
///
/// ```
/// use ir_core::Document;
/// use ir_studies::datafinder::lexicographic_row_order;
/// let corpus: Vec<Document> = (0..11).map(|n| Document::new(format!("d{n}"))).collect();
/// let ordered = lexicographic_row_order(&corpus)?;
/// let ids: Vec<&str> = ordered.iter().map(|doc| doc.id.as_str()).collect();
/// assert_eq!(ids[..4], ["d0", "d1", "d10", "d2"]);
/// # Ok::<(), ir_core::CorpusError>(())
/// ```
///
/// # Errors
/// The corpus cannot be read.
pub fn lexicographic_row_order(corpus: &dyn Corpus) -> Result<Vec<Document>, CorpusError> {
    let rows = corpus.docs()?.enumerate();
    let mut rows: Vec<(String, Document)> = rows
        .map(|(row, doc)| Ok((row.to_string(), doc?)))
        .collect::<Result<_, CorpusError>>()?;
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(rows.into_iter().map(|(_, doc)| doc).collect())
}
