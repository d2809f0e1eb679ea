//! Search by BM25F: one score of a term over all fields.

use ir_core::store::OpenIndexError;
use ir_core::{DocNum, Explanation, Ranking, Search, SearchError};

use super::Searcher;
use super::snapshot::NumberedSegment;
use crate::WeightedTerm;
use crate::search::{
    CombinedFields, CombinedList, ListStatistics, TermList, document_frequency, floor,
    rank_combined, search_error,
};

/// The posting lists of a query in a segment, grouped by term.
type CombinedPlan<'a> = (&'a NumberedSegment, Vec<CombinedList<'a>>);

impl Searcher {
    pub(super) fn search_combined(
        &self,
        model: &CombinedFields,
        terms: &[WeightedTerm],
        search: &Search<'_>,
    ) -> Result<Ranking, SearchError> {
        let plans = self.combined_plans(model, terms).map_err(search_error)?;
        let pruning = self.scoring.pruning;
        self.rank_segments(
            plans,
            search,
            |lists, k, deleted| floor(lists, k.saturating_add(deleted)),
            |lists, documents, search, floor| {
                rank_combined(lists, documents, search, pruning, floor)
            },
        )
    }

    /// The query bound to every segment, with the statistics of all.
    fn combined_plans<'a>(
        &'a self,
        model: &'a CombinedFields,
        terms: &[WeightedTerm],
    ) -> Result<Vec<CombinedPlan<'a>>, OpenIndexError> {
        let segments = self.index().numbered_segments();
        let mut dfs = vec![0; terms.len()];
        let mut opened = Vec::with_capacity(segments.len());
        for numbered in segments {
            let (lists, statistics) = self.segment_lists(numbered, terms)?;
            let of_terms = by_term(lists.into_iter().zip(statistics));
            for lists in &of_terms {
                let number = lists[0].0.number;
                dfs[number] += live_frequency(numbered, lists, &terms[number].term)?;
            }
            opened.push((numbered, of_terms));
        }
        let bind = |(numbered, of_terms): (&'a NumberedSegment, Vec<TermLists<'a>>)| {
            let index = &numbered.segment.index;
            let mut bound = Vec::with_capacity(of_terms.len());
            for lists in of_terms {
                let number = lists[0].0.number;
                // A term of deleted documents only has no score.
                if dfs[number] > 0 {
                    let scorer = model.term(terms[number].weight, dfs[number]);
                    let lists = lists.into_iter().map(|(list, _)| list).collect();
                    bound.push(CombinedList::new(index, model, scorer, lists)?);
                }
            }
            Ok((numbered, bound))
        };
        opened.into_iter().map(bind).collect()
    }

    pub(super) fn explain_combined(
        &self,
        model: &CombinedFields,
        terms: &[WeightedTerm],
        doc: DocNum,
    ) -> Result<Option<Explanation>, SearchError> {
        let names = self.index().config().fields.names();
        let plans = self.combined_plans(model, terms).map_err(search_error)?;
        let Some((_, lists, local)) = self.index().part_of(doc, plans) else {
            return Ok(None);
        };
        let mut details = Vec::new();
        for mut list in lists {
            let text = &*terms[list.number].term;
            let tree = list.explain((names, text), local.get());
            list.check().map_err(search_error)?;
            details.extend(tree);
        }
        let is_hit = !details.is_empty();
        Ok(is_hit.then(|| Explanation::sum("sum, in double precision, of", details)))
    }
}

/// The posting lists of a term in the fields of a segment, at least one, with statistics without
/// deleted documents.
type TermLists<'a> = Vec<(TermList<'a>, ListStatistics)>;

/// Groups lists by term. Those of a term follow one another.
fn by_term<'a>(lists: impl Iterator<Item = (TermList<'a>, ListStatistics)>) -> Vec<TermLists<'a>> {
    let mut groups: Vec<TermLists<'a>> = Vec::new();
    for list in lists {
        match groups.last_mut() {
            Some(group) if group[0].0.number == list.0.number => group.push(list),
            _ => groups.push(vec![list]),
        }
    }
    groups
}

/// The number of documents of a segment with a term in at least one field, without deleted
/// documents.
fn live_frequency(
    numbered: &NumberedSegment,
    lists: &TermLists<'_>,
    term: &str,
) -> Result<u64, OpenIndexError> {
    let mut by_length: Vec<_> = lists.iter().collect();
    by_length.sort_by_key(|(list, _)| list.cursor.df);
    let fields: Vec<usize> = by_length.iter().map(|(list, _)| list.field).collect();
    let longest = by_length.last().map_or(0, |(_, statistics)| statistics.df);
    let is_live = |doc| numbered.segment.is_live(DocNum::new(doc));
    document_frequency(&numbered.segment.index, term, &fields, is_live, longest)
}
