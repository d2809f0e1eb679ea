//! Entries of `modules.json`.

use std::path::{Path, PathBuf};

use crate::error::ModelError;
use crate::model_folder::{create_folder, inner_path, read_json};

/// Entry of `modules.json`.
#[derive(serde::Deserialize, Debug, Clone, PartialEq)]
pub(crate) struct SentenceTransformersModule {
    pub(crate) path: String,
    #[serde(rename = "type")]
    pub(crate) class: String,
}

/// Returns the folder of the transformer: the one that `modules.json` names, or else the model
/// folder.
pub(crate) fn transformer_folder(folder: &Path) -> Result<PathBuf, ModelError> {
    let list = folder.join("modules.json");
    let modules = read_json::<Vec<SentenceTransformersModule>>(&list)?;
    match modules.iter().flatten().next() {
        Some(first) if first.name() == "Transformer" => {
            inner_path(&list, folder, &first.path, || "path of module 0".to_owned())
        }
        _ => Ok(folder.into()),
    }
}

impl SentenceTransformersModule {
    pub(crate) fn new(path: impl Into<String>, name: &str) -> Self {
        let path = path.into();
        let class = format!("sentence_transformers.models.{name}");
        Self { path, class }
    }

    /// Creates the folder of a Normalize module and returns its entry.
    pub(crate) fn create_normalize(folder: &Path, number: usize) -> Result<Self, ModelError> {
        let path = format!("{number}_Normalize");
        create_folder(&folder.join(&path))?;
        Ok(Self::new(path, "Normalize"))
    }

    /// Folder of the module, at a position of `modules.json` in the model folder.
    pub(crate) fn folder(&self, model: &Path, position: usize) -> Result<PathBuf, ModelError> {
        let field = || format!("path of module {position}");
        inner_path(&model.join("modules.json"), model, &self.path, field)
    }

    /// Error of a module of another class than expected.
    pub(crate) fn unexpected(
        &self,
        model: &Path,
        position: usize,
        expected: impl Into<String>,
    ) -> ModelError {
        let field = format!("module {position}");
        let found = format!("{} in {:?}", self.class, self.path);
        ModelError::setting(&model.join("modules.json"), field, expected, found)
    }

    /// Name of the class without its Python module, which differs between versions; empty for a
    /// class of another package.
    pub(crate) fn name(&self) -> &str {
        let own = self.class.strip_prefix("sentence_transformers.");
        own.map_or("", |class| class.rsplit('.').next().unwrap_or(class))
    }
}
