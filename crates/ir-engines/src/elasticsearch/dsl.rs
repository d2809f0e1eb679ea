//! Queries in the domain-specific language of Elasticsearch, and scores of vectors.
//!
//! Queries have the long forms, which the OpenAPI documents declare.

use ir_core::VectorSimilarity;
use serde_json::{Value, json};

use super::{ATTRIBUTES, KNOWN, NUMBER, VECTOR};
use crate::EngineKind;
use crate::clause::{Bound, Clause};
use crate::schema::{CollectionSchema, RemoteVectorIndex};
use crate::vector_query::write_vector;

/// Query of a clause.
pub(super) fn query(clause: &Clause) -> Value {
    let field = |name: &str| format!("{ATTRIBUTES}.{name}");
    // Ranges and terms match no document without the attribute.
    match clause {
        Clause::Always => json!({"match_all": {}}),
        Clause::Never => json!({"match_none": {}}),
        Clause::Known { name } => json!({"term": {KNOWN: {"value": name}}}),
        Clause::Integers { name, least, most } => {
            json!({"range": {field(name): {"gte": least, "lte": most}}})
        }
        Clause::Number { name, bound, limit } => {
            // Lucene orders −0 before 0, which are equal.
            let (bound, zero) = match bound {
                Bound::Less => ("lt", -0.0),
                Bound::AtMost => ("lte", 0.0),
                Bound::Greater => ("gt", 0.0),
                Bound::AtLeast => ("gte", -0.0),
            };
            let limit = if *limit == 0.0 { zero } else { *limit };
            json!({"range": {field(name): {bound: limit}}})
        }
        Clause::IntegerIn { name, values } => json!({"terms": {field(name): values}}),
        Clause::TextIn { name, values } => json!({"terms": {field(name): values}}),
        Clause::Boolean { name, value } => json!({"term": {field(name): {"value": value}}}),
        Clause::DocRange { first, last } => {
            json!({"range": {NUMBER: {"gte": first, "lte": last}}})
        }
        Clause::DocIn(numbers) => json!({"terms": {NUMBER: numbers}}),
        Clause::All(inner) => {
            let inner: Vec<Value> = inner.iter().map(query).collect();
            json!({"bool": {"filter": inner}})
        }
        Clause::Any(inner) => {
            let inner: Vec<Value> = inner.iter().map(query).collect();
            json!({"bool": {"should": inner, "minimum_should_match": 1}})
        }
        Clause::Not(inner) => json!({"bool": {"must_not": [query(inner)]}}),
    }
}

/// Number of terms of the lists in a clause: engines limit them to 65,536.
pub(super) fn longest_list(clause: &Clause) -> usize {
    match clause {
        Clause::IntegerIn { values, .. } => values.len(),
        Clause::TextIn { values, .. } => values.len(),
        Clause::DocIn(numbers) => numbers.len(),
        Clause::All(inner) | Clause::Any(inner) => {
            inner.iter().map(longest_list).max().unwrap_or(0)
        }
        Clause::Not(inner) => longest_list(inner),
        _ => 0,
    }
}

/// Adds a filter to a query, without effect on scores.
pub(super) fn filtered(scoring: Value, clause: &Clause) -> Value {
    match clause {
        Clause::Always => scoring,
        clause => json!({"bool": {"must": [scoring], "filter": [query(clause)]}}),
    }
}

/// Name of a similarity in an engine.
pub(super) const fn space(engine: EngineKind, similarity: VectorSimilarity) -> &'static str {
    match (engine, similarity) {
        (EngineKind::OpenSearch, VectorSimilarity::InnerProduct) => "innerproduct",
        (EngineKind::OpenSearch, VectorSimilarity::Cosine) => "cosinesimil",
        (EngineKind::OpenSearch, VectorSimilarity::Euclidean) => "l2",
        (_, VectorSimilarity::InnerProduct) => "max_inner_product",
        (_, VectorSimilarity::Cosine) => "cosine",
        (_, VectorSimilarity::Euclidean) => "l2_norm",
    }
}

