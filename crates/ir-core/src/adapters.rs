//! Adapters: retrievers that wrap a retriever.

use std::collections::HashSet;

use crate::error::SearchError;
use crate::explanation::Explanation;
use crate::ids::{DocIds, DocNum};
use crate::matched_text::MatchedText;
use crate::ranking::{Hit, Ranking};
use crate::retriever::{Retriever, in_rounds};
use crate::search::Search;

/// Adapter that returns every id once, for collections in which several records share an id.
///
/// The best-ranked record of an id is kept, so an item with several vectors (an answer and its
/// questions) gets the score of the best of them.
///
/// Exact: returns `k` distinct ids if that many match. Requests more hits than `k`, and repeats the
/// search with more hits where these do not suffice.
#[derive(Debug, Clone)]
pub struct Distinct<R>(pub R);

impl<R: Retriever> Retriever for Distinct<R> {
    type Query = R::Query;

    fn ids(&self) -> &DocIds {
        self.0.ids()
    }

    crate::search_as_batch!();

    fn search_batch(
        &self,
        queries: &[(&R::Query, Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        let records = self.ids().len();
        in_rounds(queries.len(), |open, factor| {
            let batch: Vec<(&R::Query, Search<'_>)> = open
                .iter()
                .map(|&n| {
                    let (query, search) = queries[n];
                    (query, search.with_k(more_hits(search.k(), factor, records)))
                })
                .collect();
            let found = self.0.search_batch(&batch)?;
            let answers = open.iter().zip(&batch).zip(found);
            let answers = answers.map(|((&n, (_, asked)), ranking)| {
                let k = queries[n].1.k();
                let all = ranking.len() < asked.k() || asked.k() == records;
                let mut seen = HashSet::new();
                let once = ranking.retain(|hit| seen.insert(self.ids().id(hit.doc)));
                (all || once.len() >= k).then(|| once.top(k))
            });
            Ok(answers.collect())
        })
    }

    fn explain(
        &self,
        query: &R::Query,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let Some(tree) = self.0.explain(query, doc, search)? else {
            return Ok(None);
        };
        let hit = Hit::new(doc, tree.score());
        let records = self.ids().all(self.ids().id(doc));
        for other in records.filter(|&other| other != doc) {
            if let Some(other_tree) = self.0.explain(query, other, search)?
                && Hit::new(other, other_tree.score()).order(&hit).is_lt()
            {
                return Ok(None);
            }
        }
        Ok(Some(tree))
    }

    fn matched_text(
        &self,
        query: &R::Query,
        doc: DocNum,
    ) -> Result<Option<MatchedText>, SearchError> {
        self.0.matched_text(query, doc)
    }
}

/// Adapter that numbers the documents of a retriever as another collection does, by their ids:
/// vectors of a file, for example, as the documents of an index. Documents that the collection
/// lacks are left out. Every id is returned once, under the number of its first record.
///
/// Exact: ties are broken by the numbers of the collection. Requests more hits than `k`, and
/// repeats the search with more hits until none that is missing can have the score of hit `k`.
///
/// ```
/// use ir_core::{DocIds, DocNum, Hit, Ranking, Renumbered, Retriever, Search, SearchError};
/// # struct All(DocIds);
/// # impl Retriever for All {
/// #     type Query = str;
/// #     fn ids(&self) -> &DocIds {
/// #         &self.0
/// #     }
/// #     fn search(&self, _: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
/// #         let docs = (0..self.0.len() as u32).map(DocNum::new);
/// #         let hits = docs.filter(|doc| search.allows(*doc)).map(|doc| Hit::new(doc, 1.0));
/// #         Ok(Ranking::from_hits(hits.collect())?.top(search.k()))
/// #     }
/// # }
/// # let vectors = All(["milk", "tea", "ship"].into_iter().collect());
/// // All documents have the same score.
/// let ids: DocIds = ["ship", "tea", "milk"].into_iter().collect();
/// let renumbered = Renumbered::new(vectors, ids);
/// let first = renumbered.search("drink", &Search::top(1))?.hits()[0];
/// assert_eq!(renumbered.ids().id(first.doc), "ship");
/// # Ok::<(), SearchError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Renumbered<R> {
    retriever: R,
    ids: DocIds,
    /// Numbers of the documents of the retriever.
    numbers: Vec<Option<DocNum>>,
    /// If `true`, every document has a number.
    all_are_known: bool,
}

impl<R: Retriever> Renumbered<R> {
    /// Wraps a retriever. `ids` are the ids of the collection, in its order.
    pub fn new(retriever: R, ids: DocIds) -> Self {
        let numbers: Vec<_> = retriever.ids().iter().map(|id| ids.get(id)).collect();
        Self {
            all_are_known: numbers.iter().all(Option::is_some),
            retriever,
            ids,
            numbers,
        }
    }

    fn number(&self, doc: DocNum) -> Option<DocNum> {
        self.numbers.get(doc.index()).copied().flatten()
    }

    /// The best `k` documents of a ranking; `None` if one that the ranking lacks may be among them.
    /// `is_whole` is `true` if the ranking lacks none.
    fn best(
        &self,
        ranking: &Ranking,
        k: usize,
        is_whole: bool,
    ) -> Result<Option<Ranking>, SearchError> {
        let mut seen = HashSet::new();
        let hits = ranking.iter().filter_map(|hit| {
            let doc = self.number(hit.doc)?;
            seen.insert(doc).then(|| Hit::new(doc, hit.score))
        });
        let once = Ranking::from_hits(hits.collect())?;
        // Missing documents have the score of the last hit, or a lower one.
        let last = ranking.hits().last();
        let is_best = k.checked_sub(1).is_none_or(|at| {
            let hit = once.hits().get(at);
            hit.is_some_and(|hit| last.is_none_or(|last| hit.score > last.score))
        });
        Ok((is_whole || is_best).then(|| once.top(k)))
    }
}

impl<R: Retriever> Retriever for Renumbered<R> {
    type Query = R::Query;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    crate::search_as_batch!();

    fn search_batch(
        &self,
        queries: &[(&R::Query, Search<'_>)],
    ) -> Result<Vec<Ranking>, SearchError> {
        let records = self.numbers.len();
        let filters = queries.iter().map(|&(_, search)| {
            move |doc: DocNum| self.number(doc).is_some_and(|doc| search.allows(doc))
        });
        let filters: Vec<_> = filters.collect();
        in_rounds(queries.len(), |open, factor| {
            let batch: Vec<(&R::Query, Search<'_>)> = open
                .iter()
                .map(|&n| {
                    let (query, search) = queries[n];
                    let all = Search::top(more_hits(search.k(), factor, records));
                    if search.filter().is_none() && self.all_are_known {
                        (query, all)
                    } else {
                        (query, all.within(&filters[n]))
                    }
                })
                .collect();
            let found = self.retriever.search_batch(&batch)?;
            let answers = open.iter().zip(&batch).zip(found);
            let answers = answers.map(|((&n, (_, asked)), ranking)| {
                let is_whole = ranking.len() < asked.k() || asked.k() == records;
                self.best(&ranking, queries[n].1.k(), is_whole)
            });
            answers.collect()
        })
    }

    fn explain(
        &self,
        query: &R::Query,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        if doc.index() >= self.ids.len() || !search.allows(doc) {
            return Ok(None);
        }
        let id = self.ids.id(doc);
        if self.ids.get(id) != Some(doc) {
            return Ok(None);
        }
        let filter = |doc: DocNum| self.number(doc).is_some_and(|doc| search.allows(doc));
        let within = Search::top(search.k()).within(&filter);
        let mut best: Option<Explanation> = None;
        for record in self.retriever.ids().all(id) {
            if let Some(tree) = self.retriever.explain(query, record, &within)?
                && best.as_ref().is_none_or(|best| tree.score() > best.score())
            {
                best = Some(tree);
            }
        }
        Ok(best)
    }

    fn matched_text(
        &self,
        query: &R::Query,
        doc: DocNum,
    ) -> Result<Option<MatchedText>, SearchError> {
        if doc.index() >= self.ids.len() {
            return Ok(None);
        }
        match self.retriever.ids().get(self.ids.id(doc)) {
            Some(record) => self.retriever.matched_text(query, record),
            None => Ok(None),
        }
    }
}

/// Number of hits to request in a round, so that `k` are left of them: at most `records`.
fn more_hits(k: usize, factor: usize, records: usize) -> usize {
    if k == 0 {
        return 0;
    }
    let padded = k.saturating_add(k / 4).saturating_add(8);
    padded.saturating_mul(factor).min(records)
}

/// Adapter that rewrites query texts before the search: cleaning, spelling, expansion.
///
/// If the rewriting fails, the search returns its error.
///
/// ```
/// use ir_core::{DocIds, Ranking, Retriever, Rewritten, Search, SearchError};
/// # struct Exact(DocIds);
/// # impl Retriever for Exact {
/// #     type Query = str;
/// #     fn ids(&self) -> &DocIds {
/// #         &self.0
/// #     }
/// #     fn search(&self, query: &str, _: &Search<'_>) -> Result<Ranking, SearchError> {
/// #         let hits = self.0.get(query).map(|doc| ir_core::Hit::new(doc, 1.0));
/// #         Ranking::from_hits(hits.into_iter().collect())
/// #     }
/// # }
/// # let exact = Exact(["tea"].into_iter().collect());
/// let lower_case = Rewritten::new(exact, |text: &str| Ok(text.to_lowercase()));
/// assert_eq!(lower_case.search("TEA", &Search::top(1))?.len(), 1);
/// # Ok::<(), SearchError>(())
/// ```
#[derive(Clone)]
pub struct Rewritten<R, F> {
    retriever: R,
    rewrite: F,
}

impl<R, F: Fn(&str) -> Result<String, SearchError>> Rewritten<R, F> {
    /// Wraps a retriever. `rewrite` maps the text of a query to the text to search.
    pub const fn new(retriever: R, rewrite: F) -> Self {
        Self { retriever, rewrite }
    }

    /// Returns the wrapped retriever.
    pub const fn retriever(&self) -> &R {
        &self.retriever
    }
}

impl<R: std::fmt::Debug, F> std::fmt::Debug for Rewritten<R, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rewritten")
            .field("retriever", &self.retriever)
            .finish_non_exhaustive()
    }
}

impl<R, F> Retriever for Rewritten<R, F>
where
    R: Retriever<Query = str>,
    F: Fn(&str) -> Result<String, SearchError> + Send + Sync,
{
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.retriever.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.retriever.search(&(self.rewrite)(query)?, search)
    }

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let texts = queries.iter().map(|(query, _)| (self.rewrite)(query));
        let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
        let queries = texts.iter().zip(queries);
        let queries: Vec<(&str, Search<'_>)> = queries
            .map(|(text, (_, search))| (text.as_str(), *search))
            .collect();
        self.retriever.search_batch(&queries)
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        self.retriever.explain(&(self.rewrite)(query)?, doc, search)
    }

    fn matched_text(&self, query: &str, doc: DocNum) -> Result<Option<MatchedText>, SearchError> {
        self.retriever.matched_text(&(self.rewrite)(query)?, doc)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::ConstantScores;

    proptest! {
        #[test]
        fn distinct_returns_every_id_once(
            ids in prop::collection::vec(0_u8..30, 0..400), k in 0_usize..40, scores in 1_u32..90,
        ) {
            let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            let scores = (0..).map(|n: u32| (!n.is_multiple_of(7)).then_some((n * 37 % scores) as f32));
            let records: Vec<_> = ids.iter().zip(scores).collect();
            let inner = ConstantScores::new(&records);
            let odd = |doc: DocNum| doc.get() % 2 == 1;
            // The exhaustive ranking, reduced to the first record of each id.
            let whole = inner.search("", &Search::top(usize::MAX).within(&odd)).unwrap();
            let mut seen = std::collections::HashSet::new();
            let expected = whole.retain(|hit| seen.insert(ids[hit.doc.index()].clone())).top(k);
            let distinct = Distinct(inner);
            let found = distinct.search("", &Search::top(k).within(&odd)).unwrap();
            prop_assert_eq!(&found, &expected);
            // The best records of all ids, and no others, have explanations.
            let every = distinct.search("", &Search::top(usize::MAX).within(&odd)).unwrap();
            for doc in (0..ids.len() as u32).map(DocNum::new) {
                let score = every.iter().find(|hit| hit.doc == doc).map(|hit| hit.score);
                let tree = distinct.explain("", doc, &Search::top(k).within(&odd)).unwrap();
                prop_assert_eq!(tree.map(|tree| tree.score()), score);
            }
            let batch = [("", Search::top(0)), ("", Search::top(k).within(&odd))];
            let found = distinct.search_batch(&batch).unwrap();
            prop_assert_eq!(&found[0], &Ranking::default());
            prop_assert_eq!(&found[1], &expected);
        }

        /// The exhaustive ranking, with the numbers of other ids.
        #[test]
        fn renumbered_documents_are_ranked_by_their_numbers(
            inner in prop::collection::vec(0_u8..30, 0..400),
            known in prop::collection::vec(5_u8..40, 1..60),
            k in 0_usize..40,
            scores in 1_u32..9,
            filtered in any::<bool>(),
        ) {
            let inner: Vec<String> = inner.iter().map(ToString::to_string).collect();
            let values = (0..).map(|n: u32| (!n.is_multiple_of(7)).then_some((n * 37 % scores) as f32));
            let records: Vec<_> = inner.iter().zip(values).collect();
            let ids: DocIds = known.iter().map(ToString::to_string).collect();
            let odd = |doc: DocNum| doc.get() % 2 == 1;
            let mut best = std::collections::BTreeMap::<DocNum, f32>::new();
            for (id, value) in &records {
                if let (Some(doc), Some(value)) = (ids.get(id), value)
                    && (!filtered || odd(doc))
                {
                    let score = best.entry(doc).or_insert(*value);
                    *score = score.max(*value);
                }
            }
            let hits = best.iter().map(|(doc, score)| Hit::new(*doc, *score));
            let expected = Ranking::from_hits(hits.collect()).unwrap();
            let renumbered = Renumbered::new(ConstantScores::new(&records), ids.clone());
            prop_assert!(renumbered.ids() == &ids);
            let search = |k: usize| {
                let search = Search::top(k);
                if filtered { search.within(&odd) } else { search }
            };
            let found = renumbered.search_batch(&[("", search(0)), ("", search(k))]).unwrap();
            prop_assert_eq!(&found[0], &Ranking::default());
            prop_assert_eq!(&found[1], &expected.clone().top(k));
            for doc in (0..ids.len() as u32).map(DocNum::new) {
                let tree = renumbered.explain("", doc, &search(k)).unwrap();
                prop_assert_eq!(tree.map(|tree| tree.score()), best.get(&doc).copied());
            }
        }
    }
}
