//! Indexes of Elasticsearch and OpenSearch, over REST.

mod dsl;
mod existing;
mod index;
mod settings;

use std::ops::Range;
use std::sync::Arc;

use ir_core::Progress;
use ir_fetch::HttpMethod;
use serde_json::{Value, json};

pub use index::{ElasticHybrid, ElasticTextIndex, ElasticVectorIndex};

use crate::clause::Clause;
use crate::connection::Connection;
use crate::loading::{LoadOptions, LoadReport, LoadTarget, load_rows};
use crate::recording::{Recorder, Secrets};
use crate::schema::{CollectionRecord, CollectionSchema, RECORD_FORMAT};
use crate::source::{LoadSource, RowBatch};
use crate::{ClientConfig, Credentials, EngineAddress, EngineKind, RemoteError, TextIndexing};

/// Names of fields: document number, id, text, vector, the object of attributes, and the names of
/// those that are present.
const NUMBER: &str = "n";
const ID: &str = "id";
const CONTENTS: &str = "contents";
const VECTOR: &str = "vector";
const ATTRIBUTES: &str = "attributes";
const KNOWN: &str = "known";

/// Maximum length of an attribute or id in bytes, a limit of Lucene.
const MAX_KEYWORD: usize = 32_766;

/// Index of an Elasticsearch 8 or OpenSearch 2 cluster.
///
/// Not tried against a real cluster: tests run against a double in the process, and requests are
/// checked against the OpenAPI specifications of both engines.
///
/// Document `n` has the `_id` `n`, so that loading it twice replaces it. Field `contents` has title
/// and text, `vector` the vector, `attributes` the declared attributes, and `known` the names of
/// those that are present. The [`CollectionRecord`] is in `_meta` of the mapping.
#[derive(Debug, Clone)]
pub struct ElasticCollection {
    connection: Connection,
    secrets: Secrets,
    name: String,
    engine: EngineKind,
}

