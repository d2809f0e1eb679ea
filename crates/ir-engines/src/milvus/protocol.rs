//! Bodies of requests and responses of `/api/v1`.

use ir_core::AttributeValue;
use serde_json::{Value, json};

use super::{ENGINE, ID, MAX_TEXT, NUMBER, ScoredNumbers, VECTOR, metric};
use crate::schema::{CollectionRecord, CollectionSchema, RemoteVectorIndex};
use crate::source::RowBatch;
use crate::vector_query::write_vectors;
use crate::{AttributeType, RemoteError};

/// Numbers of data types.
pub(super) const BOOLEAN: u32 = 1;
pub(super) const INT64: u32 = 5;
pub(super) const DOUBLE: u32 = 11;
pub(super) const VARCHAR: u32 = 21;
pub(super) const FLOAT_VECTOR: u32 = 101;

pub(super) const fn data_type(kind: AttributeType) -> u32 {
    match kind {
        AttributeType::Integer => INT64,
        AttributeType::Number => DOUBLE,
        AttributeType::Boolean => BOOLEAN,
        AttributeType::Text | AttributeType::Texts => VARCHAR,
    }
}

pub(super) fn create_collection(name: &str, description: &str, record: &CollectionRecord) -> Value {
    let length = json!([{"key": "max_length", "value": MAX_TEXT.to_string()}]);
    let dim = record.dim.unwrap_or(0).to_string();
    let mut fields = vec![
        json!({"name": NUMBER, "is_primary_key": true, "data_type": INT64}),
        json!({"name": ID, "data_type": VARCHAR, "type_params": length}),
        json!({"name": VECTOR, "data_type": FLOAT_VECTOR, "type_params": [{"key": "dim", "value": dim}]}),
    ];
    for attribute in &record.schema.attributes {
        let name = &attribute.name;
        let kind = data_type(attribute.kind);
        let mut field = json!({"name": format!("attr_{name}"), "data_type": kind});
        if kind == VARCHAR {
            field["type_params"] = length.clone();
        }
        if record.schema.partition_key.as_ref() == Some(name) {
            field["is_partition_key"] = Value::Bool(true);
        }
        fields.push(field);
        fields.push(json!({"name": format!("known_{name}"), "data_type": BOOLEAN}));
    }
    json!({
        "collection_name": name,
        // Strong.
        "consistency_level": 0,
        "shards_num": record.schema.shards,
        "schema": {"name": name, "description": description, "fields": fields},
    })
}

/// Type and parameters of an index of vectors.
pub(super) fn index_type(index: RemoteVectorIndex) -> (&'static str, Value) {
    match index {
        RemoteVectorIndex::Exact => ("FLAT", json!({})),
        RemoteVectorIndex::Hnsw { m, ef_construction } => {
            ("HNSW", json!({"M": m, "efConstruction": ef_construction}))
        }
    }
}

pub(super) fn create_index(name: &str, schema: &CollectionSchema) -> Value {
    let (kind, parameters) = index_type(schema.vector_index);
    json!({
        "collection_name": name,
        "field_name": VECTOR,
        "index_name": VECTOR,
        "extra_params": [
            {"key": "index_type", "value": kind},
            {"key": "metric_type", "value": metric(schema.similarity)},
            {"key": "params", "value": parameters.to_string()},
        ],
    })
}

/// Rows in columns. Vectors are written as text, because a tree of values takes ten times the
/// memory.
pub(super) fn insert(
    name: &str,
    schema: &CollectionSchema,
    batch: &RowBatch,
    rows: &[usize],
) -> String {
    let column = |field: String, kind: u32, values: Vec<Value>| json!({"field_name": field, "type": kind, "field": values});
    let numbers = rows.iter().map(|&at| json!(batch.first as usize + at));
    let ids = rows.iter().map(|&at| json!(batch.ids[at]));
    let mut columns = vec![
        column(NUMBER.to_owned(), INT64, numbers.collect()),
        column(ID.to_owned(), VARCHAR, ids.collect()),
    ];
    for attribute in &schema.attributes {
        let name = &attribute.name;
        let values = rows.iter().map(|&at| batch.attributes[at].get(name));
        let known = values.clone().map(|value| json!(value.is_some()));
        let known = known.collect();
        let values = values.map(|value| scalar(attribute.kind, value)).collect();
        let kind = data_type(attribute.kind);
        columns.push(column(format!("attr_{name}"), kind, values));
        columns.push(column(format!("known_{name}"), BOOLEAN, known));
    }
    let columns: Vec<String> = columns.iter().map(Value::to_string).collect();
    let mut text = format!(
        r#"{{"collection_name":{},"num_rows":{},"fields_data":[{},{{"field_name":"{VECTOR}","type":{FLOAT_VECTOR},"field":"#,
        json!(name),
        rows.len(),
        columns.join(","),
    );
    write_vectors(&mut text, rows.iter().map(|&row| batch.vector(row)));
    text.push_str("}]}");
    text
}

