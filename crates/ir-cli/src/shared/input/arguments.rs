//! Files that the arguments of a command name, to keep outputs from replacing them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, ValueHint};
use ir_data::catalog::{Catalog, entries};

use super::notes;
use crate::shared::output::OutputPath;

/// Inputs of the command: every argument that may name a file. Set once, from the command line.
///
/// A process-wide static, not a value: outputs are opened deep inside the commands, and a command
/// that had to pass its inputs along could forget one.
static INPUTS: OnceLock<Vec<InputArgument>> = OnceLock::new();

#[derive(Debug)]
struct InputArgument {
    /// `--examples` or `<COLLECTION>`.
    name: String,
    value: OsString,
}

/// Records the arguments of a subcommand that may name an input: all that are given, take a value
/// and are neither an [`OutputPath`], one of several listed values, nor text
/// ([`ValueHint::Other`]).
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
            });
        }
    }
    let _ = INPUTS.set(inputs);
}

fn may_be_input(argument: &Arg) -> bool {
    argument.get_action().takes_values()
        && argument.get_possible_values().is_empty()
        && argument.get_value_hint() != ValueHint::Other
        && argument.get_value_parser().type_id() != std::any::TypeId::of::<OutputPath>()
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
    INPUTS.get()?.iter().find_map(|input| {
        let mut files = files(&input.value).into_iter();
        let same = files.find(|file| identity(file).as_ref() == Some(&output))?;
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

/// Files that a command may read for an argument: a file, the files of a folder (`FOLDER` or
/// `FOLDER:SPLIT`), those of a named collection or model, or standard input.
fn files(value: &OsStr) -> Vec<PathBuf> {
    let path = Path::new(value);
    if path == Path::new("-") {
        return vec![PathBuf::from("/dev/stdin")];
    }
    let Some(text) = value.to_str() else {
        return files_at(path);
    };
    let mut files = files_at(path);
    if let Some((folder, _)) = text.rsplit_once(':')
        && !path.exists()
    {
        files.extend(files_at(Path::new(folder)));
    }
    let name = text.split_once(':').map_or(text, |(name, _)| name);
    let entry = entries().iter().find(|entry| entry.name == name);
    if let (Some(entry), Some(root)) = (entry, Catalog::from_env().root()) {
        files.extend(entry.files.iter().map(|file| root.join(&file.path)));
    }
    #[cfg(feature = "dense")]
    if let Some(folder) = ir_dense::ModelCache::from_env().and_then(|cache| cache.find(text)) {
        files.extend(files_at(&folder));
    }
    files
}

fn files_at(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        files_of_folder(path)
    } else {
        vec![path.to_owned()]
    }
}

/// Files that a command may read from a folder: those of BEIR's layout; without a corpus, notes or
/// all files of a model.
fn files_of_folder(root: &Path) -> Vec<PathBuf> {
    let is_named = |path: &PathBuf, start: &str| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(start.as_bytes())
    };
    let mut files = entries_of(root);
    let has_corpus = files.iter().any(|path| is_named(path, "corpus.jsonl"));
    files.retain(|path| is_named(path, "corpus.jsonl") || is_named(path, "queries.jsonl"));
    files.extend(entries_of(&root.join("qrels")));
    if !has_corpus {
        let mut configurations = ["config.json", "modules.json"].iter();
        let is_read: fn(&Path) -> bool = match configurations.any(|name| root.join(name).is_file())
        {
            true => |_| true,
            false => notes::is_note,
        };
        files.extend(notes::find(root, is_read).unwrap_or_default());
    }
    files
}

fn entries_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
