//! Opening a system of an experiment for other queries.

use std::collections::HashMap;

use ir_core::{Attributes, Document};
use ir_system::{FileHashes, Observer, Session, SharedRetriever, SpecError, SystemError};

use super::{Runner, TaskRun};
use crate::file::Experiment;
use crate::suggest::{did_you_mean, list_or_none};
use crate::task::TaskData;

/// System of an experiment that is open for any queries.
#[non_exhaustive]
pub struct SearchableSystem {
    /// Retriever of text queries.
    pub retriever: SharedRetriever,
    /// Attributes of the documents, in the order of the ids of the retriever.
    pub attributes: Vec<Attributes>,
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
        let order = ir_system::order(&experiment.systems, &experiment.source, self.registry)?;
        let (hashes, mut session) = (FileHashes::default(), Session::default());
        let data = TaskData::open(experiment, 0, None, observer)?;
        let mut task = TaskRun::new(self, experiment, &data, &hashes, &mut session, observer);
        let test = task.test_queries();
        task.searches = task.searches(vec![system.to_owned()]);
        for n in order {
            let entry = &experiment.systems[n];
            if !task.searches.contains_key(&entry.name) {
                continue;
            }
            if entry.grid.is_empty() {
                task.prepare(n, entry.parameters.clone())?;
            } else {
                task.select(n, test)?;
            }
        }
        let opened = task.context(test).system(system);
        let retriever = opened.map_err(|error| task.located(at, error))?.retriever;
        let retriever = task.session.for_single_searches(retriever);
        let attributes = attributes(&data, &retriever);
        let attributes = attributes.map_err(|error| task.located(at, error))?;
        Ok(SearchableSystem {
            retriever,
            attributes,
        })
    }
}

/// Attributes of the documents that a retriever finds, by their numbers in it.
fn attributes(
    data: &TaskData,
    retriever: &SharedRetriever,
) -> Result<Vec<Attributes>, SystemError> {
    let mut by_id = HashMap::new();
    let mut reader = data
        .documents
        .corpus()
        .open()
        .map_err(SystemError::stage("reading"))?;
    let mut document = Document::default();
    while reader
        .read(&mut document)
        .map_err(SystemError::stage("reading"))?
    {
        if !document.attributes.is_empty() {
            let attributes = document.attributes.clone();
            by_id.entry(document.id.clone()).or_insert(attributes);
        }
    }
    let ids = retriever.ids().iter();
    Ok(ids
        .map(|id| by_id.get(id).cloned().unwrap_or_default())
        .collect())
}
