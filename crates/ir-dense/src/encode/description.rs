//! Description of a tower: how the files of its folder are understood.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ir_core::Side;
use serde::Serialize;

use super::{EncoderConfig, ModelTokenizer, PoolingModes, Tower};
use crate::architectures::unread_fields;
use crate::backend::Backend;
use crate::error::ModelError;
use crate::model_folder::{TransformerConfig, base_folder, read_json, remote_code};
use crate::precision::Precision;
use crate::transformer::{ModelWeights, tensor_problems};

/// Number of tensors without effect that a note lists.
const LISTED_TENSORS: usize = 8;

/// Description of a [`Tower`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TowerDescription {
    /// Sides of the tower: `query`, `document` or both.
    pub sides: Vec<SideDescription>,
    /// Folder of the transformer.
    pub folder: PathBuf,
    /// Configuration of the transformer.
    pub transformer: TransformerConfig,
    /// Number of positions: with position embeddings, the highest possible maximum length.
    pub positions: usize,
    /// Fields of `config.json` that are not read and may change vectors.
    pub unread_fields: Vec<String>,
    /// What computes the transformer.
    pub computation: ComputationDescription,
    /// Weight files of the transformer.
    pub weights: WeightDescription,
    /// Kind and size of the vocabulary, and truncation.
    pub tokenizer: TokenizerDescription,
    /// Pooling of token vectors. `None`: every token has a vector.
    pub pooling: Option<PoolingModes>,
    /// If `false`, the tokens of the prompt are not pooled.
    pub include_prompt: bool,
    /// Modules after pooling; without Normalize modules at the end.
    pub modules: Vec<ModuleDescription>,
    /// Number of dimensions that are kept of the output of the last module.
    pub truncate_dim: Option<usize>,
    /// If `true`, vectors are L2-normalized at the end.
    pub normalize: bool,
    /// Defaults of what the folder does not say, and values of it without effect.
    pub notes: Vec<String>,
    /// Errors of tensors: missing, of another shape or element type, or of layers that the
    /// configuration does not describe. The model does not open with any.
    pub problems: Vec<String>,
}

/// What computes a transformer: the kernels of this crate on [`Backend::Cpu`], burn's operations in
/// f32 on other backends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ComputationDescription {
    /// Backends that this program was built with, by the names of their features.
    pub backends: Vec<&'static str>,
    /// Precisions of the linear layers in inference on the CPU.
    pub inference: Vec<Precision>,
    /// Precisions of attention in inference on the CPU; f32 in the others.
    pub attention: Vec<Precision>,
    /// Precisions of the kernels of training on the CPU. Empty: training runs in burn's automatic
    /// differentiation, in f32.
    pub training: Vec<Precision>,
}

impl ComputationDescription {
    pub(crate) fn new(config: &TransformerConfig) -> Self {
        let exact = vec![Precision::F32];
        let both = vec![Precision::F32, Precision::Bf16];
        let (attention, training) = if config.layer.is_bert() {
            (both.clone(), both)
        } else {
            (exact, Vec::new())
        };
        Self {
            backends: Backend::built(),
            inference: Precision::ALL.into(),
            attention,
            training,
        }
    }
}

/// Settings of a side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SideDescription {
    /// `query` or `document`.
    pub side: &'static str,
    /// Prompt of every text; empty for none.
    pub prompt: String,
    /// Maximum sequence length in tokens, with special tokens.
    pub max_tokens: usize,
}

/// Weight files of a transformer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WeightDescription {
    /// `safetensors`, `sharded safetensors` or `PyTorch`.
    pub format: &'static str,
    /// Names of the files.
    pub files: Vec<String>,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Number of parameters in the files, heads included. The parameters of an adapter are not
    /// counted.
    pub parameters: u64,
    /// Number of parameters by element type, such as `bf16`.
    pub precisions: BTreeMap<String, u64>,
}

/// Tokenizer of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TokenizerDescription {
    /// Name of the vocabulary file.
    pub file: String,
    /// `WordPiece`, `BPE`, `Unigram` or `WordLevel`.
    pub model: &'static str,
    /// Number of tokens, with added tokens.
    pub vocabulary: usize,
    /// End of a text that is cut off if it is too long: `left` or `right`.
    pub truncation_side: &'static str,
}

