//! `ir diff`: differences between two runs.

use std::io::Write;

use anyhow::Result;
use ir_eval::runs::{DiffRules, QueryDiff, RunDiff};
use serde_json::json;

use crate::shared::console::Console;
use crate::shared::format::{four_decimals, table, table_with_text};
use crate::shared::options::{fraction, parse, positive};
use crate::shared::output::OutputSink;
use crate::shared::runs::{RunOptions, at_most_one_stdin, warn_of_disjoint};

const EXAMPLES: &str = "\
Examples:
  ir diff old.trec new.trec                  exit code 0 if identical
  ir diff -q --depth 10 old.trec new.trec    list the differing queries
  ir diff --tolerance inf old.trec new.trec  compare rankings, not scores
  ir search bundled | ir diff before.trec -

Values are means over the queries of both runs:
  tau      Kendall's tau-b of the ranks of the common documents
  tau_ap   AP correlation: top-weighted; the first run is the reference
  rbo      extrapolated rank-biased overlap; accounts for missing documents
  overlap  number of common documents divided by the longer ranking's length

Exit codes are those of diff(1): 0 identical, 1 different, 2 failure. Tags are
not compared.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// TREC run, or `-` for standard input
    #[arg(value_name = "RUN")]
    first: String,

    /// TREC run to compare with `RUN`
    #[arg(value_name = "OTHER RUN")]
    second: String,

    /// Maximum rank compared [default: all]
    #[arg(long, short = 'k', value_name = "K", value_parser = positive)]
    depth: Option<usize>,

    /// Score tolerance: absolute differences up to it count as equal; `inf` ignores scores
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = tolerance)]
    tolerance: f64,

    /// Persistence p of rank-biased overlap, 0 < p < 1; 0.9 puts 86 % of the weight on the top 10
    #[arg(long, value_name = "P", default_value_t = 0.9, value_parser = fraction)]
    rbo_p: f64,

    /// Print a line for each differing query
    #[arg(long, short = 'q')]
    queries: bool,

    #[command(flatten)]
    reading: RunOptions,

    /// Print one JSON object with all queries
    #[arg(long)]
    json: bool,
}

fn tolerance(text: &str) -> Result<f64, String> {
    parse(text, "a number of at least 0, or inf", |&x| x >= 0.0)
}

/// Compares two runs. Returns `true` if they are identical.
pub(crate) fn run(args: &Args, console: &Console) -> Result<bool> {
    let files = [args.first.clone(), args.second.clone()];
    at_most_one_stdin(&files)?;
    if args.first == args.second {
        console.warn(format_args!("{}: the run is given twice", args.first));
    }
    let runs = args.reading.read(&files, console)?;
    warn_of_disjoint(&runs, console);
    let rules = DiffRules {
        order: args.reading.order,
        depth: args.depth,
        p: args.rbo_p,
        tolerance: args.tolerance,
    };
    let diff = RunDiff::new(&runs[0], &runs[1], rules);
    let text = if args.json {
        let mean = |figure: fn(&QueryDiff) -> Option<f64>| diff.mean(figure).map(|mean| mean.0);
        let mut object = json!(diff);
        object["identical"] = json!(diff.identical());
        object["same_rankings"] = json!(diff.same_rankings());
        object["mean"] = json!({
            "tau": mean(|query| query.tau),
            "tau_ap": mean(|query| query.tau_ap),
            "rbo": mean(|query| query.rbo),
            "overlap": mean(|query| Some(query.overlap())),
        });
        format!("{object}\n")
    } else {
        text(&diff, args)
    };
    OutputSink::open(None)?.write_with(|out| out.write_all(text.as_bytes()))?;
    Ok(diff.identical())
}

/// Formats a number with six significant digits.
fn short(number: f64) -> String {
    if (1e-4..1e6).contains(&number) {
        format!("{number:.6}")
    } else {
        format!("{number:.5e}")
    }
}

fn text(diff: &RunDiff, args: &Args) -> String {
    let documents: usize = diff.queries.iter().map(|query| query.retrieved[0]).sum();
    let compared = format!("{} queries, {documents} documents", diff.queries.len());
    if diff.identical() {
        let scores = match diff.rules.tolerance {
            0.0 => ", scores included".to_owned(),
            f64::INFINITY => ", scores not compared".to_owned(),
            apart => format!(", scores within {apart}"),
        };
        return format!("identical: {compared}{scores}\n");
    }
    let mut rows: Vec<[String; 2]> = Vec::new();
    let mut row = |name: &str, value: String| rows.push([name.to_owned(), value]);
    let verdict = if diff.same_rankings() {
        "scores only; rankings are identical"
    } else {
        "yes"
    };
    row("different", verdict.to_owned());
    row("queries in both", diff.queries.len().to_string());
    for (name, only) in [
        ("in the first only", &diff.only_first),
        ("in the second only", &diff.only_second),
    ] {
        if !only.is_empty() {
            let example = if only.len() > 1 { ", such as" } else { ":" };
            let value = format!("{}{example} {}", only.len(), only[0]);
            row(&format!("queries {name}"), value);
        }
    }
    let count = |different: fn(&QueryDiff) -> bool| {
        let different = diff.queries.iter().filter(|query| different(query));
        different.count().to_string()
    };
    row(
        "queries with different rankings",
        count(|query| !query.same_ranking()),
    );
    row(
        "queries with different scores",
        count(|query| query.score.is_some()),
    );
    let first = diff
        .queries
        .iter()
        .find_map(|query| Some((query, query.first_difference.as_ref()?)));
    if let Some((query, first)) = first {
        let shown = |doc: &Option<String>| doc.clone().unwrap_or_else(|| "(end of ranking)".into());
        let what = format!(
            "query {}, rank {}: {} against {}",
            query.query,
            first.rank,
            shown(&first.first),
            shown(&first.second)
        );
        row("first difference", what);
    }
    if let Some((query, score)) = diff.largest_score() {
        let what = format!(
            "{} (query {query}, {}: {} against {})",
            short(score.distance()),
            score.doc,
            score.first,
            score.second
        );
        row("largest score difference", what);
    }
    let mut means = |name: String, figure: fn(&QueryDiff) -> Option<f64>| {
        if let Some((mean, queries)) = diff.mean(figure) {
            let over = if queries == diff.queries.len() {
                String::new()
            } else {
                format!(" (over {queries} queries)")
            };
            row(&name, format!("{mean:.4}{over}"));
        }
    };
    means("tau".into(), |query| query.tau);
    means("tau_ap".into(), |query| query.tau_ap);
    means(format!("rbo (p = {})", diff.rules.p), |query| query.rbo);
    let depth = diff
        .rules
        .depth
        .map_or_else(String::new, |depth| format!("@{depth}"));
    means(format!("overlap{depth}"), |query| Some(query.overlap()));
    let mut text = format!("{}\n", table_with_text(rows, 1));
    let head = [
        "query",
        "first",
        "second",
        "common",
        "from rank",
        "tau",
        "tau_ap",
        "rbo",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    let different = diff.queries.iter().filter(|query| !query.identical());
    rows.extend(different.map(|query| {
        let first = query.first_difference.as_ref();
        [
            query.query.clone(),
            query.retrieved[0].to_string(),
            query.retrieved[1].to_string(),
            query.common.to_string(),
            first.map_or_else(|| "-".into(), |first| first.rank.to_string()),
            four_decimals(query.tau),
            four_decimals(query.tau_ap),
            four_decimals(query.rbo),
        ]
    }));
    if args.queries && rows.len() > 1 {
        text += &format!("\n{}\n", table(rows));
    }
    text
}
