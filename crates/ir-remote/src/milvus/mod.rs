//! Collections of Milvus, over REST.

mod expression;
#[cfg(feature = "milvus-grpc")]
mod grpc;
mod index;
mod protocol;
mod protocol_v2;
mod rows;
mod v2;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ir_core::{Flow, Progress};
use serde_json::{Value, json};

#[cfg(feature = "milvus-grpc")]
pub use grpc::{MilvusHybrid, MilvusTextIndex};
pub use index::MilvusIndex;

#[cfg(feature = "milvus-grpc")]
use self::grpc::GrpcChannel;
use self::rows::MilvusLoading;
use self::v2::V2State;
use crate::connection::Connection;
use crate::loading::{LoadOptions, LoadReport, load_rows};
use crate::recording::Recorder;
use crate::schema::{CollectionRecord, CollectionSchema, RemoteSimilarity, RemoteVectorIndex};
use crate::source::LoadSource;
use crate::{
    AttributeType, ClientConfig, Credentials, EngineAddress, EngineKind, MilvusApi, RemoteError,
    TextIndexing,
};

pub(crate) const ENGINE: &str = "Milvus";

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
    name: String,
    api: MilvusApi,
    /// For [`MilvusApi::Grpc`].
    #[cfg(feature = "milvus-grpc")]
    grpc: Option<GrpcChannel>,
}

