//! An encoder as a folder that sentence-transformers loads.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use burn::tensor::Tensor;
use ir_core::{AtomicFile, Side};
use serde_json::{Map, Value, json};

use crate::folder::{Own, Sentences};
use crate::safetensors_file::{self, Entry};
use crate::train::TrainError;
use crate::transformer::Names;
use crate::{BiEncoder, Pooling, Similarity, Tower, Transformer, folder};

/// What tokenisers are kept in, by all families.
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

impl BiEncoder {
    /// Writes a folder in the Hugging Face layout with sentence-transformers' files, which both
    /// sentence-transformers and [`BiEncoder::open`] read; an encoder with a tower for each side
    /// becomes two such folders in one, `query` and `document`.
    ///
    /// Weights are written in 32 bits; a pooler or a head that the first model had is left out.
    /// Prefixes become prompts, the similarity `similarity_fn_name`. sentence-transformers knows one
    /// length limit: the larger one of both sides. Where they differ, the file `ir_dense.json` beside
    /// it has both for [`BiEncoder::open`]:
    /// `{"version": 1, "query": {"max_tokens": 32}, "document": {"max_tokens": 128}}`.
    ///
    /// # Errors
    /// When the folder is there already and not empty, or cannot be written; then nothing of it is
    /// there. When a file of the model's own folder is no longer there.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), TrainError> {
        let [query, document] = [Side::Query, Side::Document].map(|side| self.tower(side));
        in_one_go(folder.as_ref(), |folder| {
            if std::ptr::eq(query, document) {
                return self.write(query, &[Side::Query, Side::Document], folder);
            }
            self.write(query, &[Side::Query], &folder.join("query"))?;
            self.write(document, &[Side::Document], &folder.join("document"))
        })
    }

    fn write(&self, tower: &Tower, sides: &[Side], folder: &Path) -> Result<(), TrainError> {
        fs::create_dir_all(folder).map_err(write_error(folder))?;
        for name in TOKENIZER_FILES {
            let (from, to) = (tower.folder.join(name), folder.join(name));
            if from.exists() {
                let bytes =
                    fs::read(&from).map_err(|source| TrainError::Read { path: from, source })?;
                save_bytes(&to, &bytes)?;
            }
        }
        let path = tower.folder.join("config.json");
        let config = folder::json::<Map<String, Value>>(&path)?;
        let mut config = config.ok_or_else(|| TrainError::Read {
            path,
            source: io::ErrorKind::NotFound.into(),
        })?;
        for name in ["torch_dtype", "dtype"] {
            if let Some(number) = config.get_mut(name) {
                *number = "float32".into();
            }
        }
        save_json(&folder.join("config.json"), &Value::Object(config))?;

        let limit = |side| {
            let limit = self.config().side(side).max_tokens;
            limit.unwrap_or(tower.limit(side))
        };
        let limits = [Side::Query, Side::Document].map(limit);
        if sides.len() == 2 && limits[0] != limits[1] {
            let own = serde_json::to_value(Own::new(limits)).unwrap_or_default();
            save_json(&folder.join(Own::FILE), &own)?;
        }
        let prompt = |side| {
            let prefix = self.config().side(side).prefix.as_deref();
            let prefix = prefix.unwrap_or(tower.prompt(side));
            match sides.contains(&side) {
                true => prefix.to_owned(),
                false => String::new(),
            }
        };
        let sentences = Sentences {
            pooling: tower.pooling,
            normalize: tower.normalize,
            max_tokens: sides.iter().map(|&side| limit(side)).max(),
            lowercase: tower.tokens.lowercase(),
            query_prompt: prompt(Side::Query),
            document_prompt: prompt(Side::Document),
            similarity: self.similarity(),
        };
        sentences.write(folder, tower.model.config().hidden)?;
        save_weights(folder, &tower.model)
    }
}

impl Sentences {
    /// Writes sentence-transformers' files; `hidden` is the length of a vector.
    pub(crate) fn write(&self, folder: &Path, hidden: usize) -> Result<(), TrainError> {
        let pooling = folder.join("1_Pooling");
        fs::create_dir_all(&pooling).map_err(write_error(&pooling))?;
        let mode = |mode| self.pooling == mode;
        let modes = json!({
            "word_embedding_dimension": hidden,
            "pooling_mode_cls_token": mode(Pooling::Cls),
            "pooling_mode_mean_tokens": mode(Pooling::Mean),
            "pooling_mode_max_tokens": mode(Pooling::Max),
            "pooling_mode_mean_sqrt_len_tokens": mode(Pooling::MeanSqrt),
            "include_prompt": true,
        });
        save_json(&pooling.join("config.json"), &modes)?;
        let mut modules = vec![("", "Transformer"), ("1_Pooling", "Pooling")];
        if self.normalize {
            let empty = folder.join("2_Normalize");
            fs::create_dir_all(&empty).map_err(write_error(&empty))?;
            modules.push(("2_Normalize", "Normalize"));
        }
        let modules = modules.iter().enumerate().map(|(number, (path, kind))| {
            let kind = format!("sentence_transformers.models.{kind}");
            json!({"idx": number, "name": number.to_string(), "path": path, "type": kind})
        });
        save_json(
            &folder.join("modules.json"),
            &Value::Array(modules.collect()),
        )?;
        let limits = json!({
            "max_seq_length": self.max_tokens,
            "do_lower_case": self.lowercase,
        });
        save_json(&folder.join("sentence_bert_config.json"), &limits)?;
        let prompts: Map<String, Value> = [
            ("query", &self.query_prompt),
            ("document", &self.document_prompt),
        ]
        .into_iter()
        .filter(|(_, prompt)| !prompt.is_empty())
        .map(|(side, prompt)| (side.into(), prompt.as_str().into()))
        .collect();
        let similarity = self.similarity.map(Similarity::name);
        let prompts = json!({
            "prompts": prompts, "default_prompt_name": null, "similarity_fn_name": similarity,
        });
        save_json(&folder.join("config_sentence_transformers.json"), &prompts)
    }
}

