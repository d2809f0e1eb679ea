//! Folders of late-interaction models.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::MultiVectorConfig;
use super::expansion::ExpansionSettings;
use super::mask::MaskSettings;
use super::similarity::TokenSimilarity;
use crate::encode::Tower;
use crate::encode::files::STANFORD_METADATA;
use crate::encode::late_interaction_format::{
    CONFIG, LateInteractionFormat, MODULES, STANFORD_CLASS, Values,
};
use crate::encode::model_class::ModelClass;
use crate::encode::module_entry::SentenceTransformersModule;
use crate::encode::modules::VectorModules;
use crate::encode::sentence_transformers::{PromptConfig, SentenceTransformersConfig};
use crate::encode::tokenizer_files::TextRules;
use crate::encode::transformer_module::TransformerModule;
use crate::error::ModelError;
use crate::model_folder::{TensorSource, TransformerConfig, WeightFile, from_value, read_json};
use crate::random_model::RandomWeights;

/// Projection of Stanford's ColBERT, in the weight file of the transformer.
const STANFORD_PROJECTION: &str = "linear.weight";
/// Length of expanded queries without a value, as in ColBERT.
const EXPANDED_LENGTH: usize = 32;
/// Maximum length of documents of a new model, as in PyLate.
const DOCUMENT_LENGTH: usize = 180;
/// Name of the vectors of tokens in the configuration of modules.
pub(super) const TOKENS: &str = "token_embeddings";

/// Folder of a late-interaction model.
#[derive(Debug, Clone)]
pub(crate) struct LateInteractionFolder {
    pub(crate) tower: Tower,
    pub(super) expansion: Option<ExpansionSettings>,
    /// Tokens without a vector. `None`: all tokens have one, except the tokens of the expansion.
    pub(super) mask: Option<MaskSettings>,
    /// File of the mask.
    pub(super) mask_path: PathBuf,
    pub(crate) similarity: TokenSimilarity,
    /// If `true`, the tokenizer has special tokens that its files lack.
    pub(super) has_markers: bool,
}

/// Error of a folder that is not of a late-interaction model.
fn other_model(folder: &Path) -> Result<ModelError, ModelError> {
    let config = Values::read(folder.join(CONFIG))?;
    let class = ModelClass::read(folder)?;
    let found = match config.text("model_type")? {
        Some(found) => found,
        None if folder.join(MODULES).exists() => "SentenceTransformer",
        None => class.name(),
    };
    let is_cross_encoder = found == "CrossEncoder" || found.ends_with("ForSequenceClassification");
    let reader = if is_cross_encoder {
        "a cross-encoder scores pairs of texts and has no vectors"
    } else {
        "BiEncoder reads models with one vector per text"
    };
    let expected = format!(
        "a late-interaction model (MultiVectorEncoder of sentence-transformers, PyLate, \
         {STANFORD_CLASS}): {reader}"
    );
    let found = if found.is_empty() { "unknown" } else { found };
    Ok(ModelError::setting(folder, "the model", expected, found))
}

/// Modules after the transformer, in the order of `modules.json`, with their positions.
struct ModuleList {
    transformer: PathBuf,
    /// Folder and class of Dense and Normalize modules of the vectors of tokens.
    modules: Vec<(PathBuf, &'static str, String)>,
    mask: Option<(PathBuf, MaskSettings)>,
}

impl ModuleList {
    fn read(folder: &Path, format: LateInteractionFormat) -> Result<Self, ModelError> {
        let entries = read_json::<Vec<SentenceTransformersModule>>(&folder.join(MODULES))?;
        let entries = entries.ok_or_else(|| ModelError::MissingFile {
            folder: folder.into(),
            expected: MODULES,
        })?;
        let Some(first) = entries.first().filter(|it| it.name() == "Transformer") else {
            let (field, expected) = ("module 0", "Transformer of sentence_transformers");
            let found = entries.first().map_or("missing", |it| &it.class);
            let path = folder.join(MODULES);
            return Err(ModelError::setting(&path, field, expected, found));
        };
        let mut list = Self {
            transformer: first.folder(folder, 0)?,
            modules: Vec::new(),
            mask: None,
        };
        for (position, entry) in entries.iter().enumerate().skip(1) {
            let own = entry.folder(folder, position)?;
            let config = Values::read(own.join("config.json"))?;
            let input = config.text("module_input_name")?;
            let is_pylate = format == LateInteractionFormat::PyLate;
            let name = match entry.class.as_str() {
                "pylate.models.Dense.Dense" => "Dense",
                _ => entry.name(),
            };
            match name {
                "Dense" => {
                    // Of a bi-encoder that PyLate converted.
                    let input = input.filter(|_| is_pylate).unwrap_or(TOKENS);
                    list.modules.push((own, "Dense", input.to_owned()));
                }
                "Normalize" if input == Some(TOKENS) => {
                    list.modules.push((own, "Normalize", TOKENS.to_owned()));
                }
                // The vector of the text, which there is not.
                "Normalize" => {}
                "Pooling" if is_pylate => {}
                "MultiVectorMask" if list.mask.is_none() => {
                    let settings = from_value(&config.path, Value::Object(config.map))?;
                    list.mask = Some((config.path, settings));
                }
                _ => {
                    let expected = "Dense, Normalize or one MultiVectorMask of \
                                    sentence_transformers; token pooling is not supported";
                    return Err(entry.unexpected(folder, position, expected));
                }
            }
        }
        Ok(list)
    }

