//! The contract of retrievers as a test suite.

use std::fmt::Debug;
use std::thread;

use ir_core::{
    AllOf, DocFilter, DocIds, DocNum, DocSet, Document, Hit, NoneOf, Ranking, Retriever, Search,
    Years,
};

use crate::toy;

/// Contract suite for retrievers of any query type.
///
/// [`check_text`] and [`check_vectors`] supply queries and collections; use this for other types.
#[derive(Debug)]
pub struct Contract<'a, Q: ?Sized> {
    /// Valid queries, searched without errors.
    pub valid_queries: Vec<&'a Q>,
    /// Invalid queries: searching returns an error and does not panic.
    pub invalid_queries: Vec<&'a Q>,
}

impl<Q: ?Sized + Sync + Debug> Contract<'_, Q> {
    /// Verifies that a retriever satisfies the contract.
    ///
    /// # Panics
    /// If the retriever violates the contract, or has documents and returns no hit for any query.
    /// The message names the violation and the query.
    pub fn check(&self, retriever: &dyn Retriever<Query = Q>) {
        let n = retriever.ids().len();
        let everything = Search::top(n.max(1));
        let mut rankings = Vec::new();
        for &query in &self.valid_queries {
            let full = search(retriever, query, everything);
            check_ranking(&full, query, n, n);
            rankings.push(full.clone());
            assert_eq!(
                full,
                search(retriever, query, everything),
                "{query:?}: repeated searches return different rankings"
            );
            for k in [0, 1, 2, 3, 10, n.saturating_sub(1), n, n + 5, usize::MAX] {
                let found = search(retriever, query, Search::top(k));
                assert_eq!(
                    found,
                    full.clone().top(k),
                    "{query:?}: top {k} is not the head of the exhaustive ranking"
                );
            }
            check_explanations(retriever, query, &full, &Search::top(3));
            with_filters(n, &mut |name, filter| {
                let expected = full.clone().retain(|hit| filter.contains(hit.doc));
                for k in [0, 1, 3, 10, n + 5] {
                    let found = search(retriever, query, Search::top(k).within(filter));
                    assert_eq!(
                        found,
                        expected.clone().top(k),
                        "{query:?}, filter {name:?}: top {k} is not the filtered exhaustive ranking"
                    );
                }
                check_explanations(retriever, query, &expected, &Search::top(3).within(filter));
            });
        }
        assert!(
            n == 0 || self.valid_queries.is_empty() || rankings.iter().any(|full| !full.is_empty()),
            "expected a hit among {n} documents for some query, found none"
        );
        for (&query, full) in self.valid_queries.iter().zip(&rankings).rev() {
            assert_eq!(
                &search(retriever, query, everything),
                full,
                "{query:?}: the ranking depends on previous searches"
            );
        }
        for &query in &self.invalid_queries {
            let answer = retriever.search(query, &everything);
            assert!(
                answer.is_err(),
                "{query:?}: expected an error, found a ranking"
            );
        }
        self.check_batches(retriever);
        self.check_threads(retriever);
    }

    /// Verifies that two retrievers return equal rankings, such as before saving and after loading.
    ///
    /// # Panics
    /// If a ranking differs.
    pub fn check_equal(&self, one: &dyn Retriever<Query = Q>, other: &dyn Retriever<Query = Q>) {
        assert_eq!(one.ids(), other.ids(), "the ids differ");
        for &query in &self.valid_queries {
            for k in [1, 10, one.ids().len()] {
                let top = |retriever| search(retriever, query, Search::top(k));
                assert_eq!(top(one), top(other), "top {k} of {query:?} differs");
            }
        }
    }

    /// Verifies a retriever without documents, by the valid queries: its dimension may be unknown.
    fn check_empty(&self, empty: &dyn Retriever<Query = Q>) {
        let valid = Contract {
            valid_queries: self.valid_queries.clone(),
            invalid_queries: Vec::new(),
        };
        valid.check(empty);
        for &query in &self.valid_queries {
            assert!(
                search(empty, query, Search::top(5)).is_empty(),
                "expected no hits in an empty collection"
            );
        }
    }

    fn check_batches(&self, retriever: &dyn Retriever<Query = Q>) {
        let odd = |doc: DocNum| doc.get() % 2 == 1;
        let variants = [
            Search::top(3),
            Search::top(0),
            Search::top(10).within(&odd),
            Search::top(usize::MAX),
        ];
        let batch: Vec<(&Q, Search<'_>)> = self
            .valid_queries
            .iter()
            .flat_map(|&query| variants.map(|variant| (query, variant)))
            .collect();
        let single: Vec<Ranking> = batch
            .iter()
            .map(|(query, parameters)| search(retriever, query, *parameters))
            .collect();
        let answers = |batch: &[(&Q, Search<'_>)]| match retriever.search_batch(batch) {
            Ok(rankings) => rankings,
            Err(error) => panic!("batch search of valid queries failed: {error:?}"),
        };
        assert_eq!(
            answers(&batch),
            single,
            "batch search differs from single searches"
        );
        let scores = single
            .iter()
            .flat_map(|ranking| ranking.iter().map(|hit| hit.score));
        let mut floors: Vec<f32> = scores.collect();
        floors.extend([f32::NEG_INFINITY, 0.0, f32::INFINITY]);
        for first in 0..floors.len().min(20) {
            // Floors of other queries, too; one is missing.
            let floors = floors[first..].iter().chain(&floors).copied();
            let floors: Vec<f32> = floors.take(batch.len().saturating_sub(1)).collect();
            let above = match retriever.search_batch_above(&batch, &floors) {
                Ok(rankings) => rankings,
                Err(error) => panic!("batch search with floors failed: {error:?}"),
            };
            let floors = floors.iter().chain([&f32::NEG_INFINITY]);
            for ((found, single), &floor) in above.iter().zip(&single).zip(floors) {
                let expected = single.clone().retain(|hit| hit.score >= floor);
                assert_eq!(found, &expected, "hits above the floor {floor} differ");
            }
        }
        assert!(
            answers(&[]).is_empty(),
            "expected no rankings for an empty batch"
        );
        for threads in [1, 8] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let found = pool.install(|| answers(&batch));
            assert_eq!(
                found, single,
                "batch search with {threads} threads differs from single searches"
            );
        }
        for &query in &self.invalid_queries {
            let mut mixed = batch.clone();
            mixed.push((query, Search::top(3)));
            assert!(
                retriever.search_batch(&mixed).is_err(),
                "batch with {query:?}: expected an error, found rankings"
            );
        }
    }

    fn check_threads(&self, retriever: &dyn Retriever<Query = Q>) {
        let all = || -> Vec<Ranking> {
            self.valid_queries
                .iter()
                .map(|&query| search(retriever, query, Search::top(10)))
                .collect()
        };
        let expected = all();
        thread::scope(|scope| {
            let workers: Vec<_> = (0..8).map(|_| scope.spawn(all)).collect();
            for worker in workers {
                assert_eq!(
                    worker.join().unwrap(),
                    expected,
                    "concurrent searches return different rankings"
                );
            }
        });
    }
}

