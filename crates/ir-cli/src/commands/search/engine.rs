//! From what was named on the command line to something that can be searched.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ir_bm25::{Bm25, Index, IndexConfig, Lengths as Form, Store};
use ir_data::Collection;

use super::args::{Args, Lengths};
use crate::shared::console::{Console, Usage};
use crate::shared::indexing::build_index;
use crate::shared::options::Bm25Preset;
use crate::shared::input::{Documents, Source, find, fingerprint};

/// An index, and the collection that it was made of when it was made here.
pub(crate) struct Engine {
    /// What it was called on the command line.
    pub(crate) name: String,
    pub(crate) index: Index,
    pub(crate) collection: Option<Collection>,
}

impl Engine {
    /// Opens or builds what `args` name. `store` is what the search needs beside the index.
    pub(crate) fn open(args: &Args, store: Store, console: &Console) -> Result<Self> {
        let name = args.collection.clone();
        match find(&name, args.verification())? {
            Source::Index(index) => {
                let built = args.setup.given().map(|option| (option, "is fixed"));
                let cached = args.cache.as_ref().map(|_| ("--cache", "is of use only"));
                if let Some((option, why)) = built.or(cached) {
                    return Err(Usage(format!(
                        "{option} {why} when the index is built, and {name} is an index already"
                    ))
                    .into());
                }
                Ok(Self {
                    name,
                    index: *index,
                    collection: None,
                })
            }
            Source::Documents(documents) => {
                let index = match &args.cache {
                    None => {
                        let config = args.setup.config(&documents, store);
                        build_index(&documents, config, &args.setup, args.threads, None, console)?
                    }
                    Some(folder) => cached(folder, args, &documents, console)?,
                };
                Ok(Self {
                    name,
                    index,
                    collection: Some(documents.collection),
                })
            }
        }
    }
}

/// An index of the cache, built when it is not there or cannot be read.
fn cached(folder: &Path, args: &Args, documents: &Documents, console: &Console) -> Result<Index> {
    let config = args.setup.config(documents, Store::Everything);
    let path = place(folder, args, documents, &config)?;
    if path.exists() {
        match Index::open_with(&path, args.verification()) {
            Ok(index) => return Ok(index),
            Err(error) => console.warn(format_args!("built again: {error}")),
        }
    }
    if folder.exists() && !folder.is_dir() {
        bail!(
            "{}: expected a folder for --cache, found a file",
            folder.display()
        );
    }
    fs::create_dir_all(folder)
        .with_context(|| format!("{}: could not be made", folder.display()))?;
    build_index(
        documents,
        config,
        &args.setup,
        args.threads,
        Some(&path),
        console,
    )
}

/// Where the cache has the index of these documents under this configuration.
fn place(
    folder: &Path,
    args: &Args,
    documents: &Documents,
    config: &IndexConfig,
) -> Result<PathBuf> {
    let version = env!("CARGO_PKG_VERSION");
    let key = format!(
        "{version}\n{}\n{:?}\n{}",
        serde_json::to_string(config)?,
        args.setup.order(documents),
        documents.fingerprint
    );
    let name: String = documents
        .collection
        .name()
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .collect();
    Ok(folder.join(format!("{name}-{}.ir", fingerprint([key]))))
}

/// The parameters that `args` ask for.
pub(crate) fn bm25(args: &Args) -> Bm25 {
    let mut bm25 = args.preset.unwrap_or(Bm25Preset::Anserini).bm25();
    bm25.k1 = args.k1.unwrap_or(bm25.k1);
    bm25.b = args.b.unwrap_or(bm25.b);
    bm25.with_lengths(match args.lengths {
        Lengths::OneByte => Form::OneByte,
        Lengths::Exact => Form::Exact,
    })
}
