//! Rankings of systems that several systems search: parts of hybrids, priors and rerankings.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ir_core::{
    DocFilter, DocIds, DocNum, Explanation, Hit, MatchedText, Ranking, Retriever, Search,
    SearchError,
};

use crate::hash::ContentHash;

type TextRetriever = Arc<dyn Retriever<Query = str>>;

/// Maximum size of the rankings of all systems, in bytes. Those that were kept first are evicted.
const MAX_BYTES: usize = 256 << 20;

/// Size of an entry without its hits: key, ranking, and position in the order.
const ENTRY_BYTES: usize = 192;

/// Maximum number of documents that are asked, or hashed, for a filter without a key.
const MAX_MEMBERS: usize = 1 << 15;

/// Rankings by system, query and search parameters.
#[derive(Debug)]
pub(crate) struct SharedRankings {
    entries: Mutex<Entries>,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Entries {
    rankings: HashMap<Arc<str>, Ranking>,
    /// Keys in the order in which they were inserted.
    order: VecDeque<Arc<str>>,
    bytes: usize,
}

impl Default for SharedRankings {
    fn default() -> Self {
        Self {
            entries: Mutex::default(),
            max_bytes: MAX_BYTES,
        }
    }
}

impl SharedRankings {
    /// Locks the entries. A poisoned lock is usable: only whole rankings are inserted.
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the rankings: searches run again.
    pub(crate) fn clear(&self) {
        *self.entries() = Entries::default();
    }

    fn insert(&self, key: String, ranking: &Ranking) {
        let key: Arc<str> = key.into();
        let mut entries = self.entries();
        let known = entries.rankings.insert(key.clone(), ranking.clone());
        if known.is_some() {
            return;
        }
        entries.order.push_back(key);
        entries.bytes += size(ranking);
        while entries.bytes > self.max_bytes {
            let Some(first) = entries.order.pop_front() else {
                break;
            };
            let removed = entries.rankings.remove(&first);
            entries.bytes -= removed.as_ref().map_or(0, size);
        }
    }
}

/// Size of an entry in bytes.
fn size(ranking: &Ranking) -> usize {
    ENTRY_BYTES + ranking.len() * size_of::<Hit>()
}

/// Retriever that searches a query with the same parameters once, while the ranking is kept.
///
/// A search is kept unless its filter has no [key](DocFilter::key), and both the filter and the
/// collection have many documents.
pub(crate) struct SharedSystem {
    retriever: TextRetriever,
    /// Key of the system.
    key: String,
    rankings: Arc<SharedRankings>,
}

impl SharedSystem {
    /// Shares the rankings of the system of a key.
    pub(crate) fn new(
        retriever: TextRetriever,
        key: String,
        rankings: Arc<SharedRankings>,
    ) -> Self {
        Self {
            retriever,
            key,
            rankings,
        }
    }

    /// Key of a search; `None` for a filter that cannot be compared with others.
    fn search_key(&self, query: &str, search: &Search<'_>, floor: f32) -> Option<String> {
        let mut hash = ContentHash::default();
        hash.text(&self.key)
            .text(query)
            .number(search.k() as i64)
            .number(i64::from(floor.to_bits()));
        if let Some(filter) = search.filter() {
            match filter.key() {
                Some(key) => {
                    hash.number(1).text(&key);
                }
                None => {
                    hash.number(2).bytes(&members(filter, self.ids().len())?);
                }
            }
        }
        Some(hash.finish())
    }