impl ElasticCollection {
    /// Creates a client; connects with the first request.
    ///
    /// # Errors
    /// Returns [`RemoteError::Address`] for an address of another engine, and for an index name
    /// with an upper-case letter or with `-`, `_` or `.` at its start, and
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
        if address.engine == EngineKind::Milvus {
            return Err(invalid("elasticsearch://… or opensearch://…"));
        }
        let name = &address.collection;
        let is_upper = |c: char| c.is_ascii_uppercase();
        if name.starts_with(['-', '_', '.']) || name.chars().any(is_upper) {
            return Err(invalid(
                "an index name in lower case that begins with a letter or digit",
            ));
        }
        Ok(Self {
            connection: Connection::new(address, credentials, config, "")?,
            secrets: Secrets::new(credentials),
            name: name.clone(),
            engine: address.engine,
        })
    }

    /// Records the exchange with the server.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Arc<Recorder>) -> Self {
        recorder.redact(&self.secrets);
        self.connection = self.connection.with_recorder(recorder);
        self
    }

    /// Returns the index template that creates indexes with the mapping of [`load`](Self::load),
    /// for an administrator: `PUT /_index_template/NAME`. `dim`: dimension of the vectors, if any.
    ///
    /// # Errors
    /// [`RemoteError::Schema`].
    pub fn index_template(
        &self,
        schema: &CollectionSchema,
        texts: Option<&TextIndexing>,
        dim: Option<usize>,
    ) -> Result<String, RemoteError> {
        schema.check()?;
        settings::check(schema, texts, dim)?;
        let body = settings::index_body(self.engine, schema, texts, dim, None);
        let template = json!({"index_patterns": [self.name], "template": body});
        Ok(serde_json::to_string_pretty(&template).unwrap_or_default())
    }

    /// Creates the index, unless it exists, and loads the documents that are missing: texts if
    /// `texts` is given, vectors if the source has them. Returns when each document is there once.
    ///
    /// An interrupted call is resumed by the next one with the same source. An empty index that a
    /// template created gets the record too, if its mapping and settings are those that this call
    /// would create; the number of shards may be another. Reads the source twice, for the
    /// fingerprint and for the data; memory holds one batch. Reports the stages "loading" and
    /// "verifying" (documents).
    ///
    /// # Errors
    /// [`RemoteError::Conflict`] if the index has another schema or other documents,
    /// [`RemoteError::Document`] for a document that does not fit the schema, and errors of the
    /// server after the attempts of the client.
    pub fn load(
        &self,
        schema: &CollectionSchema,
        texts: Option<&TextIndexing>,
        source: &LoadSource<'_>,
        options: &LoadOptions,
        progress: &mut dyn Progress,
    ) -> Result<LoadReport, RemoteError> {
        settings::check(schema, texts, source.dim())?;
        let engine_settings = texts.map(TextIndexing::to_string).unwrap_or_default();
        let (record, absent_attributes) =
            source.record(schema, texts.is_some(), engine_settings)?;
        let body = settings::index_body(self.engine, schema, texts, source.dim(), Some(&record));
        let created = match self.mapping()? {
            Some(mapping) => match record_of(&mapping) {
                Some(existing) => {
                    record.check_existing(&existing, &self.name)?;
                    false
                }
                None => {
                    self.adopt(&mapping, &body, &record)?;
                    false
                }
            },
            None => {
                self.create(&body, &record)?;
                true
            }
        };
        let loading = ElasticLoading {
            collection: self,
            schema,
        };
        let documents = record.documents;
        let with_texts = texts.is_some();
        let inserted = load_rows(
            &loading, source, documents, options, with_texts, !created, progress,
        )?;
        Ok(LoadReport {
            documents,
            inserted,
            created,
            absent_attributes,
        })
    }

    /// Removes the index, if it exists.
    ///
    /// # Errors
    /// Returns an error if the server does not respond or rejects the request.
    pub fn remove(&self) -> Result<(), RemoteError> {
        match self.call(HttpMethod::Delete, "", "") {
            Err(RemoteError::NoCollection { .. }) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Mapping of the index; `None` if there is no index.
    fn mapping(&self) -> Result<Option<Value>, RemoteError> {
        match self.call(HttpMethod::Get, "/_mapping", "") {
            Err(RemoteError::NoCollection { .. }) => Ok(None),
            Err(error) => Err(error),
            Ok(response) => match response.as_object().and_then(|all| all.values().next()) {
                // An alias has another name.
                Some(index) if index["mappings"].is_object() => Ok(Some(index["mappings"].clone())),
                _ => Err(self.unexpected("/_mapping", "the mapping of an index", &response)),
            },
        }
    }

    /// Reads the record of the index.
    ///
    /// # Errors
    /// [`RemoteError::NoCollection`], [`RemoteError::ForeignCollection`], and errors of the server.
    pub fn record(&self) -> Result<CollectionRecord, RemoteError> {
        let mapping = self.mapping()?.ok_or_else(|| self.missing())?;
        record_of(&mapping).ok_or_else(|| self.foreign())
    }

    fn create(&self, body: &Value, record: &CollectionRecord) -> Result<(), RemoteError> {
        match self.put("", body) {
            // If the response to an earlier attempt got lost, the index exists with this record.
            Err(RemoteError::Rejected { message, .. })
                if message.contains("resource_already_exists_exception") =>
            {
                let mapping = self.mapping()?.ok_or_else(|| self.missing())?;
                let existing = record_of(&mapping).ok_or_else(|| self.foreign())?;
                record.check_existing(&existing, &self.name)?;
                self.check_configuration(&mapping, body)
            }
            other => other,
        }
    }

    /// Gives an index without documents the record, if it is one that `body` would create.
    fn adopt(
        &self,
        mapping: &Value,
        body: &Value,
        record: &CollectionRecord,
    ) -> Result<(), RemoteError> {
        let is_ours = mapping["properties"][NUMBER].is_object();
        if !is_ours || self.count(&json!({"match_all": {}}))? > 0 {
            return Err(self.foreign());
        }
        self.check_configuration(mapping, body)?;
        let body = json!({"_meta": {"ir_remote": record}});
        self.put("/_mapping", &body)
    }

    /// Checks that the index has the mapping and the settings of `body`.
    fn check_configuration(&self, mapping: &Value, body: &Value) -> Result<(), RemoteError> {
        let path = "/_settings";
        let response = self.call(HttpMethod::Get, path, "")?;
        let index = response.as_object().and_then(|all| all.values().next());
        let settings = index.map(|index| &index["settings"]);
        let settings = settings
            .filter(|settings| settings.is_object())
            .ok_or_else(|| self.unexpected(path, "the settings of an index", &response))?;
        match existing::difference(self.engine, body, mapping, settings) {
            None => Ok(()),
            Some((what, expected, found)) => Err(RemoteError::Conflict {
                collection: self.name.clone(),
                what,
                expected,
                found,
                is_load: true,
            }),
        }
    }

    fn missing(&self) -> RemoteError {
        RemoteError::NoCollection {
            collection: self.name.clone(),
        }
    }

    fn foreign(&self) -> RemoteError {
        RemoteError::ForeignCollection {
            collection: self.name.clone(),
            found: "an index without its record in the mapping".to_owned(),
        }
    }

    fn put(&self, path: &str, body: &Value) -> Result<(), RemoteError> {
        let response = self.call(HttpMethod::Put, path, &body.to_string())?;
        match response["acknowledged"].as_bool() {
            Some(true) => Ok(()),
            _ => Err(self.unexpected(path, "an acknowledgment", &response)),
        }
    }

    fn count(&self, query: &Value) -> Result<u64, RemoteError> {
        let body = json!({"query": query}).to_string();
        let response = self.call(HttpMethod::Post, "/_count", &body)?;
        let count = response["count"].as_u64();
        count.ok_or_else(|| self.unexpected("/_count", "a count", &response))
    }

    fn path(&self, path: &str) -> String {
        format!("/{}{path}", self.name)
    }

    fn call(&self, method: HttpMethod, path: &str, body: &str) -> Result<Value, RemoteError> {
        let called = self.connection.call(method, &self.path(path), body);
        self.checked(path, called)
    }

    fn call_lines(&self, path: &str, body: &str) -> Result<Value, RemoteError> {
        let called = self.connection.call_lines(&self.path(path), body);
        self.checked(path, called)
    }

    fn checked(
        &self,
        path: &str,
        called: Result<Value, RemoteError>,
    ) -> Result<Value, RemoteError> {
        match called {
            Err(RemoteError::Status {
                status: 404, body, ..
            }) if body.contains("index_not_found_exception") => Err(self.missing()),
            Err(RemoteError::Status {
                status: 400, body, ..
            }) => Err(RemoteError::Rejected {
                engine: self.engine.name(),
                operation: "search or change the index",
                message: body,
            }),
            Err(RemoteError::Status { url, status, body }) if (404..=406).contains(&status) => {
                Err(RemoteError::Response {
                    url,
                    expected: format!("the REST API of {}", self.engine.name()),
                    found: format!("HTTP status {status}: {body:?}"),
                })
            }
            Ok(response) if !response.is_object() => {
                Err(self.unexpected(path, "a JSON object", &response))
            }
            other => other,
        }
    }

    fn unexpected(&self, path: &str, expected: &str, response: &Value) -> RemoteError {
        let found: String = response.to_string().chars().take(200).collect();
        RemoteError::response(self.connection.url(&self.path(path)), expected, found)
    }
}

fn record_of(mapping: &Value) -> Option<CollectionRecord> {
    let record = mapping.pointer("/_meta/ir_remote")?;
    let record: CollectionRecord = serde_json::from_value(record.clone()).ok()?;
    (record.format == RECORD_FORMAT).then_some(record)
}

struct ElasticLoading<'a> {
    collection: &'a ElasticCollection,
    schema: &'a CollectionSchema,
}

