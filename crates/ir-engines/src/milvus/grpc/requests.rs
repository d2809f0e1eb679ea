//! Bodies of requests: schema, rows and searches.

use prost::Message;

use super::messages::{
    Booleans, Doubles, FieldData, FieldSchema, Floats, FunctionSchema, HybridSearchRequest, Longs,
    PlaceholderGroup, PlaceholderValue, ScalarField, Schema, SearchRequest, Strings, VectorField,
    pairs,
};
use super::{BM25, CONTENTS, SPARSE_VECTOR, TERMS, analyzer, level};
use crate::milvus::protocol::{
    BOOLEAN, FLOAT_VECTOR, INT64, VARCHAR, data_type, scalar, search_parameters,
};
use crate::milvus::{ID, MAX_TEXT, NUMBER, VECTOR};
use crate::schema::{CollectionRecord, CollectionSchema};
use crate::source::RowBatch;
use crate::text_indexing::contents;
use crate::{AttributeType, Consistency, RemoteError, TextIndexing};

/// Schema of a collection, with the function that computes BM25 terms of texts.
pub(super) fn schema(
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
pub(super) fn columns(
    schema: &CollectionSchema,
    batch: &RowBatch,
    rows: &[usize],
) -> Vec<FieldData> {
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
        let json = |value| scalar(attribute.kind, value);
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
        let kind = data_type(attribute.kind);
        columns.push(scalars(format!("attr_{name}"), kind, field));
        columns.push(scalars(format!("known_{name}"), BOOLEAN, known));
    }
    columns
}

/// Constant of reciprocal rank fusion: rank r of a list counts 1 / (60 + r).
const RRF_K: u32 = 60;

/// Request for the `limit` best hits of several searches by reciprocal rank fusion.
pub(in crate::milvus) fn hybrid(
    collection: &str,
    searches: Vec<SearchRequest>,
    limit: usize,
    consistency: Consistency,
) -> HybridSearchRequest {
    HybridSearchRequest {
        collection_name: collection.to_owned(),
        requests: searches,
        rank_params: pairs([
            ("strategy", "rrf".to_owned()),
            ("params", format!(r#"{{"k":{RRF_K}}}"#)),
            ("limit", limit.to_string()),
            ("round_decimal", "-1".to_owned()),
        ]),
        guarantee_timestamp: consistency.guarantee(),
        consistency_level: level(consistency),
    }
}

/// Request to search queries, encoded as placeholders of a type, in a field.
pub(in crate::milvus) struct GrpcSearch<'a> {
    pub(in crate::milvus) collection: &'a str,
    pub(in crate::milvus) field: &'static str,
    pub(in crate::milvus) expression: &'a str,
    pub(in crate::milvus) limit: usize,
    pub(in crate::milvus) metric: &'static str,
    /// Number of candidates of HNSW; `None` for exact search.
    pub(in crate::milvus) ef: Option<usize>,
    pub(in crate::milvus) consistency: Consistency,
}

impl GrpcSearch<'_> {
    pub(in crate::milvus) fn vectors(&self, vectors: &[&[f32]]) -> SearchRequest {
        let bytes = |vector: &&[f32]| vector.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.request(FLOAT_VECTOR, vectors.iter().map(bytes).collect())
    }

    pub(in crate::milvus) fn texts(&self, texts: &[&str]) -> SearchRequest {
        let bytes = |text: &&str| text.as_bytes().to_vec();
        self.request(VARCHAR, texts.iter().map(bytes).collect())
    }

    fn request(&self, kind: u32, values: Vec<Vec<u8>>) -> SearchRequest {
        let parameters = search_parameters(self.ef, self.limit);
        let nq = values.len() as i64;
        let group = PlaceholderGroup {
            placeholders: vec![PlaceholderValue {
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
            guarantee_timestamp: self.consistency.guarantee(),
            nq,
            consistency_level: level(self.consistency),
        }
    }
}
