//! Operations over gRPC, the API of all releases of Milvus and of milvus-lite.

mod channel;
mod messages;
mod responses;
#[cfg(test)]
mod tests;
mod text;

use ir_core::NoProgress;
use prost::Message;
use serde_json::json;

pub(super) use self::channel::GrpcChannel;
pub(super) use self::messages::SearchRequest;
use self::messages::{
    Booleans, Checked, CollectionRequest, CreateCollectionRequest, CreateIndexRequest,
    DeleteRequest, DescribeCollectionResponse, DescribeIndexRequest, DescribeIndexResponse,
    Doubles, FieldData, FieldSchema, Floats, FlushRequest, FunctionSchema, InsertRequest,
    LoadCollectionRequest, Longs, MutationResult, QueryRequest, QueryResults, ScalarField, Schema,
    SearchResults, Status, StatusResponse, Strings, VectorField, pairs,
};
use self::responses::{check, column, divided, is_missing, longs, rows_of_index};
pub use self::text::{MilvusHybrid, MilvusTextIndex};
use super::protocol::{BOOLEAN, DOUBLE, FLOAT_VECTOR, INT64, VARCHAR, data_type, index_type};
use super::{ID, MAX_TEXT, MilvusCollection, NUMBER, ScoredNumbers, VECTOR, metric};
use crate::schema::{CollectionRecord, CollectionSchema, RECORD_FORMAT};
use crate::source::RowBatch;
use crate::text_indexing::contents;
use crate::{AttributeType, Consistency, RemoteError, TextAnalysis, TextIndexing};

/// Name of the field with title and text, and of that with their terms.
const CONTENTS: &str = "contents";
const TERMS: &str = "terms";

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
        other => Err(RemoteError::Schema {
            message: format!(
                "expected an analysis that Milvus has (english, lucene-standard, whitespace), found {}",
                other.name()
            ),
        }),
    }
}

