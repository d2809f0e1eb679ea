//! `ir buckets`: recall by training frequency of the documents.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, bail};
use ir_core::trec::{ColumnReader, HeaderLine};
use ir_core::{Grade, Qrels};
use ir_eval::RunOrder;
use ir_eval::assess::{FrequencyBucket, FrequencyBucketRecall, RecallByFrequency};
use serde::Serialize;

use crate::shared::console::Console;
use crate::shared::format::{four_decimals, table};
use crate::shared::input::{self, QrelsArgument};
use crate::shared::options::choice;
use crate::shared::output::OutputSink;
use crate::shared::runs::{at_most_one_stdin, name_runs, warn_of_repeated, without_common_query};

const EXAMPLES: &str = "\
Examples:
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
    #[arg(long, value_parser = choice(ORDERS), default_value = "file", value_name = "ORDER")]
    order: RunOrder,

    /// Minimum grade of a relevant document
    #[arg(short = 'l', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(i64).range(0..))]
    level: Grade,

    /// Print one JSON object per run
    #[arg(long)]
    json: bool,
}

const ORDERS: [(&str, &str, RunOrder); 2] =
    [("file", "", RunOrder::File), ("score", "", RunOrder::Score)];

/// Bucket recalls of one run.
#[derive(Serialize)]
struct RunRecall {
    run: String,
    order: RunOrder,
    level: Grade,
    buckets: Vec<FrequencyBucketRecall>,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    let training = args.counts.iter().chain(&args.training);
    at_most_one_stdin(args.runs.iter().chain(training).chain([&args.qrels]))?;
    let plan = RecallByFrequency {
        buckets: if args.bucket.is_empty() {
            FrequencyBucket::DATAFINDER.to_vec()
        } else {
            args.bucket.clone()
        },
        order: args.order,
        level: args.level,
    };
    let counts = match (&args.counts, &args.training) {
        (Some(file), _) => read_counts(file, console)?,
        (None, Some(file)) => count(
            &input::qrels(file, QrelsArgument::Option, HeaderLine::Skip, console)?,
            args.level,
        ),
        (None, None) => BTreeMap::new(),
    };
    let qrels = input::qrels(&args.qrels, QrelsArgument::First, HeaderLine::Skip, console)?;
    warn_of_counts(args, &counts, &qrels, console);
    warn_of_repeated(&args.runs, console);
    let mut runs = Vec::with_capacity(args.runs.len());
    for file in &args.runs {
        let run = input::run(file, HeaderLine::Skip, console)?;
        if let Some(found) = without_common_query(&qrels, &run) {
            let qrels = &args.qrels;
            bail!("{file}: expected a query that {qrels} judges, found none ({found})");
        }
        runs.push(run);
    }
    name_runs(&mut runs, &args.runs);
    let recalls = runs.into_iter().map(|run| RunRecall {
        order: plan.order,
        level: plan.level,
        buckets: plan.evaluate(&qrels, &run, &counts),
        run: run.tag,
    });
    let recalls: Vec<RunRecall> = recalls.collect();
    OutputSink::open(None)?.write_with(|out| {
        if args.json {
            json(&recalls, out)
        } else {
            Ok(writeln!(out, "{}", text(&recalls, &plan))?)
        }
    })
}

/// Warns about counts of none of the judged documents, and about counts of the judgments that are
/// evaluated.
fn warn_of_counts(args: &Args, counts: &BTreeMap<String, u64>, qrels: &Qrels, console: &Console) {
    let judged = count(qrels, args.level);
    let option = match args.counts {
        Some(_) => "--counts",
        None => "--training",
    };
    if !judged.keys().any(|doc| counts.contains_key(doc)) {
        console.warn(format_args!(
            "{option}: no document with relevant judgments in {} has a count",
            args.qrels
        ));
    } else if args.training.is_some() && *counts == judged {
        console.warn(format_args!(
            "--training: the judgments that are evaluated; expected those of the training queries, \
             such as {}:train",
            args.qrels
        ));
    }
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

fn read_counts(file: &str, console: &Console) -> Result<BTreeMap<String, u64>> {
    let (input, name) = input::open(file, console)?;
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

fn text(all: &[RunRecall], plan: &RecallByFrequency) -> String {
    let mut rows = vec![
        ["counts", "queries", "relevant"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows[0].extend(all.iter().map(|run| run.run.clone()));
    for (at, bucket) in plan.buckets.iter().enumerate() {
        let mut row = vec![bucket.to_string()];
        if let Some(first) = all.first().map(|run| &run.buckets[at]) {
            row.extend([first.queries.to_string(), first.relevant.to_string()]);
        }
        row.extend(all.iter().map(|run| four_decimals(run.buckets[at].recall)));
        rows.push(row);
    }
    let (order, level) = (plan.order, plan.level);
    let note = format!("ranking order: {order}; minimum relevant grade: {level}");
    format!("{}\n\nrecall in the top R; {note}", table(rows))
}
