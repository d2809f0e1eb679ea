use std::io::BufRead;
use std::path::PathBuf;

use ir_core::{Corpus, CorpusError, DocReader, Document, Qrels, Query};

use super::qrels::{
    CranfieldGrades, CranfieldSourceDocument, read_cisi_judgments, read_cranfield_judgments,
};
use super::records::{RepeatedMarker, SmartRecords};
use crate::collection::{JudgedQueries, check_only_split};
use crate::compression::open;
use crate::error::{DataError, name_of};

/// Documents of a SMART file.
#[derive(Debug, Clone)]
pub struct SmartCorpus {
    path: PathBuf,
    repeated: RepeatedMarker,
}

impl Corpus for SmartCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let source = name_of(&self.path);
        Ok(Box::new(SmartReader {
            records: SmartRecords::new(open(&self.path)?, &source, self.repeated),
            source,
        }))
    }
}

struct SmartReader<R> {
    records: SmartRecords<R>,
    source: String,
}

impl<R: BufRead> SmartReader<R> {
    fn read_into(&mut self, doc: &mut Document) -> Result<bool, DataError> {
        let Some(record) = self.records.read()? else {
            return Ok(false);
        };
        doc.clear();
        doc.title = record.title();
        doc.text = record.text();
        doc.attributes = record.attributes(&self.source)?;
        doc.id = record.number;
        Ok(true)
    }
}

impl<R: BufRead + Send> DocReader for SmartReader<R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        Ok(self.read_into(doc)?)
    }
}

/// Reads all documents; `source` names the reader in errors. A repeated marker inside a record is
/// ignored.
///
/// # Errors
/// The source cannot be read, does not start with `.I`, has an unknown marker, a record without
/// `.W` or a duplicate number.
pub fn read_documents(reader: impl BufRead, source: &str) -> Result<Vec<Document>, DataError> {
    let mut reader = SmartReader {
        records: SmartRecords::new(reader, source, RepeatedMarker::Ignored),
        source: source.to_owned(),
    };
    let mut docs = Vec::new();
    let mut doc = Document::default();
    while reader.read_into(&mut doc)? {
        docs.push(std::mem::take(&mut doc));
    }
    Ok(docs)
}

/// Reads all queries, whose ids are the record numbers; `source` names the reader in errors.
///
/// # Errors
/// See [`read_documents`].
pub fn read_queries(reader: impl BufRead, source: &str) -> Result<Vec<Query>, DataError> {
    let mut records = SmartRecords::new(reader, source, RepeatedMarker::Appended);
    let mut queries = Vec::new();
    while let Some(record) = records.read()? {
        let (title, text) = (record.title(), record.text());
        let mut query = Query::default();
        query.attributes = record.attributes(source)?;
        query.id = record.number;
        query.text = text;
        if !title.is_empty() {
            query.attributes.set("title", title);
        }
        queries.push(query);
    }
    Ok(queries)
}

/// Queries and judgments of Cranfield, split `test`.
///
/// The id of a query is its position in the file, from 1, as in the judgments; its record number is
/// the attribute `number`.
#[derive(Debug, Clone)]
pub struct Cranfield {
    queries: PathBuf,
    judgments: PathBuf,
    grades: CranfieldGrades,
    source: CranfieldSourceDocument,
}

impl Cranfield {
    /// Documents in `cran.all.1400`.
    pub fn corpus(path: impl Into<PathBuf>) -> SmartCorpus {
        SmartCorpus {
            path: path.into(),
            repeated: RepeatedMarker::Ignored,
        }
    }

    /// Queries in `cran.qry` and judgments in `cranqrel`.
    pub fn new(queries: impl Into<PathBuf>, judgments: impl Into<PathBuf>) -> Self {
        Self {
            queries: queries.into(),
            judgments: judgments.into(),
            grades: CranfieldGrades::default(),
            source: CranfieldSourceDocument::default(),
        }
    }

    /// Interpretation of codes and source documents.
    #[must_use]
    pub fn with_grades(mut self, grades: CranfieldGrades, source: CranfieldSourceDocument) -> Self {
        self.grades = grades;
        self.source = source;
        self
    }
}

impl JudgedQueries for Cranfield {
    fn source(&self) -> String {
        name_of(&self.queries)
    }

    fn splits(&self) -> Vec<String> {
        vec!["test".to_owned()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let mut queries = read_queries(open(&self.queries)?, &name_of(&self.queries))?;
        for (query, position) in queries.iter_mut().zip(1_u64..) {
            let number = std::mem::replace(&mut query.id, position.to_string());
            query.attributes.set("number", number);
        }
        Ok(queries)
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        check_only_split("cranfield", "test", split)?;
        read_cranfield_judgments(
            open(&self.judgments)?,
            &name_of(&self.judgments),
            self.grades,
            self.source,
        )
    }
}

/// Queries and judgments of CISI, split `test`.
#[derive(Debug, Clone)]
pub struct Cisi {
    queries: PathBuf,
    judgments: PathBuf,
}

impl Cisi {
    /// Documents in `CISI.ALL`.
    pub fn corpus(path: impl Into<PathBuf>) -> SmartCorpus {
        SmartCorpus {
            path: path.into(),
            repeated: RepeatedMarker::Appended,
        }
    }

    /// Queries in `CISI.QRY` and judgments in `CISI.REL`.
    pub fn new(queries: impl Into<PathBuf>, judgments: impl Into<PathBuf>) -> Self {
        Self {
            queries: queries.into(),
            judgments: judgments.into(),
        }
    }
}

impl JudgedQueries for Cisi {
    fn source(&self) -> String {
        name_of(&self.queries)
    }

    fn splits(&self) -> Vec<String> {
        vec!["test".to_owned()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        read_queries(open(&self.queries)?, &name_of(&self.queries))
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        check_only_split("cisi", "test", split)?;
        read_cisi_judgments(open(&self.judgments)?, &name_of(&self.judgments))
    }
}
