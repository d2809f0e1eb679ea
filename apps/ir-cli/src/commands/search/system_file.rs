//! System files: `ir search --save` writes the system of the options, `--system` searches by one.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use ir_bm25::{DocOrder, IndexConfig, IndexedFields};
use ir_core::trec::{ScoreFormat, write_run};
use ir_core::{Attributes, Predicate, Query, Run, Search};
use ir_experiment::{Experiment, QuerySet, Runner, TaskEntry};
use ir_system::systems::AnalyzerEntry;
use ir_system::{
    Cache, FilterName, Registry, ScoreFormatName, SharedRetriever, SystemEntry, SystemSpec,
};
use toml::{Table, Value};

use super::args::{Args, TimeFilter};
use super::engine::without_queries;
use super::{RUN_HITS, TYPED_QUERY_ID};
use crate::shared::console::{Console, bail_usage};
use crate::shared::experiment::{ConsoleObserver, failure};
use crate::shared::filter::{QueryFilters, warn_of_years};
use crate::shared::format::grouped;
use crate::shared::input::{
    self, CollectionSource, DocumentOrder, DocumentSource, open_collection,
};
use crate::shared::options::{first_set, use_threads};
use crate::shared::output::{OutputPath, OutputSink};
use crate::shared::search_data::{OtherCollections, SystemOpener};
use crate::shared::signals::stop_on_interrupt;
use crate::shared::system_options::{SYSTEM, open_system};

/// The system of the options, for an index of this configuration, with paths relative to its file.
pub(super) fn saved(
    args: &Args,
    path: &OutputPath,
    config: &IndexConfig,
    tag: &str,
) -> Result<SystemSpec> {
    if args.setup.order == Some(DocumentOrder::RowText) {
        bail_usage!(
            "--order row-text: expected no --save; an experiment has the key document_order"
        );
    }
    if args.shard.shard.is_some() {
        bail_usage!("--shard: expected no --save; a system file has no such key");
    }
    #[cfg_attr(feature = "dense", allow(unused_mut))]
    let mut systems = args.lexical.systems(&index_parameters(args, config)?)?;
    #[cfg(feature = "dense")]
    let mut systems = args.vectors.systems(systems)?;
    let mut root = systems.pop().context("expected a system")?;
    debug_assert!(root.name == SYSTEM, "the system to search is last");
    tag.clone_into(&mut root.name);
    root.hits = args.hits;
    root.filter = match args.not_later_than_query {
        None => None,
        Some(TimeFilter::Exact) => Some(FilterName::Year),
        Some(TimeFilter::Published) => Some(FilterName::PublishedYear),
    };
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
    systems.push(root);
    let path: &Path = path;
    let folder = path.parent().unwrap_or(Path::new(""));
    for system in &mut systems {
        rebase_paths(system, folder)?;
    }
    let spec = SystemSpec::new(systems);
    spec.validate(&Registry::default())?;
    Ok(spec)
}

/// Writes a system file.
pub(super) fn save(spec: &SystemSpec, path: &OutputPath) -> Result<()> {
    let comment = "System of `ir search`; `ir search COLLECTION --system` reads it.";
    Ok(spec.save(path, comment)?)
}

/// Parameters of the index.
fn index_parameters(args: &Args, config: &IndexConfig) -> Result<Table> {
    let mut table = Table::new();
    let analyzer = AnalyzerEntry::from_analysis(&config.analysis)?;
    if analyzer != AnalyzerEntry::default() {
        table.insert("analyzer".to_owned(), Value::try_from(analyzer)?);
    }
    match (&args.template, config.fields) {
        (Some(template), _) => table.insert("template".to_owned(), template.to_string().into()),
        (None, IndexedFields::One) => table.insert("fields".to_owned(), "one".into()),
        (None, IndexedFields::TextOnly) => table.insert("fields".to_owned(), "text".into()),
        (None, IndexedFields::Separate) => table.insert("fields".to_owned(), "separate".into()),
        (None, other) => {
            let names = other
                .names()
                .iter()
                .map(|name| Value::from((*name).to_owned()));
            table.insert("fields".to_owned(), Value::Array(names.collect()))
        }
    };
    let order = match config.order {
        DocOrder::Id => "id",
        _ => "insertion",
    };
    table.insert("order".to_owned(), order.into());
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
    keys.push("feedback_collection".to_owned());
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
        if !path.starts_with('$') && Path::new(&*path).exists() {
            *path = relative_to(folder, Path::new(&*path))?
                .display()
                .to_string();
        }
    }
    Ok(())
}

