//! Configuration of a transformer, under the same names for all architectures.
//!
//! [`TransformerConfig`] has what weights and passes need; [`LayerConfig`] describes what a layer
//! computes. Passes interpret the description: none of them asks for the architecture.

use std::fmt::{self, Display};
use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::activation::Activation;
use crate::error::ModelError;

/// Architecture of an encoder, by its name in checkpoints, such as `bert`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Architecture(pub(crate) &'static str);

impl Architecture {
    /// Name in checkpoints and fingerprints.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Serialize for Architecture {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

/// Configuration of a transformer encoder, under the same names for all architectures.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// Number of attention heads.
    pub heads: usize,
    /// Inner dimension of the feed-forward networks.
    pub intermediate_size: usize,
    /// Number of positions: the rows of the position embeddings, or the context length of
    /// architectures without them.
    pub max_positions: usize,
    /// Position of the first token.
    pub position_offset: usize,
    /// Padding token that is not counted in positions if it is part of a text; its own position is
    /// the one before the first.
    #[serde(skip)]
    pub position_padding: Option<u32>,
    /// Number of token-type embeddings; 0 if the architecture has none. A bi-encoder gives every
    /// token type 0.
    pub token_types: usize,
    /// Number of buckets of the relative position bias; 0 if the architecture has none.
    pub relative_position_buckets: usize,
    /// Activation function of the feed-forward networks.
    pub activation: Activation,
    /// ε of normalization, added to the variance.
    pub layer_norm_eps: f64,
    /// Description of the layers. Default: BERT's layers.
    #[serde(skip_serializing_if = "LayerConfig::is_bert")]
    pub layer: LayerConfig,
}

/// What a layer of a transformer computes, and what surrounds the layers. The default describes
/// BERT: embeddings of tokens, positions and types with layer normalization, then layers of
/// self-attention over all tokens and a feed-forward network, each with layer normalization of the
/// sum with its input.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LayerConfig {
    /// Normalization of token vectors: layer normalization or RMS normalization.
    pub norm: Norm,
    /// Where a layer normalizes.
    pub norm_placement: NormPlacement,
    /// If `true`, the first layer normalizes the input of its attention. ModernBERT: `false`.
    pub first_attention_norm: bool,
    /// If `true`, the sum of the embeddings is normalized.
    pub embedding_norm: bool,
    /// If `true`, the output of the last layer is normalized.
    pub final_norm: bool,
    /// Dimension of the embeddings, if a projection maps them to `hidden_size`.
    pub embedding_size: Option<usize>,
    /// Factor of the token embeddings. Gemma: √`hidden_size`.
    pub embedding_scale: f64,
    /// If `true`, position embeddings are added to token embeddings.
    pub position_embeddings: bool,
    /// Distance at which buckets of the relative position bias end.
    pub relative_position_distance: usize,
    /// Rotary position embeddings of layers with global attention.
    pub rotary: Option<Rotary>,
    /// Rotary position embeddings of layers with local attention.
    pub local_rotary: Option<Rotary>,
    /// Disentangled attention to contents and relative positions.
    pub disentangled: Option<Disentangled>,
    /// Number of key and value heads, which divides `heads`. `None`: `heads`.
    pub key_value_heads: Option<usize>,
    /// Dimension of a head. `None`: `hidden_size / heads`.
    pub head_size: Option<usize>,
    /// If `true`, a token attends to itself and earlier tokens only.
    pub causal: bool,
    /// Maximum distance of a token that is attended to, in the layers of `local_layers`.
    pub window: Option<usize>,
    /// Layers with local attention, counted from 0.
    pub local_layers: Vec<usize>,
    /// If `true`, queries and keys of every head are normalized.
    pub query_key_norm: bool,
    /// Factor of attention scores. `None`: 1/√d for heads of dimension d.
    pub attention_scale: Option<f64>,
    /// If `true`, the feed-forward network is gated: `down(activation(gate(x)) · up(x))` in place
    /// of `down(activation(up(x)))`.
    pub gated: bool,
    /// Linear layers with bias.
    pub bias: Biases,
    /// Layers that share their weights. `None`: every layer has weights of its own.
    pub shared_layers: Option<SharedLayers>,
    /// Bottleneck adapter after the feed-forward network of every layer. Layers with one normalize
    /// sums ([`NormPlacement::After`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<BottleneckAdapter>,
    /// Convolution over the tokens of a text, beside the first layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub convolution: Option<Convolution>,
}

