//! Writer of an encoder in the layout of sentence-transformers.

use std::path::Path;

use ir_core::{Side, VectorSimilarity};
use serde_json::Value;

use super::files::copy_tokenizer;
use super::late_interaction_format::STANFORD_CLASS;
use super::module_entry::SentenceTransformersModule;
use super::sentence_transformers::{LengthLimits, SentenceTransformersConfig};
use super::{BiEncoder, Tower};
use crate::error::ModelError;
use crate::model_folder::{create_folder, write_folder, write_json};
use crate::transformer::ModelWeights;

impl BiEncoder {
    /// Writes a folder in the layout of sentence-transformers, which sentence-transformers and
    /// [`BiEncoder::open`] read. With one tower per side, it has two such folders, `query` and
    /// `document`.
    ///
    /// Weights are written as f32, without pooler or head. LoRA adapters are merged; bottleneck
    /// adapters are files of their own, which sentence-transformers does not apply. Modules after
    /// pooling, such as Dense, and `truncate_dim` are written as they were read. Prefixes become
    /// prompts, the similarity function becomes `similarity_fn_name`; without one, it is `dot` if
    /// vectors are not normalized. sentence-transformers has one maximum length, the larger of both
    /// sides. If they differ, `ir_dense.json` has both for [`BiEncoder::open`]:
    /// `{"version": 1, "query": {"max_tokens": 32}, "document": {"max_tokens": 128}}`.
    ///
    /// # Errors
    /// If the folder exists and is not empty, cannot be written, a file of the model's original
    /// folder is missing, or vectors are truncated and then normalized
    /// ([`EncoderConfig::normalize`](super::EncoderConfig::normalize)). After an error the folder
    /// does not exist.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), ModelError> {
        let [query, document] = [Side::Query, Side::Document].map(|side| self.tower(side));
        write_folder(folder.as_ref(), |folder| {
            if std::ptr::eq(query, document) {
                return self.write(query, &[Side::Query, Side::Document], folder);
            }
            self.write(query, &[Side::Query], &folder.join("query"))?;
            self.write(document, &[Side::Document], &folder.join("document"))
        })
    }

    fn write(&self, tower: &Tower, sides: &[Side], folder: &Path) -> Result<(), ModelError> {
        if matches!(tower.weights, ModelWeights::Static { .. }) {
            tower.transformer()?;
        }
        create_folder(folder)?;
        tower.write_config(folder)?;
        let limit = |side| tower.limit(side, self.config().side(side));
        let limits = [Side::Query, Side::Document].map(limit);
        let differ = sides.len() == 2 && limits[0] != limits[1];
        if differ {
            LengthLimits::write(folder, limits)?;
        }
        let prompt = |side| {
            if sides.contains(&side) {
                tower.prefix(side, self.config().side(side)).to_owned()
            } else {
                String::new()
            }
        };
        let mut modules = tower.modules.write(folder, 2)?;
        let truncate_dim = tower.modules.truncate_dim();
        if tower.normalize {
            if let Some(dim) = truncate_dim {
                let expected = "none, as vectors are normalized after truncation, which \
                    sentence-transformers cannot record";
                let path = tower.folder.join("config_sentence_transformers.json");
                return Err(ModelError::setting(&path, "truncate_dim", expected, dim));
            }
            let number = 2 + modules.len();
            modules.push(SentenceTransformersModule::create_normalize(
                folder, number,
            )?);
        }
        // Without a name, the folder would have the cosine.
        let unnormalized = (!tower.normalize).then_some(VectorSimilarity::InnerProduct);
        let config = SentenceTransformersConfig {
            transformer: folder.into(),
            pooling: tower.pooling.clone(),
            include_prompt: tower.include_prompt,
            modules,
            truncate_dim,
            max_tokens: sides.iter().map(|&side| limit(side)).max(),
            side_tokens: if differ { limits.map(Some) } else { [None; 2] },
            texts: tower.tokenizer.texts,
            prompts: [Side::Query, Side::Document].map(prompt),
            similarity: self.similarity().or(unnormalized),
            ..SentenceTransformersConfig::default()
        };
        config.write(folder, tower.config().hidden_size)?;
        tower.transformer()?.write_weights(folder)
    }
}

impl Tower {
    /// Writes the tokenizer and `config.json` of an encoder.
    pub(crate) fn write_config(&self, folder: &Path) -> Result<(), ModelError> {
        let mut config = copy_tokenizer(&self.transformer_folder, folder)?;
        let definition = self.config().architecture.definition();
        let kind = config.get("model_type").and_then(Value::as_str);
        let is_other_kind = kind.is_some_and(|kind| !definition.model_types.contains(&kind));
        let classes = config.get("architectures");
        let is_stanford = classes.is_some_and(|classes| classes[0] == STANFORD_CLASS);
        // Encoders of DPR are saved as BERT, which they are.
        if is_other_kind {
            config.insert("model_type".into(), definition.model_types[0].into());
        }
        if is_other_kind || is_stanford {
            let class = format!("{}Model", definition.class);
            config.insert("architectures".into(), vec![class].into());
        }
        write_json(&folder.join("config.json"), &Value::Object(config))
    }
}