/// Value of a field; a placeholder for an absent one.
pub(super) fn scalar(kind: AttributeType, value: Option<&AttributeValue>) -> Value {
    match (kind, value) {
        (AttributeType::Integer, Some(AttributeValue::Int(n))) => json!(n),
        (AttributeType::Integer, _) => json!(0),
        (AttributeType::Number, Some(AttributeValue::Int(n))) => json!(*n as f64),
        (AttributeType::Number, Some(AttributeValue::Float(x))) => json!(x),
        (AttributeType::Number, _) => json!(0.0),
        (AttributeType::Boolean, Some(AttributeValue::Bool(value))) => json!(value),
        (AttributeType::Boolean, _) => json!(false),
        (_, Some(AttributeValue::Text(text))) => json!(text),
        (_, _) => json!(""),
    }
}

/// Search of several vectors with one expression.
pub(super) struct SearchBody<'a> {
    pub(super) collection: &'a str,
    pub(super) expression: &'a str,
    pub(super) limit: usize,
    pub(super) metric: &'static str,
    /// Number of candidates of HNSW; `None` for exact search.
    pub(super) ef: Option<usize>,
    pub(super) guarantee: u64,
}

impl SearchBody<'_> {
    pub(super) fn text(&self, vectors: &[&[f32]]) -> String {
        let parameters = search_parameters(self.ef, self.limit);
        let mut text = json!({
            "collection_name": self.collection,
            "dsl": self.expression,
            // An expression.
            "dsl_type": 1,
            "nq": vectors.len(),
            "guarantee_timestamp": self.guarantee,
            "search_params": [
                {"key": "anns_field", "value": VECTOR},
                {"key": "topk", "value": self.limit.to_string()},
                {"key": "metric_type", "value": self.metric},
                {"key": "params", "value": parameters.to_string()},
                {"key": "round_decimal", "value": "-1"},
            ],
        })
        .to_string();
        text.pop();
        text.push_str(r#","vectors":"#);
        write_vectors(&mut text, vectors.iter().copied());
        text.push('}');
        text
    }
}

/// Status of a response: two forms, `{"status": {...}}` and the status itself.
fn status(response: &Value) -> &Value {
    response.get("status").unwrap_or(response)
}

pub(super) fn is_missing(response: &Value) -> bool {
    let status = status(response);
    let failed = status["error_code"].as_i64().unwrap_or(0) != 0
        || status["code"].as_i64().unwrap_or(0) != 0;
    let reason = status["reason"].as_str().unwrap_or_default();
    failed && (status["code"].as_i64() == Some(100) || reason.contains("collection not found"))
}

/// Statuses of HTTP that correspond to codes of errors which Milvus marks as retriable, of requests
/// that this crate sends.
pub(super) const fn transient_status(code: i64) -> Option<u16> {
    match code {
        // Limits of requests and of rates.
        4 | 8 | 1807 => Some(429),
        // Service not ready, unavailable, or without resources; collection not fully loaded or
        // recovering; partition not fully loaded; unexpected end of a file.
        1 | 2 | 12 | 103 | 106 | 202 | 1002 => Some(503),
        // The time limit of the server.
        10_001 => Some(504),
        _ => None,
    }
}

/// Status of HTTP and message of an error that another attempt may resolve.
pub(super) fn transient(response: &Value) -> Option<(u16, String)> {
    let status = status(response);
    let code = |name: &str| status[name].as_i64().unwrap_or(0);
    let found = match (code("code"), code("error_code")) {
        (0, 0) => return None,
        // Of servers before 2.3: limit of rates, service not ready, coordinator not ready.
        (0, 49) => Some(429),
        (0, 56 | 57) => Some(503),
        (code, _) => {
            let is_retriable = status["retriable"].as_bool() == Some(true);
            transient_status(code).or(is_retriable.then_some(503))
        }
    };
    let reason = status["reason"].as_str().unwrap_or("no reason");
    let reason: String = reason.chars().take(500).collect();
    let number = match code("code") {
        0 => code("error_code"),
        code => code,
    };
    Some((found?, format!("{reason} (code {number})")))
}

/// Returns the error of a response.
pub(super) fn check(response: &Value, operation: &'static str) -> Result<(), RemoteError> {
    let status = status(response);
    let code = |name: &str| status[name].as_i64().unwrap_or(0);
    if code("error_code") == 0 && code("code") == 0 {
        return Ok(());
    }
    let reason = status["reason"].as_str().unwrap_or("no reason");
    Err(RemoteError::Rejected {
        engine: ENGINE,
        operation,
        message: reason.chars().take(500).collect(),
    })
}

/// Column of a response to a query.
fn column<'r>(response: &'r Value, field: &str) -> Option<&'r Value> {
    let columns = response["fields_data"].as_array()?;
    let column = columns.iter().find(|it| it["field_name"] == field)?;
    column.pointer("/Field/Scalars/Data")
}

pub(super) fn integers(response: &Value, field: &str) -> Option<Vec<i64>> {
    let values = column(response, field)?["LongData"]["data"].as_array()?;
    values.iter().map(Value::as_i64).collect()
}