/// Writes a folder beside its destination and then renames it, so that it is there whole or not at
/// all.
pub(crate) fn in_one_go(
    folder: &Path,
    write: impl FnOnce(&Path) -> Result<(), TrainError>,
) -> Result<(), TrainError> {
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(write_error(folder)(io::ErrorKind::DirectoryNotEmpty.into()));
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = format!(".{name}.{}.tmp", std::process::id());
    let unfinished = folder.with_file_name(unfinished);
    let rename = |()| {
        let _ = fs::remove_dir(folder);
        sync(&unfinished);
        fs::rename(&unfinished, folder).map_err(write_error(folder))?;
        let parent = folder.parent().filter(|p| !p.as_os_str().is_empty());
        sync(parent.unwrap_or(Path::new(".")));
        Ok(())
    };
    write(&unfinished).and_then(rename).inspect_err(|_| {
        let _ = fs::remove_dir_all(&unfinished);
    })
}

/// Writes `model.safetensors`.
pub(crate) fn save_weights(folder: &Path, model: &Transformer) -> Result<(), TrainError> {
    let path = folder.join("model.safetensors");
    let write = || {
        let mut file = AtomicFile::create(&path)?;
        let metadata = BTreeMap::from([("format", "pt".to_owned())]);
        safetensors_file::write(&mut file, &metadata, &tensors(model))?;
        file.commit()
    };
    write().map_err(write_error(&path))
}

pub(crate) fn write_error(path: &Path) -> impl Fn(io::Error) -> TrainError {
    let path: PathBuf = path.into();
    move |source| TrainError::Write {
        path: path.clone(),
        source,
    }
}

pub(crate) fn save_json(path: &Path, value: &Value) -> Result<(), TrainError> {
    let text = serde_json::to_string_pretty(value).map_err(io::Error::other);
    let text = text.map_err(write_error(path))?;
    save_bytes(path, (text + "\n").as_bytes())
}

/// Writes a file that is on the disk then: what it was made of may be deleted next.
pub(crate) fn save_bytes(path: &Path, bytes: &[u8]) -> Result<(), TrainError> {
    let write = || {
        let mut file = AtomicFile::create(path)?;
        file.write_all(bytes)?;
        file.commit()
    };
    write().map_err(write_error(path))
}

/// Names reach the disk with their folder; not every system lets one sync it.
fn sync(folder: &Path) {
    if let Ok(folder) = fs::File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// The weights as the family names and lays them out: matrices as `[to, from]`, queries, keys and
/// values apart.
fn tensors(model: &Transformer) -> Vec<Entry> {
    let names = Names::plain(model.config().architecture);
    let mut entries = Vec::new();
    let mut matrix = |name: String, values: Tensor<2>| {
        let shape = values.dims().into();
        let values = values.flatten(0, 1);
        entries.push(Entry {
            name,
            shape,
            values,
        });
    };
    let table = |part: &str| format!("embeddings.{part}_embeddings.weight");
    matrix(table("word"), model.words.val());
    matrix(table("position"), model.positions.val());
    if let Some(types) = &model.types {
        matrix(table("token_type"), types.val());
    }
    if let Some(relative) = &model.relative {
        matrix(
            "encoder.relative_attention_bias.weight".into(),
            relative.val(),
        );
    }
    let mut vectors: Vec<(String, Option<Tensor<1>>)> = Vec::new();
    let mut norm = |name: String, norm: &burn::nn::LayerNorm| {
        vectors.push((format!("{name}.weight"), Some(norm.gamma.val())));
        vectors.push((
            format!("{name}.bias"),
            norm.beta.as_ref().map(|beta| beta.val()),
        ));
    };
    norm("embeddings.LayerNorm".into(), &model.norm);
    for (number, layer) in model.layers.iter().enumerate() {
        norm(names.layer(number, "attention_norm"), &layer.attention_norm);
        norm(names.layer(number, "norm"), &layer.norm);
    }
    for (number, layer) in model.layers.iter().enumerate() {
        let hidden = model.config().hidden;
        for (part, name) in ["query", "key", "value"].into_iter().enumerate() {
            let name = names.layer(number, name);
            let columns = part * hidden..(part + 1) * hidden;
            let weight = layer.qkv.weight.val().slice([0..hidden, columns.clone()]);
            matrix(format!("{name}.weight"), weight.transpose());
            let bias = layer
                .qkv
                .bias
                .as_ref()
                .map(|bias| bias.val().slice([columns]));
            vectors.push((format!("{name}.bias"), bias));
        }
        let others = [
            ("output", &layer.output),
            ("up", &layer.up),
            ("down", &layer.down),
        ];
        for (part, linear) in others {
            let name = names.layer(number, part);
            matrix(format!("{name}.weight"), linear.weight.val().transpose());
            vectors.push((
                format!("{name}.bias"),
                linear.bias.as_ref().map(|b| b.val()),
            ));
        }
    }
    for (name, values) in vectors {
        if let Some(values) = values {
            let shape = values.dims().into();
            entries.push(Entry {
                name,
                shape,
                values,
            });
        }
    }
    entries
}
