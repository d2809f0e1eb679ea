//! The suite passes the oracles, and fails retrievers that break the contract.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ir_core::{
    Analyzer, ByText, DocIds, Document, Query, Ranking, Retriever, Search, SearchError, Token,
};
use ir_testkit::oracle::{NaiveBm25, NaiveInnerProduct};
use ir_testkit::{Contract, check_text, check_vectors};

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
}

#[test]
fn unlike_systems_stand_in_one_list() {
    let documents = ir_testkit::toy::documents();
    let systems: Vec<Box<dyn Retriever<Query = str>>> = vec![
        Box::new(honest(&documents)),
        Box::new(Broken {
            inner: honest(&documents),
            how: Fault::Reversed,
        }),
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

#[derive(Debug, Clone, Copy)]
enum Fault {
    Reversed,
    FiltersAfterCut,
    IgnoresFilter,
    BatchDiffers,
    OneTooMany,
}

struct Broken {
    inner: NaiveBm25<Blanks>,
    how: Fault,
}

impl Retriever for Broken {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.inner.ids()
    }

    fn search(&self, query: &str, how: &Search<'_>) -> Result<Ranking, SearchError> {
        let plain = Search::top(how.k());
        Ok(match self.how {
            Fault::Reversed => {
                let ranking = self.inner.search(query, how)?;
                let mut hits = ranking.into_hits();
                hits.iter_mut().for_each(|hit| hit.score = -hit.score);
                Ranking::from_hits(hits)?
            }
            Fault::FiltersAfterCut => self
                .inner
                .search(query, &plain)?
                .retain(|hit| how.allows(hit.doc)),
            Fault::IgnoresFilter => self.inner.search(query, &plain)?,
            Fault::BatchDiffers => self.inner.search(query, how)?,
            Fault::OneTooMany => self
                .inner
                .search(query, &how.with_k(how.k().saturating_add(1)))?,
        })
    }

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let cut = matches!(self.how, Fault::BatchDiffers);
        let one = |(query, how): &(&str, Search<'_>)| {
            let ranking = self.search(query, how)?;
            Ok(if cut { ranking.top(1) } else { ranking })
        };
        queries.iter().map(one).collect()
    }
}

#[test]
fn broken_retrievers_are_caught() {
    let faults = [
        Fault::Reversed,
        Fault::FiltersAfterCut,
        Fault::IgnoresFilter,
        Fault::BatchDiffers,
        Fault::OneTooMany,
    ];
    for how in faults {
        let build = |documents: &[Document]| Broken {
            inner: honest(documents),
            how,
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| check_text(build)));
        assert!(outcome.is_err(), "{how:?} was not noticed");
    }
}
