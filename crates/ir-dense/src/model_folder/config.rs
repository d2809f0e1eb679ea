//! Configuration of a transformer, `config.json`.

use std::fmt::Display;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::read_json;
use crate::activation::Activation;
use crate::error::ModelError;

/// Architecture of an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Architecture {
    /// BERT (Devlin et al. 2019), also SciBERT, MiniLM, BGE, E5, COCO-DR.
    Bert,
    /// RoBERTa (Liu et al. 2019), XLM-R, CamemBERT: positions start at 2.
    Roberta,
    /// DistilBERT (Sanh et al. 2019): no token-type embeddings.
    DistilBert,
    /// MPNet (Song et al. 2020): relative position bias.
    Mpnet,
}

impl Architecture {
    const NAMES: [(&'static str, Self); 6] = [
        ("bert", Self::Bert),
        ("roberta", Self::Roberta),
        ("xlm-roberta", Self::Roberta),
        ("camembert", Self::Roberta),
        ("distilbert", Self::DistilBert),
        ("mpnet", Self::Mpnet),
    ];
}

/// Configuration of a transformer encoder, under the same names for all architectures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TransformerConfig {
    /// Model architecture (family of models).
    pub architecture: Architecture,
    /// Number of token embeddings.
    pub vocab_size: usize,
    /// Dimension of token vectors.
    pub hidden_size: usize,
    /// Number of transformer layers.
    pub layers: usize,
    /// Number of attention heads; divides `hidden_size`.
    pub heads: usize,
    /// Inner dimension of the feed-forward networks.
    pub intermediate_size: usize,
    /// Number of position embeddings.
    pub max_positions: usize,
    /// Position of the first token.
    pub position_offset: usize,
    /// Number of token-type embeddings; 0 if the architecture has none. A bi-encoder gives every
    /// token type 0.
    pub token_types: usize,
    /// Number of buckets of the relative position bias; 0 if the architecture has none.
    pub relative_position_buckets: usize,
    /// Activation function of the feed-forward networks.
    pub activation: Activation,
    /// ε of layer normalization, added to the variance.
    pub layer_norm_eps: f64,
}

/// Field names of BERT and DistilBERT. A file may have both.
const FIELD_NAMES: [(&str, &str); 5] = [
    ("hidden_size", "dim"),
    ("num_hidden_layers", "n_layers"),
    ("num_attention_heads", "n_heads"),
    ("intermediate_size", "hidden_dim"),
    ("hidden_act", "activation"),
];

/// `config.json` with BERT's field names.
#[derive(Deserialize)]
struct RawConfig {
    model_type: Option<String>,
    architectures: Option<Vec<String>>,
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: Option<usize>,
    pad_token_id: Option<usize>,
    relative_attention_num_buckets: Option<usize>,
    hidden_act: Option<String>,
    layer_norm_eps: Option<f64>,
    position_embedding_type: Option<String>,
    is_decoder: Option<bool>,
}

