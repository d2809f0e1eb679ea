//! What an architecture is: how its configuration is read, and how its tensors are named.

use super::config_file::ConfigFile;
use crate::activation::Activation;
use crate::error::ModelError;
use crate::model_folder::TransformerConfig;

/// An architecture: one constant per file of this folder, listed in [`ARCHITECTURES`].
///
/// [`ARCHITECTURES`]: super::ARCHITECTURES
#[derive(Debug)]
pub(crate) struct Definition {
    /// Name in checkpoints and fingerprints.
    pub(crate) name: &'static str,
    /// Values of `model_type`.
    pub(crate) model_types: &'static [&'static str],
    /// Start of the names of the classes of transformers, such as `Bert`.
    pub(crate) class: &'static str,
    /// Name of the encoder in classes with a head, such as `bert`.
    pub(crate) body: &'static str,
    /// Names of the fields of `config.json`.
    pub(crate) field_names: FieldNames,
    /// Reads the configuration, without [`TransformerConfig::validate`].
    pub(crate) read: fn(&ConfigFile<'_>) -> Result<TransformerConfig, ModelError>,
    /// Tensor names, one set for every layout of weight files. The first one is written.
    pub(crate) names: &'static [TensorNames],
    /// Head for sequence classification; `None` for architectures without one.
    pub(crate) head: Option<HeadDefinition>,
}

/// Reads the classification head from the configuration.
pub(crate) type HeadDefinition = fn(&ConfigFile<'_>) -> Result<HeadLayout, ModelError>;

/// Classification head of an architecture: pooling, then a linear layer with activation and
/// normalization, which some lack, then the classifier. Names are without `.weight` and `.bias`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeadLayout {
    pub(crate) pooling: HeadPooling,
    pub(crate) dense: Option<HeadDense>,
    pub(crate) classifier: &'static str,
    pub(crate) classifier_bias: bool,
}

/// What a classification head reduces to one vector, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadPooling {
    /// Hidden state of the first token.
    First,
    /// Hidden state of the last token.
    Last,
    /// Mean of the hidden states.
    Mean,
    /// Mean of the logits of the tokens.
    MeanLogits,
}

/// Linear layer of a classification head, `[hidden_size, hidden_size]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeadDense {
    pub(crate) name: &'static str,
    /// If `true`, the name follows the prefix of the encoder, such as `bert.`.
    pub(crate) in_encoder: bool,
    pub(crate) bias: bool,
    pub(crate) activation: Activation,
    /// Normalization after the activation.
    pub(crate) norm: Option<HeadNorm>,
}

/// Layer normalization of a classification head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeadNorm {
    pub(crate) name: &'static str,
    pub(crate) bias: bool,
    pub(crate) epsilon: f64,
}

impl HeadDense {
    /// Layer with tanh and bias.
    pub(crate) const TANH: Self = Self {
        name: "",
        in_encoder: false,
        bias: true,
        activation: Activation::Tanh,
        norm: None,
    };
}

impl HeadLayout {
    /// Head of BERT: pooler and classifier.
    pub(crate) const BERT: Self = Self {
        pooling: HeadPooling::First,
        dense: Some(HeadDense {
            name: "pooler.dense",
            in_encoder: true,
            ..HeadDense::TANH
        }),
        classifier: "classifier",
        classifier_bias: true,
    };

    /// Head of RoBERTa: two layers of the classifier.
    pub(crate) const ROBERTA: Self = Self::BERT
        .with_dense("classifier.dense", Activation::Tanh)
        .with_classifier("classifier.out_proj");

    /// Head of decoders: a projection of the last token.
    pub(crate) const DECODER: Self = Self {
        pooling: HeadPooling::Last,
        dense: None,
        classifier: "score",
        classifier_bias: false,
    };

    /// Replaces the linear layer by one that does not belong to the encoder.
    pub(crate) const fn with_dense(mut self, name: &'static str, activation: Activation) -> Self {
        self.dense = Some(HeadDense {
            name,
            activation,
            ..HeadDense::TANH
        });
        self
    }

    pub(crate) const fn with_classifier(mut self, name: &'static str) -> Self {
        self.classifier = name;
        self
    }
}

/// Fields of `config.json` with other names than in BERT: pairs of both names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldNames {
    /// Names of the architecture, for errors.
    pub(crate) own: &'static [(&'static str, &'static str)],
    /// Names that a file may have for the same value.
    pub(crate) aliases: &'static [(&'static str, &'static str)],
}

impl FieldNames {
    pub(crate) const BERT: Self = Self {
        own: &[],
        aliases: &[],
    };
    pub(crate) const LLAMA: Self = Self {
        own: &[("layer_norm_eps", "rms_norm_eps")],
        aliases: &[],
    };
}

