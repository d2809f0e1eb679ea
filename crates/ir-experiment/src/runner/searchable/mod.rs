//! Opening a system for queries outside of an experiment.

mod collection;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ir_core::{Attributes, DocIds, Document, Query};
use ir_data::Collection;
use ir_system::systems::RUN;
use ir_system::{
    FileHashes, Observer, OpenSystem, Session, SharedRetriever, SourceMap, SpecError, SystemData,
    SystemError, SystemSpec,
};

use self::collection::{SearchedQueries, with_split};
use super::{Runner, TaskRun};
use crate::documents::Documents;
use crate::file::{Experiment, QuerySet, TaskEntry};
use crate::queries::warn_of_operators;
use crate::suggest::{did_you_mean, list_or_none};
use crate::task::TaskData;

/// System of an experiment that is open for any queries.
#[non_exhaustive]
pub struct SearchableSystem {
    /// Retriever of text queries.
    pub retriever: SharedRetriever,
    /// Attributes of the documents, in the order of the ids of the retriever.
    pub attributes: Vec<Attributes>,
    /// If `true`, the system or a part has vectors of the queries of the task alone: see
    /// [`System::uses_query_ids`](ir_system::System::uses_query_ids).
    pub uses_query_ids: bool,
}

impl std::fmt::Debug for SearchableSystem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchableSystem")
            .field("documents", &self.attributes.len())
            .finish_non_exhaustive()
    }
}

impl Runner<'_> {
    /// Opens a system on the documents of the first task, for queries outside the experiment. What
    /// [`Runner::run`] caches is cached. Searches ignore the filters of the experiment.
    ///
    /// # Errors
    /// Returns a [`SpecError`] if [`Runner::run`] would fail, if no system has the name, or if the
    /// selection chooses parameters for each query, as `cross-validation` and `leave-one-out` do.
    ///
    /// ```
    /// use ir_core::{NoProgress, Search};
    /// use ir_experiment::{Cache, Experiment, Registry, Runner, SystemEntry, TaskEntry};
    ///
    /// let mut experiment = Experiment::new(TaskEntry::new("bundled"));
    /// experiment.systems.push(SystemEntry::new("BM25", "bm25"));
    /// let (cache, registry) = (Cache::temporary()?, Registry::default());
    /// let runner = Runner::new(&cache, &registry);
    /// let system = runner.open(&experiment, "BM25", &mut NoProgress)?;
    /// let ranking = system.retriever.search("question answering", &Search::top(3))?;
    /// assert_eq!(ranking.hits().len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(
        &self,
        experiment: &Experiment,
        system: &str,
        observer: &mut dyn Observer,
    ) -> Result<SearchableSystem, SpecError> {
        experiment.validate(self.registry)?;
        let source = &experiment.source;
        let Some(at) = experiment.systems.iter().position(|it| it.name == system) else {
            let known = experiment.systems.iter().map(|it| &*it.name);
            let hint = did_you_mean(system, known.clone());
            let known = list_or_none(known);
            let message = format!("expected one of the systems {known}, found {system:?}{hint}");
            return Err(source.error("systems", message));
        };
        let (hashes, mut session) = (FileHashes::default(), Session::default());
        let data = TaskData::open(experiment, 0, None, observer)?;
        let mut task = TaskRun::new(self, experiment, &data, &hashes, &mut session, observer);
        let open = task.open(at, None)?;
        let mut used = task.systems.values();
        let uses_query_ids = used.any(|it| it.parsed.system.uses_query_ids());
        let attributes = attributes(&data, open.retriever.ids());
        let attributes = attributes.map_err(|error| task.located(at, error))?;
        Ok(SearchableSystem {
            retriever: open.retriever,
            attributes,
            uses_query_ids,
        })
    }
}

impl TaskRun<'_> {
    /// Opens a system and its parts, for the queries of the task or of `data`.
    fn open(&mut self, at: usize, data: Option<&dyn SystemData>) -> Result<OpenSystem, SpecError> {
        let experiment = self.experiment;
        let name = &experiment.systems[at].name;
        let order = ir_system::order(
            &experiment.systems,
            &experiment.source,
            self.runner.registry,
        )?;
        let test = self.test_queries();
        self.searches = self.searches(vec![name.clone()]);
        for n in order {
            let entry = &experiment.systems[n];
            if !self.searches.contains_key(&entry.name) {
                continue;
            }
            if entry.grid.is_empty() {
                self.prepare(n, entry.parameters.clone())?;
            } else {
                self.select(n, test)?;
            }
        }
        let mut context = self.context(test);
        if let Some(data) = data {
            context.data = data;
        }
        let opened = context.system(name);
        let mut open = opened.map_err(|error| self.located(at, error))?;
        open.retriever = self.session.for_single_searches(open.retriever);
        Ok(open)
    }
}

/// Documents and queries, on which systems open as in an experiment.
///
/// ```
/// use ir_core::{NoProgress, Query, Search};
/// use ir_experiment::{Cache, Registry, Runner, SearchTask, SystemEntry, SystemSpec, TaskEntry};
///
/// let spec = SystemSpec::new(vec![SystemEntry::new("BM25", "bm25")]);
/// let (cache, registry) = (Cache::temporary()?, Registry::default());
/// let runner = Runner::new(&cache, &registry);
/// let collection = ir_data::catalog::open("bundled")?;
/// let queries = vec![Query::new("1", "question answering")];
/// let entry = TaskEntry::new("bundled");
/// let mut task = SearchTask::open(entry, collection, queries, &spec, &runner, &mut NoProgress)?;
/// let open = task.system(&spec, &runner, &mut NoProgress)?;
/// let ranking = open.retriever.search("question answering", &Search::top(3))?;
/// assert_eq!(ranking.hits().len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SearchTask {
    entry: TaskEntry,
    data: TaskData,
    queries: Vec<Query>,
    hashes: FileHashes,
    session: Session,
}

