//! Collections of Milvus, over REST.

mod expression;
#[cfg(feature = "milvus-grpc")]
mod grpc;
mod index;
mod load;
mod protocol;
mod protocol_v2;
mod requests;
mod rows;
#[cfg(feature = "milvus-grpc")]
mod text;
mod v2;

use std::sync::Arc;

use ir_core::VectorSimilarity;
use serde_json::{Value, json};

pub use index::MilvusIndex;
#[cfg(feature = "milvus-grpc")]
pub use text::{MilvusHybrid, MilvusTextIndex};

#[cfg(feature = "milvus-grpc")]
use self::grpc::GrpcChannel;
use crate::connection::Connection;
use crate::recording::{Recorder, Secrets};
use crate::schema::CollectionRecord;
use crate::{ClientConfig, Credentials, EngineAddress, EngineKind, MilvusApi, RemoteError};

pub(crate) const ENGINE: &str = "Milvus";

/// Maximum number of hits, and of documents per page of ids.
const MAX_HITS: usize = 16_384;

/// Maximum length of texts in bytes.
const MAX_TEXT: usize = 65_535;

/// Names of fields: document number, id and vector.
const NUMBER: &str = "n";
const ID: &str = "id";
const VECTOR: &str = "vector";

/// Numbers and scores of the hits of each query.
type ScoredNumbers = Vec<Vec<(u64, f64)>>;

/// When a search sees documents that were inserted before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Consistency {
    /// Always. Milvus waits for a clock signal, about 200 ms by default, in every request.
    #[default]
    Strong,
    /// After a few seconds.
    Bounded,
    /// At some time. Suits collections that are complete: no request waits.
    Eventual,
}

impl Consistency {
    /// Guarantee timestamp: 1 waits for nothing, 2 for the graceful time before now.
    pub(crate) const fn guarantee(self) -> u64 {
        match self {
            Self::Strong => 0,
            Self::Bounded => 2,
            Self::Eventual => 1,
        }
    }
}

/// Collection of a Milvus server, over the API that the address names ([`MilvusApi`]).
///
/// Documents are numbered by the primary key; attributes are scalar fields `attr_NAME`, with fields
/// `known_NAME` for their presence. The [`CollectionRecord`] is in JSON: the description of the
/// collection (v1, gRPC), its property `ir_remote` (gRPC), or the id of a document with the number
/// −1 (v2).
#[derive(Debug, Clone)]
pub struct MilvusCollection {
    connection: Connection,
    secrets: Secrets,
    pub(crate) name: String,
    api: MilvusApi,
    /// For [`MilvusApi::Grpc`].
    #[cfg(feature = "milvus-grpc")]
    grpc: Option<GrpcChannel>,
}

impl MilvusCollection {
    /// Creates a client; connects with the first request.
    ///
    /// # Errors
    /// Returns [`RemoteError::Address`] for an address of another engine, a name with `-` or `.`,
    /// and an address of gRPC in a build without the feature `milvus-grpc`, and
    /// [`RemoteError::Credentials`] if the credentials are invalid.
    pub fn new(
        address: &EngineAddress,
        credentials: &Credentials,
        config: &ClientConfig,
    ) -> Result<Self, RemoteError> {
        let invalid = |expected| RemoteError::Address {
            found: address.to_string(),
            expected,
        };
        if address.engine != EngineKind::Milvus {
            return Err(invalid("milvus://HOST[:PORT]/COLLECTION"));
        }
        if !is_field_name(&address.collection) {
            return Err(invalid("a collection name of letters, digits and _"));
        }
        let path = match address.api {
            MilvusApi::V1 => "/api/v1",
            MilvusApi::V2 => "/v2/vectordb",
            MilvusApi::Grpc if cfg!(not(feature = "milvus-grpc")) => {
                return Err(invalid("a build with the feature milvus-grpc"));
            }
            MilvusApi::Grpc => "",
        };
        let connection = Connection::new(address, credentials, config, path)?;
        #[cfg(feature = "milvus-grpc")]
        let channel = || GrpcChannel::new(address, credentials, config, connection.clone());
        Ok(Self {
            secrets: Secrets::new(credentials),
            name: address.collection.clone(),
            api: address.api,
            #[cfg(feature = "milvus-grpc")]
            grpc: (address.api == MilvusApi::Grpc).then(channel).transpose()?,
            connection,
        })
    }

