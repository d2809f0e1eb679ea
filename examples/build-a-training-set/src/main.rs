//! Builds a training set from parsed papers, as in DataFinder (Section 3.2), and trains an encoder
//! on it: tagging by citation and mention, queries from abstracts without the names of datasets,
//! hard negatives by BM25.
//!
//! `cargo run --release -p build-a-training-set -- [FOLDER [PAPERS DATASETS]]`; twenty synthetic
//! papers by default. FOLDER receives the answers, the training set and the encoder; a second start
//! writes only queries that are missing. With `--features endpoint`, `IR_ENDPOINT` (URL) and
//! `IR_ENDPOINT_MODEL` select a language model, whose key is in `IR_ENDPOINT_KEY`, if it needs one;
//! `IR_ENDPOINT_KEY_HEADER` is `api-key` for Azure.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]

mod collection;
mod encoder;

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use anyhow::{Result, bail};
use collection::Files;
use ir_bm25::{Bm25, DuplicateIds, Index, IndexConfig};
use ir_core::training::TrainingSet;
use ir_core::training::mining::MiningConfig;
use ir_core::{Distinct, NoProgress};
use ir_data::DocTemplate;
use ir_data::s2orc::Paper;
use ir_data::training::{TrainingFile, TrainingWriter};
use ir_studies::papers::{
    AnswerFile, DatasetLinks, DatasetRecord, DatasetTagger, DatasetTags, ExtractiveWriter,
    PaperQuery, QueryForm, QueryWriter, ScrubbingRule, TaggingRules, Untagged, training_examples,
};

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = env::args().skip(1).map(PathBuf::from).collect();
    let scratch = tempfile::tempdir()?;
    let folder = arguments.first().map_or(scratch.path(), PathBuf::as_path);
    std::fs::create_dir_all(folder)?;
    let files = match arguments.get(1..).unwrap_or_default() {
        [] => Files::bundled()?,
        [papers, datasets] => Files::open(papers, datasets)?,
        _ => bail!("expected FOLDER, or FOLDER PAPERS DATASETS"),
    };
    let datasets = files.datasets.iter().map(DatasetRecord::from_document);
    let datasets: Vec<DatasetRecord> = datasets.collect();
    println!(
        "{} papers, {} datasets\n",
        files.papers.len(),
        datasets.len()
    );

    // 1. Datasets that are cited and mentioned in the sections of the experiments.
    let links = DatasetLinks::new(&datasets, &files.papers);
    let tagged = tag(&files.papers, &datasets, &links);
    let papers: Vec<&Paper> = tagged.iter().map(|(paper, _)| *paper).collect();

    // 2. A query from each abstract.
    let mut writer = writer()?;
    let mut answers = AnswerFile::open(folder.join("answers.jsonl"))?;
    let written = answers.write_queries(&papers, writer.as_mut(), &mut NoProgress)?;
    println!("queries: {} written, by {}", written.written, writer.name());
    for error in &written.unusable {
        println!("  left out: {error}");
    }

    // 3. Names of datasets become [DATASET].
    let mut queries = Vec::new();
    for ((paper, tags), answer) in tagged.iter().zip(&written.answers) {
        let Some(answer) = answer else { continue };
        let rule = ScrubbingRule::default();
        let query = PaperQuery::new(paper, answer, tags, &datasets, rule);
        if queries.len() < 3 {
            println!("  abstract   {}", answer.summary);
            println!("  query      {}", query.text);
            println!("  keyphrases {}", query.keyphrases);
            println!("  positives  {}\n", query.positives.join(", "));
        }
        queries.push(query);
    }

    // 4. Hard negatives by BM25, in Tevatron's format.
    let template: DocTemplate = "{text} [SEP] {title}".parse()?;
    let config = IndexConfig::default().with_duplicates(DuplicateIds::Keep);
    let index = Index::build(&files.datasets, &config, &mut NoProgress)?;
    let bm25 = Distinct(index.searcher(Bm25::ANSERINI)?);
    let mining = MiningConfig::DATAFINDER;
    let path = folder.join("train.jsonl");
    let mut out = TrainingWriter::create(&path)?;
    for form in [QueryForm::Sentence, QueryForm::Keyphrases] {
        let documents = &files.datasets;
        for example in training_examples(&queries, form, documents, &template, &bm25, &mining)? {
            out.example(&example)?;
        }
    }
    out.commit()?;
    let examples = TrainingFile::open(&path)?;
    println!("training set: {} examples; the first:", examples.len());
    let first = examples.get(0)?;
    let ids = |texts: &[ir_core::training::TrainingText]| -> String {
        let ids = texts.iter().filter_map(|text| text.id.as_deref());
        ids.collect::<Vec<_>>().join(", ")
    };
    println!("  query      {}", first.query);
    println!("  positives  {}", ids(&first.positives));
    println!("  negatives  {}\n", ids(&first.negatives));

    // 5. A tiny encoder, before and after training.
    let untrained = scratch.path().join("untrained");
    // Named by the training set: a second start trains only if the set has changed.
    let trained = folder.join(format!("trained-{:016x}", examples.fingerprint()));
    encoder::create(&untrained, &files, &examples, &template)?;
    if trained.exists() {
        println!("training: done before\n");
    } else {
        encoder::train(&untrained, &trained, &examples)?;
    }
    if let Some(test) = &files.test {
        println!("test, {} queries            MRR    R@3", test.queries.len());
        test.print("BM25", &bm25)?;
        for (name, model) in [
            ("encoder, untrained", &untrained),
            ("encoder, trained", &trained),
        ] {
            test.print(name, &encoder::system(model, &files, &template)?)?;
        }
    }
    if !arguments.is_empty() {
        let folder = folder.display();
        println!("\nwritten: answers.jsonl, train.jsonl, trained-* in {folder}");
    }
    Ok(())
}

