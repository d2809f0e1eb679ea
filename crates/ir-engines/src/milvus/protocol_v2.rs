//! Bodies of requests and responses of `/v2/vectordb`.

use serde_json::{Map, Value, json};

use super::protocol::{self, BOOLEAN, DOUBLE, FLOAT_VECTOR, INT64, VARCHAR};
use super::{ENGINE, ID, MAX_TEXT, NUMBER, ScoredNumbers, VECTOR, metric};
use crate::schema::{CollectionRecord, CollectionSchema, RemoteVectorIndex};
use crate::source::RowBatch;
use crate::vector_query::{write_vector, write_vectors};
use crate::{Consistency, RemoteError};

// Codes of errors that are not simply reported.
pub(super) const NO_COLLECTION: i64 = 100;
pub(super) const NO_INDEX: i64 = 700;
const NOT_AUTHENTICATED: i64 = 1800;

/// Condition on all documents, without the record.
const DOCUMENTS: &str = "n >= 0";

/// Expression of documents that satisfy another one; empty for all.
pub(super) fn documents(expression: &str) -> String {
    match expression {
        "" => DOCUMENTS.to_owned(),
        other => format!("{DOCUMENTS} and ({other})"),
    }
}

pub(super) const fn consistency_name(consistency: Consistency) -> &'static str {
    match consistency {
        Consistency::Strong => "Strong",
        Consistency::Bounded => "Bounded",
        Consistency::Eventual => "Eventually",
    }
}

const fn type_name(data_type: u32) -> &'static str {
    match data_type {
        BOOLEAN => "Bool",
        INT64 => "Int64",
        DOUBLE => "Double",
        FLOAT_VECTOR => "FloatVector",
        _ => "VarChar",
    }
}

/// Integer, which some servers write as text.
pub(super) fn integer(value: &Value) -> Option<i64> {
    let parsed = || value.as_str()?.parse().ok();
    value.as_i64().or_else(parsed)
}

/// Names of the fields of a collection.
pub(super) fn field_names(schema: &CollectionSchema) -> Vec<String> {
    let mut names = vec![NUMBER.to_owned(), ID.to_owned(), VECTOR.to_owned()];
    for attribute in &schema.attributes {
        names.push(format!("attr_{}", attribute.name));
        names.push(format!("known_{}", attribute.name));
    }
    names
}

pub(super) fn create_body(name: &str, record: &CollectionRecord) -> Value {
    let field = |name: &str, data_type: u32| {
        let parameters = match data_type {
            VARCHAR => json!({"max_length": MAX_TEXT}),
            FLOAT_VECTOR => json!({"dim": record.dim.unwrap_or(0)}),
            _ => json!({}),
        };
        json!({"fieldName": name, "dataType": type_name(data_type), "elementTypeParams": parameters})
    };
    let mut number = field(NUMBER, INT64);
    number["isPrimary"] = json!(true);
    let mut fields = vec![number, field(ID, VARCHAR), field(VECTOR, FLOAT_VECTOR)];
    for attribute in &record.schema.attributes {
        let name = &attribute.name;
        let mut value = field(&format!("attr_{name}"), protocol::data_type(attribute.kind));
        if record.schema.partition_key.as_ref() == Some(name) {
            value["isPartitionKey"] = json!(true);
        }
        fields.push(value);
        fields.push(field(&format!("known_{name}"), BOOLEAN));
    }
    json!({
        "collectionName": name,
        "schema": {"autoID": false, "enableDynamicField": false, "fields": fields},
        "params": {"shardsNum": record.schema.shards, "consistencyLevel": "Strong"},
    })
}

pub(super) fn index_body(name: &str, schema: &CollectionSchema) -> Value {
    let parameters = match schema.vector_index {
        RemoteVectorIndex::Exact => json!({"index_type": "FLAT"}),
        RemoteVectorIndex::Hnsw { m, ef_construction } => {
            json!({"index_type": "HNSW", "M": m, "efConstruction": ef_construction})
        }
    };
    json!({
        "collectionName": name,
        "indexParams": [{
            "fieldName": VECTOR,
            "indexName": VECTOR,
            "metricType": metric(schema.similarity),
            "params": parameters,
        }],
    })
}

/// Row of a document, without its vector.
fn row(schema: &CollectionSchema, batch: &RowBatch, at: usize) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert(NUMBER.to_owned(), json!(batch.first as usize + at));
    row.insert(ID.to_owned(), json!(batch.ids[at]));
    for attribute in &schema.attributes {
        let name = &attribute.name;
        let value = batch.attributes[at].get(name);
        row.insert(format!("known_{name}"), json!(value.is_some()));
        let value = protocol::scalar(attribute.kind, value);
        row.insert(format!("attr_{name}"), value);
    }
    row
}

/// Row with the record. Its vector has a direction, as cosines need.
pub(super) fn record_row(record: &CollectionRecord) -> Value {
    let mut row = json!({NUMBER: -1, ID: serde_json::to_string(record).unwrap_or_default()});
    for attribute in &record.schema.attributes {
        let name = &attribute.name;
        row[format!("known_{name}")] = json!(false);
        row[format!("attr_{name}")] = protocol::scalar(attribute.kind, None);
    }
    let mut vector = vec![0.0_f32; record.dim.unwrap_or(0)];
    if let Some(first) = vector.first_mut() {
        *first = 1.0;
    }
    row[VECTOR] = json!(vector);
    row
}

