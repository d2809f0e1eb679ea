//! Collections from their public addresses (feature `fetch`).
//!
//! A download goes into a hidden file beside its destination, `.name.part`. When the connection
//! breaks, it goes on where it broke, now or in a later run, if the server can do that; if not, it
//! starts again. The file appears under its name once its size and SHA-256 are right.
//!
//! ```no_run
//! use ir_core::NoProgress;
//! let catalogue = ir_data::catalogue::Catalogue::at("collections");
//! catalogue.fetch("beir/nfcorpus", &mut NoProgress)?;
//! let collection = catalogue.open("beir/nfcorpus")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod download;

use std::error::Error;

pub use download::Download;

use crate::DataError;

/// Why something could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The server could not be reached, or did not speak HTTP.
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
    /// The server said no.
    #[error("{url}: expected the file, found HTTP status {status}")]
    Status {
        /// The address.
        url: String,
        /// The status: 404, 503, ...
        status: u16,
    },
    /// The connection broke again and again. What arrived is kept for the next attempt.
    #[error("{url}: expected {expected} bytes, found the connection cut after {found}")]
    Cut {
        /// The address.
        url: String,
        /// How many bytes there should be, or 0 when that is not known.
        expected: u64,
        /// How many arrived.
        found: u64,
    },
    /// The file has another size than it should.
    #[error("{url}: expected {expected} bytes, found {found}")]
    Size {
        /// The address.
        url: String,
        /// How many bytes there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// The file has another content than it should. What arrived is gone.
    #[error("{url}: expected SHA-256 {expected}, found {found}")]
    Sha256 {
        /// The address.
        url: String,
        /// The hash that is known, in hexadecimal digits.
        expected: String,
        /// The hash of what arrived.
        found: String,
    },
    /// The collection has no public address.
    #[error(
        "expected a collection with a public address, found {collection:?}, which comes from {origin}"
    )]
    NoAddress {
        /// The collection.
        collection: String,
        /// Where it comes from.
        origin: String,
    },
    /// The archive is damaged, or does not hold a file that it should.
    #[error("{path}: expected {expected:?} in the archive, found it missing or damaged")]
    Archive {
        /// The archive.
        path: String,
        /// The file in it.
        expected: String,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A file could not be read or written, or the caller asked to stop.
    #[error(transparent)]
    Data(#[from] DataError),
}
