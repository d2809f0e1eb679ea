//! Settings and mappings of indexes, and documents in bulk.

use std::fmt;

use ir_core::AttributeValue;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{ATTRIBUTES, CONTENTS, ID, KNOWN, MAX_KEYWORD, NUMBER, VECTOR};
use crate::schema::{CollectionRecord, CollectionSchema, RemoteSimilarity, RemoteVectorIndex};
use crate::source::RowBatch;
use crate::vector_query::write_vector;
use crate::{AttributeType, EngineKind, RemoteError};

/// Name of the similarity: the one that the specification of OpenSearch declares.
const SIMILARITY: &str = "bm25";

/// Text analysis by the name that it has in `ir-bm25`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextAnalysis {
    /// Anserini's analysis of English, which equals Lucene's `EnglishAnalyzer`: Porter stemmer.
    #[default]
    Anserini,
    /// The same without the stemmer.
    AnseriniUnstemmed,
    /// English with the Porter2 stemmer.
    English,
    /// Lucene's `StandardAnalyzer`.
    LuceneStandard,
    /// Tokens between white space.
    Whitespace,
}

impl TextAnalysis {
    const fn name(self) -> &'static str {
        match self {
            Self::Anserini => "anserini",
            Self::AnseriniUnstemmed => "anserini-unstemmed",
            Self::English => "english",
            Self::LuceneStandard => "lucene-standard",
            Self::Whitespace => "whitespace",
        }
    }

    /// Analyzer of Lucene's factories.
    fn analyzer(self) -> Value {
        let english = |stemmer: Option<&str>| {
            let filters = ["ir_possessive", "lowercase", "ir_stop"];
            let filters: Vec<&str> = filters.into_iter().chain(stemmer).collect();
            json!({"type": "custom", "tokenizer": "standard", "filter": filters})
        };
        match self {
            Self::Anserini => english(Some("porter_stem")),
            Self::AnseriniUnstemmed => english(None),
            Self::English => english(Some("ir_porter2")),
            Self::LuceneStandard => json!({"type": "standard"}),
            Self::Whitespace => json!({"type": "whitespace"}),
        }
    }
}

/// Analysis and BM25 parameters of the field with title and text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextIndexing {
    /// Text analysis. Default: Anserini's.
    pub analysis: TextAnalysis,
    /// Term-frequency saturation; 0 ignores repeated occurrences. Range: ≥ 0. Default: 0.9.
    pub k1: f32,
    /// Length normalization. 0 disables it, 1 normalizes fully. Range: 0 to 1. Default: 0.4.
    pub b: f32,
}

impl Default for TextIndexing {
    fn default() -> Self {
        Self::ANSERINI
    }
}

impl TextIndexing {
    /// Anserini and Pyserini: k1 0.9, b 0.4.
    pub const ANSERINI: Self = Self {
        analysis: TextAnalysis::Anserini,
        k1: 0.9,
        b: 0.4,
    };

    /// Lucene: k1 1.2, b 0.75.
    pub const LUCENE: Self = Self {
        analysis: TextAnalysis::Anserini,
        k1: 1.2,
        b: 0.75,
    };
}

impl fmt::Display for TextIndexing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (analysis, k1, b) = (self.analysis.name(), self.k1, self.b);
        write!(f, "analysis {analysis}, k1 {k1}, b {b}")
    }
}

/// Checks what the source and the schema have for an index.
pub(super) fn check(
    schema: &CollectionSchema,
    texts: Option<&TextIndexing>,
    dim: Option<usize>,
) -> Result<(), RemoteError> {
    let invalid = |message: String| Err(RemoteError::Schema { message });
    if let Some(TextIndexing { k1, b, .. }) = texts
        && !(k1.is_finite() && *k1 >= 0.0 && (0.0..=1.0).contains(b))
    {
        return invalid(format!(
            "expected k1 ≥ 0 and b from 0 to 1, found {k1} and {b}"
        ));
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
    let mut settings = json!({"number_of_shards": 1});
    if let Some(texts) = texts {
        properties.insert(
            CONTENTS.to_owned(),
            json!({"type": "text", "analyzer": "ir_text", "similarity": SIMILARITY}),
        );
        settings["analysis"] = json!({
            "analyzer": {"ir_text": texts.analysis.analyzer()},
            "filter": {
                "ir_possessive": {"type": "stemmer", "language": "possessive_english"},
                "ir_stop": {"type": "stop", "stopwords": "_english_"},
                "ir_porter2": {"type": "stemmer", "language": "porter2"},
            },
        });
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
    let space = match (engine, schema.similarity) {
        (EngineKind::OpenSearch, RemoteSimilarity::InnerProduct) => "innerproduct",
        (EngineKind::OpenSearch, RemoteSimilarity::Cosine) => "cosinesimil",
        (EngineKind::OpenSearch, RemoteSimilarity::Euclidean) => "l2",
        (_, RemoteSimilarity::InnerProduct) => "max_inner_product",
        (_, RemoteSimilarity::Cosine) => "cosine",
        (_, RemoteSimilarity::Euclidean) => "l2_norm",
    };
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
        let number = batch.first as usize + at;
        let too_long = |what: String, found: usize| RemoteError::Document {
            number: number + 1,
            id: batch.ids[at].chars().take(80).collect(),
            what,
            expected: format!("at most {MAX_KEYWORD} bytes"),
            found: found.to_string(),
        };
        if batch.ids[at].len() > MAX_KEYWORD {
            return Err(too_long("id".to_owned(), batch.ids[at].len()));
        }
        let mut attributes = Map::new();
        // An empty list is a value, and not one of the field.
        let mut known = Vec::new();
        for attribute in &schema.attributes {
            let Some(value) = batch.attributes[at].get(&attribute.name) else {
                continue;
            };
            for part in texts_of(value) {
                if part.len() > MAX_KEYWORD {
                    let what = format!("attribute {:?}", attribute.name);
                    return Err(too_long(what, part.len()));
                }
            }
            known.push(attribute.name.as_str());
            let value = serde_json::to_value(value).unwrap_or_default();
            attributes.insert(attribute.name.clone(), value);
        }
        let mut document = json!({NUMBER: number, ID: batch.ids[at]});
        if let Some((title, body)) = batch.texts.get(at) {
            let joined = [title.as_str(), body]
                .into_iter()
                .filter(|it| !it.is_empty());
            document[CONTENTS] = json!(joined.collect::<Vec<_>>().join(" "));
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

fn texts_of(value: &AttributeValue) -> Vec<&str> {
    match value {
        AttributeValue::Text(text) => vec![text],
        AttributeValue::List(all) => all.iter().flat_map(texts_of).collect(),
        _ => Vec::new(),
    }
}
