//! Significance tests, confidence intervals and per-query differences of three systems.
//!
//! `cargo run --release -p compare-systems -- [COLLECTION] [PLOT.svg]`; the default is the bundled
//! collection without a plot.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

use std::env;
use std::io::Write as _;

use anyhow::{Context, Result};
use ir_bm25::analysis::Analysis;
use ir_bm25::{Bm25, Index, IndexConfig};
use ir_core::fusion::{Fusion, fuse_runs};
use ir_core::store::AtomicFile;
use ir_core::{NoProgress, Run};
use ir_eval::compare::significance::RandomizationTest;
use ir_eval::compare::{Comparison, ComparisonConfig, SignificanceTest};
use ir_eval::plots::{Plot, QueryDifferencePlot};
use ir_eval::runs::RankChanges;
use ir_eval::{Evaluator, JudgmentStatus, Measure, Rules};

fn main() -> Result<()> {
    let mut args = env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "bundled".to_owned());
    let collection = ir_data::catalog::open(&name)?;
    let (queries, qrels) = (collection.queries("test")?, collection.qrels("test")?);

    // Two systems that differ in the analyzer only, and their fusion.
    let run = |tag: &str, analysis: Analysis| -> Result<Run> {
        let config = IndexConfig::default().with_analysis(analysis);
        let index = Index::build(collection.corpus(), &config, &mut NoProgress)?;
        Ok(Run::from_retriever(
            tag,
            &index.searcher(Bm25::ANSERINI)?,
            &queries,
            100,
        )?)
    };
    let words = run("words", Analysis::lucene_standard())?;
    let stems = run("stems", Analysis::default())?;
    let both = fuse_runs("both", &[words.clone(), stems.clone()], Fusion::RRF)?;

    // One evaluator: the same judgments and rules for all systems.
    let measure = Measure::NDCG.at(10);
    let evaluator = Evaluator::new(&qrels, &[measure, Measure::AP, Measure::R.at(100)])?;
    let reports = [&words, &stems, &both]
        .into_iter()
        .map(|run| evaluator.evaluate(run))
        .collect::<Result<Vec<_>, _>>()?;

    // Baseline, test and correction are a value, which the table prints.
    let plan = ComparisonConfig {
        test: SignificanceTest::Randomization(RandomizationTest::default()),
        ..ComparisonConfig::default()
    };
    let comparison = Comparison::new(&reports, &plan)?;
    println!("{comparison}");

    // Which queries and documents cause the difference of the means?
    let topics = comparison
        .query_differences("stems", "words", measure)
        .context("the comparison lacks the pair")?;
    let moves = RankChanges::new(&qrels, Rules::default(), &stems, &words);
    println!("{measure}, largest gains and losses of stems over words:");
    for topic in topics
        .iter()
        .take(2)
        .chain(topics.iter().rev().take(2).rev())
    {
        println!(
            "  {:8} {:.3} -> {:.3} ({:+.3})",
            topic.query, topic.against, topic.value, topic.difference
        );
        let shown = |rank: Option<usize>| rank.map_or("none".to_owned(), |rank| rank.to_string());
        let moved = moves.on_query(&topic.query).into_iter();
        for moved in moved
            .filter(|m| matches!(m.judged, JudgmentStatus::Grade(1..)))
            .take(2)
        {
            println!(
                "           relevant document {} went from rank {} to {}",
                moved.doc,
                shown(moved.against),
                shown(moved.rank)
            );
        }
    }

    if let Some(path) = args.next() {
        let plot = QueryDifferencePlot::new(&comparison, "stems", "words", measure)
            .context("the comparison lacks the pair")?;
        let mut file = AtomicFile::create(&path)?;
        file.write_all(plot.to_svg().as_bytes())?;
        file.commit()?;
        eprintln!("wrote {path}");
    }
    Ok(())
}
