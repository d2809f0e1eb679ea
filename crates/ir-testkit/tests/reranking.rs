//! The suites of reranking accept correct rerankers and reject faulty ones.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ir_core::fusion::{DocumentPrior, Fused, Fusion, Reranked, RetrieverScores};
use ir_core::{
    Candidate, DocIds, DocNum, Explanation, Ranking, Reranker, Retriever, Search, SearchError, TopK,
};
use ir_testkit::{RerankedContract, RerankerContract, check_reranker, toy};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    Nan,
    MissingScore,
    NoScores,
    NotRepeatable,
    DependsOnOrder,
    BatchDiffers,
    BatchDependsOnThreads,
    BatchOfNone,
    RejectsNoCandidates,
    RejectsEmptyQuery,
    RejectsEmptyTexts,
    ExplainsAnotherScore,
    ExplainsSome,
    ExplainsRemoved,
    MatchesBeyondText,
    MatchesTwice,
}

/// Number of words of the query in the text; removes texts with the word "milk".
struct Overlap {
    fault: Fault,
    calls: AtomicUsize,
}

impl Overlap {
    fn new(fault: Fault) -> Self {
        Self {
            fault,
            calls: AtomicUsize::new(0),
        }
    }
}

fn overlap(query: &str, text: &str) -> Option<f32> {
    let words = query.split_whitespace();
    let shared = words.filter(|word| text.contains(word)).count() as f32;
    (!text.contains("milk")).then_some(shared - 0.5)
}

fn invalid() -> SearchError {
    SearchError::ZeroVector
}

impl Reranker for Overlap {
    type Query = str;

    fn scores(
        &self,
        query: &str,
        candidates: &[Candidate<'_>],
    ) -> Result<Vec<Option<f32>>, SearchError> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let scores = candidates.iter().map(|it| overlap(query, it.text));
        let mut scores: Vec<Option<f32>> = scores.collect();
        match self.fault {
            Fault::Nan => scores
                .iter_mut()
                .skip(4)
                .for_each(|it| *it = Some(f32::NAN)),
            Fault::MissingScore => drop(scores.pop()),
            Fault::NoScores => scores.iter_mut().for_each(|it| *it = None),
            Fault::NotRepeatable if call.is_multiple_of(2) => scores.iter_mut().for_each(|it| {
                *it = it.map(|score| score + 1.0);
            }),
            Fault::DependsOnOrder => {
                for (n, score) in scores.iter_mut().enumerate() {
                    *score = score.map(|score| score + n as f32);
                }
            }
            Fault::RejectsNoCandidates if candidates.is_empty() => return Err(invalid()),
            Fault::RejectsEmptyQuery if query.is_empty() => return Err(invalid()),
            Fault::RejectsEmptyTexts if candidates.iter().any(|it| it.text.is_empty()) => {
                return Err(invalid());
            }
            _ => {}
        }
        Ok(scores)
    }

