//! Evaluates a run against judgments, as trec_eval does, with explicit rules.
//!
//! `cargo run --release -p evaluate-a-run -- QRELS RUN`; without arguments it evaluates a BM25 run
//! on the bundled collection.

#![allow(clippy::print_stdout, reason = "a program for a terminal")]
#![allow(clippy::print_stderr, reason = "a program for a terminal")]

use std::env;

use anyhow::{Context, Result, bail};
use ir_bm25::{Bm25, Index, IndexConfig};
use ir_core::trec::{HeaderLine, ScoreFormat};
use ir_core::{NoProgress, Run};
use ir_eval::trec_eval::{MeasureSelection, OutputDetail};
use ir_eval::{Evaluator, Measure, Rules};

fn main() -> Result<()> {
    let mut args = env::args().skip(1);
    let (qrels, run) = match (args.next(), args.next()) {
        (Some(qrels), Some(run)) => {
            let qrels = ir_data::read_qrels_any(&qrels, HeaderLine::AsData)?;
            let run = ir_data::read_run(&run, HeaderLine::AsData)?;
            // Input that trec_eval accepts silently: header lines, scores that are not numbers.
            for warning in qrels.warnings.iter().chain(&run.warnings) {
                eprintln!("warning: {warning}");
            }
            (qrels.data, run.data)
        }
        (Some(_), None) => bail!("expected QRELS and RUN, or nothing; found one argument"),
        (None, _) => {
            let collection = ir_data::catalog::open("bundled")?;
            let index = Index::build(
                collection.corpus(),
                &IndexConfig::default(),
                &mut NoProgress,
            )?;
            let searcher = index.searcher(Bm25::ANSERINI)?;
            let run = Run::from_retriever("bm25", &searcher, &collection.queries("test")?, 100)?;
            // Round trip through the TREC run format.
            let mut file = Vec::new();
            ir_core::trec::write_run(&run, ScoreFormat::Strict, &mut file)?;
            let run = ir_core::trec::read_run(&file[..], "bm25", HeaderLine::AsData)?;
            (collection.qrels("test")?, run.data)
        }
    };

    // Measures are values: parsed from trec_eval's or ir_measures' names, printable, comparable.
    let measures: Vec<Measure> = ["nDCG@10", "AP", "recip_rank", "P_5", "R@100", "Success@1"]
        .map(str::parse)
        .into_iter()
        .collect::<Result<_, _>>()?;
    let evaluator = Evaluator::new(&qrels, &measures)?;
    let report = evaluator.evaluate(&run)?;
    println!("{report}");

    // Per-query values; means and deviations derive from them.
    let ndcg = measures[0];
    let mut queries: Vec<(&str, f64)> = report
        .queries()
        .iter()
        .map(|q| q.query())
        .zip(report.values(ndcg).context("asked for")?)
        .collect();
    queries.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(b.0)));
    let list = |part: &[(&str, f64)]| {
        part.iter()
            .map(|(query, value)| format!("{query} {value:.3}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    println!("lowest {ndcg}:  {}", list(&queries[..queries.len().min(5)]));
    println!(
        "highest {ndcg}: {}\n",
        list(&queries[queries.len().saturating_sub(5)..])
    );

    // And byte for byte what `trec_eval -c -m map -m P.5,10 qrels run` prints.
    let selection = MeasureSelection::parse(&["map", "P.5,10"])?;
    let report = selection
        .evaluator(&qrels, Rules::default())?
        .evaluate(&run)?;
    selection.write(&report, OutputDetail::Summary, &mut std::io::stdout())?;
    Ok(())
}
