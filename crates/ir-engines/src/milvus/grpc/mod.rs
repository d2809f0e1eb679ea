//! Operations over gRPC, the API of all releases of Milvus and of milvus-lite.

mod channel;
mod messages;
mod requests;
mod responses;
#[cfg(test)]
mod tests;

use ir_core::NoProgress;
use prost::Message;

pub(super) use self::channel::GrpcChannel;
use self::messages::{
    Checked, CollectionRequest, CreateCollectionRequest, CreateIndexRequest, DeleteRequest,
    DescribeCollectionResponse, DescribeIndexRequest, DescribeIndexResponse, FlushRequest,
    InsertRequest, LoadCollectionRequest, MutationResult, QueryRequest, QueryResults,
    SearchResults, Status, StatusResponse, pairs,
};
pub(super) use self::messages::{HybridSearchRequest, SearchRequest};
pub(super) use self::requests::{GrpcSearch, hybrid};
use self::requests::{columns, schema};
use self::responses::{check, column, hits, is_missing, longs, rows_of_index, transient};
use super::protocol::index_type;
use super::{ID, NUMBER, ScoredNumbers, VECTOR, metric};
use crate::schema::{CollectionRecord, CollectionSchema, RECORD_FORMAT};
use crate::source::RowBatch;
use crate::{Consistency, RemoteError, TextAnalysis, TextIndexing};

/// Names of the field with title and text, and of the field with their terms.
const CONTENTS: &str = "contents";
pub(super) const TERMS: &str = "terms";

/// Number of the type of sparse vectors, and of the function that computes them of texts.
const SPARSE_VECTOR: u32 = 104;
const BM25: i32 = 1;

/// Property of a collection that has its record. Milvus has it in the description too, where
/// `/api/v1` finds it; milvus-lite keeps no description.
const PROPERTY: &str = "ir_remote";

