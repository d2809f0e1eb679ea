//! Systems of commands: on an index that the command has opened, or on documents.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result};
use ir_bm25::feedback::Feedback;
use ir_bm25::{IndexConfig, SegmentedIndex};
use ir_core::store::Verify;
use ir_core::{Attributes, Corpus, DocIds, Document, Predicate, Query};
use ir_data::catalog::Catalog;
use ir_data::{Collection, TextEncoding};
use ir_experiment::{Runner, SearchTask, TaskEntry};
use ir_system::{
    Cache, FilterName, IndexData, OpenReranker, OpenSystem, Registry, Resources, SourceMap,
    SpecError, SystemData, SystemEntry, SystemError, SystemSpec,
};

use crate::shared::console::{Console, Usage};
use crate::shared::experiment::{ConsoleObserver, failure};
use crate::shared::feedback_collection::FeedbackCollection;
use crate::shared::filter::{NamedConditions, QueryFilters};
use crate::shared::format::counted;
use crate::shared::indexing::IndexOptions;
use crate::shared::output::OutputPath;

/// How the collection of feedback documents is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OtherCollections<'a> {
    pub(crate) encoding: TextEncoding,
    pub(crate) verify: Verify,
    /// How documents are indexed: as those that are searched.
    pub(crate) setup: &'a IndexOptions,
    pub(crate) threads: Option<usize>,
}

/// Data of a search: the documents of an index, and other collections as the command opens them.
struct SearchData<'a> {
    index: IndexData,
    others: OtherCollections<'a>,
    /// Paths of other collections are relative to the file of the system.
    source: SourceMap,
    /// The collection of which the index was built, if its documents can be read again.
    collection: Option<&'a Collection>,
    /// Verification of saved vectors.
    verify: Verify,
    console: &'a Console,
}

impl SystemData for SearchData<'_> {
    fn name(&self) -> &str {
        self.index.name()
    }

    fn corpus(&self) -> &dyn Corpus {
        self.index.corpus()
    }

    fn ids(&self) -> &DocIds {
        self.index.ids()
    }

    fn corpus_hash(&self) -> &str {
        self.index.corpus_hash()
    }

    fn attributes(&self) -> &BTreeSet<String> {
        self.index.attributes()
    }

    fn collection(&self) -> Option<&Collection> {
        None
    }

    fn queries(&self) -> &[Query] {
        self.index.queries()
    }

    fn all_queries(&self) -> Result<Vec<Query>, SystemError> {
        self.index.all_queries()
    }

    fn split(&self) -> &str {
        self.index.split()
    }

    fn text_of(&self, query: &Query) -> String {
        self.index.text_of(query)
    }

    fn index(&self) -> Option<&SegmentedIndex> {
        self.index.index()
    }

    fn all_documents(&self) -> Option<&dyn Corpus> {
        self.collection.map(Collection::corpus)
    }

    fn verification(&self) -> Verify {
        self.verify
    }

    fn other_index(
        &self,
        name: &str,
        config: &IndexConfig,
    ) -> Option<Result<SegmentedIndex, SystemError>> {
        const KEY: &str = "feedback_collection";
        let resolved = match Catalog::from_env().entry(name) {
            Ok(_) => name.to_owned(),
            Err(_) => match self.source.resolve(KEY, name) {
                // A path of the current folder is not a path of the file.
                Ok(path) if path.exists() || Path::new(name).exists() => {
                    path.to_string_lossy().into_owned()
                }
                Ok(_) => name.to_owned(),
                Err(error) => return Some(Err(error)),
            },
        };
        let collection = FeedbackCollection {
            name: &resolved,
            encoding: self.others.encoding,
            verify: self.others.verify,
            setup: self.others.setup,
            positions: config.positions,
            threads: self.others.threads,
        };
        let opened = collection.open(self.console);
        Some(opened.map_err(|error| SystemError::parameter(KEY, format!("{error:#}"))))
    }
}

/// Documents or the index that a system searches.
enum SearchedDocuments<'a> {
    /// An index that is searched in place of one that the system describes.
    Index(Box<SearchData<'a>>, Box<Resources>),
    /// Documents that the system indexes as it describes, as in an experiment.
    Documents(Box<SearchTask>, Cache),
}

