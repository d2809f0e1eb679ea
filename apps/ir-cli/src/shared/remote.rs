//! Collections on servers: addresses, searches of text queries, systems of experiment files.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::ValueHint;
use ir_core::{
    Distinct, DocIds, DocNum, Encoded, PrecomputedEncoder, Predicate, Ranking, Retriever, Search,
    SearchError,
};
use ir_engines::{
    ClientConfig, CollectionRecord, Consistency, Credentials, ElasticCollection, ElasticTextIndex,
    ElasticVectorIndex, EngineAddress, EngineKind, MilvusApi, MilvusCollection, MilvusIndex,
    Recorder, RemoteError, ResultCache,
};
#[cfg(feature = "milvus-grpc")]
use ir_engines::{MilvusHybrid, MilvusTextIndex};
use ir_experiment::{OpenSystem, Registry, System, SystemContext, SystemError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shared::console::bail_usage;
use crate::shared::encoder::VectorOrigin;
use crate::shared::options::positive;
use crate::shared::output::OutputPath;
use crate::shared::query_vectors::QueryVectors;

/// Options of the client of a server.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct ClientOptions {
    /// Time limit of one attempt of a request to the server, in seconds [default: 120]
    #[arg(long, value_parser = seconds, value_name = "SECONDS", value_hint = ValueHint::Other)]
    pub(crate) engine_timeout: Option<Duration>,

    /// Attempts per request on transient failures, with exponential backoff from 0.5-1 s
    /// [default: 5]
    #[arg(long, value_parser = positive, value_name = "N")]
    pub(crate) engine_attempts: Option<usize>,

    /// Append requests and responses to a file, as JSON lines, for tests and error reports. Omits
    /// credentials and the address, but not the data; not for milvus+grpc
    #[arg(long, value_name = "FILE")]
    pub(crate) engine_record: Option<OutputPath>,
}

impl ClientOptions {
    fn config(&self) -> ClientConfig {
        let default = ClientConfig::default();
        let attempts = self.engine_attempts.map(u32::try_from);
        ClientConfig {
            timeout: self.engine_timeout.unwrap_or(default.timeout),
            attempts: attempts.map_or(default.attempts, |it| it.unwrap_or(u32::MAX)),
            ..default
        }
    }
}

/// Parses a positive number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let parsed = text.parse().ok();
    let parsed = parsed.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    parsed
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| format!("expected a positive number of seconds, found {text:?}"))
}

/// Collection on a server.
pub(crate) enum RemoteCollection {
    Milvus(MilvusCollection),
    Elastic(ElasticCollection),
}

impl RemoteCollection {
    /// Creates the client, with the credentials of the environment.
    pub(crate) fn new(address: &EngineAddress, options: &ClientOptions) -> Result<Self> {
        let (credentials, config) = (Credentials::from_environment()?, options.config());
        let recorder = match &options.engine_record {
            Some(_) if address.api == MilvusApi::Grpc => {
                bail_usage!("--engine-record: expected an address without +grpc, found {address}")
            }
            Some(path) => {
                let path = path.binary_file("--engine-record")?;
                Some(Arc::new(Recorder::append(path)?))
            }
            None => None,
        };
        Ok(match address.engine {
            EngineKind::Milvus => {
                let collection = MilvusCollection::new(address, &credentials, &config)?;
                Self::Milvus(match recorder {
                    Some(recorder) => collection.with_recorder(recorder),
                    None => collection,
                })
            }
            _ => {
                let collection = ElasticCollection::new(address, &credentials, &config)?;
                Self::Elastic(match recorder {
                    Some(recorder) => collection.with_recorder(recorder),
                    None => collection,
                })
            }
        })
    }

    /// Reads the record of what was loaded.
    pub(crate) fn record(&self, address: &EngineAddress) -> Result<CollectionRecord> {
        match self {
            Self::Milvus(collection) => {
                let missing = || RemoteError::NoCollection {
                    collection: address.collection.clone(),
                };
                Ok(collection.record()?.ok_or_else(missing)?)
            }
            Self::Elastic(index) => Ok(index.record()?),
        }
    }

