//! Files that the arguments of a command name, to keep outputs from replacing them.

use std::any::TypeId;
use std::cell::LazyCell;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, ValueHint};
use ir_bm25::SegmentedIndex;
use ir_core::NoProgress;
use ir_data::ColumnarFormat;
use ir_data::beir::BeirFolder;
use ir_data::biocaddie::{BioCaddieCorpus, BioCaddieTopics};
use ir_data::catalog::Catalog;
use ir_data::smart::SmartFolder;
use ir_experiment::{Experiment, TaskEntry};
use ir_system::{Registry, SpecError, SystemSpec};
use toml::Value;

use super::documents::records_beside;
use super::folder::DATASET_FILES;
use super::notes;

/// Inputs of the command: every argument that may name a file. Set once, from the command line.
///
/// A process-wide static, not a value: outputs are opened deep inside the commands, and a command
/// that had to pass its inputs along could forget one.
static INPUTS: OnceLock<Vec<InputArgument>> = OnceLock::new();

/// Inputs that experiment files and systems of `--type` name, added when these are read.
static NAMED_INPUTS: Mutex<Vec<InputArgument>> = Mutex::new(Vec::new());

/// Returns the first result for an input of the command line or of an experiment file.
fn find_map<T>(find: impl FnMut(&InputArgument) -> Option<T>) -> Option<T> {
    let named = NAMED_INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    let given = INPUTS.get().into_iter().flatten();
    given.chain(named.iter()).find_map(find)
}

/// Records the inputs that an experiment file names.
pub(crate) fn record_experiment(
    experiment: &Experiment,
    registry: &Registry,
) -> Result<(), SpecError> {
    add_named(inputs_of_experiment(experiment, registry)?);
    Ok(())
}

/// Records the inputs that a system of the command line names. The command returns its errors.
pub(crate) fn record_system(spec: SystemSpec) {
    add_named(inputs_of_spec(spec));
}

fn add_named(inputs: Vec<InputArgument>) {
    let mut known = NAMED_INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    known.extend(inputs);
}

fn inputs_of_experiment(
    experiment: &Experiment,
    registry: &Registry,
) -> Result<Vec<InputArgument>, SpecError> {
    let inputs = experiment.inputs(registry)?.into_iter();
    let mut inputs: Vec<_> = inputs
        .map(|input| InputArgument {
            name: experiment.source.key_name(&input.key),
            value: input.path.into_os_string(),
            kind: if input.is_model {
                InputKind::Model
            } else {
                InputKind::Collection
            },
        })
        .collect();
    for (n, system) in experiment.systems.iter().enumerate() {
        let name = system.parameters.get("feedback_collection");
        let Some(name) = name.and_then(Value::as_str) else {
            continue;
        };
        // A name of the catalog, or a path relative to the file.
        let key = format!("systems[{n}].feedback_collection");
        let resolved = experiment.source.resolve(&key, name).ok();
        for value in resolved.into_iter().chain([name.into()]) {
            inputs.push(InputArgument {
                name: experiment.source.key_name(&key),
                value: value.into_os_string(),
                kind: InputKind::Collection,
            });
        }
    }
    Ok(inputs)
}

/// Inputs that a system file names. The command returns the errors of the file.
fn inputs_of_system(path: &Path) -> Vec<InputArgument> {
    // The command reads a pipe, which can be read once.
    let spec = path
        .is_file()
        .then(|| SystemSpec::open(path).ok())
        .flatten();
    spec.map(inputs_of_spec).unwrap_or_default()
}

fn inputs_of_spec(spec: SystemSpec) -> Vec<InputArgument> {
    let mut experiment = Experiment::new(TaskEntry::new(""));
    experiment.tasks.clear();
    experiment.systems = spec.systems;
    experiment.encoders = spec.encoders;
    experiment.source = spec.source;
    inputs_of_experiment(&experiment, &Registry::default()).unwrap_or_default()
}