/// Opens systems on an index or on documents. Systems share indexes, models and vectors of words.
pub(crate) struct SystemOpener<'a> {
    documents: SearchedDocuments<'a>,
    registry: Registry,
    console: &'a Console,
}

impl<'a> SystemOpener<'a> {
    /// `cache` is the folder of the vectors of words.
    pub(crate) fn new(
        name: &str,
        index: &SegmentedIndex,
        queries: &[Query],
        cache: Option<&OutputPath>,
        others: OtherCollections<'a>,
        console: &'a Console,
    ) -> Result<Self> {
        let data = SearchData {
            index: IndexData::new(name, index.clone(), queries.to_vec()),
            others,
            source: SourceMap::default(),
            collection: None,
            verify: Verify::AllSections,
            console,
        };
        let resources = Resources::new(open_cache(cache)?);
        Ok(Self {
            documents: SearchedDocuments::Index(Box::new(data), Box::new(resources)),
            registry: Registry::default(),
            console,
        })
    }

    /// Searches saved vectors of the documents of the index: compares them with the documents of
    /// `collection`, if it is given, and encodes queries with `backend`. Files are opened with the
    /// verification of other collections.
    #[cfg(feature = "dense")]
    pub(crate) fn with_vectors(
        mut self,
        collection: Option<&'a Collection>,
        backend: Option<ir_dense::Backend>,
    ) -> Self {
        if let SearchedDocuments::Index(data, resources) = &mut self.documents {
            data.collection = collection;
            data.verify = data.others.verify;
            resources.set_backend(backend.unwrap_or_default());
        }
        self
    }

    /// Opens systems on the documents of a collection, for these queries. `split` is the split of
    /// the queries, if they are of the collection. Conditions of `spec` that name unknown
    /// attributes are warnings.
    pub(crate) fn on_documents(
        collection: Collection,
        queries: &[Query],
        split: Option<&str>,
        spec: &SystemSpec,
        cache: Option<&OutputPath>,
        console: &'a Console,
    ) -> Result<Self> {
        let mut task = TaskEntry::new(collection.name());
        if let Some(split) = split {
            split.clone_into(&mut task.split);
        }
        let (cache, registry) = (open_cache(cache)?, Registry::default());
        let mut observer = ConsoleObserver::new(console);
        let opened = SearchTask::open(
            task,
            collection,
            queries.to_vec(),
            spec,
            &Runner::new(&cache, &registry),
            &mut observer,
        );
        observer.finish();
        let task = opened.map_err(failure)?;
        Ok(Self {
            documents: SearchedDocuments::Documents(Box::new(task), cache),
            registry,
            console,
        })
    }

    /// Opens a system. Errors of parameters name their options.
    pub(crate) fn open(&mut self, spec: &SystemSpec) -> Result<OpenSystem> {
        let mut observer = ConsoleObserver::new(self.console);
        let registry = &self.registry;
        let opened = match &mut self.documents {
            SearchedDocuments::Index(data, resources) => {
                data.source.clone_from(&spec.source);
                let opened = spec.open_on(registry, &**data, resources, &mut observer);
                opened.map_err(opening_error)
            }
            SearchedDocuments::Documents(task, cache) => {
                let opened = task.system(spec, &Runner::new(cache, registry), &mut observer);
                opened.map_err(failure)
            }
        };
        observer.finish();
        opened
    }

    /// Attributes of the documents with these ids. `None` on an index, which has them itself.
    pub(crate) fn attributes(&self, ids: &DocIds) -> Result<Option<Vec<Attributes>>> {
        match &self.documents {
            SearchedDocuments::Index(..) => Ok(None),
            SearchedDocuments::Documents(task, _) => {
                Ok(Some(task.attributes(ids).map_err(failure)?))
            }
        }
    }

