//! BEIR folders.
//!
//! | file | content |
//! |---|---|
//! | `corpus.jsonl` | one document per line: `_id`, `title`, `text`, `metadata` ([`jsonl`]) |
//! | `queries.jsonl` | one query of any split per line: `_id`, `text`, `metadata` |
//! | `qrels/test.tsv`, `qrels/dev.tsv`, ... | header; query id, document id, grade, tab-separated |
//! | `qrels/test.jsonl`, ... | on the Hugging Face hub: `query-id`, `corpus-id`, `score` per line |
//! | `qrels/test.csv`, `qrels/test.json`, ... | the same in another format of [`read_qrels_any`] |
//!
//! Every file may be compressed, with or without `.gz` or `.zst` in its name. Endings may be in
//! upper case. A file in another compression, such as `test.tsv.bz2`, is an error when it is read.
//! [`unread_qrels`] lists files that may be judgments and have other names. Copies of datasets of
//! the Hugging Face hub have Parquet files, possibly in parts:
//!
//! | file | content |
//! |---|---|
//! | `corpus/*.parquet`, `corpus.parquet` | documents ([`crate::columnar`]); also `*.jsonl` |
//! | `queries/*.parquet`, `queries.parquet` | queries |
//! | `qrels/test-00000-of-00001.parquet` | judgments; without `qrels`, in `default` or `data` |
//!
//! A missing or additional part of documents, of queries or of the judgments of a split is an error
//! when they are read ([`check_parts`](crate::check_parts)).
//!
//! Documents and queries may have the names of other collections, such as `id` and `contents`
//! ([`DocumentFile`](crate::DocumentFile)), and qrels may have other formats, such as TREC's
//! ([`read_qrels_any`]). Qrels that are read with a warning are an error.
//!
//! - The header of the qrels is required, since a reader that always skips the first line would
//!   lose a judgment. `query_id` and upper case are accepted.
//! - Qrels lines end with `\n` or `\r\n`. Grades are integers, also written as `1.0`. A header
//!   without `score` gives every judgment the grade 1.
//! - Two files of a split, `test.tsv` and `test.jsonl`, must have the same judgments.
//! - In some collections (ArguAna) queries are documents: remove the document with the query's id
//!   ([`Run::remove_identical_ids`](ir_core::Run::remove_identical_ids)).
//!
//! ```
//! let text = "query-id\tcorpus-id\tscore\nPLAIN-2\tMED-2427\t2\r\n";
//! let qrels = ir_data::beir::read_qrels(text.as_bytes(), "test.tsv")?;
//! assert_eq!(qrels.grade("PLAIN-2", "MED-2427"), Some(2));
//! # Ok::<(), ir_data::DataError>(())
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ir_core::trec::HeaderLine;
use ir_core::{Corpus, CorpusError, DocReader, Document, Qrels, Query, Skipped};
use serde::de::IgnoredAny;

use crate::beir_layout::{self as layout, SplitFiles, files_of_splits};
use crate::collection::{Collection, JudgedQueries, value_of_split};
use crate::compression::{Compression, open};
use crate::documents::{DocumentFiles, ReadOptions};
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, name_of, write_error};
use crate::json::{FieldNames, RecordReader};
use crate::jsonl::{self, JsonlCorpus, JsonlWriter};
use crate::lines::LineReader;
use crate::qrels::read_qrels_any;
use crate::queries::read_queries;

pub use crate::judgments::{read_jsonl_qrels, read_qrels, write_qrels};

/// Folder in BEIR layout, or a copy of a dataset of the Hugging Face hub.
#[derive(Debug, Clone)]
pub struct BeirFolder {
    root: PathBuf,
    corpus: BeirCorpus,
    queries: Vec<PathBuf>,
    splits: BTreeMap<String, SplitFiles>,
}

/// Documents of a [`BeirFolder`]. An empty corpus is an error of the reader.
#[derive(Debug, Clone)]
pub struct BeirCorpus(Files);

#[derive(Debug, Clone)]
enum Files {
    /// `corpus.jsonl`, with BEIR's names of fields.
    Lines(JsonlCorpus),
    /// Files of other formats or names.
    Any(DocumentFiles),
}

impl Corpus for BeirCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        match &self.0 {
            Files::Lines(corpus) => corpus.open(),
            Files::Any(corpus) => corpus.open(),
        }
    }

    fn skipped(&self) -> Skipped {
        match &self.0 {
            Files::Lines(corpus) => corpus.skipped(),
            Files::Any(corpus) => corpus.skipped(),
        }
    }
}

impl BeirFolder {
    /// Files with the documents of a folder in BEIR's layout, in the order in which they are read;
    /// none if there is no corpus.
    ///
    /// # Errors
    /// The folder cannot be read, or a numbered part is missing.
    pub fn corpus_files(path: impl AsRef<Path>) -> Result<Vec<PathBuf>, DataError> {
        layout::files(path.as_ref(), "corpus")
    }

