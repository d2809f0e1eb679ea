//! Settings and mappings of indexes, and documents in bulk.

use serde_json::{Map, Value, json};

use super::dsl::space;
use super::{ATTRIBUTES, CONTENTS, ID, KNOWN, MAX_KEYWORD, NUMBER, VECTOR};
use crate::schema::{CollectionRecord, CollectionSchema, RemoteVectorIndex};
use crate::source::RowBatch;
use crate::text_indexing::contents;
use crate::vector_query::write_vector;
use crate::{AttributeType, EngineKind, RemoteError, TextAnalysis, TextIndexing};

/// Name of the similarity: the one that the specification of OpenSearch declares.
const SIMILARITY: &str = "bm25";

/// Analyzer of Lucene's factories.
fn analyzer(analysis: TextAnalysis) -> Value {
    let english = |stemmer: Option<&str>| {
        let filters = ["ir_possessive", "lowercase", "ir_stop"];
        let filters: Vec<&str> = filters.into_iter().chain(stemmer).collect();
        json!({"type": "custom", "tokenizer": "standard", "filter": filters})
    };
    match analysis {
        TextAnalysis::Anserini => english(Some("porter_stem")),
        TextAnalysis::AnseriniUnstemmed => english(None),
        TextAnalysis::English => english(Some("ir_porter2")),
        TextAnalysis::LuceneStandard => json!({"type": "standard"}),
        TextAnalysis::Whitespace => json!({"type": "whitespace"}),
    }
}

/// An analyzer and the filters that it uses.
fn analysis(analysis: TextAnalysis) -> Value {
    let analyzer = analyzer(analysis);
    let filters = [
        (
            "ir_possessive",
            json!({"type": "stemmer", "language": "possessive_english"}),
        ),
        ("ir_stop", json!({"type": "stop", "stopwords": "_english_"})),
        (
            "ir_porter2",
            json!({"type": "stemmer", "language": "porter2"}),
        ),
    ];
    let used = analyzer["filter"].as_array();
    let is_used = |name: &str| used.is_some_and(|used| used.iter().any(|filter| filter == name));
    let filters = filters.into_iter().filter(|(name, _)| is_used(name));
    let filters: Map<String, Value> = filters
        .map(|(name, filter)| (name.to_owned(), filter))
        .collect();
    let mut analysis = json!({"analyzer": {"ir_text": analyzer}});
    if !filters.is_empty() {
        analysis["filter"] = filters.into();
    }
    analysis
}

/// Checks what the source and the schema have for an index.
pub(super) fn check(
    schema: &CollectionSchema,
    texts: Option<&TextIndexing>,
    dim: Option<usize>,
) -> Result<(), RemoteError> {
    let invalid = |message: String| Err(RemoteError::schema(message));
    if let Some(texts) = texts {
        texts.check()?;
    }
    if let Some(key) = &schema.partition_key {
        return invalid(format!(
            "expected no partition key, which only Milvus has, found {key:?}"
        ));
    }
    for attribute in &schema.attributes {
        let name = &attribute.name;
        if name.is_empty() || name.contains(['.', '*']) {
            return invalid(format!(
                "attribute {name:?}: expected a name without . and *"
            ));
        }
    }
    match dim {
        None if texts.is_none() => invalid("expected texts or vectors, found neither".to_owned()),
        Some(dim) if !(1..=4096).contains(&dim) => {
            invalid(format!("expected 1 to 4096 dimensions, found {dim}"))
        }
        _ => Ok(()),
    }
}

