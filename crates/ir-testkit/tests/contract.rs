//! The contract suite accepts the reference retrievers and rejects faulty ones.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ir_core::{
    Analyzer, DocIds, DocNum, Document, Explanation, Ranking, Retriever, Search, SearchError, Token,
};
use ir_testkit::oracle::{NaiveBm25, NaiveInnerProduct};
use ir_testkit::{check_text, check_text_saved, check_vectors, check_vectors_saved};

#[derive(Debug, Clone, Copy)]
struct WhitespaceAnalyzer;

impl Analyzer for WhitespaceAnalyzer {
    fn analyze(&self, text: &str, emit: &mut dyn FnMut(Token<'_>)) {
        for (position, term) in (0..).zip(text.split_whitespace()) {
            let start = term.as_ptr() as usize - text.as_ptr() as usize;
            emit(Token {
                term,
                start,
                end: start + term.len(),
                position,
            });
        }
    }
}

fn correct(documents: &[Document]) -> NaiveBm25<WhitespaceAnalyzer> {
    NaiveBm25::new(documents, WhitespaceAnalyzer, 0.9, 0.4)
}

#[test]
fn oracles_pass() {
    check_text(correct);
    check_vectors(NaiveInnerProduct::new);
    check_text_saved(|documents| Arc::new(correct(documents)), Arc::clone);
    let build = |ids, vectors| Arc::new(NaiveInnerProduct::new(ids, vectors));
    check_vectors_saved(build, Arc::clone);
}

#[test]
fn boxed_retrievers_of_different_types() {
    let documents = ir_testkit::toy::documents();
    let systems: Vec<Box<dyn Retriever<Query = str>>> = vec![
        Box::new(correct(&documents)),
        Box::new(faulty(&documents, Fault::Reversed)),
    ];
    let found: Vec<usize> = systems
        .iter()
        .map(|s| s.search("tea", &Search::top(3)).unwrap().len())
        .collect();
    assert_eq!(found, [3, 3]);
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    Reversed,
    FiltersAfterCutoff,
    IgnoresFilter,
    IgnoresFilterForNoHits,
    BatchDiffers,
    BatchDependsOnThreads,
    OneHitTooMany,
    NoHits,
    NotRepeatable,
    EqualTextsDiffer,
    DependsOnHistory,
    HitsInEmpty,
    ExplainsAnotherScore,
    ExplainsSomeHits,
    ExplainsOthers,
}

struct FaultyRetriever {
    inner: NaiveBm25<WhitespaceAnalyzer>,
    fault: Fault,
    searches: AtomicUsize,
    longest: AtomicUsize,
}

fn faulty(documents: &[Document], fault: Fault) -> FaultyRetriever {
    FaultyRetriever {
        inner: correct(documents),
        fault,
        searches: AtomicUsize::new(0),
        longest: AtomicUsize::new(0),
    }
}

impl Retriever for FaultyRetriever {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.inner.ids()
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        let plain = Search::top(search.k());
        let wider = |more: usize| search.with_k(search.k().saturating_add(more));
        let found = self.inner.search(query, search)?;
        Ok(match self.fault {
            Fault::None
            | Fault::BatchDiffers
            | Fault::BatchDependsOnThreads
            | Fault::ExplainsAnotherScore
            | Fault::ExplainsSomeHits
            | Fault::ExplainsOthers => found,
            Fault::Reversed => {
                let mut hits = Vec::from(found);
                hits.iter_mut().for_each(|hit| hit.score = -hit.score);
                Ranking::from_hits(hits)?
            }
            Fault::FiltersAfterCutoff => self
                .inner
                .search(query, &plain)?
                .retain(|hit| search.allows(hit.doc)),
            Fault::IgnoresFilter => self.inner.search(query, &plain)?,
            Fault::IgnoresFilterForNoHits => match (search.k(), search.filter()) {
                (0, Some(_)) => self.inner.search(query, &wider(1))?,
                _ => found,
            },
            Fault::OneHitTooMany => self.inner.search(query, &wider(1))?,
            Fault::NoHits => Ranking::default(),
            // Every second search is truncated.
            Fault::NotRepeatable => match self.searches.fetch_add(1, Ordering::Relaxed) % 2 {
                0 => found,
                _ => found.top(1),
            },
            Fault::EqualTextsDiffer => {
                let all = self.inner.search(query, &search.with_k(usize::MAX))?;
                let mut hits = Vec::from(all);
                for hit in &mut hits {
                    hit.score += hit.doc.get() as f32 * 1e-3;
                }
                Ranking::from_hits(hits)?.top(search.k())
            }
            // Like a buffer that is not cleared: one-word queries fail after the longest query.
            Fault::DependsOnHistory => {
                let length = query.split_whitespace().count();
                let longest = self
                    .longest
                    .fetch_max(length, Ordering::Relaxed)
                    .max(length);
                if length == 1 && longest == 8 {
                    found.top(1)
                } else {
                    found
                }
            }
            Fault::HitsInEmpty if self.ids().is_empty() => {
                Ranking::from_hits(vec![ir_core::Hit::new(DocNum::new(0), 1.0)])?
            }
            Fault::HitsInEmpty => found,
        })
    }

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let cut = match self.fault {
            Fault::BatchDiffers => true,
            Fault::BatchDependsOnThreads => rayon::current_num_threads() == 8,
            _ => false,
        };
        let one = |(query, search): &(&str, Search<'_>)| {
            let ranking = self.search(query, search)?;
            Ok(if cut { ranking.top(1) } else { ranking })
        };
        queries.iter().map(one).collect()
    }

    fn explain(
        &self,
        query: &str,
        doc: DocNum,
        search: &Search<'_>,
    ) -> Result<Option<Explanation>, SearchError> {
        let explained = match self.fault {
            Fault::None
            | Fault::ExplainsAnotherScore
            | Fault::ExplainsSomeHits
            | Fault::ExplainsOthers => self.inner.search(query, &search.with_k(usize::MAX))?,
            _ => return Ok(None),
        };
        let score = explained.iter().find(|hit| hit.doc == doc);
        let score = score.map(|hit| match self.fault {
            Fault::ExplainsAnotherScore => hit.score.next_up(),
            _ => hit.score,
        });
        let score = match self.fault {
            Fault::ExplainsSomeHits => score.filter(|_| doc.get().is_multiple_of(2)),
            Fault::ExplainsOthers => score.or(Some(0.0)),
            _ => score,
        };
        Ok(score.map(|score| Explanation::new(score, "score")))
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
fn faulty_retrievers_are_rejected() {
    check_text(|documents: &[Document]| faulty(documents, Fault::None));
    let faults = [
        Fault::Reversed,
        Fault::FiltersAfterCutoff,
        Fault::IgnoresFilter,
        Fault::IgnoresFilterForNoHits,
        Fault::BatchDiffers,
        Fault::BatchDependsOnThreads,
        Fault::OneHitTooMany,
        Fault::NoHits,
        Fault::NotRepeatable,
        Fault::EqualTextsDiffer,
        Fault::DependsOnHistory,
        Fault::HitsInEmpty,
        Fault::ExplainsAnotherScore,
        Fault::ExplainsSomeHits,
        Fault::ExplainsOthers,
    ];
    for fault in faults {
        assert_rejected(&format!("{fault:?}"), || {
            check_text(|documents: &[Document]| faulty(documents, fault));
        });
    }
}

#[test]
fn lossy_saving_is_rejected() {
    // Another retriever that satisfies the contract.
    let other = |documents: &[Document]| NaiveBm25::new(documents, WhitespaceAnalyzer, 1.2, 0.75);
    let texts = || ir_testkit::toy::documents();
    check_text(other);
    assert_rejected("other scores after loading", || {
        check_text_saved(correct, |built| {
            if built.ids().is_empty() {
                other(&[])
            } else {
                other(&texts())
            }
        });
    });
    assert_rejected("other vectors after loading", || {
        check_vectors_saved(NaiveInnerProduct::new, |built| {
            let mut vectors = ir_testkit::toy::vectors(built.ids().len(), 6);
            if let Some(last) = vectors.last_mut() {
                last[0] += 1.0;
            }
            NaiveInnerProduct::new(built.ids().clone(), vectors)
        });
    });
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum VectorFault {
    AcceptsNan,
    AcceptsInfinity,
    AcceptsShort,
    EqualVectorsDiffer,
}

struct FaultyVectorIndex {
    inner: NaiveInnerProduct,
    fault: VectorFault,
}

impl Retriever for FaultyVectorIndex {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        self.inner.ids()
    }

    fn search(&self, query: &[f32], search: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut query = query.to_vec();
        match self.fault {
            VectorFault::AcceptsNan => query.iter_mut().for_each(|x| {
                if x.is_nan() {
                    *x = 0.0;
                }
            }),
            VectorFault::AcceptsInfinity => query.iter_mut().for_each(|x| {
                if x.is_infinite() {
                    *x = 0.0;
                }
            }),
            VectorFault::AcceptsShort => query.resize(query.len().max(6), 0.0),
            VectorFault::EqualVectorsDiffer => {
                let all = self.inner.search(&query, &search.with_k(usize::MAX))?;
                let mut hits = Vec::from(all);
                for hit in &mut hits {
                    hit.score += hit.doc.get() as f32 * 1e-3;
                }
                return Ok(Ranking::from_hits(hits)?.top(search.k()));
            }
        }
        self.inner.search(&query, search)
    }
}

#[test]
fn faulty_vector_indexes_are_rejected() {
    use VectorFault::{AcceptsInfinity, AcceptsNan, AcceptsShort, EqualVectorsDiffer};
    for fault in [
        AcceptsNan,
        AcceptsInfinity,
        AcceptsShort,
        EqualVectorsDiffer,
    ] {
        assert_rejected(&format!("{fault:?}"), || {
            check_vectors(|ids, vectors| FaultyVectorIndex {
                inner: NaiveInnerProduct::new(ids, vectors),
                fault,
            });
        });
    }
}
