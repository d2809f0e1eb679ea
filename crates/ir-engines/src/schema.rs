//! Schema of a remote collection, and the record that is stored with it.

use std::fmt;

use ir_core::{AttributeValue, Attributes, Corpus, Document, Fnv1a, VectorSimilarity};
use serde::{Deserialize, Serialize};

use crate::RemoteError;

/// Index of the vectors of a remote collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemoteVectorIndex {
    /// Exact search: the query is compared with every vector that passes the filter.
    #[default]
    Exact,
    /// Graph for approximate search (Malkov and Yashunin 2018).
    Hnsw {
        /// Maximum number of neighbors of a node. Range: 2 to 100. Usual: 16.
        m: u32,
        /// Number of candidates while the graph is built. Range: 8 to 4096. Usual: 200.
        ef_construction: u32,
    },
}

impl fmt::Display for RemoteVectorIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Hnsw { m, ef_construction } => {
                write!(f, "HNSW with m {m} and ef_construction {ef_construction}")
            }
        }
    }
}

/// Type of an attribute in a remote collection. Attributes of documents must have the declared
/// type, so that filters have the same result everywhere; absent ones are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttributeType {
    /// Integer ([`AttributeValue::Int`]).
    Integer,
    /// Number: [`AttributeValue::Float`], or an integer of at most 2^53.
    Number,
    /// Truth value ([`AttributeValue::Bool`]).
    Boolean,
    /// Text ([`AttributeValue::Text`]).
    Text,
    /// List of texts; Milvus has none.
    Texts,
}

impl AttributeType {
    /// Returns the name, such as `integer`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Text => "text",
            Self::Texts => "texts",
        }
    }

    /// Returns whether a value has this type.
    pub(crate) fn fits(self, value: &AttributeValue) -> bool {
        /// Largest integer below which every integer is an `f64`.
        const EXACT: u64 = 1 << 53;
        match (self, value) {
            (Self::Integer, AttributeValue::Int(_))
            | (Self::Boolean, AttributeValue::Bool(_))
            | (Self::Text, AttributeValue::Text(_)) => true,
            (Self::Number, AttributeValue::Float(x)) => x.is_finite(),
            (Self::Number, AttributeValue::Int(n)) => n.unsigned_abs() <= EXACT,
            (Self::Texts, AttributeValue::List(members)) => members
                .iter()
                .all(|member| matches!(member, AttributeValue::Text(_))),
            _ => false,
        }
    }

    pub(crate) const fn expected(self) -> &'static str {
        match self {
            Self::Integer => "an integer",
            Self::Number => "a finite number, an integer at most 2^53",
            Self::Boolean => "a truth value",
            Self::Text => "text",
            Self::Texts => "a list of texts",
        }
    }
}

impl std::str::FromStr for AttributeType {
    type Err = RemoteError;

    fn from_str(text: &str) -> Result<Self, RemoteError> {
        let all = [
            Self::Integer,
            Self::Number,
            Self::Boolean,
            Self::Text,
            Self::Texts,
        ];
        let found = all.into_iter().find(|known| known.name() == text);
        found.ok_or_else(|| {
            RemoteError::schema(format!(
                "expected a type (integer, number, boolean, text, texts), found {text:?}"
            ))
        })
    }
}

/// Attribute that is loaded, and can be filtered by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteAttribute {
    /// Name. Milvus needs letters, digits and `_`.
    pub name: String,
    /// Type that all values have.
    #[serde(rename = "type")]
    pub kind: AttributeType,
}

/// Schema of a remote collection. Attributes that it does not declare are not loaded.
///
/// ```
/// use ir_engines::{AttributeType, CollectionSchema};
/// let schema = CollectionSchema::default().with_attribute("year", AttributeType::Integer);
/// assert_eq!(schema.attributes[0].name, "year");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CollectionSchema {
    /// Attributes that are loaded. Default: none.
    pub attributes: Vec<RemoteAttribute>,
    /// Attribute that partitions a collection of Milvus by value: searches that filter by it read a
    /// part of the collection. Type integer or text. Default: none.
    pub partition_key: Option<String>,
    /// Similarity of vectors. Default: inner product.
    pub similarity: VectorSimilarity,
    /// Index of vectors. Default: exact.
    pub vector_index: RemoteVectorIndex,
    /// Number of shards: parts of the collection that the engine distributes over its machines.
    /// Scores do not depend on it. Range: 1 to 1024 in Elasticsearch and OpenSearch; the server
    /// sets the maximum of Milvus (usually 16). Default: 1.
    #[serde(default = "one_shard", skip_serializing_if = "is_one_shard")]
    pub shards: u32,
}

