//! The suite passes the oracles, and fails retrievers that break the contract.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ir_core::{
    Analyzer, ByText, DocIds, DocNum, Document, Query, Ranking, Retriever, Search, SearchError,
    Token,
};
use ir_testkit::oracle::{NaiveBm25, NaiveInnerProduct};
use ir_testkit::{Contract, check_text, check_text_saved, check_vectors, check_vectors_saved};

#[derive(Debug, Clone, Copy)]
struct Blanks;

impl Analyzer for Blanks {
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

fn honest(documents: &[Document]) -> NaiveBm25<Blanks> {
    NaiveBm25::new(documents, Blanks, 0.9, 0.4)
}

#[test]
fn oracles_pass() {
    check_text(honest);
    check_vectors(NaiveInnerProduct::new);
    check_text_saved(|documents| Arc::new(honest(documents)), Arc::clone);
    let build = |ids, vectors| Arc::new(NaiveInnerProduct::new(ids, vectors));
    check_vectors_saved(build, Arc::clone);
}

#[test]
fn unlike_systems_stand_in_one_list() {
    let documents = ir_testkit::toy::documents();
    let systems: Vec<Box<dyn Retriever<Query = str>>> = vec![
        Box::new(honest(&documents)),
        Box::new(broken(&documents, Fault::Reversed)),
    ];
    let found: Vec<usize> = systems
        .iter()
        .map(|s| s.search("tea", &Search::top(3)).unwrap().len())
        .collect();
    assert_eq!(found, [3, 3]);
    let whole = Query::new("q", "green tea");
    let by_text = Contract {
        good: vec![&whole],
        bad: vec![],
    };
    by_text.check(&ByText(honest(&documents)));
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    Reversed,
    FiltersAfterCut,
    IgnoresFilter,
    IgnoresFilterForNoHits,
    BatchDiffers,
    BatchDependsOnThreads,
    OneTooMany,
    FindsNothing,
    NotOnceMore,
    EqualTextsDiffer,
    Remembers,
    HitsInEmpty,
}

struct Broken {
    inner: NaiveBm25<Blanks>,
    how: Fault,
    searches: AtomicUsize,
    longest: AtomicUsize,
}

fn broken(documents: &[Document], how: Fault) -> Broken {
    Broken {
        inner: honest(documents),
        how,
        searches: AtomicUsize::new(0),
        longest: AtomicUsize::new(0),
    }
}

impl Retriever for Broken {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.inner.ids()
    }

