//! Opens or builds the index to search.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ir_bm25::{Index, IndexConfig, StoredFields};
use ir_data::Collection;

use super::args::Args;
use super::search_index::SearchIndex;
use crate::shared::console::{Console, bail_usage};
use crate::shared::input::{CollectionSource, DocumentSource, fingerprint, open_collection};

/// Opens or builds the index. `store` is the stored fields that the search needs.
pub(super) fn open_index(
    args: &Args,
    store: StoredFields,
    console: &Console,
) -> Result<SearchIndex> {
    let name = args.collection.clone();
    let verify = args.verification();
    let has_feedback = args.lexical.is_set("feedback-collection");
    let opened = open_collection(&name, args.documents(), verify, console)?;
    let (index, collection, order) = match opened {
        CollectionSource::Index(index) => {
            let cached = args
                .cache
                .as_ref()
                .filter(|_| !args.lexical.is_set("nearest-encoder"));
            let cached = cached.map(|_| "--cache");
            let template = args.template.as_ref().map(|_| "--template");
            if let Some(option) = args.setup.first_set().or(template).or(cached) {
                bail_usage!(
                    "{option} applies only when an index is built, but {name} is a saved index"
                );
            }
            args.check_encoding(None, has_feedback)?;
            (index, None, None)
        }
        CollectionSource::Documents(documents) => {
            if args.verify && args.cache.is_none() && !args.has_vectors() {
                bail_usage!("--verify: expected a saved index or --cache, found {name}");
            }
            args.check_encoding(Some(&documents), has_feedback)?;
            check_queries(&documents.collection, args)?;
            let index = match &args.cache {
                None => {
                    let template = args.template.as_ref();
                    let config = args.index_config(&documents, template, store)?;
                    (args.setup).build(&documents, template, config, args.threads, None, console)?
                }
                Some(folder) => cached(&folder.folder(), args, &documents, console)?,
            };
            let order = args.setup.order(&documents);
            (index.into(), Some(documents.collection), Some(order))
        }
    };
    Ok(SearchIndex {
        name,
        index,
        collection,
        order,
    })
}

/// Opens a cached index; builds it if it is missing or unreadable.
fn cached(
    folder: &Path,
    args: &Args,
    documents: &DocumentSource,
    console: &Console,
) -> Result<Index> {
    let template = args.template.as_ref();
    let config = args.index_config(documents, template, StoredFields::Everything)?;
    let path = cache_path(folder, args, documents, &config)?;
    if path.exists() {
        match Index::open_with(&path, args.verification()) {
            Ok(index) => return Ok(index),
            Err(error) => console.warn(format_args!("rebuilt: {error}")),
        }
    }
    if folder.exists() && !folder.is_dir() {
        bail!(
            "{}: expected a folder for --cache, found a file",
            folder.display()
        );
    }
    fs::create_dir_all(folder)
        .with_context(|| format!("{}: cannot be created", folder.display()))?;
    (args.setup).build(
        documents,
        template,
        config,
        args.threads,
        Some(&path),
        console,
    )
}

fn cache_path(
    folder: &Path,
    args: &Args,
    documents: &DocumentSource,
    config: &IndexConfig,
) -> Result<PathBuf> {
    let version = env!("CARGO_PKG_VERSION");
    let mut key = format!(
        "{version}\n{}\n{:?}\n{}",
        serde_json::to_string(config)?,
        args.setup.order(documents),
        documents.fingerprint
    );
    if let Some(template) = &args.template {
        key.push_str(&format!("\n{template}"));
    }
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

/// Checks, before an index is built, that the collection has queries and the split.
fn check_queries(collection: &Collection, args: &Args) -> Result<()> {
    if args.typed().is_some() || args.queries.is_some() {
        return Ok(());
    }
    let (splits, split) = (collection.splits(), args.split.as_deref());
    if split.is_none() && splits.is_empty() {
        return if collection.all_queries()?.is_empty() {
            without_queries(&args.collection)
        } else {
            Ok(())
        };
    }
    let split = split.unwrap_or("test");
    if splits.iter().all(|known| known != split) {
        collection.qrels(split)?;
    }
    Ok(())
}

pub(super) fn without_queries<T>(name: &str) -> Result<T> {
    bail_usage!(
        "{name}: expected a collection with queries, found none (give words, --query TEXT, or --queries with a file or collection)"
    )
}
