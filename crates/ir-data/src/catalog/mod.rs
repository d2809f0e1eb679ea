//! Collections by name. The [front page](crate#catalog) lists them.
//!
//! All but `bundled` are files in a data folder, named by the environment variable [`IR_DATA`] or
//! by [`Catalog::new`]. A [`CatalogEntry`] lists the expected files with size and SHA-256, and the
//! counts. Opening compares sizes, reading compares counts, [`Catalog::verify`] compares
//! everything.
//!
//! ```
//! let collection = ir_data::catalog::open("bundled")?;
//! assert_eq!(collection.splits(), ["test", "train"]);
//! # Ok::<(), ir_data::DataError>(())
//! ```

mod entry;
#[cfg(feature = "fetch")]
mod fetch;
mod open;
mod verify;

use std::path::{Path, PathBuf};

pub use entry::{CatalogEntry, CatalogFile, FileContent, PublicArchive, SplitCounts, entries};
#[cfg(feature = "fetch")]
pub use fetch::FetchError;
pub use verify::VerifiedCollection;

use entry::CatalogFormat;

use crate::beir::BeirFolder;
use crate::biocaddie::{BioCaddieCorpus, BioCaddieTopics, TextRule};
use crate::collection::Collection;
use crate::error::{DataError, name_of, read_error};
use crate::smart::SmartFolder;
use crate::squad::{SquadFile, SquadSentences};
use crate::text_encoding::TextEncoding;

/// Environment variable with the data folder.
pub const IR_DATA: &str = "IR_DATA";

/// Catalog of collections with a data folder.
#[derive(Debug, Clone)]
pub struct Catalog {
    root: Option<PathBuf>,
    encoding: Option<TextEncoding>,
}

