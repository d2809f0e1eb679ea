use ir_fetch::DownloadError;

use crate::error::ModelError;

/// Error downloading a model from the hub. Partial files are kept and resumed by the next attempt;
/// the cache never contains an incomplete model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum HubError {
    /// The name is not a valid model name.
    #[error("expected a model name like intfloat/e5-small-v2 or name@revision, found {name:?}")]
    Name { name: String },
    /// `HF_HUB_OFFLINE` disables downloads.
    #[error("expected downloads to be enabled, found HF_HUB_OFFLINE set")]
    Offline,
    /// The model does not exist or is private; the hub's response does not distinguish these.
    /// `token`: whether a token was sent.
    #[error(
        "{endpoint} has no model {name}, or it is private and needs {}",
        if *token { "another token in HF_TOKEN" } else { "a token in HF_TOKEN" }
    )]
    NoModel {
        endpoint: String,
        name: String,
        token: bool,
    },
    /// The model has no such branch, tag or commit.
    #[error("{name} has no revision {revision:?}")]
    NoRevision { name: String, revision: String },
    /// The model is gated: its conditions must be accepted on the hub.
    #[error("{name} is gated: accept its conditions at {page} and set HF_TOKEN")]
    Gated { name: String, page: String },
    /// The hub's description of the model is not valid JSON of the expected structure.
    #[error("{url}: expected the description of a model")]
    Listing {
        url: String,
        #[source]
        source: serde_json::Error,
    },
    /// A field of the hub's description is invalid.
    #[error("{url}: expected {expected} in {field}, found {found:?}")]
    Field {
        url: String,
        field: String,
        expected: &'static str,
        found: String,
    },
    /// The model lacks a file that every encoder needs.
    #[error("{name} has no {expected}")]
    MissingFile {
        name: String,
        expected: &'static str,
    },
    /// This crate does not support the model. Its weights were not downloaded.
    #[error("{name} cannot be loaded")]
    Model {
        name: String,
        #[source]
        source: Box<ModelError>,
    },
    /// The model description or a file cannot be downloaded, or the cache cannot be written.
    #[error(transparent)]
    Download(DownloadError),
    /// The caller canceled the download. Partial files are kept.
    #[error("canceled")]
    Canceled,
}
