//! `ir run`: experiments as files.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{ValueEnum, ValueHint};
use ir_experiment::{
    Experiment, ExperimentResults, OutputFormat, Plan, Registry, Runner, StageStatus,
};

use crate::shared::console::{Console, bail_usage};
use crate::shared::experiment::{ConsoleObserver, cache, failure, open, output_folder, stage_line};
use crate::shared::format::counted;
use crate::shared::options::use_threads;
use crate::shared::output::{
    OutputPath, OutputSink, create_folder, reject_input_folder, reject_taken,
};
use crate::shared::signals::stop_on_interrupt;

const EXAMPLES: &str = "\
Examples:
  ir run experiments/bundled.toml             prints the table
  ir run experiments/bundled.toml --dry-run   stages, and which are cached
  ir run bm25.toml --format latex > table.tex
  ir run bm25.toml -o results                 tables, pages, JSON and runs
  ir run --schema > experiment.schema.json    for editors

An experiment file states collections, systems, grids, measures and the
significance test; docs/experiments.md describes it. Indexes, vectors and runs
are cached by the content of their inputs and parameters: a second start
computes only what changed, an interrupted one resumes, and a damaged entry is
computed again with a warning. To discard the cache, remove its folder.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Experiment file (TOML)
    #[arg(required_unless_present = "schema", value_name = "FILE")]
    file: Option<PathBuf>,

    /// Format of the printed table; json has per-query values in full precision
    #[arg(long, value_enum, default_value_t = TableFormat::Text, value_name = "FORM")]
    format: TableFormat,

    /// Output folder for the formats that the file selects: tables, HTML pages, JSON, runs. It is
    /// new or empty, or has such results [default: the output folder of the file]
    #[arg(short = 'o', long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    results: Option<OutputPath>,

    /// Cache folder [default: .ir-cache in the folder of the file]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    cache: Option<OutputPath>,

    /// Print the stages and which are cached, and compute nothing
    #[arg(long, conflicts_with_all = ["results", "format"])]
    dry_run: bool,

    /// Number of threads; does not affect the result [default: one per core]
    #[arg(long, value_parser = crate::shared::options::positive, value_name = "N")]
    threads: Option<usize>,

    /// Print the JSON Schema of experiment files
    #[arg(long, exclusive = true)]
    schema: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TableFormat {
    Text,
    Markdown,
    Latex,
    Json,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    let Some(file) = &args.file else {
        let mut schema =
            serde_json::to_string_pretty(&ir_experiment::json_schema_with(&Registry::default()))?;
        schema.push('\n');
        return print(&schema);
    };
    use_threads(args.threads)?;
    let experiment = open(file)?;
    let (cache, registry) = (cache(args.cache.as_ref(), &experiment), Registry::default());
    let mut runner = Runner::new(&cache, &registry);
    let folder = output_folder(args.results.as_ref(), &experiment);
    let option = args
        .results
        .as_ref()
        .map_or("output.folder", |_| "--results");
    if let Some(folder) = &folder {
        reject_input_folder(option, folder)?;
        reject_foreign_folder(option, folder)?;
    }
    if let Some(cache) = &args.cache {
        reject_input_folder("--cache", &cache.folder())?;
    }
    let formats = experiment
        .output
        .formats
        .as_deref()
        .unwrap_or(&OutputFormat::ALL);
    let needs_runs =
        |format: &OutputFormat| matches!(format, OutputFormat::Html | OutputFormat::Runs);
    if folder.is_none() || !formats.iter().any(needs_runs) {
        runner = runner.without_runs();
    }
    stop_on_interrupt();
    let mut observer = ConsoleObserver::new(console);
    if args.dry_run {
        let plan = runner.plan(&experiment, &mut observer).map_err(failure)?;
        observer.finish();
        return print(&plan_text(&plan));
    }
    let new_folder = folder.as_deref().map(create_folder).transpose()?;
    let results = runner.run(&experiment, &mut observer).map_err(failure)?;
    observer.finish();
    let (cached, computed) = (observer.cached, observer.computed);
    console.note(format_args!("{computed} stages computed, {cached} cached"));
    if let Some(folder) = folder {
        write_files(&results, &experiment, &folder)?;
    }
    drop(new_folder);
    print(&match args.format {
        TableFormat::Text => results.to_text(),
        TableFormat::Markdown => results.to_markdown(),
        TableFormat::Latex => results.to_latex(),
        TableFormat::Json => results.to_json()?,
    })
}

fn print(text: &str) -> Result<()> {
    OutputSink::open(None)?.write_with(|out| out.write_all(text.as_bytes()))
}

/// Files that show a folder with results.
const RESULTS: [&str; 4] = ["table.txt", "table.md", "table.tex", "results.json"];

/// Rejects a folder that has files and no results of an experiment, such as the current folder.
/// Hidden files do not count.
fn reject_foreign_folder(option: &str, folder: &Path) -> Result<()> {
    // A folder that does not exist is created.
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort_unstable();
    let has_results = names.iter().any(|name| RESULTS.contains(&name.as_str()));
    let is_part = |name: &String| name == "runs" || name.ends_with(".html");
    if has_results || names.iter().all(is_part) {
        return Ok(());
    }
    let shown: Vec<&str> = names.iter().take(3).map(String::as_str).collect();
    bail_usage!(
        "{option}: expected a new or empty folder, or one with results of an experiment, found {} with {} ({})",
        folder.display(),
        counted(names.len() as u64, "other file"),
        shown.join(", ")
    )
}

/// Writes the files of the results. None of them may be an input.
fn write_files(results: &ExperimentResults, experiment: &Experiment, folder: &Path) -> Result<()> {
    let formats = experiment.output.formats.as_deref();
    let files = results.files(formats.unwrap_or(&OutputFormat::ALL))?;
    for file in &files {
        reject_taken("--results", &folder.join(&file.path))?;
    }
    for file in files {
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            let failed = || format!("{}: cannot be created", parent.display());
            std::fs::create_dir_all(parent).with_context(failed)?;
        }
        OutputPath::from(path).write(file.content)?;
    }
    Ok(())
}

fn plan_text(plan: &Plan) -> String {
    let mut text = String::new();
    for stage in &plan.stages {
        let status = match stage.status {
            StageStatus::Cached => "cached",
            _ => "to do",
        };
        text.push_str(&stage_line(stage, status));
        text.push('\n');
    }
    for system in &plan.undecided {
        text.push_str(&format!("to do     after a selection: {system}\n"));
    }
    let to_do = plan.stages.iter();
    let to_do = to_do
        .filter(|stage| stage.status != StageStatus::Cached)
        .count();
    let cached = plan.stages.len() - to_do;
    let to_do = to_do + plan.undecided.len();
    text.push_str(&format!("{to_do} stages to do, {cached} cached\n"));
    text
}
