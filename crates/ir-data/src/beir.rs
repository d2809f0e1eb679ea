//! BEIR folders.
//!
//! | file | content |
//! |---|---|
//! | `corpus.jsonl` | one document per line: `_id`, `title`, `text`, `metadata` ([`jsonl`]) |
//! | `queries.jsonl` | one query of any split per line: `_id`, `text`, `metadata` |
//! | `qrels/test.tsv`, `qrels/dev.tsv`, ... | header; query id, document id, grade, tab-separated |
//! | `qrels/test.jsonl`, ... | on the Hugging Face hub: `query-id`, `corpus-id`, `score` per line |
//!
//! Every file may be compressed, with or without `.gz` or `.zst` in its name.
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
use std::io::BufRead;
use std::path::{Path, PathBuf};

use ir_core::trec::parse_whole;
use ir_core::{AttributeValue, Document, Qrels, Query};

use crate::collection::{Collection, JudgedQueries, value_of_split};
use crate::compression::{Compression, create, open};
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location, name_of, read_error, write_error};
use crate::json::{JsonFields, parse_object, type_name};
use crate::jsonl::{self, JsonlCorpus, JsonlWriter};
use crate::lines::LineReader;

/// Folder in BEIR layout.
#[derive(Debug, Clone)]
pub struct BeirFolder {
    root: PathBuf,
    corpus: PathBuf,
    queries: PathBuf,
    splits: BTreeMap<String, Vec<PathBuf>>,
}

impl BeirFolder {
    /// Opens a folder. The corpus is required; qrels and queries are optional.
    ///
    /// # Errors
    /// There is no corpus, or the folder cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let root = path.as_ref().to_owned();
        let corpus =
            existing(&root.join("corpus.jsonl")).ok_or_else(|| DataError::MissingFile {
                path: name_of(&root.join("corpus.jsonl")),
                collection: name_of(&root),
                advice: "a BEIR folder has one, possibly with .gz or .zst".to_owned(),
            })?;
        let splits = qrels_files(&root.join("qrels"))?;
        let queries = root.join("queries.jsonl");
        Ok(Self {
            corpus,
            queries: existing(&queries).unwrap_or(queries),
            splits,
            root,
        })
    }

    /// Creates a folder from listed files: corpus, queries and any number of qrels.
    pub(crate) fn from_files(root: PathBuf, files: Vec<PathBuf>) -> Self {
        let mut files = files.into_iter();
        let (corpus, queries) = (files.next(), files.next());
        let splits = files.filter_map(|path| {
            let (split, _) = split_of(&path)?;
            Some((split.to_owned(), vec![path]))
        });
        Self {
            root,
            corpus: corpus.unwrap_or_default(),
            queries: queries.unwrap_or_default(),
            splits: splits.collect(),
        }
    }

    /// Documents. An empty corpus is an error.
    #[must_use]
    pub fn corpus(&self) -> JsonlCorpus {
        JsonlCorpus::new(&self.corpus).with_required_documents(true)
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

impl JudgedQueries for BeirFolder {
    fn source(&self) -> String {
        name_of(&self.root)
    }

    fn splits(&self) -> Vec<String> {
        self.splits.keys().cloned().collect()
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let path = &self.queries;
        jsonl::read_queries(open(path)?, &name_of(path), &JsonFields::beir())
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        let files = value_of_split(&self.splits, split, &self.source())?;
        let read = |path: &Path| {
            let (reader, source) = (open(path)?, name_of(path));
            match split_of(path) {
                Some((_, "jsonl")) => read_jsonl_qrels(reader, &source),
                _ => read_qrels(reader, &source),
            }
        };
        Ok(read_files(files, |path| Ok((read(path)?, ())))?.map_or_else(Qrels::new, |read| read.0))
    }
}

/// Reads the first file of a split, and returns an error if another one differs.
pub(crate) fn read_files<T>(
    files: &[PathBuf],
    read: impl Fn(&Path) -> Result<(Qrels, T), DataError>,
) -> Result<Option<(Qrels, T)>, DataError> {
    let Some((path, others)) = files.split_first() else {
        return Ok(None);
    };
    let first = read(path)?;
    for other in others {
        let (found, _) = read(other)?;
        let mut queries = first.0.iter().chain(found.iter()).map(|(query, _)| query);
        if let Some(query) = queries.find(|query| first.0.get(query) != found.get(query)) {
            return Err(DataError::DifferentJudgments {
                path: name_of(other),
                first: name_of(path),
                query: query.to_owned(),
            });
        }
    }
    Ok(Some(first))
}

/// Files of the judgments by split, `.tsv` before `.jsonl`. An uncompressed copy takes precedence.
pub(crate) fn qrels_files(folder: &Path) -> Result<BTreeMap<String, Vec<PathBuf>>, DataError> {
    let mut splits = BTreeMap::new();
    if !folder.is_dir() {
        return Ok(splits);
    }
    for entry in fs::read_dir(folder).map_err(read_error(folder))? {
        let path = entry.map_err(read_error(folder))?.path();
        if let Some((split, _)) = split_of(&path) {
            let files = ["tsv", "jsonl"].map(|ending| folder.join(format!("{split}.{ending}")));
            let files = files.iter().filter_map(|plain| existing(plain)).collect();
            splits.insert(split.to_owned(), files);
        }
    }
    Ok(splits)
}

/// Split and format of a qrels file: `dev` and `tsv` for `dev.tsv.gz`.
fn split_of(path: &Path) -> Option<(&str, &str)> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let name = name.strip_suffix(".zst").unwrap_or(name);
    let (split, ending) = name.rsplit_once('.')?;
    matches!(ending, "tsv" | "jsonl").then_some((split, ending))
}

