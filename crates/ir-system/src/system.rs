//! Systems: what a type of systems implements, and the context in which a system is opened.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_bm25::StoredFields;
use ir_bm25::feedback::Feedback;
use ir_core::store::OpenIndexError;
use ir_core::{CandidateTexts, Encoder, Flow, Query, Reranker, Retriever, Run};
use ir_data::{Collection, DocTemplate};
use ir_knn::TrainingQuery;
use serde_json::{Value, json};

use crate::cache::{CACHE_VERSION, Cache, Stage};
use crate::entries::{EncoderEntry, TEACHER_SYSTEM};
use crate::error::{SpecError, SystemError};
use crate::hash::{ContentHash, FileHashes};
use crate::index_needs::IndexNeeds;
use crate::lookup::{Lookup, find_or_lock};
use crate::observer::{Observer, StageReport, StageStatus};
use crate::shared_rankings::{ClearedAfterSearch, SharedRankings, SharedSystem};
use crate::source::SourceMap;
use crate::system_data::SystemData;

/// Type of systems: parameters, read with serde, and the retriever that they configure.
///
/// [`Registry::register`](crate::Registry::register) gives it a name; an example is there.
pub trait System: fmt::Debug + Send + Sync {
    /// Checks the parameters, without reading data. The ranges of numbers are in the JSON Schema of
    /// the type, and [`Registry::parse`](crate::Registry::parse) checks them first;
    /// [`check_ranges`](crate::check_ranges) does for a value that was built in memory.
    ///
    /// # Errors
    /// [`SystemError::Parameter`] with the key of the invalid parameter.
    fn check(&self) -> Result<(), SystemError> {
        Ok(())
    }

    /// Names of other systems that are parts of this one, or the teacher of its model, with the
    /// keys that name them.
    fn inputs(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Returns `true` if the system learns from the training queries of the data.
    fn uses_training(&self) -> bool {
        false
    }

    /// What the system itself, without its parts, reads of an index of the collection, for programs
    /// that build one. Default: the texts and attributes of the documents, no positions.
    fn index_needs(&self) -> IndexNeeds {
        IndexNeeds {
            store: StoredFields::Everything,
            positions: false,
        }
    }

    /// Returns `true` if the system finds vectors of the queries in a file, by their ids: it
    /// searches the queries of the data only, not any text. Default: `false`.
    fn uses_query_ids(&self) -> bool {
        false
    }

    /// Maximum number of hits, if the system has one: the candidates of a reranking. `of_part`
    /// returns the maximum of a part by name.
    fn max_hits(&self, _of_part: &dyn Fn(&str) -> Option<usize>) -> Option<usize> {
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
    /// Data are missing, or a stage failed.
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
    /// Scoring model and feedback in words, for messages: `bm25(k1=0.9,b=0.4) with rm3(...)`.
    pub description: Option<String>,
    /// Feedback, which counts the queries with fewer hits than feedback documents.
    pub feedback: Option<Feedback>,
    /// Models of the rerankings of the system and its parts, each once, which count the documents
    /// that exceed their sequence length.
    pub rerankers: Vec<OpenReranker>,
    /// Model that encodes the queries for saved vectors, of the system or of its first part with
    /// one, for [`probe`](crate::saved_vectors::probe).
    pub query_encoder: Option<Arc<dyn Encoder>>,
    /// Model with which the type `rerank` scores its candidates; it scores any document.
    pub candidate_model: Option<CandidateModel>,
}

/// Model that scores documents, and their texts.
#[derive(Clone)]
pub struct CandidateModel {
    /// Scores candidates by their texts.
    pub reranker: OpenReranker,
    /// Texts of the documents; `None` for a model that reads vectors.
    pub texts: Option<Arc<dyn CandidateTexts>>,
}

impl fmt::Debug for CandidateModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CandidateModel").finish_non_exhaustive()
    }
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
            description: None,
            feedback: None,
            rerankers: Vec::new(),
            query_encoder: None,
            candidate_model: None,
        }
    }

    /// Returns the number of documents that exceeded the sequence length of a reranking model of
    /// the system: see [`OpenReranker::long_documents`].
    #[must_use]
    pub fn long_documents(&self) -> u64 {
        let counts = self.rerankers.iter().map(OpenReranker::long_documents);
        counts.sum()
    }

    /// Adds the reranking models of a part. Parts may share models.
    pub(crate) fn with_rerankers(mut self, others: impl IntoIterator<Item = OpenReranker>) -> Self {
        for other in others {
            let is_same =
                |it: &OpenReranker| Arc::ptr_eq(&it.long_documents, &other.long_documents);
            if !self.rerankers.iter().any(is_same) {
                self.rerankers.push(other);
            }
        }
        self
    }
}