/// Body of a search of a vector, without its size: the vectors are text.
pub(super) fn vector_search(
    engine: EngineKind,
    schema: &CollectionSchema,
    vector: &[f32],
    clause: &Clause,
    limit: usize,
    candidates: usize,
) -> Value {
    // Numbers of JSON with the digits of the f32.
    let mut text = String::new();
    write_vector(&mut text, vector);
    let vector: Value = serde_json::from_str(&text).unwrap_or_default();
    match (engine, schema.vector_index) {
        (EngineKind::OpenSearch, RemoteVectorIndex::Exact) => {
            let space = space(engine, schema.similarity);
            json!({"query": {"script_score": {
                "query": query(clause),
                "script": {
                    "lang": "knn",
                    "source": "knn_score",
                    "params": {"field": VECTOR, "query_value": vector, "space_type": space},
                },
            }}})
        }
        (EngineKind::OpenSearch, RemoteVectorIndex::Hnsw { .. }) => {
            let mut inner = json!({"vector": vector, "k": candidates.max(limit)});
            if *clause != Clause::Always {
                inner["filter"] = query(clause);
            }
            json!({"query": {"knn": {VECTOR: inner}}})
        }
        (_, RemoteVectorIndex::Exact) => {
            // Scores must not be negative: the same formulas as in approximate search.
            let source = match schema.similarity {
                VectorSimilarity::InnerProduct => {
                    "double d = dotProduct(params.q, 'vector'); return d < 0 ? 1 / (1 - d) : d + 1"
                }
                VectorSimilarity::Cosine => "cosineSimilarity(params.q, 'vector') + 1.0",
                VectorSimilarity::Euclidean => {
                    "double d = l2norm(params.q, 'vector'); return 1 / (1 + d * d)"
                }
            };
            json!({"query": {"script_score": {
                "query": query(clause),
                "script": {"source": source, "params": {"q": vector}},
            }}})
        }
        (_, RemoteVectorIndex::Hnsw { .. }) => {
            let mut knn = json!({
                "field": VECTOR,
                "query_vector": vector,
                "k": limit,
                "num_candidates": candidates.max(limit).min(10_000),
            });
            if *clause != Clause::Always {
                knn["filter"] = query(clause);
            }
            json!({"knn": knn})
        }
    }
}

/// Similarity from a score of the engine.
pub(super) fn similarity(schema: &CollectionSchema, score: f64) -> f64 {
    match (schema.similarity, schema.vector_index) {
        (VectorSimilarity::InnerProduct, _) if score < 1.0 => 1.0 - 1.0 / score,
        (VectorSimilarity::InnerProduct, _) => score - 1.0,
        (VectorSimilarity::Cosine, RemoteVectorIndex::Exact) => score - 1.0,
        (VectorSimilarity::Cosine, RemoteVectorIndex::Hnsw { .. }) => 2.0 * score - 1.0,
        (VectorSimilarity::Euclidean, _) => 1.0 - 1.0 / score,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarities_of_scores() {
        let schema = |similarity| CollectionSchema::default().with_similarity(similarity);
        for inner in [-3.0, -0.25, 0.0, 0.5, 7.0] {
            let score = if inner < 0.0 {
                1.0 / (1.0 - inner)
            } else {
                inner + 1.0
            };
            let found = similarity(&schema(VectorSimilarity::InnerProduct), score);
            assert!((found - inner).abs() < 1e-12, "{inner} {found}");
        }
        let found = similarity(&schema(VectorSimilarity::Euclidean), 1.0 / (1.0 + 4.0));
        assert!((found + 4.0).abs() < 1e-12);
        assert_eq!(similarity(&schema(VectorSimilarity::Cosine), 1.5), 0.5);
    }
}
