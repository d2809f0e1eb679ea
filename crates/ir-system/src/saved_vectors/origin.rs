//! Record of how saved vectors were encoded.

use std::fmt::Display;
use std::path::Path;

use ir_core::DocNum;
use ir_knn::SegmentedVectorIndex;
use serde::{Deserialize, Serialize};

use super::text_hashes::TextHashes;

/// Maximum length of texts in tokens from which on it is no limit, as of static embeddings.
const UNLIMITED_TOKENS: usize = u32::MAX as usize;

/// Fields of [`VectorOrigin`] that vectors of queries and of documents have in common.
pub const COMPARED_FIELDS: [&str; 5] = [
    "model",
    "precision",
    "arithmetic version",
    "pooling",
    "normalize",
];

/// How the vectors of an index were encoded. `ir encode` stores it in the index as JSON.
///
/// ```
/// use ir_system::saved_vectors::VectorOrigin;
/// let record = |pooling: &str| {
///     let text = r#"{"model_name": "mine", "template": null, "texts": "", "encoder": {
///         "model": "0f", "pooling": "POOLING", "normalize": true, "prefix": "", "max_tokens": 256
///     }}"#;
///     text.replace("POOLING", pooling)
/// };
/// let documents: VectorOrigin = serde_json::from_str(&record("cls"))?;
/// let queries: VectorOrigin = serde_json::from_str(&record("mean"))?;
/// assert_eq!(documents.settings(), "cls pooling, normalized, at most 256 tokens");
/// let difference = documents.differences(&queries, |_| true);
/// assert_eq!(difference.as_deref(), Some("expected pooling cls, found mean"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorOrigin {
    /// Last component of the model's name or folder, for messages.
    model_name: String,
    encoder: EncoderRecord,
    /// Template of the documents; `None` for queries.
    pub template: Option<String>,
    /// Hashes of the texts, in the order of the vectors.
    pub texts: TextHashes,
}

/// The fields of `ir_dense::EncoderFingerprint`, for builds without models too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct EncoderRecord {
    model: String,
    #[serde(default = "f32_name", skip_serializing_if = "is_f32")]
    precision: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    arithmetic: u32,
    pooling: String,
    normalize: bool,
    prefix: String,
    max_tokens: usize,
}

fn f32_name() -> String {
    "f32".to_owned()
}

