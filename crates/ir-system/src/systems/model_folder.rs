//! Model folders by the key `model`: found by path or name, the hashes of their files, and
//! precisions.

use std::path::{Path, PathBuf};

use ir_dense::{ModelFolder, Precision, model_files};

use crate::entries::PrecisionName;
use crate::error::SystemError;
use crate::model::missing_model;
use crate::source::SourceMap;
use crate::system::SystemContext;

/// Key of the model of an entry.
pub(crate) const MODEL_KEY: &str = "model";

impl From<PrecisionName> for Precision {
    fn from(name: PrecisionName) -> Self {
        match name {
            PrecisionName::F32 => Self::F32,
            PrecisionName::Bf16 => Self::Bf16,
            PrecisionName::Int8 => Self::Int8,
        }
    }
}

/// Finds a model folder by its path, or by the name of a downloaded model.
///
/// # Errors
/// Returns [`SystemError::Missing`] if there is none. It says how to get the model, or names the
/// closest known one.
pub(crate) fn find_model(source: &SourceMap, model: &str) -> Result<ModelFolder, SystemError> {
    let path = source.resolve(MODEL_KEY, model)?;
    let found = if path.exists() {
        ModelFolder::find(&path)
    } else {
        ModelFolder::find(model.as_ref())
    };
    found.map_err(|error| SystemError::missing(MODEL_KEY, missing_model(&error)))
}

/// Names and hashes of the files of a model folder.
///
/// # Errors
/// Returns [`SystemError::Parameter`] of the key `model` if the folder has no files of a model.
pub(crate) fn folder_content(
    context: &SystemContext<'_>,
    folder: &Path,
) -> Result<String, SystemError> {
    let files = files_of(folder);
    if files.is_empty() {
        let message = format!("{}: expected a model folder", folder.display());
        return Err(SystemError::parameter(MODEL_KEY, message));
    }
    let mut content = String::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let hash = context.file_hash(&file)?;
        content.push_str(&format!(" {name}:{hash}"));
    }
    Ok(content)
}

/// Files of a model folder that exist, sorted.
pub(crate) fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut files = model_files(folder);
    files.retain(|file| file.is_file());
    files
}
