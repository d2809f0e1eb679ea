//! System files of options: `ir search --save`.

use std::io::Write;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use ir_bm25::IndexConfig;
use ir_core::Predicate;
use ir_core::trec::ScoreFormat;
use ir_system::{FilterName, Registry, ScoreFormatName, SystemEntry, SystemSpec};
use toml::{Table, Value};

use super::args::Args;
use super::search_index::SearchIndex;
use crate::shared::console::bail_usage;
use crate::shared::indexing::index_keys;
use crate::shared::input::{DocumentOrder, is_index};
use crate::shared::output::{OutputPath, OutputSink};
use crate::shared::system_options::SYSTEM;

/// The system of the options, for an open index, with paths relative to its file.
pub(super) fn saved(
    args: &Args,
    path: &OutputPath,
    engine: &SearchIndex,
    tag: &str,
) -> Result<SystemSpec> {
    if args.shard.shard.is_some() {
        bail_usage!("--shard: expected no --save; a system file has no such key");
    }
    #[cfg(feature = "dense")]
    if let Some(backend) = args.vectors.backend() {
        bail_usage!("--backend {backend}: expected no --save; a system file has no such key");
    }
    let [alpha] = args.weights()[..] else {
        bail_usage!("--alpha: expected one weight with --save");
    };
    let parameters = index_parameters(args, engine.index.config())?;
    let mut systems = args.systems(args.lexical.systems(&parameters)?, alpha)?;
    let root = systems.pop().context("expected a system")?;
    debug_assert!(root.name == SYSTEM, "the system to search is last");
    let mut root = searched(args, root, tag);
    free_name(&mut systems, &mut root);
    systems.push(root);
    let mut spec = SystemSpec::new(systems);
    if engine.order == Some(DocumentOrder::RowText) {
        // The index has the insertion order of documents that are read in this order.
        spec.document_order = ir_system::DocumentOrder::LexicographicRow;
    }
    relocated(spec, path)
}

/// The system to search, with its tag and the keys of the search.
pub(super) fn searched(args: &Args, mut root: SystemEntry, tag: &str) -> SystemEntry {
    tag.clone_into(&mut root.name);
    set_common_keys(args, &mut root);
    root
}

/// Sets the keys of every type that options of the search have.
pub(super) fn set_common_keys(args: &Args, root: &mut SystemEntry) {
    root.hits = args.hits;
    root.filter = args.not_later_than_query.map(FilterName::from);
    root.condition = match &*args.filter {
        [] => None,
        [condition] => Some(condition.clone()),
        conditions => Some(Predicate::All(conditions.to_vec())),
    };
    root.scores = match args.scores() {
        ScoreFormat::Anserini => Some(ScoreFormatName::Anserini),
        ScoreFormat::Strict => Some(ScoreFormatName::Strict),
        _ => None,
    };
}

/// A system with paths relative to the file that it is written to.
pub(super) fn relocated(mut spec: SystemSpec, path: &OutputPath) -> Result<SystemSpec> {
    let path: &Path = path;
    let folder = path.parent().unwrap_or(Path::new(""));
    for system in &mut spec.systems {
        rebase_paths(system, folder)?;
    }
    spec.validate(&Registry::default())?;
    Ok(spec)
}

/// Renames the part that has the name of the system to search, if there is one.
fn free_name(parts: &mut [SystemEntry], root: &mut SystemEntry) {
    let is_taken = |name: &str| name == root.name || parts.iter().any(|part| part.name == name);
    let mut names = (2_u32..).map(|n| format!("{}-{n}", root.name));
    let Some(free) = names.find(|name| !is_taken(name)) else {
        return;
    };
    let taken = root.name.clone();
    let rename = |value: &mut Value| {
        if value.as_str() == Some(&taken) {
            *value = free.clone().into();
        }
    };
    for entry in parts.iter_mut().chain([&mut *root]) {
        for key in ["of", "first"] {
            match entry.parameters.get_mut(key) {
                Some(Value::Array(names)) => names.iter_mut().for_each(rename),
                Some(name) => rename(name),
                None => {}
            }
        }
    }
    if let Some(part) = parts.iter_mut().find(|part| part.name == taken) {
        part.name = free;
    }
}

