use std::io::BufRead;
use std::path::PathBuf;

use crate::attribute;
use ir_core::{AttributeValue, Attributes, Corpus, CorpusError, DocReader, Document};

use crate::compression::open;
use crate::error::name_of;
use crate::json::JsonFields;
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

/// Style of document ids: with underscores, or as in the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DatasetIdStyle {
    /// [`underscored`] name, as in the qrels and runs.
    #[default]
    Underscored,
    /// Name as in the corpus, possibly with spaces.
    Name,
}

/// Corpus of datasets.
///
/// The text is the field `contents`, the title that of the paper that introduced the dataset.
/// DataFinder's BM25 searches `contents` only. Attributes are `name`, `year`, `date`, `variants`
/// and any other field.
#[derive(Debug, Clone)]
pub struct DatasetCorpus {
    /// File, possibly compressed. Every reader opens it again.
    pub path: PathBuf,
    /// Style of the ids. Default: [`DatasetIdStyle::Underscored`].
    pub ids: DatasetIdStyle,
}

impl DatasetCorpus {
    /// Creates a corpus of the datasets in a file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            ids: DatasetIdStyle::default(),
        }
    }

    ir_core::setters! { with_ids: ids, DatasetIdStyle; }

    /// Reads documents from a reader; `source` names it in errors.
    pub fn read<'a>(
        reader: impl BufRead + Send + 'a,
        source: &str,
        ids: DatasetIdStyle,
    ) -> Box<dyn DocReader + 'a> {
        Box::new(DatasetReader {
            docs: JsonlReader::new(reader, source, JsonFields::anserini(), DuplicateIds::Keep),
            ids,
        })
    }
}

impl Corpus for DatasetCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let source = name_of(&self.path);
        Ok(Self::read(open(&self.path)?, &source, self.ids))
    }
}

struct DatasetReader<R> {
    docs: JsonlReader<R>,
    ids: DatasetIdStyle,
}

impl<R: BufRead + Send> DocReader for DatasetReader<R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        if !self.docs.read_into(doc)? {
            return Ok(false);
        }
        if self.ids == DatasetIdStyle::Underscored {
            let id = underscored(&doc.id);
            let name = std::mem::replace(&mut doc.id, id);
            doc.attributes.set(NAME, name);
        }
        without_year_zero(&mut doc.attributes);
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
