//! Messages about models that do not exist, and the similarity of a model's vectors.

use ir_core::VectorSimilarity;
use ir_dense::{FindModelError, KnownModel, ModelCache};

use crate::suggest::did_you_mean;

/// Returns the message of a model that does not exist. It says how to get the model, or names the
/// closest known one.
///
/// ```
/// use ir_dense::ModelFolder;
/// use ir_system::model::missing_model;
/// let error = ModelFolder::find("no/such/model".as_ref()).unwrap_err();
/// assert!(missing_model(&error).starts_with("no/such/model: expected a model folder"));
/// ```
#[must_use]
pub fn missing_model(error: &FindModelError) -> String {
    match error {
        FindModelError::NotCached { known, .. } => {
            format!("{error}; `ir models fetch {}` downloads it", known.name)
        }
        FindModelError::Unknown { path, cache } => format!(
            "{error} (`ir models` lists the models that can be fetched){}",
            suggested_model(path.to_str().unwrap_or_default(), cache)
        ),
        other => other.to_string(),
    }
}

/// Returns the end of an error message with the name of a known or cached model that is closest to
/// an unknown name.
#[must_use]
pub fn suggested_model(name: &str, cache: &ModelCache) -> String {
    let cached = cache.names();
    let known = KnownModel::all().iter().map(|known| known.name);
    did_you_mean(name, known.chain(cached.iter().map(String::as_str)))
}

/// Returns the vector similarity of an index for a model's vectors: the one it was trained with;
/// inner product if unknown.
#[must_use]
pub fn similarity(trained: Option<VectorSimilarity>) -> VectorSimilarity {
    trained.unwrap_or_default()
}
