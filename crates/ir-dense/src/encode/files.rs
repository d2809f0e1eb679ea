//! Names of the files of a model folder.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::router::{ROUTER_CONFIG, all_modules};
use super::tokenizer_files::tokenizer_folder;
use super::transformer_module::SENTENCE_BERT_CONFIGS;
use crate::error::ModelError;
use crate::model_folder::{
    ADAPTER_CONFIG, ADAPTER_WEIGHTS, SAFETENSORS_INDEX, base_folder, read_bytes, read_json,
    shard_names, write_bytes,
};

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

/// Chat template beside the tokenizer.
pub(crate) const CHAT_TEMPLATE: &str = "chat_template.jinja";
/// Settings of Stanford's ColBERT.
pub(crate) const STANFORD_METADATA: &str = "artifact.metadata";

/// Configurations and weights, without the shards that an index names.
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
/// of the modules of sentence-transformers, such as `1_Pooling` and `2_Dense`, of the routes of a
/// Router, shards, and the files of adapters and their base models.
///
/// ```
/// let files = ir_dense::model_files("all-MiniLM-L6-v2".as_ref());
/// assert!(files.iter().any(|file| file.ends_with("all-MiniLM-L6-v2/tokenizer.json")));
/// assert!(files.iter().any(|file| file.ends_with("query/model.safetensors")));
/// ```
#[must_use]
pub fn model_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let parts = ["", "query", "document"].map(|part| folder.join(part));
    for part in &parts {
        files.extend(names().map(|name| part.join(name)));
        let modules = fs::read_dir(part).into_iter().flatten().flatten();
        files.extend(modules.map(|module| module.path().join("config.json")));
    }
    // After the files above: the order is part of the keys of caches.
    for part in &parts {
        let folders = all_modules(part).into_iter();
        let folders: Vec<PathBuf> = folders.map(|path| part.join(path)).collect();
        let of_modules = folders
            .iter()
            .flat_map(|own| names().map(|name| own.join(name)));
        let mut others: Vec<PathBuf> = of_modules.collect();
        let routers = folders.iter().chain([part]);
        others.extend(routers.map(|own| own.join(ROUTER_CONFIG)));
        let bases = folders
            .iter()
            .chain([part])
            .filter(|own| own.join(ADAPTER_CONFIG).exists());
        let bases: Vec<PathBuf> = bases
            .flat_map(|own| {
                let names = [ADAPTER_CONFIG].into_iter().chain(ADAPTER_WEIGHTS);
                others.extend(names.map(|name| own.join(name)));
                base_folder(own).ok().filter(|base| base != own)
            })
            .collect();
        others.extend(
            bases
                .iter()
                .flat_map(|base| names().map(|name| base.join(name))),
        );
        for own in folders.iter().chain([part]).chain(&bases) {
            let shards = shard_names(&own.join(SAFETENSORS_INDEX)).ok().flatten();
            others.extend(shards.into_iter().flatten().map(|name| own.join(name)));
        }
        others.push(part.join(STANFORD_METADATA));
        others.retain(|file| !files.contains(file));
        files.extend(others);
    }
    files
}

/// Names of the files of a model.
fn names() -> impl Iterator<Item = &'static str> {
    let names = CONFIG_AND_WEIGHT_FILES.into_iter().chain(TOKENIZER_FILES);
    names.chain(SENTENCE_BERT_CONFIGS)
}

/// Copies the tokenizer files of a model folder to another one. Returns its `config.json`, changed
/// to weights in f32.
pub(crate) fn copy_tokenizer(from: &Path, to: &Path) -> Result<Map<String, Value>, ModelError> {
    let tokenizer = tokenizer_folder(from)?;
    for name in TOKENIZER_FILES.into_iter().chain([CHAT_TEMPLATE]) {
        if let Some(bytes) = read_bytes(&tokenizer.join(name))? {
            write_bytes(&to.join(name), &bytes)?;
        }
    }
    let config = base_folder(from)?.join("config.json");
    let config = read_json::<Map<String, Value>>(&config)?;
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