/// Path from a folder to a file, both relative to the current folder; absolute paths stay.
fn relative_to(folder: &Path, path: &Path) -> Result<PathBuf> {
    if path.is_absolute() || folder.as_os_str().is_empty() {
        return Ok(path.to_owned());
    }
    let current = std::env::current_dir()?;
    let (folder, path) = (normal(&current.join(folder)), normal(&current.join(path)));
    let shared = folder.iter().zip(&path).take_while(|(a, b)| a == b).count();
    let up = folder[shared..]
        .iter()
        .map(|_| Component::ParentDir.as_os_str().to_owned());
    Ok(up.chain(path[shared..].iter().cloned()).collect())
}

/// Components of an absolute path without `.` and `..`.
fn normal(path: &Path) -> Vec<std::ffi::OsString> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()),
            other => parts.push(other.as_os_str().to_owned()),
        }
    }
    parts
}

/// Searches the queries by the system of a file, and writes a TREC run.
pub(super) fn run(args: &Args, path: &Path, console: &Console) -> Result<()> {
    stop_on_interrupt();
    use_threads(args.threads)?;
    check(args)?;
    let spec = open_system(path)?;
    let root = spec.root().context("expected a system")?.clone();
    if let Some(FilterName::PublishedYear | FilterName::YearOfBestRecord) = root.filter {
        let name = &root.name;
        bail!(
            "{}: expected the filter none or year of {name:?}; other filters need an experiment file",
            path.display()
        );
    }
    let out = OutputSink::open(args.output.as_ref())?;
    let asked = match (args.typed(), &args.queries) {
        (Some(text), _) => Some(vec![Query::new(TYPED_QUERY_ID, text)]),
        (None, None) => None,
        (None, Some(queries)) => {
            let split = args.split.as_deref();
            let read = input::read_queries_of(queries, split, args.text.encoding, console);
            Some(read?.queries)
        }
    };
    let opened = open_collection(
        &args.collection,
        args.documents(),
        args.verification(),
        console,
    )?;
    let is_filtered = root.filter == Some(FilterName::Year);
    let conditions: Vec<Predicate> = root.condition.iter().cloned().collect();
    let (queries, retriever, filters) = match opened {
        CollectionSource::Index(index) => {
            let Some(queries) = asked else {
                return without_queries(&args.collection);
            };
            let queries = args.query_form.apply(queries)?;
            let others = OtherCollections {
                encoding: args.text.encoding,
                verify: args.verification(),
                setup: &args.setup,
                threads: args.threads,
            };
            let (name, cache) = (&args.collection, args.cache.as_ref());
            let mut opener = SystemOpener::new(name, &index, &queries, cache, others, console)?;
            let retriever = opener.open(&spec)?.retriever;
            let filters = QueryFilters::new(&index, &conditions, is_filtered, name, console)?;
            (queries, retriever, filters)
        }
        CollectionSource::Documents(documents) => {
            let queries = match asked {
                Some(queries) => queries,
                None => {
                    let split = args.split.as_deref();
                    match input::collection_queries(&documents.collection, split, console)? {
                        Some(found) => found.queries,
                        None => return without_queries(&args.collection),
                    }
                }
            };
            let queries = args.query_form.apply(queries)?;
            let (retriever, attributes) = on_documents(args, &documents, &spec, console)?;
            let (ids, conditions) = (retriever.ids(), Predicate::All(conditions));
            let filters = QueryFilters::of_documents(ids, &attributes, &conditions, is_filtered);
            (queries, retriever, filters)
        }
    };
    let k = args.hits.or(root.hits).unwrap_or(RUN_HITS);
    if is_filtered {
        warn_of_years(&queries, console);
    }
    let years = queries.iter().map(|query| query.attributes.year());
    let run = filters.apply(years, |filters| {
        Run::from_retriever_with(args.tag_or(&root.name), &*retriever, &queries, |n, _| {
            let search = Search::top(k);
            filters[n].map_or(search, |filter| search.within(filter))
        })
    });
    let mut run = run.with_context(|| format!("{}: search failed", args.collection))?;
    if args.remove_self {
        run.remove_identical_ids();
    }
    let scores = root.scores.map_or(ScoreFormat::Exact, ScoreFormat::from);
    out.write_with(|out| write_run(&run, args.scores_or(scores), out))?;
    console.note(format_args!(
        "{}: {} queries, {} documents",
        root.name,
        grouped(queries.len() as u64),
        grouped(retriever.ids().len() as u64)
    ));
    Ok(())
}