/// Path of an existing file, possibly with `.zst` or `.gz` appended.
fn existing(plain: &Path) -> Option<PathBuf> {
    let with = |suffix: &str| {
        let mut name = plain.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    [plain.to_owned(), with(".zst"), with(".gz")]
        .into_iter()
        .find(|path| path.exists())
}

/// Reads qrels in BEIR format; `source` names the reader in errors.
///
/// # Errors
/// The source is empty or cannot be read, the header line is missing, a line does not have the
/// columns of the header or the third is not an integer, or a pair is judged twice.
pub fn read_qrels(reader: impl BufRead, source: &str) -> Result<Qrels, DataError> {
    let mut lines = LineReader::new(reader, source);
    let mut qrels = Qrels::new();
    let mut seen = DuplicateFinder::default();
    // Number of columns of the header.
    let mut width = 0;
    const HEADER: &str = "the tab-separated header line `query-id corpus-id score`";
    while let Some(line) = lines.read()? {
        let text = line.text.strip_suffix('\r').unwrap_or(line.text);
        if text.trim_ascii().is_empty() {
            continue;
        }
        let at = Location::new(source, line.number);
        if width == 0 {
            if !is_header(text.split('\t')) {
                return Err(at.syntax(HEADER, text));
            }
            width = text.split('\t').count();
            continue;
        }
        let found = text.split('\t').count();
        if found != width {
            return Err(at.columns(width..=width, found));
        }
        let mut columns = text.split('\t');
        let mut next = || columns.next().unwrap_or_default();
        let (query, doc) = (next(), next());
        let grade = if width == 2 { "1" } else { next().trim_ascii() };
        let grade = parse_whole(grade).ok_or_else(|| at.syntax("an integer as grade", grade))?;
        if query.is_empty() || doc.is_empty() {
            return Err(at.syntax("a query id and a document id", text));
        }
        if let Some(first) = seen.add(&[query, doc], at.line) {
            return Err(at.repeated_judgment(query, doc, first));
        }
        qrels.insert(query, doc, grade);
    }
    if width == 0 {
        return Err(DataError::Empty {
            path: source.to_owned(),
            expected: HEADER,
        });
    }
    Ok(qrels)
}

/// Returns `true` if the first columns are the names of the header; others may follow. The score
/// may be missing.
pub(crate) fn is_header<'a>(columns: impl Iterator<Item = &'a str>) -> bool {
    let names: Vec<String> = columns.take(3).map(field_name).collect();
    names == ["query-id", "corpus-id"] || names == ["query-id", "corpus-id", "score"]
}