    fn search(&self, query: &str, how: &Search<'_>) -> Result<Ranking, SearchError> {
        let plain = Search::top(how.k());
        let wider = |more: usize| how.with_k(how.k().saturating_add(more));
        let found = self.inner.search(query, how)?;
        Ok(match self.how {
            Fault::None | Fault::BatchDiffers | Fault::BatchDependsOnThreads => found,
            Fault::Reversed => {
                let mut hits = found.into_hits();
                hits.iter_mut().for_each(|hit| hit.score = -hit.score);
                Ranking::from_hits(hits)?
            }
            Fault::FiltersAfterCut => self
                .inner
                .search(query, &plain)?
                .retain(|hit| how.allows(hit.doc)),
            Fault::IgnoresFilter => self.inner.search(query, &plain)?,
            Fault::IgnoresFilterForNoHits => match (how.k(), how.filter()) {
                (0, Some(_)) => self.inner.search(query, &wider(1))?,
                _ => found,
            },
            Fault::OneTooMany => self.inner.search(query, &wider(1))?,
            Fault::FindsNothing => Ranking::default(),
            // The second search of every two is cut.
            Fault::NotOnceMore => match self.searches.fetch_add(1, Ordering::Relaxed) % 2 {
                0 => found,
                _ => found.top(1),
            },
            Fault::EqualTextsDiffer => {
                let mut hits = self
                    .inner
                    .search(query, &how.with_k(usize::MAX))?
                    .into_hits();
                for hit in &mut hits {
                    hit.score += hit.doc.get() as f32 * 1e-3;
                }
                Ranking::from_hits(hits)?.top(how.k())
            }
            // As with a buffer that is never emptied: one word after the longest query is wrong.
            Fault::Remembers => {
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
        let cut = match self.how {
            Fault::BatchDiffers => true,
            Fault::BatchDependsOnThreads => rayon::current_num_threads() == 8,
            _ => false,
        };
        let one = |(query, how): &(&str, Search<'_>)| {
            let ranking = self.search(query, how)?;
            Ok(if cut { ranking.top(1) } else { ranking })
        };
        queries.iter().map(one).collect()
    }
}

fn fails(what: &str, check: impl FnOnce()) {
    let outcome = catch_unwind(AssertUnwindSafe(check));
    assert!(outcome.is_err(), "{what} was not noticed");
}

#[test]
fn broken_retrievers_are_caught() {
    check_text(|documents: &[Document]| broken(documents, Fault::None));
    let faults = [
        Fault::Reversed,
        Fault::FiltersAfterCut,
        Fault::IgnoresFilter,
        Fault::IgnoresFilterForNoHits,
        Fault::BatchDiffers,
        Fault::BatchDependsOnThreads,
        Fault::OneTooMany,
        Fault::FindsNothing,
        Fault::NotOnceMore,
        Fault::EqualTextsDiffer,
        Fault::Remembers,
        Fault::HitsInEmpty,
    ];
    for how in faults {
        fails(&format!("{how:?}"), || {
            check_text(|documents: &[Document]| broken(documents, how));
        });
    }
}

#[test]
fn what_saving_loses_is_caught() {
    // Another retriever that keeps the contract by itself.
    let other = |documents: &[Document]| NaiveBm25::new(documents, Blanks, 1.2, 0.75);
    let texts = || ir_testkit::toy::documents();
    check_text(other);
    fails("other scores after loading", || {
        check_text_saved(honest, |built| match built.ids().is_empty() {
            true => other(&[]),
            false => other(&texts()),
        });
    });
    fails("other vectors after loading", || {
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
    AnswersNan,
    AnswersInfinity,
    AnswersShort,
    EqualVectorsDiffer,
}

struct BrokenVectors {
    inner: NaiveInnerProduct,
    how: VectorFault,
}

impl Retriever for BrokenVectors {
    type Query = [f32];

    fn ids(&self) -> &DocIds {
        self.inner.ids()
    }

    fn search(&self, query: &[f32], how: &Search<'_>) -> Result<Ranking, SearchError> {
        let mut query = query.to_vec();
        match self.how {
            VectorFault::AnswersNan => query.iter_mut().for_each(|x| {
                if x.is_nan() {
                    *x = 0.0;
                }
            }),
            VectorFault::AnswersInfinity => query.iter_mut().for_each(|x| {
                if x.is_infinite() {
                    *x = 0.0;
                }
            }),
            VectorFault::AnswersShort => query.resize(query.len().max(6), 0.0),
            VectorFault::EqualVectorsDiffer => {
                let all = self.inner.search(&query, &how.with_k(usize::MAX))?;
                let mut hits = all.into_hits();
                for hit in &mut hits {
                    hit.score += hit.doc.get() as f32 * 1e-3;
                }
                return Ok(Ranking::from_hits(hits)?.top(how.k()));
            }
        }
        self.inner.search(&query, how)
    }
}

#[test]
fn broken_vector_retrievers_are_caught() {
    use VectorFault::{AnswersInfinity, AnswersNan, AnswersShort, EqualVectorsDiffer};
    for how in [
        AnswersNan,
        AnswersInfinity,
        AnswersShort,
        EqualVectorsDiffer,
    ] {
        fails(&format!("{how:?}"), || {
            check_vectors(|ids, vectors| BrokenVectors {
                inner: NaiveInnerProduct::new(ids, vectors),
                how,
            });
        });
    }
}
