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
use crate::error::name_of;
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

    /// Whether a collection is there: all its files with the right sizes. Their content is not
    /// looked at.
    ///
    /// # Errors
    /// When the name is unknown; and when the documents are there, but a file has another size than
    /// it should, is missing or cannot be looked at. Nobody should take such a copy for none.
    pub fn has(&self, name: &str) -> Result<bool, DataError> {
        let entry = self.entry(name)?;
        for (n, file) in entry.files.iter().enumerate() {
            match self.locate(entry, file) {
                Ok(_) => {}
                // The documents are the first file; the others may be shared with a collection.
                Err(error) if n == 0 && error.is_missing() => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
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
        let plain = file
            .plain_path()
            .map(|(path, content)| (path, content.bytes));
        let places = [Some((file.path.as_str(), file.bytes)), plain];
        let mut fault = None;
        for (path, bytes) in places.into_iter().flatten() {
            let path = root.join(path);
            if path.exists() {
                match sized(&path, bytes) {
                    Ok(()) => return Ok(path),
                    Err(error) => fault = fault.or(Some(error)),
                }
            }
        }
        Err(fault.unwrap_or_else(|| DataError::MissingFile {
            path: name_of(&root.join(&file.path)),
            collection: entry.name.clone(),
            advice: entry.advice(),
        }))
    }
}

/// Whether a file has the size that it should.
fn sized(path: &Path, expected: u64) -> Result<(), DataError> {
    let metadata = std::fs::metadata(path).map_err(|source| DataError::Read {
        path: name_of(path),
        source,
    })?;
    if metadata.is_dir() {
        return Err(DataError::Folder {
            path: name_of(path),
        });
    }
    if metadata.len() != expected {
        return Err(DataError::Size {
            path: name_of(path),
            expected,
            found: metadata.len(),
        });
    }
    Ok(())
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
/// A name of the catalogue wins over a folder of the same name, if the collection is there, even
/// as a damaged copy; write `./name` for the folder.
///
/// # Errors
/// When it is neither, or as [`Catalogue::open`], [`Catalogue::has`] and [`BeirFolder::open`].
pub fn open_path_or_name(argument: &str) -> Result<Collection, DataError> {
    named_or_at(&Catalogue::from_env(), argument, Path::new(argument))
}

fn named_or_at(
    catalogue: &Catalogue,
    argument: &str,
    folder: &Path,
) -> Result<Collection, DataError> {
    match catalogue.entry(argument) {
        Ok(entry) if !folder.is_dir() || catalogue.has(argument)? => {
            collections::open(catalogue, entry)
        }
        _ if folder.is_dir() => Ok(BeirFolder::open(folder)?.into_collection()),
        _ if folder.is_file() => Err(DataError::Kind {
            path: argument.to_owned(),
            line: 1,
            field: "the path".to_owned(),
            expected: "a folder with corpus.jsonl, queries.jsonl and qrels",
            found: "a file",
        }),
        Ok(entry) => collections::open(catalogue, entry),
        Err(unknown) => Err(unknown),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_damaged_copy_is_not_taken_for_none() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::at(folder.path());
        let name = "beir/nfcorpus";
        let here = folder.path().join(name);
        let open = || named_or_at(&catalogue, name, &here);
        fs::create_dir_all(&here).unwrap();
        assert!(!catalogue.has(name).unwrap());
        // The folder alone, in another form than the catalogue's: nothing to compare with.
        let corpus = "{\"_id\": \"d\", \"text\": \"tea\"}\n";
        fs::write(here.join("corpus.jsonl.gz"), corpus).unwrap();
        assert!(!catalogue.has(name).unwrap());
        assert_eq!(open().unwrap().name(), "nfcorpus");
        // The catalogue's own file, cut short.
        for damaged in ["corpus.jsonl.zst", "corpus.jsonl"] {
            fs::write(here.join(damaged), corpus).unwrap();
            for error in [catalogue.has(name).unwrap_err(), open().unwrap_err()] {
                assert!(error.is_corrupt(), "{error}");
                assert!(matches!(error, DataError::Size { .. }), "{error}");
            }
            fs::remove_file(here.join(damaged)).unwrap();
        }
        // The documents whole, and no queries.
        let bytes = catalogue.entry(name).unwrap().files[0].bytes;
        let whole = fs::File::create(here.join("corpus.jsonl.zst")).unwrap();
        whole.set_len(bytes).unwrap();
        for error in [catalogue.has(name).unwrap_err(), open().unwrap_err()] {
            assert!(matches!(error, DataError::MissingFile { .. }), "{error}");
        }
        // A damaged copy beside a whole one does not matter.
        fs::write(here.join("corpus.jsonl"), "cut").unwrap();
        let error = catalogue.has(name).unwrap_err();
        assert!(matches!(error, DataError::MissingFile { .. }), "{error}");
        assert!(catalogue.has("bundled").unwrap());
        assert!(catalogue.has("none").is_err());
        let nowhere = Catalogue { root: None };
        assert!(!nowhere.has(name).unwrap());
    }
}
