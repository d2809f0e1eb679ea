//! What maps the hidden states of a pair to logits: a classification head, the logits of tokens, or
//! modules of sentence-transformers.

use std::path::Path;
use std::sync::Arc;

use ir_core::Fnv1a;
use pulp::bytemuck;

use super::folder::{CrossEncoderFolder, Scoring, VocabularyToken};
use super::head::ClassificationHead;
use crate::architectures::HeadLayout;
use crate::encode::modules::VectorModules;
use crate::encode::sentence_transformers::read_pooling;
use crate::encode::{ModelTokenizer, Pooling, PoolingModes};
use crate::error::ModelError;
use crate::head_layers::{HeadLinear, LayerName};
use crate::model_folder::{
    Architecture, TensorSource, TensorValues, TransformerConfig, WeightFile,
};
use crate::random_model::RandomWeights;
use crate::reader::MissingHead;
use crate::transformer::encoder_prefix;

/// Name of the output of the modules.
const SCORES: &str = "scores";
/// Output layer of language models.
const OUTPUT_LAYER: &str = "lm_head.weight";

/// Maps the hidden states of a pair to one logit per label.
#[derive(Debug, Clone)]
pub(crate) enum ScoringHead {
    Classification(ClassificationHead),
    TokenLogits(TokenLogits),
    Modules {
        pooling: PoolingModes,
        modules: Arc<VectorModules>,
    },
}

/// Weights of a head in a file. Those that the file does not have may be random.
struct HeadSource<'a> {
    weights: &'a WeightFile,
    missing: MissingHead,
}

impl TensorSource for HeadSource<'_> {
    fn names(&self) -> Vec<String> {
        self.weights.names()
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<TensorValues, ModelError> {
        match self.missing {
            MissingHead::Random(seed) if !self.names().iter().any(|it| it == name) => {
                RandomWeights(seed).tensor(name, shape)
            }
            _ => self.weights.tensor(name, shape),
        }
    }
}

/// Logit of a token after the pair, minus the logit of another one.
#[derive(Debug, Clone)]
pub(crate) struct TokenLogits {
    /// Rows of the output layer, one or two.
    rows: HeadLinear,
}

impl ScoringHead {
    /// Reads the head of a folder, or creates one with random weights.
    pub(super) fn load(
        folder: &Path,
        files: &CrossEncoderFolder,
        shape: &TransformerConfig,
        weights: &WeightFile,
        tokenizer: &ModelTokenizer,
        missing: MissingHead,
    ) -> Result<Self, ModelError> {
        let (prefix, hidden) = (encoder_prefix(shape, weights), shape.hidden_size);
        match &files.scoring {
            Scoring::Classification { labels } => {
                let layout = HeadLayout::read(&files.transformer, shape.architecture)?;
                let source = HeadSource { weights, missing };
                let (labels, padding) = (*labels, files.padding);
                let head =
                    ClassificationHead::load(&layout, &source, &prefix, hidden, labels, padding)?;
                if missing == MissingHead::Error {
                    check_superfluous(weights, &prefix, &head.layer_names(&prefix))?;
                }
                Ok(Self::Classification(head))
            }
            Scoring::TokenLogits { yes, no, tied } => {
                let tied = tied.unwrap_or(shape.architecture == Architecture::GEMMA3);
                let tokens = shape.architecture.definition().names[0].tokens;
                let name = if tied {
                    format!("{prefix}{tokens}.weight")
                } else {
                    OUTPUT_LAYER.to_owned()
                };
                let table = weights.tensor(&name, &[shape.vocab_size, hidden])?;
                let mut rows = Vec::new();
                for token in [Some(yes), no.as_ref()].into_iter().flatten() {
                    let id = token.id(tokenizer)? as usize;
                    let row = table.get(id * hidden..).and_then(|rest| rest.get(..hidden));
                    let row = row.ok_or_else(|| {
                        let expected = format!("below {}, the vocabulary", shape.vocab_size);
                        let field = "token of the score";
                        ModelError::setting(weights.path(), field, expected, id)
                    })?;
                    rows.extend_from_slice(row);
                }
                table.release();
                Ok(Self::TokenLogits(TokenLogits {
                    rows: HeadLinear {
                        name: LayerName::new(OUTPUT_LAYER),
                        weight: rows,
                        bias: None,
                        inputs: hidden,
                    },
                }))
            }
            Scoring::Modules { pooling, modules } => {
                let path = pooling.join("config.json");
                let (pooling, include_prompt) = read_pooling(&path)?;
                if !include_prompt && !files.prompt.is_empty() {
                    let expected = "true: the tokens of the prompt are pooled";
                    return Err(ModelError::setting(
                        &path,
                        "include_prompt",
                        expected,
                        false,
                    ));
                }
                let width = hidden * pooling.modes().len();
                let modules = VectorModules::read(folder, modules, width, None, SCORES)?;
                Ok(Self::Modules {
                    pooling,
                    modules: Arc::new(modules),
                })
            }
        }
    }

