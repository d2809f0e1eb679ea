//! Tensor names of a weight file: the names of the architecture after the prefix of the file.

use crate::architectures::{LayerNames, Rows, TensorNames};
use crate::model_folder::{BottleneckAdapter, TensorSource, TransformerConfig};

/// Name of a projection that may be half of the rows of a tensor.
pub(crate) struct RowsName {
    /// Name without `.weight`.
    pub(crate) name: String,
    /// 0 for the first half, 1 for the second; `None` for all rows.
    pub(crate) half: Option<usize>,
}

/// Tensor names of a weight file. Names of modules are without `.weight` and `.bias`.
pub(crate) struct ResolvedNames {
    names: TensorNames,
    /// Prefix of all names: "bert." in a model that was saved with a head.
    prefix: String,
    /// Suffixes of scale and shift in normalization: "gamma" and "beta" in files converted from
    /// TensorFlow.
    norm: [&'static str; 2],
    is_gated: bool,
    /// Number of layers of a group, if layers share weights.
    group_size: Option<usize>,
}

impl ResolvedNames {
    /// Names that current versions of transformers write.
    pub(crate) fn written(config: &TransformerConfig) -> Self {
        Self {
            names: config.architecture.definition().names[0],
            prefix: String::new(),
            norm: ["weight", "bias"],
            is_gated: config.layer.gated,
            group_size: config.layer.shared_layers.map(|it| it.group_size),
        }
    }

    /// Names in a file with these tensors.
    pub(crate) fn of_file(config: &TransformerConfig, all: &[String]) -> Self {
        let layouts = config.architecture.definition().names;
        let prefix_of = |names: &TensorNames| {
            let suffix = format!("{}.weight", names.tokens);
            let prefixes = all.iter().filter_map(|name| name.strip_suffix(&suffix));
            // "decoder.embed_tokens" has no encoder.
            prefixes
                .filter(|prefix| prefix.is_empty() || prefix.ends_with('.'))
                .min()
        };
        let has_layers = |names: &TensorNames, prefix: &str| {
            let start = format!("{prefix}{}", names.layer);
            [names.parts.qkv[0], names.parts.attention_norm]
                .iter()
                .all(|part| {
                    let part = format!(".{part}.");
                    let mut layers = all.iter().filter(|name| name.starts_with(&start));
                    layers.any(|name| name.contains(&part))
                })
        };
        // The layout of the file's layers, or else of its embeddings.
        let layouts: Vec<_> = layouts
            .iter()
            .filter_map(|names| Some((names, prefix_of(names)?)))
            .collect();
        let found = layouts
            .iter()
            .find(|(names, prefix)| has_layers(names, prefix))
            .or(layouts.first());
        let mut resolved = Self::written(config);
        if let Some((names, prefix)) = found {
            (resolved.names, resolved.prefix) = (**names, (*prefix).to_owned());
        }
        let gamma = format!("{}.gamma", resolved.names.embedding_norm);
        if all.iter().any(|name| name.ends_with(&gamma)) {
            resolved.norm = ["gamma", "beta"];
        }
        resolved
    }

    /// Name of a module or table outside of the layers.
    pub(crate) fn module(&self, name: impl FnOnce(&TensorNames) -> &'static str) -> String {
        format!("{}{}", self.prefix, name(&self.names))
    }

    /// Name of a module of a layer.
    pub(crate) fn of_layer(
        &self,
        layer: usize,
        name: impl FnOnce(&LayerNames) -> &'static str,
    ) -> String {
        self.in_layer(layer, name(&self.names.parts))
    }

    /// Names of scale and shift of a normalization.
    pub(crate) fn norm(&self, module: &str) -> [String; 2] {
        self.norm.map(|end| format!("{module}.{end}"))
    }

    /// Names of the down- and up-projection of an adapter.
    pub(crate) fn adapter(&self, layer: usize, adapter: &BottleneckAdapter) -> [String; 2] {
        adapter
            .projections()
            .map(|name| self.in_layer(layer, &name))
    }

    /// Names of the projections of queries, keys and values, or of one projection of all three.
    pub(crate) fn qkv(&self, layer: usize) -> Vec<String> {
        let names = self.names.parts.qkv.iter();
        names.map(|name| self.in_layer(layer, name)).collect()
    }

    pub(crate) fn up(&self, layer: usize) -> RowsName {
        let parts = self.names.parts;
        match parts.ungated_up {
            Some(name) if !self.is_gated => self.rows(layer, Rows::All(name)),
            _ => self.rows(layer, parts.up),
        }
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
        let (prefix, start, inner) = (&self.prefix, self.names.layer, self.names.inner_layer);
        match self.group_size {
            None => format!("{prefix}{start}{layer}.{name}"),
            Some(size) => {
                let (group, number) = (layer / size, layer % size);
                format!("{prefix}{start}{group}{inner}{number}.{name}")
            }
        }
    }

    /// Number of the stored layer of a tensor; `None` outside of the layers.
    fn layer_of(&self, tensor: &str) -> Option<usize> {
        let rest = tensor.strip_prefix(&self.prefix)?;
        let rest = rest.strip_prefix(self.names.layer)?;
        let (number, rest) = rest.split_once('.')?;
        let number = number.parse::<usize>().ok()?;
        let Some(size) = self.group_size else {
            return Some(number);
        };
        let inner = rest.strip_prefix(self.names.inner_layer.get(1..)?)?;
        let (inner, _) = inner.split_once('.')?;
        number
            .checked_mul(size)?
            .checked_add(inner.parse::<usize>().ok()?)
    }
}

/// What precedes the names of the encoder in a file, such as `bert.`.
pub(crate) fn encoder_prefix(config: &TransformerConfig, weights: &dyn TensorSource) -> String {
    ResolvedNames::of_file(config, &weights.names()).prefix
}

/// Suffixes of scale and shift of normalizations in a file.
pub(crate) fn norm_suffixes(
    config: &TransformerConfig,
    weights: &dyn TensorSource,
) -> [&'static str; 2] {
    ResolvedNames::of_file(config, &weights.names()).norm
}

/// Number of layers with weights in a file.
pub(crate) fn count_layers(config: &TransformerConfig, weights: &dyn TensorSource) -> usize {
    let all = weights.names();
    let names = ResolvedNames::of_file(config, &all);
    let numbers = all.iter().filter_map(|name| names.layer_of(name));
    numbers.max().map_or(0, |number| number.saturating_add(1))
}