    fn scores_batch(
        &self,
        queries: &[(&str, &[Candidate<'_>])],
    ) -> Result<Vec<Vec<Option<f32>>>, SearchError> {
        let scored = queries.iter().map(|(query, them)| self.scores(query, them));
        let mut scores = scored.collect::<Result<Vec<_>, _>>()?;
        let differs = match self.fault {
            Fault::BatchDiffers => true,
            Fault::BatchDependsOnThreads => rayon::current_num_threads() == 8,
            Fault::BatchOfNone if queries.is_empty() => {
                scores.push(Vec::new());
                false
            }
            _ => false,
        };
        if differs {
            let all = scores.iter_mut().flatten().flatten();
            all.for_each(|score| *score = score.next_up());
        }
        Ok(scores)
    }

    fn explain(
        &self,
        query: &str,
        candidates: &[Candidate<'_>],
        n: usize,
    ) -> Result<Option<Explanation>, SearchError> {
        let score = overlap(query, candidates[n].text);
        let score = match self.fault {
            Fault::ExplainsAnotherScore => score.map(f32::next_up),
            Fault::ExplainsSome => score.filter(|_| n.is_multiple_of(2)),
            Fault::ExplainsRemoved => score.or(Some(0.0)),
            _ => score,
        };
        Ok(score.map(|score| Explanation::new(score, "shared words")))
    }

    fn matched_words(
        &self,
        _: &str,
        candidate: &Candidate<'_>,
    ) -> Result<Option<Vec<Range<usize>>>, SearchError> {
        let text = candidate.text;
        let first = text.find(' ').map(|end| 0..end);
        let words = match self.fault {
            Fault::MatchesBeyondText => first.into_iter().chain(Some(0..text.len() + 1)).collect(),
            Fault::MatchesTwice => first.clone().into_iter().chain(first).collect(),
            _ => first.into_iter().collect(),
        };
        Ok(Some(words))
    }
}

fn assert_rejected(name: &str, check: impl FnOnce()) {
    let outcome = catch_unwind(AssertUnwindSafe(check));
    assert!(
        outcome.is_err(),
        "{name}: expected a contract violation, found none"
    );
}

#[test]
fn faulty_rerankers_are_rejected() {
    check_reranker(&Overlap::new(Fault::None));
    for fault in [
        Fault::Nan,
        Fault::MissingScore,
        Fault::NoScores,
        Fault::NotRepeatable,
        Fault::DependsOnOrder,
        Fault::BatchDiffers,
        Fault::BatchDependsOnThreads,
        Fault::BatchOfNone,
        Fault::RejectsNoCandidates,
        Fault::RejectsEmptyQuery,
        Fault::RejectsEmptyTexts,
        Fault::ExplainsAnotherScore,
        Fault::ExplainsSome,
        Fault::ExplainsRemoved,
        Fault::MatchesBeyondText,
        Fault::MatchesTwice,
    ] {
        let reranker = Overlap::new(fault);
        assert_rejected(&format!("{fault:?}"), || check_reranker(&reranker));
    }
}

/// Ranks documents by shared words with the query, and explains the scores.
struct Words {
    ids: DocIds,
    texts: Vec<String>,
}

impl Words {
    fn new() -> Self {
        let documents = toy::documents();
        Self {
            ids: documents.iter().map(|document| &document.id).collect(),
            texts: documents
                .into_iter()
                .map(|document| document.text)
                .collect(),
        }
    }

    fn score(&self, query: &str, doc: DocNum) -> f32 {
        let words = self.texts[doc.index()].split_whitespace();
        words.filter(|word| query.contains(word)).count() as f32
    }
}

impl Retriever for Words {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut best = TopK::new(search.k());
        for doc in (0..self.texts.len() as u32).map(DocNum::new) {
            if search.allows(doc) && self.score(query, doc) > 0.0 {
                best.push(doc, self.score(query, doc));
            }
        }
        best.finish()
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let known = doc.index() < self.texts.len() && search.allows(doc);
        let score = known.then(|| self.score(query, doc));
        let score = score.filter(|score| *score > 0.0);
        Ok(score.map(|score| Explanation::new(score, "words")))
    }
}

/// Prior by id, of every third document and others.
fn prior() -> DocumentPrior {
    let ids = (0..100).rev().filter(|n| n % 3 != 0);
    let records = ids.map(|n| (format!("d{n:02}"), (n % 7) as f32 - 2.0));
    DocumentPrior::new(records).unwrap()
}

#[test]
fn scores_of_retrievers_satisfy_the_contract() {
    check_reranker(&RetrieverScores::new(Words::new()).unwrap());
    check_reranker(&RetrieverScores::new(prior()).unwrap());
    let fused = Fused::new(
        [
            Box::new(Words::new()) as Box<dyn Retriever<Query = str>>,
            Box::new(prior()),
        ],
        Fusion::RRF,
        20,
    );
    check_reranker(&RetrieverScores::new(fused.unwrap()).unwrap());
    // Another query type.
    let vectors = toy::vectors(30, 6);
    let ids = (0..30).map(|n| format!("v{n:03}"));
    let index = ir_testkit::oracle::NaiveInnerProduct::new(ids.collect(), vectors.clone());
    let names: Vec<String> = (0..40).map(|n| format!("v{n:03}")).collect();
    let contract = RerankerContract {
        queries: vectors.iter().map(Vec::as_slice).collect(),
        candidates: names.iter().map(|id| Candidate::new(id, "")).collect(),
    };
    contract.check(&RetrieverScores::new(index).unwrap());
}

fn texts() -> BTreeMap<String, String> {
    let documents = toy::documents().into_iter();
    documents
        .map(|document| (document.id, document.text))
        .collect()
}

#[test]
fn reranked_satisfies_the_contract() {
    let (first, texts) = (Words::new(), texts());
    let overlap = Overlap::new(Fault::None);
    let scores = RetrieverScores::new(prior()).unwrap();
    for depth in [0, 1, 7, 100] {
        let contract = RerankedContract {
            first: &first,
            reranker: &overlap,
            texts: Some(&texts),
            depth,
            queries: toy::text_queries(),
        };
        let source = Arc::new(texts.clone());
        contract.check(&Reranked::with_texts(&first, &overlap, source, depth).unwrap());
        let contract = RerankedContract {
            reranker: &scores,
            texts: None,
            ..contract
        };
        contract.check(&Reranked::new(&first, &scores, depth).unwrap());
    }
}

#[derive(Debug, Clone, Copy)]
enum RerankedFault {
    FiltersAfterTheFirstStage,
    OtherDepth,
    KeepsUnscored,
    IgnoresK,
    ExplainsFirstStage,
}

/// Faulty implementation of reranking by [`Overlap`] with depth 7.
struct FaultyReranked {
    first: Words,
    fault: RerankedFault,
}

impl Retriever for FaultyReranked {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.first.ids
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        let depth = match self.fault {
            RerankedFault::OtherDepth => 8,
            _ => 7,
        };
        let wide = search.with_k(search.k().max(depth));
        let found = match self.fault {
            RerankedFault::FiltersAfterTheFirstStage => {
                let all = self.first.search(query, &Search::top(wide.k()))?;
                all.retain(|hit| search.allows(hit.doc))
            }
            _ => self.first.search(query, &wide)?,
        };
        let mut best = TopK::new(match self.fault {
            RerankedFault::IgnoresK => wide.k(),
            _ => search.k(),
        });
        for hit in &found {
            let score = overlap(query, &self.first.texts[hit.doc.index()]);
            let score = match self.fault {
                RerankedFault::KeepsUnscored => score.or(Some(-1.0)),
                _ => score,
            };
            if let Some(score) = score {
                best.push(hit.doc, score);
            }
        }
        best.finish()
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        match self.fault {
            RerankedFault::ExplainsFirstStage => self.first.explain(query, doc, search),
            _ => Ok(None),
        }
    }
}

#[test]
fn faulty_reranking_is_rejected() {
    let (first, texts) = (Words::new(), texts());
    let overlap = Overlap::new(Fault::None);
    let contract = RerankedContract {
        first: &first,
        reranker: &overlap,
        texts: Some(&texts),
        depth: 7,
        queries: toy::text_queries(),
    };
    for fault in [
        RerankedFault::FiltersAfterTheFirstStage,
        RerankedFault::OtherDepth,
        RerankedFault::KeepsUnscored,
        RerankedFault::IgnoresK,
        RerankedFault::ExplainsFirstStage,
    ] {
        let first = Words::new();
        let reranked = FaultyReranked { first, fault };
        assert_rejected(&format!("{fault:?}"), || contract.check(&reranked));
    }
}
