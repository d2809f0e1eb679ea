use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ir_core::{Document, Flow, Progress};
use sha2::{Digest, Sha256};

use super::Catalog;
use super::entry::CatalogFormat;
use crate::error::{DataError, name_of};

/// Counts of a verified collection; of an entry that only lists files, `files` and `bytes`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedCollection {
    /// Files with the expected size and SHA-256.
    pub files: u64,
    /// Total size in bytes.
    pub bytes: u64,
    /// Number of documents, duplicates included.
    pub documents: u64,
    /// Number of distinct document ids.
    pub distinct_ids: u64,
    /// Number of queries, judged or not.
    pub queries: u64,
    /// Number of judgments in all splits.
    pub judgments: u64,
}

impl Catalog {
    /// Verifies sizes, SHA-256 and counts of a collection. Reads all files and keeps a hash of
    /// every document id in memory.
    ///
    /// # Errors
    /// The first difference from the catalog, or [`DataError::Canceled`].
    pub fn verify(
        &self,
        name: &str,
        progress: &mut dyn Progress,
    ) -> Result<VerifiedCollection, DataError> {
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
                "verifying",
                bytes + done,
                Some(total),
            ) {
                Flow::Continue => Ok(()),
                Flow::Stop => Err(DataError::Canceled),
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
        if entry.format == CatalogFormat::Files {
            return Ok(VerifiedCollection {
                files: entry.files.len() as u64,
                bytes,
                ..VerifiedCollection::default()
            });
        }
        let collection = self.open(name)?;
        let mut reader = collection.corpus().open()?;
        let mut ids = HashSet::new();
        let mut doc = Document::default();
        let mut documents = 0;
        while reader.read(&mut doc)? {
            documents += 1;
            ids.insert(crate::duplicates::hash(&[&doc.id]));
            if documents % 4096 == 0
                && progress.report("counting", documents, Some(entry.documents)) == Flow::Stop
            {
                return Err(DataError::Canceled);
            }
        }
        let count = |items, expected, found| {
            if expected == found {
                return Ok(found);
            }
            Err(DataError::Count {
                path: name.to_owned(),
                items,
                expected,
                found,
            })
        };
        let mut judgments = 0;
        for split in entry.splits.keys() {
            collection.queries(split)?;
            judgments += collection.qrels(split)?.judgments() as u64;
        }
        Ok(VerifiedCollection {
            files: entry.files.len() as u64,
            bytes,
            documents: count("documents", entry.documents, documents)?,
            distinct_ids: count("distinct ids", entry.distinct_ids, ids.len() as u64)?,
            queries: count(
                "queries",
                entry.queries,
                collection.all_queries()?.len() as u64,
            )?,
            judgments,
        })
    }
}

/// SHA-256 of a file in hexadecimal digits, and its size.
fn sha256_of(
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

pub(super) fn hex(hash: &[u8]) -> String {
    use std::fmt::Write as _;
    hash.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
