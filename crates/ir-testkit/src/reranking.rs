//! The contracts of rerankers, and of retrievers that rerank, as test suites.

use std::fmt::Debug;
use std::thread;

use ir_core::{
    Candidate, CandidateTexts, DocIds, Hit, Ranking, Reranker, Retriever, Search, SplitMix64,
};

use crate::contract::{check_explanations, search, with_filters};
use crate::toy;

/// Contract suite for rerankers of any query type.
///
/// [`check_reranker`] supplies queries and candidates for texts; use this for other types.
#[derive(Debug)]
pub struct RerankerContract<'a, Q: ?Sized> {
    /// Valid queries, scored without errors.
    pub queries: Vec<&'a Q>,
    /// Valid candidates, with distinct ids.
    pub candidates: Vec<Candidate<'a>>,
}

type Scores = Vec<Option<f32>>;

impl<Q: ?Sized + Sync + Debug> RerankerContract<'_, Q> {
    /// Verifies that a reranker satisfies the contract of [`Reranker`].
    ///
    /// # Panics
    /// If the reranker violates the contract, or has no score for any query. The message names the
    /// violation and the query.
    pub fn check(&self, reranker: &dyn Reranker<Query = Q>) {
        let mut any = self.queries.is_empty() || self.candidates.is_empty();
        for &query in &self.queries {
            let scored = scores(reranker, query, &self.candidates);
            any |= scored.iter().any(Option::is_some);
            for (candidate, score) in self.candidates.iter().zip(&scored) {
                let is_nan = score.is_some_and(f32::is_nan);
                assert!(
                    !is_nan,
                    "{query:?}, {:?}: expected a score, found NaN",
                    candidate.id
                );
            }
            self.check_orders(reranker, query, &scored);
            self.check_explanations(reranker, query, &scored);
            self.check_matched_words(reranker, query);
            for few in [0, 1, 2] {
                let few = few.min(self.candidates.len());
                scores(reranker, query, &self.candidates[..few]);
            }
            let again = scores(reranker, query, &self.candidates);
            assert_eq!(
                bits(&again),
                bits(&scored),
                "{query:?}: repeated calls return different scores"
            );
        }
        assert!(
            any,
            "expected a score for some candidate and query, found none"
        );
        self.check_batches(reranker);
        self.check_stops(reranker);
    }

    /// Verifies that scores that may stop equal the scores, or stop.
    fn check_stops(&self, reranker: &dyn Reranker<Query = Q>) {
        for &query in &self.queries {
            let scored = |candidates: &[Candidate<'_>], goes_on: bool| match reranker.scores_while(
                query,
                candidates,
                &|| goes_on,
            ) {
                Ok(scores) => scores,
                Err(error) => panic!("scores of candidates for {query:?} failed: {error:?}"),
            };
            let expected = bits(&scores(reranker, query, &self.candidates));
            let found = scored(&self.candidates, true);
            assert_eq!(
                found.as_deref().map(bits),
                Some(expected),
                "{query:?}: scores_while differs from scores"
            );
            if !self.candidates.is_empty() {
                let stopped = scored(&self.candidates, false);
                assert!(
                    stopped.is_none(),
                    "{query:?}: scores_while returns scores that were to stop"
                );
            }
        }
    }

    /// Verifies that the order of the candidates does not change their scores.
    fn check_orders(&self, reranker: &dyn Reranker<Query = Q>, query: &Q, expected: &Scores) {
        let n = self.candidates.len();
        let mut shuffled: Vec<usize> = (0..n).collect();
        SplitMix64::new(7, 0).partial_shuffle(&mut shuffled, n);
        for order in [(0..n).rev().collect(), shuffled] {
            let candidates: Vec<Candidate<'_>> =
                order.iter().map(|&n| self.candidates[n]).collect();
            let expected: Scores = order.iter().map(|&n| expected[n]).collect();
            let found = scores(reranker, query, &candidates);
            assert_eq!(
                bits(&found),
                bits(&expected),
                "{query:?}: the scores depend on the order of the candidates"
            );
        }
    }

    /// Verifies that explanations, if there are any, equal the scores bit for bit.
    fn check_explanations(&self, reranker: &dyn Reranker<Query = Q>, query: &Q, scored: &Scores) {
        let mut explained = 0;
        for (n, score) in scored.iter().enumerate() {
            let id = self.candidates[n].id;
            let tree = match reranker.explain(query, &self.candidates, n) {
                Ok(tree) => tree,
                Err(error) => panic!("explanation of {id:?} for {query:?} failed: {error:?}"),
            };
            let Some(tree) = tree else { continue };
            let Some(score) = score else {
                panic!("{query:?}: {id:?} is removed and has an explanation:\n{tree}");
            };
            assert_eq!(
                tree.score().to_bits(),
                score.to_bits(),
                "{query:?}, {id:?}: the explained score is not the score {score}:\n{tree}"
            );
            explained += 1;
        }
        let all = scored.iter().flatten().count();
        assert!(
            explained == 0 || explained == all,
            "{query:?}: expected explanations of all {all} scores, found {explained}"
        );
    }

    /// Verifies that matched words, if there are any, are parts of the text, in order.
    fn check_matched_words(&self, reranker: &dyn Reranker<Query = Q>, query: &Q) {
        for candidate in &self.candidates {
            let words = match reranker.matched_words(query, candidate) {
                Ok(words) => words.unwrap_or_default(),
                Err(error) => panic!(
                    "matched words of {:?} for {query:?} failed: {error:?}",
                    candidate.id
                ),
            };
            let mut end = 0;
            for word in &words {
                let text = candidate.text.get(word.clone());
                assert!(
                    word.start >= end && text.is_some_and(|text| !text.is_empty()),
                    "{query:?}, {:?}: expected ranges of the text, ascending and disjoint, found \
                     {words:?}",
                    candidate.id
                );
                end = word.end;
            }
        }
    }

    fn check_batches(&self, reranker: &dyn Reranker<Query = Q>) {
        let n = self.candidates.len();
        let lists = [0..n, 0..0, 0..n.min(1), n / 2..n];
        let batch: Vec<(&Q, &[Candidate<'_>])> = (self.queries.iter())
            .flat_map(|&query| lists.clone().map(|list| (query, &self.candidates[list])))
            .collect();
        let single: Vec<Vec<Option<u32>>> = (batch.iter())
            .map(|(query, candidates)| bits(&scores(reranker, query, candidates)))
            .collect();
        let batch_scores = |batch: &[(&Q, &[Candidate<'_>])]| match reranker.scores_batch(batch) {
            Ok(found) => found.iter().map(|scores| bits(scores)).collect::<Vec<_>>(),
            Err(error) => panic!("batch of valid queries failed: {error:?}"),
        };
        assert_eq!(
            batch_scores(&batch),
            single,
            "batch scores differ from the scores of single queries"
        );
        let none = batch_scores(&[]);
        assert!(none.is_empty(), "expected no scores for an empty batch");
        for threads in [1, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let found = pool.build().unwrap().install(|| batch_scores(&batch));
            assert_eq!(
                found, single,
                "batch scores with {threads} threads differ from the scores of single queries"
            );
        }
        thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| batch_scores(&batch)))
                .collect();
            for worker in workers {
                let found = worker.join().unwrap();
                assert_eq!(found, single, "concurrent calls return different scores");
            }
        });
    }
}