/// Convolution over the tokens of a text, as in DeBERTa v2: with the input x and the output y of
/// the first layer, and a normalization LN of its own, the second layer gets
/// LN(y + activation(conv(x))) in place of y. Tokens before and after a text are zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Convolution {
    /// Number of tokens of the kernel, which is odd.
    pub kernel_size: usize,
    /// Activation function of the convolution.
    pub activation: Activation,
}

/// Adapter with a bottleneck after the feed-forward network of every layer, as in SPECTER2: with
/// the sum s of output and input of the network, and the normalization LN of the layer, the layer
/// returns LN(s + up(activation(down(LN(s))))) in place of LN(s).
///
/// # Source
/// Pfeiffer et al., "AdapterFusion: Non-Destructive Task Composition for Transfer Learning", EACL
/// 2021.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BottleneckAdapter {
    /// Name of the adapter in the names of its tensors; not part of fingerprints.
    #[serde(skip)]
    pub name: String,
    /// Inner dimension: ⌊`hidden_size` / `reduction_factor`⌋, at least 1.
    pub size: usize,
    /// Activation function of the inner vectors.
    pub activation: Activation,
}

/// Layers that share their weights (ALBERT): groups of stored layers, each of which is applied
/// several times before the next group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SharedLayers {
    /// Number of groups with weights of their own.
    pub groups: usize,
    /// Number of layers of a group.
    pub group_size: usize,
}

/// Normalization function of token vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Norm {
    /// Layer normalization (Ba et al. 2016) with scale and shift.
    LayerNorm,
    /// Layer normalization without shift.
    LayerNormWithoutShift,
    /// Division by the root mean square (Zhang and Sennrich 2019), times a scale.
    RmsNorm,
    /// [`Norm::RmsNorm`] with the scale 1 + w.
    RmsNormOnePlus,
}

impl Norm {
    /// Returns `true` if a shift is added.
    pub(crate) fn has_shift(self) -> bool {
        self == Self::LayerNorm
    }

    /// Returns `true` if the mean is not subtracted.
    pub(crate) fn is_rms(self) -> bool {
        matches!(self, Self::RmsNorm | Self::RmsNormOnePlus)
    }

    /// Number that is added to the scale of the weight file.
    pub(crate) fn scale_offset(self) -> f32 {
        if self == Self::RmsNormOnePlus {
            1.0
        } else {
            0.0
        }
    }
}

/// Where a layer normalizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NormPlacement {
    /// The sum of input and output of attention and feed-forward network.
    After,
    /// The input of attention and feed-forward network.
    Before,
    /// Input and output of attention and feed-forward network, before the sum.
    Around,
}

/// Linear layers with bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Biases {
    pub qkv: bool,
    pub output: bool,
    pub gate: bool,
    pub up: bool,
    pub down: bool,
}

impl Biases {
    /// The same value for all linear layers.
    pub const fn all(bias: bool) -> Self {
        Self {
            qkv: bias,
            output: bias,
            gate: bias,
            up: bias,
            down: bias,
        }
    }
}

/// Rotary position embeddings: component `i` and `i + d/2` of a query or key of dimension d are
/// rotated by the position times a frequency θ^(−2i/d).
///
/// # Source
/// Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Rotary {
    /// Base θ of the frequencies.
    pub theta: f64,
    /// Dimension of a head, which is even.
    pub dim: usize,
    /// Change of the frequencies for longer texts.
    pub scaling: Option<RotaryScaling>,
}

/// Change of the frequencies of [`Rotary`] for texts longer than in pretraining.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum RotaryScaling {
    /// Frequencies are divided by the factor.
    Linear { factor: f64 },
    /// Low frequencies are divided by the factor, those between the bounds partially (Llama 3.1).
    Llama3 {
        factor: f64,
        low_frequency_factor: f64,
        high_frequency_factor: f64,
        original_positions: usize,
    },
    /// Frequency i of d/2, counted from 1, is divided by the factor to the power (2i/d)^exponent:
    /// NTK scaling with the exponent 1, mixed NTK scaling with others (GTE).
    Ntk { factor: f64, exponent: f64 },
    /// Frequencies are divided by the factor below `beta_slow` rotations over the positions of
    /// pretraining, and partially up to `beta_fast` rotations. Queries and keys are multiplied by
    /// `attention_factor` (Peng et al., "YaRN", ICLR 2024).
    Yarn {
        factor: f64,
        beta_fast: f64,
        beta_slow: f64,
        original_positions: usize,
        attention_factor: f64,
        /// If `true`, the bounds are rounded to components.
        truncate: bool,
    },
}