/// Reranker with a model that is open, shared between systems.
#[derive(Clone)]
pub struct OpenReranker {
    /// Scores candidates by their texts.
    pub reranker: Arc<dyn Reranker<Query = str>>,
    pub(crate) long_documents: Arc<dyn Fn() -> u64 + Send + Sync>,
    pub(crate) teacher: Arc<dyn Fn() -> Arc<dyn Reranker<Query = str>> + Send + Sync>,
}

impl OpenReranker {
    /// Returns the number of documents that exceeded the sequence length of the model, so that they
    /// were truncated or split into windows, among all that were scored.
    #[must_use]
    pub fn long_documents(&self) -> u64 {
        (self.long_documents)()
    }

    /// Returns the model as a teacher of a distillation: its logits, without the activation
    /// function of a cross-encoder.
    #[must_use]
    pub fn teacher(&self) -> Arc<dyn Reranker<Query = str>> {
        (self.teacher)()
    }
}

impl fmt::Debug for OpenReranker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenReranker")
            .field("long_documents", &self.long_documents())
            .finish_non_exhaustive()
    }
}

/// System and all its parameters, defaults included.
#[derive(Debug)]
pub struct ParsedSystem {
    /// System with its parameters.
    pub system: Box<dyn System>,
    /// Parameters, part of the cache key of its runs.
    pub parameters: Value,
}

impl ParsedSystem {
    /// Names of the parts that a search needs: [`System::inputs`] without the teacher of a model.
    pub fn searched_inputs(&self) -> impl Iterator<Item = String> + use<> {
        let inputs = self.system.inputs().into_iter();
        let inputs = inputs.filter(|(key, _)| key != TEACHER_SYSTEM);
        inputs.map(|(_, name)| name)
    }
}

/// System with its parameters, ready to be opened by name.
#[derive(Debug, Clone)]
pub struct PreparedSystem {
    /// Key of the system in the file, such as `systems[0]`.
    pub at: String,
    /// System and its parameters.
    pub parsed: Arc<ParsedSystem>,
    /// Type of the system.
    pub kind: String,
    /// Name and parameters in one line, for messages.
    pub label: String,
    /// Names of the parts.
    pub inputs: Vec<String>,
    /// If `true`, its rankings are kept for the searches of other systems.
    pub is_shared: bool,
}

/// Labeled training queries and their hash.
#[derive(Debug, Clone, Default)]
pub struct TrainingSet {
    /// Queries with their relevant documents.
    pub queries: Vec<TrainingQuery>,
    /// Content hash of `queries`, for cache keys.
    pub hash: String,
}

impl TrainingSet {
    /// Creates a training set.
    #[must_use]
    pub fn new(queries: Vec<TrainingQuery>) -> Self {
        let mut hash = ContentHash::default();
        for query in &queries {
            hash.text(&query.id).text(&query.text);
            hash.number(query.relevant.len() as i64);
            for doc in &query.relevant {
                hash.text(doc);
            }
        }
        Self {
            queries,
            hash: hash.finish(),
        }
    }
}