impl Catalog {
    /// Creates a catalog of the files below a folder.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: Some(root.into()),
            encoding: None,
        }
    }

    /// Creates a catalog of the files below the folder in [`IR_DATA`]. If the variable is not set,
    /// only `bundled` can be opened.
    #[must_use]
    pub fn from_env() -> Self {
        Self {
            root: std::env::var_os(IR_DATA)
                .filter(|root| !root.is_empty())
                .map(PathBuf::from),
            encoding: None,
        }
    }

    /// Sets the character encoding of records of bioCADDIE in the XML form
    /// ([`BioCaddieCorpus::with_encoding`]). Files of other collections have known encodings.
    #[must_use]
    pub fn with_encoding(mut self, encoding: TextEncoding) -> Self {
        self.encoding = Some(encoding);
        self
    }

    /// Data folder, if one is configured.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Returns the entry of a collection. Variants such as `biocaddie/fields` have the entry of
    /// `biocaddie`.
    ///
    /// # Errors
    /// There is no collection of this name.
    pub fn entry(&self, name: &str) -> Result<&'static CatalogEntry, DataError> {
        entries()
            .iter()
            .find(|entry| entry.name == name || text_rule(entry, name).is_some())
            .ok_or_else(|| DataError::UnknownCollection {
                name: name.to_owned(),
                known: known_names(),
            })
    }

    /// Returns `true` if all files of a collection exist with the expected sizes. Content is not
    /// verified.
    ///
    /// # Errors
    /// The name is unknown; or the first file exists, but a file is missing, unreadable or of
    /// another size. An incomplete copy is an error rather than a missing collection.
    pub fn has(&self, name: &str) -> Result<bool, DataError> {
        let entry = self.entry(name)?;
        for (n, file) in entry.files.iter().enumerate() {
            match self.locate(entry, file) {
                Ok(_) => {}
                // The first file has the documents. Others may be shared between collections.
                Err(error) if n == 0 && error.is_missing() => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Opens a collection.
    ///
    /// # Errors
    /// The name is unknown, a file is missing or of another size, or the entry only lists files.
    /// Documents of bioCADDIE that are missing are an error of their reader.
    pub fn open(&self, name: &str) -> Result<Collection, DataError> {
        self.open_entry(self.entry(name)?, name)
    }

    /// Opens an entry by its name or the name of a variant.
    fn open_entry(
        &self,
        entry: &'static CatalogEntry,
        name: &str,
    ) -> Result<Collection, DataError> {
        match entry.format {
            CatalogFormat::BioCaddie => self.open_biocaddie(entry, name),
            // Whether or not its files exist, which would not help.
            CatalogFormat::Files => Err(DataError::NotACollection {
                name: entry.name.clone(),
            }),
            _ => self.open_listed(entry),
        }
    }

    /// Topics, judgments and the documents beside them. Without documents, their readers are an
    /// error.
    fn open_biocaddie(
        &self,
        entry: &'static CatalogEntry,
        name: &str,
    ) -> Result<Collection, DataError> {
        let folder = self.folder(entry)?;
        if !folder.is_dir() {
            for file in &entry.files {
                self.locate(entry, file)?;
            }
        }
        let rule = text_rule(entry, name).unwrap_or_default();
        let records = BioCaddieCorpus::find(&folder).map(|records| {
            let records = records.with_text(rule);
            match self.encoding {
                None => records,
                Some(encoding) => records.with_encoding(encoding),
            }
        });
        let collection = BioCaddieTopics::new(folder).into_collection(name, records);
        Ok(collection.with_notes(entry.notes.iter().cloned()))
    }

    fn data_folder(&self, entry: &CatalogEntry) -> Result<&Path, DataError> {
        self.root().ok_or_else(|| DataError::NoDataFolder {
            collection: entry.name.clone(),
            variable: IR_DATA,
        })
    }

    /// Folder of a collection, named as the collection.
    fn folder(&self, entry: &CatalogEntry) -> Result<PathBuf, DataError> {
        Ok(self.data_folder(entry)?.join(&entry.name))
    }

    fn open_listed(&self, entry: &'static CatalogEntry) -> Result<Collection, DataError> {
        let paths = entry.files.iter().map(|file| self.locate(entry, file));
        open::open_entry(entry, paths.collect::<Result<_, _>>()?)
    }

    /// Path of a file of a collection: as listed or decompressed.
    pub(crate) fn locate(
        &self,
        entry: &CatalogEntry,
        file: &CatalogFile,
    ) -> Result<PathBuf, DataError> {
        let root = self.data_folder(entry)?;
        let plain = file
            .plain_path()
            .map(|(path, content)| (path, content.bytes));
        let candidates = [Some((file.path.as_str(), file.bytes)), plain];
        let mut mismatch = None;
        for (path, bytes) in candidates.into_iter().flatten() {
            let path = root.join(path);
            if path.exists() {
                match check_size(&path, bytes) {
                    Ok(()) => return Ok(path),
                    Err(error) => mismatch = mismatch.or(Some(error)),
                }
            }
        }
        Err(mismatch.unwrap_or_else(|| DataError::MissingFile {
            path: name_of(&root.join(&file.path)),
            collection: entry.name.clone(),
            advice: entry.advice(file),
        }))
    }
}

/// The text rule in the name of a variant of bioCADDIE; [`None`] for other names.
fn text_rule(entry: &CatalogEntry, name: &str) -> Option<TextRule> {
    let variant = name.strip_prefix(&entry.name)?.strip_prefix('/')?;
    let mut rules = variants(entry).iter().copied();
    rules.find(|rule| rule.name() == variant)
}

/// The text rules of the variants of an entry.
fn variants(entry: &CatalogEntry) -> &'static [TextRule] {
    match entry.format {
        CatalogFormat::BioCaddie => &TextRule::ALL,
        _ => &[],
    }
}

/// Names of all collections, each followed by its variants, such as `biocaddie/fields`.
///
/// ```
/// let names = ir_data::catalog::known_names();
/// assert!(names.iter().any(|name| name == "biocaddie/fields"));
/// ```
#[must_use]
pub fn known_names() -> Vec<String> {
    let names = entries().iter().flat_map(|entry| {
        let of_variant = |rule: &TextRule| format!("{}/{}", entry.name, rule.name());
        let variants = variants(entry).iter().map(of_variant);
        std::iter::once(entry.name.clone()).chain(variants)
    });
    names.collect()
}

/// Checks the size of a file.
fn check_size(path: &Path, expected: u64) -> Result<(), DataError> {
    let metadata = std::fs::metadata(path).map_err(read_error(path))?;
    if metadata.is_dir() {
        return Err(DataError::Directory {
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

/// Opens a collection below the folder in [`IR_DATA`], or `bundled`.
///
/// # Errors
/// The name is unknown, a file is missing or of another size, or the entry only lists files.
pub fn open(name: &str) -> Result<Collection, DataError> {
    Catalog::from_env().open(name)
}

/// Opens a collection of the [catalog](self) by name or a folder by path: in
/// [BEIR layout](crate::beir), [in SMART format](SmartFolder), or with [the topics and judgments of
/// bioCADDIE](BioCaddieTopics). A file with [questions and
/// answers](crate::squad::QuestionFormat) is opened as [its sentences](SquadSentences).
///
/// A name of the catalog takes precedence over a folder of the same name if the collection's files
/// exist, even if they are corrupt. Write `./name` for the folder.
///
/// # Errors
/// The argument is neither. Otherwise returns the error of [`Catalog::open`], [`Catalog::has`],
/// [`BeirFolder::open`] or [`SmartFolder::find`].
pub fn open_path_or_name(argument: &str) -> Result<Collection, DataError> {
    open_name_or_folder(&Catalog::from_env(), argument, Path::new(argument))
}

fn open_name_or_folder(
    catalog: &Catalog,
    argument: &str,
    folder: &Path,
) -> Result<Collection, DataError> {
    match catalog.entry(argument) {
        Ok(entry) if !folder.is_dir() || catalog.has(argument)? => {
            catalog.open_entry(entry, argument)
        }
        _ if folder.is_dir() => match (BeirFolder::open(folder), SmartFolder::find(folder)?) {
            (Err(error), Some(smart)) if error.is_missing() => Ok(smart.into_collection()),
            (Err(error), None) if error.is_missing() => match BioCaddieTopics::find(folder) {
                Some(topics) => Ok(topics.into_collection(argument, BioCaddieCorpus::find(folder))),
                None => Err(error),
            },
            (beir, _) => Ok(beir?.into_collection()),
        },
        _ if folder.is_file() => match SquadFile::detect(folder)? {
            Some(file) => Ok(SquadSentences::from(file).into_collection(argument)),
            None => Err(DataError::WrongType {
                path: argument.to_owned(),
                line: 1,
                field: "the path".to_owned(),
                expected: "a folder with corpus.jsonl, queries.jsonl and qrels",
                found: "a file".into(),
            }),
        },
        Ok(entry) => catalog.open_entry(entry, argument),
        Err(unknown) => Err(unknown),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn incomplete_copies_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let catalog = Catalog::new(folder.path());
        let name = "beir/nfcorpus";
        let here = folder.path().join(name);
        let open = || open_name_or_folder(&catalog, name, &here);
        fs::create_dir_all(&here).unwrap();
        assert!(!catalog.has(name).unwrap());
        // Another file name than the catalog's: the folder is opened as BEIR.
        let corpus = "{\"_id\": \"d\", \"text\": \"tea\"}\n";
        fs::write(here.join("corpus.jsonl.gz"), corpus).unwrap();
        assert!(!catalog.has(name).unwrap());
        assert_eq!(open().unwrap().name(), "nfcorpus");
        // A truncated file of the catalog.
        for damaged in ["corpus.jsonl.zst", "corpus.jsonl"] {
            fs::write(here.join(damaged), corpus).unwrap();
            for error in [catalog.has(name).unwrap_err(), open().unwrap_err()] {
                assert!(error.is_corrupt(), "{error}");
                assert!(matches!(error, DataError::Size { .. }), "{error}");
            }
            fs::remove_file(here.join(damaged)).unwrap();
        }
        // Complete documents without queries.
        let bytes = catalog.entry(name).unwrap().files[0].bytes;
        let whole = fs::File::create(here.join("corpus.jsonl.zst")).unwrap();
        whole.set_len(bytes).unwrap();
        for error in [catalog.has(name).unwrap_err(), open().unwrap_err()] {
            assert!(matches!(error, DataError::MissingFile { .. }), "{error}");
        }
        // A truncated copy beside a complete one is ignored.
        fs::write(here.join("corpus.jsonl"), "cut").unwrap();
        let error = catalog.has(name).unwrap_err();
        assert!(matches!(error, DataError::MissingFile { .. }), "{error}");
        assert!(catalog.has("bundled").unwrap());
        assert!(catalog.has("none").is_err());
        let nowhere = Catalog {
            root: None,
            encoding: None,
        };
        assert!(!nowhere.has(name).unwrap());
    }
}