impl MilvusCollection {
    /// Creates a client; connects with the first request.
    ///
    /// # Errors
    /// The address is that of another engine, or has a `-` or `.` in the name of the collection, or
    /// names gRPC in a build without the feature `milvus-grpc`, or the credentials are invalid.
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
        Ok(Self {
            connection: Connection::new(address, credentials, config, path)?,
            name: address.collection.clone(),
            api: address.api,
            #[cfg(feature = "milvus-grpc")]
            grpc: match address.api {
                MilvusApi::Grpc => Some(GrpcChannel::new(address, credentials, config)?),
                _ => None,
            },
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
        self.connection = self.connection.with_recorder(recorder);
        self
    }

    /// Creates the collection, unless it exists, and loads the vectors and declared attributes
    /// that are missing. Returns when each document is there once, and the index is built.
    ///
    /// An interrupted call is resumed by the next one with the same source. Reads the source
    /// twice, for the fingerprint and for the data; memory holds one batch. Reports the stages
    /// "loading", "verifying" (documents) and "indexing".
    ///
    /// # Errors
    /// [`RemoteError::Conflict`] if the collection has another schema or other documents,
    /// [`RemoteError::Document`] for a document that does not fit the schema, and errors of the
    /// server after the attempts of the client.
    pub fn load(
        &self,
        schema: &CollectionSchema,
        source: &LoadSource<'_>,
        options: &LoadOptions,
        progress: &mut dyn Progress,
    ) -> Result<LoadReport, RemoteError> {
        self.load_all(schema, None, source, options, progress)
    }

    /// Does what [`load`](Self::load) does, and indexes titles and texts for BM25: in Milvus 2.5
    /// and later, and in milvus-lite, over gRPC. The source may be without vectors. `texts`: the
    /// analysis `english`, `lucene-standard` or `whitespace`, as far as the server has it, and a
    /// `k1` above 0; `None` indexes no texts. Title and text together have at most 65,535 bytes.
    ///
    /// # Errors
    /// Those of [`load`](Self::load), and [`RemoteError::Schema`] over another API than gRPC.
    #[cfg(feature = "milvus-grpc")]
    pub fn load_with_texts(
        &self,
        schema: &CollectionSchema,
        texts: Option<&TextIndexing>,
        source: &LoadSource<'_>,
        options: &LoadOptions,
        progress: &mut dyn Progress,
    ) -> Result<LoadReport, RemoteError> {
        if let Some(texts) = texts {
            if self.grpc.is_none() {
                return Err(self.without_texts());
            }
            grpc::check_texts(texts)?;
        }
        self.load_all(schema, texts, source, options, progress)
    }

    #[cfg(feature = "milvus-grpc")]
    fn without_texts(&self) -> RemoteError {
        RemoteError::Schema {
            message: "texts: expected milvus+grpc://…, found an address of the REST API, over which this crate indexes none".to_owned(),
        }
    }

    fn load_all(
        &self,
        schema: &CollectionSchema,
        texts: Option<&TextIndexing>,
        source: &LoadSource<'_>,
        options: &LoadOptions,
        progress: &mut dyn Progress,
    ) -> Result<LoadReport, RemoteError> {
        self.check_schema(schema, source, texts.is_some())?;
        let settings = self.engine_settings(texts);
        let record = source.record(schema, texts.is_some(), settings)?;
        let created = match self.api {
            MilvusApi::V1 | MilvusApi::Grpc => {
                let existing = self.record()?;
                match &existing {
                    Some(existing) => record.check_existing(existing, &self.name)?,
                    None => self.create(&record, texts)?,
                }
                self.create_index(&record, texts)?;
                self.load_into_memory()?;
                existing.is_none()
            }
            MilvusApi::V2 => self.v2_create(&record)?,
        };
        let loading = MilvusLoading {
            collection: self,
            schema,
        };
        let documents = record.documents;
        let inserted = load_rows(
            &loading,
            source,
            documents,
            options,
            texts.is_some(),
            !created,
            progress,
        )?;
        // An interrupted call may have inserted all documents without the index.
        let is_resumed = inserted == 0 && !created;
        if !is_resumed || (has_hnsw(&record) && !self.is_indexed(&record)?) {
            self.build_index(&record, progress)?;
        }
        Ok(LoadReport {
            documents,
            inserted,
            created,
        })
    }

    /// Opens the collection for searches: reads its record and the ids of its documents.
    ///
    /// # Errors
    /// [`RemoteError::NoCollection`], [`RemoteError::ForeignCollection`],
    /// [`RemoteError::Incomplete`], [`RemoteError::Conflict`] if no vectors are indexed, and errors
    /// of the server.
    pub fn open(&self) -> Result<MilvusIndex, RemoteError> {
        let index = self.open_any()?;
        match index.record().dim {
            Some(_) => Ok(index),
            None => Err(RemoteError::Conflict {
                collection: self.name.clone(),
                what: "vectors",
                expected: "indexed".to_owned(),
                found: "none".to_owned(),
            }),
        }
    }

    /// Opens the collection for searches of texts by BM25.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), [`RemoteError::Conflict`] if no texts are indexed, and
    /// [`RemoteError::Schema`] over another API than gRPC.
    #[cfg(feature = "milvus-grpc")]
    pub fn open_texts(&self) -> Result<MilvusTextIndex, RemoteError> {
        match &self.grpc {
            Some(grpc) => MilvusTextIndex::open(self, grpc.clone()),
            None => Err(self.without_texts()),
        }
    }

    fn open_any(&self) -> Result<MilvusIndex, RemoteError> {
        let record = self.record()?.ok_or_else(|| RemoteError::NoCollection {
            collection: self.name.clone(),
        })?;
        if self.api != MilvusApi::V2 {
            self.load_into_memory()?;
        }
        MilvusIndex::open(self.clone(), record)
    }

    /// Removes the collection, if it exists.
    ///
    /// # Errors
    /// Those of the server.
    pub fn remove(&self) -> Result<(), RemoteError> {
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.grpc {
            return grpc.remove(self);
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
            return grpc.record(self);
        }
        if self.api == MilvusApi::V2 {
            return match self.v2_state()? {
                V2State::Missing => Ok(None),
                V2State::NoRecord(_) => Err(self.v2_foreign()),
                V2State::Record(record) => Ok(Some(*record)),
            };
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

    /// What a record has of the analysis of texts.
    #[cfg_attr(not(feature = "milvus-grpc"), allow(clippy::unused_self))]
    fn engine_settings(&self, texts: Option<&TextIndexing>) -> String {
        #[cfg(feature = "milvus-grpc")]
        return texts.map(TextIndexing::to_string).unwrap_or_default();
        #[cfg(not(feature = "milvus-grpc"))]
        texts.map(|_| String::new()).unwrap_or_default()
    }

    fn check_schema(
        &self,
        schema: &CollectionSchema,
        source: &LoadSource<'_>,
        has_texts: bool,
    ) -> Result<(), RemoteError> {
        let invalid = |message: String| Err(RemoteError::Schema { message });
        for attribute in &schema.attributes {
            let name = &attribute.name;
            if !is_field_name(name) {
                return invalid(format!(
                    "attribute {name:?}: expected letters, digits and _, as Milvus needs"
                ));
            }
            if attribute.kind == AttributeType::Texts {
                return invalid(format!(
                    "attribute {name:?}: expected a type other than texts, which Milvus 2.3 does not load over REST"
                ));
            }
        }
        match source.dim() {
            None if has_texts => Ok(()),
            None => invalid("expected vectors, found none".to_owned()),
            Some(dim) if !(1..=32_768).contains(&dim) => {
                invalid(format!("expected 1 to 32768 dimensions, found {dim}"))
            }
            Some(_) => Ok(()),
        }
    }

    #[cfg_attr(not(feature = "milvus-grpc"), allow(unused_variables))]
    fn create(
        &self,
        record: &CollectionRecord,
        texts: Option<&TextIndexing>,
    ) -> Result<(), RemoteError> {
        #[cfg(feature = "milvus-grpc")]
        let created = match &self.grpc {
            Some(grpc) => grpc.create(self, record, texts),
            None => self.create_by_rest(record),
        };
        #[cfg(not(feature = "milvus-grpc"))]
        let created = self.create_by_rest(record);
        match created {
            // If the response got lost, the collection exists with this record.
            Err(error @ RemoteError::Rejected { .. }) => match self.record()? {
                Some(existing) => record.check_existing(&existing, &self.name),
                None => Err(error),
            },
            other => other,
        }
    }

    fn create_by_rest(&self, record: &CollectionRecord) -> Result<(), RemoteError> {
        let description = serde_json::to_string(record).unwrap_or_default();
        let body = protocol::create_collection(&self.name, &description, record);
        let response = self.call("POST", "/collection", &body)?;
        protocol::check(&response, "create the collection")
    }

    /// Describes the index of vectors to the server, unless it has one.
    #[cfg_attr(not(feature = "milvus-grpc"), allow(unused_variables))]
    fn create_index(
        &self,
        record: &CollectionRecord,
        texts: Option<&TextIndexing>,
    ) -> Result<(), RemoteError> {
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.grpc {
            return grpc.create_indexes(self, record, texts);
        }
        let body = json!({"collection_name": self.name, "field_name": VECTOR});
        let response = self.call("GET", "/index", &body)?;
        if response["index_descriptions"].get(0).is_some() {
            return Ok(());
        }
        let body = protocol::create_index(&self.name, &record.schema);
        let response = self.call("POST", "/index", &body)?;
        protocol::check(&response, "create the index")
    }

    /// Asks the server to hold the collection in memory, which searches and counts need.
    fn load_into_memory(&self) -> Result<(), RemoteError> {
        self.request_loading()?;
        // After a start of the server, it needs some seconds.
        let mut failures = 0;
        loop {
            match self.count("", Consistency::Strong) {
                Err(RemoteError::Rejected { .. }) if failures + 1 < self.connection.attempts() => {
                    failures += 1;
                    self.connection
                        .wait_after(failures, &mut ir_core::NoProgress)?;
                }
                other => return other.map(|_| ()),
            }
        }
    }

    fn request_loading(&self) -> Result<(), RemoteError> {
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.grpc {
            return grpc.load(self);
        }
        let body = json!({"collection_name": self.name, "replica_number": 1});
        let response = self.call("POST", "/collection/load", &body)?;
        protocol::check(&response, "load the collection")
    }

    /// Writes all segments, and waits until the approximate index of all documents is built.
    fn build_index(
        &self,
        record: &CollectionRecord,
        progress: &mut dyn Progress,
    ) -> Result<(), RemoteError> {
        const LIMIT: Duration = Duration::from_secs(3600);
        let is_written = match self.api {
            #[cfg(feature = "milvus-grpc")]
            MilvusApi::Grpc => {
                if let Some(grpc) = &self.grpc {
                    grpc.flush(self)?;
                }
                true
            }
            #[cfg(not(feature = "milvus-grpc"))]
            MilvusApi::Grpc => true,
            MilvusApi::V1 => {
                let body = json!({"collection_names": [self.name]});
                let response = self.call("POST", "/persist", &body)?;
                protocol::check(&response, "persist the collection").map(|()| true)?
            }
            MilvusApi::V2 => self.v2_flush()?,
        };
        if !is_written || !has_hnsw(record) {
            return Ok(());
        }
        let start = Instant::now();
        loop {
            let rows = self.index_rows()?;
            let (indexed, documents) = (rows.0, record.documents as u64);
            if is_complete(rows, documents) {
                return Ok(());
            }
            if start.elapsed() > LIMIT {
                return Err(RemoteError::Rejected {
                    engine: ENGINE,
                    operation: "build the index",
                    message: format!(
                        "expected {documents} documents in the index after {} s, found {indexed}",
                        LIMIT.as_secs()
                    ),
                });
            }
            if progress.report("indexing", indexed, Some(documents)) == Flow::Stop {
                return Err(RemoteError::Canceled);
            }
            thread::sleep(Duration::from_millis(500));
        }
    }

    /// Whether the index has all documents.
    fn is_indexed(&self, record: &CollectionRecord) -> Result<bool, RemoteError> {
        Ok(is_complete(self.index_rows()?, record.documents as u64))
    }

    /// Numbers of indexed, all and pending documents of the index.
    fn index_rows(&self) -> Result<(u64, u64, u64), RemoteError> {
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.grpc {
            return Ok(grpc.index_rows(self, VECTOR)?.unwrap_or_default());
        }
        if self.api == MilvusApi::V2 {
            return self.v2_index_rows();
        }
        let body = json!({"collection_name": self.name, "field_name": VECTOR});
        let response = self.call("GET", "/index", &body)?;
        protocol::check(&response, "describe the index")?;
        let index = &response["index_descriptions"][0];
        let number = |name: &str| index[name].as_u64().unwrap_or(0);
        Ok((
            number("indexed_rows"),
            number("total_rows"),
            number("pending_index_rows"),
        ))
    }

    /// Counts the documents that satisfy an expression.
    fn count(&self, expression: &str, consistency: Consistency) -> Result<u64, RemoteError> {
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.grpc {
            return grpc.count(self, expression, consistency);
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

    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, RemoteError> {
        use ir_fetch::HttpMethod::{Delete, Get, Post};
        let method = match method {
            "GET" => Get,
            "DELETE" => Delete,
            _ => Post,
        };
        let called = self.connection.call(method, path, &body.to_string());
        let response = called.map_err(|error| self.not_milvus(error))?;
        match response.is_object() {
            true => Ok(response),
            false => Err(self.unexpected(path, "a JSON object of Milvus", &response)),
        }
    }

    /// A service without the paths of Milvus is another one, or another port of it.
    fn not_milvus(&self, error: RemoteError) -> RemoteError {
        match error {
            RemoteError::Status {
                url,
                status: status @ (404 | 405),
                body,
            } => RemoteError::Response {
                url,
                expected: match self.api {
                    MilvusApi::V1 | MilvusApi::Grpc => {
                        "the REST API /api/v1 of Milvus (port 9091)".to_owned()
                    }
                    MilvusApi::V2 => {
                        "the REST API /v2/vectordb of Milvus 2.4 or later (port 19530)".to_owned()
                    }
                },
                found: format!("HTTP status {status}: {body:?}"),
            },
            error => error,
        }
    }

    fn unexpected(&self, path: &str, expected: &str, response: &Value) -> RemoteError {
        let text: String = response.to_string().chars().take(200).collect();
        RemoteError::Response {
            url: self.connection.url(path),
            expected: expected.to_owned(),
            found: text,
        }
    }
}

/// Whether the collection has an approximate index of vectors, which the server builds.
fn has_hnsw(record: &CollectionRecord) -> bool {
    record.dim.is_some() && record.schema.vector_index != RemoteVectorIndex::Exact
}

/// Whether the index with these numbers of indexed, all and pending documents has all of them.
const fn is_complete((indexed, total, pending): (u64, u64, u64), documents: u64) -> bool {
    total >= documents && indexed >= total && pending == 0
}

/// Whether Milvus takes a text as the name of a field or collection.
fn is_field_name(text: &str) -> bool {
    let mut all = text.chars();
    let first = all.next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && all.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.len() <= 200
}

pub(crate) const fn metric(similarity: RemoteSimilarity) -> &'static str {
    match similarity {
        RemoteSimilarity::InnerProduct => "IP",
        RemoteSimilarity::Cosine => "COSINE",
        RemoteSimilarity::Euclidean => "L2",
    }
}
