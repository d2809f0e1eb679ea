//! What the catalogue knows of a collection. The entries are data: `catalogue.json`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

/// A collection of the catalogue, and what is expected of its files.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Entry {
    /// The name it is opened by.
    pub name: String,
    /// What it is, in one line.
    pub about: String,
    pub(crate) form: Form,
    /// Its files.
    pub files: Vec<FileEntry>,
    /// How many documents it has.
    pub documents: u64,
    /// How many different ids they have.
    pub distinct: u64,
    /// How many queries it has, judged or not.
    pub queries: u64,
    /// What is judged, by the name of the split.
    pub splits: BTreeMap<String, SplitCounts>,
    /// The licence that its publishers state.
    pub licence: String,
    /// Where the files come from.
    pub source: String,
    /// The public archive that holds the files, where there is one.
    #[serde(default)]
    pub archive: Option<Archive>,
    /// What a user should know.
    pub notes: Vec<String>,
}

/// How the files of an entry are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    Bundled,
    Beir,
    DataFinder,
    Makg,
    Cranfield,
    Cisi,
}

/// A file of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FileEntry {
    /// Where it is below the data folder.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// What it decompresses to, if it is compressed. The file may also stand there decompressed,
    /// under its name without the last extension.
    #[serde(default)]
    pub plain: Option<Content>,
}

/// Size and hash of a content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Content {
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// How much is judged in a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SplitCounts {
    /// Queries with judgments.
    pub queries: u64,
    /// Judgments.
    pub judgments: u64,
}

/// A public zip archive.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Archive {
    /// Its address.
    pub url: String,
    /// The folder inside it that holds the files.
    pub root: String,
}

impl FileEntry {
    /// The path of the decompressed file and what is in it, if the listed one is compressed.
    pub(crate) fn plain_path(&self) -> Option<(&str, &Content)> {
        let plain = self.plain.as_ref()?;
        let path = self
            .path
            .strip_suffix(".zst")
            .or_else(|| self.path.strip_suffix(".gz"))?;
        Some((path, plain))
    }

    /// The path of the decompressed file, and what is in it.
    #[cfg(any(test, feature = "fetch"))]
    pub(crate) fn content(&self) -> (&str, Content) {
        match self.plain_path() {
            Some((path, content)) => (path, content.clone()),
            None => (
                &self.path,
                Content {
                    bytes: self.bytes,
                    sha256: self.sha256.clone(),
                },
            ),
        }
    }
}

impl Entry {
    /// How to get a missing file.
    pub(crate) fn advice(&self) -> String {
        match &self.archive {
            Some(archive) => format!("it is in {}; place it there", archive.url),
            None => format!("it comes from {}; place it there", self.source),
        }
    }
}

/// All collections that the catalogue knows.
#[must_use]
pub fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    // A test reads the same text and compares, so an unreadable one cannot be released.
    ENTRIES.get_or_init(|| serde_json::from_str(TEXT).unwrap_or_default())
}

const TEXT: &str = include_str!("catalogue.json");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_can_be_read() {
        let read: Vec<Entry> = serde_json::from_str(TEXT).unwrap();
        assert_eq!(read.len(), entries().len());
        assert!(read.len() >= 9);
        for entry in entries() {
            for file in &entry.files {
                assert_eq!(file.sha256.len(), 64);
                assert_eq!(file.plain.is_some(), file.path.ends_with(".zst"));
                assert!(!file.content().0.ends_with(".zst"));
            }
            assert!(entry.distinct <= entry.documents);
        }
    }
}