pub(super) fn check_texts(texts: &TextIndexing) -> Result<(), RemoteError> {
    texts.check()?;
    // The range of Milvus.
    if texts.k1 == 0.0 {
        let message = "expected k1 above 0 for Milvus, found 0".to_owned();
        return Err(RemoteError::Schema { message });
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

/// The guarantee timestamp of a level; the server computes that of a strong search.
const fn guarantee(consistency: Consistency) -> u64 {
    consistency.guarantee()
}

impl GrpcChannel {
    /// Calls a method, again after transient failures.
    fn repeated<Q, R>(
        &self,
        collection: &MilvusCollection,
        method: &'static str,
        request: &Q,
    ) -> Result<R, RemoteError>
    where
        Q: Message + Clone + 'static,
        R: Message + Default + 'static,
    {
        let connection = &collection.connection;
        let mut failures = 0;
        loop {
            match self.call(method, request.clone()) {
                Err(error) if error.is_transient() && failures + 1 < connection.attempts() => {
                    failures += 1;
                    connection.wait_after(failures, &mut NoProgress)?;
                }
                other => return other,
            }
        }
    }

    fn checked<Q, R>(
        &self,
        collection: &MilvusCollection,
        method: &'static str,
        request: &Q,
        operation: &'static str,
    ) -> Result<R, RemoteError>
    where
        Q: Message + Clone + 'static,
        R: Checked,
    {
        let response: R = self.repeated(collection, method, request)?;
        check(response.status(), operation)?;
        Ok(response)
    }

    fn unexpected(&self, method: &str, expected: String) -> RemoteError {
        RemoteError::Response {
            url: self.url(method),
            expected,
            found: "another response".to_owned(),
        }
    }

    pub(super) fn remove(&self, collection: &MilvusCollection) -> Result<(), RemoteError> {
        let request = CollectionRequest {
            collection_name: collection.name.clone(),
        };
        let status: Status = self.repeated(collection, "DropCollection", &request)?;
        match is_missing(&status) {
            true => Ok(()),
            false => check(Some(&status), "remove the collection"),
        }
    }

    pub(super) fn record(
        &self,
        collection: &MilvusCollection,
    ) -> Result<Option<CollectionRecord>, RemoteError> {
        let request = CollectionRequest {
            collection_name: collection.name.clone(),
        };
        let response: DescribeCollectionResponse =
            self.repeated(collection, "DescribeCollection", &request)?;
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
                collection: collection.name.clone(),
                found: "no record in its properties and description".to_owned(),
            }),
        }
    }

    pub(super) fn create(
        &self,
        collection: &MilvusCollection,
        record: &CollectionRecord,
        texts: Option<&TextIndexing>,
    ) -> Result<(), RemoteError> {
        let text = serde_json::to_string(record).unwrap_or_default();
        let schema = schema(&collection.name, &text, record, texts)?;
        let request = CreateCollectionRequest {
            collection_name: collection.name.clone(),
            schema: schema.encode_to_vec(),
            shards_num: 1,
            consistency_level: level(Consistency::Strong),
            properties: pairs([(PROPERTY, text)]),
        };
        let status: Status = self.repeated(collection, "CreateCollection", &request)?;
        check(Some(&status), "create the collection")
    }

    /// Describes the indexes of vectors and terms to the server, unless it has them.
    pub(super) fn create_indexes(
        &self,
        collection: &MilvusCollection,
        record: &CollectionRecord,
        texts: Option<&TextIndexing>,
    ) -> Result<(), RemoteError> {
        if record.dim.is_some() && self.index_rows(collection, VECTOR)?.is_none() {
            let (kind, parameters) = index_type(record.schema.vector_index);
            let metric = metric(record.schema.similarity);
            self.create_index(collection, VECTOR, kind, metric, parameters.to_string())?;
        }
        if let Some(TextIndexing { k1, b, .. }) = texts
            && self.index_rows(collection, TERMS)?.is_none()
        {
            let parameters = format!(r#"{{"bm25_k1":{k1},"bm25_b":{b}}}"#);
            self.create_index(
                collection,
                TERMS,
                "SPARSE_INVERTED_INDEX",
                "BM25",
                parameters,
            )?;
        }
        Ok(())
    }

    fn create_index(
        &self,
        collection: &MilvusCollection,
        field: &str,
        kind: &str,
        metric: &str,
        parameters: String,
    ) -> Result<(), RemoteError> {
        let request = CreateIndexRequest {
            collection_name: collection.name.clone(),
            field_name: field.to_owned(),
            index_name: field.to_owned(),
            extra_params: pairs([
                ("index_type", kind.to_owned()),
                ("metric_type", metric.to_owned()),
                ("params", parameters),
            ]),
        };
        let status: Status = self.repeated(collection, "CreateIndex", &request)?;
        check(Some(&status), "create the index")
    }

    pub(super) fn load(&self, collection: &MilvusCollection) -> Result<(), RemoteError> {
        let request = LoadCollectionRequest {
            collection_name: collection.name.clone(),
            replica_number: 1,
        };
        let status: Status = self.repeated(collection, "LoadCollection", &request)?;
        check(Some(&status), "load the collection")
    }

    pub(super) fn flush(&self, collection: &MilvusCollection) -> Result<(), RemoteError> {
        let request = FlushRequest {
            collection_names: vec![collection.name.clone()],
        };
        let operation = "flush the collection";
        self.checked::<_, StatusResponse>(collection, "Flush", &request, operation)
            .map(|_| ())
    }

    /// Numbers of indexed, all and pending documents of an index; `None` if there is none.
    pub(super) fn index_rows(
        &self,
        collection: &MilvusCollection,
        field: &str,
    ) -> Result<Option<(u64, u64, u64)>, RemoteError> {
        let request = DescribeIndexRequest {
            collection_name: collection.name.clone(),
            field_name: field.to_owned(),
        };
        let response: DescribeIndexResponse =
            self.repeated(collection, "DescribeIndex", &request)?;
        rows_of_index(&response, field)
    }

    fn query(
        &self,
        collection: &MilvusCollection,
        expression: &str,
        fields: &[&str],
        consistency: Consistency,
    ) -> Result<QueryResults, RemoteError> {
        let request = QueryRequest {
            collection_name: collection.name.clone(),
            expr: expression.to_owned(),
            output_fields: fields.iter().map(|&field| field.to_owned()).collect(),
            guarantee_timestamp: guarantee(consistency),
            consistency_level: level(consistency),
        };
        self.checked(collection, "Query", &request, "query documents")
    }

    pub(super) fn count(
        &self,
        collection: &MilvusCollection,
        expression: &str,
        consistency: Consistency,
    ) -> Result<u64, RemoteError> {
        let results = self.query(collection, expression, &["count(*)"], consistency)?;
        let counts = longs(&results, "count(*)");
        match counts {
            Some(&[count]) if count >= 0 => Ok(count as u64),
            _ => Err(self.unexpected("Query", "a count".to_owned())),
        }
    }

    /// Numbers of the documents that satisfy an expression, in any order.
    pub(super) fn numbers(
        &self,
        collection: &MilvusCollection,
        expression: &str,
        consistency: Consistency,
    ) -> Result<Vec<i64>, RemoteError> {
        let results = self.query(collection, expression, &[NUMBER], consistency)?;
        match longs(&results, NUMBER) {
            Some(numbers) => Ok(numbers.to_vec()),
            // Without documents, there may be no column.
            None if results.fields_data.is_empty() => Ok(Vec::new()),
            None => Err(self.unexpected("Query", "numbers of documents".to_owned())),
        }
    }

    /// Numbers and ids of the documents that satisfy an expression, in any order.
    pub(super) fn rows(
        &self,
        collection: &MilvusCollection,
        expression: &str,
        consistency: Consistency,
    ) -> Result<Vec<(i64, String)>, RemoteError> {
        let results = self.query(collection, expression, &[NUMBER, ID], consistency)?;
        let numbers = longs(&results, NUMBER);
        let ids = column(&results, ID).and_then(|scalars| scalars.strings.as_ref());
        match (numbers, ids) {
            (Some(numbers), Some(ids)) if numbers.len() == ids.data.len() => {
                let pairs = numbers.iter().copied().zip(ids.data.iter().cloned());
                Ok(pairs.collect())
            }
            _ => Err(self.unexpected("Query", "numbers and ids of documents".to_owned())),
        }
    }

    pub(super) fn insert(
        &self,
        collection: &MilvusCollection,
        schema: &CollectionSchema,
        batch: &RowBatch,
        rows: &[usize],
    ) -> Result<(), RemoteError> {
        let request = InsertRequest {
            collection_name: collection.name.clone(),
            fields_data: columns(schema, batch, rows),
            num_rows: rows.len() as u32,
        };
        let result: MutationResult = self.call("Insert", request)?;
        check(result.status(), "insert documents")?;
        match result.insert_cnt == rows.len() as i64 {
            true => Ok(()),
            false => {
                let expected = format!("{} documents inserted", rows.len());
                Err(self.unexpected("Insert", expected))
            }
        }
    }

    pub(super) fn delete(
        &self,
        collection: &MilvusCollection,
        expression: &str,
    ) -> Result<(), RemoteError> {
        let request = DeleteRequest {
            collection_name: collection.name.clone(),
            expr: expression.to_owned(),
        };
        self.checked::<_, MutationResult>(collection, "Delete", &request, "delete documents")
            .map(|_| ())
    }

    /// Numbers and scores of hits per query.
    pub(super) fn search(
        &self,
        collection: &MilvusCollection,
        request: &SearchRequest,
    ) -> Result<ScoredNumbers, RemoteError> {
        let results = self.checked(collection, "Search", request, "search")?;
        self.hits(&results, "Search", request.nq as usize)
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
            .and_then(|data| divided(data, queries))
            .ok_or_else(|| self.unexpected(method, format!("hits of {queries} queries")))
    }
}