/// Tags papers and prints the numbers of papers with and without tags.
fn tag<'p>(
    papers: &'p [Paper],
    datasets: &[DatasetRecord],
    links: &DatasetLinks,
) -> Vec<(&'p Paper, DatasetTags)> {
    let tagger = DatasetTagger::new(datasets, links, TaggingRules::default());
    let mut tagged = Vec::new();
    let mut untagged: BTreeMap<Untagged, Vec<&str>> = BTreeMap::new();
    for paper in papers {
        match tagger.tag(paper) {
            Ok(tags) => tagged.push((paper, tags)),
            Err(reason) => untagged.entry(reason).or_default().push(&paper.id),
        }
    }
    println!("papers with tags: {}; without:", tagged.len());
    for (reason, papers) in untagged {
        println!("  {:<32} {}", reason.to_string(), papers.join(", "));
    }
    println!();
    tagged
}

/// Language model of the environment, or extraction from the abstract.
fn writer() -> Result<Box<dyn QueryWriter>> {
    #[cfg(feature = "endpoint")]
    if let Ok(url) = env::var("IR_ENDPOINT") {
        use anyhow::Context;
        use ir_fetch::chat::EndpointConfig;
        use ir_studies::papers::EndpointWriter;
        let model = env::var("IR_ENDPOINT_MODEL");
        let model = model.context("IR_ENDPOINT_MODEL: expected the name of a model")?;
        let mut config = EndpointConfig::new(url, model);
        if let Ok(header) = env::var("IR_ENDPOINT_KEY_HEADER") {
            config.key_header = header.parse().context("IR_ENDPOINT_KEY_HEADER")?;
        }
        return Ok(match env::var_os("IR_ENDPOINT_KEY") {
            Some(_) => Box::new(EndpointWriter::from_env(config, "IR_ENDPOINT_KEY")?),
            None => Box::new(EndpointWriter::new(config, None)?),
        });
    }
    if cfg!(not(feature = "endpoint")) && env::var_os("IR_ENDPOINT").is_some() {
        bail!("IR_ENDPOINT: expected a build with --features endpoint");
    }
    Ok(Box::new(ExtractiveWriter::default()))
}