// Records of collections with one shard do not mention it.
const fn one_shard() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_one_shard(shards: &u32) -> bool {
    *shards == 1
}

impl Default for CollectionSchema {
    fn default() -> Self {
        Self {
            attributes: Vec::new(),
            partition_key: None,
            similarity: VectorSimilarity::default(),
            vector_index: RemoteVectorIndex::default(),
            shards: one_shard(),
        }
    }
}

impl CollectionSchema {
    /// Adds an attribute that is loaded.
    #[must_use]
    pub fn with_attribute(mut self, name: impl Into<String>, kind: AttributeType) -> Self {
        let name = name.into();
        self.attributes.push(RemoteAttribute { name, kind });
        self
    }

    /// Sets the similarity of vectors.
    #[must_use]
    pub const fn with_similarity(mut self, similarity: VectorSimilarity) -> Self {
        self.similarity = similarity;
        self
    }

    /// Sets the index of vectors.
    #[must_use]
    pub const fn with_vector_index(mut self, index: RemoteVectorIndex) -> Self {
        self.vector_index = index;
        self
    }

    /// Sets the number of shards.
    #[must_use]
    pub const fn with_shards(mut self, shards: u32) -> Self {
        self.shards = shards;
        self
    }

    /// Sets the attribute that partitions a collection of Milvus.
    #[must_use]
    pub fn with_partition_key(mut self, name: impl Into<String>) -> Self {
        self.partition_key = Some(name.into());
        self
    }

    pub(crate) fn check(&self) -> Result<(), RemoteError> {
        let invalid = |message: String| Err(RemoteError::schema(message));
        for (at, attribute) in self.attributes.iter().enumerate() {
            let name = &attribute.name;
            if self.attributes[..at]
                .iter()
                .any(|other| other.name == *name)
            {
                return invalid(format!("attribute {name:?} is declared twice"));
            }
        }
        if !(1..=1024).contains(&self.shards) {
            let found = self.shards;
            return invalid(format!("expected 1 to 1024 shards, found {found}"));
        }
        if let RemoteVectorIndex::Hnsw { m, ef_construction } = self.vector_index
            && !((2..=100).contains(&m) && (8..=4096).contains(&ef_construction))
        {
            return invalid(format!(
                "expected m from 2 to 100 and ef_construction from 8 to 4096, found {m} and {ef_construction}"
            ));
        }
        if let Some(key) = &self.partition_key {
            let found = self.attributes.iter().find(|known| known.name == *key);
            let suits = |kind| matches!(kind, AttributeType::Integer | AttributeType::Text);
            if !found.is_some_and(|attribute| suits(attribute.kind)) {
                return invalid(format!(
                    "partition key {key:?}: expected a declared attribute of type integer or text"
                ));
            }
        }
        Ok(())
    }

    /// Values of the declared attributes in JSON; empty for absent ones.
    pub(crate) fn values(&self, attributes: &Attributes) -> Vec<Vec<u8>> {
        let values = self.attributes.iter().map(|it| attributes.get(&it.name));
        let values = values.map(|value| value.and_then(|it| serde_json::to_vec(it).ok()));
        values.map(Option::unwrap_or_default).collect()
    }

    /// Checks the declared attributes of a document.
    pub(crate) fn check_document(
        &self,
        number: usize,
        id: &str,
        attributes: &Attributes,
    ) -> Result<(), RemoteError> {
        for attribute in &self.attributes {
            if let Some(value) = attributes.get(&attribute.name)
                && !attribute.kind.fits(value)
            {
                return Err(RemoteError::Document {
                    number,
                    id: id.to_owned(),
                    what: format!("attribute {:?}", attribute.name),
                    expected: attribute.kind.expected().to_owned(),
                    found: serde_json::to_string(value).unwrap_or_else(|_| "another".to_owned()),
                });
            }
        }
        Ok(())
    }
}

