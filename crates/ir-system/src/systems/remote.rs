//! The type `remote`: a collection of a search engine on another machine.

use std::fmt::Display;
use std::sync::Arc;

use ir_core::{DocIds, DocNum, PrecomputedEncoder, Query, Ranking, Retriever, Search, SearchError};
use ir_engines::{
    ClientConfig, CollectionRecord, EngineAddress, EngineCollection, EngineKind, EngineSearch,
    MilvusApi, OpenEngine, ResultCache,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::existing_file::existing_path;
use super::vectors::query_vectors;
use crate::error::SystemError;
use crate::saved_vectors::{QueryVectors, VectorOrigin, vectors_hash};
use crate::source::SourceMap;
use crate::system::{OpenSystem, System, SystemContext};

/// Collection on a server, loaded by `ir load`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoteSystem {
    /// Address: `milvus://HOST[:PORT]/COLLECTION`, `milvus+v2://...` (Milvus 2.4 and later),
    /// `milvus+grpc://...`, `elasticsearch://...` or `opensearch://...`; `milvus+tls://...` with
    /// TLS. Credentials are in the environment (`IR_REMOTE_TOKEN`, ...).
    pub engine: String,
    /// Saved vectors of the queries, written by `ir encode --queries`. Default: BM25 of the texts
    /// (Elasticsearch, OpenSearch and milvus+grpc).
    #[serde(default)]
    pub queries: Option<String>,
    /// Number of candidates of approximate search. Larger values find more of the nearest vectors
    /// and take longer. Range: ≥ 1. Default: 100.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub ef: Option<usize>,
    /// BM25 and vectors together, 100 hits of each, fused by reciprocal rank (k = 60) on the
    /// server, with an address `milvus+grpc://...`. Default: false.
    #[serde(default)]
    pub hybrid: bool,
    /// Accepts saved query vectors of another encoder than the loaded vectors, or of other query
    /// texts. Default: false.
    #[serde(default)]
    pub any_encoder: bool,
}

impl RemoteSystem {
    /// Returns the address of the collection.
    ///
    /// # Errors
    /// Returns [`SystemError::Parameter`] with the key `engine` if it is no address.
    pub fn address(&self) -> Result<EngineAddress, SystemError> {
        let parsed = self.engine.parse::<EngineAddress>();
        parsed.map_err(|error| SystemError::parameter("engine", error.to_string()))
    }

    /// Opens the collection for these queries. Unlike [`System::open`], does not compare the loaded
    /// documents with a task. `collection` is a client of [`Self::address`]. `acceptance` is the
    /// key or option that accepts another encoder, for errors.
    ///
    /// # Errors
    /// Returns [`SystemError::Parameter`] or [`SystemError::Missing`] with the key `queries` if the
    /// file of the vectors lacks a query, or has other texts or another encoder, and
    /// [`SystemError::Stage`] if a request failed.
    pub fn open_for(
        &self,
        queries: &[Query],
        collection: &EngineCollection,
        cache: Option<ResultCache>,
        acceptance: &str,
        warn: &mut dyn FnMut(&dyn Display),
    ) -> Result<OpenEngine, SystemError> {
        let Some(path) = &self.queries else {
            return self.open_engine(collection, None, cache);
        };
        let origin = self.origin(&read_record(collection)?, warn);
        let path = existing_path(&SourceMap::default(), "queries", path)?;
        let vectors = QueryVectors {
            key: "queries",
            path: &path,
            documents: origin.as_ref(),
            any_encoder: self.any_encoder,
            acceptance,
            required: None,
        };
        let vectors = vectors.open(queries, warn)?;
        self.open_engine(collection, Some(vectors), cache)
    }

    /// Opens the collection with the vectors of the queries, if it is searched by vectors.
    fn open_engine(
        &self,
        collection: &EngineCollection,
        vectors: Option<PrecomputedEncoder>,
        cache: Option<ResultCache>,
    ) -> Result<OpenEngine, SystemError> {
        let opened = collection.open(EngineSearch {
            vectors,
            ef: self.ef,
            is_hybrid: self.hybrid,
            cache,
        });
        opened.map_err(SystemError::stage("opening the collection"))
    }

