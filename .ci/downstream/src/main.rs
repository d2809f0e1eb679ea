//! What a user of the published crates would write: no workspace, no paths.

use ir_bm25::{Bm25, Index, IndexConfig};
use ir_core::{Document, NoProgress, Retriever, Run, Search};
use ir_eval::{Evaluator, Measure};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Search in ten lines.
    let notes = vec![
        Document::new("tea").with_text("Green tea is steeped for two minutes."),
        Document::new("bread").with_text("Bread rises twice before it is baked."),
    ];
    let index = Index::build(&notes, &IndexConfig::default(), &mut NoProgress)?;
    let searcher = index.searcher(Bm25::default())?;
    let ranking = searcher.search("baking bread", &Search::top(1))?;
    assert_eq!(searcher.ids().id(ranking.hits()[0].doc), "bread");

    // An experiment: a collection, a run, a judgment.
    let collection = ir_data::catalogue::open("bundled")?;
    let index = Index::build(collection.corpus(), &IndexConfig::default(), &mut NoProgress)?;
    let searcher = index.searcher(Bm25::ANSERINI)?;
    let run = Run::of("bm25", &searcher, &collection.queries("test")?, 100)?;
    let qrels = collection.qrels("test")?;
    let report = Evaluator::new(&qrels, &[Measure::NDCG.at(10)])?.evaluate(&run)?;
    let ndcg = report.summary(Measure::NDCG.at(10)).ok_or("asked for")?;
    // The facade is the same crates under one name.
    let same: ir::eval::Measure = "ndcg_cut_10".parse()?;
    assert_eq!(same, Measure::NDCG.at(10));
    println!("downstream: nDCG@10 {ndcg:.4} on the bundled collection");
    assert!(ndcg > 0.3 && ndcg < 1.0);
    Ok(())
}