#[derive(Debug)]
struct InputArgument {
    /// `--examples` or `<COLLECTION>`.
    name: String,
    value: OsString,
    kind: InputKind,
}

/// Which files of a folder a command reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputKind {
    Collection,
    Model,
    /// Documents in all formats of `ir_qa::documents`.
    Papers,
}

/// Ids of the arguments that name an encoder or a reranker: a folder in Hugging Face layout, or a
/// downloaded model.
const MODEL_ARGUMENTS: [&str; 6] = [
    "model",
    "document_model",
    "encoder",
    "nearest-encoder",
    "rerank",
    "teacher",
];

/// Id of the argument that names a folder of papers.
const PAPERS_ARGUMENT: &str = "papers";

/// Id of the argument that names a system file.
const SYSTEM_ARGUMENT: &str = "system";

/// Id of the argument that names a prior.
const PRIOR_ARGUMENT: &str = "prior";

/// Records the arguments of a subcommand that may name an input: all given paths and strings,
/// except one of several listed values and text ([`ValueHint::Other`]); and the inputs that a
/// system file names.
pub(crate) fn record(command: &Command, matches: &ArgMatches) {
    let mut inputs = Vec::new();
    for argument in command
        .get_arguments()
        .filter(|argument| may_be_input(argument))
    {
        let id = argument.get_id().as_str();
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        for value in values(argument, matches) {
            if id == SYSTEM_ARGUMENT {
                inputs.extend(inputs_of_system(Path::new(&value)));
            }
            inputs.push(InputArgument {
                name: shown_name(argument),
                value,
                kind: match id {
                    PAPERS_ARGUMENT => InputKind::Papers,
                    id if MODEL_ARGUMENTS.contains(&id) => InputKind::Model,
                    _ => InputKind::Collection,
                },
            });
        }
    }
    let _ = INPUTS.set(inputs);
}

/// Numbers, templates and [outputs](crate::shared::output::OutputPath) have types of their own. A
/// file with a type of its own has [`ValueHint::FilePath`].
fn may_be_input(argument: &Arg) -> bool {
    let value = argument.get_value_parser().type_id();
    let hint = argument.get_value_hint();
    argument.get_action().takes_values()
        && argument.get_possible_values().is_empty()
        && hint != ValueHint::Other
        && (value == TypeId::of::<String>()
            || value == TypeId::of::<PathBuf>()
            || hint == ValueHint::FilePath
            || is_parameter(argument))
}

/// Returns `true` for the option of a parameter of a system.
fn is_parameter(argument: &Arg) -> bool {
    argument.get_value_parser().type_id() == TypeId::of::<Value>()
}

/// Values of an argument that may be names of files. Numbers and lists of a parameter are not.
fn values(argument: &Arg, matches: &ArgMatches) -> Vec<OsString> {
    let id = argument.get_id().as_str();
    if !is_parameter(argument) {
        let given = matches.get_raw(id).into_iter().flatten();
        return given.map(ToOwned::to_owned).collect();
    }
    let given = matches.get_many::<Value>(id).into_iter().flatten();
    let texts = given.filter_map(Value::as_str).filter_map(|text| match id {
        PRIOR_ARGUMENT if text == "feedback" => None,
        PRIOR_ARGUMENT => Some(text.strip_prefix("qrels:").unwrap_or(text)),
        _ => Some(text),
    });
    texts.map(OsString::from).collect()
}

fn shown_name(argument: &Arg) -> String {
    match (argument.get_long(), argument.get_value_names()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some([name, ..])) => format!("<{name}>"),
        (None, _) => format!("<{}>", argument.get_id().as_str().to_uppercase()),
    }
}

/// Describes the input that an output at `path` would replace, if there is one: the same file, also
/// under another name. Only an existing file can be an input.
pub(crate) fn find_input(path: &Path) -> Option<String> {
    let output = fs::metadata(path).ok().filter(fs::Metadata::is_file);
    let output = output.and_then(|_| identity(path))?;
    let is_output = |file: &Path| identity(file).as_ref() == Some(&output);
    find_map(|input| {
        let same = input.files(&is_output).into_iter().next()?;
        Some(format!("{} reads {}", input.name, same.display()))
    })
}