/// Disentangled attention: scores of a query with the key of a relative position, and of a key with
/// the query of one, are added to the scores of their contents.
///
/// # Source
/// He et al., "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", ICLR 2021.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Disentangled {
    /// Number of distances to either side with an embedding.
    pub buckets: usize,
    /// If not 0, distances up to half of `buckets` have an embedding each, larger ones up to this
    /// distance share embeddings on a logarithmic scale.
    pub max_distance: usize,
    /// If `true`, queries are compared with relative positions.
    pub content_to_position: bool,
    /// If `true`, keys are compared with relative positions.
    pub position_to_content: bool,
    /// If `true`, relative positions are projected by the weights of keys and queries.
    pub shared_projections: bool,
    /// If `true`, the embeddings of relative positions are normalized.
    pub norm: bool,
}

impl Default for LayerConfig {
    fn default() -> Self {
        Self {
            norm: Norm::LayerNorm,
            norm_placement: NormPlacement::After,
            first_attention_norm: true,
            embedding_norm: true,
            final_norm: false,
            embedding_size: None,
            embedding_scale: 1.0,
            position_embeddings: true,
            relative_position_distance: 128,
            rotary: None,
            local_rotary: None,
            disentangled: None,
            key_value_heads: None,
            head_size: None,
            causal: false,
            window: None,
            local_layers: Vec::new(),
            query_key_norm: false,
            attention_scale: None,
            gated: false,
            bias: Biases::all(true),
            shared_layers: None,
            adapter: None,
            convolution: None,
        }
    }
}

impl LayerConfig {
    /// Returns `true` for the layers of BERT, which have kernels for training.
    pub(crate) fn is_bert(&self) -> bool {
        *self == Self::default()
    }
}

/// Sizes of the attention of a [`TransformerConfig`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttentionShape {
    pub(crate) heads: usize,
    pub(crate) key_value_heads: usize,
    /// Dimension of a head.
    pub(crate) head_size: usize,
}

impl AttentionShape {
    /// Dimension of the queries of a token, and of its context vector.
    pub(crate) fn queries(self) -> usize {
        self.heads * self.head_size
    }

    /// Dimension of the keys of a token, and of its values.
    pub(crate) fn keys(self) -> usize {
        self.key_value_heads * self.head_size
    }

    /// Dimension of queries, keys and values of a token.
    pub(crate) fn qkv(self) -> usize {
        self.queries() + 2 * self.keys()
    }
}

/// Maximum of a size: products of two sizes do not overflow.
const MAX_SIZE: usize = i32::MAX as usize;

impl TransformerConfig {
    /// Configuration with BERT's layers, absolute positions from 0 on and no token types.
    pub(crate) fn new(architecture: Architecture) -> Self {
        Self {
            architecture,
            vocab_size: 0,
            hidden_size: 0,
            layers: 0,
            heads: 0,
            intermediate_size: 0,
            max_positions: 0,
            position_offset: 0,
            position_padding: None,
            token_types: 0,
            relative_position_buckets: 0,
            activation: Activation::Gelu,
            layer_norm_eps: 1e-12,
            layer: LayerConfig::default(),
        }
    }

    /// Returns the configuration as JSON, for checkpoints. Fractions are text, because a JSON
    /// number is not always read as it was written.
    pub(crate) fn identity(&self) -> Value {
        fn write_fractions(value: &mut Value) {
            match value {
                Value::Object(fields) => fields.values_mut().for_each(write_fractions),
                Value::Number(number) if number.is_f64() => *value = number.to_string().into(),
                _ => {}
            }
        }
        let mut fields = serde_json::to_value(self).unwrap_or_default();
        write_fractions(&mut fields);
        fields
    }

    /// Maximum sequence length of pretraining in tokens, with special tokens. Models with position
    /// embeddings have no longer texts.
    pub fn max_tokens(&self) -> usize {
        self.max_positions - self.position_offset
    }

    /// Number of positions that a text can have: without position embeddings, any number.
    pub(crate) fn position_limit(&self) -> usize {
        if self.layer.position_embeddings {
            self.max_tokens()
        } else {
            usize::MAX
        }
    }

    /// Dimension of the embedding tables.
    pub(crate) fn embedding_size(&self) -> usize {
        self.layer.embedding_size.unwrap_or(self.hidden_size)
    }