/// Verifies a reranker of texts over [`toy::documents`] and [`toy::text_queries`]: runs
/// [`RerankerContract::check`] with texts that repeat, empty texts and empty queries.
///
/// ```
/// use ir_core::{Candidate, Reranker, SearchError};
///
/// struct Length;
///
/// impl Reranker for Length {
///     type Query = str;
///     fn scores(
///         &self,
///         _: &str,
///         candidates: &[Candidate<'_>],
///     ) -> Result<Vec<Option<f32>>, SearchError> {
///         Ok(candidates.iter().map(|it| Some(it.text.len() as f32)).collect())
///     }
/// }
///
/// ir_testkit::check_reranker(&Length);
/// ```
///
/// # Panics
/// If the reranker violates the contract.
pub fn check_reranker(reranker: &dyn Reranker<Query = str>) {
    let documents = toy::documents();
    let candidates = documents.iter();
    let candidates = candidates.map(|document| Candidate::new(&document.id, &document.text));
    let contract = RerankerContract {
        queries: toy::text_queries(),
        candidates: candidates.collect(),
    };
    contract.check(reranker);
}

/// Contract suite for a retriever that reranks, [`Reranked`](ir_core::fusion::Reranked) or another
/// implementation of it: the rules that hold after the second stage, in place of the rules for
/// filters and for the head of the exhaustive ranking.
///
/// - The candidates are the first `depth` hits of the first stage that pass the filter; `k` hits if
///   `k` is larger.
/// - The hits are the candidates with a score, ordered by score, then document number; at most `k`.
/// - `search_batch` equals `search` per query.
/// - `explain` equals the score of every candidate bit for bit; other documents have no
///   explanation.
pub struct RerankedContract<'a, Q: ?Sized> {
    /// First stage, with distinct ids.
    pub first: &'a dyn Retriever<Query = Q>,
    /// Second stage, which scores the candidates.
    pub reranker: &'a dyn Reranker<Query = Q>,
    /// Texts of the candidates; `None` if the reranker does not read texts.
    pub texts: Option<&'a dyn CandidateTexts>,
    /// Number of hits of the first stage that are candidates.
    pub depth: usize,
    /// Queries that both stages accept.
    pub queries: Vec<&'a Q>,
}

