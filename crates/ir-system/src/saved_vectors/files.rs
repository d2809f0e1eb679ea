//! Files and folders of vectors, of texts and of tokens.

use std::path::Path;

use ir_core::store::{OpenIndexError, Verify};
use ir_knn::{FlatIndex, SegmentedTokenStore, SegmentedVectorIndex, TokenStore};

use super::other_formats::read_vectors;
use crate::error::SystemError;

/// Opens the vector index in a file or folder. `key` is its key or option, for errors.
///
/// Vectors of other encoders are read into memory, possibly compressed, and compared by inner
/// product:
///
/// | file | content |
/// |---|---|
/// | `docs.npy`, `docs.ids` | array of one row per vector; one id per line |
/// | `docs.fvecs`, `docs.ids` | rows of a 32-bit dimension and 32-bit floats; one id per line |
/// | JSON lines, JSON array | records with `id`, a string or an integer, and `vector`, numbers |
/// | Parquet, Arrow | ids and vectors, as [`read_vectors`](ir_data::columnar::read_vectors) says |
///
/// ```
/// use ir_core::store::Verify;
/// use ir_system::saved_vectors::open_vectors;
/// let path = std::env::temp_dir().join(format!("ir-system-vectors-{}.jsonl", std::process::id()));
/// std::fs::write(&path, "{\"id\": \"d1\", \"vector\": [0.6, 0.8]}\n")?;
/// let vectors = open_vectors("vectors", &path, Verify::AllSections)?;
/// assert_eq!((vectors.len(), vectors.dim()), (1, 2));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`SystemError::Parameter`] with the format of a file without vectors, or with the line
/// of invalid vectors or ids, and [`SystemError::Stage`] for a damaged index.
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
    if let Err(OpenIndexError::NotAnIndex { .. }) = opened {
        let read = read_vectors(path).map_err(|message| SystemError::parameter(key, message))?;
        if let Some(vectors) = read {
            return Ok(vectors.into());
        }
    }
    let found = match opened {
        Ok(vectors) => return Ok(vectors),
        Err(OpenIndexError::Directory { .. }) => "a folder",
        Err(OpenIndexError::NotAnIndex { found, .. }) => match found.as_str() {
            "" => "an empty file",
            found if found.starts_with("ir-bm25") || found.starts_with("ir-segs") => {
                "a BM25 index (written by `ir index`)"
            }
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

/// Opens the token store in a file or folder. Documents are verified on first use.
///
/// ```
/// use ir_core::TokenVectors;
/// use ir_knn::{TokenStoreConfig, TokenStoreWriter};
/// use ir_system::saved_vectors::open_tokens;
/// let path = std::env::temp_dir().join(format!("ir-system-tokens-{}.ir", std::process::id()));
/// let mut writer = TokenStoreWriter::create(&path, &TokenStoreConfig::new(2))?;
/// writer.push("d1", &TokenVectors::new(2, vec![1.0, 0.0, 0.6, 0.8], vec![0..5, 6..9]))?;
/// writer.finish()?;
/// assert_eq!(open_tokens(&path)?.tokens(), 2);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns [`OpenIndexError`] if the file or folder is no token store, cannot be read or is
/// damaged.
pub fn open_tokens(path: &Path) -> Result<SegmentedTokenStore, OpenIndexError> {
    if path.is_dir() {
        SegmentedTokenStore::open(path)
    } else {
        TokenStore::open(path).map(SegmentedTokenStore::from)
    }
}
