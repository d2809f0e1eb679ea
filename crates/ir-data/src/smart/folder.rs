//! Folders with a collection in SMART format.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use ir_core::{Qrels, Query};

use super::collections::{SmartCorpus, read_cranfield_queries, read_queries};
use crate::collection::{Collection, JudgedQueries, check_split};
use crate::error::{DataError, name_of, read_error};
use crate::qrels::parse_smart_judgments;
use crate::text_encoding::TextEncoding;

/// Split of the judgments.
const SPLIT: &str = "test";
/// Number of bytes by which documents are recognized.
const HEAD: u64 = 1 << 10;
/// Expected names, for errors.
const EXPECTED: &str = "*.ALL";

/// Folder with the files of a collection in SMART format, as the archives of ADI, CACM, CISI,
/// Cranfield and MEDLINE have them.
///
/// | content | file names, in any case |
/// |---|---|
/// | documents | `*.all`, `*.all.*`: `MED.ALL`, `cran.all.1400` |
/// | queries | `*.qry`, `query.text` |
/// | judgments | `*.rel`, `qrels.text`, `cranqrel` |
///
/// Documents start with a line `.I` and a number. Files may be compressed, with or without `.gz` or
/// `.zst` in their names. Queries and judgments are optional. Numbers of queries are ids. If the
/// first number is `001` (Cranfield), positions are ids, as in [`read_cranfield_queries`]. The
/// format of the judgments is detected ([`parse_qrels_any`](crate::parse_qrels_any)); codes in the
/// shape of Cranfield's are Cranfield's. Their split is `test`.
///
/// ```
/// use ir_data::smart::SmartFolder;
/// # let folder = std::env::temp_dir().join(format!("ir-data-smart-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// std::fs::write(folder.join("MED.ALL"), ".I 1\n.W\nfatty acids\n.I 2\n.W\nlens proteins\n")?;
/// std::fs::write(folder.join("MED.QRY"), ".I 1\n.W\nthe crystalline lens\n")?;
/// std::fs::write(folder.join("MED.REL"), "1 0 2 1\n")?;
/// let collection = SmartFolder::open(&folder)?.into_collection();
/// assert_eq!(collection.queries("test")?[0].text, "the crystalline lens");
/// assert_eq!(collection.qrels("test")?.grade("1", "2"), Some(1));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SmartFolder {
    root: PathBuf,
    documents: PathBuf,
    queries: Option<PathBuf>,
    judgments: Option<PathBuf>,
    encoding: TextEncoding,
}

impl SmartFolder {
    /// Opens a folder.
    ///
    /// # Errors
    /// The folder cannot be read, has no documents, or has two files of the same content.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let root = path.as_ref().to_owned();
        let found = Self::find(&root)?;
        found.ok_or_else(|| DataError::MissingFile {
            path: name_of(&root.join(EXPECTED)),
            collection: name_of(&root),
            advice: "a folder in SMART format has one, possibly with .gz or .zst".to_owned(),
        })
    }

    /// Opens a folder as [`SmartFolder::open`] does; [`None`] if it has no documents in SMART
    /// format.
    ///
    /// # Errors
    /// The folder cannot be read, or has documents and two files of the same content.
    pub fn find(path: impl AsRef<Path>) -> Result<Option<Self>, DataError> {
        let root = path.as_ref();
        let (mut documents, mut queries, mut judgments) = (Vec::new(), Vec::new(), Vec::new());
        for entry in fs::read_dir(root).map_err(read_error(root))? {
            let path = entry.map_err(read_error(root))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let Some(content) = name.and_then(content_of).filter(|_| path.is_file()) else {
                continue;
            };
            match content {
                Content::Documents if has_records(&path)? => documents.push(path),
                Content::Documents => {}
                Content::Queries => queries.push(path),
                Content::Judgments => judgments.push(path),
            }
        }
        let Some(documents) = only(documents, "documents (*.ALL)")? else {
            return Ok(None);
        };
        Ok(Some(Self {
            documents,
            queries: only(queries, "queries (*.QRY or query.text)")?,
            judgments: only(judgments, "judgments (*.REL or qrels.text)")?,
            root: root.to_owned(),
            encoding: TextEncoding::Utf8,
        }))
    }

    /// Sets the character encoding of documents and queries. Default: UTF-8.
    #[must_use]
    pub fn with_encoding(mut self, encoding: TextEncoding) -> Self {
        self.encoding = encoding;
        self
    }

    /// Documents. A repeated marker inside a record is ignored.
    #[must_use]
    pub fn corpus(&self) -> SmartCorpus {
        SmartCorpus::cranfield(&self.documents).with_encoding(self.encoding)
    }

    /// Paths of the files: documents, queries, judgments.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let others = [&self.queries, &self.judgments].into_iter().flatten();
        std::iter::once(&self.documents)
            .chain(others)
            .map(PathBuf::as_path)
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

impl JudgedQueries for SmartFolder {
    fn source(&self) -> String {
        name_of(self.queries.as_deref().unwrap_or(&self.root))
    }

    fn splits(&self) -> Vec<String> {
        let split = self.judgments.iter().map(|_| SPLIT.to_owned());
        split.collect()
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let Some(path) = &self.queries else {
            return Ok(Vec::new());
        };
        let read = || Ok::<_, DataError>((self.encoding.open(path)?, name_of(path)));
        let (reader, source) = read()?;
        let queries = read_queries(reader, &source)?;
        if queries.first().is_some_and(|query| query.id == "001") {
            let (reader, source) = read()?;
            return read_cranfield_queries(reader, &source);
        }
        Ok(queries)
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        check_split(self, split)?;
        let Some(path) = &self.judgments else {
            return Ok(Qrels::new());
        };
        let reader = crate::compression::open(path)?;
        Ok(parse_smart_judgments(reader, &name_of(path))?.data)
    }
}

/// Content of a file of the folder.
enum Content {
    Documents,
    Queries,
    Judgments,
}

/// Content of a file by its name.
fn content_of(name: &str) -> Option<Content> {
    let name = name.to_ascii_lowercase();
    let plain = [".gz", ".zst"]
        .iter()
        .find_map(|end| name.strip_suffix(end));
    let name = plain.unwrap_or(&name);
    if name.ends_with(".all") || name.contains(".all.") {
        return Some(Content::Documents);
    }
    if name.ends_with(".qry") || name == "query.text" {
        return Some(Content::Queries);
    }
    let judged = name.ends_with(".rel") || ["qrels.text", "cranqrel"].contains(&name);
    judged.then_some(Content::Judgments)
}

/// Returns `true` if the first line that is not blank starts a record.
fn has_records(path: &Path) -> Result<bool, DataError> {
    let mut head = Vec::new();
    let reader = crate::compression::open(path)?;
    reader
        .take(HEAD)
        .read_to_end(&mut head)
        .map_err(read_error(path))?;
    let text = head.trim_ascii_start();
    Ok(text.starts_with(b".I ") || text.starts_with(b".I\t"))
}

/// The only one of the files of a content, if there is any.
fn only(mut files: Vec<PathBuf>, expected: &'static str) -> Result<Option<PathBuf>, DataError> {
    files.sort();
    let mut files = files.into_iter();
    match (files.next(), files.next()) {
        (Some(first), Some(second)) => Err(DataError::SeveralFiles {
            path: name_of(&second),
            first: name_of(&first),
            expected,
        }),
        (first, _) => Ok(first),
    }
}
