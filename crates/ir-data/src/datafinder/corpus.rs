//! The search collection.

use std::io::{BufRead, Cursor};
use std::path::{Path, PathBuf};

use ir_core::{Attributes, Corpus, CorpusError, DocReader, Document, Value, name};

use crate::error::name_of;
use crate::jsonl::{Docs, Repeats};
use crate::open;
use crate::record::JsonFields;

/// The attribute that holds the name of a dataset as it stands in the collection.
pub const NAME: &str = "name";

/// An id as the qrels and runs of DataFinder write it: every run of white space is one `_`.
///
/// ```
/// assert_eq!(ir_data::datafinder::underscored("ICDAR 2015"), "ICDAR_2015");
/// ```
#[must_use]
pub fn underscored(text: &str) -> String {
    // White space as Python's `split` has it: U+001C to U+001F count, too.
    let blank = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    let mut id = String::with_capacity(text.len());
    for word in text.split(blank).filter(|word| !word.is_empty()) {
        if !id.is_empty() {
            id.push('_');
        }
        id.push_str(word);
    }
    id
}

/// Which id a document gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdForm {
    /// As the qrels and runs write it: [`underscored`].
    #[default]
    Underscored,
    /// The name as it stands in the collection, which may have blanks in it.
    Name,
}

/// The documents of a search collection: one dataset each.
///
/// The text is the field `contents`, the title is that of the paper that introduced the dataset
/// (DataFinder's own BM25 searches `contents` alone). The attributes are `name`, `year`, `date`,
/// `variants` and whatever else there is.
#[derive(Debug, Clone)]
pub struct DatasetCorpus {
    from: From,
    ids: IdForm,
}

#[derive(Debug, Clone)]
enum From {
    File(PathBuf),
    Text(&'static str, &'static str),
}

impl DatasetCorpus {
    /// The datasets of a file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            from: From::File(path.into()),
            ids: IdForm::default(),
        }
    }

    /// The datasets of a text that is part of the program.
    pub(crate) fn embedded(name: &'static str, text: &'static str) -> Self {
        Self {
            from: From::Text(name, text),
            ids: IdForm::default(),
        }
    }

    /// With ids of this form.
    #[must_use]
    pub fn with_ids(mut self, ids: IdForm) -> Self {
        self.ids = ids;
        self
    }

    /// The file, unless it is part of the program.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.from {
            From::File(path) => Some(path),
            From::Text(..) => None,
        }
    }

    /// Reads from a source; `source` names it in errors.
    pub fn read<'a>(
        reader: impl BufRead + Send + 'a,
        source: &str,
        ids: IdForm,
    ) -> Box<dyn DocReader + 'a> {
        Box::new(DatasetReader {
            docs: Docs::new(reader, source, JsonFields::anserini(), Repeats::Keep),
            ids,
        })
    }
}

impl Corpus for DatasetCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(match &self.from {
            From::File(path) => Self::read(open(path)?, &name_of(path), self.ids),
            From::Text(source, text) => Self::read(Cursor::new(text.as_bytes()), source, self.ids),
        })
    }
}

struct DatasetReader<R> {
    docs: Docs<R>,
    ids: IdForm,
}

impl<R: BufRead + Send> DocReader for DatasetReader<R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        if !self.docs.next_into(doc)? {
            return Ok(false);
        }
        match self.ids {
            IdForm::Name => {}
            IdForm::Underscored => {
                let id = underscored(&doc.id);
                let name = std::mem::replace(&mut doc.id, id);
                doc.attributes.set(NAME, name);
            }
        }
        without_year_zero(&mut doc.attributes);
        Ok(true)
    }
}

/// MAKG writes the year 0 where it knows none.
pub(super) fn without_year_zero(attributes: &mut Attributes) {
    if attributes.get(name::YEAR) == Some(&Value::Int(0)) {
        *attributes = attributes
            .iter()
            .filter(|(name, _)| *name != name::YEAR)
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect();
    }
}
