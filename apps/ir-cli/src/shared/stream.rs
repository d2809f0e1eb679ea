//! Paths of pipes and devices.

use std::fs;
use std::path::Path;

/// Returns `true` if `path` exists and is neither a file nor a folder.
pub(crate) fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|what| !what.is_file() && !what.is_dir())
}