impl LoadTarget for ElasticLoading<'_> {
    fn connection(&self) -> &Connection {
        &self.collection.connection
    }

    fn settle(&self) -> Result<(), RemoteError> {
        let refreshed = self.collection.call(HttpMethod::Post, "/_refresh", "");
        refreshed.map(|_| ())
    }

    fn count(&self, numbers: Range<u32>) -> Result<u64, RemoteError> {
        let query = match numbers {
            Range {
                start: 0,
                end: u32::MAX,
            } => json!({"match_all": {}}),
            Range { start, end } => dsl::query(&Clause::DocRange {
                first: start,
                last: end.saturating_sub(1),
            }),
        };
        self.collection.count(&query)
    }

    fn existing(&self, _: Range<u32>) -> Result<Vec<u32>, RemoteError> {
        // Documents are replaced: repeating all of them doubles none.
        Ok(Vec::new())
    }

    fn is_distinct(&self, _: Range<u32>) -> Result<bool, RemoteError> {
        // The number is the `_id`.
        Ok(true)
    }

    fn insert(&self, batch: &RowBatch, rows: &[usize]) -> Result<(), RemoteError> {
        let body = settings::bulk_body(self.schema, batch, rows)?;
        let response = self.collection.call_lines("/_bulk", &body)?;
        let items = response["items"].as_array();
        let items = items
            .filter(|items| items.len() == rows.len())
            .ok_or_else(|| {
                let expected = format!("{} results of documents", rows.len());
                self.collection.unexpected("/_bulk", &expected, &response)
            })?;
        for (item, &at) in items.iter().zip(rows) {
            let result = &item["index"];
            let status = result["status"].as_u64().unwrap_or(0);
            match status {
                200 | 201 => {}
                // The queue of the cluster is full.
                429 | 500..=599 => {
                    return Err(RemoteError::Status {
                        url: (self.collection.connection).url(&self.collection.path("/_bulk")),
                        status: status as u16,
                        body: result["error"].to_string().chars().take(200).collect(),
                    });
                }
                _ => {
                    return Err(RemoteError::Document {
                        number: batch.first as usize + at + 1,
                        id: batch.ids[at].clone(),
                        what: self.collection.engine.name().to_owned(),
                        expected: "an accepted document".to_owned(),
                        found: result["error"].to_string().chars().take(300).collect(),
                    });
                }
            }
        }
        Ok(())
    }

    fn delete(&self, numbers: Range<u32>) -> Result<(), RemoteError> {
        let query = dsl::query(&Clause::DocRange {
            first: numbers.start,
            last: numbers.end.saturating_sub(1),
        });
        let body = json!({"query": query}).to_string();
        let path = "/_delete_by_query?refresh=true";
        self.collection
            .call(HttpMethod::Post, path, &body)
            .map(|_| ())
    }
}
