//! Retrievers of `ir serve --collection`.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use ir_bm25::{Bm25, SegmentedIndex, StoredFields};
use ir_core::DocNum;
use ir_core::store::Verify;
use ir_data::TextEncoding;
use ir_experiment::{Cache, Registry, Runner};
use ir_serve::Collection;
use ir_system::{IndexData, Resources, SharedRetriever};

use crate::shared::console::Console;
use crate::shared::experiment::{self, ConsoleObserver};
use crate::shared::format::grouped;
use crate::shared::input::{CollectionSource, open_collection};
use crate::shared::system_options::open_unfiltered;

/// Opens an index, or a system of an experiment file, under a name.
pub(super) fn open(name: &str, index: &str, console: &Console) -> Result<Collection> {
    if let Some((file, system)) = index.rsplit_once('#')
        && file.ends_with(".toml")
    {
        let experiment = experiment::open(Path::new(file))?;
        let (cache, registry) = (experiment::cache(None, &experiment), Registry::default());
        let mut observer = ConsoleObserver::new(console);
        let runner = Runner::new(&cache, &registry);
        let opened = runner.open(&experiment, system, &mut observer);
        observer.finish();
        let opened = opened.map_err(experiment::failure)?;
        return Ok(Collection {
            name: name.to_owned(),
            retriever: opened.retriever,
            attributes: opened.attributes,
        });
    }
    let (index, system) = match index.rsplit_once('#') {
        Some((index, system)) if system.ends_with(".toml") => (index, Some(system)),
        _ => (index, None),
    };
    let source = open_collection(index, TextEncoding::Utf8, Verify::FirstUse, console)?;
    let CollectionSource::Index(opened) = source else {
        bail!(
            "--collection {name}={index}: expected an index of `ir index`, with a system file after #, or a system of an experiment, FILE.toml#SYSTEM"
        );
    };
    let attributes = match opened.config().store {
        StoredFields::Nothing => Vec::new(),
        _ => {
            let docs = (0..opened.len() as u32).map(DocNum::new);
            docs.map(|doc| opened.attributes(doc))
                .collect::<Result<_, _>>()
                .with_context(|| format!("{index}: cannot be read"))?
        }
    };
    let retriever = match system {
        None => Arc::new(opened.searcher(Bm25::ANSERINI)?),
        Some(file) => system_of_file(file, name, &opened, console)?,
    };
    Ok(Collection {
        name: name.to_owned(),
        retriever,
        attributes,
    })
}

/// Opens the system of a file on an index.
fn system_of_file(
    file: &str,
    name: &str,
    index: &SegmentedIndex,
    console: &Console,
) -> Result<SharedRetriever> {
    let spec = open_unfiltered(Path::new(file)).with_context(|| format!("--collection {name}"))?;
    let registry = Registry::default();
    if spec.uses_query_ids(&registry)? {
        bail!(
            "--collection {name}: {file}: expected a system for any query, found saved vectors of queries"
        );
    }
    let data = IndexData::new(name, index.clone(), Vec::new());
    let mut resources = Resources::new(Cache::temporary()?);
    let mut observer = ConsoleObserver::new(console);
    let opened = spec.open_on(&registry, &data, &mut resources, &mut observer);
    observer.finish();
    let retriever = opened.map_err(experiment::failure)?.retriever;
    if retriever.ids() != index.ids() {
        bail!(
            "--collection {name}: {file}: expected a system that searches the documents of the index, found {} documents of {}",
            grouped(retriever.ids().len() as u64),
            grouped(index.len() as u64)
        );
    }
    Ok(retriever)
}
