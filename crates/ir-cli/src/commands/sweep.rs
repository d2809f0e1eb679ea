//! `ir sweep`: what a tuned parameter is worth when it may not see the query it is judged on.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use ir_eval::trec_eval::Selection;
use ir_eval::{Missing, Report, Rules, ParameterSweep};
use serde::Serialize;

use crate::shared::systems::{RunEvaluator, expected_two_runs, usage_error};
use crate::shared::console::{Console, Usage};
use crate::shared::qrels::GradeForm;
use crate::shared::rules::RuleOptions;
use crate::shared::output::Sink;

const EXAMPLES: &str = "\
Examples:
  ir sweep qrels.txt b0.2.trec b0.4.trec b0.9.trec   by average precision
  ir sweep -m ndcg_cut.10 qrels.txt k1=*.trec
  ir sweep -q --trec-eval qrels.txt k1=*.trec        each query; four decimals

Each run is one setting of a parameter. For each query, the setting with the
highest figure over all other queries is chosen, and its value on the query
left out counts: their average is what a tuned system can claim. The best
setting in hindsight is the one with the highest figure over all queries. Of
equally good settings the first one by file name is chosen. Settings are
listed and named by their files.";

/// The arguments of `ir sweep`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Relevance judgments: a file, a collection by name such as `beir/nfcorpus`, or `-`
    qrels: String,

    /// Runs, one for each setting: files in TREC's form
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    runs: Vec<String>,

    /// Form of the judgments
    #[arg(
        short = 'R', long = "judgments", value_enum, default_value_t = GradeForm::Qrels,
        value_name = "FORM"
    )]
    form: GradeForm,

    /// Measure to choose by, as in `ir eval`
    #[arg(short = 'm', long, value_name = "MEASURE", default_value = "AP")]
    measure: String,

    /// The choice for each query too
    #[arg(short = 'q', long)]
    queries: bool,

    /// Values of queries rounded to four decimals first, as a script does that reads trec_eval's
    /// output
    #[arg(long)]
    trec_eval: bool,

    /// Only queries that every run answers, instead of 0 for missing ones
    #[arg(long)]
    common: bool,

    #[command(flatten)]
    rules: RuleOptions,

    /// One JSON object, with the choice for each query, in full precision
    #[arg(long)]
    json: bool,
}

/// Runs `ir sweep`.
pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    if args.runs.len() < 2 {
        return Err(expected_two_runs(&args.qrels).into());
    }
    if args.qrels == "-" && args.runs.iter().any(|run| run == "-") {
        return Err(
            Usage("expected `-` for one of <QRELS> and <RUN>, found it twice".into()).into(),
        );
    }
    let missing = if args.common {
        Missing::Skip
    } else {
        Missing::Zero
    };
    let rules = args.rules.rules(missing);
    let selection = Selection::parse_as(&[&args.measure], rules.generation)
        .map_err(|error| Usage(format!("--measure {error}")))?;
    let [measure] = selection.measures()[..] else {
        let found = &args.measure;
        return Err(Usage(format!("--measure: expected one measure, found {found:?}")).into());
    };
    let qrels = (args.form).read(&args.qrels, args.rules.header(), console)?;
    let mut files = args.runs.clone();
    files.sort();
    let evaluator = selection.evaluator(&*qrels, rules)?;
    let judged = RunEvaluator {
        evaluator: &evaluator,
        qrels: &args.qrels,
        header: args.rules.header(),
        lists: false,
    };
    let systems = judged.systems(&files, console)?.into_iter();
    let named = systems.zip(labels(&files));
    let reports: Vec<Report> = named
        .map(|(system, label)| system.report.named(label))
        .collect();
    let decimals = args.trec_eval.then_some(ParameterSweep::TREC_EVAL);
    let sweep = ParameterSweep::new(&reports, measure, decimals).map_err(usage_error)?;
    let mut out = Sink::open(None)?;
    let written = if args.json {
        json(&sweep, &rules, &mut out)
    } else {
        text(&sweep, &rules, args.queries, &mut out)
    };
    written.with_context(|| format!("{}: could not be written", out.name()))?;
    out.commit()
}

/// The names of the files, or their paths where they are not in one folder: what orders the
/// settings also names them.
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

/// A sweep with what follows from it.
#[derive(Serialize)]
struct Whole<'a> {
    best: &'a str,
    hindsight: f64,
    #[serde(flatten)]
    sweep: &'a ParameterSweep,
    rules: &'a Rules,
}

fn json(sweep: &ParameterSweep, rules: &Rules, out: &mut dyn Write) -> Result<()> {
    let best = sweep.best();
    let whole = Whole {
        best: &best.name,
        hindsight: best.figure,
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
    let width = names.max().unwrap_or(0).max("best in hindsight".len());
    let measure = sweep.measure.to_string();
    writeln!(out, "{:width$}  {measure:>8}  chosen", "setting")?;
    for setting in &sweep.settings {
        let (name, figure) = (&setting.name, setting.figure);
        writeln!(out, "{name:width$}  {figure:8.4}  {:6}", setting.chosen)?;
    }
    let best = sweep.best();
    writeln!(out, "\n{:width$}  {:8.4}", "leave one out", sweep.honest)?;
    writeln!(
        out,
        "{:width$}  {:8.4}  {}",
        "best in hindsight", best.figure, best.name
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
