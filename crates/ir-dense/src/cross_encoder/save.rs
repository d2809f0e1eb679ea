//! Writer of a cross-encoder in the layout of sentence-transformers.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::CrossEncoder;
use super::head::ClassificationHead;
use crate::encode::files::copy_tokenizer;
use crate::encode::sentence_transformers::LAYOUT_VERSION;
use crate::error::ModelError;
use crate::model_folder::{write_folder, write_json, write_weights};
use crate::reader::{body_tensors, class_stem};

impl CrossEncoder {
    /// Writes a folder in the layout of sentence-transformers, which its `CrossEncoder`,
    /// `AutoModelForSequenceClassification` of transformers and [`CrossEncoder::open`] read.
    /// Weights are written as f32, with prompt, maximum length and activation function of this
    /// model.
    ///
    /// # Errors
    /// If the model has no classification head but token logits or modules, the folder exists and
    /// is not empty, cannot be written, or a file of the model's original folder is missing. After
    /// an error the folder does not exist.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), ModelError> {
        let Some(head) = self.head.classification() else {
            let expected = "a classification head, which the folder can contain";
            let found = "a head of modules or token logits";
            let path = &self.folder;
            return Err(ModelError::setting(path, "the model", expected, found));
        };
        write_folder(folder.as_ref(), |folder| self.write(head, folder))
    }

    fn write(&self, head: &ClassificationHead, folder: &Path) -> Result<(), ModelError> {
        let mut config = copy_tokenizer(&self.folder, folder)?;
        let architecture = self.weights.config().architecture;
        let class = class_stem(&config, architecture) + "ForSequenceClassification";
        config.insert("architectures".into(), vec![class].into());
        let labels = 0..self.labels();
        let named = labels
            .clone()
            .map(|label| (label.to_string(), json!(format!("LABEL_{label}"))));
        let numbers = labels.map(|label| (format!("LABEL_{label}"), json!(label)));
        config.insert("id2label".into(), Value::Object(named.collect()));
        config.insert("label2id".into(), Value::Object(numbers.collect()));
        config.remove("num_labels");
        config.remove("sbert_ce_default_activation_function");
        let activation = self.activation.path();
        let table = json!({"activation_fn": activation, "version": LAYOUT_VERSION});
        config.insert("sentence_transformers".into(), table);
        write_json(&folder.join("config.json"), &Value::Object(config))?;

        let modules = json!([{
            "idx": 0, "name": "0", "path": "",
            "type": "sentence_transformers.base.modules.transformer.Transformer",
        }]);
        write_json(&folder.join("modules.json"), &modules)?;
        let output = json!({"method": "forward", "method_output_name": "logits"});
        let mut modalities = Map::new();
        modalities.insert("text".into(), output.clone());
        if let Some(format) = self.pairs.message_format() {
            let mut message = output;
            message["format"] = format.into();
            modalities.insert("message".into(), message);
        }
        let module = json!({
            "transformer_task": "sequence-classification",
            "modality_config": modalities,
            "module_output_name": "scores",
            "max_seq_length": self.max_tokens(),
            "do_lower_case": self.tokenizer.lowercases(),
        });
        write_json(&folder.join("sentence_bert_config.json"), &module)?;
        let mut prompts = Map::new();
        if !self.prompt().is_empty() {
            prompts.insert("query".into(), self.prompt().into());
        }
        let model = json!({
            "__version__": {"sentence_transformers": LAYOUT_VERSION},
            "model_type": "CrossEncoder",
            "activation_fn": activation,
            "default_prompt_name": prompts.keys().next(),
            "prompts": prompts,
        });
        write_json(&folder.join("config_sentence_transformers.json"), &model)?;

        let (prefix, mut tensors) = body_tensors(&self.weights)?;
        tensors.extend(head.named_tensors(&prefix));
        write_weights(folder, &tensors)
    }
}