    /// Returns the API over which the collection is loaded and searched.
    #[must_use]
    pub const fn api(&self) -> MilvusApi {
        self.api
    }

    /// Records the exchange with the server over REST. The messages of gRPC are not recorded: with
    /// an address `milvus+grpc://...`, the file of the recorder stays empty.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Arc<Recorder>) -> Self {
        recorder.redact(&self.secrets);
        self.connection = self.connection.with_recorder(recorder);
        self
    }

    fn not_indexed(&self, what: &'static str) -> RemoteError {
        RemoteError::conflict(&self.name, what, "indexed", "none")
    }

    #[cfg(feature = "milvus-grpc")]
    fn without_texts(&self) -> RemoteError {
        RemoteError::schema(
            "texts: expected milvus+grpc://…, found an address of the REST API, over which this crate indexes none",
        )
    }

    /// Removes the collection, if it exists.
    ///
    /// # Errors
    /// Returns an error if the server does not respond or rejects the request.
    pub fn remove(&self) -> Result<(), RemoteError> {
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.grpc {
            return grpc.remove();
        }
        if self.api == MilvusApi::V2 {
            return self.v2_remove();
        }
        let body = json!({"collection_name": self.name});
        let response = self.call("DELETE", "/collection", &body)?;
        match protocol::check(&response, "remove the collection") {
            Err(_) if protocol::is_missing(&response) => Ok(()),
            other => other,
        }
    }

    /// Reads the record of the collection; `None` if there is no collection.
    ///
    /// # Errors
    /// [`RemoteError::ForeignCollection`], and errors of the server.
    pub fn record(&self) -> Result<Option<CollectionRecord>, RemoteError> {
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.grpc {
            return grpc.record();
        }
        if self.api == MilvusApi::V2 {
            return self.v2_record();
        }
        let body = json!({"collection_name": self.name});
        let response = self.call("GET", "/collection", &body)?;
        if protocol::is_missing(&response) {
            return Ok(None);
        }
        protocol::check(&response, "describe the collection")?;
        let description = response["schema"]["description"].as_str();
        let description = description.unwrap_or_default();
        match serde_json::from_str::<CollectionRecord>(description) {
            Ok(record) if record.format == crate::schema::RECORD_FORMAT => Ok(Some(record)),
            _ => Err(RemoteError::ForeignCollection {
                collection: self.name.clone(),
                found: match description {
                    "" => "no record in its description".to_owned(),
                    text => format!("the description {text:?}"),
                },
            }),
        }
    }

    /// Counts the documents that satisfy an expression.
    fn count(&self, expression: &str, consistency: Consistency) -> Result<u64, RemoteError> {
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.grpc {
            return grpc.count(expression, consistency);
        }
        if self.api == MilvusApi::V2 {
            return self.v2_count(expression, consistency);
        }
        let response = self.query(expression, &["count(*)"], consistency)?;
        let counts = protocol::integers(&response, "count(*)");
        match counts.as_deref() {
            Some(&[count]) if count >= 0 => Ok(count as u64),
            _ => Err(self.unexpected("/query", "a count", &response)),
        }
    }

    fn query(
        &self,
        expression: &str,
        fields: &[&str],
        consistency: Consistency,
    ) -> Result<Value, RemoteError> {
        let body = json!({
            "collection_name": self.name,
            "expr": expression,
            "output_fields": fields,
            "guarantee_timestamp": consistency.guarantee(),
        });
        let response = self.call("POST", "/query", &body)?;
        protocol::check(&response, "query documents")?;
        Ok(response)
    }
}

/// Returns `true` if Milvus accepts a text as the name of a field or collection.
fn is_field_name(text: &str) -> bool {
    let mut all = text.chars();
    let first = all.next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && all.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.len() <= 200
}

pub(crate) const fn metric(similarity: VectorSimilarity) -> &'static str {
    match similarity {
        VectorSimilarity::InnerProduct => "IP",
        VectorSimilarity::Cosine => "COSINE",
        VectorSimilarity::Euclidean => "L2",
    }
}