    fn vector_modules(&self, width: usize) -> Result<VectorModules, ModelError> {
        let mut modules = VectorModules::new(width);
        for (own, class, feature) in &self.modules {
            modules.add(own, class, [feature, feature])?;
        }
        Ok(modules.with_feature(TOKENS))
    }
}

/// Values of a folder besides its modules.
#[derive(Default)]
struct Settings {
    prompts: [String; 2],
    /// Prefixes that are special tokens if the vocabulary has them.
    markers: Vec<String>,
    side_tokens: [Option<usize>; 2],
    expansion: Option<ExpansionSettings>,
    /// `None`: as the modules say.
    mask: Option<MaskSettings>,
}

impl Settings {
    /// Reads the values of sentence-transformers.
    fn read(
        config: &Values,
        prompts: [String; 2],
        module: &TransformerModule,
    ) -> Result<Self, ModelError> {
        let expansion = module.query_expansion.as_ref().unwrap_or(&Value::Null);
        let mut settings = Self {
            prompts,
            side_tokens: [module.query_length, module.document_length],
            expansion: ExpansionSettings::read(&module.path, expansion)?,
            ..Self::default()
        };
        if config.is_pylate() {
            settings.add_pylate(config, module)?;
        }
        Ok(settings)
    }

    /// Adds the values of PyLate's [`CONFIG`]. Values of the transformer's module win.
    fn add_pylate(
        &mut self,
        config: &Values,
        module: &TransformerModule,
    ) -> Result<(), ModelError> {
        for (side, key) in ["query_prefix", "document_prefix"].into_iter().enumerate() {
            if config.map.contains_key(key) {
                let prefix = config.text(key)?.unwrap_or_default();
                let prompt = &self.prompts[side];
                let prompt = prompt.strip_prefix(prefix).unwrap_or(prompt);
                self.prompts[side] = format!("{prefix}{prompt}");
                self.markers.push(prefix.to_owned());
            }
        }
        let mut query_length = config.count("query_length")?;
        let expansion = match config.map.get("query_expansion") {
            Some(expansion) => ExpansionSettings::read(&config.path, expansion)?,
            None if config.flag("do_query_expansion")? == Some(false) => None,
            None => {
                let attend = match config.flag("attend_to_expansion_tokens")? {
                    None => config.flag("attend_to_mask_tokens")?,
                    attend => attend,
                };
                Some(ExpansionSettings {
                    path: config.path.clone(),
                    field: "query_length".into(),
                    length: query_length.take().unwrap_or(EXPANDED_LENGTH),
                    is_fixed: true,
                    attend: attend.unwrap_or(false),
                    token: None,
                })
            }
        };
        if module.query_expansion.is_none() {
            self.expansion = expansion;
        }
        let lengths = [query_length, config.count("document_length")?];
        for (length, other) in self.side_tokens.iter_mut().zip(lengths) {
            *length = length.or(other);
        }
        self.mask = config.words("skiplist_words")?.map(MaskSettings::skipping);
        if self.mask.is_none() && (!self.markers.is_empty() || is_pylate_3(config)?) {
            self.mask = Some(MaskSettings::punctuation());
        }
        Ok(())
    }