/// What systems have opened, by cache key: indexes, models, vectors, systems. Systems of one
/// process that need the same share it.
#[derive(Default)]
pub struct Session {
    /// Values of any type.
    opened: HashMap<String, Arc<dyn Any + Send + Sync>>,
    systems: HashMap<String, OpenSystem>,
    /// Rankings of systems that are parts of several systems.
    rankings: Arc<SharedRankings>,
    /// Compute backend of encoders.
    #[cfg(feature = "dense")]
    pub(crate) backend: ir_dense::Backend,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("opened", &self.opened.len())
            .field("systems", &self.systems.len())
            .finish()
    }
}

impl Session {
    /// Closes the systems, which depend on the queries of the data.
    pub fn close_systems(&mut self) {
        self.systems.clear();
        self.rankings.clear();
    }

    /// Returns a retriever for any queries: rankings that parts share are kept during a search, not
    /// after it.
    #[must_use]
    pub fn for_single_searches(&self, retriever: SharedRetriever) -> SharedRetriever {
        Arc::new(ClearedAfterSearch {
            retriever,
            rankings: self.rankings.clone(),
        })
    }

    /// Returns the opened value of a type and a key.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self, key: &str) -> Option<Arc<T>> {
        self.opened.get(key)?.clone().downcast().ok()
    }

    /// Keeps an opened value for the systems that are opened later.
    pub fn keep<T: Any + Send + Sync>(&mut self, key: String, value: Arc<T>) {
        self.opened.insert(key, value);
    }
}

/// Data, training queries and other systems, for [`System::open`].
pub struct SystemContext<'a> {
    /// Documents and queries of the search.
    pub data: &'a dyn SystemData,
    /// Labeled training queries, if the data have some.
    pub training: Option<&'a TrainingSet>,
    /// Validation queries, while a selection searches them; no system may learn from them.
    pub validation: Option<Validation<'a>>,
    /// Entries of `[encoders]` by name.
    pub encoders: &'a BTreeMap<String, EncoderEntry>,
    /// Path and positions of the keys of the file.
    pub source: &'a SourceMap,
    /// Cache of indexes, vectors, models and runs.
    pub cache: &'a Cache,
    /// Systems by name, for [`SystemContext::system`].
    pub systems: &'a BTreeMap<String, PreparedSystem>,
    /// Hashes of files that were computed before.
    pub hashes: &'a FileHashes,
    /// What systems have opened.
    pub session: &'a mut Session,
    /// Receiver of progress and notes.
    pub observer: &'a mut dyn Observer,
}

/// Validation queries of a split.
#[derive(Debug, Clone, Copy)]
pub struct Validation<'a> {
    /// Split of the queries.
    pub split: &'a str,
    /// Queries on which the points of a grid are compared.
    pub queries: &'a [Query],
}

impl fmt::Debug for SystemContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemContext")
            .field("data", &self.data.name())
            .finish_non_exhaustive()
    }
}

