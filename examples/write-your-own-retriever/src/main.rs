//! A custom retriever in thirty lines, evaluated beside BM25.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use std::collections::HashSet;

use anyhow::Result;
use ir_bm25::{Bm25, Index, IndexConfig};
use ir_core::{DocIds, DocNum, NoProgress, Ranking, Retriever, Run, Search, SearchError, TopK};
use ir_eval::{Evaluator, Measure};

/// Ranks documents by the fraction of the query's character trigrams that they contain.
struct Trigrams {
    ids: DocIds,
    documents: Vec<HashSet<String>>,
}

fn trigrams(text: &str) -> HashSet<String> {
    let letters: Vec<char> = text.to_lowercase().chars().collect();
    letters.windows(3).map(String::from_iter).collect()
}

impl Retriever for Trigrams {
    type Query = str;

    fn ids(&self) -> &DocIds {
        &self.ids
    }

    fn search(&self, query: &str, search: &Search<'_>) -> Result<Ranking, SearchError> {
        let wanted = trigrams(query);
        let mut best = TopK::new(search.k());
        for (doc, trigrams) in (0..).map(DocNum::new).zip(&self.documents) {
            let shared = wanted.intersection(trigrams).count();
            if shared > 0 && search.allows(doc) {
                best.push(doc, shared as f32 / wanted.len() as f32);
            }
        }
        best.finish()
    }
}

fn main() -> Result<()> {
    // A test collection: documents, queries and judgments.
    let collection = ir_data::catalog::open("bundled")?;
    let (queries, qrels) = (collection.queries("test")?, collection.qrels("test")?);
    let documents = collection.corpus().docs()?.collect::<Result<Vec<_>, _>>()?;

    // Two systems behind the same trait.
    let index = Index::build(
        collection.corpus(),
        &IndexConfig::default(),
        &mut NoProgress,
    )?;
    let trigrams = Trigrams {
        ids: documents.iter().map(|document| &document.id).collect(),
        documents: documents
            .iter()
            .map(|d| trigrams(&format!("{} {}", d.title, d.text)))
            .collect(),
    };
    let systems: Vec<(&str, Box<dyn Retriever<Query = str>>)> = vec![
        ("BM25", Box::new(index.searcher(Bm25::ANSERINI)?)),
        ("trigrams", Box::new(trigrams)),
    ];

    // Evaluate both with the same judgments and measures.
    let measures = [Measure::NDCG.at(10), Measure::R.at(10), Measure::RR];
    let evaluator = Evaluator::new(&qrels, &measures)?;
    println!(
        "{} documents, {} judged queries, title and text searched",
        documents.len(),
        queries.len()
    );
    println!("{:<16}{:>10}{:>10}{:>10}", "", "nDCG@10", "R@10", "RR");
    for (name, system) in &systems {
        let run = Run::from_retriever(name, system, &queries, 100)?;
        let report = evaluator.evaluate(&run)?;
        let cells: String = measures
            .iter()
            .filter_map(|m| report.summary(*m))
            .map(|v| format!("{v:>10.4}"))
            .collect();
        println!("{name:<16}{cells}");
    }
    Ok(())
}
