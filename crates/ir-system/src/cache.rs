//! Cache of stages: indexes, models, scores of teachers, vectors and runs, named by the hash of
//! everything they depend on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ir_core::Run;
use ir_core::store::{
    AtomicFile, ByteReader, IndexFile, IndexFileWriter, IndexFormat, OpenIndexError, Verify,
    write_sized, write_varint,
};
use serde::Serialize;
use tempfile::TempDir;

use crate::error::SpecError;

/// Version of the cache keys. Part of every key.
pub const CACHE_VERSION: u32 = 4;

/// Stage of an experiment with a cached result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// BM25 index of the documents.
    Index,
    /// Model folder: random weights, or a trained encoder. The entry has the hashes of the files of
    /// the folder of the same name.
    Model,
    /// Scores of a teacher for training examples.
    TeacherScores,
    /// Vectors of documents or queries.
    Vectors,
    /// Run of a system.
    Run,
    /// Accuracy of a classification.
    Classification,
}

impl Stage {
    /// Name, as in the plan; also the folder of the entries.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Model => "model",
            Self::TeacherScores => "teacher-scores",
            Self::Vectors => "vectors",
            Self::Run => "run",
            Self::Classification => "classification",
        }
    }
}

/// Cache folder. An entry is one file, `STAGE/KEY.ir`, written atomically, with checksums. Its key
/// is a hash of the content of its inputs, its parameters and the version of this crate, so that an
/// entry never becomes stale; a damaged entry, or one of another file format, is computed again.
///
/// Processes and threads can share a folder: an entry is locked while it is computed, and the
/// others wait for it. Threads of one rayon pool cannot, because a waiting one may keep the pool
/// from computing the entry.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Removes the folder when the cache is dropped.
    _temporary: Option<TempDir>,
}

impl Cache {
    /// Uses a folder, which is created with the first entry.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            _temporary: None,
        }
    }

    /// Creates a temporary cache, which is removed when it is dropped.
    ///
    /// # Errors
    /// The temporary folder cannot be created.
    pub fn temporary() -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        Ok(Self {
            folder: folder.path().to_owned(),
            _temporary: Some(folder),
        })
    }

    /// Returns the folder of the entries.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of an entry, whether it exists or not.
    #[must_use]
    pub fn path(&self, stage: Stage, key: &str) -> PathBuf {
        self.folder.join(stage.name()).join(format!("{key}.ir"))
    }

    /// Returns the path of an entry in a folder that exists.
    ///
    /// # Errors
    /// Returns [`SpecError::Write`] if the folder cannot be created.
    pub fn writable_path(&self, stage: Stage, key: &str) -> Result<PathBuf, SpecError> {
        let path = self.path(stage, key);
        let folder = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(folder).map_err(|source| SpecError::Write {
            path: folder.to_owned(),
            source,
        })?;
        Ok(path)
    }

    /// Returns a run; `None` if there is none.
    ///
    /// # Errors
    /// Returns the error of a damaged entry.
    pub fn run(&self, key: &str, tag: &str) -> Result<Option<Run>, OpenIndexError> {
        self.entry(&RUN_RECORD, key, |bytes| decode_run(bytes, tag))
    }

    /// Writes the entry of a run.
    ///
    /// # Errors
    /// Returns [`SpecError::Write`] if the entry cannot be written.
    pub fn save_run(&self, key: &str, run: &Run) -> Result<(), SpecError> {
        self.save_entry(&RUN_RECORD, key, &encode_run(run))
    }

    /// Returns an entry with one section, which `decode` decodes; `None` if there is none.
    ///
    /// # Errors
    /// Returns the error of a damaged entry.
    pub fn entry<T>(
        &self,
        record: &Record,
        key: &str,
        decode: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, OpenIndexError> {
        let path = self.path(record.stage, key);
        if !path.exists() {
            return Ok(None);
        }
        let file = IndexFile::open(&record.format, &path, Verify::AllSections)?;
        let name = record.stage.name();
        let malformed = || file.malformed(name, record.format.name);
        let section = file.section(name).ok_or_else(malformed)?;
        let decoded = decode(section.as_ref());
        decoded.ok_or_else(malformed).map(Some)
    }

    /// Writes an entry with one section.
    ///
    /// # Errors
    /// Returns [`SpecError::Write`] if the entry cannot be written.
    pub fn save_entry(&self, record: &Record, key: &str, bytes: &[u8]) -> Result<(), SpecError> {
        let path = self.writable_path(record.stage, key)?;
        let write = || -> io::Result<()> {
            let mut writer = IndexFileWriter::new(&record.format, AtomicFile::create(&path)?)?;
            writer.section(record.stage.name(), bytes)?;
            writer.finish()?.commit()
        };
        write().map_err(|source| SpecError::Write {
            path: path.clone(),
            source,
        })
    }
}

