//! `ir reproduce`: published values, obtained with experiment files.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueHint;
use ir_experiment::{Cache, Experiment, Registry, Reproduction, Runner, SpecError, WallTime};

use crate::shared::console::{Console, bail_usage};
use crate::shared::experiment::{ConsoleObserver, failure, open};
use crate::shared::options::use_threads;
use crate::shared::output::{OutputPath, reject_taken};
use crate::shared::signals::stop_on_interrupt;
use crate::shared::suggest::{did_you_mean, list_or_none};

const EXAMPLES: &str = "\
Examples:
  ir reproduce                      all quick experiments
  ir reproduce anserini-nfcorpus    one experiment
  ir reproduce my/mine.toml --pages my/pages
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
    /// Experiments: names of files of the folder, with or without .toml, or paths of other files
    /// [default: all experiments of the folder that are not slow]
    #[arg(value_name = "NAME", value_hint = ValueHint::FilePath, conflicts_with = "all")]
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
        let pages = args.pages.folder();
        let reproduction = match experiment.source.path() {
            Some(path) => reproduction.with_file(link(&pages, path)?),
            None => reproduction,
        };
        let page = pages.join(format!("{}.md", reproduction.name));
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
    let paths = if args.names.is_empty() {
        paths_of(&args.experiments, &names(&args.experiments)?)
    } else {
        selected_paths(args)?
    };
    let mut experiments = Vec::new();
    for path in paths {
        let experiment = open(&path)?;
        let selected = match &experiment.reproduction {
            None if args.names.is_empty() => false,
            None => bail_usage!(
                "{}: expected an experiment with a table [reproduction]",
                path.display()
            ),
            Some(reproduction) => args.all || !args.names.is_empty() || !reproduction.slow,
        };
        if selected {
            experiment.validate_expected()?;
            experiments.push(experiment);
        }
    }
    if experiments.is_empty() {
        let folder = args.experiments.display();
        bail!("{folder}: expected an experiment file with a table [reproduction], found none");
    }
    Ok(experiments)
}

/// Paths of the experiments that arguments name, each once: experiments of the folder in the order
/// of their names, then other files.
fn selected_paths(args: &Args) -> Result<Vec<PathBuf>> {
    let is_name = |name: &&String| !is_path(&args.experiments, name);
    let mut selected = Vec::new();
    if args.names.iter().any(|name| is_name(&name)) {
        let mut known = names(&args.experiments)?;
        let given = args.names.iter().filter(is_name);
        let given: Vec<&str> = given.map(|name| without_extension(name)).collect();
        for name in &given {
            if !known.iter().any(|known| known == name) {
                let hint = did_you_mean(name, known.iter().map(String::as_str));
                let known = list_or_none(known.iter().map(String::as_str));
                let folder = args.experiments.display();
                bail_usage!(
                    "expected the name of an experiment of {folder} ({known}) or the path of a \
                     file, found {name:?}{hint}; --experiments DIR names another folder"
                );
            }
        }
        known.retain(|name| given.contains(&name.as_str()));
        selected = paths_of(&args.experiments, &known);
    }
    for name in args.names.iter().filter(|name| !is_name(name)) {
        let path = if Path::new(name).is_file() {
            PathBuf::from(name)
        } else {
            PathBuf::from(format!("{}.toml", without_extension(name)))
        };
        if !path.is_file() {
            bail_usage!(
                "{}: expected an experiment file, found none",
                path.display()
            );
        }
        if !selected.iter().any(|other| is_same_file(other, &path)) {
            selected.push(path);
        }
    }
    // Their pages have the same name.
    for (n, path) in selected.iter().enumerate() {
        let mut others = selected[..n].iter();
        if let Some(other) = others.find(|other| other.file_stem() == path.file_stem()) {
            bail_usage!(
                "expected experiments with different names, found {} and {}",
                other.display(),
                path.display()
            );
        }
    }
    Ok(selected)
}

/// Returns `true` if an argument is a path rather than the name of an experiment in the folder.
fn is_path(folder: &Path, argument: &str) -> bool {
    let path = Path::new(argument);
    let is_file = || path.extension().is_some_and(|it| it == "toml") && path.is_file();
    path.components().count() > 1 || is_file() && !folder.join(argument).is_file()
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

fn without_extension(name: &str) -> &str {
    name.strip_suffix(".toml").unwrap_or(name)
}

fn paths_of(folder: &Path, names: &[String]) -> Vec<PathBuf> {
    let files = names.iter().map(|name| format!("{name}.toml"));
    files.map(|file| folder.join(file)).collect()
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
) -> Result<Reproduction, SpecError> {
    let cache = match &args.cache {
        Some(folder) => Cache::new(folder.folder()),
        None => Cache::temporary().map_err(|source| SpecError::Write {
            path: std::env::temp_dir(),
            source,
        })?,
    };
    let started = Instant::now();
    let registry = Registry::default();
    let mut observer = ConsoleObserver::new(console);
    let runner = Runner::new(&cache, &registry).without_runs();
    let results = runner.run(experiment, &mut observer)?;
    observer.finish();
    let reproduction = Reproduction::new(experiment, &results);
    Ok(match args.cache {
        // The wall time excludes stages that an earlier run cached.
        Some(_) => reproduction,
        None => {
            let threads = rayon::current_num_threads();
            reproduction.with_wall_time(WallTime::new(started.elapsed(), threads))
        }
    })
}

/// Path of a file relative to a folder, which may not exist yet; absolute if they have only the
/// root in common. Names are separated by `/`.
fn link(folder: &Path, file: &Path) -> Result<String> {
    let (folder, file) = (absolute(folder)?, absolute(file)?);
    let (mut folder_parts, mut parts) = (folder.components(), file.components());
    let mut common = 0;
    while let (Some(a), Some(b)) = (folder_parts.clone().next(), parts.clone().next())
        && a == b
    {
        folder_parts.next();
        parts.next();
        common += usize::from(matches!(a, Component::Normal(_)));
    }
    if common == 0 {
        return Ok(file.to_string_lossy().into_owned());
    }
    let up = folder_parts.map(|_| "..".into());
    let names = parts.map(|part| part.as_os_str().to_string_lossy());
    Ok(up.chain(names).collect::<Vec<_>>().join("/"))
}

/// Absolute path with the symbolic links of existing folders resolved.
fn absolute(path: &Path) -> Result<PathBuf> {
    let failed = || format!("{}: expected a path", path.display());
    let path = std::path::absolute(path).with_context(failed)?;
    let parents = path.ancestors().skip(1);
    let existing = parents.map(|parent| (parent, fs::canonicalize(parent)));
    let mut existing = existing.filter_map(|(parent, found)| Some((parent, found.ok()?)));
    Ok(match existing.next() {
        Some((parent, found)) => found.join(path.strip_prefix(parent)?),
        None => path,
    })
}

fn write_page(page: &Path, content: &str) -> Result<()> {
    reject_taken("--pages", page)?;
    if let Some(folder) = page.parent() {
        let failed = || format!("{}: cannot be created", folder.display());
        fs::create_dir_all(folder).with_context(failed)?;
    }
    OutputPath::from(page.to_owned()).write(content)
}
