//! Queries for another search engine, and its result lists as a run, evaluated beside BM25, as
//! DataFinder evaluates search engines for datasets (Section 4.3).
//!
//! `cargo run --release -p import-search-results -- [QUERIES.tsv]` writes the queries to a file.
//! The engine is simulated; `ir import-results` reads the lists of a real one.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use std::env;

use anyhow::Result;
use ir_bm25::{Bm25, Index, IndexConfig, StoredFields};
use ir_core::{Document, NoProgress, Query, Retriever, Run, Search};
use ir_data::TsvWriter;
use ir_data::results::{DocNames, ResultImport, read_results_json};
use ir_data::tsv::ID_TEXT_TITLE;
use ir_eval::{Evaluator, Measure};
use ir_studies::datafinder::keyphrase_product_from_attributes;
use serde_json::json;

/// Number of datasets per query.
const HITS: usize = 5;

fn main() -> Result<()> {
    let collection = ir_data::catalog::open("bundled")?;
    let documents: Vec<Document> = collection.corpus().docs()?.collect::<Result<_, _>>()?;
    let config = IndexConfig::default().with_store(StoredFields::Attributes);
    let index = Index::build(&documents, &config, &mut NoProgress)?;
    let bm25 = index.searcher(Bm25::ANSERINI)?;
    let queries = collection.queries("test")?;

    // 1. Short queries: each combination of the values of task, modality, domain, ...
    let mut searches: Vec<(&Query, Vec<String>)> = Vec::new();
    for query in &queries {
        let texts = keyphrase_product_from_attributes(&query.attributes);
        searches.push((query, texts));
    }
    let total: usize = searches.iter().map(|(_, texts)| texts.len()).sum();
    println!("{} queries, {total} searches, of which", queries.len());
    let several = searches.iter().filter(|(_, texts)| texts.len() > 1);
    for (query, texts) in several.take(2) {
        println!("  {}: {}", query.id, texts.join(" | "));
    }
    if let Some(path) = env::args().nth(1) {
        let mut out = TsvWriter::create(&path, &ID_TEXT_TITLE)?;
        for (query, texts) in &searches {
            for text in texts {
                out.query(&Query::new(query.id.as_str(), text.as_str()))?;
            }
        }
        out.commit()?;
        println!("written: {path}");
    }

    // 2. An engine answers with names, URLs, and results that are no datasets.
    let mut exported = String::new();
    for (query, texts) in &searches {
        for text in texts {
            let mut results = vec![json!({"name": "Ten datasets that you should know"})];
            for hit in &bm25.search(text, &Search::top(2 * HITS))? {
                let id = index.ids().id(hit.doc);
                results.push(match hit.doc.index() % 2 {
                    0 => json!({"name": id.to_uppercase()}),
                    _ => json!({"url": format!("https://www.engine.example/datasets/{id}?from=search")}),
                });
            }
            let list = json!({"query": query.id, "search": text, "results": results});
            exported += &format!("{list}\n");
        }
    }
    println!("\nan exported list:");
    let first = exported.lines().next().unwrap_or_default();
    println!("  {}", first.chars().take(150).collect::<String>());

    // 3. Names and URLs to ids, without newer datasets; the lists of a query take turns.
    let lists = read_results_json(exported.as_bytes(), "engine.json")?;
    let names = DocNames::new(&documents);
    let import = ResultImport {
        hits: HITS,
        not_later_than_query: true,
        ..ResultImport::default()
    };
    let imported = import.run("engine", &lists, &names, &queries)?;
    println!(
        "\n{} results: {} are no datasets, {} are newer than the query",
        imported.results,
        imported.unmatched.len(),
        imported.newer
    );

    // 4. Evaluation beside BM25 with the whole sentence.
    let years = index.years();
    let filters: Vec<_> = queries
        .iter()
        .map(|query| years.not_later_than(query.attributes.year()))
        .collect();
    let sentences = Run::from_retriever_with("BM25", &bm25, &queries, |n, _| {
        Search::top(HITS).within(&filters[n])
    })?;
    let measures = [Measure::P.at(5), Measure::R.at(5), Measure::AP, Measure::RR];
    let qrels = collection.qrels("test")?;
    let evaluator = Evaluator::new(&qrels, &measures)?;
    println!(
        "\n{:<22} {:>7} {:>7} {:>7} {:>7}",
        "", "P@5", "R@5", "AP", "RR"
    );
    for (name, run) in [("engine", &imported.run), ("BM25, sentences", &sentences)] {
        let report = evaluator.evaluate(run)?;
        let values = measures.map(|measure| report.summary(measure).unwrap_or_default());
        let values: Vec<String> = values.iter().map(|it| format!("{it:>7.4}")).collect();
        println!("{name:<22} {}", values.join(" "));
    }
    Ok(())
}
