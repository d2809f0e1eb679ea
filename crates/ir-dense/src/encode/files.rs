//! Names of the files of a model folder.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::sentence_transformers::SENTENCE_BERT_CONFIGS;
use crate::error::ModelError;
use crate::model_folder::{read_bytes, read_json, write_bytes};

/// Tokenizer files of all architectures.
const TOKENIZER_FILES: [&str; 8] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
];

/// Configurations and weights. An index of sharded weights is an error of the reader.
const CONFIG_AND_WEIGHT_FILES: [&str; 8] = [
    "config.json",
    "modules.json",
    "config_sentence_transformers.json",
    "ir_dense.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
];

/// Paths that [`BiEncoder::open`](crate::BiEncoder::open) may read in a model folder, most of which
/// do not exist in any one model: the files of the folder, of its towers (`query` and `document`),
/// and the configurations of the modules of sentence-transformers, such as `1_Pooling`.
///
/// ```
/// let files = ir_dense::model_files("all-MiniLM-L6-v2".as_ref());
/// assert!(files.iter().any(|file| file.ends_with("all-MiniLM-L6-v2/tokenizer.json")));
/// assert!(files.iter().any(|file| file.ends_with("query/model.safetensors")));
/// ```
#[must_use]
pub fn model_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for part in ["", "query", "document"] {
        let part = folder.join(part);
        let names = CONFIG_AND_WEIGHT_FILES.iter().chain(&TOKENIZER_FILES);
        let names = names.chain(&SENTENCE_BERT_CONFIGS);
        files.extend(names.map(|name| part.join(name)));
        let modules = fs::read_dir(&part).into_iter().flatten().flatten();
        files.extend(modules.map(|module| module.path().join("config.json")));
    }
    files
}

/// Copies the tokenizer files of a model folder to another one. Returns its `config.json`, changed
/// to weights in f32.
pub(crate) fn copy_tokenizer(from: &Path, to: &Path) -> Result<Map<String, Value>, ModelError> {
    for name in TOKENIZER_FILES {
        if let Some(bytes) = read_bytes(&from.join(name))? {
            write_bytes(&to.join(name), &bytes)?;
        }
    }
    let config = read_json::<Map<String, Value>>(&from.join("config.json"))?;
    let mut config = config.ok_or_else(|| ModelError::MissingFile {
        folder: from.into(),
        expected: "config.json",
    })?;
    for name in ["torch_dtype", "dtype"] {
        if let Some(dtype) = config.get_mut(name) {
            *dtype = "float32".into();
        }
    }
    Ok(config)
}
