//! A scoring model in thirty lines, evaluated beside BM25 and query likelihood.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use anyhow::Result;
use ir_bm25::models::{ScoringModel, TermBound, TermScorer, TermStatistics};
use ir_bm25::{Index, IndexConfig, Model};
use ir_core::{NoProgress, Retriever, Run, Search};
use ir_eval::{Evaluator, Measure};

/// Divergence from independence (Kocabaş, Dinçer and Karaoğlan, 2014): how far the frequency of a
/// term is above the one expected by chance. Has no parameters.
#[derive(Debug)]
struct Independence;

#[derive(Debug)]
struct IndependenceTerm {
    boost: f32,
    /// Fraction of the tokens of the collection.
    fraction: f32,
}

impl ScoringModel for Independence {
    fn name(&self) -> String {
        "independence".to_owned()
    }

    fn term_scorer(&self, term: &TermStatistics) -> Box<dyn TermScorer> {
        Box::new(IndependenceTerm {
            boost: term.boost(),
            fraction: term.cf as f32 / term.tokens as f32,
        })
    }
}

impl TermScorer for IndependenceTerm {
    fn score(&self, tf: u32, length: u32) -> f32 {
        let expected = self.fraction * length as f32;
        let excess = (tf as f32 - expected).max(0.0);
        self.boost * (1.0 + excess / expected.sqrt()).log2()
    }

    // More occurrences never lower the score, and more tokens never raise it.
    fn bound(&self) -> TermBound {
        TermBound::Monotone
    }

    fn formula(&self) -> String {
        "boost × log2(1 + (tf - e) / √e), e = cf / tokens × length".to_owned()
    }
}

fn main() -> Result<()> {
    let collection = ir_data::catalog::open("bundled")?;
    let (queries, qrels) = (collection.queries("test")?, collection.qrels("test")?);
    let index = Index::build(
        collection.corpus(),
        &IndexConfig::default(),
        &mut NoProgress,
    )?;
    // Models by name beside one of your own, over the same index.
    let models: [Model; 4] = [
        "bm25".parse()?,
        "qld(mu=100)".parse()?,
        "dph".parse()?,
        Independence.into(),
    ];

    let measures = [Measure::NDCG.at(10), Measure::R.at(10), Measure::RR];
    let evaluator = Evaluator::new(&qrels, &measures)?;
    println!("{:<36}{:>10}{:>10}{:>10}", "", "nDCG@10", "R@10", "RR");
    for model in models {
        let searcher = index.searcher(model.clone())?;
        let run = Run::from_retriever(&model.to_string(), &searcher, &queries, 100)?;
        let report = evaluator.evaluate(&run)?;
        let cells: String = measures
            .iter()
            .filter_map(|measure| report.summary(*measure))
            .map(|value| format!("{value:>10.4}"))
            .collect();
        println!("{:<36}{cells}", model.to_string());
    }

    // The score of a hit is explained as for any model.
    let searcher = index.searcher(Independence)?;
    let (query, search) = ("photographs of boats", Search::top(1));
    if let Some(hit) = searcher.search(query, &search)?.hits().first()
        && let Some(why) = searcher.explain(query, hit.doc, &search)?
    {
        println!("\n{}: {query}\n{why}", index.ids().id(hit.doc));
    }
    Ok(())
}
