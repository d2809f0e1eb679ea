//! Encoder options and model lookup, shared by `ir encode`, `ir search` and `ir train`.

use std::path::Path;

use anyhow::{Result, anyhow};
use clap::ValueHint;
use ir_core::{Corpus, Progress, Side};
use ir_data::DocTemplate;
use ir_dense::{
    Backend, BiEncoder, EncoderConfig, FindModelError, ModelError, ModelFolder, OutlierChannels,
    Pooling, Precision, SideConfig, TokenizerError,
};
use ir_experiment::model::missing_model;
pub(crate) use ir_experiment::model::{similarity, suggested_model};
use ir_system::saved_vectors::TextHashes;
pub(crate) use ir_system::saved_vectors::{probe, probe_text};

use crate::shared::console::{Console, Usage};
use crate::shared::input::for_each_document;
use crate::shared::options::{choice, first_set, positive};
use crate::shared::suggest::closest;

/// Encoder options. The command that flattens them sets the help heading.
#[derive(Debug, clap::Args)]
pub(crate) struct EncoderOptions {
    /// Prefix of every text, such as 'query: ' [default: from the model]
    #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other)]
    prefix: Option<String>,

    /// Maximum sequence length in tokens, special tokens included; longer texts are truncated, and
    /// `ir encode` prints how many [default: from the model]
    #[arg(long, value_parser = positive, value_name = "N")]
    max_tokens: Option<usize>,

    /// Pooling of token vectors [default: from the model]
    #[arg(long, value_parser = choice(POOLINGS), value_name = "HOW")]
    pooling: Option<Pooling>,

    /// Normalize vectors to unit length [default: from the model]
    #[arg(long, value_name = "true|false")]
    normalize: Option<bool>,

    /// Number of dimensions that are kept of every vector (Matryoshka), up to the dimension of the
    /// model; documents and queries need the same [default: from the model]
    #[arg(long, value_parser = positive, value_name = "N")]
    truncate_dim: Option<usize>,

    /// Backend: cpu, tch, tch-cuda:N, wgpu, vulkan, cuda:N; all but cpu need the feature of the
    /// same name [default: cpu]
    #[arg(long, visible_alias = "device", value_parser = backend, value_name = "NAME")]
    backend: Option<Backend>,

    /// Number format of the linear layers; bf16 and int8 need the backend cpu. Documents and
    /// queries need the same [default: f32]
    #[arg(long, value_parser = choice(PRECISIONS), value_name = "FORMAT")]
    precision: Option<Precision>,
}

impl EncoderOptions {
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        first_set([
            ("--prefix", self.prefix.is_some()),
            ("--max-tokens", self.max_tokens.is_some()),
            ("--pooling", self.pooling.is_some()),
            ("--normalize", self.normalize.is_some()),
            ("--truncate-dim", self.truncate_dim.is_some()),
            ("--backend", self.backend.is_some()),
            ("--precision", self.precision.is_some()),
        ])
    }

    /// First option that only models with one vector per text have.
    pub(crate) fn first_of_one_vector(&self) -> Option<&'static str> {
        first_set([
            ("--pooling", self.pooling.is_some()),
            ("--normalize", self.normalize.is_some()),
            ("--truncate-dim", self.truncate_dim.is_some()),
        ])
    }

    /// Keys of an encoder of queries in a system file.
    pub(crate) fn keys(&self) -> Result<toml::Table> {
        let mut keys = toml::Table::new();
        let mut set = |key: &str, value: toml::Value| keys.insert(key.to_owned(), value);
        if let Some(prefix) = &self.prefix {
            set("query_prefix", prefix.clone().into());
        }
        if let Some(tokens) = self.max_tokens {
            set("max_tokens", i64::try_from(tokens)?.into());
        }
        let named = |names: &[(&'static str, bool)]| {
            names
                .iter()
                .find(|(_, is)| *is)
                .map(|(name, _)| (*name).to_owned())
        };
        let pooling = self.pooling.map(|pooling| {
            let names = POOLINGS.map(|(name, _, known)| (name, known == pooling));
            named(&names)
        });
        if let Some(name) = pooling.flatten() {
            set("pooling", name.into());
        }
        if let Some(normalize) = self.normalize {
            set("normalize", normalize.into());
        }
        if let Some(dim) = self.truncate_dim {
            set("truncate_dim", i64::try_from(dim)?.into());
        }
        let precision = self.precision.map(|precision| {
            let names = PRECISIONS.map(|(name, _, known)| (name, known == precision));
            named(&names)
        });
        if let Some(name) = precision.flatten() {
            set("precision", name.into());
        }
        Ok(keys)
    }

    /// Compute backend, which is no key of a system file.
    pub(crate) fn backend(&self) -> Option<Backend> {
        self.backend
    }

    pub(crate) fn prefix(&self) -> Option<&str> {
        self.prefix.as_deref()
    }

    /// Encoder configuration in which the options apply to `side`.
    pub(crate) fn config(&self, side: Side) -> EncoderConfig {
        let mut of = SideConfig::default();
        of.prefix.clone_from(&self.prefix);
        of.max_tokens = self.max_tokens;
        let mut config = EncoderConfig::default();
        config.backend = self.backend.unwrap_or(config.backend);
        config.precision = self.precision.unwrap_or_default();
        config.pooling = self.pooling;
        config.normalize = self.normalize;
        config.truncate_dim = self.truncate_dim;
        match side {
            Side::Query => config.with_query(of),
            Side::Document => config.with_document(of),
        }
    }
}