/// Parameters of the analyzer in Milvus, in JSON.
fn analyzer(texts: &TextIndexing) -> Result<&'static str, RemoteError> {
    match texts.analysis {
        TextAnalysis::English => Ok(r#"{"type":"english"}"#),
        TextAnalysis::LuceneStandard => Ok(r#"{"type":"standard"}"#),
        TextAnalysis::Whitespace => Ok(r#"{"tokenizer":"whitespace"}"#),
        other => Err(RemoteError::schema(format!(
            "expected an analysis that Milvus has (english, lucene-standard, whitespace), found {}",
            other.name()
        ))),
    }
}

pub(super) fn check_texts(texts: &TextIndexing) -> Result<(), RemoteError> {
    texts.check()?;
    // The range of Milvus.
    if texts.k1 == 0.0 {
        let message = "expected k1 above 0 for Milvus, found 0";
        return Err(RemoteError::schema(message));
    }
    analyzer(texts).map(|_| ())
}

const fn level(consistency: Consistency) -> i32 {
    match consistency {
        Consistency::Strong => 0,
        Consistency::Bounded => 2,
        Consistency::Eventual => 3,
    }
}

impl GrpcChannel {
    /// Calls a method, again after transient failures.
    fn repeated<Q, R>(&self, method: &'static str, request: &Q) -> Result<R, RemoteError>
    where
        Q: Message + Clone + 'static,
        R: Checked,
    {
        let connection = self.connection();
        let mut failures = 0;
        loop {
            match self.call_once(method, request.clone()) {
                Err(error) if error.is_transient() && failures + 1 < connection.attempts() => {
                    failures += 1;
                    connection.wait_after(failures, &mut NoProgress)?;
                }
                other => return other,
            }
        }
    }

    /// Calls a method once. A transient failure that the response states is an error that
    /// [`RemoteError::is_transient`].
    fn call_once<Q, R>(&self, method: &'static str, request: Q) -> Result<R, RemoteError>
    where
        Q: Message + 'static,
        R: Checked,
    {
        let response: R = self.call(method, request)?;
        match response.status().and_then(transient) {
            Some((status, body)) => Err(RemoteError::Status {
                url: self.url(method),
                status,
                body,
            }),
            None => Ok(response),
        }
    }

    fn checked<Q, R>(
        &self,
        method: &'static str,
        request: &Q,
        operation: &'static str,
    ) -> Result<R, RemoteError>
    where
        Q: Message + Clone + 'static,
        R: Checked,
    {
        let response: R = self.repeated(method, request)?;
        check(response.status(), operation)?;
        Ok(response)
    }

    fn unexpected(&self, method: &str, expected: impl Into<String>) -> RemoteError {
        RemoteError::response(self.url(method), expected, "another response")
    }

    pub(super) fn remove(&self) -> Result<(), RemoteError> {
        let request = CollectionRequest {
            collection_name: self.name(),
        };
        let status: Status = self.repeated("DropCollection", &request)?;
        if is_missing(&status) {
            Ok(())
        } else {
            check(Some(&status), "remove the collection")
        }
    }

    pub(super) fn record(&self) -> Result<Option<CollectionRecord>, RemoteError> {
        let request = CollectionRequest {
            collection_name: self.name(),
        };
        let response: DescribeCollectionResponse = self.repeated("DescribeCollection", &request)?;
        if response.status.as_ref().is_some_and(is_missing) {
            return Ok(None);
        }
        check(response.status(), "describe the collection")?;
        let mut properties = response.properties.iter();
        let property = properties.find(|pair| pair.key == PROPERTY);
        let description = response.schema.as_ref().map(|schema| &schema.description);
        let text = property.map(|pair| &pair.value).or(description);
        let record = text.and_then(|text| serde_json::from_str::<CollectionRecord>(text).ok());
        match record.filter(|record| record.format == RECORD_FORMAT) {
            Some(record) => Ok(Some(record)),
            None => Err(RemoteError::ForeignCollection {
                collection: self.name(),
                found: "no record in its properties and description".to_owned(),
            }),
        }
    }

    pub(super) fn create(
        &self,
        record: &CollectionRecord,
        texts: Option<&TextIndexing>,
    ) -> Result<(), RemoteError> {
        let text = serde_json::to_string(record).unwrap_or_default();
        let schema = schema(&self.name(), &text, record, texts)?;
        let request = CreateCollectionRequest {
            collection_name: self.name(),
            schema: schema.encode_to_vec(),
            shards_num: record.schema.shards as i32,
            consistency_level: level(Consistency::Strong),
            properties: pairs([(PROPERTY, text)]),
        };
        let status: Status = self.repeated("CreateCollection", &request)?;
        check(Some(&status), "create the collection")
    }

    /// Describes the indexes of vectors and terms to the server, unless it has them.
    pub(super) fn create_indexes(
        &self,
        record: &CollectionRecord,
        texts: Option<&TextIndexing>,
    ) -> Result<(), RemoteError> {
        if record.dim.is_some() && self.index_rows(VECTOR)?.is_none() {
            let (kind, parameters) = index_type(record.schema.vector_index);
            let metric = metric(record.schema.similarity);
            self.create_index(VECTOR, kind, metric, parameters.to_string())?;
        }
        if let Some(TextIndexing { k1, b, .. }) = texts
            && self.index_rows(TERMS)?.is_none()
        {
            let parameters = format!(r#"{{"bm25_k1":{k1},"bm25_b":{b}}}"#);
            self.create_index(TERMS, "SPARSE_INVERTED_INDEX", "BM25", parameters)?;
        }
        Ok(())
    }

    fn create_index(
        &self,
        field: &str,
        kind: &str,
        metric: &str,
        parameters: String,
    ) -> Result<(), RemoteError> {
        let request = CreateIndexRequest {
            collection_name: self.name(),
            field_name: field.to_owned(),
            index_name: field.to_owned(),
            extra_params: pairs([
                ("index_type", kind.to_owned()),
                ("metric_type", metric.to_owned()),
                ("params", parameters),
            ]),
        };
        let status: Status = self.repeated("CreateIndex", &request)?;
        check(Some(&status), "create the index")
    }

    pub(super) fn load(&self) -> Result<(), RemoteError> {
        let request = LoadCollectionRequest {
            collection_name: self.name(),
            replica_number: 1,
        };
        let status: Status = self.repeated("LoadCollection", &request)?;
        check(Some(&status), "load the collection")
    }

    pub(super) fn flush(&self) -> Result<(), RemoteError> {
        let request = FlushRequest {
            collection_names: vec![self.name()],
        };
        let operation = "flush the collection";
        self.checked::<_, StatusResponse>("Flush", &request, operation)
            .map(|_| ())
    }

    /// Numbers of indexed, all and pending documents of an index; `None` if there is none.
    pub(super) fn index_rows(&self, field: &str) -> Result<Option<(u64, u64, u64)>, RemoteError> {
        let request = DescribeIndexRequest {
            collection_name: self.name(),
            field_name: field.to_owned(),
        };
        let response: DescribeIndexResponse = self.repeated("DescribeIndex", &request)?;
        rows_of_index(&response, field)
    }

    fn query(
        &self,
        expression: &str,
        fields: &[&str],
        consistency: Consistency,
    ) -> Result<QueryResults, RemoteError> {
        let request = QueryRequest {
            collection_name: self.name(),
            expr: expression.to_owned(),
            output_fields: fields.iter().map(|&field| field.to_owned()).collect(),
            guarantee_timestamp: consistency.guarantee(),
            consistency_level: level(consistency),
        };
        self.checked("Query", &request, "query documents")
    }

    pub(super) fn count(
        &self,
        expression: &str,
        consistency: Consistency,
    ) -> Result<u64, RemoteError> {
        let results = self.query(expression, &["count(*)"], consistency)?;
        let counts = longs(&results, "count(*)");
        match counts {
            Some(&[count]) if count >= 0 => Ok(count as u64),
            _ => Err(self.unexpected("Query", "a count")),
        }
    }

    /// Numbers of the documents that satisfy an expression, in any order.
    pub(super) fn numbers(
        &self,
        expression: &str,
        consistency: Consistency,
    ) -> Result<Vec<i64>, RemoteError> {
        let results = self.query(expression, &[NUMBER], consistency)?;
        match longs(&results, NUMBER) {
            Some(numbers) => Ok(numbers.to_vec()),
            // Without documents, there may be no column.
            None if results.fields_data.is_empty() => Ok(Vec::new()),
            None => Err(self.unexpected("Query", "numbers of documents")),
        }
    }

    /// Numbers and ids of the documents that satisfy an expression, in any order.
    pub(super) fn rows(
        &self,
        expression: &str,
        consistency: Consistency,
    ) -> Result<Vec<(i64, String)>, RemoteError> {
        let results = self.query(expression, &[NUMBER, ID], consistency)?;
        let numbers = longs(&results, NUMBER);
        let ids = column(&results, ID).and_then(|scalars| scalars.strings.as_ref());
        match (numbers, ids) {
            (Some(numbers), Some(ids)) if numbers.len() == ids.data.len() => {
                let pairs = numbers.iter().copied().zip(ids.data.iter().cloned());
                Ok(pairs.collect())
            }
            _ => Err(self.unexpected("Query", "numbers and ids of documents")),
        }
    }

    pub(super) fn insert(
        &self,
        schema: &CollectionSchema,
        batch: &RowBatch,
        rows: &[usize],
    ) -> Result<(), RemoteError> {
        let request = InsertRequest {
            collection_name: self.name(),
            fields_data: columns(schema, batch, rows),
            num_rows: rows.len() as u32,
        };
        let result: MutationResult = self.call_once("Insert", request)?;
        check(result.status(), "insert documents")?;
        if result.insert_cnt == rows.len() as i64 {
            Ok(())
        } else {
            let expected = format!("{} documents inserted", rows.len());
            Err(self.unexpected("Insert", expected))
        }
    }

    pub(super) fn delete(&self, expression: &str) -> Result<(), RemoteError> {
        let request = DeleteRequest {
            collection_name: self.name(),
            expr: expression.to_owned(),
        };
        self.checked::<_, MutationResult>("Delete", &request, "delete documents")
            .map(|_| ())
    }

    /// Numbers and scores of hits per query.
    pub(super) fn search(&self, request: &SearchRequest) -> Result<ScoredNumbers, RemoteError> {
        let results = self.checked("Search", request, "search")?;
        self.hits(&results, "Search", request.nq as usize)
    }

    /// Numbers and scores of hits per query.
    pub(super) fn hybrid_search(
        &self,
        request: &HybridSearchRequest,
        queries: usize,
    ) -> Result<ScoredNumbers, RemoteError> {
        let results = self.checked("HybridSearch", request, "search")?;
        self.hits(&results, "HybridSearch", queries)
    }

    fn hits(
        &self,
        results: &SearchResults,
        method: &str,
        queries: usize,
    ) -> Result<ScoredNumbers, RemoteError> {
        results
            .results
            .as_ref()
            .and_then(|data| hits(data, queries))
            .ok_or_else(|| self.unexpected(method, format!("hits of {queries} queries")))
    }
}
