//! Folders of learned sparse encoders.

use std::path::{Path, PathBuf};

use ir_core::Side;

use super::head::{MaskedLmLayers, SpladePooling};
use crate::encode::model_class::ModelClass;
use crate::encode::module_entry::SentenceTransformersModule;
use crate::encode::modules::VectorModules;
use crate::encode::router;
use crate::encode::sentence_transformers::{PromptConfig, SentenceTransformersConfig};
use crate::encode::tokenizer_files::TextRules;
use crate::encode::transformer_module::{TransformerModule, TransformerTask};
use crate::encode::{EncoderConfig, Tower};
use crate::error::ModelError;
use crate::model_folder::read_json;
use crate::transformer::ModelWeights;

/// File with the class of a sentence-transformers model.
pub(super) const CONFIG: &str = "config_sentence_transformers.json";
/// Value of `model_type` in [`CONFIG`].
pub(super) const MODEL_TYPE: &str = "SparseEncoder";
/// End of the class of a masked language model.
pub(super) const MASKED_LM: &str = "ForMaskedLM";
/// Module of a masked language model, of versions before 5.4.
const MLM_TRANSFORMER: &str = "MLMTransformer";
pub(super) const SPLADE_POOLING: &str = "SpladePooling";
const STATIC_EMBEDDING: &str = "SparseStaticEmbedding";

/// Files of one side of a learned sparse encoder.
pub(super) enum SparseFiles {
    /// Transformer with the head of a masked language model, and its pooling.
    Splade {
        files: Box<SentenceTransformersConfig>,
        pooling: SpladePooling,
    },
    /// A weight per token: inference-free.
    Static {
        folder: PathBuf,
        /// Prompts of queries and of documents.
        prompts: [String; 2],
    },
}

/// Masked language model with SPLADE's pooling, without the head.
#[derive(Debug, Clone)]
pub(crate) struct SpladeFolder {
    pub(crate) tower: Tower,
    pub(crate) pooling: SpladePooling,
}

impl SpladeFolder {
    /// Opens a folder with one model for both sides, and reads the weights of its head.
    pub(crate) fn open(
        folder: &Path,
        config: &EncoderConfig,
    ) -> Result<(Self, MaskedLmLayers), ModelError> {
        let field = "the model";
        let expected = "one masked language model for queries and documents";
        if has_sides(folder)? {
            let found = "a model for each";
            return Err(ModelError::setting(folder, field, expected, found));
        }
        match SparseFiles::read(folder, Side::Document)? {
            SparseFiles::Splade { files, pooling } => {
                Self::from_files(folder, config, *files, pooling)
            }
            SparseFiles::Static { .. } => Err(ModelError::setting(
                folder,
                field,
                expected,
                STATIC_EMBEDDING,
            )),
        }
    }

    pub(super) fn from_files(
        folder: &Path,
        config: &EncoderConfig,
        files: SentenceTransformersConfig,
        pooling: SpladePooling,
    ) -> Result<(Self, MaskedLmLayers), ModelError> {
        let modules = |width| Ok(VectorModules::new(width));
        let tower = Tower::from_files(folder, config, files, modules)?;
        let ModelWeights::File {
            file,
            config: shape,
            ..
        } = &tower.weights
        else {
            let expected = "a transformer in a file";
            return Err(ModelError::setting(folder, "the model", expected, "none"));
        };
        let layers = MaskedLmLayers::load(&tower.transformer_folder, shape, file)?;
        Ok((Self { tower, pooling }, layers))
    }
}

/// `config.json` of a SpladePooling module.
#[derive(serde::Serialize, serde::Deserialize, Default)]
#[serde(default)]
pub(super) struct PoolingConfig {
    pooling_strategy: Option<String>,
    activation_function: Option<String>,
}

/// Returns `true` if sentence-transformers wrote a folder as a `SparseEncoder`.
pub(super) fn is_sparse_folder(folder: &Path) -> Result<bool, ModelError> {
    let config = PromptConfig::read(&folder.join(CONFIG))?.unwrap_or_default();
    Ok(config.model_type.as_deref() == Some(MODEL_TYPE))
}

/// Returns `true` if a folder has other modules for queries than for documents.
pub(super) fn has_sides(folder: &Path) -> Result<bool, ModelError> {
    router::has_router(folder)
}