    /// Reads the metadata of Stanford's ColBERT.
    fn read_stanford(folder: &Path, prompts: [String; 2]) -> Result<Self, ModelError> {
        let metadata = Values::read(folder.join(STANFORD_METADATA))?;
        let similarity = metadata.text("similarity")?;
        if let Some(found) = similarity.filter(|&it| it != "cosine") {
            let path = &metadata.path;
            return Err(ModelError::setting(path, "similarity", "cosine", found));
        }
        let mut settings = Self {
            prompts,
            ..Self::default()
        };
        let markers = [
            ("query_token_id", "[unused0]"),
            ("doc_token_id", "[unused1]"),
        ];
        for (prompt, (key, default)) in settings.prompts.iter_mut().zip(markers) {
            let marker = metadata.text(key)?.filter(|it| !it.is_empty());
            let marker = format!("{} ", marker.unwrap_or(default));
            if prompt.is_empty() {
                prompt.clone_from(&marker);
            }
            settings.markers.push(marker);
        }
        settings.side_tokens[1] = metadata.count("doc_maxlen")?;
        settings.expansion = Some(ExpansionSettings {
            length: metadata.count("query_maxlen")?.unwrap_or(EXPANDED_LENGTH),
            is_fixed: true,
            attend: metadata.flag("attend_to_mask_tokens")?.unwrap_or(false),
            token: None,
            field: "query_maxlen".into(),
            path: metadata.path.clone(),
        });
        settings.mask = Some(match metadata.flag("mask_punctuation")? {
            Some(false) => MaskSettings::default(),
            _ => MaskSettings::punctuation(),
        });
        Ok(settings)
    }
}

/// Returns `true` if PyLate 3 wrote the file, which skips punctuation by default.
fn is_pylate_3(config: &Values) -> Result<bool, ModelError> {
    Ok(config.text("model_type")? == Some("ColBERT"))
}

/// Returns the similarity function of a folder. Early versions of PyLate write a name that is
/// without effect.
fn similarity(
    config: &Values,
    format: LateInteractionFormat,
) -> Result<TokenSimilarity, ModelError> {
    let Some(name) = config.text("similarity_fn_name")? else {
        return Ok(TokenSimilarity::MaxSim);
    };
    match name.parse() {
        Ok(similarity) => Ok(similarity),
        Err(_) if format != LateInteractionFormat::SentenceTransformers => {
            Ok(TokenSimilarity::MaxSim)
        }
        Err(_) => {
            let expected = TokenSimilarity::ALL.map(TokenSimilarity::name).join(" or ");
            let field = "similarity_fn_name";
            Err(ModelError::setting(&config.path, field, expected, name))
        }
    }
}

/// Tower with the values of the folder that are not in it.
type OpenedTower = (Tower, Settings, Option<(PathBuf, MaskSettings)>);

/// Values of a tower that all formats have.
fn tower_files(transformer: &Path, settings: &mut Settings) -> SentenceTransformersConfig {
    SentenceTransformersConfig {
        transformer: transformer.into(),
        has_modules: true,
        is_sentence_transformers: false,
        // Texts are unchanged since version 5.4, before MultiVectorEncoder.
        texts: TextRules {
            lowercase: false,
            is_unchanged: true,
        },
        side_tokens: settings.side_tokens,
        prompts: std::mem::take(&mut settings.prompts),
        ..SentenceTransformersConfig::default()
    }
}

fn open_stanford(
    folder: &Path,
    config: &MultiVectorConfig,
    prompts: [String; 2],
) -> Result<OpenedTower, ModelError> {
    let mut settings = Settings::read_stanford(folder, prompts)?;
    let files = tower_files(folder, &mut settings);
    let tower = Tower::from_files(folder, &config.encoder(), files, |width| {
        let mut modules = VectorModules::new(width);
        modules.add_projection(&WeightFile::open(folder)?, STANFORD_PROJECTION)?;
        Ok(modules)
    })?;
    Ok((tower, settings, None))
}

/// Opens a folder with `modules.json`.
fn open_modules(
    folder: &Path,
    config: &MultiVectorConfig,
    format: LateInteractionFormat,
    values: &Values,
    prompts: [String; 2],
) -> Result<OpenedTower, ModelError> {
    let list = ModuleList::read(folder, format)?;
    let module = TransformerModule::read(&list.transformer)?;
    let mut settings = Settings::read(values, prompts, &module)?;
    let mut files = tower_files(&list.transformer, &mut settings);
    files.max_tokens = module.max_seq_length;
    files.texts.lowercase = module.do_lower_case;
    let modules = |width| list.vector_modules(width);
    let tower = Tower::from_files(folder, &config.encoder(), files, modules)?;
    if format == LateInteractionFormat::PyLate && !tower.modules.has_projection() {
        let expected = "a Dense module, the projection";
        let path = folder.join(MODULES);
        return Err(ModelError::setting(&path, "modules", expected, "none"));
    }
    Ok((tower, settings, list.mask))
}

impl LateInteractionFolder {
    pub(crate) fn open(folder: &Path, config: &MultiVectorConfig) -> Result<Self, ModelError> {
        let Some(format) = LateInteractionFormat::read(folder)? else {
            return Err(other_model(folder)?);
        };
        let values = Values::read(folder.join(CONFIG))?;
        let similarity = similarity(&values, format)?;
        let prompts = PromptConfig::read(&values.path)?.unwrap_or_default();
        let prompts = prompts.side_prompts(&values.path)?;
        let (mut tower, mut settings, mut mask) = match format {
            LateInteractionFormat::Stanford => open_stanford(folder, config, prompts)?,
            _ => open_modules(folder, config, format, &values, prompts)?,
        };
        if format != LateInteractionFormat::SentenceTransformers {
            tower.normalize = true;
            let settings = settings.mask.take().unwrap_or_default();
            mask = mask.or(Some((values.path.clone(), settings)));
        }
        let mut has_markers = false;
        for marker in &settings.markers {
            let first = marker.split_whitespace().next().unwrap_or_default();
            let mut known = [marker, first].into_iter();
            if let Some(known) = known.find(|it| tower.tokenizer.token_id(it).is_some()) {
                has_markers |= tower.tokenizer.add_special_token(known)?;
            }
        }
        if let Some(dim) = config.truncate_dim {
            if dim == 0 {
                let expected = "1 or more";
                return Err(ModelError::setting(folder, "truncate_dim", expected, dim));
            }
            let mut modules = (*tower.modules).clone();
            modules.truncate(Some(dim));
            tower.modules = Arc::new(modules);
        }
        if let Some(expansion) = &settings.expansion
            && let Some(limit) = settings.side_tokens[0].filter(|&it| it < expansion.length)
        {
            let least = expansion.length;
            let expected = format!("{least} or more, the length of expanded queries");
            let path = &expansion.path;
            return Err(ModelError::setting(path, "query_length", expected, limit));
        }
        let (mask_path, mask) = mask.unzip();
        Ok(Self {
            tower,
            expansion: settings.expansion,
            mask,
            mask_path: mask_path.unwrap_or(values.path),
            similarity,
            has_markers,
        })
    }

