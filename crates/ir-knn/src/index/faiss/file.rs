//! Two files: the index as FAISS writes it, and the ids beside it.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};

use faiss::Index as _;
use ir_core::DocIds;
use ir_core::store::AtomicFile;
use serde::{Deserialize, Serialize};

use super::engine::Engine;
use super::{FaissError, FaissIndex, Kind};
use crate::Similarity;

/// What FAISS does not save, and by what its file is known again.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    /// Of this form.
    version: Version,
    description: String,
    similarity: VectorSimilarity,
    dim: usize,
    /// Of FAISS's file; none without vectors.
    size: u64,
    crc32: u32,
    ids: Vec<String>,
}

#[derive(Serialize, Deserialize)]
enum Version {
    #[serde(rename = "ir-knn faiss 1")]
    One,
}

/// The file of the ids: `x.faiss.ids`.
fn ids_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".ids");
    name.into()
}

fn io_error(path: &Path, writing: bool) -> impl FnOnce(io::Error) -> FaissError {
    let path = path.to_owned();
    move |source| FaissError::Io {
        path,
        writing,
        source,
    }
}

/// FAISS takes names that are UTF-8.
fn name(path: &Path) -> Result<&str, FaissError> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "FAISS takes a name in UTF-8");
    let name = path.to_str().ok_or_else(wrong);
    name.map_err(io_error(path, true))
}

/// Size and checksum.
fn known_by(path: &Path) -> io::Result<(u64, u32)> {
    let mut reader = BufReader::new(File::open(path)?);
    let (mut size, mut crc, mut block) = (0, crc32fast::Hasher::new(), vec![0; 1 << 16]);
    loop {
        let read = reader.read(&mut block)?;
        if read == 0 {
            return Ok((size, crc.finalize()));
        }
        size += read as u64;
        crc.update(&block[..read]);
    }
}

impl FaissIndex {
    /// Saves the index as a file of FAISS, which its other programs read too, and beside it the ids
    /// (`path` and `.ids`) with a checksum of the first. Each file appears when it is complete.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FaissError> {
        let path = path.as_ref();
        let (mut size, mut crc32) = (0, 0);
        if let Some(engine) = &self.engine {
            let mut partial = path.as_os_str().to_owned();
            partial.push(format!(".{}.partial", std::process::id()));
            let partial = PathBuf::from(partial);
            let written = engine.read(|index| {
                faiss::write_index(index, name(&partial)?).map_err(|source| FaissError::Native {
                    path: path.to_owned(),
                    source: source.into(),
                })
            });
            let renamed = written.and_then(|()| {
                (size, crc32) = known_by(&partial).map_err(io_error(&partial, false))?;
                fs::rename(&partial, path).map_err(io_error(path, true))
            });
            if renamed.is_err() {
                // What FAISS began.
                let _ = fs::remove_file(&partial);
            }
            renamed?;
        }
        let saved = Saved {
            version: Version::One,
            description: self.description.clone(),
            similarity: self.similarity,
            dim: self.dim,
            size,
            crc32,
            ids: self.ids.iter().map(str::to_owned).collect(),
        };
        let ids = ids_of(path);
        let write = || -> io::Result<()> {
            let mut file = AtomicFile::create(&ids)?;
            serde_json::to_writer(&mut file, &saved)?;
            file.write_all(b"\n")?;
            file.commit()
        };
        write().map_err(io_error(&ids, true))
    }

    /// Opens a saved index. Every byte is checked first; FAISS's part is then read into memory.
    ///
    /// # Errors
    /// When one of both files cannot be read, is damaged or foreign, or belongs to another.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FaissError> {
        let path = path.as_ref();
        let ids_path = ids_of(path);
        let text = fs::read(&ids_path).map_err(io_error(&ids_path, false))?;
        let saved: Saved = serde_json::from_slice(&text).map_err(|source| FaissError::Ids {
            path: ids_path.clone(),
            source,
        })?;
        let mut ids = DocIds::new();
        for id in &saved.ids {
            ids.push(id).map_err(|error| FaissError::Io {
                path: ids_path.clone(),
                writing: false,
                source: io::Error::other(error),
            })?;
        }
        let kind = Kind::of(&saved.description)?;
        let engine = (!ids.is_empty()).then(|| -> Result<Engine, FaissError> {
            let same = |what, expected: u64, found: u64| {
                if expected == found {
                    return Ok(());
                }
                Err(FaissError::Mismatch {
                    path: path.to_owned(),
                    what,
                    expected,
                    found,
                })
            };
            let (size, crc32) = known_by(path).map_err(io_error(path, false))?;
            same("bytes", saved.size, size)?;
            same("as checksum", saved.crc32.into(), crc32.into())?;
            let index = faiss::read_index(name(path)?).map_err(|source| FaissError::Native {
                path: path.to_owned(),
                source: source.into(),
            })?;
            same("vectors", ids.len() as u64, index.ntotal())?;
            same("dimensions", saved.dim as u64, index.d().into())?;
            Ok(Engine::new(index, kind))
        });
        let engine = engine.transpose()?;
        Ok(Self {
            ids,
            similarity: saved.similarity,
            description: saved.description,
            dim: saved.dim,
            kind,
            engine,
        })
    }

    /// Opens a saved index that must be of this similarity.
    ///
    /// # Errors
    /// As [`FaissIndex::open`], and when it is not.
    pub fn open_as(
        path: impl AsRef<Path>,
        similarity: VectorSimilarity,
    ) -> Result<Self, FaissError> {
        let index = Self::open(&path)?;
        if index.similarity != similarity {
            return Err(FaissError::Similarity {
                path: path.as_ref().to_owned(),
                expected: similarity,
                found: index.similarity,
            });
        }
        Ok(index)
    }
}