/// Describes the input in a folder that a command writes, if there is one.
pub(crate) fn find_input_below(folder: &Path) -> Option<String> {
    let folder = fs::canonicalize(folder).ok()?;
    let is_below = |path: &Path| fs::canonicalize(path).is_ok_and(|it| it.starts_with(&folder));
    find_map(|input| {
        let file = input.files(&is_below).into_iter().next();
        let value = || Some(PathBuf::from(&input.value)).filter(|path| is_below(path));
        let below = file.or_else(value)?;
        Some(format!("{} reads {}", input.name, below.display()))
    })
}

/// Describes the input that is read from a folder, if there is one: the folder itself, also under
/// another name, a folder with files of it, such as `qrels`, or the folder of a file of a
/// collection of the catalog.
pub(crate) fn find_input_folder(folder: &Path) -> Option<String> {
    let folder = identity(folder)?;
    let is_folder = |path: &Path| identity(path).as_ref() == Some(&folder);
    let is_in_folder = |file: &Path| file.parent().is_some_and(is_folder);
    find_map(|input| {
        let same = input.folders().into_iter().find_map(|root| {
            if is_folder(&root) {
                return Some(root);
            }
            let mut files = files_of_folder(&root, &is_in_folder).into_iter();
            files.find(|file| is_in_folder(file))
        })?;
        Some(format!("{} reads {}", input.name, same.display()))
    })
}

/// Device and inode of a file; links are followed.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Canonical path of a file.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

impl InputArgument {
    /// Folders from which the command may read for the argument.
    fn folders(&self) -> Vec<PathBuf> {
        let path = PathBuf::from(&self.value);
        let split = self.value.to_str().and_then(|text| text.rsplit_once(':'));
        let split = split.filter(|_| !path.exists());
        let mut folders: Vec<PathBuf> = split.iter().map(|split| split.0.into()).collect();
        folders.push(path);
        folders.retain(|folder| folder.is_dir());
        if let (InputKind::Collection, Some(name)) = (self.kind, self.value.to_str()) {
            let files = files_of_catalog(name);
            folders.extend(
                files
                    .iter()
                    .filter_map(|file| Some(file.parent()?.to_owned())),
            );
        }
        folders
    }

    /// Files that the command may read for the argument and that `is_wanted` accepts.
    fn files(&self, is_wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
        let mut files = match self.kind {
            InputKind::Model => files_of_model(&self.value),
            InputKind::Papers => {
                ir_qa::documents::document_files(Path::new(&self.value)).unwrap_or_default()
            }
            InputKind::Collection => files(&self.value, is_wanted),
        };
        files.retain(|file| is_wanted(file));
        files
    }
}

/// Files that a command may read for an argument: a file, the files of a folder (`FOLDER` or
/// `FOLDER:SPLIT`), the files of a named collection, or standard input.
fn files(value: &OsStr, is_wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let path = Path::new(value);
    if path == Path::new("-") {
        return vec![PathBuf::from("/dev/stdin")];
    }
    let Some(text) = value.to_str() else {
        return files_at(path, is_wanted);
    };
    let mut files = files_at(path, is_wanted);
    if let Some((folder, _)) = text.rsplit_once(':')
        && !path.exists()
    {
        files.extend(files_at(Path::new(folder), is_wanted));
    }
    files.extend(files_of_catalog(text));
    files
}

/// Files of a collection of the catalog: `NAME` or `NAME:SPLIT`.
fn files_of_catalog(text: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let name = text.split_once(':').map_or(text, |(name, _)| name);
    let catalog = Catalog::from_env();
    if let (Ok(entry), Some(root)) = (catalog.entry(name), catalog.root()) {
        files.extend(entry.files.iter().map(|file| root.join(&file.path)));
        let records = records_beside(&catalog, entry);
        files.extend(
            records
                .and_then(|records| records.files().ok())
                .into_iter()
                .flatten(),
        );
    }
    files
}