/// Body of the request that creates an index.
pub(super) fn index_body(
    engine: EngineKind,
    schema: &CollectionSchema,
    texts: Option<&TextIndexing>,
    dim: Option<usize>,
    record: Option<&CollectionRecord>,
) -> Value {
    let mut properties = Map::new();
    properties.insert(NUMBER.to_owned(), json!({"type": "long"}));
    properties.insert(ID.to_owned(), json!({"type": "keyword"}));
    let mut settings = json!({"number_of_shards": schema.shards});
    if let Some(texts) = texts {
        properties.insert(
            CONTENTS.to_owned(),
            json!({"type": "text", "analyzer": "ir_text", "similarity": SIMILARITY}),
        );
        settings["analysis"] = analysis(texts.analysis);
        let (k1, b) = (decimal(texts.k1), decimal(texts.b));
        let bm25 = json!({"type": "BM25", "k1": k1, "b": b, "discount_overlaps": true});
        settings["similarity"] = json!({SIMILARITY: bm25});
    }
    if let Some(dim) = dim {
        properties.insert(VECTOR.to_owned(), vector_field(engine, schema, dim));
        if engine == EngineKind::OpenSearch && schema.vector_index != RemoteVectorIndex::Exact {
            settings["index.knn"] = json!(true);
        }
    }
    let attributes = schema.attributes.iter().map(|attribute| {
        let kind = match attribute.kind {
            AttributeType::Integer => "long",
            AttributeType::Number => "double",
            AttributeType::Boolean => "boolean",
            AttributeType::Text | AttributeType::Texts => "keyword",
        };
        (attribute.name.clone(), json!({"type": kind}))
    });
    let attributes: Map<String, Value> = attributes.collect();
    if !attributes.is_empty() {
        properties.insert(ATTRIBUTES.to_owned(), json!({"properties": attributes}));
        properties.insert(KNOWN.to_owned(), json!({"type": "keyword"}));
    }
    let mut mappings = json!({"dynamic": "strict", "properties": properties});
    if let Some(record) = record {
        mappings["_meta"] = json!({"ir_remote": record});
    }
    json!({"settings": settings, "mappings": mappings})
}

/// The number that a reader of the f32 writes: 0.9, not 0.8999999761581421.
fn decimal(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

fn vector_field(engine: EngineKind, schema: &CollectionSchema, dim: usize) -> Value {
    let space = space(engine, schema.similarity);
    match (engine, schema.vector_index) {
        (EngineKind::OpenSearch, RemoteVectorIndex::Exact) => {
            json!({"type": "knn_vector", "dimension": dim})
        }
        (EngineKind::OpenSearch, RemoteVectorIndex::Hnsw { m, ef_construction }) => json!({
            "type": "knn_vector",
            "dimension": dim,
            "method": {
                "name": "hnsw",
                "engine": "lucene",
                "space_type": space,
                "parameters": {"m": m, "ef_construction": ef_construction},
            },
        }),
        (_, RemoteVectorIndex::Exact) => {
            json!({"type": "dense_vector", "dims": dim, "index": false})
        }
        (_, RemoteVectorIndex::Hnsw { m, ef_construction }) => json!({
            "type": "dense_vector",
            "dims": dim,
            "index": true,
            "similarity": space,
            "index_options": {"type": "hnsw", "m": m, "ef_construction": ef_construction},
        }),
    }
}

/// Documents in lines: the action and the source of each.
pub(super) fn bulk_body(
    schema: &CollectionSchema,
    batch: &RowBatch,
    rows: &[usize],
) -> Result<String, RemoteError> {
    let mut text = String::new();
    for &at in rows {
        batch.check_lengths(at, schema, MAX_KEYWORD)?;
        let number = batch.first as usize + at;
        let mut attributes = Map::new();
        // An empty list is a value, and not one of the field.
        let mut known = Vec::new();
        for attribute in &schema.attributes {
            let Some(value) = batch.attributes[at].get(&attribute.name) else {
                continue;
            };
            known.push(attribute.name.as_str());
            let value = serde_json::to_value(value).unwrap_or_default();
            attributes.insert(attribute.name.clone(), value);
        }
        let mut document = json!({NUMBER: number, ID: batch.ids[at]});
        if let Some((title, body)) = batch.texts.get(at) {
            document[CONTENTS] = json!(contents(title, body));
        }
        if !attributes.is_empty() {
            document[ATTRIBUTES] = Value::Object(attributes);
            document[KNOWN] = json!(known);
        }
        let mut line = document.to_string();
        if !batch.vectors.is_empty() {
            line.pop();
            line.push_str(&format!(r#","{VECTOR}":"#));
            write_vector(&mut line, batch.vector(at));
            line.push('}');
        }
        text.push_str(&format!("{{\"index\":{{\"_id\":\"{number}\"}}}}\n{line}\n"));
    }
    Ok(text)
}