/// Body of an insertion. Vectors are written as text, because a tree of values takes ten times the
/// memory.
pub(super) fn insert_body(
    name: &str,
    schema: &CollectionSchema,
    batch: &RowBatch,
    rows: &[usize],
) -> String {
    let mut text = format!(r#"{{"collectionName":{},"data":["#, json!(name));
    for (at, &row_at) in rows.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&Value::Object(row(schema, batch, row_at)).to_string());
        text.pop();
        text.push_str(&format!(r#","{VECTOR}":"#));
        write_vector(&mut text, batch.vector(row_at));
        text.push('}');
    }
    text.push_str("]}");
    text
}

/// Body of a search of several vectors.
pub(super) fn search_body(
    search: &protocol::SearchBody<'_>,
    consistency: Consistency,
    vectors: &[&[f32]],
) -> String {
    let parameters = protocol::search_parameters(search.ef, search.limit);
    let mut text = json!({
        "collectionName": search.collection,
        "annsField": VECTOR,
        "filter": documents(search.expression),
        "limit": search.limit,
        "outputFields": [NUMBER],
        "searchParams": {"params": parameters},
        "consistencyLevel": consistency_name(consistency),
    })
    .to_string();
    text.pop();
    text.push_str(r#","data":"#);
    write_vectors(&mut text, vectors.iter().copied());
    text.push('}');
    text
}

/// Numbers and scores of hits per query.
pub(super) enum V2Hits {
    Hits(ScoredNumbers),
    /// Servers before 2.6 do not tell where the hits of a query end.
    Undivided,
    Unexpected,
}

/// Hits of a response. `limit`: number of hits per query that was requested.
pub(super) fn hits(response: &Value, queries: usize, limit: usize) -> V2Hits {
    let Some(rows) = response["data"].as_array() else {
        return V2Hits::Unexpected;
    };
    let counts: Vec<Option<usize>> = match response["topks"].as_array() {
        // Servers without any hit send no counts.
        Some(counts) if counts.is_empty() && rows.is_empty() => vec![Some(0); queries],
        Some(counts) => {
            let counts = counts.iter();
            counts
                .map(|count| usize::try_from(integer(count)?).ok())
                .collect()
        }
        None if queries == 1 => vec![Some(rows.len())],
        None if rows.is_empty() || rows.len() == queries * limit => {
            vec![Some(rows.len() / queries); queries]
        }
        None => return V2Hits::Undivided,
    };
    let pairs = rows.iter().map(|row| {
        let number = u64::try_from(integer(&row[NUMBER])?).ok()?;
        Some((number, row["distance"].as_f64()?))
    });
    let divided = protocol::divided(pairs, counts, queries);
    divided.map_or(V2Hits::Unexpected, V2Hits::Hits)
}

/// Status of HTTP and message of an error that another attempt may resolve.
pub(super) fn transient(response: &Value) -> Option<(u16, String)> {
    let code = response["code"].as_i64()?;
    let status = protocol::transient_status(code)?;
    Some((status, format!("{} (code {code})", message(response))))
}

fn message(response: &Value) -> String {
    let message = response["message"].as_str().unwrap_or("no message");
    message.chars().take(500).collect()
}

/// Returns the error of a response.
pub(super) fn check(
    response: &Value,
    operation: &'static str,
    url: &str,
) -> Result<(), RemoteError> {
    match response["code"].as_i64() {
        Some(0) => Ok(()),
        Some(NOT_AUTHENTICATED) => Err(RemoteError::Unauthorized {
            url: url.to_owned(),
            status: 401,
        }),
        Some(code) => Err(RemoteError::Rejected {
            engine: ENGINE,
            operation,
            message: format!("{} (code {code})", message(response)),
        }),
        None => {
            let found: String = response.to_string().chars().take(200).collect();
            let expected = "a code of Milvus 2.4 or later";
            Err(RemoteError::response(url, expected, found))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_of_several_queries() {
        let row = |number: i64| json!({"n": number, "id": number, "distance": 0.5});
        let found = |response: Value, queries, limit| match hits(&response, queries, limit) {
            V2Hits::Hits(all) => {
                let numbers = all
                    .iter()
                    .map(|hits| hits.iter().map(|hit| hit.0).collect());
                Some(numbers.collect::<Vec<Vec<u64>>>())
            }
            V2Hits::Undivided => None,
            V2Hits::Unexpected => panic!("{response}"),
        };
        let data = json!([row(1), row(2), row(3)]);
        let with_counts = json!({"data": data, "topks": [2, 1]});
        assert_eq!(found(with_counts, 2, 9), Some(vec![vec![1, 2], vec![3]]));
        let without = json!({"data": data});
        assert_eq!(found(without.clone(), 1, 9), Some(vec![vec![1, 2, 3]]));
        assert_eq!(
            found(without.clone(), 3, 1),
            Some(vec![vec![1], vec![2], vec![3]])
        );
        assert_eq!(found(without, 2, 9), None);
        assert_eq!(found(json!({"data": []}), 2, 9), Some(vec![vec![], vec![]]));
        for unexpected in [
            json!({}),
            json!({"data": [row(1)], "topks": [2]}),
            json!({"data": [row(1)], "topks": [-1]}),
            json!({"data": [row(-1)]}),
            json!({"data": [{"n": 1}]}),
        ] {
            assert!(
                matches!(hits(&unexpected, 1, 9), V2Hits::Unexpected),
                "{unexpected}"
            );
        }
        let max = json!({"data": [row(1)], "topks": [i64::MAX, i64::MAX, 3]});
        assert!(matches!(hits(&max, 3, 9), V2Hits::Unexpected));
        assert_eq!(
            integer(&json!("9007199254740993")),
            Some(9_007_199_254_740_993)
        );
    }
}
