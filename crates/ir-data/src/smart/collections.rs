use std::io::BufRead;
use std::path::PathBuf;

use ir_core::{Corpus, CorpusError, DocReader, Document, Qrels, Query};

use super::records::{RepeatedMarker, SmartRecords};
use crate::collection::{JudgedQueries, check_split, collect_documents, query_from_document};
use crate::compression::open;
use crate::error::{DataError, name_of};
use crate::qrels::{read_cisi_judgments, read_cranfield_judgments};
use crate::text_encoding::TextEncoding;

/// Documents of Cranfield or CISI. Every reader opens the file again.
#[derive(Debug, Clone)]
pub struct SmartCorpus {
    path: PathBuf,
    repeated: RepeatedMarker,
    encoding: TextEncoding,
}

impl SmartCorpus {
    /// Documents of Cranfield: `cran.all.1400`.
    pub fn cranfield(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            repeated: RepeatedMarker::Ignored,
            encoding: TextEncoding::Utf8,
        }
    }

    /// Documents of CISI: `CISI.ALL`.
    pub fn cisi(path: impl Into<PathBuf>) -> Self {
        Self {
            repeated: RepeatedMarker::Appended,
            ..Self::cranfield(path)
        }
    }

    /// Sets the character encoding. Default: UTF-8.
    #[must_use]
    pub fn with_encoding(mut self, encoding: TextEncoding) -> Self {
        self.encoding = encoding;
        self
    }
}

impl Corpus for SmartCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let (reader, source) = (self.encoding.open(&self.path)?, name_of(&self.path));
        Ok(Box::new(SmartRecords::new(reader, &source, self.repeated)))
    }
}

/// Reads all documents; `source` names the reader in errors. A repeated marker inside a record is
/// ignored.
///
/// # Errors
/// The source cannot be read, does not start with `.I`, has an unknown marker, a record without
/// `.W` and `.T`, or a duplicate number.
pub fn read_documents(reader: impl BufRead, source: &str) -> Result<Vec<Document>, DataError> {
    let mut records = SmartRecords::new(reader, source, RepeatedMarker::Ignored);
    collect_documents(|doc| records.read_into(doc))
}

/// Reads all queries. Their ids are the record numbers; `source` names the reader in errors.
///
/// # Errors
/// The source cannot be read, does not start with `.I`, has an unknown marker, a record without
/// `.W`, or a duplicate number.
pub fn read_queries(reader: impl BufRead, source: &str) -> Result<Vec<Query>, DataError> {
    let records = SmartRecords::new(reader, source, RepeatedMarker::Appended);
    let mut records = records.with_required_text();
    let docs = collect_documents(|doc| records.read_into(doc))?;
    Ok(docs.into_iter().map(query_from_document).collect())
}

/// Reads all queries of Cranfield; `source` names the reader in errors. The id of a query is its
/// position in the file, from 1, as in the judgments; its record number is the attribute `number`.
///
/// # Errors
/// The source cannot be read, does not start with `.I`, has an unknown marker, a record without
/// `.W`, or a duplicate number.
pub fn read_cranfield_queries(reader: impl BufRead, source: &str) -> Result<Vec<Query>, DataError> {
    let mut queries = read_queries(reader, source)?;
    for (query, position) in queries.iter_mut().zip(1_u64..) {
        let number = std::mem::replace(&mut query.id, position.to_string());
        query.attributes.set("number", number);
    }
    Ok(queries)
}

/// Queries and judgments of Cranfield or CISI, split `test`. Every call reads the files again.
#[derive(Debug, Clone)]
pub struct SmartQueries {
    queries: PathBuf,
    judgments: PathBuf,
    /// `None`: CISI.
    is_cranfield: bool,
}

impl SmartQueries {
    /// Queries of Cranfield in `cran.qry`, with the ids of [`read_cranfield_queries`], and
    /// judgments in `cranqrel`.
    pub fn cranfield(queries: impl Into<PathBuf>, judgments: impl Into<PathBuf>) -> Self {
        Self {
            is_cranfield: true,
            ..Self::cisi(queries, judgments)
        }
    }

    /// Queries of CISI in `CISI.QRY` and judgments in `CISI.REL`.
    pub fn cisi(queries: impl Into<PathBuf>, judgments: impl Into<PathBuf>) -> Self {
        Self {
            queries: queries.into(),
            judgments: judgments.into(),
            is_cranfield: false,
        }
    }
}

impl JudgedQueries for SmartQueries {
    fn source(&self) -> String {
        name_of(&self.queries)
    }

    fn splits(&self) -> Vec<String> {
        vec!["test".to_owned()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let (reader, source) = (open(&self.queries)?, self.source());
        if self.is_cranfield {
            read_cranfield_queries(reader, &source)
        } else {
            read_queries(reader, &source)
        }
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        check_split(self, split)?;
        let (reader, source) = (open(&self.judgments)?, name_of(&self.judgments));
        if self.is_cranfield {
            let (grades, document) = Default::default();
            read_cranfield_judgments(reader, &source, grades, document)
        } else {
            read_cisi_judgments(reader, &source)
        }
    }
}
