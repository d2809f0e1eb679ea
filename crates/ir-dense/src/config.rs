//! The shape of a transformer, from `config.json`.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ModelError;
use crate::folder::json;

/// A family of encoders that share parts and names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Architecture {
    /// BERT (Devlin et al. 2019), and what is built like it: SciBERT, MiniLM, BGE, E5, COCO-DR.
    Bert,
    /// RoBERTa (Liu et al. 2019), XLM-R, CamemBERT: positions are counted from 2.
    Roberta,
    /// DistilBERT (Sanh et al. 2019): no token types.
    DistilBert,
    /// MPNet (Song et al. 2020): attention knows how far apart tokens are.
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

/// What is between the two products of a feed-forward block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Activation {
    /// x·Φ(x), Φ being the normal distribution (Hendrycks & Gimpel 2016).
    Gelu,
    /// The same with the hyperbolic tangent in place of Φ.
    GeluTanh,
    /// max(x, 0).
    Relu,
}

/// The shape of a transformer encoder: what `config.json` says, under one set of names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TransformerConfig {
    /// The family.
    pub architecture: Architecture,
    /// Rows of the table of token embeddings.
    pub vocabulary: usize,
    /// Length of the vector of a token.
    pub hidden: usize,
    /// Blocks of attention and feed-forward.
    pub layers: usize,
    /// Heads of attention; divides `hidden`.
    pub heads: usize,
    /// Width inside the feed-forward blocks.
    pub intermediate: usize,
    /// Rows of the table of position embeddings.
    pub positions: usize,
    /// The row of the first token's position.
    pub first_position: usize,
    /// Rows of the table of token types; 0 when the family has none. All tokens have type 0.
    pub token_types: usize,
    /// Rows of the table of relative positions; 0 when the family has none.
    pub relative_positions: usize,
    /// Within the feed-forward blocks.
    pub activation: Activation,
    /// Added to the variance in layer normalisation.
    pub layer_norm_eps: f64,
}

/// What DistilBERT calls otherwise. A file may have both names.
const NAMES: [(&str, &str); 5] = [
    ("hidden_size", "dim"),
    ("num_hidden_layers", "n_layers"),
    ("num_attention_heads", "n_heads"),
    ("intermediate_size", "hidden_dim"),
    ("hidden_act", "activation"),
];

/// `config.json` under all the names that families use.
#[derive(Deserialize)]
struct Raw {
    model_type: Option<String>,
    #[serde(default)]
    architectures: Option<Vec<String>>,
    vocab_size: usize,
    #[serde(alias = "dim")]
    hidden_size: usize,
    #[serde(alias = "n_layers")]
    num_hidden_layers: usize,
    #[serde(alias = "n_heads")]
    num_attention_heads: usize,
    #[serde(alias = "hidden_dim")]
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: Option<usize>,
    pad_token_id: Option<usize>,
    relative_attention_num_buckets: Option<usize>,
    #[serde(alias = "activation")]
    hidden_act: Option<String>,
    layer_norm_eps: Option<f64>,
    position_embedding_type: Option<String>,
    is_decoder: Option<bool>,
}

