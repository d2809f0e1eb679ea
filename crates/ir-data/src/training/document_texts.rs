use ir_core::{Corpus, DocIds, DocNum, Document};

use crate::datafinder::underscored;
use crate::error::DataError;
use crate::template::DocTemplate;

/// Texts of a corpus in memory by document id, for training examples that refer to documents.
///
/// Of several documents with the same id the first counts. An id with white space also matches its
/// [`underscored`] form, as written by [`DatasetCorpus`](crate::datafinder::DatasetCorpus).
///
/// ```
/// use ir_core::Document;
/// use ir_data::DocTemplate;
/// use ir_data::training::DocumentTexts;
/// let corpus = vec![
///     Document::new("Penn_Treebank").with_text("Parsed news."),
///     Document::new("empty"),
///     Document::new("ImageNet").with_text("Größe."),
/// ];
/// let texts = DocumentTexts::from_corpus(&corpus, &DocTemplate::default())?;
/// assert_eq!(texts.get("Penn Treebank"), Some(("Penn_Treebank", "Parsed news.")));
/// assert_eq!(texts.get("empty"), Some(("empty", "")));
/// assert_eq!(texts.get("ImageNet"), Some(("ImageNet", "Größe.")));
/// assert_eq!(texts.get("SQuAD"), None);
/// assert_eq!(texts.text(ir_core::DocNum::new(3)), "");
/// # Ok::<(), ir_data::DataError>(())
/// ```
#[derive(Debug, Default)]
pub struct DocumentTexts {
    ids: DocIds,
    /// All texts, one after another: a string for each would need 40 bytes more.
    texts: String,
    /// Ends of the texts, in bytes.
    ends: Vec<usize>,
}

impl DocumentTexts {
    /// Reads all documents of a corpus and renders `template` for each.
    ///
    /// # Errors
    /// The corpus cannot be read.
    pub fn from_corpus(corpus: &dyn Corpus, template: &DocTemplate) -> Result<Self, DataError> {
        let mut texts = Self::default();
        let mut reader = corpus.open()?;
        let mut doc = Document::default();
        while reader.read(&mut doc)? {
            texts.ids.push(&doc.id).map_err(ir_core::CorpusError::new)?;
            texts.texts.push_str(&template.render(&doc));
            texts.ends.push(texts.texts.len());
        }
        Ok(texts)
    }

    /// Id and text of a document.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<(&str, &str)> {
        let doc = self.number(id)?;
        Some((self.ids.id(doc), self.text(doc)))
    }

    /// Number of documents, duplicates included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Ids in corpus order.
    #[must_use]
    pub const fn ids(&self) -> &DocIds {
        &self.ids
    }

    /// Text of the document with this number in corpus order; empty if there is none.
    #[must_use]
    pub fn text(&self, doc: DocNum) -> &str {
        let number = doc.index();
        let start = match number.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or(0),
            None => 0,
        };
        let end = self.ends.get(number).copied();
        end.and_then(|end| self.texts.get(start..end)).unwrap_or("")
    }

    pub(super) fn number(&self, id: &str) -> Option<DocNum> {
        self.ids.get(id).or_else(|| {
            let has_space = id.contains(char::is_whitespace);
            has_space.then(|| self.ids.get(&underscored(id))).flatten()
        })
    }
}