/// Writes a system file.
pub(super) fn save(spec: &SystemSpec, path: &OutputPath) -> Result<()> {
    let comment = "# System of `ir search`; `ir search COLLECTION --system` reads it.";
    let text = spec.to_toml()?;
    OutputSink::open(Some(path))?.write_with(|out| write!(out, "{comment}\n{text}"))
}

/// Parameters of the index.
fn index_parameters(args: &Args, config: &IndexConfig) -> Result<Table> {
    let fields = args.template.is_none().then_some(config.fields);
    let mut table = index_keys(Some(&config.analysis), fields, Some(config.order))?;
    if let Some(template) = &args.template {
        table.insert("template".to_owned(), template.to_string().into());
    }
    table.insert("blank".to_owned(), "drop".into());
    Ok(table)
}

/// Makes the relative paths of a system relative to the folder of its file.
fn rebase_paths(system: &mut SystemEntry, folder: &Path) -> Result<()> {
    let parsed = Registry::default().parse(&system.kind, &system.parameters);
    let files = parsed
        .map(|parsed| parsed.system.files())
        .unwrap_or_default();
    let mut keys: Vec<String> = files.into_iter().map(|(key, _)| key).collect();
    keys.push(FEEDBACK_COLLECTION.to_owned());
    for key in keys {
        let mut parts: Vec<&str> = key.split('.').collect();
        let last = parts.pop().unwrap_or_default();
        let mut table = Some(&mut system.parameters);
        for part in parts {
            table = table.and_then(|table| table.get_mut(part)?.as_table_mut());
        }
        let Some(Value::String(path)) = table.and_then(|table| table.get_mut(last)) else {
            continue;
        };
        if key == FEEDBACK_COLLECTION {
            check_feedback_collection(path)?;
        }
        if let Some(rebased) = rebased(folder, path)? {
            *path = rebased;
        }
    }
    Ok(())
}

const FEEDBACK_COLLECTION: &str = "feedback_collection";

/// Rejects documents in a format that systems do not read.
fn check_feedback_collection(path: &str) -> Result<()> {
    let is_other = Path::new(path).exists()
        && !is_index(Path::new(path))
        && ir_data::catalog::open_path_or_name(path).is_err();
    if is_other {
        bail_usage!(
            "--feedback-collection: expected a collection of `ir datasets`, a folder in BEIR layout or a saved index with --save, found {path}"
        );
    }
    Ok(())
}

/// A path that exists, or the collection of `COLLECTION:SPLIT`, relative to a folder. `None` for
/// names of collections and paths of environment variables.
fn rebased(folder: &Path, path: &str) -> Result<Option<String>> {
    if path.starts_with('$') {
        return Ok(None);
    }
    let relative = |path: &str| {
        let relative = relative_to(folder, Path::new(path))?.display().to_string();
        // A path with `$` at the start is one of an environment variable.
        anyhow::Ok(if relative.starts_with('$') {
            format!("./{relative}")
        } else {
            relative
        })
    };
    if Path::new(path).exists() {
        return relative(path).map(Some);
    }
    match path.rsplit_once(':') {
        Some((collection, split)) if Path::new(collection).exists() => {
            Ok(Some(format!("{}:{split}", relative(collection)?)))
        }
        _ => Ok(None),
    }
}

/// Path from a folder to a file or folder, both relative to the current folder. Absolute paths
/// stay.
fn relative_to(folder: &Path, path: &Path) -> Result<PathBuf> {
    if path.is_absolute() || folder.as_os_str().is_empty() {
        return Ok(path.to_owned());
    }
    // A folder that does not exist is an error when the file is written.
    let folder = match folder.canonicalize() {
        Ok(folder) => folder,
        Err(_) => std::env::current_dir()?.join(folder),
    };
    let path = real_path(path)?;
    let shared = folder.iter().zip(&path).take_while(|(a, b)| a == b).count();
    let up = folder
        .iter()
        .skip(shared)
        .map(|_| Component::ParentDir.as_os_str());
    Ok(up.chain(path.iter().skip(shared)).collect())
}

/// Absolute path of a file in its folder without symbolic links, which `..` would leave.
fn real_path(path: &Path) -> Result<PathBuf> {
    let real = |path: &Path| {
        let found = path.canonicalize();
        found.with_context(|| format!("{}: cannot be read", path.display()))
    };
    let Some(name) = path.file_name() else {
        return real(path);
    };
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    Ok(real(folder.unwrap_or(Path::new(".")))?.join(name))
}