fn files_at(path: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    if path.is_dir() {
        return files_of_folder(path, is_wanted);
    }
    [path.to_owned()].into_iter().chain(ids_of(path)).collect()
}

/// File with the ids of the rows of an array of vectors: `docs.ids` for `docs.npy` and
/// `docs.fvecs.gz`.
fn ids_of(path: &Path) -> Option<PathBuf> {
    let has_extension = |path: &Path, known: [&str; 2]| {
        let found = path.extension();
        found.is_some_and(|end| known.iter().any(|known| end.eq_ignore_ascii_case(known)))
    };
    let plain = if has_extension(path, ["gz", "zst"]) {
        path.with_extension("")
    } else {
        path.to_owned()
    };
    has_extension(&plain, ["npy", "fvecs"]).then(|| plain.with_extension("ids"))
}

/// Files that a command may read from a folder: the files of an index, or of BEIR's layout, and of
/// SMART format. If there is no corpus, also the TREC, Parquet and Arrow files, the descriptions of
/// saved datasets, the records, the notes and, without other files, the JSON files.
fn files_of_folder(root: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    if SegmentedIndex::exists(root) {
        return entries_of(root);
    }
    // A folder that cannot be read is an error of the command.
    let mut files = ir_data::beir_files(root).unwrap_or_default();
    if BeirFolder::corpus_files(root).is_ok_and(|corpus| !corpus.is_empty()) {
        return files;
    }
    files.extend(DATASET_FILES.iter().map(|name| root.join(name)));
    if let Ok(Some(smart)) = SmartFolder::find(root) {
        files.extend(smart.files().map(Path::to_owned));
        return files;
    }
    if BioCaddieTopics::find(root).is_some() {
        files.extend(
            ["qrels", "queries"]
                .iter()
                .flat_map(|name| entries_of(&root.join(name))),
        );
        let records = BioCaddieCorpus::find(root);
        files.extend(
            records
                .and_then(|records| records.files().ok())
                .into_iter()
                .flatten(),
        );
        return files;
    }
    // The formats of a million files are not detected to find one of them.
    let is_record = |path: &Path| matches!(BioCaddieCorpus::detect(path), Ok(Some(_)));
    // Datasets in folders below are an error that names one of them.
    let is_dataset_file = |name: &OsStr| DATASET_FILES.iter().any(|known| name == *known);
    let is_columnar = |path: &Path| matches!(ColumnarFormat::detect(path), Ok(Some(_)));
    let is_other = |path: &Path| !ir_data::has_json_extension(path);
    let only_json = LazyCell::new(|| {
        let others = notes::find(root, &is_other, &mut NoProgress);
        others.is_ok_and(|others| others.files.is_empty())
    });
    let is_document = |path: &Path| {
        is_wanted(path)
            && (notes::is_note(path)
                || path.file_name().is_some_and(is_dataset_file)
                || (!is_other(path) && *only_json)
                || ir_data::is_trec_file(path)
                || is_columnar(path)
                || is_record(path))
    };
    let found = notes::find(root, &is_document, &mut NoProgress);
    files.extend(found.map_or_else(|_| Vec::new(), |found| found.files));
    files
}

/// Files that an encoder is loaded from: the files of a folder or of a downloaded model.
#[cfg(feature = "dense")]
fn files_of_model(value: &OsStr) -> Vec<PathBuf> {
    let cache = ir_dense::ModelCache::from_env();
    let downloaded = cache.and_then(|cache| cache.find(value.to_str()?));
    let folders = [Some(PathBuf::from(value)), downloaded];
    let folders = folders.iter().flatten();
    folders
        .flat_map(|folder| ir_dense::model_files(folder))
        .collect()
}

/// Without encoders, no argument names a model.
#[cfg(not(feature = "dense"))]
fn files_of_model(_: &OsStr) -> Vec<PathBuf> {
    Vec::new()
}

fn entries_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