fn is_f32(precision: &str) -> bool {
    precision == "f32"
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(version: &u32) -> bool {
    *version == 0
}

impl VectorOrigin {
    /// Creates the record of an encoder, without texts. `model` is its folder or name.
    ///
    /// # Errors
    /// Returns the error of a fingerprint that has other fields than this version.
    #[cfg(feature = "dense")]
    pub fn new(
        model: &Path,
        encoder: &ir_dense::EncoderFingerprint,
        template: Option<String>,
    ) -> Result<Self, serde_json::Error> {
        let name = model.file_name().unwrap_or(model.as_os_str());
        Ok(Self {
            model_name: name.to_string_lossy().into_owned(),
            encoder: serde_json::from_value(serde_json::to_value(encoder)?)?,
            template,
            texts: TextHashes::default(),
        })
    }

    /// Returns the record with the hashes of the texts.
    #[must_use]
    pub fn with_texts(mut self, texts: TextHashes) -> Self {
        self.texts = texts;
        self
    }

    /// Reads the record of an index; `None` if it has none, or not of all its vectors.
    #[must_use]
    pub fn read(vectors: &SegmentedVectorIndex) -> Option<Self> {
        let found = vectors.config().user_metadata.as_deref();
        let mut origin = serde_json::from_str::<Self>(found?).ok()?;
        let docs = (0..vectors.len() as u32).map(DocNum::new);
        let hashes = docs.map(|doc| vectors.fingerprint(doc));
        if let Some(texts) = hashes.collect::<Option<TextHashes>>()
            && vectors.config().fingerprints
        {
            origin.texts = texts;
        }
        (origin.texts.len() == vectors.len()).then_some(origin)
    }

    /// [`VectorOrigin::read`] for the vectors of a file or folder. Without a record, warns with
    /// `unchecked`: what is not compared.
    pub fn read_with_warning(
        vectors: &SegmentedVectorIndex,
        path: &Path,
        unchecked: &str,
        warn: &mut dyn FnMut(&dyn Display),
    ) -> Option<Self> {
        let origin = Self::read(vectors);
        if origin.is_none() {
            warn(&format_args!(
                "{}: has no record of its encoder and texts; {unchecked}",
                path.display()
            ));
        }
        origin
    }

    /// Returns pooling, normalization, prefix, length limit, and the precision if it is not f32,
    /// for messages.
    #[must_use]
    pub fn settings(&self) -> String {
        let encoder = &self.encoder;
        let normalized = if encoder.normalize {
            "normalized"
        } else {
            "not normalized"
        };
        let prefix = match encoder.prefix.as_str() {
            "" => String::new(),
            prefix => format!(", prefix {prefix:?}"),
        };
        let precision = match encoder.precision.as_str() {
            "f32" => String::new(),
            precision => format!(", {precision}"),
        };
        let limit = match encoder.max_tokens {
            UNLIMITED_TOKENS.. => "texts of any length".to_owned(),
            tokens => format!("at most {tokens} tokens"),
        };
        let pooling = self.pooling();
        format!("{pooling} pooling, {normalized}{prefix}, {limit}{precision}")
    }

    /// Name of the pooling, as options have it.
    fn pooling(&self) -> String {
        self.encoder.pooling.replace('_', "-")
    }

    /// Returns the prefix of the texts.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.encoder.prefix
    }

    /// Returns the differences to `found` in the fields that `applies` accepts, such as "expected
    /// pooling cls, found mean"; `None` if there are none.
    pub fn differences(&self, found: &Self, applies: impl Fn(&str) -> bool) -> Option<String> {
        let same_model = self.encoder.model == found.encoder.model;
        let same_precision = self.encoder.precision == found.encoder.precision;
        let fields = self.fields().into_iter().zip(found.fields());
        let different = fields.filter(|((name, expected), (_, found))| {
            let is_implied = match *name {
                "model" => same_model,
                "arithmetic version" => !same_precision,
                _ => false,
            };
            applies(name) && expected != found && !is_implied
        });
        let mut different: Vec<String> = different
            .map(|((name, expected), (_, found))| {
                format!("expected {name} {expected}, found {found}")
            })
            .collect();
        if applies("texts") {
            different.extend(self.texts.difference(&found.texts));
        }
        (!different.is_empty()).then(|| different.join("; "))
    }

    fn fields(&self) -> [(&'static str, String); 8] {
        let encoder = &self.encoder;
        let template = self.template.as_deref().unwrap_or("of queries");
        [
            ("model", format!("{} ({})", self.model_name, encoder.model)),
            ("precision", encoder.precision.clone()),
            ("arithmetic version", encoder.arithmetic.to_string()),
            ("pooling", self.pooling()),
            ("normalize", encoder.normalize.to_string()),
            ("prefix", format!("{:?}", encoder.prefix)),
            ("max-tokens", encoder.max_tokens.to_string()),
            ("template", template.to_owned()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_other_arithmetic_are_different() {
        let origin = |precision: &str| -> VectorOrigin {
            let text = format!(
                r#"{{"model_name": "m", "encoder": {{"model": "1a", {precision} "pooling": "mean",
                    "normalize": true, "prefix": "", "max_tokens": 9}}, "template": null,
                    "texts": ""}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let int8 = origin(r#""precision": "int8", "arithmetic": 1,"#);
        let earlier = origin(r#""precision": "int8","#);
        let applies = |field: &str| COMPARED_FIELDS.contains(&field);
        assert_eq!(
            int8.differences(&earlier, applies).as_deref(),
            Some("expected arithmetic version 1, found 0")
        );
        assert_eq!(int8.differences(&int8, applies), None);
        assert_eq!(
            int8.differences(&origin(""), applies).as_deref(),
            Some("expected precision int8, found f32")
        );
    }
}