/// Format of entries with one section, named like their stage.
#[derive(Debug)]
pub struct Record {
    /// Stage of the entries.
    pub stage: Stage,
    /// File format of the entries.
    pub format: IndexFormat,
}

const RUN_RECORD: Record = Record {
    stage: Stage::Run,
    format: IndexFormat {
        magic: *b"IREXPRUN",
        version: 1,
        name: "cached run",
        large_sections: &[],
    },
};

/// Encodes the lists of a run in order: query, number of documents, then document and score.
fn encode_run(run: &Run) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (query, list) in run.iter() {
        write_sized(&mut bytes, query.as_bytes());
        write_varint(&mut bytes, list.len() as u64);
        for scored in list {
            write_sized(&mut bytes, scored.doc.as_bytes());
            bytes.extend(scored.score.to_bits().to_le_bytes());
        }
    }
    bytes
}

fn decode_run(bytes: &[u8], tag: &str) -> Option<Run> {
    let mut reader = ByteReader::new(bytes);
    let mut run = Run::new(tag);
    while !reader.is_empty() {
        let query = str::from_utf8(reader.sized()?).ok()?;
        for _ in 0..reader.varint()? {
            let doc = str::from_utf8(reader.sized()?).ok()?;
            run.push(query, doc, f64::from_bits(reader.u64()?));
        }
    }
    Some(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        let mut run = Run::new("bm25");
        // In the order of the list, with ties and an id that a TREC file cannot hold.
        run.push("q 1", "b", 0.1 + 0.2);
        run.push("q 1", "a", 0.1 + 0.2);
        run.push("q2", "c d", -1e-300);
        run
    }

    #[test]
    fn runs_round_trip() {
        let cache = Cache::temporary().unwrap();
        assert!(cache.run("k", "bm25").unwrap().is_none());
        cache.save_run("k", &run()).unwrap();
        assert_eq!(cache.run("k", "bm25").unwrap().unwrap(), run());
        let empty = Run::new("empty");
        cache.save_run("e", &empty).unwrap();
        assert_eq!(cache.run("e", "empty").unwrap().unwrap(), empty);
    }

    #[test]
    fn another_version_is_an_error() {
        let cache = Cache::temporary().unwrap();
        let mut newer = RUN_RECORD;
        newer.format.version = 2;
        cache.save_entry(&newer, "k", &encode_run(&run())).unwrap();
        let error = cache.run("k", "bm25").unwrap_err().to_string();
        assert!(error.contains("version"), "{error}");
    }

    #[test]
    fn every_damage_is_an_error() {
        let cache = Cache::temporary().unwrap();
        cache.save_run("k", &run()).unwrap();
        let path = cache.path(Stage::Run, "k");
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            fs::write(&path, &damaged).unwrap();
            // Padding between sections is not read.
            if let Ok(Some(found)) = cache.run("k", "bm25") {
                assert_eq!(found, run(), "byte {at}");
            }
            fs::write(&path, &bytes[..at]).unwrap();
            assert!(cache.run("k", "bm25").is_err(), "{at} bytes");
        }
    }
}