pub(crate) fn search<Q: ?Sized + Sync + Debug>(
    retriever: &dyn Retriever<Query = Q>,
    query: &Q,
    parameters: Search<'_>,
) -> Ranking {
    match retriever.search(query, &parameters) {
        Ok(ranking) => ranking,
        Err(error) => panic!("search for {query:?} with {parameters:?} failed: {error:?}"),
    }
}

fn check_ranking<Q: ?Sized + Debug>(ranking: &Ranking, query: &Q, k: usize, n: usize) {
    assert!(
        ranking.len() <= k,
        "{query:?}: expected at most {k} hits, found {}",
        ranking.len()
    );
    let mut seen = DocSet::new();
    for hit in ranking {
        assert!(
            hit.doc.index() < n,
            "{query:?}: expected a document number below {n}, found {:?}",
            hit.doc
        );
        assert!(
            !hit.score.is_nan(),
            "{query:?}: expected a score, found NaN"
        );
        assert!(
            seen.insert(hit.doc),
            "{query:?}: {:?} occurs twice",
            hit.doc
        );
    }
    let ordered = |pair: &[Hit]| pair[0].order(&pair[1]).is_lt();
    assert!(
        ranking.hits().windows(2).all(ordered),
        "{query:?}: not sorted by score, then document number: {ranking:?}"
    );
}

