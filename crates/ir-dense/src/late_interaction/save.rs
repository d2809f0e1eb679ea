//! Writer of a multi-vector encoder in the layout of sentence-transformers.

use std::path::Path;

use ir_core::Side;
use serde_json::{Map, Value, json};

use super::MultiVectorEncoder;
use super::folder::TOKENS;
use crate::encode::module_entry::SentenceTransformersModule;
use crate::encode::sentence_transformers::LAYOUT_VERSION;
use crate::error::ModelError;
use crate::model_folder::{create_folder, read_json, write_bytes, write_folder, write_json};

/// Classes of sentence-transformers by their names.
const CLASSES: [(&str, &str); 4] = [
    (
        "Transformer",
        "sentence_transformers.base.modules.transformer.Transformer",
    ),
    ("Dense", "sentence_transformers.base.modules.dense.Dense"),
    (
        "MultiVectorMask",
        "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask",
    ),
    (
        "Normalize",
        "sentence_transformers.base.modules.normalize.Normalize",
    ),
];

impl MultiVectorEncoder {
    /// Writes a folder in the layout of sentence-transformers, which its `MultiVectorEncoder` and
    /// [`MultiVectorEncoder::open`] read. Weights are written as f32, with prefixes, maximum
    /// lengths, query expansion, skip list and similarity function of this encoder.
    ///
    /// ```no_run
    /// let encoder = ir_dense::MultiVectorEncoder::open("colbert")?;
    /// encoder.save("saved")?;
    /// # Ok::<(), ir_dense::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ModelError`] if the folder exists and is not empty, cannot be written, a file of
    /// the model's original folder is missing, or vectors are truncated
    /// ([`MultiVectorConfig::truncate_dim`](crate::MultiVectorConfig::truncate_dim)), which the
    /// folder cannot record. After an error the folder does not exist.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), ModelError> {
        write_folder(folder.as_ref(), |folder| self.write(folder))
    }

    fn write(&self, folder: &Path) -> Result<(), ModelError> {
        let (model, tower) = (self.folder(), self.tower());
        if let Some(dim) = tower.modules.truncate_dim() {
            let (path, field) = (&tower.folder, "truncate_dim");
            let expected = "none, as the folder cannot record truncation";
            return Err(ModelError::setting(path, field, expected, dim));
        }
        tower.write_config(folder)?;
        if model.has_markers {
            let json = tower.tokenizer.json()?;
            write_bytes(&folder.join("tokenizer.json"), json.as_bytes())?;
            let path = folder.join("tokenizer_config.json");
            if let Some(mut settings) = read_json::<Map<String, Value>>(&path)? {
                // The flags in `tokenizer.json` hold.
                settings.remove("added_tokens_decoder");
                write_json(&path, &Value::Object(settings))?;
            }
        }
        self.write_modules(folder)?;

        let limits = [Side::Query, Side::Document].map(|side| self.max_tokens(side));
        let is_fixed = model.expansion.as_ref().is_some_and(|it| it.is_fixed);
        let expansion = model.expansion.as_ref().zip(self.rules().expansion);
        let expansion = expansion.map(|(settings, resolved)| {
            json!({
                "strategy": if is_fixed { "fixed" } else { "min" },
                "attend": resolved.attend,
                "token": settings.token,
                "length": resolved.length,
            })
        });
        let output = json!({"method": "forward", "method_output_name": "last_hidden_state"});
        let module = json!({
            "transformer_task": "feature-extraction",
            "modality_config": {"text": output},
            "module_output_name": TOKENS,
            "max_seq_length": limits[0].max(limits[1]),
            "do_lower_case": tower.tokenizer.lowercases(),
            "query_length": (!is_fixed).then_some(limits[0]),
            "document_length": limits[1],
            "query_expansion": expansion,
        });
        write_json(&folder.join("sentence_bert_config.json"), &module)?;
        let config = json!({
            "__version__": {"sentence_transformers": LAYOUT_VERSION},
            "model_type": "MultiVectorEncoder",
            "prompts": {
                "query": self.prefix(Side::Query),
                "document": self.prefix(Side::Document),
            },
            "default_prompt_name": null,
            "similarity_fn_name": self.similarity().name(),
        });
        write_json(&folder.join("config_sentence_transformers.json"), &config)?;
        tower.transformer()?.write_weights(folder)
    }

    /// Writes `modules.json` and the folders of the modules after the transformer.
    fn write_modules(&self, folder: &Path) -> Result<(), ModelError> {
        let (mask, tower) = (&self.folder().mask, self.tower());
        let mut modules = vec![SentenceTransformersModule::new("", "Transformer")];
        modules.extend(tower.modules.write(folder, 1)?);
        let names = json!({"module_input_name": TOKENS, "module_output_name": TOKENS});
        let mask = mask.as_ref().map(|mask| ("MultiVectorMask", json!(mask)));
        let normalize = tower.normalize.then_some(("Normalize", names));
        for (name, config) in mask.into_iter().chain(normalize) {
            let path = format!("{}_{name}", modules.len());
            let module = SentenceTransformersModule::new(path, name);
            let own = folder.join(&module.path);
            create_folder(&own)?;
            write_json(&own.join("config.json"), &config)?;
            modules.push(module);
        }
        let entries = modules.iter().enumerate().map(|(number, module)| {
            let class = CLASSES.iter().find(|(name, _)| *name == module.name());
            let class = class.map_or(&module.class[..], |(_, class)| *class);
            json!({
                "idx": number, "name": number.to_string(), "path": module.path, "type": class,
            })
        });
        let entries = Value::Array(entries.collect());
        write_json(&folder.join("modules.json"), &entries)
    }
}
