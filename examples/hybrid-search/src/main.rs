//! Hybrid search: weighted sum, rank fusion and reranking of BM25 and dense retrieval.
//!
//! `cargo run --release -p hybrid-search -- [COLLECTION]`; the default is the bundled collection.
//! `IR_MODEL` names the folder of an encoder; without it, the vectors come from latent semantic
//! indexing fitted to the collection.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

use std::env;

use anyhow::{Context, Result};
use ir_bm25::{Bm25, DuplicateIds, Index, IndexConfig};
use ir_core::fusion::{Fused, Fusion, Reranked, RetrieverScores, WeightedSum};
use ir_core::{
    Distinct, DocIds, Document, Encoded, Encoder, NoProgress, Query, Retriever, Run, Search, Side,
    Years,
};
use ir_data::DocTemplate;
use ir_dense::{BiEncoder, EncoderConfig};
use ir_eval::compare::{Comparison, ComparisonConfig, ParameterSweep};
use ir_eval::{Evaluator, Measure};
use ir_knn::{FlatIndex, Lsi, LsiConfig, TruncatedSvdConfig, VectorSimilarity};

/// A boxed retriever, so that different types fit in one list.
type System<'a> = Box<dyn Retriever<Query = str> + 'a>;

/// Number of hits per query.
const HITS: usize = 100;

/// Candidate weights of the BM25 score.
const ALPHAS: [f32; 9] = [0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0];

fn main() -> Result<()> {
    let name = env::args().nth(1).unwrap_or_else(|| "bundled".to_owned());
    let collection = ir_data::open_path_or_name(&name)?;
    let (queries, qrels) = (collection.queries("test")?, collection.qrels("test")?);
    let documents = collection
        .corpus()
        .docs()?
        .collect::<Result<Vec<Document>, _>>()?;

    // The two retrievers number documents differently; ids are the same.
    let config = IndexConfig::default().with_duplicates(DuplicateIds::Keep);
    let index = Index::build(&documents, &config, &mut NoProgress)?;
    let bm25 = Distinct(index.searcher(Bm25::ANSERINI)?);
    let template = DocTemplate::default();
    let texts: Vec<String> = documents.iter().map(|doc| template.render(doc)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (model, encoder) = encoder(&texts)?;
    let vectors = encoder.encode(Side::Document, &texts)?;
    let ids: DocIds = documents.iter().map(|doc| doc.id.as_str()).collect();
    // Unit vectors: the inner product is the cosine.
    let flat =
        FlatIndex::from_row_major(ids, encoder.dim(), vectors, VectorSimilarity::InnerProduct)?;
    let dense = Distinct(Encoded::new(&encoder, flat.with_codes()));
    println!(
        "{}: {} documents, {} queries; vectors by {model}\n",
        collection.name(),
        documents.len(),
        queries.len()
    );

    // cos + α·BM25 for every α, tuned by leave-one-query-out cross-validation.
    let mut weighted_sum = WeightedSum::new([(boxed(&dense), 1.0), (boxed(&bm25), 0.0)])?;
    let measure = Measure::NDCG.at(10);
    let evaluator = Evaluator::new(&qrels, &[measure, Measure::AP, Measure::R.at(10)])?;
    let mut tuned = Vec::new();
    for alpha in ALPHAS {
        weighted_sum.set_weights(&[1.0, alpha])?;
        let run = search(
            &format!("cos + {alpha} BM25"),
            &weighted_sum,
            &queries,
            &documents,
        )?;
        tuned.push((run.clone(), evaluator.evaluate(&run)?));
    }
    let reports: Vec<_> = tuned.iter().map(|(_, report)| report.clone()).collect();
    let sweep = ParameterSweep::new(&reports, measure, None)?;
    println!("{measure} of cos + α·BM25, and the number of queries for which α is selected:");
    for setting in &sweep.settings {
        println!(
            "  {:<16} {:.4} {:>5}",
            setting.name, setting.score, setting.chosen
        );
    }
    println!("  leave-one-query-out: {:.4}\n", sweep.held_out_score);

    // The tuned weighted sum, per query, beside methods without a parameter to tune.
    let mut chosen = Run::new("cos + chosen BM25");
    for choice in &sweep.choices {
        let (run, _) = tuned
            .iter()
            .find(|(run, _)| run.tag == choice.setting)
            .context("no run with the selected weight")?;
        for scored in run.get(&choice.query).unwrap_or_default() {
            chosen.push(&choice.query, scored.doc.as_str(), scored.score);
        }
    }
    let fused = |fusion| Fused::new([boxed(&dense), boxed(&bm25)], fusion, HITS);
    let runs = [
        search("BM25", &bm25, &queries, &documents)?,
        search("dense", &dense, &queries, &documents)?,
        chosen,
        search("RRF", &fused(Fusion::RRF)?, &queries, &documents)?,
        search("CombSUM", &fused(Fusion::COMB_SUM)?, &queries, &documents)?,
        search(
            "BM25, reranked",
            &Reranked::new(&bm25, RetrieverScores::new(&dense)?, 50)?,
            &queries,
            &documents,
        )?,
    ];
    let reports = runs
        .iter()
        .map(|run| evaluator.evaluate(run))
        .collect::<Result<Vec<_>, _>>()?;
    println!(
        "{}",
        Comparison::new(&reports, &ComparisonConfig::default())?
    );
    Ok(())
}

fn boxed<'a>(retriever: &'a (impl Retriever<Query = str> + 'a)) -> System<'a> {
    Box::new(retriever)
}

/// Searches all queries, excluding documents newer than the query. Years are looked up by id,
/// because each retriever has its own document numbers.
fn search(
    tag: &str,
    retriever: &dyn Retriever<Query = str>,
    queries: &[Query],
    documents: &[Document],
) -> Result<Run> {
    let ids = retriever.ids();
    let mut years = vec![None; ids.len()];
    // The first record of a duplicate id counts.
    for doc in documents.iter().rev() {
        if let Some(number) = ids.get(&doc.id) {
            years[number.index()] = doc.attributes.year();
        }
    }
    let years = years.into_iter().collect::<Years>().of_first_record(ids);
    let filters: Vec<_> = queries
        .iter()
        .map(|query| years.not_later_than(query.attributes.year()))
        .collect();
    Ok(Run::from_retriever_with(
        tag,
        retriever,
        queries,
        |n, _| Search::top(HITS).within(&filters[n]),
    )?)
}

/// Encoder with unit vectors, and its name.
fn encoder(texts: &[&str]) -> Result<(String, Box<dyn Encoder>)> {
    if let Some(folder) = env::var_os("IR_MODEL") {
        let config = EncoderConfig::default().with_normalize(true);
        let name = folder.to_string_lossy().into_owned();
        return Ok((name, Box::new(BiEncoder::open_with(&folder, &config)?)));
    }
    let components = 100.min(texts.len() / 2);
    let config = LsiConfig::default()
        .with_svd(TruncatedSvdConfig::new(components))
        .with_normalize(true);
    let name = format!("latent semantic indexing, {components} dimensions");
    Ok((name, Box::new(Lsi::fit(texts, &config)?)))
}
