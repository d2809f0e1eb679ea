use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};

use ir_core::{Document, Flow, Progress};
use sha2::{Digest, Sha256};

use super::Catalog;
use super::entry::CatalogFormat;
use crate::error::{DataError, check_count, name_of, read_error};

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
            let mut content = File::open(&path).map_err(read_error(&path))?;
            let mut length = 0;
            let found = sha256_of(&mut content, read_error(&path), |chunk| {
                length += chunk.len() as u64;
                match progress.report("verifying", bytes + length, Some(total)) {
                    Flow::Continue => Ok(()),
                    Flow::Stop => Err(DataError::Canceled),
                }
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
        let mut verified = VerifiedCollection {
            files: entry.files.len() as u64,
            bytes,
            ..VerifiedCollection::default()
        };
        if matches!(
            entry.format,
            CatalogFormat::Files | CatalogFormat::BioCaddie
        ) {
            return Ok(verified);
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
        // The collection compares the other numbers with the catalog.
        verified.documents = documents;
        verified.distinct_ids = ids.len() as u64;
        check_count(
            name,
            "distinct ids",
            entry.distinct_ids,
            verified.distinct_ids,
        )?;
        verified.queries = collection.all_queries()?.len() as u64;
        for split in entry.splits.keys() {
            collection.queries(split)?;
            verified.judgments += collection.qrels(split)?.judgments() as u64;
        }
        Ok(verified)
    }
}

/// SHA-256, in hexadecimal digits, of all chunks that `reader` returns and `each` accepts.
pub(super) fn sha256_of<E>(
    reader: &mut impl Read,
    read_error: impl Fn(io::Error) -> E,
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<String, E> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                hasher.update(&buffer[..count]);
                each(&buffer[..count])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(read_error(error)),
        }
    }
    let hash = hasher.finalize();
    Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}
