//! Retrievers of `ir serve --collection`.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use ir_bm25::{Bm25, SegmentedIndex, StoredFields};
use ir_core::DocNum;
use ir_core::store::Verify;
use ir_data::TextEncoding;
use ir_experiment::{Cache, Experiment, FilterName, Registry, Runner};
use ir_serve::Collection;
use ir_system::{IndexData, Resources, SharedRetriever};

use crate::shared::console::Console;
use crate::shared::experiment::{self, ConsoleObserver};
use crate::shared::format::grouped;
use crate::shared::input::{CollectionSource, open_collection};
use crate::shared::system_options::open_for_any_query;

/// Opens all collections: names, and indexes or systems. Their systems share models and vectors.
pub(super) fn open_all(
    collections: &[(String, String)],
    console: &Console,
) -> Result<Vec<Collection>> {
    let mut resources = Resources::new(Cache::temporary()?);
    let opened = collections
        .iter()
        .map(|(name, index)| match index.rsplit_once('#') {
            Some((file, system)) if file.ends_with(".toml") => {
                open_in_experiment(name, file, system, console)
            }
            _ => open(name, index, &mut resources, console),
        });
    opened.collect()
}

/// Opens a system of an experiment file under a name.
fn open_in_experiment(
    name: &str,
    file: &str,
    system: &str,
    console: &Console,
) -> Result<Collection> {
    let experiment = experiment::open(Path::new(file))?;
    check_unfiltered(&experiment, system)
        .with_context(|| format!("--collection {name}: {file}"))?;
    let (cache, registry) = (experiment::cache(None, &experiment), Registry::default());
    let mut observer = ConsoleObserver::new(console);
    let runner = Runner::new(&cache, &registry);
    let opened = runner.open(&experiment, system, &mut observer);
    observer.finish();
    let opened = opened.map_err(experiment::failure)?;
    if opened.uses_query_ids {
        bail!(
            "--collection {name}: {file}: expected a system for any query, found saved vectors of queries"
        );
    }
    Ok(Collection {
        name: name.to_owned(),
        retriever: opened.retriever,
        attributes: opened.attributes,
    })
}

/// Rejects a system with a filter, which a service would ignore.
fn check_unfiltered(experiment: &Experiment, system: &str) -> Result<()> {
    let Some(entry) = experiment.systems.iter().find(|it| it.name == system) else {
        return Ok(());
    };
    let task = experiment.tasks.first();
    let filter = task.map_or(FilterName::None, |task| experiment.filter(task, entry));
    if filter != FilterName::None {
        let found = toml::Value::try_from(filter)?;
        bail!("filter of {system:?}: expected a system without a filter, found {found}");
    }
    let condition = entry.condition.as_ref();
    if let Some(condition) = condition.or(experiment.search.condition.as_ref()) {
        let found = toml::Value::try_from(condition)?;
        bail!("where of {system:?}: expected a system without a filter, found {found}");
    }
    Ok(())
}

/// Opens an index under a name.
fn open(
    name: &str,
    index: &str,
    resources: &mut Resources,
    console: &Console,
) -> Result<Collection> {
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
        Some(file) => system_of_file(file, name, &opened, resources, console)?,
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
    resources: &mut Resources,
    console: &Console,
) -> Result<SharedRetriever> {
    let spec = open_for_any_query(Path::new(file));
    let spec = spec.with_context(|| format!("--collection {name}"))?;
    let registry = Registry::default();
    let data = IndexData::new(name, index.clone(), Vec::new());
    let mut observer = ConsoleObserver::new(console);
    let opened = spec.open_on(&registry, &data, resources, &mut observer);
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
