//! Files of a FAISS index: the native index file, and a sidecar with the ids.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};

use faiss::Index as _;
use ir_core::store::AtomicFile;
use ir_core::{DocIds, VectorSimilarity};
use serde::{Deserialize, Serialize};

use super::engine::FaissEngine;
use super::error::FaissError;
use super::family::FaissFamily;
use super::index::FaissIndex;

/// Properties that the native file lacks, and its size and checksum.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaissSidecar {
    version: SidecarVersion,
    description: String,
    similarity: VectorSimilarity,
    dim: usize,
    /// Size of the native file; 0 if there are no vectors, and so no file.
    size: u64,
    crc32: u32,
    ids: Vec<String>,
}

#[derive(Serialize, Deserialize)]
enum SidecarVersion {
    #[serde(rename = "ir-knn faiss 1")]
    One,
}

/// Path of the sidecar: `x.faiss.ids`.
fn sidecar_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".ids");
    name.into()
}

fn write_error(path: &Path) -> impl FnOnce(io::Error) -> FaissError {
    let path = path.to_owned();
    move |source| FaissError::Write { path, source }
}

fn read_error(path: &Path) -> impl FnOnce(io::Error) -> FaissError {
    let path = path.to_owned();
    move |source| FaissError::Read { path, source }
}

/// The path as FAISS requires it.
fn utf8_path(path: &Path) -> Result<&str, FaissError> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "FAISS requires a UTF-8 path");
    path.to_str().ok_or_else(invalid).map_err(write_error(path))
}

fn size_and_crc32(path: &Path) -> io::Result<(u64, u32)> {
    let mut reader = BufReader::new(File::open(path)?);
    let (mut size, mut crc32, mut block) = (0, crc32fast::Hasher::new(), vec![0; 1 << 16]);
    loop {
        let read = reader.read(&mut block)?;
        if read == 0 {
            return Ok((size, crc32.finalize()));
        }
        size += read as u64;
        crc32.update(&block[..read]);
    }
}

impl FaissIndex {
    /// Saves the index to `path`, in FAISS's own format, which other FAISS programs read, and the
    /// ids with a checksum of that file to `path` + `.ids`. Each file is written atomically.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FaissError> {
        let path = path.as_ref();
        let (mut size, mut crc32) = (0, 0);
        if let Some(engine) = &self.engine {
            let mut partial = path.as_os_str().to_owned();
            partial.push(format!(".{}.partial", std::process::id()));
            let partial = PathBuf::from(partial);
            let written = engine.with_index(|index| {
                faiss::write_index(index, utf8_path(&partial)?).map_err(|source| {
                    FaissError::Native {
                        path: path.to_owned(),
                        source: source.into(),
                    }
                })
            });
            let renamed = written.and_then(|()| {
                (size, crc32) = size_and_crc32(&partial).map_err(read_error(&partial))?;
                fs::rename(&partial, path).map_err(write_error(path))
            });
            if renamed.is_err() {
                let _ = fs::remove_file(&partial);
            }
            renamed?;
        }
        let sidecar = FaissSidecar {
            version: SidecarVersion::One,
            description: self.description.clone(),
            similarity: self.similarity,
            dim: self.dim,
            size,
            crc32,
            ids: self.ids.iter().map(str::to_owned).collect(),
        };
        let ids_path = sidecar_path(path);
        let write = || -> io::Result<()> {
            let mut file = AtomicFile::create(&ids_path)?;
            serde_json::to_writer(&mut file, &sidecar)?;
            file.write_all(b"\n")?;
            file.commit()
        };
        write().map_err(write_error(&ids_path))
    }

    /// Opens a saved index. Verifies the checksum, then reads the native file into memory.
    ///
    /// # Errors
    /// If a file cannot be read, is damaged or of another format, or the two do not belong
    /// together.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FaissError> {
        let path = path.as_ref();
        let ids_path = sidecar_path(path);
        let text = fs::read(&ids_path).map_err(read_error(&ids_path))?;
        let sidecar: FaissSidecar =
            serde_json::from_slice(&text).map_err(|source| FaissError::Ids {
                path: ids_path.clone(),
                source,
            })?;
        let mut ids = DocIds::new();
        for id in &sidecar.ids {
            ids.push(id)
                .map_err(|error| read_error(&ids_path)(io::Error::other(error)))?;
        }
        let family = FaissFamily::from_description(&sidecar.description)?;
        let engine = (!ids.is_empty()).then(|| -> Result<FaissEngine, FaissError> {
            let check = |property, expected: u64, found: u64| {
                if expected == found {
                    return Ok(());
                }
                Err(FaissError::Mismatch {
                    path: path.to_owned(),
                    property,
                    expected,
                    found,
                })
            };
            let (size, crc32) = size_and_crc32(path).map_err(read_error(path))?;
            check("size", sidecar.size, size)?;
            check("checksum", sidecar.crc32.into(), crc32.into())?;
            let index =
                faiss::read_index(utf8_path(path)?).map_err(|source| FaissError::Native {
                    path: path.to_owned(),
                    source: source.into(),
                })?;
            check("number of vectors", ids.len() as u64, index.ntotal())?;
            check("dimension", sidecar.dim as u64, index.d().into())?;
            Ok(FaissEngine::new(index, family))
        });
        let engine = engine.transpose()?;
        Ok(Self {
            ids,
            similarity: sidecar.similarity,
            description: sidecar.description,
            dim: sidecar.dim,
            family,
            engine,
        })
    }
}
