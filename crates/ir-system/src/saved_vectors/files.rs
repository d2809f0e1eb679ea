//! Files and folders of vectors.

use std::path::Path;

use ir_core::store::{OpenIndexError, Verify};
use ir_knn::{FlatIndex, SegmentedVectorIndex};

use crate::error::SystemError;

/// Opens the vector index in a file or folder. `key` is its key or option, for errors.
///
/// # Errors
/// Returns [`SystemError::Parameter`] with the format of a file that is no vector index, and
/// [`SystemError::Stage`] for a damaged one.
pub fn open_vectors(
    key: &str,
    path: &Path,
    verify: Verify,
) -> Result<SegmentedVectorIndex, SystemError> {
    let opened = if SegmentedVectorIndex::exists(path) {
        SegmentedVectorIndex::open_with(path, verify)
    } else {
        FlatIndex::open_with(path, verify).map(SegmentedVectorIndex::from)
    };
    let found = match opened {
        Ok(vectors) => return Ok(vectors),
        Err(OpenIndexError::Directory { .. }) => "a folder",
        Err(OpenIndexError::NotAnIndex { found, .. }) => match found.as_str() {
            "" => "an empty file",
            found if found.starts_with("ir-bm25") || found.starts_with("ir-segs") => {
                "a BM25 index (written by `ir index`)"
            }
            found if found.contains("NUMPY") => "a .npy file, which has no ids",
            found if found.starts_with("ir-") => "another index",
            _ => "another file",
        },
        Err(error) => return Err(SystemError::stage("opening vectors")(error)),
    };
    let queries = match key {
        "--query-vectors" | "--engine-vectors" | "queries" => " --queries",
        _ => "",
    };
    let message = format!(
        "{}: expected vectors written by `ir encode MODEL COLLECTION{queries} -o FILE.ir`, found \
         {found}",
        path.display()
    );
    Err(SystemError::parameter(key, message))
}
