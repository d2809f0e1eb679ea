//! Names of similarity functions in the files of models and training runs, as in
//! sentence-transformers.

use ir_core::VectorSimilarity;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Name in `config_sentence_transformers.json`.
pub(crate) const fn name(similarity: VectorSimilarity) -> &'static str {
    match similarity {
        VectorSimilarity::InnerProduct => "dot",
        VectorSimilarity::Cosine => "cosine",
        VectorSimilarity::Euclidean => "euclidean",
    }
}

/// Parses the name of an inner product or a cosine in `config_sentence_transformers.json`; `None`
/// for another name.
pub(crate) fn from_name(name: &str) -> Option<VectorSimilarity> {
    match name {
        // Some files have the name of the Python function.
        "dot" | "dot_score" => Some(VectorSimilarity::InnerProduct),
        "cosine" | "cos_sim" => Some(VectorSimilarity::Cosine),
        _ => None,
    }
}

/// Writes the name, for `#[serde(with)]`.
pub(crate) fn serialize<S: Serializer>(
    similarity: &VectorSimilarity,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name(*similarity))
}

/// Writes the name or null, for `#[serde(serialize_with)]`.
#[allow(clippy::ref_option)]
pub(crate) fn serialize_option<S: Serializer>(
    similarity: &Option<VectorSimilarity>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    similarity.map(name).serialize(serializer)
}

/// Reads the name of an inner product or a cosine, for `#[serde(with)]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<VectorSimilarity, D::Error> {
    let name = String::deserialize(deserializer)?;
    from_name(&name).ok_or_else(|| D::Error::unknown_variant(&name, &["dot", "cosine"]))
}
