//! Systems: what a type of systems implements, and what it gets from the experiment.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_bm25::{Index, IndexConfig};
use ir_core::store::{OpenIndexError, Verify};
use ir_core::{Corpus, Flow, Retriever, Run};
use ir_data::{Collection, DocTemplate, TemplatedCorpus};
use ir_knn::TrainingQuery;
use serde_json::{Value, json};

use crate::cache::{CACHE_VERSION, Cache, Stage};
use crate::error::{ExperimentError, SystemError};
use crate::file::SourceMap;
use crate::hash::ContentHash;
use crate::lookup::{Lookup, find_or_lock};
use crate::observer::{Observer, StageReport, StageStatus};
use crate::queries::{JudgedSet, TrainingSet};
use crate::registry::ParsedSystem;
#[cfg(feature = "dense")]
use crate::systems::SharedEncoder;
use crate::systems::{EncoderEntry, FittedExpansion};
use crate::task::{TaskData, open_named};

/// Type of systems: parameters, read with serde, and the retriever that they configure.
///
/// [`Registry::register`](crate::Registry::register) gives it a name; an example is there.
pub trait System: fmt::Debug + Send + Sync {
    /// Checks the parameters, without reading data.
    ///
    /// # Errors
    /// [`SystemError::Parameter`] with the key of the invalid parameter.
    fn check(&self) -> Result<(), SystemError> {
        Ok(())
    }

    /// Names of other systems that are parts of this one, with the keys that name them.
    fn inputs(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Whether the system learns from the training queries of the task.
    fn uses_training(&self) -> bool {
        false
    }

    /// Maximum number of hits, if the system has one: the candidates of a reranking.
    fn max_hits(&self) -> Option<usize> {
        None
    }

    /// Files that the system reads, with the keys that name them; outputs must not replace them.
    fn files(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Names of entries of `[encoders]` that the system uses, with the keys that name them.
    fn encoders(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Hash of the content of the files that the system reads. Part of the cache key of its runs.
    ///
    /// # Errors
    /// A file is missing or cannot be read.
    fn content(&self, _context: &SystemContext<'_>) -> Result<String, SystemError> {
        Ok(String::new())
    }

    /// Cached stages that opening the system needs, for plans.
    ///
    /// # Errors
    /// As [`System::open`].
    fn stages(&self, _context: &SystemContext<'_>) -> Result<Vec<StageReport>, SystemError> {
        Ok(Vec::new())
    }

    /// Returns a run that exists, of a system that does not search. Default: `None`.
    ///
    /// # Errors
    /// The run cannot be read.
    fn run(&self, _context: &mut SystemContext<'_>) -> Result<Option<Run>, SystemError> {
        Ok(None)
    }

    /// Builds the retriever.
    ///
    /// # Errors
    /// Data are missing, or a stage failed.
    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError>;
}

/// Retriever of text queries, shared between systems.
pub type SharedRetriever = Arc<dyn Retriever<Query = str>>;

/// Open system: a retriever that returns every document id once.
#[derive(Clone)]
pub struct OpenSystem {
    /// Retriever that returns every document id once.
    pub retriever: SharedRetriever,
    /// Retriever that may return an id more than once, for DataFinder's published filter.
    pub with_duplicates: Option<SharedRetriever>,
}

impl fmt::Debug for OpenSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenSystem")
            .field("documents", &self.retriever.ids().len())
            .finish_non_exhaustive()
    }
}

impl OpenSystem {
    /// Creates an open system from a retriever that returns every document id once.
    pub fn new(retriever: SharedRetriever) -> Self {
        Self {
            retriever,
            with_duplicates: None,
        }
    }
}

/// System with its parameters, and the same of all its parts.
#[derive(Debug, Clone)]
pub(crate) struct PreparedSystem {
    /// Key of the system in the file, such as `systems[0]`.
    pub(crate) at: String,
    pub(crate) parsed: Arc<ParsedSystem>,
    pub(crate) kind: String,
    /// Parameters in one line, for messages.
    pub(crate) label: String,
    /// Names of the parts.
    pub(crate) inputs: Vec<String>,
}

/// Opened indexes, vectors and systems by cache key, and encoders by configuration and content of
/// their files. Tasks with the same documents share all but the systems.
#[derive(Default)]
pub(crate) struct Session {
    indexes: HashMap<String, Arc<Index>>,
    expansions: HashMap<String, FittedExpansion>,
    #[cfg(feature = "dense")]
    pub(crate) vectors: HashMap<String, Arc<ir_knn::FlatIndex>>,
    #[cfg(feature = "dense")]
    pub(crate) encoders: HashMap<String, SharedEncoder>,
    systems: HashMap<String, OpenSystem>,
}

impl Session {
    /// Closes the systems, which depend on the queries of a task.
    pub(crate) fn close_systems(&mut self) {
        self.systems.clear();
    }
}

/// Task, training queries and other systems, for [`System::open`].
pub struct SystemContext<'a> {
    pub(crate) task: &'a TaskData,
    pub(crate) training: Option<&'a TrainingSet>,
    /// Validation queries, while a selection searches them; no system may learn from them.
    pub(crate) validation: Option<Validation<'a>>,
    pub(crate) encoders: &'a BTreeMap<String, EncoderEntry>,
    pub(crate) source: &'a SourceMap,
    pub(crate) cache: &'a Cache,
    pub(crate) systems: &'a BTreeMap<String, PreparedSystem>,
    pub(crate) hashes: &'a FileHashes,
    pub(crate) session: &'a mut Session,
    pub(crate) observer: &'a mut dyn Observer,
}

