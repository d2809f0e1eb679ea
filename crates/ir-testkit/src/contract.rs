//! What every retriever owes its callers, as one function.

use std::fmt::Debug;
use std::thread;

use ir_core::{
    AllOf, DocFilter, DocIds, DocNum, DocSet, Document, Hit, NoneOf, Ranking, Retriever, Search,
    SearchError, Years,
};

use crate::toy;

/// A retriever, the queries to try it with, and what is to be checked.
///
/// [`check_text`] and [`check_vectors`] do it in one line; use this for other kinds of query.
#[derive(Debug)]
pub struct Contract<'a, Q: ?Sized> {
    /// Queries that are answered.
    pub good: Vec<&'a Q>,
    /// Queries that are refused with an error, without a panic.
    pub bad: Vec<&'a Q>,
}

impl<Q: ?Sized + Sync + Debug> Contract<'_, Q> {
    /// Checks a retriever.
    ///
    /// # Panics
    /// When it breaks the contract; the message says how, and for which query.
    pub fn check(&self, retriever: &dyn Retriever<Query = Q>) {
        let n = retriever.ids().len();
        let everything = Search::top(n.max(1));
        for &query in &self.good {
            let full = search(retriever, query, everything);
            valid(&full, query, n, n);
            assert_eq!(
                full,
                search(retriever, query, everything),
                "two answers to {query:?}"
            );
            for k in [0, 1, 2, 3, 10, n.saturating_sub(1), n, n + 5, usize::MAX] {
                let found = search(retriever, query, Search::top(k));
                assert_eq!(
                    found,
                    full.clone().top(k),
                    "top {k} of {query:?} is not the head of the full ranking"
                );
            }
            with_filters(n, &mut |name, filter| {
                let expected = full.clone().retain(|hit| filter.contains(hit.doc));
                for k in [1, 3, 10, n + 5] {
                    let found = search(retriever, query, Search::top(k).within(filter));
                    assert_eq!(
                        found,
                        expected.clone().top(k),
                        "top {k} of {query:?} within {name:?} is not the filtered full ranking"
                    );
                }
            });
        }
        for &query in &self.bad {
            let answer = retriever.search(query, &everything);
            assert!(
                answer.is_err(),
                "{query:?} was answered; an error was expected"
            );
        }
        self.check_batches(retriever);
        self.check_threads(retriever);
    }

    /// Checks that two retrievers answer alike: the one that was built, and the same one saved
    /// and loaded again.
    ///
    /// # Panics
    /// When they do not.
    pub fn check_equal(&self, one: &dyn Retriever<Query = Q>, other: &dyn Retriever<Query = Q>) {
        assert_eq!(one.ids(), other.ids(), "the ids differ");
        for &query in &self.good {
            for k in [1, 10, one.ids().len()] {
                let (a, b) = (
                    search(one, query, Search::top(k)),
                    search(other, query, Search::top(k)),
                );
                assert_eq!(a, b, "top {k} of {query:?} differs");
            }
        }
    }

    fn check_batches(&self, retriever: &dyn Retriever<Query = Q>) {
        let odd = |doc: DocNum| doc.get() % 2 == 1;
        let ways = [
            Search::top(3),
            Search::top(0),
            Search::top(10).within(&odd),
            Search::top(usize::MAX),
        ];
        let batch: Vec<(&Q, Search<'_>)> = self
            .good
            .iter()
            .flat_map(|&query| ways.map(|how| (query, how)))
            .collect();
        let single: Vec<Ranking> = batch
            .iter()
            .map(|(query, how)| search(retriever, query, *how))
            .collect();
        let answers = |batch: &[(&Q, Search<'_>)]| match retriever.search_batch(batch) {
            Ok(rankings) => rankings,
            Err(error) => panic!("a batch of good queries failed: {error:?}"),
        };
        assert_eq!(
            answers(&batch),
            single,
            "a batch is not what its queries give one by one"
        );
        assert!(answers(&[]).is_empty(), "an empty batch has answers");
        for threads in [1, 8] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let found = pool.install(|| answers(&batch));
            assert_eq!(found, single, "a batch on {threads} threads differs");
        }
        for &query in &self.bad {
            let mut mixed = batch.clone();
            mixed.push((query, Search::top(3)));
            assert!(
                retriever.search_batch(&mixed).is_err(),
                "a batch with {query:?} was answered"
            );
        }
    }

    fn check_threads(&self, retriever: &dyn Retriever<Query = Q>) {
        let all = || -> Vec<Ranking> {
            self.good
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
                    "concurrent searches disturb each other"
                );
            }
        });
    }
}

fn search<Q: ?Sized + Sync + Debug>(
    retriever: &dyn Retriever<Query = Q>,
    query: &Q,
    how: Search<'_>,
) -> Ranking {
    match retriever.search(query, &how) {
        Ok(ranking) => ranking,
        Err(error) => panic!("{query:?} with {how:?} failed: {error:?}"),
    }
}