/// Opens the system on documents, as an experiment does; with the attributes of each document.
fn on_documents(
    args: &Args,
    documents: &DocumentSource,
    spec: &SystemSpec,
    console: &Console,
) -> Result<(SharedRetriever, Vec<Attributes>)> {
    let registry = Registry::default();
    let splits = documents.collection.splits();
    let split = args.split.clone().or_else(|| {
        let test = splits.iter().find(|split| *split == "test");
        test.or(splits.first()).cloned()
    });
    let Some(split) = split else {
        bail!(
            "{}: expected a collection with judged queries, or a saved index (`ir index`)",
            args.collection
        );
    };
    let path = Path::new(&args.collection);
    let name = if path.exists() {
        std::path::absolute(path)?.display().to_string()
    } else {
        args.collection.clone()
    };
    let mut task = TaskEntry::new(name);
    task.split = split;
    task.document_order = documents.task_order();
    let learns = |entry: &SystemEntry| {
        let parsed = registry.parse(&entry.kind, &entry.parameters);
        parsed.is_ok_and(|parsed| parsed.system.uses_training())
    };
    if spec.systems.iter().any(learns) {
        task.training = Some(QuerySet {
            collection: None,
            split: "train".to_owned(),
            query: None,
        });
    }
    let mut experiment = Experiment::new(task);
    experiment.systems.clone_from(&spec.systems);
    experiment.encoders.clone_from(&spec.encoders);
    experiment.source = spec.source.clone();
    let cache = match &args.cache {
        Some(folder) => Cache::new(folder.folder()),
        None => Cache::temporary()?,
    };
    let root = spec
        .root()
        .map(|root| root.name.clone())
        .unwrap_or_default();
    let mut observer = ConsoleObserver::new(console);
    let opened = Runner::new(&cache, &registry).open(&experiment, &root, &mut observer);
    observer.finish();
    let opened = opened.map_err(failure)?;
    Ok((opened.retriever, opened.attributes))
}

/// Rejects options of a system beside a system file.
fn check(args: &Args) -> Result<()> {
    let of_the_search = first_set([
        ("--save", args.save.is_some()),
        ("--template", args.template.is_some()),
        ("--filter", !args.filter.is_empty()),
        (
            "--not-later-than-query",
            args.not_later_than_query.is_some(),
        ),
        ("--json", args.json),
        ("--explain", args.explain),
        ("--shard", args.shard.shard.is_some()),
        ("--vectors", args.has_vectors()),
    ]);
    let of_the_search = of_the_search.or(args.setup.first_set()).map(str::to_owned);
    if let Some(option) = args.lexical.first_set(|_| true).or(of_the_search) {
        bail_usage!(
            "{option}: expected either --system or options of a system, found both (the output is a TREC run)"
        );
    }
    Ok(())
}
