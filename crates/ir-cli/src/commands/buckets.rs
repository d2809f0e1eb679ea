//! `ir buckets`: recall by training frequency of the documents.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use ir_core::trec::{ColumnReader, HeaderLine};
use ir_core::{Grade, Qrels, Run};
use ir_eval::{FrequencyBucket, FrequencyBucketRecall, RecallByFrequency, RunOrder};
use serde::Serialize;

use crate::shared::console::{Console, Usage};
use crate::shared::input;
use crate::shared::output::OutputSink;
use crate::shared::qrels::with_warnings;
use crate::shared::runs::name_runs;

const EXAMPLES: &str = "\
Examples:
  ir buckets --training train.qrels qrels.txt run.trec
  ir buckets --training datafinder:train datafinder run.trec
  ir buckets --counts counts.tsv qrels.txt bm25.trec dense.trec
  ir buckets --counts counts.tsv --bucket 0-9 --bucket 10- qrels.txt run.trec

The score of a bucket is the mean, over the queries with a relevant document
in it, of the fraction of these documents retrieved in the top R, where R is
the query's number of relevant documents. A query without results scores 0.
This is the published evaluation of DataFinder; its buckets are the default:
501-2500, 101-500, 51-100, 21-50, 6-20, 1-5.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("frequencies").required(true).args(["counts", "training"]))]
pub(crate) struct Args {
    /// Relevance judgments: a file, a collection by name such as `beir/nfcorpus`, or `-`
    qrels: String,

    /// TREC runs; one may be `-` (standard input)
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    runs: Vec<String>,

    /// File of training frequencies, two columns: document id, count
    #[arg(long, value_name = "FILE")]
    counts: Option<String>,

    /// Training judgments; the frequency of a document is its number of relevant judgments
    #[arg(long, value_name = "QRELS")]
    training: Option<String>,

    /// Frequency range such as 6-20 or 501-; repeatable [default: DataFinder's buckets]
    #[arg(long, value_name = "RANGE")]
    bucket: Vec<FrequencyBucket>,

    /// Ranking order: line order of the run, or by score as in `ir eval`
    #[arg(long, value_enum, default_value_t = Order::File, hide_possible_values = true, value_name = "file|score")]
    order: Order,

    /// Minimum grade of a relevant document
    #[arg(short = 'l', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i64).range(0..), allow_negative_numbers = true)]
    level: Grade,

    /// Print one JSON object per run
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Order {
    File,
    Score,
}

/// Bucket recalls of one run.
#[derive(Serialize)]
struct RunRecall {
    run: String,
    order: RunOrder,
    level: Grade,
    buckets: Vec<FrequencyBucketRecall>,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    let files = [
        Some(&args.qrels),
        args.counts.as_ref(),
        args.training.as_ref(),
    ];
    let files = files.into_iter().flatten().chain(&args.runs);
    if files.filter(|file| *file == "-").count() > 1 {
        return Err(Usage("expected `-` at most once, found it more than once".to_owned()).into());
    }
    let plan = RecallByFrequency {
        buckets: if args.bucket.is_empty() {
            FrequencyBucket::DATAFINDER.to_vec()
        } else {
            args.bucket.clone()
        },
        order: match args.order {
            Order::File => RunOrder::File,
            Order::Score => RunOrder::Score,
        },
        level: args.level,
    };
    let counts = match (&args.counts, &args.training) {
        (Some(file), _) => read_counts(file)?,
        (None, Some(file)) => count(&judgments(file, console)?, args.level),
        (None, None) => BTreeMap::new(),
    };
    let qrels = judgments(&args.qrels, console)?;
    let mut runs = Vec::with_capacity(args.runs.len());
    for file in &args.runs {
        let run = with_warnings(input::run(file, HeaderLine::Skip)?, console);
        let common = qrels.iter().any(|(query, _)| run.get(query).is_some());
        if !common {
            bail!(
                "{file}: expected a query that {} judges, found none",
                args.qrels
            );
        }
        runs.push(run);
    }
    name_runs(&mut runs, &args.runs);
    let of = |run: &Run| RunRecall {
        run: run.tag.clone(),
        order: plan.order,
        level: plan.level,
        buckets: plan.evaluate(&qrels, run, &counts),
    };
    let all: Vec<RunRecall> = runs.iter().map(of).collect();
    let mut out = OutputSink::open(None)?;
    let written = if args.json {
        json(&all, &mut out)
    } else {
        text(&all, &plan, &mut out)
    };
    written.with_context(|| format!("{}: could not be written", out.name()))?;
    out.commit()
}

fn judgments(file: &str, console: &Console) -> Result<Qrels> {
    Ok(with_warnings(
        input::qrels(file, HeaderLine::Skip)?,
        console,
    ))
}

fn count(qrels: &Qrels, level: Grade) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (_, judged) in qrels.iter() {
        for (doc, _) in judged.iter().filter(|judged| judged.1 >= level) {
            *counts.entry(doc.to_owned()).or_default() += 1;
        }
    }
    counts
}

fn read_counts(file: &str) -> Result<BTreeMap<String, u64>> {
    let (input, name) = input::open(file)?;
    let mut rows = ColumnReader::new(input, name.as_str());
    let mut counts = BTreeMap::new();
    while let Some((line, [doc, count])) = rows.next_row("2")? {
        let Ok(number) = count.parse::<u64>() else {
            bail!("{name}:{line}: expected a count, found {count:?}");
        };
        if counts.insert(doc.to_owned(), number).is_some() {
            bail!("{name}:{line}: document {doc:?} is listed twice");
        }
    }
    Ok(counts)
}

fn json(all: &[RunRecall], out: &mut dyn Write) -> Result<()> {
    for run in all {
        serde_json::to_writer(&mut *out, run)?;
        writeln!(out)?;
    }
    Ok(())
}

fn text(all: &[RunRecall], plan: &RecallByFrequency, out: &mut dyn Write) -> Result<()> {
    let Some(first) = all.first() else {
        return Ok(());
    };
    let widths: Vec<usize> = all
        .iter()
        .map(|run| run.run.chars().count().max(6))
        .collect();
    let buckets: Vec<String> = plan
        .buckets
        .iter()
        .map(FrequencyBucket::to_string)
        .collect();
    let wide = buckets.iter().map(String::len).max().unwrap_or(0).max(6);
    write!(out, "{:wide$}  queries  relevant", "counts")?;
    for (run, width) in all.iter().zip(&widths) {
        write!(out, "  {:>width$}", run.run)?;
    }
    writeln!(out)?;
    for (at, (bucket, row)) in buckets.iter().zip(&first.buckets).enumerate() {
        let (queries, relevant) = (row.queries, row.relevant);
        write!(out, "{bucket:wide$}  {queries:7}  {relevant:8}")?;
        for (run, width) in all.iter().zip(&widths) {
            match run.buckets[at].recall {
                Some(recall) => write!(out, "  {recall:width$.4}")?,
                None => write!(out, "  {:>width$}", "-")?,
            }
        }
        writeln!(out)?;
    }
    let (order, level) = (plan.order, plan.level);
    Ok(writeln!(
        out,
        "\nrecall in the top R; ranking order: {order}; minimum relevant grade: {level}"
    )?)
}
