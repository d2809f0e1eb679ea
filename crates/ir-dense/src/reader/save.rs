//! Writer of a reader in the layout of transformers.

use std::path::Path;

use serde_json::{Map, Value};

use super::ExtractiveReader;
use crate::encode::files::copy_tokenizer;
use crate::error::ModelError;
use crate::model_folder::{Architecture, NamedTensor, write_folder, write_json, write_weights};
use crate::transformer::ModelWeights;

impl ExtractiveReader {
    /// Writes a folder in the layout of transformers, which `AutoModelForQuestionAnswering` and
    /// [`ExtractiveReader::open`] read. Weights are written as f32.
    ///
    /// # Errors
    /// If the folder exists and is not empty, cannot be written, or a file of the model's original
    /// folder is missing. After an error the folder does not exist.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<(), ModelError> {
        write_folder(folder.as_ref(), |folder| self.write(folder))
    }

    fn write(&self, folder: &Path) -> Result<(), ModelError> {
        let mut config = copy_tokenizer(&self.folder, folder)?;
        let architecture = self.weights.config().architecture;
        let class = class_stem(&config, architecture) + "ForQuestionAnswering";
        config.insert("architectures".into(), vec![class].into());
        write_json(&folder.join("config.json"), &Value::Object(config))?;

        let (_, mut tensors) = body_tensors(&self.weights)?;
        tensors.extend(self.head.named_tensors());
        write_weights(folder, &tensors)
    }
}

/// Returns the prefix of the transformer's tensors in classes with a head, such as `bert.`, and the
/// tensors with it.
pub(crate) fn body_tensors(
    weights: &ModelWeights,
) -> Result<(String, Vec<NamedTensor>), ModelError> {
    let prefix = match weights.config().architecture.definition().body {
        "" => String::new(),
        body => format!("{body}."),
    };
    let tensors = weights.transformer()?.named_tensors().into_iter();
    let tensors = tensors.map(|tensor| NamedTensor {
        name: format!("{prefix}{}", tensor.name),
        ..tensor
    });
    let tensors = tensors.collect();
    Ok((prefix, tensors))
}

/// Start of the names of the model's classes, such as `Bert`.
pub(crate) fn class_stem(config: &Map<String, Value>, architecture: Architecture) -> String {
    let class = config.get("architectures").and_then(|it| it[0].as_str());
    let stem = class.map(|class| {
        let end = class.find("For").or_else(|| class.find("Model"));
        &class[..end.unwrap_or(class.len())]
    });
    let stem = stem.filter(|stem| !stem.is_empty());
    stem.unwrap_or(architecture.definition().class).to_owned()
}