/// Precisions of training: name, help and value of `--precision`.
pub(crate) const TRAINING_PRECISIONS: [(&str, &str, Precision); 2] = [
    ("f32", "Single precision", Precision::F32),
    (
        "bf16",
        "bfloat16 factors, sums in f32; slower than f32 without avx512_bf16",
        Precision::Bf16,
    ),
];

pub(crate) const POOLINGS: [(&str, &str, Pooling); 6] = [
    ("cls", "Vector of the first token", Pooling::Cls),
    ("mean", "Mean of the token vectors", Pooling::Mean),
    ("max", "Elementwise maximum", Pooling::Max),
    (
        "mean_sqrt_len_tokens",
        "Sum divided by the square root of the number of tokens",
        Pooling::MeanSqrt,
    ),
    (
        "weightedmean",
        "Mean with the positions 1 to n as weights, as in SGPT",
        Pooling::WeightedMean,
    ),
    (
        "lasttoken",
        "Vector of the last token, such as [SEP] in the ICLR benchmark",
        Pooling::LastToken,
    ),
];

pub(crate) const PRECISIONS: [(&str, &str, Precision); 3] = [
    ("f32", "Single precision", Precision::F32),
    (
        "bf16",
        "bfloat16 with sums in f32; slower than f32 without avx512_bf16",
        Precision::Bf16,
    ),
    (
        "int8",
        "8-bit integers per channel and token, for CPUs with VNNI",
        Precision::Int8,
    ),
];

/// Parses the name of a backend.
pub(crate) fn backend(text: &str) -> Result<Backend, String> {
    const NAMES: [&str; 6] = ["cpu", "tch", "tch-cuda", "wgpu", "vulkan", "cuda"];
    text.parse().map_err(|error: ir_dense::BackendError| {
        let (name, index) = text.find(':').map_or((text, ""), |at| text.split_at(at));
        let close = closest(name, NAMES).map(|name| format!("{name}{index}"));
        let close = close.filter(|close| close.parse::<Backend>().is_ok());
        let hint = close.map(|close| format!(" (did you mean {close}?)"));
        format!("{error}{}", hint.unwrap_or_default())
    })
}

/// End of a hint to `ir models fetch`: the feature that this build lacks.
pub(crate) const FETCH_FEATURE: &str = if cfg!(feature = "fetch") {
    ""
} else {
    " in a build with the feature \"fetch\" (cargo install --path apps/ir-cli --features fetch)"
};

/// Resolves a model argument: a folder, or a name in the model cache.
pub(crate) fn find_model(argument: &Path) -> Result<ModelFolder> {
    ModelFolder::find(argument).map_err(|error| {
        let feature = match error {
            FindModelError::NotCached { .. } => FETCH_FEATURE,
            _ => "",
        };
        anyhow!("{}{feature}", missing_model(&error))
    })
}

/// Returns `true` if an argument resolves to a folder with a model, or with one per side.
pub(crate) fn is_model(argument: &Path) -> bool {
    let configs = ["config.json", "modules.json", "adapter_config.json"];
    let has_config = |folder: &Path| configs.iter().any(|file| folder.join(file).is_file());
    find_model(argument)
        .is_ok_and(|model| has_config(&model.folder) || has_config(&model.folder.join("query")))
}

/// Opens an encoder. A `--max-tokens` out of the range of the model is a usage error.
pub(crate) fn open_encoder(folder: &Path, config: &EncoderConfig) -> Result<BiEncoder> {
    let is_limited = [&config.query, &config.document]
        .iter()
        .any(|side| side.max_tokens.is_some());
    BiEncoder::open_with(folder, config).map_err(|error| match &error {
        ModelError::Setting { field, .. } if field == "max_tokens" => {
            Usage(format!("--max-tokens: {error}")).into()
        }
        ModelError::Tokenizer(TokenizerError::Limit { .. }) if is_limited => {
            Usage(format!("--max-tokens: {error}")).into()
        }
        ModelError::Setting { field, .. }
            if field == "truncate_dim" && config.truncate_dim.is_some() =>
        {
            Usage(format!("--truncate-dim: {error}")).into()
        }
        ModelError::Precision { .. } => Usage(format!("--precision: {error}")).into(),
        _ => error.into(),
    })
}

/// Prints the defaults of what the folder of an encoder does not say, and values without effect.
pub(crate) fn print_notes(encoder: &BiEncoder, model: &Path, console: &Console) {
    for note in encoder.notes() {
        console.note(format_args!("{}: {note}", model.display()));
    }
}

/// Note on the output channels that are f32 although the precision is int8; `None` without any.
pub(crate) fn outlier_note(encoder: &BiEncoder, side: Side) -> Option<String> {
    let outliers = encoder.outlier_channels(side);
    let count: usize = outliers.iter().map(|layer| layer.channels.len()).sum();
    let describe = |layer: &OutlierChannels| {
        format!(
            "{} of {} in {}",
            layer.channels.len(),
            layer.total,
            layer.layer
        )
    };
    let layers: Vec<String> = outliers.iter().map(describe).collect();
    let layers = layers.join(", ");
    (count > 0).then(|| {
        format!(
            "{count} output channels have weights out of the range of int8 and are f32: {layers}"
        )
    })
}

/// Hashes of the texts of all documents of a corpus.
pub(crate) fn hashes_of(
    corpus: &dyn Corpus,
    template: &DocTemplate,
    progress: &mut dyn Progress,
) -> Result<TextHashes> {
    let mut texts = TextHashes::default();
    for_each_document(corpus, "reading", progress, |doc| {
        texts.push(&doc.id, &template.render(doc));
    })?;
    Ok(texts)
}
