//! Collections on servers: addresses, searches of text queries, systems of experiment files.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use ir_core::store::Verify;
use ir_core::{Distinct, Encoded, PrecomputedEncoder, Predicate, Query, Retriever};
use ir_experiment::{OpenSystem, Registry, System, SystemContext, SystemError};
#[cfg(feature = "milvus-grpc")]
use ir_remote::MilvusHybrid;
use ir_remote::{
    ClientConfig, CollectionRecord, Consistency, Credentials, ElasticCollection, EngineAddress,
    EngineKind, MilvusApi, MilvusCollection,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shared::vector_files::open_vectors;

/// Collection on a server.
pub(crate) enum RemoteCollection {
    Milvus(MilvusCollection),
    Elastic(ElasticCollection),
}

impl RemoteCollection {
    /// Creates the client, with the credentials of the environment.
    pub(crate) fn new(address: &EngineAddress) -> Result<Self> {
        let (credentials, config) = (Credentials::from_environment()?, ClientConfig::default());
        Ok(match address.engine {
            EngineKind::Milvus => {
                Self::Milvus(MilvusCollection::new(address, &credentials, &config)?)
            }
            _ => Self::Elastic(ElasticCollection::new(address, &credentials, &config)?),
        })
    }

    /// Reads the record of what was loaded.
    pub(crate) fn record(&self) -> Result<CollectionRecord> {
        match self {
            Self::Milvus(collection) => match collection.record()? {
                Some(record) => Ok(record),
                None => bail!("the collection does not exist (load it with `ir load`)"),
            },
            Self::Elastic(index) => Ok(index.record()?),
        }
    }

    /// Opens the collection for text queries.
    pub(crate) fn open(
        &self,
        search: RemoteSearch,
        conditions: &[Predicate],
    ) -> Result<Arc<dyn Retriever<Query = str>>> {
        let condition = || Predicate::All(conditions.to_vec());
        let restricted = !conditions.is_empty();
        Ok(match (self, search.vectors) {
            #[cfg(feature = "milvus-grpc")]
            (Self::Milvus(collection), encoder)
                if collection.api() == MilvusApi::Grpc
                    && (search.is_hybrid || encoder.is_none()) =>
            {
                // Opening verifies that all documents are visible.
                let index = collection.open_texts()?;
                let mut index = index.with_consistency(Consistency::Eventual);
                if let Some(ef) = search.ef {
                    index = index.with_ef(ef);
                }
                if restricted {
                    index = index.with_condition(condition())?;
                }
                match encoder {
                    Some(encoder) => Arc::new(Distinct(MilvusHybrid::new(index, encoder)?)),
                    None => Arc::new(Distinct(index)),
                }
            }
            (Self::Milvus(_), None) => {
                bail!("expected vectors of the queries for Milvus, found none")
            }
            (Self::Milvus(collection), Some(encoder)) => {
                let mut index = collection.open()?.with_consistency(Consistency::Eventual);
                if let Some(ef) = search.ef {
                    index = index.with_ef(ef);
                }
                if restricted {
                    index = index.with_condition(condition())?;
                }
                Arc::new(Distinct(Encoded::new(encoder, index)))
            }
            (Self::Elastic(collection), Some(encoder)) => {
                let mut index = collection.open_vectors()?;
                if let Some(ef) = search.ef {
                    index = index.with_candidates(ef);
                }
                if restricted {
                    index = index.with_condition(condition())?;
                }
                Arc::new(Distinct(Encoded::new(encoder, index)))
            }
            (Self::Elastic(collection), None) => {
                let mut index = collection.open_texts()?;
                if restricted {
                    index = index.with_condition(condition())?;
                }
                Arc::new(Distinct(index))
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
}

/// Reads the vectors of queries, by their ids, from a file of `ir encode --queries`. Errors name
/// `option`, the option or key of the file.
pub(crate) fn query_encoder(
    option: &str,
    path: &Path,
    queries: &[Query],
) -> Result<PrecomputedEncoder> {
    let file = open_vectors(option, path, Verify::AllSections)?;
    let mut encoder = PrecomputedEncoder::new(path.display().to_string(), file.dim());
    // Without words, a query is not encoded.
    for query in queries.iter().filter(|query| !query.text.trim().is_empty()) {
        let Some(doc) = file.ids().get(&query.id) else {
            bail!(
                "{}: expected a vector of every query, found none of {:?}",
                path.display(),
                query.id
            );
        };
        encoder.insert(&*query.text, file.vector(doc));
    }
    Ok(encoder)
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
}

impl RemoteSystem {
    fn address(&self) -> Result<EngineAddress, SystemError> {
        let parsed = self.engine.parse::<EngineAddress>();
        parsed.map_err(|error| SystemError::parameter("engine", error.to_string()))
    }

    fn collection(&self) -> Result<RemoteCollection, SystemError> {
        RemoteCollection::new(&self.address()?).map_err(failed("connecting"))
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
        let record = self.collection()?.record().map_err(failed("connecting"))?;
        let queries = match &self.queries {
            Some(path) => context.file_hash(&context.resolve("queries", path)?)?,
            None => String::new(),
        };
        let record = serde_json::to_string(&record).map_err(SystemError::stage("connecting"))?;
        let hybrid = if self.hybrid { " hybrid" } else { "" };
        Ok(format!("{record} {queries}{hybrid}"))
    }

    fn open(&self, context: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let encoder = match &self.queries {
            Some(path) => {
                let path = context.resolve("queries", path)?;
                let encoder = query_encoder("queries", &path, context.task().queries());
                Some(encoder.map_err(failed("reading the vectors of the queries"))?)
            }
            None => None,
        };
        let search = RemoteSearch {
            vectors: encoder,
            ef: self.ef,
            is_hybrid: self.hybrid,
        };
        let opened = self.collection()?.open(search, &[]);
        opened
            .map(OpenSystem::new)
            .map_err(failed("opening the collection"))
    }
}

/// Adds the type `remote` of systems.
pub(crate) fn register(registry: &mut Registry) {
    registry.register::<RemoteSystem>(
        "remote",
        "Collection of Milvus, Elasticsearch or OpenSearch, loaded by `ir load`.",
    );
}
