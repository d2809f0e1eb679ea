//! Files of a folder in BEIR's layout, for programs that must not overwrite them.

use std::path::{Path, PathBuf};

use crate::beir_layout::{SplitFiles, files, files_of_splits};
use crate::error::DataError;

/// Files that are read from a folder in [BEIR's layout](crate::beir): documents, queries and the
/// judgments of every split. A folder without some of them is valid.
///
/// ```
/// let folder = std::env::temp_dir().join(format!("ir-data-files-{}", std::process::id()));
/// std::fs::create_dir_all(folder.join("qrels"))?;
/// std::fs::write(folder.join("corpus.jsonl"), "")?;
/// std::fs::write(folder.join("notes.txt"), "")?;
/// std::fs::write(folder.join("qrels/test.tsv"), "")?;
/// let files = ir_data::beir_files(&folder)?;
/// assert_eq!(files, [folder.join("corpus.jsonl"), folder.join("qrels/test.tsv")]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`DataError::Read`] if the folder cannot be read, and [`DataError::NumberedPart`] if a
/// part of documents or queries is missing.
pub fn beir_files(folder: impl AsRef<Path>) -> Result<Vec<PathBuf>, DataError> {
    let root = folder.as_ref();
    let mut found = files(root, "corpus")?;
    found.extend(files(root, "queries")?);
    found.extend(files_of_splits(root)?.values().flat_map(SplitFiles::paths));
    Ok(found)
}
