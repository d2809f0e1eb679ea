//! `ir sweep`: leave-one-query-out cross-validation of parameters.

mod grid;
mod keys;

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueHint;
use ir_eval::compare::ParameterSweep;
use ir_eval::trec_eval::JudgmentKind;
use ir_eval::{Report, Rules};
use serde::Serialize;

use grid::{GridOptions, Point};

use crate::shared::console::{Console, bail_usage};
use crate::shared::indexing::IndexOptions;
use crate::shared::output::OutputSink;
use crate::shared::rules::select_measures;
use crate::shared::signals::stop_on_interrupt;
use crate::shared::systems::{QrelsAndRuns, usage_error};

const EXAMPLES: &str = "\
Examples:
  ir sweep qrels.txt b0.2.trec b0.4.trec b0.9.trec   tune by AP
  ir sweep -m ndcg_cut.10 qrels.txt k1=*.trec
  ir sweep -q --trec-eval qrels.txt k1=*.trec        per query; four decimals
  ir sweep cranfield cranfield --grid k1=0.6,0.9,1.2 --grid b=0.2,0.4,0.75
  ir sweep qrels.txt corpus.ir --query-file topics.tsv --model qld \\
      --grid mu=500,1000,2500 --feedback rm3 --grid feedback.docs=5,10
  ir sweep qrels.txt corpus.ir --query-file topics.tsv --feedback rocchio \\
      --feedback-collection news.ir --grid feedback.terms=5,10,20
  ir sweep cranfield cranfield --sdm 0.85,0.1,0.05 --grid sdm.phrases=0,0.1

Each run, or each point of a grid, is one parameter setting. For each query,
the setting with the highest mean over all other queries is selected and
scored on the held-out query; the mean of these scores is an unbiased estimate
of the tuned system.
The oracle setting has the highest mean over all queries. Ties are broken by
file name, or by the order of the grid. Settings are listed and named by their
files, or by their parameters.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    input: QrelsAndRuns,

    /// Measure to optimize, as in `ir eval`
    #[arg(short = 'm', long, value_name = "MEASURE", value_hint = ValueHint::Other, default_value = "AP")]
    measure: String,

    /// Also print the selected setting of each query
    #[arg(short = 'q', long)]
    queries: bool,

    /// Round per-query values to four decimals first, as scripts that parse trec_eval's output do
    #[arg(long)]
    trec_eval: bool,

    /// Print one JSON object with the selected setting of each query, in full precision
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    grid: GridOptions,

    #[command(flatten)]
    setup: IndexOptions,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    let points = if args.grid.is_set() {
        stop_on_interrupt();
        Some(check_grid(args)?)
    } else {
        let of_the_index = || args.setup.first_set().map(str::to_owned);
        if let Some(option) = args.grid.first_set().or_else(of_the_index) {
            bail_usage!("{option}: expected --grid, found none");
        }
        args.input.check()?;
        None
    };
    let rules = args.input.rules();
    let selection = select_measures(JudgmentKind::Grades, &[&args.measure], &rules)?;
    let [measure] = selection.measures()[..] else {
        let found = &args.measure;
        bail_usage!("--measure: expected one measure, found {found:?}");
    };
    let qrels = args.input.judgments(console)?;
    let evaluator = selection.evaluator(&*qrels, rules)?;
    let mut reports: Vec<Report> = Vec::new();
    if let Some(points) = points {
        let collection = &args.input.runs[0];
        args.grid
            .search(points, collection, &args.setup, console, |run| {
                let report = evaluator.evaluate(&run);
                let judged = || format!("{} with {}", run.tag, args.input.qrels);
                reports.push(report.with_context(judged)?.with_run_name(run.tag.clone()));
                Ok(())
            })?;
    } else {
        let mut files = args.input.runs.clone();
        files.sort();
        let systems = args.input.evaluate(&files, &evaluator, false, console)?;
        let named = systems.into_iter().zip(labels(&files));
        reports.extend(named.map(|(system, label)| system.report.with_run_name(label)));
    }
    let decimals = args.trec_eval.then_some(ParameterSweep::TREC_EVAL);
    let sweep = ParameterSweep::new(&reports, measure, decimals).map_err(usage_error)?;
    OutputSink::open(None)?.write_with(|out| {
        if args.json {
            json(&sweep, &rules, out)
        } else {
            text(&sweep, &rules, args.queries, out)
        }
    })
}

/// Checks the arguments of a grid before data are read, and returns its settings.
fn check_grid(args: &Args) -> Result<Vec<Point>> {
    let found = args.input.runs.len();
    if found != 1 {
        let advice = if args.queries {
            " (--query-file FILE reads queries; --queries prints values per query)"
        } else {
            ""
        };
        let option = args.grid.option();
        bail_usage!(
            "{option}: expected one collection or index to search, found {found} arguments{advice}"
        );
    }
    args.grid.check(&args.setup)
}

/// Names of the settings: file names, or full paths if the files are not in one folder.
fn labels(files: &[String]) -> Vec<String> {
    let folder = |file: &String| Path::new(file).parent().map(Path::to_path_buf);
    let one_folder = files
        .windows(2)
        .all(|pair| folder(&pair[0]) == folder(&pair[1]));
    let label = |file: &String| match Path::new(file).file_name() {
        Some(name) if one_folder => name.to_string_lossy().into_owned(),
        _ => file.clone(),
    };
    files.iter().map(label).collect()
}

#[derive(Serialize)]
struct SweepJson<'a> {
    best: &'a str,
    oracle: f64,
    #[serde(flatten)]
    sweep: &'a ParameterSweep,
    rules: &'a Rules,
}

fn json(sweep: &ParameterSweep, rules: &Rules, out: &mut dyn Write) -> Result<()> {
    let best = sweep.best();
    let whole = SweepJson {
        best: &best.name,
        oracle: best.score,
        sweep,
        rules,
    };
    serde_json::to_writer_pretty(&mut *out, &whole)?;
    Ok(writeln!(out)?)
}

fn text(sweep: &ParameterSweep, rules: &Rules, queries: bool, out: &mut dyn Write) -> Result<()> {
    let names = sweep
        .settings
        .iter()
        .map(|setting| setting.name.chars().count());
    let width = names.max().unwrap_or(0).max("oracle setting".len());
    let measure = sweep.measure.to_string();
    writeln!(out, "{:width$}  {measure:>8}  chosen", "setting")?;
    for setting in &sweep.settings {
        let (name, score) = (&setting.name, setting.score);
        writeln!(out, "{name:width$}  {score:8.4}  {:6}", setting.chosen)?;
    }
    let (best, held_out) = (sweep.best(), sweep.held_out_score);
    writeln!(out, "\n{:width$}  {held_out:8.4}", "leave one out")?;
    writeln!(
        out,
        "{:width$}  {:8.4}  {}",
        "oracle setting", best.score, best.name
    )?;
    if queries {
        writeln!(out)?;
        for choice in &sweep.choices {
            let (name, value) = (&choice.setting, choice.value);
            writeln!(out, "{name:width$}  {value:8.4}  {}", choice.query)?;
        }
    }
    let rounded = match sweep.decimals {
        None => String::new(),
        Some(decimals) => format!("; values to {decimals} decimals"),
    };
    writeln!(out, "\nqueries: {}{rounded}", sweep.choices.len())?;
    Ok(writeln!(out, "{rules}")?)
}