    /// Creates a late-interaction model from the transformer of an encoder: a projection to `dim`
    /// dimensions with random weights, normalized vectors, no vectors for punctuation in documents,
    /// which have at most 180 tokens, and queries that are expanded to 32 tokens by mask tokens,
    /// unless the tokenizer pads at the beginning. Pooling and the modules after it are left out.
    pub(crate) fn create(
        folder: &Path,
        config: &MultiVectorConfig,
        dim: usize,
        seed: u64,
    ) -> Result<Self, ModelError> {
        let encoder = SentenceTransformersConfig::read(folder, None)?;
        let transformer = &encoder.transformer;
        if !encoder.has_modules {
            ModelClass::read(transformer)?.check_encoder()?;
        }
        let shape = TransformerConfig::read(transformer)?;
        let path = folder.join(CONFIG);
        let expansion = ExpansionSettings {
            path: path.clone(),
            field: "query_expansion.length".into(),
            length: EXPANDED_LENGTH.min(shape.position_limit()),
            is_fixed: true,
            // In DeBERTa, tokens that are not attended to have no embedding.
            attend: shape.layer.disentangled.is_some(),
            token: None,
        };
        let mut settings = Settings {
            prompts: encoder.prompts,
            side_tokens: [None, Some(DOCUMENT_LENGTH)],
            ..Settings::default()
        };
        let mut files = tower_files(transformer, &mut settings);
        files.max_tokens = encoder.max_tokens;
        files.texts.lowercase = encoder.texts.lowercase;
        let mut tower = Tower::from_files(folder, &config.encoder(), files, |width| {
            let weight = RandomWeights(seed).take("linear.weight", &[width, dim])?;
            let mut modules = VectorModules::new(width);
            modules.add_new_projection(weight, dim);
            Ok(modules)
        })?;
        tower.normalize = true;
        Ok(Self {
            expansion: Some(expansion).filter(|_| !tower.tokenizer.pads_left),
            tower,
            mask: Some(MaskSettings::punctuation()),
            mask_path: path,
            similarity: TokenSimilarity::MaxSim,
            has_markers: false,
        })
    }
}
