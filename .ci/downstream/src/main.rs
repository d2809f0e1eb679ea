//! A program that depends on the published crates.

use ir_bm25::{Bm25, Index, IndexConfig};
use ir_core::{Document, NoProgress, Retriever, Run, Search};
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

    // Search vectors.
    let vectors = ndarray::arr2(&[[1.0, 0.0], [0.6, 0.8]]);
    let ids = ["east", "north-east"].into_iter().collect();
    let index = FlatIndex::new(ids, vectors, VectorSimilarity::Cosine)?;
    let ranking = index.search(&[0.0, 1.0], &Search::top(1))?;
    assert_eq!(index.ids().id(ranking.hits()[0].doc), "north-east");

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
    Ok(())
}

/// Dense retrieval. Compiled in the gate, not run: code generation of burn takes minutes, and the
/// tests of the workspace run the same code.
#[cfg(feature = "dense")]
pub fn dense(folder: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    use ir_core::Encoded;
    use ir_dense::BiEncoder;

    let encoder = BiEncoder::open(folder)?;
    let texts = ["ships seen by radar", "a boat at sea", "green tea"];
    let vectors = encoder.encode_documents(&texts)?;
    let ids = ["radar", "boat", "tea"].into_iter().collect();
    let index = FlatIndex::new(ids, vectors, VectorSimilarity::Cosine)?;
    let searcher = Encoded::new(encoder, index);
    let ranking = searcher.search("a vessel on the ocean", &Search::top(1))?;
    assert_eq!(searcher.ids().id(ranking.hits()[0].doc), "boat");
    Ok(())
}
