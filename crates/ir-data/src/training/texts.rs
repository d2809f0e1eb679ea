//! The texts of a collection by id.

use ir_core::{Corpus, DocIds, DocNum, Document};

use crate::datafinder::underscored;
use crate::{DataError, DocTemplate};

/// The texts of a collection in memory, for examples that name documents by id.
///
/// Of several records with one id the first counts. A name with white space in it is also found
/// [`underscored`], since that is how [`DatasetCorpus`](crate::datafinder::DatasetCorpus) writes ids.
///
/// ```
/// use ir_core::Document;
/// use ir_data::DocTemplate;
/// use ir_data::training::Texts;
/// let corpus = vec![Document::new("Penn_Treebank").with_text("Parsed news.")];
/// let texts = Texts::read(&corpus, &DocTemplate::default())?;
/// assert_eq!(texts.get("Penn Treebank"), Some(("Penn_Treebank", "Parsed news.")));
/// assert_eq!(texts.get("SQuAD"), None);
/// # Ok::<(), ir_data::DataError>(())
/// ```
#[derive(Debug, Default)]
pub struct Texts {
    ids: DocIds,
    texts: Vec<String>,
}

impl Texts {
    /// Reads all documents; `template` says what of a document is its text.
    ///
    /// # Errors
    /// When the collection cannot be read.
    pub fn read(corpus: &dyn Corpus, template: &DocTemplate) -> Result<Self, DataError> {
        let mut all = Self::default();
        let mut reader = corpus.open()?;
        let mut doc = Document::default();
        while reader.read(&mut doc)? {
            all.ids.push(&doc.id).map_err(ir_core::CorpusError::new)?;
            all.texts.push(template.of(&doc));
        }
        Ok(all)
    }

    /// The id and the text of a document, by its id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<(&str, &str)> {
        let doc = self.number(id)?;
        Some((self.ids.id(doc), self.text(doc)))
    }

    /// How many records there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The ids, by number in the order of the collection.
    #[must_use]
    pub const fn ids(&self) -> &DocIds {
        &self.ids
    }

    /// The text of a number in the order of the collection; empty for a number beyond it.
    #[must_use]
    pub fn text(&self, doc: DocNum) -> &str {
        self.texts.get(doc.index()).map_or("", String::as_str)
    }

    pub(super) fn number(&self, id: &str) -> Option<DocNum> {
        self.ids.get(id).or_else(|| {
            let blank = id.contains(char::is_whitespace);
            blank.then(|| self.ids.get(&underscored(id))).flatten()
        })
    }
}
