//! Tensor names of a weight file: the names of the architecture after the prefix of the file.

use crate::architectures::{Rows, TensorNames};
use crate::model_folder::{Architecture, TensorSource, TransformerConfig};

/// Part of a transformer with a tensor or a module of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Tokens,
    Positions,
    Types,
    RelativePositionBias,
    EmbeddingNorm,
    EmbeddingProjection,
    RelativePositions,
    RelativePositionNorm,
    FinalNorm,
    // Of a layer.
    Output,
    AttentionNorm,
    Down,
    Norm,
    AttentionOutputNorm,
    OutputNorm,
    QueryNorm,
    KeyNorm,
    PositionKey,
    PositionQuery,
}

/// A part, and the layer that it is in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TensorName {
    part: Part,
    layer: Option<usize>,
}

impl From<Part> for TensorName {
    fn from(part: Part) -> Self {
        Self { part, layer: None }
    }
}

impl Part {
    pub(crate) fn of_layer(self, layer: usize) -> TensorName {
        TensorName {
            part: self,
            layer: Some(layer),
        }
    }
}

/// Name of a projection that may be half of the rows of a tensor.
pub(crate) struct RowsName {
    /// Name without `.weight`.
    pub(crate) name: String,
    /// 0 for the first half, 1 for the second; `None` for all rows.
    pub(crate) half: Option<usize>,
}

/// Tensor names of a weight file.
pub(crate) struct ResolvedNames {
    names: TensorNames,
    /// Prefix of all names: "bert." in a model that was saved with a head.
    prefix: String,
    /// Suffixes of scale and shift in normalization: "gamma" and "beta" in files converted from
    /// TensorFlow.
    norm: [&'static str; 2],
}

impl ResolvedNames {
    /// Names that current versions of transformers write.
    pub(crate) fn written(config: &TransformerConfig) -> Self {
        let layouts = config.architecture.definition().names;
        let is_plain = |names: &&TensorNames| matches!(names.parts.gate, Rows::All(""));
        let plain = layouts
            .iter()
            .find(is_plain)
            .filter(|_| !config.layer.gated);
        Self {
            names: *plain.unwrap_or(&layouts[0]),
            prefix: String::new(),
            norm: ["weight", "bias"],
        }
    }

    /// Names in a file with these tensors.
    pub(crate) fn of_file(architecture: Architecture, all: &[String]) -> Self {
        let layouts = architecture.definition().names;
        let prefix_of = |names: &TensorNames| {
            let suffix = format!("{}.weight", names.tokens);
            let prefixes = all.iter().filter_map(|name| name.strip_suffix(&suffix));
            // "decoder.embed_tokens" has no encoder.
            prefixes
                .filter(|prefix| prefix.is_empty() || prefix.ends_with('.'))
                .min()
        };
        // The layout of the file's layers, or else of its embeddings.
        let fits = |names: &&TensorNames| {
            let Some(prefix) = prefix_of(names) else {
                return false;
            };
            let (Rows::All(up) | Rows::First(up) | Rows::Second(up)) = names.parts.up;
            let parts = [names.parts.qkv[0], names.parts.attention_norm, up];
            parts.iter().all(|part| {
                let end = format!(".{part}.");
                let start = format!("{prefix}{}", names.layer);
                let mut of_layers = all.iter().filter(|name| name.starts_with(&start));
                of_layers.any(|name| name.contains(&end))
            })
        };
        let names = layouts.iter().find(fits);
        let names = names.or_else(|| layouts.iter().find(|names| prefix_of(names).is_some()));
        let names = *names.unwrap_or(&layouts[0]);
        let prefix = prefix_of(&names).unwrap_or_default().to_owned();
        let gamma = format!("{}.gamma", names.embedding_norm);
        let from_tensorflow = all.iter().any(|name| name.ends_with(&gamma));
        Self {
            names,
            prefix,
            norm: if from_tensorflow {
                ["gamma", "beta"]
            } else {
                ["weight", "bias"]
            },
        }
    }

    /// Name of a module, without `.weight`.
    pub(crate) fn module(&self, name: impl Into<TensorName>) -> String {
        let TensorName { part, layer } = name.into();
        let (names, parts) = (&self.names, &self.names.parts);
        let found = match part {
            Part::Tokens => names.tokens,
            Part::Positions => names.positions,
            Part::Types => names.types,
            Part::RelativePositionBias => names.relative_position_bias,
            Part::EmbeddingNorm => names.embedding_norm,
            Part::EmbeddingProjection => names.embedding_projection,
            Part::RelativePositions => names.relative_positions,
            Part::RelativePositionNorm => names.relative_position_norm,
            Part::FinalNorm => names.final_norm,
            Part::Output => parts.output,
            Part::AttentionNorm => parts.attention_norm,
            Part::Down => parts.down,
            Part::Norm => parts.norm,
            Part::AttentionOutputNorm => parts.attention_output_norm,
            Part::OutputNorm => parts.output_norm,
            Part::QueryNorm => parts.query_norm,
            Part::KeyNorm => parts.key_norm,
            Part::PositionKey => parts.position_key,
            Part::PositionQuery => parts.position_query,
        };
        match layer {
            Some(layer) => self.in_layer(layer, found),
            None => format!("{}{found}", self.prefix),
        }
    }

    /// Name of the weight of a module or table.
    pub(crate) fn weight(&self, name: impl Into<TensorName>) -> String {
        self.module(name) + ".weight"
    }

    /// Names of scale and shift of a normalization.
    pub(crate) fn norm(&self, name: impl Into<TensorName>) -> [String; 2] {
        let name = self.module(name);
        self.norm.map(|end| format!("{name}.{end}"))
    }

    /// Names of the projections of queries, keys and values, or of one projection of all three.
    pub(crate) fn qkv(&self, layer: usize) -> Vec<String> {
        let names = self.names.parts.qkv.iter();
        names.map(|name| self.in_layer(layer, name)).collect()
    }

    pub(crate) fn up(&self, layer: usize) -> RowsName {
        self.rows(layer, self.names.parts.up)
    }

    pub(crate) fn gate(&self, layer: usize) -> RowsName {
        self.rows(layer, self.names.parts.gate)
    }

    fn rows(&self, layer: usize, rows: Rows) -> RowsName {
        let (name, half) = match rows {
            Rows::All(name) => (name, None),
            Rows::First(name) => (name, Some(0)),
            Rows::Second(name) => (name, Some(1)),
        };
        RowsName {
            name: self.in_layer(layer, name),
            half,
        }
    }

    fn in_layer(&self, layer: usize, name: &str) -> String {
        format!("{}{}{layer}.{name}", self.prefix, self.names.layer)
    }
}

/// Number of layers with weights in a file.
pub(crate) fn count_layers(architecture: Architecture, weights: &dyn TensorSource) -> usize {
    let all = weights.names();
    let names = ResolvedNames::of_file(architecture, &all);
    let before = format!("{}{}", names.prefix, names.names.layer);
    let number = |name: &String| {
        let (number, _) = name.strip_prefix(&before)?.split_once('.')?;
        number.parse::<usize>().ok()?.checked_add(1)
    };
    all.iter().filter_map(number).max().unwrap_or(0)
}