    /// Encoder and texts of the vectors that were loaded. Warns if there is no record of them.
    fn origin(
        &self,
        record: &CollectionRecord,
        warn: &mut dyn FnMut(&dyn Display),
    ) -> Option<VectorOrigin> {
        let recorded = record.encoder.as_deref();
        let origin = recorded.and_then(|text| serde_json::from_str(text).ok());
        if origin.is_none() {
            warn(&format_args!(
                "{}: has no record of the encoder of its vectors; the queries must be encoded by \
                 the same model",
                self.engine
            ));
        }
        origin
    }

    fn collection(&self) -> Result<EngineCollection, SystemError> {
        EngineCollection::new(&self.address()?, &ClientConfig::default(), None)
            .map_err(SystemError::stage("connecting"))
    }
}

/// Record of what was loaded.
fn read_record(collection: &EngineCollection) -> Result<CollectionRecord, SystemError> {
    let record = collection.record();
    record.map_err(SystemError::stage("connecting"))
}

impl System for RemoteSystem {
    fn check(&self) -> Result<(), SystemError> {
        let address = self.address()?;
        let is_grpc = address.api == MilvusApi::Grpc;
        let has_queries = self.queries.is_some();
        if self.hybrid && !is_grpc {
            let message = format!("expected an engine milvus+grpc://..., found {address}");
            return Err(SystemError::parameter("hybrid", message));
        }
        if address.engine == EngineKind::Milvus && !is_grpc && !has_queries {
            let message = "expected vectors of the queries for Milvus, found none";
            return Err(SystemError::parameter("queries", message));
        }
        let of_vectors = [
            ("ef", self.ef.is_some()),
            ("hybrid", self.hybrid),
            ("any_encoder", self.any_encoder),
        ];
        match of_vectors.into_iter().find(|(_, is_set)| *is_set) {
            Some((key, _)) if !has_queries => {
                let message = "expected the key queries, found BM25";
                Err(SystemError::parameter(key, message))
            }
            _ => Ok(()),
        }
    }

    fn uses_query_ids(&self) -> bool {
        self.queries.is_some()
    }

    fn files(&self) -> Vec<(String, String)> {
        let queries = self.queries.iter();
        queries
            .map(|path| ("queries".to_owned(), path.clone()))
            .collect()
    }

    fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        // What was loaded, so that the cached run of other documents is not used.
        let record = read_record(&self.collection()?)?;
        let queries = match &self.queries {
            Some(path) => vectors_hash(context, &context.resolve("queries", path)?)?,
            None => String::new(),
        };
        let record = serde_json::to_string(&record).map_err(SystemError::stage("connecting"))?;
        let hybrid = if self.hybrid { " hybrid" } else { "" };
        Ok(format!("{record} {queries}{hybrid}"))
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let collection = self.collection()?;
        let record = read_record(&collection)?;
        let vectors = match &self.queries {
            Some(path) => {
                let observer = context.observer();
                let origin = self.origin(&record, &mut |text| observer.warning(&text.to_string()));
                let origin = origin.as_ref();
                Some(query_vectors(
                    context,
                    path,
                    origin,
                    self.any_encoder,
                    None,
                )?)
            }
            None => None,
        };
        let engine = self.open_engine(&collection, vectors, None)?;
        let retriever = engine.matching(&[]);
        let retriever = retriever.map_err(SystemError::stage("opening the collection"))?;
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
                    "{engine}: the attributes of the collection, or its order, are not those of \
                     the task: filters are lists of documents"
                ));
                Arc::new(WithoutConditions(retriever))
            }
            None => {
                context.observer().warning(&format!(
                    "{engine}: the collection has no record of its attributes, which filters \
                     evaluate; they must be those of the task (load it again under another name)"
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