fn valid<Q: ?Sized + Debug>(ranking: &Ranking, query: &Q, k: usize, n: usize) {
    assert!(
        ranking.len() <= k,
        "{} hits for {query:?}, {k} were asked for",
        ranking.len()
    );
    for hit in ranking {
        assert!(
            hit.doc.index() < n,
            "{:?} for {query:?} in an index of {n}",
            hit.doc
        );
        assert!(!hit.score.is_nan(), "a NaN score for {query:?}");
    }
    let mut seen: DocSet = DocSet::new();
    for hit in ranking {
        assert!(!seen.contains(hit.doc), "{:?} twice for {query:?}", hit.doc);
        seen.insert(hit.doc);
    }
    let ordered = |pair: &[Hit]| pair[0].order(&pair[1]).is_lt();
    assert!(
        ranking.hits().windows(2).all(ordered),
        "{query:?}: not by score, then number: {ranking:?}"
    );
}

/// Calls `check` with filters of every kind: none pass, all pass, few, many, bitmaps, closures,
/// years, combinations.
fn with_filters(n: usize, check: &mut dyn FnMut(&str, &dyn DocFilter)) {
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

/// Checks a text retriever in one line: give a function that builds it over any documents.
///
/// Built over [`toy::documents`], over one document and over none; all of [`Contract::check`], and:
/// documents of equal text have equal scores, an empty collection gives no hits.
///
/// # Panics
/// When the retriever breaks the contract.
pub fn check_text<R: Retriever<Query = str>>(build: impl Fn(&[Document]) -> R) {
    let contract = Contract {
        good: toy::text_queries(),
        bad: Vec::new(),
    };
    let documents = toy::documents();
    let retriever = build(&documents);
    let ids = retriever.ids();
    assert_eq!(ids.len(), documents.len(), "documents in and ids out");
    for document in &documents {
        let found = ids.get(&document.id).map(|doc| ids.id(doc));
        assert_eq!(
            found,
            Some(document.id.as_str()),
            "the id is not found again"
        );
    }
    contract.check(&retriever);
    equal_texts(&retriever, &documents);
    let single = build(&documents[..1]);
    contract.check(&single);
    let empty = build(&[]);
    contract.check(&empty);
    for query in toy::text_queries() {
        assert!(
            search(&empty, query, Search::top(5)).is_empty(),
            "hits in an empty collection"
        );
    }
}

fn equal_texts(retriever: &dyn Retriever<Query = str>, documents: &[Document]) {
    for query in toy::text_queries() {
        let full = search(retriever, query, Search::top(documents.len()));
        let score = |id: &str| {
            full.iter()
                .find(|hit| retriever.ids().id(hit.doc) == id)
                .map(|hit| hit.score)
        };
        for (n, one) in documents.iter().enumerate() {
            for other in &documents[n + 1..] {
                if one.title == other.title && one.text == other.text {
                    assert_eq!(
                        score(&one.id),
                        score(&other.id),
                        "{query:?}: equal texts, unequal scores"
                    );
                }
            }
        }
    }
}

/// [`check_text`], and that saving and loading changes nothing: `reload` saves what `build` made
/// and loads it again.
///
/// # Panics
/// When the retriever breaks the contract.
pub fn check_text_saved<R, S>(build: impl Fn(&[Document]) -> R, reload: impl Fn(&R) -> S)
where
    R: Retriever<Query = str>,
    S: Retriever<Query = str>,
{
    check_text(&build);
    let contract = Contract {
        good: toy::text_queries(),
        bad: Vec::new(),
    };
    for documents in [toy::documents(), Vec::new()] {
        let built = build(&documents);
        let loaded = reload(&built);
        contract.check_equal(&built, &loaded);
        contract.check(&loaded);
    }
}

/// Checks a retriever over vectors in one line: give a function that builds it over any ids and
/// vectors of 6 components. Queries of another length, with NaN or infinity must be refused.
///
/// # Panics
/// When the retriever breaks the contract.
pub fn check_vectors<R: Retriever<Query = [f32]>>(build: impl Fn(DocIds, Vec<Vec<f32>>) -> R) {
    const DIM: usize = 6;
    let queries = toy::vectors(9, DIM);
    let mut nan = vec![1.0; DIM];
    nan[2] = f32::NAN;
    let mut infinite = vec![1.0; DIM];
    infinite[5] = f32::INFINITY;
    let (short, long) = (vec![1.0; DIM - 1], vec![1.0; DIM + 1]);
    let good: Vec<&[f32]> = queries.iter().map(Vec::as_slice).collect();
    let bad: Vec<&[f32]> = vec![&nan, &infinite, &short, &long];
    let ids = |n: usize| (0..n).map(|n| format!("v{n:03}")).collect::<DocIds>();
    let contract = Contract {
        good: good.clone(),
        bad,
    };
    for n in [1, 70] {
        contract.check(&build(ids(n), toy::vectors(n, DIM)));
    }
    let empty = build(ids(0), Vec::new());
    for query in good {
        let found: Result<Ranking, SearchError> = empty.search(query, &Search::top(5));
        assert!(
            found.is_ok_and(|ranking| ranking.is_empty()),
            "hits in an empty collection"
        );
    }
}