impl std::fmt::Debug for SearchTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchTask")
            .field("data", &self.data)
            .field("queries", &self.queries.len())
            .finish_non_exhaustive()
    }
}

impl SearchTask {
    /// Reads and hashes the documents of a collection, in the order of `spec`. `queries` are the
    /// queries to search; the collection needs neither queries nor judgments. If the system or a
    /// part of `spec` learns from training queries, they are the split `train` of the collection.
    ///
    /// # Errors
    /// Returns a [`SpecError`] if the documents or the training queries cannot be read, or the
    /// observer requested a stop.
    pub fn open(
        mut entry: TaskEntry,
        collection: Collection,
        queries: Vec<Query>,
        spec: &SystemSpec,
        runner: &Runner<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Self, SpecError> {
        let learns = spec.systems.iter().any(|entry| {
            let parsed = runner.registry.parse(&entry.kind, &entry.parameters);
            parsed.is_ok_and(|parsed| parsed.system.uses_training())
        });
        entry.document_order = Some(spec.document_order);
        if learns && entry.training.is_none() {
            entry.training = Some(QuerySet {
                collection: None,
                split: TRAIN.to_owned(),
                query: None,
            });
        }
        let conditions = Experiment {
            systems: spec.systems.clone(),
            ..Experiment::new(entry.clone())
        };
        let collection = Arc::new(with_split(collection, &entry.split));
        // Warnings name the file of the system.
        let conditions = conditions.conditions().into_iter();
        let conditions: Vec<_> = conditions
            .map(|(key, condition)| (spec.source.located_key(&key), condition))
            .collect();
        let source = SourceMap::default();
        let at = (&source, "tasks[0].collection");
        let read = (&entry, spec.document_order);
        let documents = Documents::read(read, collection, &conditions, at, observer)?;
        let of_the_task = Experiment::new(entry.clone());
        let data = TaskData::open(&of_the_task, 0, Some(Arc::new(documents)), observer)?;
        warn_of_operators(&entry, &queries, &spec.systems, observer);
        Ok(Self {
            entry,
            data,
            queries,
            hashes: FileHashes::default(),
            session: Session::default(),
        })
    }

    /// Opens the system of a file. Systems that open one after another share indexes, models and
    /// vectors; of two points of a grid, for example.
    ///
    /// # Errors
    /// Returns a [`SpecError`] if a parameter is invalid, data are missing, a stage failed, or the
    /// observer requested a stop.
    pub fn system(
        &mut self,
        spec: &SystemSpec,
        runner: &Runner<'_>,
        observer: &mut dyn Observer,
    ) -> Result<OpenSystem, SpecError> {
        spec.validate(runner.registry)?;
        let at = (spec.systems.iter()).rposition(|entry| !entry.hidden);
        let at = at.unwrap_or_default();
        if spec.root().is_some_and(|root| root.kind == RUN) {
            let message = "expected a system that searches, found a run";
            return Err(spec.source.error(&format!("systems[{at}].type"), message));
        }
        let experiment = Experiment {
            systems: spec.systems.clone(),
            encoders: spec.encoders.clone(),
            source: spec.source.clone(),
            ..Experiment::new(self.entry.clone())
        };
        experiment.validate(runner.registry)?;
        self.session.close_systems();
        let (data, hashes, session) = (&self.data, &self.hashes, &mut self.session);
        let searched = SearchedQueries {
            task: data,
            queries: &self.queries,
        };
        let mut task = TaskRun::new(runner, &experiment, data, hashes, session, observer);
        task.open(at, Some(&searched))
    }

    /// Attributes of the documents with these ids, in their order.
    ///
    /// # Errors
    /// Returns a [`SpecError`] if the documents cannot be read.
    pub fn attributes(&self, ids: &DocIds) -> Result<Vec<Attributes>, SpecError> {
        let source = SourceMap::default();
        let failed = |error| source.system_error("tasks[0]", error);
        attributes(&self.data, ids).map_err(failed)
    }

    /// Documents with these ids, by id. Of records with the same id, the first.
    ///
    /// # Errors
    /// Returns a [`SpecError`] if the documents cannot be read.
    pub fn documents(&self, ids: &HashSet<&str>) -> Result<HashMap<String, Document>, SpecError> {
        let mut by_id = HashMap::new();
        let read = read_documents(&self.data, |document| {
            if ids.contains(document.id.as_str()) && !by_id.contains_key(&document.id) {
                by_id.insert(document.id.clone(), document.clone());
            }
        });
        let source = SourceMap::default();
        read.map_err(|error| source.system_error("tasks[0]", error))?;
        Ok(by_id)
    }
}

/// Split with the training queries of a collection.
const TRAIN: &str = "train";

/// Attributes of the documents with these ids; of repeated ids, in the order of their records.
fn attributes(data: &TaskData, ids: &DocIds) -> Result<Vec<Attributes>, SystemError> {
    let mut all = Vec::with_capacity(data.documents.ids.len());
    read_documents(data, |document| all.push(document.attributes.clone()))?;
    let records = data.documents.records(ids);
    let attributes = records.map(|record| all.get(record?.index()).cloned());
    Ok(attributes.map(Option::unwrap_or_default).collect())
}

/// Calls `each` with every document.
fn read_documents(data: &TaskData, mut each: impl FnMut(&Document)) -> Result<(), SystemError> {
    let failed = SystemError::stage("reading");
    let mut reader = data.documents.corpus().open().map_err(failed)?;
    let mut document = Document::default();
    while reader
        .read(&mut document)
        .map_err(SystemError::stage("reading"))?
    {
        each(&document);
    }
    Ok(())
}