/// Verifies that explanations, if the retriever returns any, equal the scores of all hits bit for
/// bit, and that documents that are not hits have none. `all` is the exhaustive ranking of the
/// search.
pub(crate) fn check_explanations<Q: ?Sized + Sync + Debug>(
    retriever: &dyn Retriever<Query = Q>,
    query: &Q,
    all: &Ranking,
    parameters: &Search<'_>,
) {
    let explain = |doc: DocNum| match retriever.explain(query, doc, parameters) {
        Ok(tree) => tree,
        Err(error) => panic!("explanation of {doc:?} for {query:?} failed: {error:?}"),
    };
    let mut explained = 0;
    for hit in all {
        if let Some(tree) = explain(hit.doc) {
            assert_eq!(
                tree.score().to_bits(),
                hit.score.to_bits(),
                "{query:?}, {:?}: the explained score is not that of the hit {}:\n{tree}",
                hit.doc,
                hit.score
            );
            explained += 1;
        }
    }
    assert!(
        explained == 0 || explained == all.len(),
        "{query:?}: expected explanations of all {} hits, found {explained}",
        all.len()
    );
    let hits: DocSet = all.iter().map(|hit| hit.doc).collect();
    let n = retriever.ids().len() as u32;
    for doc in (0..=n).map(DocNum::new).filter(|doc| !hits.contains(*doc)) {
        assert!(
            explain(doc).is_none(),
            "{query:?}: {doc:?} is not a hit and has an explanation"
        );
    }
}

/// Calls `check` with filters of every type and selectivity.
pub(crate) fn with_filters(n: usize, check: &mut dyn FnMut(&str, &dyn DocFilter)) {
    let nothing = DocSet::new();
    let everything = DocSet::select(n, |_| true);
    let one = DocSet::select(n, |doc| doc.index() == n / 2);
    let third = DocSet::select(n, |doc| doc.get() % 3 == 0);
    let years: Years = (0..n as i64).map(|n| (n % 5 != 0).then_some(n)).collect();
    let early = years.not_later_than(Some(n as i64 / 3));
    let odd = |doc: DocNum| doc.get() % 2 == 1;
    check("nothing", &nothing);
    check("everything", &everything);
    check("one document", &one);
    check("every third", &third);
    check("odd, by closure", &odd);
    check("early or unknown year", &early);
    check("odd and early", &AllOf(vec![&odd, &early]));
    check("not every third", &NoneOf(vec![&third]));
}

/// Verifies a text retriever, given a function that builds it over any documents.
///
/// Builds it over [`toy::documents`], one document and no documents. Runs [`Contract::check`] and
/// verifies that documents of equal title and text score equally and that an empty collection
/// returns no hits.
///
/// # Panics
/// If the retriever violates the contract.
pub fn check_text<R: Retriever<Query = str>>(build: impl Fn(&[Document]) -> R) {
    let contract = text_contract();
    let documents = toy::documents();
    let retriever = build(&documents);
    let ids = retriever.ids();
    assert_eq!(
        ids.len(),
        documents.len(),
        "number of ids differs from number of documents"
    );
    for document in &documents {
        let found = ids.get(&document.id).map(|doc| ids.id(doc));
        assert_eq!(
            found,
            Some(document.id.as_str()),
            "lookup by id returns another id"
        );
    }
    contract.check(&retriever);
    let same =
        |one: &Document, other: &Document| one.title == other.title && one.text == other.text;
    let equal_ids = equal_pairs(&documents, same)
        .map(|(one, other)| (documents[one].id.as_str(), documents[other].id.as_str()))
        .collect::<Vec<_>>();
    check_equal_scores(&retriever, &contract.valid_queries, &equal_ids);
    // Document 0 matches some of the queries.
    let single = build(&documents[..1]);
    contract.check(&single);
    contract.check_empty(&build(&[]));
}

fn text_contract() -> Contract<'static, str> {
    Contract {
        valid_queries: toy::text_queries(),
        invalid_queries: Vec::new(),
    }
}

/// Returns the pairs of positions of equal items.
fn equal_pairs<'a, T>(
    items: &'a [T],
    same: impl Fn(&T, &T) -> bool + Copy + 'a,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let pairs = (0..items.len()).flat_map(|other| (0..other).map(move |one| (one, other)));
    pairs.filter(move |&(one, other)| same(&items[one], &items[other]))
}

