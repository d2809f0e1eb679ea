//! Files of vectors: a vector index, or a .npy file that is converted from one.

use std::ffi::OsString;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ir_core::store::{AtomicFile, Verify};
use ir_knn::{FlatIndex, npy};

use crate::shared::output::{create, failed, follow_links};

/// Writes the vectors of an index as a .npy file, atomically.
pub(crate) fn write_npy(index: &Path, path: &Path) -> Result<()> {
    let index = FlatIndex::open_with(index, Verify::AllSections)?;
    let mut out = BufWriter::new(create(path)?);
    let file = npy::write(index.vectors(), &mut out)
        .and_then(|()| out.into_inner().map_err(|error| error.into_error()));
    file.and_then(AtomicFile::commit)
        .with_context(|| failed(path.display()))
}

pub(crate) fn is_npy(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("npy"))
}

/// Path of the index that is written: the output, or a temporary index that becomes the .npy file.
pub(crate) fn index_path(path: &Path) -> PathBuf {
    if is_npy(path) {
        with_suffix(path, ".vectors")
    } else {
        follow_links(path)
    }
}

pub(crate) fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}