/// Name of a field in lower case, with hyphens.
fn field_name(name: &str) -> String {
    name.trim_ascii().to_ascii_lowercase().replace('_', "-")
}

/// Returns `true` if a line is a judgment in JSON.
pub(crate) fn is_jsonl_judgment(line: &str) -> bool {
    let members = parse_object(line, Location::new("", 1)).unwrap_or_default();
    let is_id = |value: &AttributeValue| !matches!(value, AttributeValue::Map(_));
    let mut ids = members.iter().filter(|(_, value)| is_id(value));
    ids.any(|(name, _)| field_name(name) == "query-id")
}

/// Reads qrels in JSON lines, as on the Hugging Face hub: `query-id` and `corpus-id`, strings or
/// integers, and `score`, an integer, also written as `1.0`. Other fields are ignored. `source`
/// names the reader in errors.
///
/// ```
/// let text = "{\"query-id\": \"PLAIN-2\", \"corpus-id\": \"MED-2427\", \"score\": 2.0}\n";
/// let qrels = ir_data::beir::read_jsonl_qrels(text.as_bytes(), "test.jsonl")?;
/// assert_eq!(qrels.grade("PLAIN-2", "MED-2427"), Some(2));
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// The source is empty or cannot be read, a line is not a JSON object, a field is missing or of
/// another type, or a pair is judged twice.
pub fn read_jsonl_qrels(reader: impl BufRead, source: &str) -> Result<Qrels, DataError> {
    let mut lines = LineReader::new(reader, source);
    let mut qrels = Qrels::new();
    let mut seen = DuplicateFinder::default();
    while let Some(line) = lines.read()? {
        if line.text.trim_ascii().is_empty() {
            continue;
        }
        let at = Location::new(source, line.number);
        let members = parse_object(line.text, at)?;
        let field = |wanted: &str| {
            let mut members = members.iter();
            let found = members.find(|(name, _)| field_name(name) == wanted);
            found.ok_or_else(|| at.missing_field(wanted))
        };
        let id = |wanted| match field(wanted)? {
            (_, AttributeValue::Text(id)) if !id.is_empty() => Ok(id.clone()),
            (_, AttributeValue::Int(id)) => Ok(id.to_string()),
            (name, AttributeValue::Text(_)) => Err(at.wrong_type(name, "an id", "an empty string")),
            (name, other) => Err(at.wrong_type(name, "an id", type_name(other))),
        };
        let (query, doc) = (id("query-id")?, id("corpus-id")?);
        let (name, score) = field("score")?;
        let found = match score {
            AttributeValue::Int(grade) => grade.to_string(),
            AttributeValue::Float(grade) => grade.to_string(),
            other => return Err(at.wrong_type(name, "an integer as grade", type_name(other))),
        };
        let grade = parse_whole(&found).ok_or_else(|| at.syntax("an integer as grade", &found))?;
        if let Some(first) = seen.add(&[&query, &doc], at.line) {
            return Err(at.repeated_judgment(&query, &doc, first));
        }
        qrels.insert(&query, &doc, grade);
    }
    if qrels.is_empty() {
        return Err(DataError::Empty {
            path: source.to_owned(),
            expected: "lines of JSON with `query-id`, `corpus-id` and `score`",
        });
    }
    Ok(qrels)
}

/// Writes qrels in BEIR format atomically.
///
/// # Errors
/// The file cannot be written, or an id is empty or contains a tab or line end.
pub fn write_qrels(path: impl AsRef<Path>, qrels: &Qrels) -> Result<(), DataError> {
    let mut file = create(path)?;
    let mut line = 1;
    // One write per query.
    let mut text = String::from("query-id\tcorpus-id\tscore\n");
    for (query, judged) in qrels.iter() {
        for (doc, grade) in judged {
            line += 1;
            for id in [query, doc] {
                if id.is_empty() || id.contains(['\t', '\n', '\r', '\0']) {
                    return Err(file.unwritable(line, "an id without tabs and line ends", id));
                }
            }
            for part in [query, "\t", doc, "\t", &grade.to_string(), "\n"] {
                text.push_str(part);
            }
        }
        file.append(text.as_bytes())?;
        text.clear();
    }
    file.append(text.as_bytes())?;
    file.commit()
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