    /// Filters of the system to search, for documents with these ids.
    pub(crate) fn filters(&self, spec: &SystemSpec, ids: &DocIds) -> Result<QueryFilters> {
        let root = spec.root().context("expected a system")?;
        let has_years = root.filter.is_some_and(|filter| filter != FilterName::None);
        let (all, console) = (root.condition.as_slice(), self.console);
        match &self.documents {
            SearchedDocuments::Index(data, _) => {
                let index = data.index.index().context("expected an index")?;
                let source = key_of_conditions(spec);
                let conditions = NamedConditions {
                    source: &source,
                    all,
                };
                QueryFilters::new(index, conditions, has_years, data.name(), console)
            }
            SearchedDocuments::Documents(task, _) => {
                // The documents are read again.
                let attributes = if has_years || !all.is_empty() {
                    task.attributes(ids).map_err(failure)?
                } else {
                    Vec::new()
                };
                let condition = Predicate::All(all.to_vec());
                let filters =
                    QueryFilters::of_documents(ids, &attributes, &condition, has_years, console);
                Ok(filters)
            }
        }
    }

    /// Documents with these ids, by id. Empty on an index, which has them itself.
    pub(crate) fn documents(&self, ids: &HashSet<&str>) -> Result<HashMap<String, Document>> {
        match &self.documents {
            SearchedDocuments::Index(..) => Ok(HashMap::new()),
            SearchedDocuments::Documents(task, _) => task.documents(ids).map_err(failure),
        }
    }

    /// The index that is searched; `None` if systems index the documents as they describe.
    pub(crate) fn index(&self) -> Option<&SegmentedIndex> {
        match &self.documents {
            SearchedDocuments::Index(data, _) => data.index.index(),
            SearchedDocuments::Documents(..) => None,
        }
    }
}

/// Key of the system to search, such as `systems[1].where`.
pub(crate) fn key_of_root(spec: &SystemSpec, key: &str) -> String {
    let is_root = |system: &SystemEntry| !system.hidden;
    let at = spec.systems.iter().rposition(is_root);
    format!("systems[{}].{key}", at.unwrap_or_default())
}

/// Key of the conditions of the system to search, with its place in the file.
fn key_of_conditions(spec: &SystemSpec) -> String {
    spec.source.located_key(&key_of_root(spec, "where"))
}

/// Warns about queries with fewer hits than feedback documents, if there are any. `source` is the
/// option or key of the feedback.
pub(crate) fn warn_of_short_queries(feedback: Option<&Feedback>, source: &str, console: &Console) {
    let Some(feedback) = feedback else {
        return;
    };
    let (short, docs) = (feedback.short_queries(), feedback.model().docs());
    if short > 0 {
        console.warn(format_args!(
            "{source}: {short} of the queries have fewer hits than the {docs} feedback documents; all hits are used"
        ));
    }
}

/// Prints the number of candidates that are longer than a model of a reranking, if there are any.
pub(crate) fn note_long_documents(rerankers: &[OpenReranker], console: &Console) {
    let count: u64 = rerankers.iter().map(OpenReranker::long_documents).sum();
    if count > 0 {
        let count = counted(count, "candidate");
        console.log(format_args!(
            "note: {count} longer than the model: truncated, or scored by windows"
        ));
    }
}

/// Cache in a folder, or a temporary one.
fn open_cache(folder: Option<&OutputPath>) -> Result<Cache> {
    Ok(match folder {
        Some(folder) => Cache::new(folder.folder()),
        None => Cache::temporary()?,
    })
}

/// Options of which the model may not accept the value.
const OF_THE_MODEL: [&str; 2] = ["--max-tokens", "--precision"];

/// Error of opening a system on an index.
fn opening_error(error: SpecError) -> anyhow::Error {
    if let SpecError::Key { key, .. } = &error
        && OF_THE_MODEL.contains(&key.as_str())
    {
        return Usage(error.to_string()).into();
    }
    match error {
        SpecError::Stage {
            location,
            key,
            stage,
            source,
        } => {
            let error = anyhow::Error::from_boxed(source);
            match location.path {
                // The key is only the first option of the system.
                None => error.context(stage),
                Some(_) => error.context(format!("{location}{key}: {stage} failed")),
            }
        }
        SpecError::Canceled => crate::shared::signals::Interrupted.into(),
        other => other.into(),
    }
}
