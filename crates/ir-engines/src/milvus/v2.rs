//! Operations over `/v2/vectordb`, the REST API of Milvus 2.4 and later.
//!
//! Before 2.6, this API has no description of a collection. The record is stored as a document with
//! the number −1 and the record in JSON as its id. All expressions leave it out.

use ir_fetch::HttpMethod;
use serde_json::{Value, json};

use super::protocol_v2::{
    NO_COLLECTION, NO_INDEX, check, consistency_name, create_body, documents, field_names,
    index_body, insert_body, integer, record_row,
};
use super::{ID, MAX_TEXT, MilvusCollection, NUMBER, VECTOR};
use crate::schema::{CollectionRecord, CollectionSchema, RECORD_FORMAT};
use crate::source::RowBatch;
use crate::{Consistency, RemoteError};

/// State of a collection on the server.
enum V2State {
    Missing,
    /// The fields, and no record: the creation was interrupted, or the collection is foreign.
    NoRecord(Vec<String>),
    Record(Box<CollectionRecord>),
}

fn is_supported(record: &CollectionRecord) -> bool {
    record.format == RECORD_FORMAT
}

impl MilvusCollection {
    /// Sends a request that is repeated after transient failures.
    fn v2_call(&self, path: &str, body: &Value) -> Result<Value, RemoteError> {
        self.call("POST", path, body)
    }

    fn v2_checked(
        &self,
        path: &str,
        body: &Value,
        operation: &'static str,
    ) -> Result<Value, RemoteError> {
        let response = self.v2_call(path, body)?;
        check(&response, operation, &self.connection.url(path))?;
        Ok(response)
    }

    pub(super) fn v2_remove(&self) -> Result<(), RemoteError> {
        let body = json!({"collectionName": self.name});
        let response = self.v2_call("/collections/drop", &body)?;
        match response["code"].as_i64() {
            Some(NO_COLLECTION) => Ok(()),
            _ => {
                let url = self.connection.url("/collections/drop");
                check(&response, "remove the collection", &url)
            }
        }
    }

    /// Reads the record of the collection; `None` if there is no collection.
    pub(super) fn v2_record(&self) -> Result<Option<CollectionRecord>, RemoteError> {
        match self.v2_state()? {
            V2State::Missing => Ok(None),
            V2State::NoRecord(_) => Err(self.v2_foreign()),
            V2State::Record(record) => Ok(Some(*record)),
        }
    }

    /// Reads the state of the collection, and asks the server to hold it in memory.
    fn v2_state(&self) -> Result<V2State, RemoteError> {
        let path = "/collections/describe";
        let body = json!({"collectionName": self.name});
        let response = self.v2_call(path, &body)?;
        if response["code"].as_i64() == Some(NO_COLLECTION) {
            return Ok(V2State::Missing);
        }
        let url = self.connection.url(path);
        check(&response, "describe the collection", &url)?;
        let fields = response["data"]["fields"].as_array();
        let names = fields.into_iter().flatten().map(|field| {
            let name = field["name"].as_str();
            name.unwrap_or_default().to_owned()
        });
        let names: Vec<String> = names.collect();
        let is_ours = [NUMBER, ID, VECTOR]
            .iter()
            .all(|name| names.iter().any(|known| known == name));
        // Without an index, there are no documents in memory.
        if !is_ours || !self.v2_has_index()? {
            return Ok(V2State::NoRecord(names));
        }
        self.load_into_memory()?;
        let expression = format!("{NUMBER} == -1");
        let rows = self.v2_rows(&expression, 1, Consistency::Strong)?;
        let record = rows.first().map(|(_, id)| serde_json::from_str(id));
        match record {
            Some(Ok(record)) if is_supported(&record) => Ok(V2State::Record(Box::new(record))),
            _ => Ok(V2State::NoRecord(names)),
        }
    }

    /// Creates the collection, its index and its record, unless they exist. Returns whether there
    /// was no record.
    pub(super) fn v2_create(&self, record: &CollectionRecord) -> Result<bool, RemoteError> {
        let row = record_row(record);
        let length = row[ID].as_str().map_or(0, str::len);
        if length > MAX_TEXT {
            return Err(RemoteError::schema(format!(
                "expected a record of at most {MAX_TEXT} bytes, found {length}: too many attributes"
            )));
        }
        match self.v2_state()? {
            V2State::Record(existing) => {
                record.check_existing(&existing, &self.name)?;
                return Ok(false);
            }
            V2State::Missing => {
                let path = "/collections/create";
                let body = create_body(&self.name, record);
                let response = self.v2_call(path, &body)?;
                let url = self.connection.url(path);
                // If the response to an earlier attempt got lost, the collection exists.
                if let Err(error) = check(&response, "create the collection", &url) {
                    match self.v2_state()? {
                        V2State::NoRecord(names) => self.v2_check_fields(record, names)?,
                        _ => return Err(error),
                    }
                }
            }
            V2State::NoRecord(names) => self.v2_check_fields(record, names)?,
        }
        if !self.v2_has_index()? {
            let body = index_body(&self.name, &record.schema);
            self.v2_checked("/indexes/create", &body, "create the index")?;
        }
        self.load_into_memory()?;
        // Documents without a record are not ours.
        if self.v2_count("", Consistency::Strong)? > 0 {
            return Err(self.v2_foreign());
        }
        let body = json!({"collectionName": self.name, "data": [row]});
        self.v2_checked("/entities/upsert", &body, "insert the record")?;
        Ok(true)
    }

