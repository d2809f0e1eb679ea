//! The systems and runs that find the candidates.

use std::convert::Infallible;

use anyhow::{Context, Result};
use ir_bm25::{SegmentedIndex, StoredFields};
use ir_core::store::Verify;
use ir_core::training::TrainingSet;
use ir_core::{Predicate, Query, Run};
use ir_system::{Registry, SystemSpec};
use tempfile::TempDir;

use super::Args;
use super::miner::Candidates;
use crate::shared::console::Console;
use crate::shared::filter::{NamedConditions, QueryFilters, warn_of_conditions};
use crate::shared::input::{DocumentSource, open_documents};
use crate::shared::search_data::{OtherCollections, SystemOpener};

/// Candidates and the filters of their documents.
pub(super) struct Searched {
    pub(super) candidates: Candidates,
    pub(super) filters: QueryFilters,
    /// Scoring model, or name of the system, for messages.
    pub(super) label: String,
    /// Folder of the mapped index. On Unix the index is readable after its removal, and no
    /// interruption leaves it behind.
    pub(super) folder: Option<TempDir>,
}

/// Opens the system of a file, which indexes the documents itself.
pub(super) fn system_of_file(
    args: &Args,
    spec: &SystemSpec,
    set: &dyn TrainingSet,
    console: &Console,
) -> Result<Searched> {
    let queries = if spec.uses_query_ids(&Registry::default())? {
        queries_of(set)?
    } else {
        Vec::new()
    };
    let documents = open_documents(&args.collection, args.text.read_options(), console)?;
    let collection = documents.collection;
    let opener = SystemOpener::on_documents(collection, &queries, None, spec, None, console);
    let mut opener = opener?;
    let retriever = opener.open(spec)?.retriever;
    let (ids, time) = (retriever.ids(), args.not_later_than_query);
    let attributes = if time || !args.filter.is_empty() {
        opener.attributes(ids)?.unwrap_or_default()
    } else {
        Vec::new()
    };
    let all = attributes.iter().map(Ok::<_, Infallible>);
    let Ok(()) = warn_of_conditions(NamedConditions::of_option(&args.filter), all, console);
    let condition = Predicate::All(args.filter.clone());
    let filters = QueryFilters::of_documents(ids, &attributes, &condition, time, console);
    let root = spec.root().context("expected a system")?;
    Ok(Searched {
        candidates: Candidates::System(retriever),
        filters,
        label: root.name.clone(),
        folder: None,
    })
}

/// Indexes the documents, and opens the system of the options unless there is a run. With
/// `is_mapped`, the index is a mapped file.
pub(super) fn search_index(
    args: &Args,
    documents: &DocumentSource,
    spec: &SystemSpec,
    run: Option<Run>,
    is_mapped: bool,
    console: &Console,
) -> Result<Searched> {
    let needs = spec.index_needs(&Registry::default())?;
    let filtered = if args.filter.is_empty() {
        StoredFields::Nothing
    } else {
        StoredFields::Attributes
    };
    let (setup, threads) = (&args.setup, args.threads);
    let config = setup.config(documents, None, needs.store.max(filtered))?;
    let config = config.with_positions(needs.positions);
    let folder = if is_mapped {
        Some(tempfile::tempdir().context("cannot create a temporary folder")?)
    } else {
        None
    };
    let path = folder.as_ref().map(|folder| folder.path().join("index"));
    let index = setup.build(documents, None, config, threads, path.as_deref(), console)?;
    let index = SegmentedIndex::from(index);
    let (name, time) = (&args.collection, args.not_later_than_query);
    let conditions = NamedConditions::of_option(&args.filter);
    let filters = QueryFilters::new(&index, conditions, time, name, console)?;
    let (candidates, label) = match run {
        Some(run) => {
            let candidates = Candidates::Run(run, index.ids().clone());
            (candidates, "from a run".to_owned())
        }
        None => {
            let others = OtherCollections {
                encoding: args.text.encoding,
                verify: Verify::AllSections,
                setup,
                threads,
            };
            let mut opener = SystemOpener::new(name, &index, &[], None, others, console)?;
            let retriever = opener.open(spec)?.retriever;
            let model = args.model.options.searcher(&index)?;
            (Candidates::System(retriever), model.model().to_string())
        }
    };
    Ok(Searched {
        candidates,
        filters,
        label,
        folder: folder.filter(|_| !cfg!(unix)),
    })
}

/// Ids and texts of the queries of examples.
fn queries_of(set: &dyn TrainingSet) -> Result<Vec<Query>> {
    let examples = (0..set.len()).map(|n| set.get(n));
    examples
        .map(|example| {
            let example = example?;
            let id = example.query_id.unwrap_or_default();
            Ok(Query::new(id, example.query))
        })
        .collect()
}