impl TransformerConfig {
    /// Reads `config.json`.
    ///
    /// # Errors
    /// When the file is missing or not as it should be, the architecture is not one of
    /// [`Architecture`], or values contradict each other.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        let folder = folder.as_ref();
        let path = folder.join("config.json");
        Self::read_file(&path)?.ok_or_else(|| ModelError::Missing {
            folder: folder.into(),
            expected: "config.json",
        })
    }

    /// The same of a file of another name; `None` when there is none.
    pub(crate) fn read_file(path: &Path) -> Result<Option<Self>, ModelError> {
        let Some(mut fields) = json::<Map<String, Value>>(path)? else {
            return Ok(None);
        };
        for (name, other) in NAMES {
            match (fields.get(name), fields.get(other)) {
                (Some(one), Some(another)) if one != another => {
                    let expected = format!("{one}, as {name} says");
                    return Err(ModelError::setting(path, other, expected, another));
                }
                (None, Some(_)) => {}
                _ => {
                    fields.remove(other);
                }
            }
        }
        let raw: Raw =
            Raw::deserialize(Value::Object(fields)).map_err(|source| ModelError::Json {
                path: path.into(),
                source,
            })?;
        let architecture = raw.architecture(path)?;
        let config = Self {
            architecture,
            vocabulary: raw.vocab_size,
            hidden: raw.hidden_size,
            layers: raw.num_hidden_layers,
            heads: raw.num_attention_heads,
            intermediate: raw.intermediate_size,
            positions: raw.max_position_embeddings,
            first_position: match architecture {
                Architecture::Bert | Architecture::DistilBert => 0,
                Architecture::Roberta | Architecture::Mpnet => {
                    raw.pad_token_id.unwrap_or(1).saturating_add(1)
                }
            },
            token_types: match architecture {
                Architecture::Bert | Architecture::Roberta => raw.type_vocab_size.unwrap_or(2),
                Architecture::DistilBert | Architecture::Mpnet => 0,
            },
            relative_positions: match architecture {
                Architecture::Mpnet => raw.relative_attention_num_buckets.unwrap_or(32),
                _ => 0,
            },
            activation: match raw.hidden_act.as_deref().unwrap_or("gelu") {
                "gelu" => Activation::Gelu,
                "gelu_new" | "gelu_pytorch_tanh" => Activation::GeluTanh,
                "relu" => Activation::Relu,
                other => {
                    let expected = "gelu, gelu_new, gelu_pytorch_tanh or relu";
                    return Err(ModelError::setting(path, "hidden_act", expected, other));
                }
            },
            layer_norm_eps: raw.layer_norm_eps.unwrap_or(match architecture {
                Architecture::Mpnet => 1e-5,
                _ => 1e-12,
            }),
        };
        match raw.position_embedding_type.as_deref() {
            None | Some("absolute") => {}
            Some(other) => {
                let field = "position_embedding_type";
                return Err(ModelError::setting(path, field, "absolute", other));
            }
        }
        if raw.is_decoder == Some(true) {
            let expected = "false: every token sees all others";
            return Err(ModelError::setting(path, "is_decoder", expected, true));
        }
        config.check(path)?;
        Ok(Some(config))
    }

    /// The most tokens of a text, special ones included.
    pub fn max_tokens(&self) -> usize {
        self.positions - self.first_position
    }

    fn check(&self, path: &Path) -> Result<(), ModelError> {
        let positive = [
            ("vocab_size", self.vocabulary),
            ("hidden_size", self.hidden),
            ("num_hidden_layers", self.layers),
            ("num_attention_heads", self.heads),
            ("intermediate_size", self.intermediate),
        ];
        for (field, value) in positive {
            if value == 0 {
                return Err(ModelError::setting(path, field, "1 or more", value));
            }
        }
        if !self.hidden.is_multiple_of(self.heads) {
            let expected = format!("a divisor of hidden_size, {}", self.hidden);
            let field = "num_attention_heads";
            return Err(ModelError::setting(path, field, expected, self.heads));
        }
        let (field, found) = ("relative_attention_num_buckets", self.relative_positions);
        if self.architecture == Architecture::Mpnet && found < 4 {
            return Err(ModelError::setting(path, field, "4 or more", found));
        }
        if self.positions <= self.first_position {
            let expected = format!("more than {}", self.first_position);
            let field = "max_position_embeddings";
            return Err(ModelError::setting(path, field, expected, self.positions));
        }
        if !(self.layer_norm_eps > 0.0 && self.layer_norm_eps.is_finite()) {
            let (field, found) = ("layer_norm_eps", self.layer_norm_eps);
            return Err(ModelError::setting(path, field, "above 0", found));
        }
        Ok(())
    }
}

impl Raw {
    fn architecture(&self, path: &Path) -> Result<Architecture, ModelError> {
        let known = || {
            let names: Vec<&str> = Architecture::NAMES.iter().map(|(name, _)| *name).collect();
            format!("one of {}", names.join(", "))
        };
        let of = |wanted: &str| {
            let mut names = Architecture::NAMES.iter();
            names.find(|(name, _)| *name == wanted).map(|(_, a)| *a)
        };
        if let Some(name) = &self.model_type {
            return of(name).ok_or_else(|| {
                ModelError::setting(path, "model_type", known(), format!("{name:?}"))
            });
        }
        // Files before 2020 name the class alone: "BertForMaskedLM".
        let classes = self.architectures.as_deref().unwrap_or_default();
        let class = classes.first().map_or("", String::as_str).to_lowercase();
        let stem = &class[..class
            .find("for")
            .or(class.find("model"))
            .unwrap_or(class.len())];
        of(stem).ok_or_else(|| ModelError::setting(path, "model_type", known(), "missing"))
    }
}