    fn v2_check_fields(
        &self,
        record: &CollectionRecord,
        mut names: Vec<String>,
    ) -> Result<(), RemoteError> {
        let mut expected = field_names(&record.schema);
        expected.sort();
        names.sort();
        if names == expected {
            Ok(())
        } else {
            Err(self.v2_foreign())
        }
    }

    fn v2_foreign(&self) -> RemoteError {
        RemoteError::ForeignCollection {
            collection: self.name.clone(),
            found: "no document with its record".to_owned(),
        }
    }

    fn v2_has_index(&self) -> Result<bool, RemoteError> {
        let path = "/indexes/describe";
        let body = json!({"collectionName": self.name, "indexName": VECTOR});
        let response = self.v2_call(path, &body)?;
        if response["code"].as_i64() == Some(NO_INDEX) {
            return Ok(false);
        }
        check(&response, "describe the index", &self.connection.url(path))?;
        Ok(response["data"].get(0).is_some())
    }

    pub(super) fn v2_request_loading(&self) -> Result<(), RemoteError> {
        let body = json!({"collectionName": self.name});
        let loaded = self.v2_checked("/collections/load", &body, "load the collection");
        loaded.map(|_| ())
    }

    /// Writes all segments. Returns `false` from a server without `flush`, before 2.5, which does
    /// so later and until then compares queries with every vector.
    pub(super) fn v2_flush(&self) -> Result<bool, RemoteError> {
        let path = "/collections/flush";
        let body = json!({"collectionName": self.name}).to_string();
        let response = match self.call_repeated(HttpMethod::Post, path, &body) {
            Err(RemoteError::Status { status: 404, .. }) => return Ok(false),
            other => other?,
        };
        let url = self.connection.url(path);
        check(&response, "flush the collection", &url).map(|()| true)
    }

    /// Numbers of indexed, all and pending documents of the index.
    pub(super) fn v2_index_rows(&self) -> Result<(u64, u64, u64), RemoteError> {
        let body = json!({"collectionName": self.name, "indexName": VECTOR});
        let response = self.v2_checked("/indexes/describe", &body, "describe the index")?;
        let index = &response["data"][0];
        let number = |name: &str| integer(&index[name]).map_or(0, |rows| rows.max(0) as u64);
        Ok((
            number("indexedRows"),
            number("totalRows"),
            number("pendingRows"),
        ))
    }

    pub(super) fn v2_count(
        &self,
        expression: &str,
        consistency: Consistency,
    ) -> Result<u64, RemoteError> {
        let path = "/entities/query";
        let body = json!({
            "collectionName": self.name,
            "filter": documents(expression),
            "outputFields": ["count(*)"],
            "consistencyLevel": consistency_name(consistency),
        });
        let response = self.v2_checked(path, &body, "count documents")?;
        let count = integer(&response["data"][0]["count(*)"]);
        let count = count.and_then(|count| u64::try_from(count).ok());
        count.ok_or_else(|| self.unexpected(path, "a count", &response))
    }

    /// Numbers and ids of up to `limit` rows, in any order.
    pub(super) fn v2_rows(
        &self,
        expression: &str,
        limit: usize,
        consistency: Consistency,
    ) -> Result<Vec<(i64, String)>, RemoteError> {
        let path = "/entities/query";
        let body = json!({
            "collectionName": self.name,
            "filter": expression,
            "outputFields": [NUMBER, ID],
            "limit": limit,
            "consistencyLevel": consistency_name(consistency),
        });
        let response = self.v2_checked(path, &body, "query documents")?;
        let rows = match &response["data"] {
            Value::Null => Some(&[][..]),
            rows => rows.as_array().map(Vec::as_slice),
        };
        let pair = |row: &Value| Some((integer(&row[NUMBER])?, row[ID].as_str()?.to_owned()));
        let rows = rows.and_then(|rows| rows.iter().map(pair).collect::<Option<Vec<_>>>());
        rows.ok_or_else(|| self.unexpected(path, "numbers and ids of documents", &response))
    }

    pub(super) fn v2_insert(
        &self,
        schema: &CollectionSchema,
        batch: &RowBatch,
        rows: &[usize],
    ) -> Result<(), RemoteError> {
        let path = "/entities/insert";
        let body = insert_body(&self.name, schema, batch, rows);
        let response = self.call_once(path, &body)?;
        check(&response, "insert documents", &self.connection.url(path))?;
        match integer(&response["data"]["insertCount"]) {
            Some(count) if count == rows.len() as i64 => Ok(()),
            _ => {
                let expected = format!("{} documents inserted", rows.len());
                Err(self.unexpected(path, &expected, &response))
            }
        }
    }

    pub(super) fn v2_delete(&self, expression: &str) -> Result<(), RemoteError> {
        let body = json!({"collectionName": self.name, "filter": expression});
        let deleted = self.v2_checked("/entities/delete", &body, "delete documents");
        deleted.map(|_| ())
    }
}