fn schema(
    name: &str,
    description: &str,
    record: &CollectionRecord,
    texts: Option<&TextIndexing>,
) -> Result<Schema, RemoteError> {
    let field = |name: &str, kind: u32| FieldSchema {
        name: name.to_owned(),
        data_type: kind as i32,
        ..FieldSchema::default()
    };
    let text = |name: &str| FieldSchema {
        type_params: pairs([("max_length", MAX_TEXT.to_string())]),
        ..field(name, VARCHAR)
    };
    let mut fields = vec![
        FieldSchema {
            is_primary_key: true,
            ..field(NUMBER, INT64)
        },
        text(ID),
    ];
    if let Some(dim) = record.dim {
        fields.push(FieldSchema {
            type_params: pairs([("dim", dim.to_string())]),
            ..field(VECTOR, FLOAT_VECTOR)
        });
    }
    let mut functions = Vec::new();
    if let Some(texts) = texts {
        let mut contents = text(CONTENTS);
        contents.type_params.extend(pairs([
            ("enable_analyzer", "true".to_owned()),
            ("analyzer_params", analyzer(texts)?.to_owned()),
        ]));
        fields.push(contents);
        fields.push(FieldSchema {
            is_function_output: true,
            ..field(TERMS, SPARSE_VECTOR)
        });
        functions.push(FunctionSchema {
            name: "bm25".to_owned(),
            r#type: BM25,
            input_field_names: vec![CONTENTS.to_owned()],
            output_field_names: vec![TERMS.to_owned()],
        });
    }
    for attribute in &record.schema.attributes {
        let name = format!("attr_{}", attribute.name);
        let kind = data_type(attribute.kind);
        fields.push(FieldSchema {
            is_partition_key: record.schema.partition_key.as_ref() == Some(&attribute.name),
            ..match kind {
                VARCHAR => text(&name),
                kind => field(&name, kind),
            }
        });
        fields.push(field(&format!("known_{}", attribute.name), BOOLEAN));
    }
    Ok(Schema {
        name: name.to_owned(),
        description: description.to_owned(),
        fields,
        functions,
    })
}

