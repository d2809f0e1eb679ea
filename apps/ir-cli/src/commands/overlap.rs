//! `ir overlap`: overlap of the documents retrieved by several runs.

use anyhow::Result;
use ir_core::{Grade, Judgments};
use ir_eval::runs::{OverlapCounts, OverlapRules, RunOverlap};
use serde_json::json;

use crate::shared::console::{Console, Usage};
use crate::shared::format::table;
use crate::shared::input::{self, QrelsArgument};
use crate::shared::options::positive;
use crate::shared::output::print;
use crate::shared::runs::{
    RunOptions, at_most_one_stdin, warn_of_disjoint, warn_of_repeated, warn_of_single,
    without_common_query,
};

const EXAMPLES: &str = "\
Examples:
  ir overlap bm25.trec dense.trec           overlap of two runs
  ir overlap --qrels qrels.txt *.trec       also count relevant documents

The first table has one line per run: retrieved documents, and documents that
no other run retrieved (a pool without the run would lack them). The second
has the regions of the Venn diagram: documents retrieved by exactly these
runs. The regions add up to the union. Counts are of (query, document) pairs.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// TREC runs, up to 16; one may be `-` (standard input)
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,

    /// Maximum rank compared [default: all]
    #[arg(long, short = 'k', value_name = "K", value_parser = positive)]
    depth: Option<usize>,

    /// Judgments, to also count relevant documents: a file or a collection name
    #[arg(long, value_name = "QRELS")]
    qrels: Option<String>,

    /// Minimum grade of a relevant document
    #[arg(long, short = 'l', value_name = "N", default_value_t = 1, requires = "qrels",
        value_parser = clap::value_parser!(i64).range(0..))]
    level: Grade,

    #[command(flatten)]
    reading: RunOptions,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    at_most_one_stdin(args.runs.iter().chain(&args.qrels))?;
    let qrels = args.qrels.as_ref();
    let qrels = qrels
        .map(|qrels| input::qrels(qrels, QrelsArgument::Option, args.reading.header(), console));
    let qrels = qrels.transpose()?;
    warn_of_single(&args.runs, "nothing is compared", console);
    warn_of_repeated(&args.runs, console);
    let runs = args.reading.read(&args.runs, console)?;
    let rules = OverlapRules {
        depth: args.depth,
        order: args.reading.order,
        level: args.level,
    };
    warn_of_disjoint(&runs, console);
    for run in &runs {
        if let Some(found) = qrels
            .as_ref()
            .and_then(|qrels| without_common_query(qrels, run))
        {
            console.warn(format_args!("{}: no judged query ({found})", run.tag));
        }
    }
    let qrels = qrels.as_ref().map(|qrels| qrels as &dyn Judgments);
    let overlap = RunOverlap::new(&runs, qrels, rules);
    let overlap = overlap.map_err(|error| Usage(error.to_string()))?;
    let text = if args.json {
        let only: Vec<OverlapCounts> = (0..runs.len()).map(|run| overlap.only(run)).collect();
        let of: Vec<OverlapCounts> = (0..runs.len()).map(|run| overlap.run(run)).collect();
        let mut object = json!(overlap);
        object["each"] = json!(of);
        object["only"] = json!(only);
        object["union"] = json!(overlap.union());
        object.to_string()
    } else {
        text(&overlap)
    };
    print(text)
}

fn text(overlap: &RunOverlap) -> String {
    let numbers = |count: OverlapCounts| {
        let all = [Some(count.documents), count.relevant, count.judged];
        all.into_iter().flatten().map(|n| n.to_string())
    };
    let union = overlap.union();
    let judged = union.relevant.is_some();
    let head = |first: &str| {
        let names = ["documents", "relevant", "judged"];
        let names = names.into_iter().take(if judged { 3 } else { 1 });
        std::iter::once(first.to_owned())
            .chain(names.map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let mut runs = vec![head("run")];
    let only = ["only it", "only it, relevant"]
        .into_iter()
        .take(if judged { 2 } else { 1 });
    runs[0].extend(only.map(str::to_owned));
    for (number, name) in overlap.runs.iter().enumerate() {
        let only = overlap.only(number);
        let mut row = vec![name.clone()];
        row.extend(numbers(overlap.run(number)));
        row.push(only.documents.to_string());
        row.extend(only.relevant.map(|n| n.to_string()));
        runs.push(row);
    }
    let mut regions = vec![head("exactly in")];
    for region in &overlap.regions {
        let names = region.runs.iter().map(|&run| overlap.runs[run].as_str());
        let mut row = vec![names.collect::<Vec<_>>().join(" + ")];
        row.extend(numbers(region.count));
        regions.push(row);
    }
    let mut row = vec!["union".to_owned()];
    row.extend(numbers(union));
    regions.push(row);
    format!("{}\n\n{}", table(runs), table(regions))
}
