use std::io::BufRead;
use std::path::PathBuf;

use crate::attribute;
use ir_core::{AttributeValue, Attributes, Corpus, CorpusError, DocReader, Document};

use super::metadata::{DatasetMetadata, STRUCTURED_INFO};
use crate::compression::open;
use crate::error::name_of;
use crate::json::FieldNames;
use crate::jsonl::{DuplicateIds, JsonlReader};

/// Name of the attribute with the name of a dataset as in the corpus, with spaces.
pub const NAME: &str = "name";

/// Converts a name into an id of DataFinder's qrels and runs: white space becomes `_`.
///
/// ```
/// assert_eq!(ir_data::datafinder::underscored("ICDAR 2015"), "ICDAR_2015");
/// ```
#[must_use]
pub fn underscored(text: &str) -> String {
    // White space of Python's `split`, which includes U+001C to U+001F.
    let space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    let mut id = String::with_capacity(text.len());
    for word in text.split(space).filter(|word| !word.is_empty()) {
        if !id.is_empty() {
            id.push('_');
        }
        id.push_str(word);
    }
    id
}

/// Corpus of datasets. Ids are [`underscored`] names, as in the qrels and runs; the attribute
/// [`NAME`] is the name as in the file, possibly with spaces.
///
/// The text is the field `contents`; the title is the title of the paper that introduced the
/// dataset.
/// DataFinder's BM25 searches `contents` only. Attributes are `name`, `year`, `date`, `variants`
/// and any other field. Records of Papers with Code (`tasks`, `modalities`, `languages`,
/// `num_papers`) get the attribute [`STRUCTURED_INFO`] unless they have it.
#[derive(Debug, Clone)]
pub struct DatasetCorpus {
    /// File, possibly compressed. Every reader opens it again.
    pub path: PathBuf,
}

impl DatasetCorpus {
    /// Creates a corpus of the datasets in a file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Reads documents from a reader; `source` names it in errors.
    pub fn read<'a>(reader: impl BufRead + Send + 'a, source: &str) -> Box<dyn DocReader + 'a> {
        let fields = FieldNames::anserini();
        let docs = JsonlReader::new(reader, source, fields, DuplicateIds::Keep);
        Box::new(DatasetReader(docs))
    }
}

impl Corpus for DatasetCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let source = name_of(&self.path);
        Ok(Self::read(open(&self.path)?, &source))
    }
}

struct DatasetReader<R>(JsonlReader<R>);

impl<R: BufRead + Send> DocReader for DatasetReader<R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        if !self.0.read_into(doc)? {
            return Ok(false);
        }
        let id = underscored(&doc.id);
        let name = std::mem::replace(&mut doc.id, id);
        doc.attributes.set(NAME, name);
        without_year_zero(&mut doc.attributes);
        if doc.attributes.get(STRUCTURED_INFO).is_none() {
            let sentences = DatasetMetadata::from_attributes(&doc.attributes).verbalize();
            if !sentences.is_empty() {
                doc.attributes.set(STRUCTURED_INFO, sentences);
            }
        }
        Ok(true)
    }
}

/// Removes the year 0, which MAKG writes for unknown.
pub(super) fn without_year_zero(attributes: &mut Attributes) {
    if attributes.get(attribute::YEAR) == Some(&AttributeValue::Int(0)) {
        *attributes = attributes
            .iter()
            .filter(|(name, _)| *name != attribute::YEAR)
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect();
    }
}
