use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// Collection of the catalog with its expected files and counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CatalogEntry {
    /// Name of the collection.
    pub name: String,
    /// Description in one line.
    pub about: String,
    pub(crate) format: CatalogFormat,
    /// Files below the data folder.
    pub files: Vec<CatalogFile>,
    /// Number of documents, duplicates included.
    pub documents: u64,
    /// Number of distinct document ids.
    pub distinct_ids: u64,
    /// Number of queries, judged or not.
    pub queries: u64,
    /// Numbers of judged queries and judgments by split.
    pub splits: BTreeMap<String, SplitCounts>,
    /// License stated by the publishers.
    pub license: String,
    /// Origin of the files.
    pub source: String,
    /// Public archive with the files, if there is one.
    pub archive: Option<PublicArchive>,
    /// Properties of the data that users should know.
    pub notes: Vec<String>,
}

/// Format of the files of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CatalogFormat {
    Bundled,
    Beir,
    DataFinder,
    /// DataFinder with a file of tagged papers.
    DataFinderTagged,
    Makg,
    Cranfield,
    Cisi,
    Squad,
    /// SQuAD with sentences as documents.
    SquadSentences,
    Iclr,
    /// Files without documents and queries.
    Files,
    /// Topics and judgments of bioCADDIE. A collection only if its documents, which are not listed,
    /// are beside them.
    BioCaddie,
}

/// File of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CatalogFile {
    /// Path below the data folder.
    pub path: String,
    /// Size of the file.
    pub bytes: u64,
    /// SHA-256 of the file in hexadecimal digits.
    pub sha256: String,
    /// Decompressed content of a compressed file. The file may also be stored decompressed, without
    /// the last extension.
    pub plain: Option<FileContent>,
}

/// Size and checksum of a decompressed file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FileContent {
    /// Size of the content in bytes.
    pub bytes: u64,
    /// SHA-256 in hexadecimal digits.
    pub sha256: String,
}

/// Counts of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SplitCounts {
    /// Number of queries with judgments.
    pub queries: u64,
    /// Number of judgments of these queries.
    pub judgments: u64,
}

/// Public zip archive of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PublicArchive {
    /// URL of the archive.
    pub url: String,
    /// Folder in the archive with the files.
    pub root: String,
}

impl CatalogFile {
    /// Path and content of the decompressed file, which may be stored instead, if the listed file
    /// is compressed.
    #[must_use]
    pub fn plain_path(&self) -> Option<(&str, &FileContent)> {
        let plain = self.plain.as_ref()?;
        let path = self
            .path
            .strip_suffix(".zst")
            .or_else(|| self.path.strip_suffix(".gz"))?;
        Some((path, plain))
    }

    /// Path and content of the file in decompressed form.
    #[cfg(any(test, feature = "fetch"))]
    pub(crate) fn content(&self) -> (&str, FileContent) {
        match self.plain_path() {
            Some((path, content)) => (path, content.clone()),
            None => (
                &self.path,
                FileContent {
                    bytes: self.bytes,
                    sha256: self.sha256.clone(),
                },
            ),
        }
    }
}

impl CatalogEntry {
    /// Advice on where to get a missing file.
    pub(crate) fn advice(&self, file: &CatalogFile) -> String {
        let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let names = file.plain_path().map(|(plain, _)| {
            let (plain, listed) = (name(plain), name(&file.path));
            format!(", as {plain} or {listed}")
        });
        let names = names.unwrap_or_default();
        match &self.archive {
            Some(archive) => format!("download it from {} and place it there{names}", archive.url),
            None => format!("get it from {} and place it there{names}", self.source),
        }
    }
}

/// All entries of the catalog.
#[must_use]
pub fn entries() -> &'static [CatalogEntry] {
    static ENTRIES: OnceLock<Vec<CatalogEntry>> = OnceLock::new();
    // A test parses the same text, so that an invalid one cannot be released.
    ENTRIES.get_or_init(|| serde_json::from_str(TEXT).unwrap_or_default())
}

const TEXT: &str = include_str!("catalog.json");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalog_is_valid() {
        let read: Vec<CatalogEntry> = serde_json::from_str(TEXT).unwrap();
        assert_eq!(read.len(), entries().len());
        assert!(read.len() >= 14);
        for entry in entries() {
            for file in &entry.files {
                assert_eq!(file.sha256.len(), 64);
                let compressed = [".zst", ".gz"].iter().any(|end| file.path.ends_with(end));
                assert_eq!(file.plain.is_some(), compressed);
                assert_eq!(file.content().0 != file.path, compressed);
            }
            assert!(entry.distinct_ids <= entry.documents);
        }
    }
}