/// What is stored with a collection: its schema, and what was loaded into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CollectionRecord {
    /// Name and version of this record.
    pub(crate) format: String,
    /// Schema of the collection.
    pub schema: CollectionSchema,
    /// Dimension of the vectors; `None` without vectors.
    pub dim: Option<usize>,
    /// If `true`, titles and texts are indexed.
    pub texts: bool,
    /// Further settings of the engine, such as the analysis of texts.
    pub engine_settings: String,
    /// Number of documents of the source.
    pub documents: usize,
    /// Hash of ids, texts, declared attributes and vectors, in hexadecimal digits.
    pub fingerprint: String,
    /// Hash of ids and declared attributes, in hexadecimal digits. Default: none, in records of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes_fingerprint: Option<String>,
    /// Description of the encoder of the vectors ([`LoadSource::with_encoder`]). Default: none.
    ///
    /// [`LoadSource::with_encoder`]: crate::LoadSource::with_encoder
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder: Option<String>,
}

/// Hash of the ids and the declared attributes of documents.
#[derive(Default)]
pub(crate) struct AttributesHash(Fnv1a);

impl AttributesHash {
    /// Adds a document with the [values](CollectionSchema::values) of its declared attributes.
    pub(crate) fn add(&mut self, id: &str, values: &[Vec<u8>]) {
        write_field(&mut self.0, id.as_bytes());
        for value in values {
            write_field(&mut self.0, value);
        }
    }

    pub(crate) fn finish(&self) -> String {
        format!("{:016x}", self.0.finish())
    }
}

/// Hashes a field with its length, so that the ends of fields matter.
pub(crate) fn write_field(hash: &mut Fnv1a, bytes: &[u8]) {
    hash.write(&(bytes.len() as u64).to_le_bytes());
    hash.write(bytes);
}

pub(crate) const RECORD_FORMAT: &str = "ir-remote 1";

impl CollectionRecord {
    /// Returns whether a corpus has the ids and the declared attributes that were loaded, in the
    /// same order; `None` for a record of an earlier version, which does not tell. If so,
    /// conditions on these attributes have the same documents in both.
    ///
    /// # Errors
    /// [`RemoteError::Corpus`] if the documents cannot be read.
    pub fn has_attributes_of(&self, corpus: &dyn Corpus) -> Result<Option<bool>, RemoteError> {
        let Some(expected) = &self.attributes_fingerprint else {
            return Ok(None);
        };
        let mut hash = AttributesHash::default();
        let mut reader = corpus.open().map_err(RemoteError::Corpus)?;
        let mut document = Document::default();
        while reader.read(&mut document).map_err(RemoteError::Corpus)? {
            hash.add(&document.id, &self.schema.values(&document.attributes));
        }
        Ok(Some(hash.finish() == *expected))
    }

    /// Checks that a collection that exists has this record.
    pub(crate) fn check_existing(
        &self,
        existing: &Self,
        collection: &str,
    ) -> Result<(), RemoteError> {
        let none = || "none".to_owned();
        let or_none = |text: String| if text.is_empty() { none() } else { text };
        let key = |record: &Self| {
            let key = record.schema.partition_key.as_ref();
            key.map_or_else(none, |name| format!("{name:?}"))
        };
        let texts = |record: &Self| {
            let texts = if record.texts {
                "indexed"
            } else {
                "not indexed"
            };
            texts.to_owned()
        };
        let attributes = |record: &Self| {
            let all = record.schema.attributes.iter();
            let all = all.map(|known| format!("{}:{}", known.name, known.kind.name()));
            or_none(all.collect::<Vec<_>>().join(" "))
        };
        type Property<'a> = (&'static str, &'a dyn Fn(&CollectionRecord) -> String);
        let properties: [Property<'_>; 10] = [
            ("dimension", &|it| {
                it.dim.map_or_else(none, |dim| dim.to_string())
            }),
            ("similarity", &|it| it.schema.similarity.to_string()),
            ("vector index", &|it| it.schema.vector_index.to_string()),
            ("attributes", &attributes),
            ("partition key", &key),
            ("number of shards", &|it| it.schema.shards.to_string()),
            ("texts", &texts),
            ("engine settings", &|it| or_none(it.engine_settings.clone())),
            ("number of documents", &|it| it.documents.to_string()),
            ("fingerprint", &|it| it.fingerprint.clone()),
        ];
        for (what, property) in properties {
            let (expected, found) = (property(self), property(existing));
            if expected != found {
                return Err(RemoteError::Conflict {
                    collection: collection.to_owned(),
                    what,
                    expected,
                    found,
                    is_load: true,
                });
            }
        }
        Ok(())
    }
}