impl TransformerConfig {
    /// Reads `config.json`.
    ///
    /// # Errors
    /// If the file is missing or invalid, the architecture is not supported, or values contradict
    /// each other.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        let folder = folder.as_ref();
        let path = folder.join("config.json");
        Self::read_file(&path)?.ok_or_else(|| ModelError::MissingFile {
            folder: folder.into(),
            expected: "config.json",
        })
    }

    /// Reads a file of any name; `None` if there is no such file.
    pub(crate) fn read_file(path: &Path) -> Result<Option<Self>, ModelError> {
        let Some(mut fields) = read_json::<Map<String, Value>>(path)? else {
            return Ok(None);
        };
        for (name, other) in FIELD_NAMES {
            let Some(another) = fields.remove(other) else {
                continue;
            };
            let one = fields.entry(name).or_insert_with(|| another.clone());
            if *one != another {
                let expected = format!("{one}, as {name} says");
                return Err(ModelError::setting(path, other, expected, another));
            }
        }
        let raw: RawConfig =
            RawConfig::deserialize(Value::Object(fields)).map_err(|source| ModelError::Json {
                path: path.into(),
                source,
            })?;
        let architecture = raw.architecture(path)?;
        let first_position = raw.pad_token_id.unwrap_or(1).saturating_add(1);
        let types = raw.type_vocab_size.unwrap_or(2);
        let buckets = raw.relative_attention_num_buckets.unwrap_or(32);
        let (position_offset, token_types, relative_position_buckets, epsilon) = match architecture
        {
            Architecture::Bert => (0, types, 0, 1e-12),
            Architecture::Roberta => (first_position, types, 0, 1e-12),
            Architecture::DistilBert => (0, 0, 0, 1e-12),
            Architecture::Mpnet => (first_position, 0, buckets, 1e-5),
        };
        let config = Self {
            architecture,
            vocab_size: raw.vocab_size,
            hidden_size: raw.hidden_size,
            layers: raw.num_hidden_layers,
            heads: raw.num_attention_heads,
            intermediate_size: raw.intermediate_size,
            max_positions: raw.max_position_embeddings,
            position_offset,
            token_types,
            relative_position_buckets,
            activation: match raw.hidden_act.as_deref().unwrap_or("gelu") {
                "gelu" => Activation::Gelu,
                "gelu_new" | "gelu_pytorch_tanh" => Activation::GeluTanh,
                "relu" => Activation::Relu,
                other => {
                    let expected = "gelu, gelu_new, gelu_pytorch_tanh or relu";
                    return Err(ModelError::setting(path, "hidden_act", expected, other));
                }
            },
            layer_norm_eps: raw.layer_norm_eps.unwrap_or(epsilon),
        };
        match raw.position_embedding_type.as_deref() {
            None | Some("absolute") => {}
            Some(other) => {
                let field = "position_embedding_type";
                return Err(ModelError::setting(path, field, "absolute", other));
            }
        }
        if raw.is_decoder == Some(true) {
            let expected = "false: attention must be bidirectional";
            return Err(ModelError::setting(path, "is_decoder", expected, true));
        }
        config.validate(path)?;
        Ok(Some(config))
    }

    /// Returns the configuration as JSON, for checkpoints. Fractions are text, because a JSON
    /// number is not always read as it was written.
    pub(crate) fn identity(&self) -> Value {
        let mut fields = serde_json::to_value(self).unwrap_or_default();
        for value in fields.as_object_mut().into_iter().flat_map(Map::values_mut) {
            if value.is_f64() {
                *value = value.to_string().into();
            }
        }
        fields
    }

    /// Maximum sequence length in tokens, with special tokens.
    pub fn max_tokens(&self) -> usize {
        self.max_positions - self.position_offset
    }

    fn validate(&self, path: &Path) -> Result<(), ModelError> {
        let invalid = |field, expected: &str, found: &dyn Display| {
            Err(ModelError::setting(path, field, expected, found))
        };
        let positive = [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.layers),
            ("num_attention_heads", self.heads),
            ("intermediate_size", self.intermediate_size),
        ];
        if let Some((field, value)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return invalid(field, "1 or more", &value);
        }
        if !self.hidden_size.is_multiple_of(self.heads) {
            let expected = format!("a divisor of hidden_size, {}", self.hidden_size);
            return invalid("num_attention_heads", &expected, &self.heads);
        }
        let buckets = self.relative_position_buckets;
        if self.architecture == Architecture::Mpnet && buckets < 4 {
            return invalid("relative_attention_num_buckets", "4 or more", &buckets);
        }
        if self.max_positions <= self.position_offset {
            let expected = format!("more than {}", self.position_offset);
            return invalid("max_position_embeddings", &expected, &self.max_positions);
        }
        if !(self.layer_norm_eps > 0.0 && self.layer_norm_eps.is_finite()) {
            return invalid("layer_norm_eps", "above 0", &self.layer_norm_eps);
        }
        Ok(())
    }
}

impl RawConfig {
    fn architecture(&self, path: &Path) -> Result<Architecture, ModelError> {
        let known = || {
            let names: Vec<&str> = Architecture::NAMES.iter().map(|(name, _)| *name).collect();
            format!("one of {}", names.join(", "))
        };
        let find = |wanted: &str| {
            let mut names = Architecture::NAMES.iter();
            names.find(|(name, _)| *name == wanted).map(|(_, a)| *a)
        };
        if let Some(name) = &self.model_type {
            return find(name).ok_or_else(|| {
                ModelError::setting(path, "model_type", known(), format!("{name:?}"))
            });
        }
        // Files from before 2020 have the class only: "BertForMaskedLM".
        let classes = self.architectures.as_deref().unwrap_or_default();
        let class = classes.first().map_or("", String::as_str).to_lowercase();
        let stem = &class[..class
            .find("for")
            .or(class.find("model"))
            .unwrap_or(class.len())];
        find(stem).ok_or_else(|| ModelError::setting(path, "model_type", known(), "missing"))
    }
}