    /// Opens the collection for text queries.
    pub(crate) fn open(&self, search: RemoteSearch) -> Result<OpenRemote> {
        let encoder = search.vectors.map(Arc::new);
        let index = match (self, &encoder) {
            #[cfg(feature = "milvus-grpc")]
            (Self::Milvus(collection), encoder)
                if collection.api() == MilvusApi::Grpc
                    && (search.is_hybrid || encoder.is_none()) =>
            {
                // Opening verifies that all documents are visible.
                let index = collection.open_texts()?;
                let index = index.with_consistency(Consistency::Eventual);
                RemoteIndex::MilvusTexts(tuned(index, search.ef, MilvusTextIndex::with_ef))
            }
            (Self::Milvus(_), None) => {
                bail!("expected vectors of the queries for Milvus, found none")
            }
            (Self::Milvus(collection), Some(_)) => {
                let index = collection.open()?.with_consistency(Consistency::Eventual);
                RemoteIndex::Milvus(tuned(index, search.ef, MilvusIndex::with_ef))
            }
            (Self::Elastic(collection), Some(_)) => {
                let index = collection.open_vectors()?;
                let index = tuned(index, search.ef, ElasticVectorIndex::with_candidates);
                RemoteIndex::ElasticVectors(index)
            }
            (Self::Elastic(collection), None) => {
                RemoteIndex::ElasticTexts(collection.open_texts()?)
            }
        };
        let index = match search.cache {
            Some(cache) => index.with_cache(cache),
            None => index,
        };
        Ok(OpenRemote { index, encoder })
    }
}

/// Sets the number of candidates, if there is one.
fn tuned<T>(index: T, ef: Option<usize>, set: fn(T, usize) -> T) -> T {
    match ef {
        Some(ef) => set(index, ef),
        None => index,
    }
}

/// Open collection on a server.
pub(crate) struct OpenRemote {
    index: RemoteIndex,
    encoder: Option<Arc<PrecomputedEncoder>>,
}

#[derive(Clone)]
enum RemoteIndex {
    Milvus(MilvusIndex),
    /// With an encoder, a hybrid index.
    #[cfg(feature = "milvus-grpc")]
    MilvusTexts(MilvusTextIndex),
    ElasticVectors(ElasticVectorIndex),
    ElasticTexts(ElasticTextIndex),
}

/// Calls a method of the index, whatever it is.
macro_rules! map_index {
    ($index:expr, $each:ident => $call:expr) => {
        match $index {
            RemoteIndex::Milvus($each) => RemoteIndex::Milvus($call),
            #[cfg(feature = "milvus-grpc")]
            RemoteIndex::MilvusTexts($each) => RemoteIndex::MilvusTexts($call),
            RemoteIndex::ElasticVectors($each) => RemoteIndex::ElasticVectors($call),
            RemoteIndex::ElasticTexts($each) => RemoteIndex::ElasticTexts($call),
        }
    };
}

impl RemoteIndex {
    fn with_cache(self, cache: ResultCache) -> Self {
        map_index!(self, index => index.with_cache(cache))
    }
}

impl OpenRemote {
    /// Retriever of the documents that satisfy all conditions.
    pub(crate) fn matching(
        &self,
        conditions: &[Predicate],
    ) -> Result<Arc<dyn Retriever<Query = str>>> {
        let mut index = self.index.clone();
        if !conditions.is_empty() {
            let condition = Predicate::All(conditions.to_vec());
            index = map_index!(index, index => index.with_condition(condition)?);
        }
        Ok(match (index, self.encoder.clone()) {
            #[cfg(feature = "milvus-grpc")]
            (RemoteIndex::MilvusTexts(index), Some(encoder)) => {
                Arc::new(Distinct(MilvusHybrid::new(index, encoder)?))
            }
            #[cfg(feature = "milvus-grpc")]
            (RemoteIndex::MilvusTexts(index), None) => Arc::new(Distinct(index)),
            (RemoteIndex::ElasticTexts(index), _) => Arc::new(Distinct(index)),
            (RemoteIndex::Milvus(index), Some(encoder)) => {
                Arc::new(Distinct(Encoded::new(encoder, index)))
            }
            (RemoteIndex::ElasticVectors(index), Some(encoder)) => {
                Arc::new(Distinct(Encoded::new(encoder, index)))
            }
            (RemoteIndex::Milvus(_) | RemoteIndex::ElasticVectors(_), None) => {
                bail!("expected vectors of the queries, found none")
            }
        })
    }
}

