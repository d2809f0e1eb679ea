//! The type `remote`: a collection of a search engine on another machine.

use std::sync::Arc;

use ir_core::{DocIds, DocNum, Ranking, Retriever, Search, SearchError};
use ir_engines::{
    ClientConfig, CollectionRecord, EngineAddress, EngineCollection, EngineKind, EngineSearch,
    MilvusApi,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::vectors::query_vectors;
use crate::error::SystemError;
use crate::saved_vectors::VectorOrigin;
use crate::saved_vectors::vectors_hash;
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
    fn address(&self) -> Result<EngineAddress, SystemError> {
        let parsed = self.engine.parse::<EngineAddress>();
        parsed.map_err(|error| SystemError::parameter("engine", error.to_string()))
    }

    fn collection(&self) -> Result<EngineCollection, SystemError> {
        EngineCollection::new(&self.address()?, &ClientConfig::default(), None)
            .map_err(SystemError::stage("connecting"))
    }

    /// Record of what was loaded.
    fn record(&self) -> Result<CollectionRecord, SystemError> {
        let record = self.collection()?.record();
        record.map_err(SystemError::stage("connecting"))
    }
}

impl System for RemoteSystem {
    fn check(&self) -> Result<(), SystemError> {
        let address = self.address()?;
        let is_grpc = address.api == MilvusApi::Grpc;
        let has_queries = self.queries.is_some();
        if self.hybrid && !(is_grpc && has_queries) {
            let message = "expected an engine milvus+grpc://... and the key queries, found another";
            return Err(SystemError::parameter("hybrid", message));
        }
        if address.engine == EngineKind::Milvus && !is_grpc && !has_queries {
            let message = "expected vectors of the queries for Milvus, found none";
            return Err(SystemError::parameter("queries", message));
        }
        let of_vectors = [("ef", self.ef.is_some()), ("any_encoder", self.any_encoder)];
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
        let record = self.record()?;
        let queries = match &self.queries {
            Some(path) => vectors_hash(context, &context.resolve("queries", path)?)?,
            None => String::new(),
        };
        let record = serde_json::to_string(&record).map_err(SystemError::stage("connecting"))?;
        let hybrid = if self.hybrid { " hybrid" } else { "" };
        Ok(format!("{record} {queries}{hybrid}"))
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let record = self.record()?;
        let origin = record.encoder.as_deref();
        let origin = origin.and_then(|text| serde_json::from_str::<VectorOrigin>(text).ok());
        let queries = self.queries.as_deref();
        let vectors = queries
            .map(|path| query_vectors(context, path, origin.as_ref(), self.any_encoder, None))
            .transpose()?;
        let opened = self.collection()?.open(EngineSearch {
            vectors,
            ef: self.ef,
            is_hybrid: self.hybrid,
            cache: None,
        });
        let retriever = opened.and_then(|index| index.matching(&[]));
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