/// Shape of a module after pooling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ModuleDescription {
    /// Name of the class in sentence-transformers.
    pub class: &'static str,
    /// Dimension of the input.
    pub inputs: usize,
    /// Dimension of the output.
    pub outputs: usize,
    /// Activation function of a Dense module, by its class in `torch.nn`.
    pub activation: Option<&'static str>,
}

impl TokenizerDescription {
    pub(crate) fn new(tokenizer: &ModelTokenizer) -> Self {
        Self {
            file: name(tokenizer.path()),
            model: tokenizer.model_name(),
            vocabulary: tokenizer.vocabulary_size(),
            truncation_side: if tokenizer.truncates_left() {
                "left"
            } else {
                "right"
            },
        }
    }
}

impl Tower {
    pub(crate) fn describe(
        &self,
        sides: &[Side],
        config: &EncoderConfig,
    ) -> Result<TowerDescription, ModelError> {
        for &side in sides {
            self.check_side(side, config.side(side))?;
        }
        let side = |&side: &Side| SideDescription {
            side: match side {
                Side::Query => "query",
                Side::Document => "document",
            },
            prompt: self.prefix(side, config.side(side)).to_owned(),
            max_tokens: self.limit(side, config.side(side)),
        };
        let path = base_folder(&self.transformer_folder)?.join("config.json");
        let code = remote_code::code(&path, &read_json(&path)?.unwrap_or_default());
        let code = code.map(|files| format!("code in {files} is not executed"));
        let mut inputs = self.modules.input_dim();
        let modules = self.modules.describe().into_iter();
        let modules = modules.map(|(class, outputs, activation)| {
            let inputs = std::mem::replace(&mut inputs, outputs);
            ModuleDescription {
                class,
                inputs,
                outputs,
                activation,
            }
        });
        let problems = self.weights.problems()?;
        // Tensors that layers have in excess are problems.
        let unused = self.weights.unused_tensors();
        let unused = (problems.is_empty() && !unused.is_empty()).then(|| {
            let more = unused.len().saturating_sub(LISTED_TENSORS);
            let names = unused[..unused.len() - more].join(", ");
            let more = match more {
                0 => String::new(),
                _ => format!(" and {more} more"),
            };
            format!("tensors without effect: {names}{more}")
        });
        Ok(TowerDescription {
            sides: sides.iter().map(side).collect(),
            folder: self.transformer_folder.clone(),
            transformer: self.config().clone(),
            positions: self.config().max_tokens(),
            unread_fields: match &self.weights {
                ModelWeights::Static { .. } => Vec::new(),
                _ => unread_fields(&self.transformer_folder)?,
            },
            computation: ComputationDescription::new(self.config()),
            weights: self.weights.describe()?,
            tokenizer: TokenizerDescription::new(&self.tokenizer),
            pooling: Some(self.pooling.clone()),
            include_prompt: self.include_prompt,
            modules: modules.collect(),
            truncate_dim: self.modules.truncate_dim(),
            normalize: self.normalize,
            notes: self
                .notes
                .iter()
                .cloned()
                .chain(code)
                .chain(unused)
                .collect(),
            problems,
        })
    }
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

impl ModelWeights {
    /// Names of the tensors of the weight file that were not read, such as a pooler, sorted.
    pub(crate) fn unused_tensors(&self) -> Vec<String> {
        match self {
            Self::File { file, .. } => file.unread(),
            Self::Module(_) | Self::Static { .. } => Vec::new(),
        }
    }

    pub(crate) fn problems(&self) -> Result<Vec<String>, ModelError> {
        match self {
            Self::File { file, config, .. } => {
                let problems = tensor_problems(config, file)?;
                Ok(problems.iter().map(ModelError::to_string).collect())
            }
            Self::Module(_) | Self::Static { .. } => Ok(Vec::new()),
        }
    }

    pub(crate) fn describe(&self) -> Result<WeightDescription, ModelError> {
        let (mut format, mut files, mut precisions) = ("memory", Vec::new(), BTreeMap::new());
        let file = match self {
            Self::File { file, .. } => Some(file),
            Self::Static { table, .. } => Some(table.file()),
            Self::Module(_) => None,
        };
        if let Some(file) = file {
            (format, files) = file.files();
            precisions = file.element_counts()?;
        }
        let sizes = files.iter().map(|path| path.metadata());
        Ok(WeightDescription {
            format,
            bytes: sizes.flatten().map(|it| it.len()).sum(),
            files: files.into_iter().map(name).collect(),
            parameters: precisions.values().sum(),
            precisions,
        })
    }
}
