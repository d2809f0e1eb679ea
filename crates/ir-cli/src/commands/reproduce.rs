//! `ir reproduce`: published values, obtained with experiment files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueHint;
use ir_experiment::{Cache, Experiment, ExperimentError, Reproduction, Runner, WallTime};

use crate::shared::console::{Console, bail_usage, stop_on_interrupt};
use crate::shared::experiment::{ConsoleObserver, failure, open, registry};
use crate::shared::options::use_threads;
use crate::shared::output::{OutputPath, OutputSink, reject_taken};
use crate::shared::suggest::did_you_mean;

const EXAMPLES: &str = "\
Examples:
  ir reproduce                      all quick experiments
  ir reproduce anserini-nfcorpus    one experiment
  ir reproduce --check              compare with the pages, and write nothing

Runs the files of the folder experiments that have expected values, and writes
a page for each: expected, obtained, difference, wall time. A page that
differs in nothing but the wall time is not written again. Exit code 1 if a
value is outside of its tolerance or, with --check, a page is stale.
Experiments whose collection or model does not exist are skipped with a
warning.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Names of experiments: files of the folder, with or without .toml [default: all quick ones]
    #[arg(value_name = "NAME", value_hint = ValueHint::Other, conflicts_with = "all")]
    names: Vec<String>,

    /// Run the slow experiments too
    #[arg(long)]
    all: bool,

    /// Compare with the pages, and write nothing
    #[arg(long)]
    check: bool,

    /// Folder of the experiment files
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "experiments")]
    experiments: PathBuf,

    /// Output folder of the pages
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "docs/reproduction")]
    pages: OutputPath,

    /// Cache folder; pages get no wall time [default: no cache; everything is computed]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    cache: Option<OutputPath>,

    /// Number of threads; does not affect the result [default: one per core]
    #[arg(long, value_parser = crate::shared::options::positive, value_name = "N")]
    threads: Option<usize>,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    use_threads(args.threads)?;
    let experiments = select(args)?;
    stop_on_interrupt();
    let mut failures = Vec::new();
    let mut skipped = 0;
    for experiment in &experiments {
        let started = Instant::now();
        let reproduction = match reproduce(args, experiment, console) {
            Ok(reproduction) => reproduction,
            Err(error) if error.is_missing_data() && args.names.is_empty() => {
                console.warn(format_args!("skipped: {error}"));
                skipped += 1;
                continue;
            }
            Err(error) => return Err(failure(error)),
        };
        let page = args
            .pages
            .folder()
            .join(format!("{}.md", reproduction.name));
        let written = fs::read_to_string(&page).unwrap_or_default();
        if !args.check {
            if !reproduction.is_written(&written) {
                write_page(&page, &reproduction.to_markdown())?;
            }
        } else if !page.exists() {
            failures.push(format!("{} does not exist", page.display()));
        } else if !reproduction.has_page(&written) {
            failures.push(format!("{} is stale", page.display()));
        }
        let (total, outside) = (reproduction.values.len(), reproduction.failures().count());
        for value in reproduction.failures() {
            failures.push(format!(
                "{}, {}, {}, {}: expected {} ± {}, found {:.*}",
                reproduction.name,
                value.task,
                value.system,
                value.measure,
                value.expected,
                value.tolerance,
                value.decimals + 1,
                value.obtained
            ));
        }
        let seconds = started.elapsed().as_secs_f64();
        console.log(format_args!(
            "{}: {} of {total} values reproduced, {seconds:.1} s",
            reproduction.name,
            total - outside
        ));
    }
    if skipped > 0 {
        let reproduced = experiments.len() - skipped;
        console.log(format_args!(
            "{reproduced} experiments run, {skipped} skipped because their data do not exist"
        ));
    }
    if !failures.is_empty() {
        bail!("{}", failures.join("; "));
    }
    Ok(())
}

/// Opens the selected experiments.
fn select(args: &Args) -> Result<Vec<Experiment>> {
    let mut known = names(&args.experiments)?;
    if !args.names.is_empty() {
        let names = args.names.iter();
        let selected: Vec<&str> = names.map(|name| stem(&args.experiments, name)).collect();
        for name in &selected {
            if !known.iter().any(|known| known == name) {
                let hint = did_you_mean(name, known.iter().map(String::as_str));
                let known = known.join(", ");
                bail_usage!("expected the name of an experiment ({known}), found {name:?}{hint}");
            }
        }
        known.retain(|name| selected.contains(&name.as_str()));
    }
    let mut experiments = Vec::new();
    for name in known {
        let experiment = open(&args.experiments.join(format!("{name}.toml")))?;
        let selected = match &experiment.reproduction {
            None if args.names.is_empty() => false,
            None => bail_usage!("{name}: expected an experiment with a table [reproduction]"),
            Some(reproduction) => args.all || !args.names.is_empty() || !reproduction.slow,
        };
        if selected {
            experiments.push(experiment);
        }
    }
    if experiments.is_empty() {
        let folder = args.experiments.display();
        bail!("{folder}: expected an experiment file with a table [reproduction], found none");
    }
    Ok(experiments)
}

/// Name of an experiment, given as `NAME`, `NAME.toml` or the path of its file.
fn stem<'n>(folder: &Path, name: &'n str) -> &'n str {
    let path = Path::new(name);
    let in_folder = path.file_name().filter(|_| path.parent() == Some(folder));
    let file = in_folder.and_then(|file| file.to_str()).unwrap_or(name);
    file.strip_suffix(".toml").unwrap_or(file)
}

/// Names of the experiment files of a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>> {
    let failed = || format!("{}: cannot be read", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let name = path.file_stem().unwrap_or_default();
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn reproduce(
    args: &Args,
    experiment: &Experiment,
    console: &Console,
) -> Result<Reproduction, ExperimentError> {
    let cache = match &args.cache {
        Some(folder) => Cache::new(folder.folder()),
        None => Cache::temporary().map_err(|source| ExperimentError::Write {
            path: std::env::temp_dir(),
            source,
        })?,
    };
    let started = Instant::now();
    let registry = registry();
    let mut observer = ConsoleObserver::new(console);
    let results = Runner::new(&cache, &registry).run(experiment, &mut observer)?;
    observer.finish();
    let reproduction = Reproduction::new(experiment, &results);
    Ok(match args.cache {
        // A time of cached stages would be that of another run.
        Some(_) => reproduction,
        None => {
            let threads = rayon::current_num_threads();
            reproduction.with_wall_time(WallTime::new(started.elapsed(), threads))
        }
    })
}

fn write_page(page: &Path, content: &str) -> Result<()> {
    reject_taken("--pages", page)?;
    if let Some(folder) = page.parent() {
        let failed = || format!("{}: cannot be created", folder.display());
        fs::create_dir_all(folder).with_context(failed)?;
    }
    let page = OutputPath::from(page.to_owned());
    OutputSink::open(Some(&page))?.write_with(|out| out.write_all(content.as_bytes()))
}
