//! Documents and queries of the two collections.

use std::io::BufRead;
use std::path::PathBuf;

use ir_core::{Corpus, CorpusError, DocReader, Document, Qrels, Query};

use super::judgments::{Codes, SourceDocument, read_cisi_judgments, read_cranfield_judgments};
use super::smart::{Records, Repeated};
use crate::error::name_of;
use crate::{DataError, Judged, open};

/// The documents of a file.
#[derive(Debug, Clone)]
pub struct ClassicCorpus {
    path: PathBuf,
    repeated: Repeated,
}

impl Corpus for ClassicCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let source = name_of(&self.path);
        Ok(Box::new(Documents {
            records: Records::new(open(&self.path)?, &source, self.repeated),
            source,
        }))
    }
}

struct Documents<R> {
    records: Records<R>,
    source: String,
}

impl<R: BufRead> Documents<R> {
    fn next(&mut self, doc: &mut Document) -> Result<bool, DataError> {
        let Some(record) = self.records.next()? else {
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

impl<R: BufRead + Send> DocReader for Documents<R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        Ok(self.next(doc)?)
    }
}

/// Reads all documents of a source, which is named in errors. A mark that a record has had
/// already does not end the text.
///
/// # Errors
/// When the source cannot be read, does not begin with `.I`, has an unknown mark, a record without
/// `.W`, or a number twice.
pub fn read_documents(reader: impl BufRead, source: &str) -> Result<Vec<Document>, DataError> {
    let mut reader = Documents {
        records: Records::new(reader, source, Repeated::TextGoesOn),
        source: source.to_owned(),
    };
    let mut docs = Vec::new();
    let mut doc = Document::default();
    while reader.next(&mut doc)? {
        docs.push(std::mem::take(&mut doc));
    }
    Ok(docs)
}

/// Reads all queries of a source. Their ids are the numbers in the file.
///
/// # Errors
/// As [`read_documents`].
pub fn read_queries(reader: impl BufRead, source: &str) -> Result<Vec<Query>, DataError> {
    let mut records = Records::new(reader, source, Repeated::Again);
    let mut queries = Vec::new();
    while let Some(record) = records.next()? {
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

/// Cranfield's queries and judgments, split `test`.
///
/// The id of a query is its place in the file, from 1, since the judgments call it so; its number
/// is the attribute `number`.
#[derive(Debug, Clone)]
pub struct Cranfield {
    queries: PathBuf,
    judgments: PathBuf,
    codes: Codes,
    source: SourceDocument,
}

impl Cranfield {
    /// The documents of `cran.all.1400`.
    pub fn corpus(path: impl Into<PathBuf>) -> ClassicCorpus {
        ClassicCorpus {
            path: path.into(),
            repeated: Repeated::TextGoesOn,
        }
    }

    /// The queries of `cran.qry` and the judgments of `cranqrel`.
    pub fn new(queries: impl Into<PathBuf>, judgments: impl Into<PathBuf>) -> Self {
        Self {
            queries: queries.into(),
            judgments: judgments.into(),
            codes: Codes::default(),
            source: SourceDocument::default(),
        }
    }

    /// With codes and source documents read in this way.
    #[must_use]
    pub fn with(mut self, codes: Codes, source: SourceDocument) -> Self {
        self.codes = codes;
        self.source = source;
        self
    }
}

fn only_test(collection: &str, split: &str) -> Result<(), DataError> {
    if split == "test" {
        return Ok(());
    }
    Err(DataError::UnknownSplit {
        collection: collection.to_owned(),
        split: split.to_owned(),
        known: vec!["test".to_owned()],
    })
}

impl Judged for Cranfield {
    fn source(&self) -> String {
        name_of(&self.queries)
    }

    fn splits(&self) -> Vec<String> {
        vec!["test".to_owned()]
    }

    fn all_queries(&self) -> Result<Vec<Query>, DataError> {
        let mut queries = read_queries(open(&self.queries)?, &name_of(&self.queries))?;
        for (query, place) in queries.iter_mut().zip(1_u64..) {
            let number = std::mem::replace(&mut query.id, place.to_string());
            query.attributes.set("number", number);
        }
        Ok(queries)
    }

    fn qrels(&self, split: &str) -> Result<Qrels, DataError> {
        only_test("cranfield", split)?;
        read_cranfield_judgments(
            open(&self.judgments)?,
            &name_of(&self.judgments),
            self.codes,
            self.source,
        )
    }
}

/// CISI's queries and judgments, split `test`.
#[derive(Debug, Clone)]
pub struct Cisi {
    queries: PathBuf,
    judgments: PathBuf,
}

impl Cisi {
    /// The documents of `CISI.ALL`.
    pub fn corpus(path: impl Into<PathBuf>) -> ClassicCorpus {
        ClassicCorpus {
            path: path.into(),
            repeated: Repeated::Again,
        }
    }

    /// The queries of `CISI.QRY` and the judgments of `CISI.REL`.
    pub fn new(queries: impl Into<PathBuf>, judgments: impl Into<PathBuf>) -> Self {
        Self {
            queries: queries.into(),
            judgments: judgments.into(),
        }
    }
}

impl Judged for Cisi {
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
        only_test("cisi", split)?;
        read_cisi_judgments(open(&self.judgments)?, &name_of(&self.judgments))
    }
}
