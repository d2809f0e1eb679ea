//! Creation of collections, loading of documents, and the index of vectors.

use std::thread;
use std::time::{Duration, Instant};

use ir_core::{Flow, NoProgress, Progress};
use serde_json::json;

use super::rows::MilvusLoading;
use super::{ENGINE, MilvusCollection, VECTOR, is_field_name, protocol};
use crate::loading::{LoadOptions, LoadReport, load_rows};
use crate::schema::{CollectionRecord, CollectionSchema, RemoteVectorIndex};
use crate::source::LoadSource;
use crate::{AttributeType, Consistency, MilvusApi, RemoteError, TextIndexing};

impl MilvusCollection {
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

    /// Loads like [`load`](Self::load), and indexes titles and texts for BM25: in Milvus 2.5 and
    /// later, and in milvus-lite, over gRPC. The source may be without vectors. `texts`: the
    /// analysis `english`, `lucene-standard` or `whitespace`, as far as the server has it, and a
    /// `k1` above 0; `None` indexes no texts. Title and text together have at most 65,535 bytes.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load), and [`RemoteError::Schema`] if `texts` is given
    /// over another API than gRPC or Milvus lacks the analysis.
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
            super::grpc::check_texts(texts)?;
        }
        self.load_all(schema, texts, source, options, progress)
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
        let (record, absent_attributes) = source.record(schema, texts.is_some(), settings)?;
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
            absent_attributes,
        })
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
        let invalid = |message: String| Err(RemoteError::schema(message));
        for attribute in &schema.attributes {
            let name = &attribute.name;
            if !is_field_name(name) {
                return invalid(format!(
                    "attribute {name:?}: expected letters, digits and _, as Milvus needs"
                ));
            }
            if attribute.kind == AttributeType::Texts {
                return invalid(format!(
                    "attribute {name:?}: expected the type integer, number, boolean or text, found texts, which is not loaded into Milvus"
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
            Some(grpc) => grpc.create(record, texts),
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
            return grpc.create_indexes(record, texts);
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
    pub(super) fn load_into_memory(&self) -> Result<(), RemoteError> {
        self.request_loading()?;
        // After a start of the server, it needs some seconds.
        let mut failures = 0;
        loop {
            match self.count("", Consistency::Strong) {
                Err(RemoteError::Rejected { .. }) if failures + 1 < self.connection.attempts() => {
                    failures += 1;
                    self.connection.wait_after(failures, &mut NoProgress)?;
                }
                other => return other.map(|_| ()),
            }
        }
    }

    fn request_loading(&self) -> Result<(), RemoteError> {
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.grpc {
            return grpc.load();
        }
        if self.api == MilvusApi::V2 {
            return self.v2_request_loading();
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
                    grpc.flush()?;
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

    /// Returns `true` if the index contains all documents.
    fn is_indexed(&self, record: &CollectionRecord) -> Result<bool, RemoteError> {
        Ok(is_complete(self.index_rows()?, record.documents as u64))
    }

    /// Numbers of indexed, all and pending documents of the index.
    fn index_rows(&self) -> Result<(u64, u64, u64), RemoteError> {
        #[cfg(feature = "milvus-grpc")]
        if let Some(grpc) = &self.grpc {
            return Ok(grpc.index_rows(VECTOR)?.unwrap_or_default());
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
}

/// Returns `true` if the collection has an approximate index of vectors, which the server builds.
fn has_hnsw(record: &CollectionRecord) -> bool {
    record.dim.is_some() && record.schema.vector_index != RemoteVectorIndex::Exact
}

/// Returns `true` if an index with these numbers of indexed, all and pending documents contains all
/// of them.
const fn is_complete((indexed, total, pending): (u64, u64, u64), documents: u64) -> bool {
    total >= documents && indexed >= total && pending == 0
}
