//! Whether a collection is what the catalogue says.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ir_core::{Document, Flow, Progress};
use sha2::{Digest, Sha256};

use super::Catalogue;
use crate::DataError;
use crate::error::name_of;

/// What was found as the catalogue states it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Files with the right size and hash.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Documents.
    pub documents: u64,
    /// Different ids among them.
    pub distinct: u64,
    /// Queries, judged or not.
    pub queries: u64,
    /// Judgments in all splits.
    pub judgments: u64,
}

impl Catalogue {
    /// Checks everything that the entry of a collection states: sizes, hashes, counts. Reads all
    /// files; holds a hash of each document's id in memory.
    ///
    /// # Errors
    /// The first thing that is not as stated, or [`DataError::Cancelled`].
    pub fn verify(&self, name: &str, progress: &mut dyn Progress) -> Result<Verified, DataError> {
        let entry = self.entry(name)?;
        let mut bytes = 0;
        let total: u64 = entry.files.iter().map(|file| file.bytes).sum();
        for file in &entry.files {
            let path = self.locate(entry, file)?;
            let expected = match file.plain_path() {
                Some((plain, content)) if path.ends_with(plain) => &content.sha256,
                _ => &file.sha256,
            };
            let (found, length) = sha256_of(&path, &mut |done| match progress.report(
                "hashing",
                bytes + done,
                Some(total),
            ) {
                Flow::Continue => Ok(()),
                Flow::Stop => Err(DataError::Cancelled),
            })?;
            if found != *expected {
                return Err(DataError::Sha256 {
                    path: name_of(&path),
                    expected: expected.clone(),
                    found,
                });
            }
            bytes += length;
        }
        let collection = self.open(name)?;
        let mut reader = collection.corpus().open()?;
        let mut ids = HashSet::new();
        let mut doc = Document::default();
        let mut documents = 0;
        while reader.read(&mut doc)? {
            documents += 1;
            ids.insert(crate::seen::hash(&[&doc.id]));
            if documents % 4096 == 0
                && progress.report("counting", documents, Some(entry.documents)) == Flow::Stop
            {
                return Err(DataError::Cancelled);
            }
        }
        let count = |what, expected, found| {
            if expected == found {
                return Ok(found);
            }
            Err(DataError::Count {
                path: name.to_owned(),
                what,
                expected,
                found,
            })
        };
        let mut judgments = 0;
        for split in entry.splits.keys() {
            collection.queries(split)?;
            judgments += collection.qrels(split)?.judgments() as u64;
        }
        Ok(Verified {
            files: entry.files.len() as u64,
            bytes,
            documents: count("documents", entry.documents, documents)?,
            distinct: count("different ids", entry.distinct, ids.len() as u64)?,
            queries: count(
                "queries",
                entry.queries,
                collection.all_queries()?.len() as u64,
            )?,
            judgments,
        })
    }
}

/// The SHA-256 of a file in hexadecimal digits, and its length.
pub(crate) fn sha256_of(
    path: &Path,
    report: &mut dyn FnMut(u64) -> Result<(), DataError>,
) -> Result<(String, u64), DataError> {
    let read = |source| DataError::Read {
        path: name_of(path),
        source,
    };
    let mut file = File::open(path).map_err(read)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut length = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((hex(&hasher.finalize()), length)),
            Ok(count) => {
                hasher.update(&buffer[..count]);
                length += count as u64;
                report(length)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(read(error)),
        }
    }
}

pub(crate) fn hex(hash: &[u8]) -> String {
    use std::fmt::Write as _;
    hash.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