    /// Searches the queries without a kept ranking, each once. Without floors, `floors` is empty.
    fn search_new(
        &self,
        queries: &[(&str, Search<'_>)],
        floors: &[f32],
    ) -> Result<Vec<Ranking>, SearchError> {
        let floor = |n: usize| floors.get(n).copied().unwrap_or(f32::NEG_INFINITY);
        let mut keys: Vec<Option<String>> = Vec::with_capacity(queries.len());
        let mut found: Vec<Option<Ranking>> = Vec::with_capacity(queries.len());
        for (n, (query, search)) in queries.iter().enumerate() {
            let key = self.search_key(query, search, floor(n));
            let mut known = key.as_deref().and_then(|key| self.kept(key));
            if known.is_none() && floor(n) > f32::NEG_INFINITY {
                let all = self.search_key(query, search, f32::NEG_INFINITY);
                let all = all.and_then(|key| self.kept(&key));
                known = all.map(|all| all.retain(|hit| hit.score >= floor(n)));
            }
            keys.push(key);
            found.push(known);
        }
        // Queries to search, and the position of each among them.
        let (mut new, mut positions) = (Vec::new(), HashMap::new());
        let mut source = vec![0; queries.len()];
        for n in (0..queries.len()).filter(|&n| found[n].is_none()) {
            let position = match &keys[n] {
                Some(key) => *positions.entry(key.clone()).or_insert(new.len()),
                None => new.len(),
            };
            if position == new.len() {
                new.push(n);
            }
            source[n] = position;
        }
        if new.is_empty() {
            return Ok(found.into_iter().flatten().collect());
        }
        let batch: Vec<(&str, Search<'_>)> = new.iter().map(|&n| queries[n]).collect();
        let rankings = if floors.is_empty() {
            self.retriever.search_batch(&batch)?
        } else {
            let floors: Vec<f32> = new.iter().map(|&n| floor(n)).collect();
            self.retriever.search_batch_above(&batch, &floors)?
        };
        for (&n, ranking) in new.iter().zip(&rankings) {
            if let Some(key) = keys[n].take() {
                self.rankings.insert(key, ranking);
            }
        }
        let answers = found.into_iter().zip(source);
        let answers = answers.map(|(kept, position)| {
            kept.unwrap_or_else(|| rankings.get(position).cloned().unwrap_or_default())
        });
        Ok(answers.collect())
    }

    fn kept(&self, key: &str) -> Option<Ranking> {
        self.rankings.entries().rankings.get(key).cloned()
    }
}

/// Numbers of the documents that pass a filter, of a small collection or a small filter.
fn members(filter: &dyn DocFilter, documents: usize) -> Option<Vec<u8>> {
    let bytes = |doc: DocNum| doc.get().to_le_bytes();
    if documents <= MAX_MEMBERS {
        let docs = (0..documents as u32).map(DocNum::new);
        let passing = docs.filter(|doc| filter.contains(*doc));
        return Some(passing.flat_map(bytes).collect());
    }
    filter.count().filter(|count| *count <= MAX_MEMBERS)?;
    Some(filter.members()?.flat_map(bytes).collect())
}

impl Retriever for SharedSystem {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.retriever.ids()
    }

    ir_core::search_as_batch!();

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        self.search_new(queries, &[])
    }

    fn search_batch_above(
        &self,
        queries: &[(&str, Search<'_>)],
        floors: &[f32],
    ) -> Result<Vec<Ranking>, SearchError> {
        self.search_new(queries, floors)
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        self.retriever.explain(query, doc, search)
    }

    fn matched_text(&self, query: &str, doc: DocNum) -> Result<Option<MatchedText>, SearchError> {
        self.retriever.matched_text(query, doc)
    }
}

/// Retriever that removes the kept rankings after each batch, for systems that are open for any
/// queries.
pub(crate) struct ClearedAfterSearch {
    pub(crate) retriever: TextRetriever,
    pub(crate) rankings: Arc<SharedRankings>,
}

impl ClearedAfterSearch {
    fn cleared<T>(&self, result: T) -> T {
        self.rankings.clear();
        result
    }
}

impl Retriever for ClearedAfterSearch {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.retriever.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        self.cleared(self.retriever.search(query, search))
    }

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        self.cleared(self.retriever.search_batch(queries))
    }

    fn search_batch_above(
        &self,
        queries: &[(&str, Search<'_>)],
        floors: &[f32],
    ) -> Result<Vec<Ranking>, SearchError> {
        self.cleared(self.retriever.search_batch_above(queries, floors))
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        self.cleared(self.retriever.explain(query, doc, search))
    }

    fn matched_text(&self, query: &str, doc: DocNum) -> Result<Option<MatchedText>, SearchError> {
        self.retriever.matched_text(query, doc)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ir_core::DocSet;
    use proptest::prelude::*;

    use super::*;

    /// Ranks documents by their number and the length of the query, and counts the searches.
    #[derive(Debug)]
    struct Counting {
        ids: DocIds,
        searches: AtomicUsize,
    }

    impl Counting {
        fn new() -> Self {
            Self {
                ids: (0..40).map(|n| n.to_string()).collect(),
                searches: AtomicUsize::new(0),
            }
        }
    }

    impl Retriever for Counting {
        type Query = str;

        fn ids(&self) -> &DocIds {
            &self.ids
        }

        fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
            self.searches.fetch_add(1, Ordering::Relaxed);
            let docs = (0..40).map(DocNum::new).filter(|doc| search.allows(*doc));
            let score = |doc: DocNum| (doc.get() as usize * (7 + query.len()) % 41) as f32;
            let hits = docs.map(|doc| Hit::new(doc, score(doc))).collect();
            Ok(Ranking::from_hits(hits)?.top(search.k()))
        }
    }

    fn shared(inner: &Arc<Counting>, max_bytes: usize) -> SharedSystem {
        let rankings = SharedRankings {
            max_bytes,
            ..SharedRankings::default()
        };
        SharedSystem::new(inner.clone(), "system".to_owned(), Arc::new(rankings))
    }

    /// Query, number of hits, filter, floor.
    type Case = (String, usize, Option<Vec<u32>>, Option<f32>);

    fn cases() -> impl Strategy<Value = Vec<Vec<Case>>> {
        let filter = prop::option::of(prop::collection::vec(0_u32..40, 0..4));
        let floor = prop::option::of(prop::sample::select(vec![0.0_f32, 20.0]));
        let case = ("[ab]{0,2}", 0_usize..4, filter, floor);
        prop::collection::vec(prop::collection::vec(case, 0..6), 0..8)
    }

    proptest! {
        #[test]
        fn rankings_are_those_of_the_retriever(batches in cases(), few in any::<bool>()) {
            let inner = Arc::new(Counting::new());
            let system = shared(&inner, if few { 3 * ENTRY_BYTES } else { MAX_BYTES });
            for batch in &batches {
                let sets: Vec<Option<DocSet>> = (batch.iter())
                    .map(|case| Some(case.2.as_ref()?.iter().map(|n| DocNum::new(*n)).collect()))
                    .collect();
                let queries: Vec<(&str, Search<'_>)> = (batch.iter().zip(&sets))
                    .map(|((query, k, ..), set)| {
                        let search = Search::top(*k);
                        (&**query, set.as_ref().map_or(search, |set| search.within(set)))
                    })
                    .collect();
                let floors: Vec<f32> = (batch.iter())
                    .map(|case| case.3.unwrap_or(f32::NEG_INFINITY))
                    .collect();
                prop_assert_eq!(
                    system.search_batch(&queries).unwrap(),
                    inner.search_batch(&queries).unwrap()
                );
                prop_assert_eq!(
                    system.search_batch_above(&queries, &floors).unwrap(),
                    inner.search_batch_above(&queries, &floors).unwrap()
                );
                let entries = system.rankings.entries();
                prop_assert!(entries.bytes <= system.rankings.max_bytes);
                prop_assert_eq!(entries.order.len(), entries.rankings.len());
                let bytes: usize = entries.rankings.values().map(size).sum();
                prop_assert_eq!(entries.bytes, bytes);
            }
        }
    }

    #[test]
    fn equal_searches_run_once() {
        let inner = Arc::new(Counting::new());
        let system = shared(&inner, MAX_BYTES);
        let even = |doc: DocNum| doc.get().is_multiple_of(2);
        let set: DocSet = [3, 4].map(DocNum::new).into_iter().collect();
        let searches = |expected: usize| {
            assert_eq!(inner.searches.load(Ordering::Relaxed), expected);
        };
        let top = Search::top(3);
        let all = [("a", top), ("b", top), ("a", top), ("a", top.within(&set))];
        let first = system.search_batch(&all).unwrap();
        assert_eq!(first[0], first[2]);
        searches(3);
        assert_eq!(system.search_batch(&all).unwrap(), first);
        searches(3);
        // A ranking with a floor is part of one without.
        let above = system.search_batch_above(&all[..1], &[38.5]).unwrap();
        assert!(above[0].len() < 3 && !above[0].is_empty());
        searches(3);
        assert_eq!(system.search("a", &Search::top(2)).unwrap().len(), 2);
        searches(4);
        // Filters of a small collection are compared by their documents.
        for _ in 0..2 {
            assert_eq!(system.search("a", &top.within(&even)).unwrap().len(), 3);
            searches(5);
        }
        system.rankings.clear();
        assert_eq!(system.search("a", &top).unwrap(), first[0]);
        searches(6);
    }
}