/// What is searched in a collection.
pub(crate) struct RemoteSearch {
    /// Vectors of the queries; without, their texts are searched by BM25.
    pub(crate) vectors: Option<PrecomputedEncoder>,
    /// Minimum number of candidates of the queries of an HNSW index.
    pub(crate) ef: Option<usize>,
    /// Both: BM25 and vectors.
    #[cfg_attr(not(feature = "milvus-grpc"), allow(dead_code))]
    pub(crate) is_hybrid: bool,
    /// Cache of the responses.
    pub(crate) cache: Option<ResultCache>,
}

/// Origin of the vectors of a collection, as `ir load` recorded it.
pub(crate) fn recorded_origin(record: &CollectionRecord) -> Option<VectorOrigin> {
    serde_json::from_str(record.encoder.as_deref()?).ok()
}

/// Collection on a server, loaded by `ir load`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoteSystem {
    /// Address: `milvus://HOST[:PORT]/COLLECTION`, `milvus+v2://...` (Milvus 2.4 and later),
    /// `milvus+grpc://...`, `elasticsearch://...` or `opensearch://...`; `milvus+tls://...` with
    /// TLS. Credentials are in the environment (`IR_REMOTE_TOKEN`, ...).
    engine: String,
    /// Saved vectors of the queries, written by `ir encode --queries`. Default: BM25 of the texts.
    #[serde(default)]
    queries: Option<String>,
    /// Number of candidates of approximate search. Default: 100.
    #[serde(default)]
    ef: Option<usize>,
    /// BM25 and vectors together, 100 hits of each, fused by reciprocal rank (k = 60) on the
    /// server, with an address `milvus+grpc://...`. Default: false.
    #[serde(default)]
    hybrid: bool,
    /// Accepts saved query vectors of another encoder than the loaded vectors, or of other query
    /// texts. Default: false.
    #[serde(default)]
    any_encoder: bool,
}

impl RemoteSystem {
    fn address(&self) -> Result<EngineAddress, SystemError> {
        let parsed = self.engine.parse::<EngineAddress>();
        parsed.map_err(|error| SystemError::parameter("engine", error.to_string()))
    }

    /// Record of what was loaded.
    fn record(&self) -> Result<CollectionRecord, SystemError> {
        let record = self.collection()?.record(&self.address()?);
        record.map_err(failed("connecting"))
    }

    fn collection(&self) -> Result<RemoteCollection, SystemError> {
        RemoteCollection::new(&self.address()?, &ClientOptions::default())
            .map_err(failed("connecting"))
    }
}

fn failed(stage: &'static str) -> impl Fn(anyhow::Error) -> SystemError {
    move |error| SystemError::stage(stage)(std::io::Error::other(format!("{error:#}")))
}

impl System for RemoteSystem {
    fn check(&self) -> Result<(), SystemError> {
        let address = self.address()?;
        let is_grpc = address.api == MilvusApi::Grpc;
        if self.hybrid && !(is_grpc && self.queries.is_some()) {
            let message = "expected an engine milvus+grpc://... and the key queries, found another";
            return Err(SystemError::parameter("hybrid", message));
        }
        if address.engine == EngineKind::Milvus && !is_grpc && self.queries.is_none() {
            let message = "expected vectors of the queries for Milvus, found none";
            return Err(SystemError::parameter("queries", message));
        }
        match self.ef {
            Some(0) => Err(SystemError::parameter(
                "ef",
                "expected a number above 0, found 0",
            )),
            Some(_) if self.queries.is_none() => Err(SystemError::parameter(
                "ef",
                "expected the key queries, found BM25",
            )),
            _ if self.any_encoder && self.queries.is_none() => Err(SystemError::parameter(
                "any_encoder",
                "expected the key queries, found BM25",
            )),
            _ => Ok(()),
        }
    }

