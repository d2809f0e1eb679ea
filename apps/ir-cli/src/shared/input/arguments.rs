//! Files that the arguments of a command name, to keep outputs from replacing them.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, ValueHint};
use ir_bm25::SegmentedIndex;
use ir_core::NoProgress;
use ir_data::biocaddie::{BioCaddieCorpus, BioCaddieTopics};
use ir_data::catalog::Catalog;

use super::documents::records_beside;
use super::notes;

/// Inputs of the command: every argument that may name a file. Set once, from the command line.
///
/// A process-wide static, not a value: outputs are opened deep inside the commands, and a command
/// that had to pass its inputs along could forget one.
static INPUTS: OnceLock<Vec<InputArgument>> = OnceLock::new();

/// Inputs that experiment files name, added when a file is read.
static NAMED_INPUTS: Mutex<Vec<InputArgument>> = Mutex::new(Vec::new());

/// Returns the first result for an input of the command line or of an experiment file.
fn find_map<T>(find: impl FnMut(&InputArgument) -> Option<T>) -> Option<T> {
    let named = NAMED_INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    let given = INPUTS.get().into_iter().flatten();
    given.chain(named.iter()).find_map(find)
}

/// Records the inputs that a file names: key, path or name, and whether it is a model.
pub(crate) fn record_named(named: impl IntoIterator<Item = (String, OsString, bool)>) {
    let named = named.into_iter();
    let inputs = named.map(|(name, value, is_model)| InputArgument {
        name,
        value,
        kind: if is_model {
            InputKind::Model
        } else {
            InputKind::Collection
        },
    });
    let mut known = NAMED_INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    known.extend(inputs);
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

/// Ids of the arguments that name an encoder: a folder in Hugging Face layout, or a downloaded
/// model.
const MODEL_ARGUMENTS: [&str; 3] = ["model", "document_model", "encoder"];

/// Id of the argument that names a folder of papers.
const PAPERS_ARGUMENT: &str = "papers";

/// Records the arguments of a subcommand that may name an input: all given paths and strings,
/// except one of several listed values and text ([`ValueHint::Other`]).
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
        for value in matches.get_raw(id).into_iter().flatten() {
            inputs.push(InputArgument {
                name: shown_name(argument),
                value: value.to_owned(),
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

/// Numbers, templates and [outputs](crate::shared::output::OutputPath) have types of their own.
fn may_be_input(argument: &Arg) -> bool {
    let value = argument.get_value_parser().type_id();
    argument.get_action().takes_values()
        && argument.get_possible_values().is_empty()
        && argument.get_value_hint() != ValueHint::Other
        && (value == TypeId::of::<String>() || value == TypeId::of::<PathBuf>())
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
/// another name, or the folder of a file of a collection of the catalog.
pub(crate) fn find_input_folder(folder: &Path) -> Option<String> {
    let folder = identity(folder)?;
    find_map(|input| {
        let mut folders = input.folders().into_iter();
        let same = folders.find(|path| identity(path).as_ref() == Some(&folder))?;
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
        files_of_folder(path, is_wanted)
    } else {
        vec![path.to_owned()]
    }
}

/// Files that a command may read from a folder: the files of an index or of BEIR's layout. If
/// there is no corpus, the qrels, the TREC files and the notes.
fn files_of_folder(root: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    if SegmentedIndex::exists(root) {
        return entries_of(root);
    }
    let mut files = entries_of(&root.join("qrels"));
    let has_topics = BioCaddieTopics::find(root).is_some();
    if has_topics {
        files.extend(entries_of(&root.join("queries")));
        let records = BioCaddieCorpus::find(root);
        files.extend(
            records
                .and_then(|records| records.files().ok())
                .into_iter()
                .flatten(),
        );
        return files;
    }
    files.retain(|path| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        [".tsv", ".tsv.gz", ".tsv.zst"]
            .iter()
            .any(|end| name.ends_with(end))
    });
    let existing = |name: &str| {
        let names = ["", ".gz", ".zst"].map(|end| root.join(format!("{name}{end}")));
        names.into_iter().filter(|path| path.is_file())
    };
    let corpus: Vec<PathBuf> = existing("corpus.jsonl").collect();
    if corpus.is_empty() {
        // The formats of a million files are not detected to find one of them.
        let is_record = |path: &Path| matches!(BioCaddieCorpus::detect(path), Ok(Some(_)));
        let is_document = |path: &Path| {
            is_wanted(path)
                && (notes::is_note(path) || ir_data::is_trec_file(path) || is_record(path))
        };
        let found = notes::find(root, &is_document, &mut NoProgress);
        files.extend(found.map_or_else(|_| Vec::new(), |found| found.files));
    } else {
        files.extend(corpus);
        files.extend(existing("queries.jsonl"));
    }
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