/// Numbers of documents. Without documents, the column or its list may be absent; the status is
/// there.
pub(super) fn numbers(response: &Value) -> Option<Vec<i64>> {
    let columns = &response["fields_data"];
    let is_absent = columns.is_null() || columns.as_array().is_some_and(Vec::is_empty);
    if response["status"].is_object() && is_absent {
        return Some(Vec::new());
    }
    let values = column(response, NUMBER)?.get("LongData")?;
    match &values["data"] {
        Value::Null if values.is_object() => Some(Vec::new()),
        _ => integers(response, NUMBER),
    }
}

pub(super) fn texts(response: &Value, field: &str) -> Option<Vec<String>> {
    let values = column(response, field)?["StringData"]["data"].as_array()?;
    let texts = values.iter().map(|text| text.as_str().map(str::to_owned));
    texts.collect()
}

/// Parameters of a search with a number of candidates of HNSW; `None` for exact search.
pub(super) fn search_parameters(ef: Option<usize>, limit: usize) -> Value {
    match ef {
        Some(ef) => json!({"ef": ef.max(limit)}),
        None => json!({}),
    }
}

/// Divides the hits of all queries by their counts; `None` if a hit is malformed, or the counts are
/// of another number of queries or hits.
pub(super) fn divided(
    hits: impl ExactSizeIterator<Item = Option<(u64, f64)>>,
    counts: impl IntoIterator<Item = Option<usize>>,
    queries: usize,
) -> Option<ScoredNumbers> {
    let counts = counts.into_iter().collect::<Option<Vec<usize>>>()?;
    let mut sums = counts.iter();
    let total = sums.try_fold(0_usize, |sum, &count| sum.checked_add(count))?;
    if counts.len() != queries || hits.len() != total {
        return None;
    }
    let mut hits = hits;
    let counts = counts.into_iter();
    counts
        .map(|count| hits.by_ref().take(count).collect())
        .collect()
}

/// Numbers and scores of hits per query; `None` for a response of another form.
pub(super) fn hits(response: &Value, queries: usize) -> Option<ScoredNumbers> {
    let results = &response["results"];
    let counts = results["topks"].as_array()?.iter();
    let counts = counts.map(|count| Some(count.as_u64()? as usize));
    // Absent if there are no hits.
    let list = |pointer: &str| match results.pointer(pointer).and_then(Value::as_array) {
        Some(list) => list.as_slice(),
        None => &[],
    };
    let (numbers, scores) = (list("/ids/IdField/IntId/data"), list("/scores"));
    if numbers.len() != scores.len() {
        return None;
    }
    let pairs = numbers.iter().zip(scores);
    let pairs = pairs.map(|(number, score)| Some((number.as_u64()?, score.as_f64()?)));
    divided(pairs, counts, queries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_another_attempt_may_resolve() {
        let found = |status: Value| {
            let inside = json!({"status": status, "insert_cnt": 1});
            assert_eq!(transient(&status), transient(&inside));
            transient(&status).map(|(status, message)| {
                assert!(message.starts_with("busy (code "), "{message}");
                status
            })
        };
        for (code, expected) in [
            (8, 429),
            (4, 429),
            (1, 503),
            (2, 503),
            (103, 503),
            (202, 503),
            (10_001, 504),
        ] {
            let status = json!({"error_code": 1, "code": code, "reason": "busy"});
            assert_eq!(found(status), Some(expected), "{code}");
        }
        let status = json!({"error_code": 1, "code": 777, "reason": "busy", "retriable": true});
        assert_eq!(found(status), Some(503));
        for (code, expected) in [(49, Some(429)), (56, Some(503)), (1, None), (3, None)] {
            let status = json!({"error_code": code, "reason": "busy"});
            assert_eq!(found(status), expected, "{code}");
        }
        for code in [3, 5, 9, 100, 101, 700, 1100, 1400, 65_535] {
            let status = json!({"error_code": 1, "code": code, "reason": "busy"});
            assert_eq!(found(status), None, "{code}");
        }
        assert_eq!(found(json!({})), None);
        assert_eq!(found(json!({"code": 0, "retriable": true})), None);
    }

    #[test]
    fn numbers_of_documents() {
        let column = |data: Value| {
            let field = json!({"Scalars": {"Data": {"LongData": data}}});
            json!({"status": {}, "fields_data": [{"field_name": "n", "Field": field}]})
        };
        assert_eq!(numbers(&column(json!({"data": [3, 1]}))), Some(vec![3, 1]));
        for none in [
            json!({"status": {}}),
            json!({"status": {}, "fields_data": []}),
            json!({"status": {}, "fields_data": null}),
            column(json!({})),
            column(json!({"data": []})),
        ] {
            assert_eq!(numbers(&none), Some(Vec::new()), "{none}");
        }
        for malformed in [
            json!({}),
            json!({"fields_data": []}),
            json!({"status": {}, "fields_data": "none"}),
            json!({"status": {}, "fields_data": [{"field_name": "id"}]}),
            json!({"status": {}, "fields_data": [{"field_name": "n"}]}),
            column(Value::Null),
            column(json!({"data": "none"})),
            column(json!({"data": [1, "2"]})),
        ] {
            assert_eq!(numbers(&malformed), None, "{malformed}");
        }
    }
}