/// Validation queries of a split.
#[derive(Clone, Copy)]
pub(crate) struct Validation<'a> {
    pub(crate) split: &'a str,
    #[cfg_attr(not(feature = "dense"), allow(dead_code))]
    pub(crate) set: &'a JudgedSet,
}

/// Hashes of files, each computed once.
#[derive(Debug, Default)]
pub(crate) struct FileHashes {
    files: RefCell<HashMap<PathBuf, String>>,
    /// Of the documents of collections, by name.
    collections: RefCell<HashMap<String, String>>,
}

impl FileHashes {
    pub(crate) fn get(&self, path: &Path) -> io::Result<String> {
        if let Some(hash) = self.files.borrow().get(path) {
            return Ok(hash.clone());
        }
        let hash = file_hash(path)?;
        self.files
            .borrow_mut()
            .insert(path.to_owned(), hash.clone());
        Ok(hash)
    }
}

/// Hash of the content of a file.
pub(crate) fn file_hash(path: &Path) -> io::Result<String> {
    let mut hash = ContentHash::default();
    hash.file(&mut File::open(path)?)?;
    Ok(hash.finish())
}

impl fmt::Debug for SystemContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemContext")
            .field("task", &self.task)
            .finish_non_exhaustive()
    }
}

impl SystemContext<'_> {
    /// Returns the task with its documents and queries.
    #[must_use]
    pub const fn task(&self) -> &TaskData {
        self.task
    }

    /// Returns the labeled training queries of the task. During a selection on validation queries,
    /// these are not among them.
    ///
    /// # Errors
    /// The task has none, or all of them validate.
    pub fn training(&self) -> Result<&[TrainingQuery], SystemError> {
        let Some(training) = self.training else {
            let name = self.task.name();
            let message = format!(
                "expected training queries: training = {{ split = \"train\" }} in task {name:?}"
            );
            return Err(SystemError::parameter("type", message));
        };
        self.check_validation(training.queries.is_empty())?;
        Ok(&training.queries)
    }

    /// Returns an error if a selection leaves no query to learn from.
    pub(crate) fn check_validation(&self, is_empty: bool) -> Result<(), SystemError> {
        let Some(validation) = self.validation.filter(|_| is_empty) else {
            return Ok(());
        };
        let message = format!(
            "expected training queries that do not validate, found none: all of split {:?} \
             validates; set selection.fraction, such as fraction = 0.2",
            validation.split
        );
        Err(self.source.error("selection.split", message).into())
    }

    /// Returns the receiver of progress and notes.
    pub fn observer(&mut self) -> &mut dyn Observer {
        self.observer
    }

    /// Resolves the path of a parameter: `$NAME` at its start is an environment variable, and a
    /// relative path is relative to the experiment file.
    ///
    /// # Errors
    /// The variable is not set.
    pub fn resolve(&self, key: &str, path: &str) -> Result<PathBuf, SystemError> {
        self.source.resolve(key, path)
    }

    /// Hash of the content of a file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn file_hash(&self, path: &Path) -> Result<String, SystemError> {
        let hash = self.hashes.get(path);
        hash.map_err(|error| {
            let message = format!("{}: cannot be read: {error}", path.display());
            SystemError::parameter("", message)
        })
    }

    /// Opens another system of the experiment by its name. Systems are opened once.
    ///
    /// # Errors
    /// As [`System::open`]; the error names the key of that system.
    pub fn system(&mut self, name: &str) -> Result<OpenSystem, SystemError> {
        let Some(prepared) = self.systems.get(name).cloned() else {
            let message = format!(
                "expected a system with selected parameters, found {name:?}; a grid inside of \
                 another system needs [selection] by = \"validation\""
            );
            return Err(SystemError::parameter("", message));
        };
        let located = |source: &SourceMap, error| source.system_error(&prepared.at, error);
        let key = self.system_key(name)?;
        if let Some(open) = self.session.systems.get(&key) {
            return Ok(open.clone());
        }
        let open = prepared.parsed.system.open(self);
        let open = open.map_err(|error| located(self.source, error))?;
        self.session.systems.insert(key, open.clone());
        Ok(open)
    }

    /// Hash of everything that the rankings of a system depend on, besides queries and search
    /// parameters.
    pub(crate) fn system_key(&self, name: &str) -> Result<String, SystemError> {
        let value = self.canonical(name)?;
        Ok(self.key(Stage::Run, &value.to_string()))
    }

    /// Parameters and file contents of a system and all its parts.
    fn canonical(&self, name: &str) -> Result<Value, SystemError> {
        let Some(prepared) = self.systems.get(name) else {
            let message = format!("expected a system with selected parameters, found {name:?}");
            return Err(SystemError::parameter("", message));
        };
        let system = &prepared.parsed.system;
        let content = system.content(self);
        let content = content.map_err(|error| self.source.system_error(&prepared.at, error))?;
        let training = match (system.uses_training(), self.training) {
            (true, Some(training)) => training.hash.as_str(),
            _ => "",
        };
        let mut parts = Vec::new();
        for input in &prepared.inputs {
            parts.push(json!([input, self.canonical(input)?]));
        }
        Ok(json!({
            "type": prepared.kind,
            "parameters": prepared.parsed.parameters,
            "content": content,
            "training": training,
            "parts": parts,
        }))
    }

    /// Creates the key of a cache entry from a description of its parameters. The documents of the
    /// task, the stage and the versions are part of it.
    #[must_use]
    pub fn key(&self, stage: Stage, parameters: &str) -> String {
        self.key_of(self.task.corpus_hash(), stage, parameters)
    }

    /// The key of a cache entry for documents with a hash.
    pub(crate) fn key_of(&self, documents: &str, stage: Stage, parameters: &str) -> String {
        let mut hash = ContentHash::default();
        hash.number(i64::from(CACHE_VERSION))
            .text(env!("CARGO_PKG_VERSION"))
            .text(stage.name())
            .text(documents)
            .text(parameters);
        hash.finish()
    }

    /// Report of a cached stage, without computing it.
    pub(crate) fn planned(&self, stage: Stage, key: &str, description: &str) -> StageReport {
        let status = match self.cache.path(stage, key).exists() {
            true => StageStatus::Cached,
            false => StageStatus::ToDo,
        };
        self.report(stage, key, description, status)
    }

    pub(crate) fn report(
        &self,
        stage: Stage,
        key: &str,
        description: &str,
        status: StageStatus,
    ) -> StageReport {
        StageReport {
            task: self.task.name.clone(),
            stage,
            description: description.to_owned(),
            key: key.to_owned(),
            status,
        }
    }

    /// Opens a stage from the cache, or computes it. `open` reads the entry at a path, which
    /// `compute` writes there atomically. A damaged entry is computed again. While another process
    /// or thread computes the entry, waits for it.
    ///
    /// # Errors
    /// As `compute`, and if the new entry cannot be read.
    pub fn cached<T>(
        &mut self,
        stage: Stage,
        key: &str,
        description: &str,
        open: impl Fn(&Path) -> Result<T, OpenIndexError>,
        compute: impl FnOnce(&mut Self, &Path) -> Result<(), SystemError>,
    ) -> Result<T, SystemError> {
        let path = self.cache.writable_path(stage, key)?;
        let task = &self.task.name;
        let looked_up = find_or_lock(
            &path,
            &format!("{task}: {description}"),
            self.observer,
            || path.exists().then(|| open(&path)).transpose(),
        )?;
        let (status, lock) = match looked_up {
            Lookup::ToCompute { status, lock } => (status, lock),
            Lookup::Found(found) => {
                let report = self.report(stage, key, description, StageStatus::Cached);
                self.observer.stage(&report);
                return Ok(found);
            }
        };
        compute(self, &path)?;
        drop(lock);
        let found = open(&path).map_err(SystemError::stage("reading the cache"))?;
        let report = self.report(stage, key, description, status);
        self.observer.stage(&report);
        Ok(found)
    }

    /// Checks that the documents of the task have the fields of a template.
    #[cfg_attr(not(feature = "dense"), allow(dead_code))]
    pub(crate) fn check_template(&self, template: &DocTemplate) -> Result<(), SystemError> {
        let invalid = |error| SystemError::template("reading documents", error);
        template.check(self.task.corpus()).map_err(invalid)
    }

    /// Cache key and description of the index of a configuration.
    pub(crate) fn index_stage(
        &self,
        config: &IndexConfig,
        template: Option<&DocTemplate>,
    ) -> Result<(String, String), SystemError> {
        self.index_stage_of(self.task.corpus_hash(), config, template)
    }

    fn index_stage_of(
        &self,
        documents: &str,
        config: &IndexConfig,
        template: Option<&DocTemplate>,
    ) -> Result<(String, String), SystemError> {
        let parameters = serde_json::to_string(config);
        let mut parameters = parameters.map_err(SystemError::stage("serialization"))?;
        let mut description = format!("BM25 index, analyzer {}", config.analysis);
        if let Some(template) = template {
            parameters.push_str(&format!("\n{template}"));
            description.push_str(&format!(", template {template}"));
        }
        Ok((
            self.key_of(documents, Stage::Index, &parameters),
            description,
        ))
    }

    /// Opens the BM25 index of the documents, or builds it. With a template, the text of a document
    /// is rendered by it.
    ///
    /// # Errors
    /// The documents cannot be read or indexed, none has a field of the template, or the progress
    /// receiver requested a stop.
    pub fn index(
        &mut self,
        config: &IndexConfig,
        template: Option<&DocTemplate>,
    ) -> Result<Arc<Index>, SystemError> {
        let stage = self.index_stage(config, template)?;
        self.opened_index(stage, self.task.corpus(), config, template)
    }

    /// Opens the BM25 index of another collection, by name or folder, or builds it.
    pub(crate) fn index_of_collection(
        &mut self,
        key: &str,
        name: &str,
        config: &IndexConfig,
        template: Option<&DocTemplate>,
    ) -> Result<Arc<Index>, SystemError> {
        let stage = self.index_stage_of_collection(key, name, config, template)?;
        let collection = self.collection(key, name)?;
        self.opened_index(stage, collection.corpus(), config, template)
    }

    /// Cache key and description of the index of another collection.
    pub(crate) fn index_stage_of_collection(
        &self,
        key: &str,
        name: &str,
        config: &IndexConfig,
        template: Option<&DocTemplate>,
    ) -> Result<(String, String), SystemError> {
        let hash = self.collection_hash(key, name)?;
        let (stage, description) = self.index_stage_of(&hash, config, template)?;
        Ok((stage, format!("{description}, of {name}")))
    }

    fn collection(&self, key: &str, name: &str) -> Result<Collection, SystemError> {
        let resolve = || self.resolve(key, name);
        let opened = open_named(name, resolve)?;
        opened.map_err(|error| match error.is_missing() {
            true => SystemError::missing(key, error.to_string()),
            false => SystemError::parameter(key, error.to_string()),
        })
    }

    /// Hash of the documents of a collection, by name or folder.
    pub(crate) fn collection_hash(&self, key: &str, name: &str) -> Result<String, SystemError> {
        if let Some(hash) = self.hashes.collections.borrow().get(name) {
            return Ok(hash.clone());
        }
        let collection = self.collection(key, name)?;
        let mut hash = ContentHash::default();
        let documents = collection.corpus().docs();
        for document in documents.map_err(SystemError::stage("reading documents"))? {
            let doc = document.map_err(SystemError::stage("reading documents"))?;
            hash.text(&doc.id).text(&doc.title).text(&doc.text);
            let attributes = serde_json::to_string(&doc.attributes).unwrap_or_default();
            hash.text(&attributes);
        }
        let hash = hash.finish();
        let mut known = self.hashes.collections.borrow_mut();
        known.insert(name.to_owned(), hash.clone());
        Ok(hash)
    }

    /// Fitted random indexing that another system has needed too.
    pub(crate) fn expansion(&self, key: &str) -> Option<FittedExpansion> {
        self.session.expansions.get(key).cloned()
    }

    pub(crate) fn keep_expansion(&mut self, key: String, fitted: FittedExpansion) {
        self.session.expansions.insert(key, fitted);
    }

    /// Sends progress to the observer, which may request a stop.
    pub(crate) fn report_progress(
        &mut self,
        phase: &str,
        done: u64,
        total: Option<u64>,
    ) -> Result<(), SystemError> {
        match self.observer.report(phase, done, total) {
            Flow::Stop => Err(ExperimentError::Canceled.into()),
            Flow::Continue => Ok(()),
        }
    }

    /// Opens the index of a stage, or builds it from documents.
    fn opened_index(
        &mut self,
        (key, description): (String, String),
        corpus: &dyn Corpus,
        config: &IndexConfig,
        template: Option<&DocTemplate>,
    ) -> Result<Arc<Index>, SystemError> {
        if let Some(index) = self.session.indexes.get(&key) {
            return Ok(index.clone());
        }
        let index = self.cached(
            Stage::Index,
            &key,
            &description,
            |path| Index::open_with(path, Verify::AllSections),
            |context, path| {
                let templated = template.map(|template| TemplatedCorpus::new(corpus, template));
                if let Some(template) = template {
                    let invalid = |error| SystemError::template("indexing", error);
                    template.check(corpus).map_err(invalid)?;
                }
                let corpus = match &templated {
                    Some(templated) => templated as &dyn Corpus,
                    None => corpus,
                };
                let index = Index::build(corpus, config, &mut *context.observer);
                let index = index.map_err(|error| match error {
                    ir_bm25::BuildError::Canceled => ExperimentError::Canceled.into(),
                    other => SystemError::stage("indexing")(other),
                })?;
                index.save(path).map_err(SystemError::stage("indexing"))
            },
        )?;
        let index = Arc::new(index);
        self.session.indexes.insert(key, index.clone());
        Ok(index)
    }
}