/// Rows of a batch as the columns of a request.
fn columns(schema: &CollectionSchema, batch: &RowBatch, rows: &[usize]) -> Vec<FieldData> {
    let scalars = |name: String, kind: u32, scalars: ScalarField| FieldData {
        r#type: kind as i32,
        field_name: name,
        scalars: Some(scalars),
        vectors: None,
    };
    let longs = |data: Vec<i64>| ScalarField {
        longs: Some(Longs { data }),
        ..ScalarField::default()
    };
    let booleans = |data: Vec<bool>| ScalarField {
        booleans: Some(Booleans { data }),
        ..ScalarField::default()
    };
    let strings = |data: Vec<String>| ScalarField {
        strings: Some(Strings { data }),
        ..ScalarField::default()
    };
    let numbers = rows.iter().map(|&at| i64::from(batch.first) + at as i64);
    let ids = rows.iter().map(|&at| batch.ids[at].clone());
    let mut columns = vec![
        scalars(NUMBER.to_owned(), INT64, longs(numbers.collect())),
        scalars(ID.to_owned(), VARCHAR, strings(ids.collect())),
    ];
    if !batch.vectors.is_empty() {
        let data: Vec<f32> = rows
            .iter()
            .flat_map(|&at| batch.vector(at))
            .copied()
            .collect();
        columns.push(FieldData {
            r#type: FLOAT_VECTOR as i32,
            field_name: VECTOR.to_owned(),
            scalars: None,
            vectors: Some(VectorField {
                dim: (data.len() / rows.len().max(1)) as i64,
                floats: Some(Floats { data }),
            }),
        });
    }
    if !batch.texts.is_empty() {
        let texts = rows.iter().map(|&at| &batch.texts[at]);
        let texts = texts.map(|(title, text)| contents(title, text));
        columns.push(scalars(
            CONTENTS.to_owned(),
            VARCHAR,
            strings(texts.collect()),
        ));
    }
    for attribute in &schema.attributes {
        let name = &attribute.name;
        let values = || rows.iter().map(|&at| batch.attributes[at].get(name));
        let known = booleans(values().map(|value| value.is_some()).collect());
        // Absent values have a placeholder.
        let json = |value| super::protocol::scalar(attribute.kind, value);
        let values = values().map(json);
        let field = match attribute.kind {
            AttributeType::Integer => {
                longs(values.map(|value| value.as_i64().unwrap_or(0)).collect())
            }
            AttributeType::Number => ScalarField {
                doubles: Some(Doubles {
                    data: values.map(|value| value.as_f64().unwrap_or(0.0)).collect(),
                }),
                ..ScalarField::default()
            },
            AttributeType::Boolean => {
                booleans(values.map(|value| value.as_bool() == Some(true)).collect())
            }
            AttributeType::Text | AttributeType::Texts => {
                let texts = values.map(|value| value.as_str().unwrap_or_default().to_owned());
                strings(texts.collect())
            }
        };
        let kind = match attribute.kind {
            AttributeType::Number => DOUBLE,
            kind => data_type(kind),
        };
        columns.push(scalars(format!("attr_{name}"), kind, field));
        columns.push(scalars(format!("known_{name}"), BOOLEAN, known));
    }
    columns
}

/// Request to search queries, encoded as placeholders of a type, in a field.
pub(super) struct GrpcSearch<'a> {
    pub(super) collection: &'a str,
    pub(super) field: &'static str,
    pub(super) expression: &'a str,
    pub(super) limit: usize,
    pub(super) metric: &'static str,
    /// Number of candidates of HNSW; `None` for exact search.
    pub(super) ef: Option<usize>,
    pub(super) consistency: Consistency,
}

impl GrpcSearch<'_> {
    pub(super) fn vectors(&self, vectors: &[&[f32]]) -> SearchRequest {
        let bytes = |vector: &&[f32]| vector.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.request(FLOAT_VECTOR, vectors.iter().map(bytes).collect())
    }

    fn texts(&self, texts: &[&str]) -> SearchRequest {
        let bytes = |text: &&str| text.as_bytes().to_vec();
        self.request(VARCHAR, texts.iter().map(bytes).collect())
    }

    fn request(&self, kind: u32, values: Vec<Vec<u8>>) -> SearchRequest {
        let parameters = match self.ef {
            Some(ef) => json!({"ef": ef.max(self.limit)}),
            None => json!({}),
        };
        let nq = values.len() as i64;
        let group = messages::PlaceholderGroup {
            placeholders: vec![messages::PlaceholderValue {
                tag: "$0".to_owned(),
                r#type: kind as i32,
                values,
            }],
        };
        SearchRequest {
            collection_name: self.collection.to_owned(),
            dsl: self.expression.to_owned(),
            placeholder_group: group.encode_to_vec(),
            // An expression.
            dsl_type: 1,
            search_params: pairs([
                ("anns_field", self.field.to_owned()),
                ("topk", self.limit.to_string()),
                ("metric_type", self.metric.to_owned()),
                ("params", parameters.to_string()),
                ("round_decimal", "-1".to_owned()),
            ]),
            guarantee_timestamp: guarantee(self.consistency),
            nq,
            consistency_level: level(self.consistency),
        }
    }
}