impl SparseFiles {
    /// Reads the files of a side. Without `modules.json`, a masked language model is pooled by the
    /// maximum, as in sentence-transformers.
    pub(super) fn read(folder: &Path, side: Side) -> Result<Self, ModelError> {
        let path = folder.join(CONFIG);
        let prompts = PromptConfig::read(&path)?.unwrap_or_default();
        let found = prompts.model_type.as_deref();
        if let Some(found) = found.filter(|&it| it != MODEL_TYPE) {
            return Err(ModelError::setting(&path, "model_type", MODEL_TYPE, found));
        }
        let mut files = SentenceTransformersConfig {
            transformer: folder.into(),
            has_modules: true,
            prompts: prompts.side_prompts(&path)?,
            texts: TextRules {
                lowercase: false,
                is_unchanged: prompts.is_since_5_4(),
            },
            ..SentenceTransformersConfig::default()
        };
        let list = folder.join("modules.json");
        let Some(modules) = read_json::<Vec<SentenceTransformersModule>>(&list)? else {
            check_masked_lm(folder)?;
            files.read_transformer(MLM_TRANSFORMER)?;
            let files = Box::new(files);
            let pooling = SpladePooling::default();
            return Ok(Self::Splade { files, pooling });
        };
        let modules = router::resolve(folder, modules, Some(side))?;
        let name = |at: usize| modules.get(at).map_or("", SentenceTransformersModule::name);
        match [name(0), name(1)] {
            [first @ ("Transformer" | MLM_TRANSFORMER), SPLADE_POOLING] if modules.len() == 2 => {
                files.transformer = modules[0].folder(folder, 0)?;
                files.read_transformer(first)?;
                let pooling = SpladePooling::read(&modules[1].folder(folder, 1)?)?;
                let files = Box::new(files);
                Ok(Self::Splade { files, pooling })
            }
            [STATIC_EMBEDDING, _] if modules.len() == 1 => Ok(Self::Static {
                folder: modules[0].folder(folder, 0)?,
                prompts: files.prompts,
            }),
            _ => {
                let names: Vec<&str> = modules.iter().map(|it| it.class.as_str()).collect();
                let expected = format!(
                    "Transformer and {SPLADE_POOLING}, or {STATIC_EMBEDDING}, of \
                     sentence_transformers"
                );
                let found = match names[..] {
                    [] => "none".to_owned(),
                    _ => names.join(", "),
                };
                Err(ModelError::setting(&list, "modules", expected, found))
            }
        }
    }
}

/// Returns an error if the model of a folder without `modules.json` is no masked language model.
fn check_masked_lm(folder: &Path) -> Result<(), ModelError> {
    let class = ModelClass::read(folder)?;
    if class.name().ends_with(MASKED_LM) {
        return Ok(());
    }
    let path = folder.join("config.json");
    let found = match class.name() {
        "" => "none",
        name => name,
    };
    let expected = format!(
        "a masked language model, such as Bert{MASKED_LM}, or a modules.json of a {MODEL_TYPE}"
    );
    Err(ModelError::setting(&path, "architectures", expected, found))
}

impl SentenceTransformersConfig {
    /// Reads the values of the transformer's module, which computes logits of the vocabulary.
    fn read_transformer(&mut self, module: &str) -> Result<(), ModelError> {
        let tasks = [
            TransformerTask::MaskedLanguageModel,
            TransformerTask::Features,
        ];
        let (values, task) = TransformerModule::read_task(&self.transformer, &tasks)?;
        if task == TransformerTask::Features && module != MLM_TRANSFORMER {
            let (field, found) = ("transformer_task", "feature-extraction");
            return Err(ModelError::setting(&values.path, field, "fill-mask", found));
        }
        self.max_tokens = values.max_seq_length;
        self.side_tokens = [values.query_length, values.document_length];
        self.texts.lowercase = values.do_lower_case;
        Ok(())
    }
}

impl SpladePooling {
    /// Names of the pooling, and of the activation function.
    const NAMES: [[&'static str; 2]; 2] = [["max", "sum"], ["relu", "log1p_relu"]];

    /// Configuration of the module.
    pub(super) fn config(self) -> PoolingConfig {
        let name = |field: usize, at: bool| Some(Self::NAMES[field][usize::from(at)].to_owned());
        PoolingConfig {
            pooling_strategy: name(0, self.sums),
            activation_function: name(1, self.twice),
        }
    }

    fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join("config.json");
        let config = read_json::<PoolingConfig>(&path)?.unwrap_or_default();
        let one_of = |field: &str, found: Option<&str>, [first, second]: [&str; 2]| match found {
            None => Ok(false),
            Some(found) if found == first || found == second => Ok(found == second),
            Some(found) => {
                let expected = format!("{first} or {second}");
                Err(ModelError::setting(&path, field, expected, found))
            }
        };
        let (pooling, activation) = (config.pooling_strategy, config.activation_function);
        Ok(Self {
            sums: one_of("pooling_strategy", pooling.as_deref(), Self::NAMES[0])?,
            twice: one_of("activation_function", activation.as_deref(), Self::NAMES[1])?,
        })
    }
}
