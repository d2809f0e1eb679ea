//! Why a model cannot be fetched.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use crate::ModelError;

/// Why a model could not be fetched from the hub. What was fetched of it is kept and gone on with by
/// the next attempt; the cache holds the model whole or not at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// The name is none that the hub could have.
    #[error("expected a model's name like intfloat/e5-small-v2 or name@revision, found {name:?}")]
    Name {
        /// What was asked for.
        name: String,
    },
    /// There is no home directory, and no variable that says where the cache is.
    #[error(
        "expected a folder for models in HF_HOME, found neither that variable nor a home directory"
    )]
    NoCache,
    /// The variable `HF_HUB_OFFLINE` forbids it.
    #[error("expected to be allowed to download, found HF_HUB_OFFLINE set")]
    Offline,
    /// The hub could not be reached, or did not speak HTTP.
    #[error("{url}: no answer after {attempts} attempts")]
    NoAnswer {
        /// The address.
        url: String,
        /// How often it was tried.
        attempts: u32,
        /// The last reason.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The hub does not have the model, or hides it: it does not tell which.
    #[error(
        "{endpoint} has no model {name}, or it is private and needs {}",
        if *token { "another token in HF_TOKEN" } else { "a token in HF_TOKEN" }
    )]
    NoModel {
        /// The hub.
        endpoint: String,
        /// The model.
        name: String,
        /// Whether a token was sent.
        token: bool,
    },
    /// The model has no such branch, tag or commit.
    #[error("{name} has no revision {revision:?}")]
    NoRevision {
        /// The model.
        name: String,
        /// What was asked for.
        revision: String,
    },
    /// The model is given only to those who accept its conditions.
    #[error(
        "{name} is given to those only who accept its conditions at {page} and send their token in HF_TOKEN"
    )]
    Gated {
        /// The model.
        name: String,
        /// Where its conditions are.
        page: String,
    },
    /// The hub said no.
    #[error("{url}: expected an answer, found HTTP status {status}")]
    Status {
        /// The address.
        url: String,
        /// The status: 404, 503, ...
        status: u16,
    },
    /// The hub's description of the model is not what it should be.
    #[error("{url}: not the hub's description of a model")]
    Answer {
        /// The address.
        url: String,
        /// Where and what.
        #[source]
        source: serde_json::Error,
    },
    /// A value in the hub's description of the model cannot be.
    #[error("{url}: {field} is {found:?}, expected {expected}")]
    Field {
        /// The address.
        url: String,
        /// Which one.
        field: String,
        /// What would do.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// The model lacks a file that every encoder has.
    #[error("{name} has no {expected}")]
    Missing {
        /// The model.
        name: String,
        /// The names that would do.
        expected: &'static str,
    },
    /// The model is none that this crate can load. Its weights were not downloaded.
    #[error("{name} cannot be loaded")]
    Model {
        /// The model.
        name: String,
        /// Why.
        #[source]
        source: Box<ModelError>,
    },
    /// The connection broke again and again. What arrived is kept for the next attempt.
    #[error("{url}: expected {expected} bytes, found the connection cut after {found}")]
    Cut {
        /// The address.
        url: String,
        /// How many bytes there should be.
        expected: u64,
        /// How many arrived.
        found: u64,
    },
    /// A file has another size than the hub says.
    #[error("{url}: expected {expected} bytes, found {found}")]
    Size {
        /// The address.
        url: String,
        /// How many bytes there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// A file has another content than the hub says. What arrived is gone.
    #[error("{url}: expected {hash} {expected}, found {found}")]
    Hash {
        /// The address.
        url: String,
        /// Which hash: SHA-256, or SHA-1 as git computes it.
        hash: &'static str,
        /// What it should be, in hexadecimal digits.
        expected: String,
        /// The hash of what arrived.
        found: String,
    },
    /// A file or folder of the cache cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// A file or folder of the cache cannot be written. What arrived is kept.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The caller asked to stop. What arrived is kept.
    #[error("cancelled")]
    Cancelled,
}