    fn files(&self) -> Vec<(String, String)> {
        let queries = self.queries.iter();
        queries
            .map(|path| ("queries".to_owned(), path.clone()))
            .collect()
    }

    fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        // What was loaded, so that the cached run of other documents is not used.
        let record = self.record()?;
        let queries = match &self.queries {
            Some(path) => context.file_hash(&context.resolve("queries", path)?)?,
            None => String::new(),
        };
        let record = serde_json::to_string(&record).map_err(SystemError::stage("connecting"))?;
        let hybrid = if self.hybrid { " hybrid" } else { "" };
        Ok(format!("{record} {queries}{hybrid}"))
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let record = self.record()?;
        let encoder = match &self.queries {
            Some(path) => {
                let path = context.resolve("queries", path)?;
                let queries = context.data.all_queries()?;
                let required = context.data.queries().iter();
                let required: HashSet<String> = required.map(|query| query.id.clone()).collect();
                let vectors = QueryVectors {
                    option: "queries",
                    path: &path,
                    documents: recorded_origin(&record).as_ref(),
                    any_encoder: self.any_encoder,
                    acceptance: "any_encoder = true",
                    required: Some(&required),
                }
                .open(&queries, &mut |text| {
                    context.observer().warning(&text.to_string())
                });
                Some(vectors.map_err(failed("reading the vectors of the queries"))?)
            }
            None => None,
        };
        let search = RemoteSearch {
            vectors: encoder,
            ef: self.ef,
            is_hybrid: self.hybrid,
            cache: None,
        };
        let opened = self.collection()?.open(search);
        let retriever = opened.and_then(|index| index.matching(&[]));
        let retriever = retriever.map_err(failed("opening the collection"))?;
        let known = context.data.ids();
        if let Some(id) = (retriever.ids().iter()).find(|id| known.get(id).is_none()) {
            let message = format!("expected documents of the task, found {id:?}");
            return Err(SystemError::parameter("engine", message));
        }
        if record.schema.attributes.is_empty() {
            // No condition can be evaluated.
            return Ok(OpenSystem::new(retriever));
        }
        // If the attributes differ from the task, a condition selects other documents.
        let same = record.has_attributes_of(context.data.corpus());
        let engine = &self.engine;
        let retriever = match same.map_err(SystemError::stage("comparing attributes"))? {
            Some(true) => retriever,
            Some(false) => {
                context.observer().note(&format!(
                    "{engine}: the attributes of the collection, or its order, are not those of the task: filters are lists of documents"
                ));
                Arc::new(WithoutConditions(retriever))
            }
            None => {
                context.observer().warning(&format!(
                    "{engine}: the collection has no record of its attributes, which filters evaluate; they must be those of the task (load it again under another name)"
                ));
                retriever
            }
        };
        Ok(OpenSystem::new(retriever))
    }
}

/// Retriever that evaluates filters by their documents, not by their conditions.
struct WithoutConditions(Arc<dyn Retriever<Query = str>>);

impl Retriever for WithoutConditions {
    type Query = str;

    fn ids(&self) -> &DocIds {
        self.0.ids()
    }

    ir_core::search_as_batch!();

    fn search_batch(&self, queries: &[(&str, Search<'_>)]) -> Result<Vec<Ranking>, SearchError> {
        let filters = queries.iter().map(|(_, search)| search.filter());
        let filters: Vec<_> = filters
            .map(|filter| filter.map(|filter| move |doc: DocNum| filter.contains(doc)))
            .collect();
        let queries = queries.iter().zip(&filters);
        let queries = queries.map(|((query, search), filter)| match filter {
            Some(filter) => (*query, search.within(filter)),
            None => (*query, *search),
        });
        self.0.search_batch(&queries.collect::<Vec<_>>())
    }
}

/// Adds the type `remote` of systems.
pub(crate) fn register(registry: &mut Registry) {
    registry.register::<RemoteSystem>(
        "remote",
        "Collection of Milvus, Elasticsearch or OpenSearch, loaded by `ir load`.",
    );
}