    pub(crate) fn attention(&self) -> AttentionShape {
        let layer = &self.layer;
        AttentionShape {
            heads: self.heads,
            key_value_heads: layer.key_value_heads.unwrap_or(self.heads),
            head_size: layer
                .head_size
                .unwrap_or(self.hidden_size / self.heads.max(1)),
        }
    }

    /// Factor of attention scores.
    pub(crate) fn attention_scale(&self) -> f32 {
        match self.layer.attention_scale {
            Some(scale) => scale as f32,
            None => (self.attention().head_size as f32).sqrt().recip(),
        }
    }

    /// Maximum distance of a token that is attended to in a layer; `None` if there is none.
    pub(crate) fn window(&self, layer: usize) -> Option<usize> {
        let window = self.layer.window;
        window.filter(|_| self.layer.local_layers.contains(&layer))
    }

    /// Rotary position embeddings of a layer.
    pub(crate) fn rotary(&self, layer: usize) -> Option<Rotary> {
        if self.window(layer).is_some() {
            self.layer.local_rotary.or(self.layer.rotary)
        } else {
            self.layer.rotary
        }
    }

    /// Number of layers with weights of their own.
    pub(crate) fn stored_layers(&self) -> usize {
        let shared = self.layer.shared_layers;
        shared.map_or(self.layers, |it| it.groups * it.group_size)
    }

    /// Index of the weights of a layer among those that are stored.
    pub(crate) fn stored_layer(&self, layer: usize) -> usize {
        let Some(SharedLayers { groups, group_size }) = self.layer.shared_layers else {
            return layer;
        };
        let (steps, step) = (self.layers / group_size, layer / group_size);
        // In floating point, as transformers computes it.
        let group = step as f64 / (steps as f64 / groups as f64);
        (group as usize).min(groups - 1) * group_size + layer % group_size
    }

    /// Returns an error if values contradict each other. `path`: the file of the configuration.
    pub(crate) fn validate(&self, path: &Path) -> Result<(), ModelError> {
        let invalid = |field: &str, expected: &str, found: &dyn Display| {
            Err(ModelError::setting(path, field, expected, found))
        };
        let layer = &self.layer;
        let positive = [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.layers),
            ("num_attention_heads", self.heads),
            ("intermediate_size", self.intermediate_size),
            ("embedding_size", self.embedding_size()),
            ("head_dim", layer.head_size.unwrap_or(1)),
            ("num_key_value_heads", layer.key_value_heads.unwrap_or(1)),
        ];
        if let Some((field, value)) = positive.into_iter().find(|(_, value)| *value == 0) {
            return invalid(field, "1 or more", &value);
        }
        let buckets = layer.disentangled.map_or(1, |it| it.buckets);
        let mut sizes = positive.into_iter().chain([("position_buckets", buckets)]);
        if let Some((field, value)) = sizes.find(|(_, value)| *value > MAX_SIZE) {
            return invalid(field, &format!("at most {MAX_SIZE}"), &value);
        }
        if let Some(shared) = layer.shared_layers
            && (shared.groups > self.layers / shared.group_size)
        {
            let expected = format!(
                "at most num_hidden_layers, {}",
                self.layers / shared.group_size
            );
            return invalid("num_hidden_groups", &expected, &shared.groups);
        }
        if layer.head_size.is_none() && !self.hidden_size.is_multiple_of(self.heads) {
            let expected = format!("a divisor of hidden_size, {}", self.hidden_size);
            return invalid("num_attention_heads", &expected, &self.heads);
        }
        if let Some(heads) = layer.key_value_heads
            && !self.heads.is_multiple_of(heads)
        {
            let expected = format!("a divisor of num_attention_heads, {}", self.heads);
            return invalid("num_key_value_heads", &expected, &heads);
        }
        for rotary in [layer.rotary, layer.local_rotary].into_iter().flatten() {
            if !(rotary.theta > 1.0 && rotary.theta.is_finite()) {
                return invalid("rope_theta", "above 1", &rotary.theta);
            }
            if !rotary.dim.is_multiple_of(2) {
                let expected = "even: rotary positions rotate pairs of components";
                return invalid("head_dim", expected, &rotary.dim);
            }
        }
        let buckets = self.relative_position_buckets;
        if (1..4).contains(&buckets) {
            return invalid("relative_attention_num_buckets", "4 or more", &buckets);
        }
        if buckets > 0 && layer.relative_position_distance <= buckets / 4 {
            let expected = format!("more than {}, a quarter of the buckets", buckets / 4);
            let found = layer.relative_position_distance;
            return invalid("relative_attention_max_distance", &expected, &found);
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