/// Tensor names of an architecture. Names of layers and other modules are without `.weight` and
/// `.bias`. Tensors that the description of the layers does not ask for have no name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TensorNames {
    /// Token embeddings. What precedes the name in a weight file precedes all names, such as
    /// `bert.`.
    pub(crate) tokens: &'static str,
    pub(crate) positions: &'static str,
    pub(crate) types: &'static str,
    pub(crate) relative_position_bias: &'static str,
    pub(crate) embedding_norm: &'static str,
    pub(crate) embedding_projection: &'static str,
    /// Embeddings of relative positions, and their normalization.
    pub(crate) relative_positions: &'static str,
    pub(crate) relative_position_norm: &'static str,
    /// Convolution beside the first layer, and its normalization.
    pub(crate) convolution: &'static str,
    pub(crate) convolution_norm: &'static str,
    pub(crate) final_norm: &'static str,
    /// Start of the names of a layer, before its number, such as `encoder.layer.`.
    pub(crate) layer: &'static str,
    /// What stands between the numbers of a group and of a layer in it, if layers share weights.
    pub(crate) inner_layer: &'static str,
    pub(crate) parts: LayerNames,
}

/// Tensor names in a layer, after its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LayerNames {
    /// Projections of queries, keys and values, or one tensor of all three.
    pub(crate) qkv: &'static [&'static str],
    pub(crate) output: &'static str,
    pub(crate) attention_norm: &'static str,
    pub(crate) gate: Rows,
    pub(crate) up: Rows,
    /// Name of `up` in models without gate, if it is another one.
    pub(crate) ungated_up: Option<&'static str>,
    pub(crate) down: &'static str,
    pub(crate) norm: &'static str,
    pub(crate) attention_output_norm: &'static str,
    pub(crate) output_norm: &'static str,
    pub(crate) query_norm: &'static str,
    pub(crate) key_norm: &'static str,
    /// Projections of the relative positions of keys and of queries, if the projections of keys and
    /// queries are not used for both.
    pub(crate) position_key: &'static str,
    pub(crate) position_query: &'static str,
}

/// Rows of a tensor that are a projection: all, or one half of a tensor of two projections.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rows {
    All(&'static str),
    First(&'static str),
    Second(&'static str),
}

impl TensorNames {
    /// Names of BERT, from which other architectures differ.
    pub(crate) const BERT: Self = Self {
        tokens: "embeddings.word_embeddings",
        positions: "embeddings.position_embeddings",
        types: "embeddings.token_type_embeddings",
        relative_position_bias: "encoder.relative_attention_bias",
        embedding_norm: "embeddings.LayerNorm",
        embedding_projection: "embeddings_project",
        relative_positions: "encoder.rel_embeddings",
        relative_position_norm: "encoder.LayerNorm",
        convolution: "encoder.conv.conv",
        convolution_norm: "encoder.conv.LayerNorm",
        final_norm: "norm",
        layer: "encoder.layer.",
        inner_layer: "",
        parts: LayerNames {
            qkv: &[
                "attention.self.query",
                "attention.self.key",
                "attention.self.value",
            ],
            output: "attention.output.dense",
            attention_norm: "attention.output.LayerNorm",
            gate: Rows::All("mlp.gate_proj"),
            up: Rows::All("intermediate.dense"),
            ungated_up: None,
            down: "output.dense",
            norm: "output.LayerNorm",
            attention_output_norm: "",
            output_norm: "",
            query_norm: "self_attn.q_norm",
            key_norm: "self_attn.k_norm",
            position_key: "",
            position_query: "",
        },
    };

    /// Names of Llama, from which other decoders differ.
    pub(crate) const LLAMA: Self = Self {
        tokens: "embed_tokens",
        layer: "layers.",
        parts: LayerNames {
            qkv: &["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
            output: "self_attn.o_proj",
            attention_norm: "input_layernorm",
            up: Rows::All("mlp.up_proj"),
            down: "mlp.down_proj",
            norm: "post_attention_layernorm",
            ..Self::BERT.parts
        },
        ..Self::BERT
    };

    /// Names of transformers for BERT with rotary positions: GTE, Nomic BERT, Jina v3.
    pub(crate) const ROTARY_BERT: Self = Self {
        layer: "layers.",
        parts: LayerNames {
            attention_norm: "post_attention_layernorm",
            norm: "post_mlp_layernorm",
            ..Self::LLAMA.parts
        },
        ..Self::BERT
    };

    /// Names of flash-attention's BERT, from which the own code of Nomic BERT and Jina v3 derives.
    pub(crate) const FLASH_BERT: Self = Self {
        embedding_norm: "emb_ln",
        layer: "encoder.layers.",
        parts: LayerNames {
            attention_norm: "norm1",
            down: "mlp.fc2",
            norm: "norm2",
            ..Self::BERT.parts
        },
        ..Self::BERT
    };
}