impl SystemContext<'_> {
    /// Returns the labeled training queries of the task. During a selection on validation queries,
    /// these are not among them.
    ///
    /// # Errors
    /// The task has none, or all of them validate.
    pub fn training(&self) -> Result<&[TrainingQuery], SystemError> {
        let Some(training) = self.training else {
            let name = self.data.name();
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

    /// Returns the collection of the documents, for systems that learn from its queries.
    ///
    /// # Errors
    /// Returns the error of a key if the data are an index.
    pub fn collection_of(&self, key: &str) -> Result<&Collection, SystemError> {
        self.data.collection().ok_or_else(|| {
            let message = "expected a collection with labeled queries, found an index";
            SystemError::parameter(key, message)
        })
    }

    /// Sends a warning, once for all systems that are opened on these documents.
    pub(crate) fn warn_once(&mut self, warning: &str) {
        if self.is_new(warning) {
            self.observer.warning(warning);
        }
    }

    /// Sends a fact about the search, once for all systems that are opened on these documents.
    pub(crate) fn inform_once(&mut self, info: &str) {
        if self.is_new(info) {
            self.observer.info(info);
        }
    }

    /// Returns `true` for the first call with a message.
    fn is_new(&mut self, message: &str) -> bool {
        let key = format!("message {} {message}", self.data.corpus_hash());
        let is_new = self.session.get::<()>(&key).is_none();
        self.session.keep(key, Arc::new(()));
        is_new
    }

    /// Returns the receiver of progress and notes.
    pub fn observer(&mut self) -> &mut dyn Observer {
        self.observer
    }

    /// Resolves the path of a parameter: `$NAME` at its start is an environment variable, and a
    /// relative path is relative to the file of the system.
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
    /// Returns the error of [`System::open`], with the key of that system.
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
        let mut open = open.map_err(|error| located(self.source, error))?;
        if prepared.is_shared {
            let rankings = self.session.rankings.clone();
            let shared = SharedSystem::new(open.retriever, key.clone(), rankings);
            open.retriever = Arc::new(shared);
        }
        self.session.systems.insert(key, open.clone());
        Ok(open)
    }

    /// Hash of everything that the rankings of a system depend on, besides queries and search
    /// parameters.
    pub fn system_key(&self, name: &str) -> Result<String, SystemError> {
        self.key_with_parts(name, &mut HashMap::new())
    }

    /// [`Self::system_key`], computed once for each part. `known` has the keys of the parts so far.
    fn key_with_parts<'n>(
        &'n self,
        name: &'n str,
        known: &mut HashMap<&'n str, String>,
    ) -> Result<String, SystemError> {
        if let Some(key) = known.get(name) {
            return Ok(key.clone());
        }
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
            parts.push(json!([input, self.key_with_parts(input, known)?]));
        }
        // Parameters and file contents.
        let value = json!({
            "type": prepared.kind,
            "parameters": prepared.parsed.parameters,
            "content": content,
            "training": training,
            "parts": parts,
        });
        let key = self.key(Stage::Run, &value.to_string());
        known.insert(name, key.clone());
        Ok(key)
    }

    /// Creates the key of a cache entry from a description of its parameters. The documents of the
    /// task, the stage and the versions are part of it.
    #[must_use]
    pub fn key(&self, stage: Stage, parameters: &str) -> String {
        self.key_of(self.data.corpus_hash(), stage, parameters)
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
    pub fn planned(&self, stage: Stage, key: &str, description: &str) -> StageReport {
        let status = if self.cache.path(stage, key).exists() {
            StageStatus::Cached
        } else {
            StageStatus::ToDo
        };
        self.report(stage, key, description, status)
    }

    /// Returns the report of a stage of the data.
    #[must_use]
    pub fn report(
        &self,
        stage: Stage,
        key: &str,
        description: &str,
        status: StageStatus,
    ) -> StageReport {
        StageReport {
            task: self.data.name().to_owned(),
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
    /// Returns the error of `compute`, or of reading the new entry.
    pub fn cached<T>(
        &mut self,
        stage: Stage,
        key: &str,
        description: &str,
        open: impl Fn(&Path) -> Result<T, OpenIndexError>,
        compute: impl FnOnce(&mut Self, &Path) -> Result<(), SystemError>,
    ) -> Result<T, SystemError> {
        let path = self.cache.writable_path(stage, key)?;
        let task = self.data.name().to_owned();
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
        template.check(self.data.corpus()).map_err(invalid)
    }

    /// Sends progress to the observer, which may request a stop.
    pub(crate) fn report_progress(
        &mut self,
        phase: &str,
        done: u64,
        total: Option<u64>,
    ) -> Result<(), SystemError> {
        match self.observer.report(phase, done, total) {
            Flow::Stop => Err(SpecError::Canceled.into()),
            Flow::Continue => Ok(()),
        }
    }
}