    /// Opens a folder. The corpus is required; qrels and queries are optional.
    ///
    /// # Errors
    /// There is no corpus, a numbered part of documents or queries is missing, or the folder or the
    /// start of a file of documents cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let root = path.as_ref().to_owned();
        let corpus = match &Self::corpus_files(&root)?[..] {
            [] => {
                return Err(DataError::MissingFile {
                    path: name_of(&root.join("corpus.jsonl")),
                    collection: name_of(&root),
                    advice:
                        "a BEIR folder has one, possibly with .gz or .zst, or the folder corpus"
                            .to_owned(),
                });
            }
            [file] if has_beir_names(file) && file.parent() == Some(&root) => {
                Files::Lines(JsonlCorpus::new(file).with_required_documents(true))
            }
            files => Files::Any(DocumentFiles::open(
                files.to_vec(),
                &ReadOptions::default(),
            )?),
        };
        Ok(Self {
            corpus: BeirCorpus(corpus),
            queries: layout::files(&root, "queries")?,
            splits: files_of_splits(&root)?,
            root,
        })
    }

    /// Creates a folder from listed files: corpus, queries and any number of qrels.
    pub(crate) fn from_files(root: PathBuf, files: Vec<PathBuf>) -> Self {
        let mut files = files.into_iter();
        let corpus = JsonlCorpus::new(files.next().unwrap_or_default());
        let queries = files.next().into_iter().collect();
        Self {
            root,
            corpus: BeirCorpus(Files::Lines(corpus.with_required_documents(true))),
            queries,
            splits: layout::splits_of(files),
        }
    }

    /// Documents. An empty corpus is an error.
    #[must_use]
    pub fn corpus(&self) -> BeirCorpus {
        self.corpus.clone()
    }

    /// Converts the folder into a collection with the folder's name.
    #[must_use]
    pub fn into_collection(self) -> Collection {
        let name = self.root.file_name().map_or_else(
            || name_of(&self.root),
            |name| name.to_string_lossy().into_owned(),
        );
        Collection::new(name, self.corpus(), self)
    }
}

/// Returns `true` if the first record of a JSON file has BEIR's id and text. Pipes, files that
/// cannot be read and files without records count as such; the reader reports them.
fn has_beir_names(path: &Path) -> bool {
    let is_other = || {
        let lines = LineReader::new(open(path).ok()?, &name_of(path));
        let mut records = RecordReader::new(lines);
        let (record, _) = records.read().ok()??;
        let members: BTreeMap<String, IgnoredAny> = serde_json::from_str(record).ok()?;
        Some(
            ["_id", "text"]
                .iter()
                .any(|name| !members.contains_key(*name)),
        )
    };
    // A pipe is read once.
    layout::is_lines(path) && (!path.is_file() || !is_other().unwrap_or(false))
}

/// Files with the judgments of a split, in the order in which they are read; possibly none.
///
/// # Errors
/// The folder cannot be read, or a numbered part is missing.
pub fn qrels_files(folder: impl AsRef<Path>, split: &str) -> Result<Vec<PathBuf>, DataError> {
    let splits = files_of_splits(folder.as_ref())?;
    let files = splits.get(split).map(SplitFiles::complete_paths);
    files.unwrap_or_else(|| Ok(Vec::new()))
}

/// Files that may be judgments and are not read, in the order of their paths: files in `qrels` that
/// are not of a split by their names, such as `qrels/test.txt`, and `qrels.tsv` beside the corpus.
/// Hidden files, READMEs and licenses are left out.
///
/// ```
/// let folder = std::env::temp_dir().join(format!("ir-data-unread-{}", std::process::id()));
/// std::fs::create_dir_all(folder.join("qrels"))?;
/// std::fs::write(folder.join("qrels/test.tsv"), "")?;
/// std::fs::write(folder.join("qrels/dev.txt"), "")?;
/// let unread = ir_data::beir::unread_qrels(&folder)?;
/// assert_eq!(unread, [folder.join("qrels/dev.txt")]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The folder cannot be read.
pub fn unread_qrels(folder: impl AsRef<Path>) -> Result<Vec<PathBuf>, DataError> {
    layout::unread_judgments(folder.as_ref())
}

impl JudgedQueries for BeirFolder {
    fn source(&self) -> String {
        name_of(&self.root)
    }

