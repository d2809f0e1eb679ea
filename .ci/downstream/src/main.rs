//! A program that depends on the published crates.

use ir_bm25::{Bm25, Index, IndexConfig};
use ir_core::{Document, Encoded, NoProgress, Retriever, Run, Search};
use ir_dense::BiEncoder;
use ir_eval::{Evaluator, Measure};
use ir_knn::{FlatIndex, VectorSimilarity};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Search.
    let notes = vec![
        Document::new("tea").with_text("Green tea is steeped for two minutes."),
        Document::new("bread").with_text("Bread rises twice before it is baked."),
    ];
    let index = Index::build(&notes, &IndexConfig::default(), &mut NoProgress)?;
    let searcher = index.searcher(Bm25::default())?;
    let ranking = searcher.search("baking bread", &Search::top(1))?;
    assert_eq!(searcher.ids().id(ranking.hits()[0].doc), "bread");

    // Evaluate a run.
    let collection = ir_data::catalog::open("bundled")?;
    let index = Index::build(collection.corpus(), &IndexConfig::default(), &mut NoProgress)?;
    let searcher = index.searcher(Bm25::ANSERINI)?;
    let run = Run::from_retriever("bm25", &searcher, &collection.queries("test")?, 100)?;
    let qrels = collection.qrels("test")?;
    let report = Evaluator::new(&qrels, &[Measure::NDCG.at(10)])?.evaluate(&run)?;
    let ndcg = report.summary(Measure::NDCG.at(10)).ok_or("asked for")?;
    assert_eq!("ndcg_cut_10".parse::<Measure>()?, Measure::NDCG.at(10));
    println!("downstream: nDCG@10 {ndcg:.4} on the bundled collection");
    assert!(ndcg > 0.3 && ndcg < 1.0);

    // Dense retrieval.
    let Some(folder) = std::env::var_os("IR_MODEL") else {
        println!("downstream: IR_MODEL is not set, dense retrieval skipped");
        return Ok(());
    };
    let encoder = BiEncoder::open(folder)?;
    let texts = ["ships seen by radar", "a boat at sea", "green tea"];
    let vectors = encoder.encode_documents(&texts)?;
    let ids = ["radar", "boat", "tea"].into_iter().collect();
    let index = FlatIndex::new(ids, vectors, VectorSimilarity::Cosine)?;
    let searcher = Encoded::new(encoder, index);
    let ranking = searcher.search("a vessel on the ocean", &Search::top(1))?;
    assert_eq!(searcher.ids().id(ranking.hits()[0].doc), "boat");
    println!("downstream: the nearest text has cosine {:.3}", ranking.hits()[0].score);
    Ok(())
}