impl<Q: ?Sized + Debug> Debug for RerankedContract<'_, Q> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RerankedContract")
            .field("depth", &self.depth)
            .field("queries", &self.queries)
            .finish_non_exhaustive()
    }
}

impl<Q: ?Sized + Sync + Debug> RerankedContract<'_, Q> {
    /// Verifies that `reranked` ranks the candidates of the first stage by the second stage.
    ///
    /// # Panics
    /// If a ranking, a batch or an explanation differs.
    pub fn check(&self, reranked: &dyn Retriever<Query = Q>) {
        assert_eq!(reranked.ids(), self.first.ids(), "the ids differ");
        let n = self.first.ids().len();
        let sizes = [0, 1, 3, 10, n, usize::MAX];
        for &query in &self.queries {
            let check = |search: &Search<'_>, name: &str| {
                let candidates = self.ranked_candidates(query, search);
                let found = crate::contract::search(reranked, query, *search);
                assert_eq!(
                    found,
                    candidates.clone().top(search.k()),
                    "{query:?}, filter {name:?}: top {} are not the reranked candidates",
                    search.k()
                );
                check_explanations(reranked, query, &candidates, search);
            };
            for k in sizes {
                check(&Search::top(k), "none");
            }
            with_filters(n, &mut |name, filter| {
                for k in sizes {
                    check(&Search::top(k).within(filter), name);
                }
            });
        }
        self.check_batches(reranked);
    }

    /// Candidates of a search with their scores, best first.
    fn ranked_candidates(&self, query: &Q, parameters: &Search<'_>) -> Ranking {
        let wide = parameters.with_k(parameters.k().max(self.depth));
        let found = search(self.first, query, wide);
        let ids: &DocIds = self.first.ids();
        let texts = found.iter().map(|hit| match self.texts {
            None => String::new(),
            Some(texts) => {
                let text = texts.text(ids.id(hit.doc)).unwrap();
                text.expect("the text of a candidate").into_owned()
            }
        });
        let texts: Vec<String> = texts.collect();
        let candidates = found.iter().zip(&texts);
        let candidates: Vec<Candidate<'_>> = candidates
            .map(|(hit, text)| Candidate::new(ids.id(hit.doc), text))
            .collect();
        let scored = scores(self.reranker, query, &candidates);
        let hits = found.iter().zip(scored);
        let hits = hits.filter_map(|(hit, score)| Some(Hit::new(hit.doc, score? + 0.0)));
        Ranking::from_hits(hits.collect()).unwrap()
    }

    fn check_batches(&self, reranked: &dyn Retriever<Query = Q>) {
        let odd = |doc: ir_core::DocNum| doc.get() % 2 == 1;
        let searches = [Search::top(3), Search::top(0), Search::top(10).within(&odd)];
        let batch: Vec<(&Q, Search<'_>)> = (self.queries.iter())
            .flat_map(|&query| searches.map(|search| (query, search)))
            .collect();
        let single: Vec<Ranking> = (batch.iter())
            .map(|(query, parameters)| search(reranked, query, *parameters))
            .collect();
        for threads in [1, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let found = pool
                .build()
                .unwrap()
                .install(|| reranked.search_batch(&batch));
            assert_eq!(
                found.unwrap(),
                single,
                "batch search with {threads} threads differs from single searches"
            );
        }
        assert!(
            reranked.search_batch(&[]).unwrap().is_empty(),
            "expected no rankings for an empty batch"
        );
    }
}

/// Scores of candidates, one each.
fn scores<Q: ?Sized + Sync + Debug>(
    reranker: &dyn Reranker<Query = Q>,
    query: &Q,
    candidates: &[Candidate<'_>],
) -> Scores {
    let scores = match reranker.scores(query, candidates) {
        Ok(scores) => scores,
        Err(error) => panic!("scores of candidates for {query:?} failed: {error:?}"),
    };
    assert_eq!(
        scores.len(),
        candidates.len(),
        "{query:?}: expected one score or none for each candidate"
    );
    scores
}

fn bits(scores: &[Option<f32>]) -> Vec<Option<u32>> {
    scores.iter().map(|score| score.map(f32::to_bits)).collect()
}