    fn splits(&self) -> Vec<String> {
        self.splits.keys().cloned().collect()
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let path = match &self.queries[..] {
            // The error names the file.
            [] => &self.root.join("queries.jsonl"),
            [path] => path,
            parts => return read_parts(parts),
        };
        if has_beir_names(path) {
            return jsonl::read_queries(open(path)?, &name_of(path), &FieldNames::beir());
        }
        Ok(read_queries(path, &ReadOptions::default())?.0)
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        let files = value_of_split(&self.splits, split, &self.source())?;
        let read = files.read(|file| Ok((read_judgments(file)?, ())))?;
        Ok(read.map_or_else(Qrels::new, |read| read.0))
    }
}

/// Reads a file of judgments in any format. A warning is an error, since nobody prints it. Files
/// without judgments are read in the format of BEIR, which has a header.
fn read_judgments(file: &Path) -> Result<Qrels, DataError> {
    let parsed = read_qrels_any(file, HeaderLine::AsData)?;
    if let Some(warning) = parsed.warnings.first() {
        return Err(DataError::Syntax {
            path: warning.source.clone(),
            line: warning.line,
            expected: "judgments that are read without a warning",
            found: warning.message.clone(),
        });
    }
    if !parsed.data.is_empty() {
        return Ok(parsed.data);
    }
    let (reader, source) = (open(file)?, name_of(file));
    if layout::is_lines(file) {
        return read_jsonl_qrels(reader, &source);
    }
    read_qrels(reader, &source)
}

/// Reads the queries of several files. An id that two files have is an error.
fn read_parts(parts: &[PathBuf]) -> Result<Vec<Query>, DataError> {
    let (mut queries, mut seen) = (Vec::new(), DuplicateFinder::default());
    for path in parts {
        for query in read_queries(path, &ReadOptions::default())?.0 {
            if seen.add(&[&query.id], 0).is_some() {
                return Err(DataError::IdOfEarlierFile {
                    path: name_of(path),
                    id: query.id,
                });
            }
            queries.push(query);
        }
    }
    Ok(queries)
}

/// Writer of a BEIR folder. Every file is written atomically.
///
/// ```
/// use ir_core::{Document, Qrels, Query};
/// let folder = std::env::temp_dir().join(format!("ir-data-beir-{}", std::process::id()));
/// let mut qrels = Qrels::new();
/// qrels.insert("q1", "d1", 1);
/// ir_data::beir::BeirWriter::create(&folder)?
///     .documents(&[Document::new("d1").with_text("green tea")])?
///     .queries(&[Query::new("q1", "tea")])?
///     .qrels("test", &qrels)?;
/// let collection = ir_data::open_path_or_name(&folder.to_string_lossy())?;
/// assert_eq!(collection.queries("test")?[0].text, "tea");
/// # std::fs::remove_dir_all(&folder).ok();
/// # Ok::<(), ir_data::DataError>(())
/// ```
#[derive(Debug, Clone)]
pub struct BeirWriter {
    root: PathBuf,
    suffix: &'static str,
}

impl BeirWriter {
    /// Creates the folder if it does not exist.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let root = path.as_ref().to_owned();
        let qrels = root.join("qrels");
        fs::create_dir_all(&qrels).map_err(write_error(&qrels))?;
        Ok(Self { root, suffix: "" })
    }

    /// Compression of the files. Default: none.
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.suffix = match compression {
            Compression::Gzip => ".gz",
            Compression::Zstd => ".zst",
        };
        self
    }

    /// Creates the corpus file for writing document by document.
    ///
    /// # Errors
    /// The path is a directory, or its directory does not exist or is not writable.
    pub fn corpus(&self) -> Result<JsonlWriter, DataError> {
        JsonlWriter::create(self.root.join(format!("corpus.jsonl{}", self.suffix)))
    }

    /// Writes the corpus.
    ///
    /// # Errors
    /// The file cannot be written; a document has no id; an attribute is NaN or infinite or has the
    /// name of a field.
    pub fn documents(&self, docs: &[Document]) -> Result<&Self, DataError> {
        let mut writer = self.corpus()?;
        for doc in docs {
            writer.document(doc)?;
        }
        writer.commit()?;
        Ok(self)
    }

    /// Writes the queries of all splits.
    ///
    /// # Errors
    /// The file cannot be written; a query has no id; an attribute is NaN or infinite or has the
    /// name of a field.
    pub fn queries(&self, queries: &[Query]) -> Result<&Self, DataError> {
        let mut writer =
            JsonlWriter::create(self.root.join(format!("queries.jsonl{}", self.suffix)))?;
        for query in queries {
            writer.query(query)?;
        }
        writer.commit()?;
        Ok(self)
    }

    /// Writes the judgments of a split.
    ///
    /// # Errors
    /// The file cannot be written, or an id is empty or contains a tab or line end.
    pub fn qrels(&self, split: &str, qrels: &Qrels) -> Result<&Self, DataError> {
        let name = format!("{split}.tsv{}", self.suffix);
        write_qrels(self.root.join("qrels").join(name), qrels)?;
        Ok(self)
    }
}
