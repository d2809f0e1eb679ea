//! BM25, pseudo-relevance feedback and repository priors on synthetic records of the bioCADDIE
//! collection. The optional argument is the fraction of the 794,992 records: 0.01 by default.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use anyhow::{Context, Result};
use ir_bm25::feedback::{Feedback, FeedbackDocuments, FeedbackModel, Rm3};
use ir_bm25::{Bm25, IndexBuilder, IndexConfig, StoredFields};
use ir_core::fusion::{DocumentRepositories, PriorCombination, PriorEstimate, RepositoryPrior};
use ir_core::{AttributeValue, DocNum, NoProgress, Retriever, Search};
use ir_data::attribute;
use ir_data::biocaddie::REPOSITORIES;
use ir_studies::biocaddie::SyntheticRecords;

const QUERIES: [&str; 4] = [
    "protein sequencing bacterial chemotaxis",
    "insulin receptor gene expression human tissue",
    "myelitis treatment clinical trial",
    "crystal structure of kinase binding",
];

fn main() -> Result<()> {
    let fraction = match std::env::args().nth(1) {
        Some(text) => text.parse().context("expected a fraction from 0 to 1")?,
        None => 0.01,
    };
    let records = SyntheticRecords::new(1).with_fraction(fraction);

    // Records are generated while they are indexed; the index file is memory-mapped.
    let began = Instant::now();
    let path = std::env::temp_dir().join(format!("repository-priors-{}.ir", std::process::id()));
    let config = IndexConfig::default().with_store(StoredFields::Everything);
    let mut builder = IndexBuilder::new(config)?;
    builder.push_all(&records, &mut NoProgress)?;
    let index = builder.finish_to(&path, &mut NoProgress)?;
    println!("{} records indexed in {:.1?}", index.len(), began.elapsed());

    let repository = |doc| match index
        .attributes(DocNum::new(doc))?
        .get(attribute::REPOSITORY)
    {
        Some(AttributeValue::Text(name)) => Ok(Some(name.clone())),
        _ => anyhow::Ok(None),
    };
    let names: Vec<Option<String>> = (0..index.len() as u32)
        .map(repository)
        .collect::<Result<_>>()?;
    let repositories = DocumentRepositories::new(names);

    let bm25 = index.searcher(Bm25::ANSERINI)?;
    let own = FeedbackDocuments::stored(bm25.clone())?;
    let rm3 = Feedback::new(bm25.clone(), own, FeedbackModel::Rm3(Rm3::ANSERINI))?;
    let estimate = PriorEstimate::Feedback {
        docs: 50,
        epsilon: 1.0,
        repositories: REPOSITORIES.len(),
    };
    let prior = RepositoryPrior::new(
        rm3.clone(),
        repositories.clone(),
        estimate,
        PriorCombination::Product,
        1.0,
    )?;
    let systems: [(&str, &dyn Retriever<Query = str>); 3] =
        [("BM25", &bm25), ("RM3", &rm3), ("RM3 and prior", &prior)];
    for query in QUERIES {
        println!("\n{query}");
        for (name, system) in &systems {
            let ranking = system.search(query, &Search::top(5))?;
            let hits = ranking.iter().map(|hit| {
                let repository = repositories.get(hit.doc).unwrap_or("none");
                format!("{} ({repository})", index.ids().id(hit.doc))
            });
            println!("  {name:14}{}", hits.collect::<Vec<_>>().join(", "));
        }
    }
    std::fs::remove_file(&path)?;
    Ok(())
}
