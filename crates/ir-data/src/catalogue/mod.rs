//! Collections by name.
//!
//! | name | what | splits |
//! |---|---|---|
//! | `bundled` | invented datasets, part of the library | test, train |
//! | `datafinder`, `datafinder/3327` | dataset recommendation, two sizes of the corpus | test, train |
//! | `makg` | dataset recommendation from abstracts | test, train |
//! | `beir/nfcorpus` | BEIR | dev, test, train |
//! | `beir/arguana` | BEIR | test |
//! | `cranfield`, `cisi` | the classics | test |
//! | `packages` | 1.1 million short documents, for scale | none |
//!
//! All but the first are read from a folder: the one in the environment variable [`IR_DATA`], or
//! one that is [named](Catalogue::at). An [`Entry`] states which files it expects there, with
//! size, SHA-256 and counts. Opening compares sizes; reading to the end compares counts; and
//! [`Catalogue::verify`] compares everything.
//!
//! ```
//! let collection = ir_data::catalogue::open("bundled")?;
//! assert_eq!(collection.splits(), ["test", "train"]);
//! # Ok::<(), ir_data::DataError>(())
//! ```

mod collections;
mod entry;
mod verify;

use std::path::{Path, PathBuf};

pub use entry::{Archive, Content, Entry, FileEntry, SplitCounts, entries};
pub use verify::Verified;
#[cfg(feature = "fetch")]
pub(crate) use verify::{hex, sha256_of};

use crate::beir::BeirFolder;
use crate::{Collection, DataError};

/// The environment variable with the folder of the collections.
pub const IR_DATA: &str = "IR_DATA";

/// The collections of one folder.
#[derive(Debug, Clone)]
pub struct Catalogue {
    root: Option<PathBuf>,
}

impl Catalogue {
    /// The collections below a folder.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self {
            root: Some(root.into()),
        }
    }

    /// The collections below the folder in [`IR_DATA`]. Without one, only `bundled` opens.
    #[must_use]
    pub fn from_env() -> Self {
        Self {
            root: std::env::var_os(IR_DATA)
                .filter(|root| !root.is_empty())
                .map(PathBuf::from),
        }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// What is known of a collection.
    ///
    /// # Errors
    /// When no collection has this name.
    pub fn entry(&self, name: &str) -> Result<&'static Entry, DataError> {
        entries()
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(|| DataError::UnknownCollection {
                name: name.to_owned(),
                known: entries().iter().map(|entry| entry.name.clone()).collect(),
            })
    }

    /// Whether all files of a collection are in place. Their content is not looked at.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.entry(name).is_ok_and(|entry| {
            entry
                .files
                .iter()
                .all(|file| self.locate(entry, file).is_ok())
        })
    }

    /// Opens a collection.
    ///
    /// # Errors
    /// When the name is unknown, a file is missing, or has another size than it should.
    pub fn open(&self, name: &str) -> Result<Collection, DataError> {
        collections::open(self, self.entry(name)?)
    }

    /// Where a file of a collection is: as the entry says, or decompressed beside that.
    pub(crate) fn locate(&self, entry: &Entry, file: &FileEntry) -> Result<PathBuf, DataError> {
        let Some(root) = &self.root else {
            return Err(DataError::NoDataFolder {
                collection: entry.name.clone(),
                variable: IR_DATA,
            });
        };
        let listed = root.join(&file.path);
        let (path, expected) = match file.plain_path() {
            _ if listed.exists() => (listed, file.bytes),
            Some((plain, content)) if root.join(plain).exists() => {
                (root.join(plain), content.bytes)
            }
            _ => {
                return Err(DataError::MissingFile {
                    path: crate::error::name_of(&listed),
                    collection: entry.name.clone(),
                    advice: entry.advice(),
                });
            }
        };
        let metadata = std::fs::metadata(&path).map_err(|source| DataError::Read {
            path: crate::error::name_of(&path),
            source,
        })?;
        let path_name = || crate::error::name_of(&path);
        if metadata.is_dir() {
            return Err(DataError::Folder { path: path_name() });
        }
        if metadata.len() != expected {
            return Err(DataError::Size {
                path: path_name(),
                expected,
                found: metadata.len(),
            });
        }
        Ok(path)
    }
}

/// Opens a collection of the folder in [`IR_DATA`], or `bundled`.
///
/// # Errors
/// As [`Catalogue::open`].
pub fn open(name: &str) -> Result<Collection, DataError> {
    Catalogue::from_env().open(name)
}

/// Opens what a person names: a collection of the [catalogue](self), or a folder in
/// [BEIR's layout](crate::beir).
///
/// A name of the catalogue wins over a folder of the same name, if the collection is there;
/// write `./name` for the folder.
///
/// # Errors
/// When it is neither, or as [`Catalogue::open`] and [`BeirFolder::open`].
pub fn open_path_or_name(argument: &str) -> Result<Collection, DataError> {
    let catalogue = Catalogue::from_env();
    let folder = Path::new(argument);
    let known = catalogue.entry(argument);
    match known {
        Ok(entry) if !folder.is_dir() || catalogue.has(argument) => {
            collections::open(&catalogue, entry)
        }
        _ if folder.is_dir() => Ok(BeirFolder::open(folder)?.into_collection()),
        _ if folder.is_file() => Err(DataError::Kind {
            path: argument.to_owned(),
            line: 1,
            field: "the path".to_owned(),
            expected: "a folder with corpus.jsonl, queries.jsonl and qrels",
            found: "a file",
        }),
        Ok(entry) => collections::open(&catalogue, entry),
        Err(unknown) => Err(unknown),
    }
}
