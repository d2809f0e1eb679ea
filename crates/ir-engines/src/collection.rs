//! Collections of any engine by their address.

use std::sync::Arc;

use ir_core::{Distinct, Encoded, PrecomputedEncoder, Predicate, Retriever};

#[cfg(feature = "milvus-grpc")]
use crate::address::MilvusApi;
use crate::address::{ClientConfig, Credentials, EngineAddress, EngineKind};
use crate::cache::ResultCache;
use crate::elasticsearch::{ElasticCollection, ElasticTextIndex, ElasticVectorIndex};
use crate::error::RemoteError;
use crate::milvus::{Consistency, MilvusCollection, MilvusIndex};
#[cfg(feature = "milvus-grpc")]
use crate::milvus::{MilvusHybrid, MilvusTextIndex};
use crate::recording::Recorder;
use crate::schema::CollectionRecord;

/// Collection of Milvus, Elasticsearch or OpenSearch.
///
/// ```
/// use ir_engines::{ClientConfig, EngineCollection};
///
/// let address = "elasticsearch://localhost:9200/notes".parse()?;
/// let collection = EngineCollection::new(&address, &ClientConfig::default(), None)?;
/// assert!(matches!(collection, EngineCollection::Elastic(_)));
/// # Ok::<(), ir_engines::RemoteError>(())
/// ```
#[derive(Debug, Clone)]
pub enum EngineCollection {
    /// Collection of Milvus, over REST or gRPC.
    Milvus(MilvusCollection),
    /// Index of Elasticsearch or OpenSearch.
    Elastic(ElasticCollection),
}

/// What is searched in an [`EngineCollection`].
#[derive(Debug, Default)]
pub struct EngineSearch {
    /// Vectors of the queries; without, their texts are searched by BM25.
    pub vectors: Option<PrecomputedEncoder>,
    /// Number of candidates of the approximate search of vectors; `None`: the engine's default.
    pub ef: Option<usize>,
    /// BM25 and vectors together (Milvus over gRPC).
    pub is_hybrid: bool,
    /// Cache of the responses.
    pub cache: Option<ResultCache>,
}

/// Open [`EngineCollection`] for queries of text.
#[derive(Debug)]
pub struct OpenEngine {
    index: EngineIndex,
    encoder: Option<Arc<PrecomputedEncoder>>,
}

#[derive(Debug, Clone)]
enum EngineIndex {
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
            EngineIndex::Milvus($each) => EngineIndex::Milvus($call),
            #[cfg(feature = "milvus-grpc")]
            EngineIndex::MilvusTexts($each) => EngineIndex::MilvusTexts($call),
            EngineIndex::ElasticVectors($each) => EngineIndex::ElasticVectors($call),
            EngineIndex::ElasticTexts($each) => EngineIndex::ElasticTexts($call),
        }
    };
}

impl EngineCollection {
    /// Creates the client, with the credentials of the environment. Requests and responses are
    /// recorded, if there is a recorder; Milvus over gRPC has none.
    ///
    /// # Errors
    /// Returns [`RemoteError::Credentials`] for invalid credentials, and the errors of the client.
    pub fn new(
        address: &EngineAddress,
        config: &ClientConfig,
        recorder: Option<Arc<Recorder>>,
    ) -> Result<Self, RemoteError> {
        let credentials = Credentials::from_environment()?;
        Ok(match address.engine {
            EngineKind::Milvus => {
                let collection = MilvusCollection::new(address, &credentials, config)?;
                Self::Milvus(match recorder {
                    Some(recorder) => collection.with_recorder(recorder),
                    None => collection,
                })
            }
            _ => {
                let collection = ElasticCollection::new(address, &credentials, config)?;
                Self::Elastic(match recorder {
                    Some(recorder) => collection.with_recorder(recorder),
                    None => collection,
                })
            }
        })
    }

    /// Reads the record of what was loaded.
    ///
    /// # Errors
    /// Returns [`RemoteError::NoCollection`] if the collection does not exist, and the errors of
    /// requests.
    pub fn record(&self) -> Result<CollectionRecord, RemoteError> {
        match self {
            Self::Milvus(collection) => {
                let missing = || RemoteError::NoCollection {
                    collection: collection.name.clone(),
                };
                collection.record()?.ok_or_else(missing)
            }
            Self::Elastic(index) => index.record(),
        }
    }

    /// Opens the collection for text queries.
    ///
    /// # Errors
    /// Returns [`RemoteError::Schema`] for BM25 of Milvus over REST, and the errors of requests.
    pub fn open(&self, search: EngineSearch) -> Result<OpenEngine, RemoteError> {
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
                EngineIndex::MilvusTexts(tuned(index, search.ef, MilvusTextIndex::with_ef))
            }
            (Self::Milvus(_), None) => {
                let message = "expected vectors of the queries for Milvus, found none";
                return Err(RemoteError::schema(message));
            }
            (Self::Milvus(collection), Some(_)) => {
                let index = collection.open()?.with_consistency(Consistency::Eventual);
                EngineIndex::Milvus(tuned(index, search.ef, MilvusIndex::with_ef))
            }
            (Self::Elastic(collection), Some(_)) => {
                let index = collection.open_vectors()?;
                let index = tuned(index, search.ef, ElasticVectorIndex::with_candidates);
                EngineIndex::ElasticVectors(index)
            }
            (Self::Elastic(collection), None) => {
                EngineIndex::ElasticTexts(collection.open_texts()?)
            }
        };
        let index = match search.cache {
            Some(cache) => map_index!(index, index => index.with_cache(cache)),
            None => index,
        };
        Ok(OpenEngine { index, encoder })
    }
}

/// Sets the number of candidates, if there is one.
fn tuned<T>(index: T, ef: Option<usize>, set: fn(T, usize) -> T) -> T {
    match ef {
        Some(ef) => set(index, ef),
        None => index,
    }
}

impl OpenEngine {
    /// Returns a retriever of the documents that satisfy all conditions.
    ///
    /// # Errors
    /// Returns [`RemoteError::Filter`] for a condition that the engine cannot express exactly.
    pub fn matching(
        &self,
        conditions: &[Predicate],
    ) -> Result<Arc<dyn Retriever<Query = str>>, RemoteError> {
        let mut index = self.index.clone();
        if !conditions.is_empty() {
            let condition = Predicate::All(conditions.to_vec());
            index = map_index!(index, index => index.with_condition(condition)?);
        }
        Ok(match (index, self.encoder.clone()) {
            #[cfg(feature = "milvus-grpc")]
            (EngineIndex::MilvusTexts(index), Some(encoder)) => {
                Arc::new(Distinct(MilvusHybrid::new(index, encoder)?))
            }
            #[cfg(feature = "milvus-grpc")]
            (EngineIndex::MilvusTexts(index), None) => Arc::new(Distinct(index)),
            (EngineIndex::ElasticTexts(index), _) => Arc::new(Distinct(index)),
            (EngineIndex::Milvus(index), Some(encoder)) => {
                Arc::new(Distinct(Encoded::new(encoder, index)))
            }
            (EngineIndex::ElasticVectors(index), Some(encoder)) => {
                Arc::new(Distinct(Encoded::new(encoder, index)))
            }
            (EngineIndex::Milvus(_) | EngineIndex::ElasticVectors(_), None) => {
                return Err(RemoteError::schema(
                    "expected vectors of the queries, found none",
                ));
            }
        })
    }
}
