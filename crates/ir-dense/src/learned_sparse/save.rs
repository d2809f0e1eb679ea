//! Writer of a learned sparse encoder in the layout of sentence-transformers.

use std::path::Path;

use ir_core::Side;
use serde_json::{Value, json};

use super::SparseEncoder;
use super::encoder::SparseSide;
use super::folder::{CONFIG, MASKED_LM, MODEL_TYPE, PoolingConfig, SPLADE_POOLING};
use crate::encode::files::copy_tokenizer;
use crate::encode::sentence_transformers::LAYOUT_VERSION;
use crate::error::ModelError;
use crate::model_folder::{create_folder, write_folder, write_json, write_weights};
use crate::reader::{body_tensors, class_stem};

impl SparseEncoder {
    /// Writes a folder in the layout of sentence-transformers, which its `SparseEncoder`,
    /// `AutoModelForMaskedLM` of transformers and [`SparseEncoder::open`] read. Weights are written
    /// as f32, with prefixes, maximum lengths and pooling of this encoder.
    ///
    /// ```no_run
    /// let encoder = ir_dense::SparseEncoder::open("splade-tiny")?;
    /// encoder.save("saved")?;
    /// # Ok::<(), ir_dense::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ModelError`] if the model is not one masked language model for both sides, the
    /// folder exists and is not empty, cannot be written, or a file of the model's original folder
    /// is missing. After an error the folder does not exist.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), ModelError> {
        let folder = folder.as_ref();
        let Some(SparseSide::Splade {
            folder: splade,
            layers,
            ..
        }) = self.shared_side()
        else {
            let expected = "one masked language model for queries and documents";
            let found = "a model for each, or a weight per token";
            return Err(ModelError::setting(folder, "the model", expected, found));
        };
        let tower = &splade.tower;
        write_folder(folder, |folder| {
            let mut config = copy_tokenizer(&tower.transformer_folder, folder)?;
            let class = class_stem(&config, tower.config().architecture) + MASKED_LM;
            config.insert("architectures".into(), vec![class].into());
            write_json(&folder.join("config.json"), &Value::Object(config))?;
            write_modules(splade.pooling.config(), folder)?;
            let limits = [Side::Query, Side::Document].map(|side| self.max_tokens(side));
            let differ = limits[0] != limits[1];
            let [query, document] = limits.map(|limit| differ.then_some(limit));
            let output = json!({"method": "forward", "method_output_name": "logits"});
            let module = json!({
                "transformer_task": "fill-mask",
                "modality_config": {"text": output},
                "module_output_name": "token_embeddings",
                "max_seq_length": limits[0].max(limits[1]),
                "query_length": query,
                "document_length": document,
                "do_lower_case": tower.tokenizer.lowercases(),
            });
            write_json(&folder.join("sentence_bert_config.json"), &module)?;
            let prefix = |side| tower.prefix(side, self.config().side(side));
            let mut model = json!({
                "model_type": MODEL_TYPE,
                "prompts": {"query": prefix(Side::Query), "document": prefix(Side::Document)},
                "default_prompt_name": null,
                "similarity_fn_name": "dot",
            });
            if tower.tokenizer.texts.is_unchanged {
                model["__version__"] = json!({"sentence_transformers": LAYOUT_VERSION});
            }
            write_json(&folder.join(CONFIG), &model)?;
            let (_, mut tensors) = body_tensors(&tower.weights)?;
            tensors.extend(layers.named_tensors());
            write_weights(folder, &tensors)
        })
    }
}

/// Writes `modules.json` and the configuration of the pooling.
fn write_modules(pooling: PoolingConfig, folder: &Path) -> Result<(), ModelError> {
    let own = format!("1_{SPLADE_POOLING}");
    let modules = json!([
        {
            "idx": 0, "name": "0", "path": "",
            "type": "sentence_transformers.base.modules.transformer.Transformer",
        },
        {
            "idx": 1, "name": "1", "path": own,
            "type": "sentence_transformers.sparse_encoder.modules.splade_pooling.SpladePooling",
        },
    ]);
    write_json(&folder.join("modules.json"), &modules)?;
    create_folder(&folder.join(&own))?;
    write_json(&folder.join(own).join("config.json"), &json!(pooling))
}