/// Verifies that documents of equal content score equally, or are all missing.
fn check_equal_scores<Q: ?Sized + Sync + Debug>(
    retriever: &dyn Retriever<Query = Q>,
    queries: &[&Q],
    pairs: &[(&str, &str)],
) {
    assert!(!pairs.is_empty(), "expected documents with equal content");
    for &query in queries {
        let full = search(retriever, query, Search::top(retriever.ids().len()));
        let score = |id: &str| {
            let mut hits = full.iter();
            hits.find(|hit| retriever.ids().id(hit.doc) == id)
                .map(|hit| hit.score)
        };
        for (one, other) in pairs {
            assert_eq!(
                score(one),
                score(other),
                "{query:?}: {one:?} and {other:?} have equal content and different scores"
            );
        }
    }
}

/// Runs [`check_text`] and verifies that saving and loading preserve rankings. `reload` saves a
/// retriever and loads it.
///
/// # Panics
/// If the retriever violates the contract.
pub fn check_text_saved<R, S>(build: impl Fn(&[Document]) -> R, reload: impl Fn(&R) -> S)
where
    R: Retriever<Query = str>,
    S: Retriever<Query = str>,
{
    check_text(&build);
    let contract = text_contract();
    for documents in [toy::documents(), Vec::new()] {
        let built = build(&documents);
        let loaded = reload(&built);
        contract.check_equal(&built, &loaded);
        contract.check(&loaded);
    }
}

/// Dimension of the vectors of [`check_vectors`].
const DIM: usize = 6;

/// Calls `check` with valid and invalid vector queries.
fn with_vector_queries(check: impl FnOnce(&Contract<'_, [f32]>)) {
    let queries = toy::vectors(9, DIM);
    let with = |at: usize, value: f32| {
        let mut query = vec![1.0; DIM];
        query[at] = value;
        query
    };
    let invalid = [
        with(2, f32::NAN),
        with(5, f32::INFINITY),
        with(0, f32::NEG_INFINITY),
        vec![1.0; DIM - 1],
        vec![1.0; DIM + 1],
    ];
    check(&Contract {
        valid_queries: queries.iter().map(Vec::as_slice).collect(),
        invalid_queries: invalid.iter().map(Vec::as_slice).collect(),
    });
}

fn vector_ids(n: usize) -> DocIds {
    (0..n).map(|n| format!("v{n:03}")).collect()
}

/// Verifies a vector index, given a function that builds it over any ids and 6-dimensional vectors.
///
/// Builds it over 70 vectors of [`toy::vectors`], one vector and none. Runs [`Contract::check`] and
/// verifies that equal vectors score equally, that queries of another dimension, with NaN or
/// infinity return an error (except for an empty index, which may have no dimension), and that an
/// empty collection returns no hits.
///
/// # Panics
/// If the retriever violates the contract.
pub fn check_vectors<R: Retriever<Query = [f32]>>(build: impl Fn(DocIds, Vec<Vec<f32>>) -> R) {
    with_vector_queries(|contract| {
        for n in [1, 70] {
            let vectors = toy::vectors(n, DIM);
            let retriever = build(vector_ids(n), vectors.clone());
            assert_eq!(retriever.ids(), &vector_ids(n), "other ids than were given");
            contract.check(&retriever);
            if n > 1 {
                let names: Vec<String> = (0..n).map(|n| format!("v{n:03}")).collect();
                let pairs: Vec<(&str, &str)> = equal_pairs(&vectors, |one, other| one == other)
                    .map(|(one, other)| (names[one].as_str(), names[other].as_str()))
                    .collect();
                check_equal_scores(&retriever, &contract.valid_queries, &pairs);
            }
        }
        contract.check_empty(&build(vector_ids(0), Vec::new()));
    });
}

/// Runs [`check_vectors`] and verifies that saving and loading preserve rankings. `reload` saves a
/// retriever and loads it.
///
/// # Panics
/// If the retriever violates the contract.
pub fn check_vectors_saved<R, S>(
    build: impl Fn(DocIds, Vec<Vec<f32>>) -> R,
    reload: impl Fn(&R) -> S,
) where
    R: Retriever<Query = [f32]>,
    S: Retriever<Query = [f32]>,
{
    check_vectors(&build);
    with_vector_queries(|contract| {
        for n in [0, 1, 70] {
            let built = build(vector_ids(n), toy::vectors(n, DIM));
            let loaded = reload(&built);
            contract.check_equal(&built, &loaded);
            if n == 0 {
                contract.check_empty(&loaded);
            } else {
                contract.check(&loaded);
            }
        }
    });
}