    /// Layers from the hidden states to the logits, in words.
    pub(super) fn layers(&self) -> String {
        match self {
            Self::Classification(head) => head.layers(),
            Self::TokenLogits(head) => match head.rows.outputs() {
                1 => "logit of a token after the pair".to_owned(),
                _ => "logit of a token after the pair, minus the logit of another token".to_owned(),
            },
            Self::Modules { pooling, modules } => {
                let modules = modules.describe().into_iter();
                let modules = modules.map(|(class, outputs, activation)| match activation {
                    Some(activation) => format!("; {class} to {outputs}, {activation}"),
                    None => format!("; {class}"),
                });
                format!("{pooling} pooling{}", modules.collect::<String>())
            }
        }
    }

    pub(crate) fn labels(&self) -> usize {
        match self {
            Self::Classification(head) => head.labels(),
            Self::TokenLogits(_) => 1,
            Self::Modules { modules, .. } => modules.dim(),
        }
    }

    /// Returns one logit per label, given the hidden states of a pair, `[tokens, hidden_size]`, and
    /// its token ids.
    pub(crate) fn logits(&self, states: &[f32], ids: &[u32]) -> Vec<f32> {
        match self {
            Self::Classification(head) => head.logits(states, ids),
            Self::TokenLogits(head) => vec![head.score(states)],
            Self::Modules { pooling, modules } => {
                let modes = pooling.modes();
                let mut pooled = vec![0.0; modules.input_dim()];
                let width = pooled.len() / modes.len().max(1);
                for (mode, out) in modes.iter().zip(pooled.chunks_exact_mut(width.max(1))) {
                    mode.pool_text(states, 0, out);
                }
                let mut logits = vec![0.0; modules.dim()];
                modules.apply_rows(&pooled, &mut logits);
                logits
            }
        }
    }

    /// The classification head; `None` of other models.
    pub(crate) fn classification(&self) -> Option<&ClassificationHead> {
        match self {
            Self::Classification(head) => Some(head),
            _ => None,
        }
    }

    /// Hash of the weights.
    pub(super) fn hash(&self) -> u64 {
        let mut hash = Fnv1a::new();
        match self {
            Self::Classification(head) => {
                hash.write(head.description().as_bytes());
                for (name, _, values) in head.weights("") {
                    hash.write(name.as_bytes());
                    hash.write(bytemuck::cast_slice(values));
                }
            }
            Self::TokenLogits(head) => hash.write(bytemuck::cast_slice(&head.rows.weight)),
            Self::Modules { pooling, modules } => {
                hash.write(pooling.to_string().as_bytes());
                hash.write(&modules.hash().unwrap_or_default().to_le_bytes());
            }
        }
        hash.finish()
    }
}

impl TokenLogits {
    fn score(&self, states: &[f32]) -> f32 {
        let mut last = vec![0.0; self.rows.inputs];
        Pooling::LastToken.pool_text(states, 0, &mut last);
        match self.rows.apply(&last)[..] {
            [yes, no] => yes - no,
            [yes] => yes,
            _ => f32::NAN,
        }
    }
}

impl VocabularyToken {
    fn id(&self, tokenizer: &ModelTokenizer) -> Result<u32, ModelError> {
        match self {
            Self::Id(id) => Ok(*id),
            Self::Text(text) => tokenizer.token_id(text).ok_or_else(|| {
                let expected = "yes and no, whose logits are the score of a language model";
                let field = format!("token {text:?}");
                ModelError::setting(tokenizer.path(), field, expected, "missing")
            }),
        }
    }
}

/// Returns an error if the file has tensors of another head than the one that was read: in modules
/// with these names, or outside of the encoder.
fn check_superfluous(
    weights: &WeightFile,
    prefix: &str,
    layers: &[String],
) -> Result<(), ModelError> {
    let module = |name: &str| {
        let rest = name.strip_prefix(prefix).unwrap_or(name);
        let own = rest.split('.').next().unwrap_or_default();
        format!("{}{own}.", &name[..name.len() - rest.len()])
    };
    let modules: Vec<String> = layers.iter().map(|name| module(name)).collect();
    let is_superfluous = |name: &String| {
        let outside = !prefix.is_empty() && !name.starts_with(prefix);
        outside || modules.contains(&module(name))
    };
    let unread = weights.unread();
    match unread.iter().find(|name| is_superfluous(name)) {
        None => Ok(()),
        Some(name) => {
            let expected = format!("a head of the layers {}", layers.join(", "));
            let found = format!("with the tensor {name}");
            Err(ModelError::setting(
                weights.path(),
                "the model",
                expected,
                found,
            ))
        }
    }
}
