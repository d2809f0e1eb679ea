use std::borrow::Cow;
use std::fs::File;
use std::io::Write;

use ir_core::store::{IndexBytes, SectionBytes};
use ir_core::{CandidateTexts, Corpus, DocIds, DocNum, Document, SearchError};

use crate::datafinder::underscored;
use crate::error::{DataError, write_error};
use crate::template::DocTemplate;

/// Maximum number of bytes of texts in memory.
const MEMORY: usize = 64 << 20;

/// Texts of a corpus by document id, for training examples that refer to documents, and for
/// rerankers.
///
/// If another crate enables the feature `mmap` of `ir-core`, memory holds the ids and up to 64 MiB
/// of texts: more are in a temporary file, which is memory-mapped. Otherwise it holds all texts.
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
    texts: Texts,
    /// Ends of the texts, in bytes.
    ends: Vec<usize>,
}

/// All texts, one after another: a string for each would need 40 bytes more.
#[derive(Debug)]
enum Texts {
    Memory(String),
    File(SectionBytes),
}

impl Default for Texts {
    fn default() -> Self {
        Self::Memory(String::new())
    }
}

impl Texts {
    fn get(&self, start: usize, end: usize) -> Option<&str> {
        match self {
            Self::Memory(texts) => texts.get(start..end),
            Self::File(bytes) => std::str::from_utf8(bytes.as_ref().get(start..end)?).ok(),
        }
    }
}

/// Texts that are read: the last ones in memory, those before in a temporary file.
#[derive(Default)]
struct TextSpool {
    texts: String,
    file: Option<File>,
    written: usize,
}

impl TextSpool {
    fn spill(&mut self) -> Result<(), DataError> {
        let folder = std::env::temp_dir();
        let error = write_error(&folder);
        let mut file = match self.file.take() {
            Some(file) => file,
            None => tempfile::tempfile_in(&folder).map_err(&error)?,
        };
        file.write_all(self.texts.as_bytes()).map_err(&error)?;
        self.written += self.texts.len();
        self.texts.clear();
        self.file = Some(file);
        Ok(())
    }

    fn finish(mut self) -> Result<Texts, DataError> {
        if self.file.is_some() {
            self.spill()?;
        }
        let Some(file) = self.file else {
            self.texts.shrink_to_fit();
            return Ok(Texts::Memory(self.texts));
        };
        let bytes = IndexBytes::from_file(&file).map_err(write_error(&std::env::temp_dir()))?;
        let bytes = SectionBytes::from(bytes);
        bytes.advise_random();
        Ok(Texts::File(bytes))
    }
}

impl DocumentTexts {
    /// Reads all documents of a corpus and renders `template` for each.
    ///
    /// # Errors
    /// The corpus cannot be read, or a temporary file cannot be written.
    pub fn from_corpus(corpus: &dyn Corpus, template: &DocTemplate) -> Result<Self, DataError> {
        Self::read(corpus, template, MEMORY)
    }

    fn read(corpus: &dyn Corpus, template: &DocTemplate, memory: usize) -> Result<Self, DataError> {
        let (mut ids, mut ends) = (DocIds::default(), Vec::new());
        let mut spool = TextSpool::default();
        let mut reader = corpus.open()?;
        let mut doc = Document::default();
        while reader.read(&mut doc)? {
            ids.push(&doc.id).map_err(ir_core::CorpusError::new)?;
            spool.texts.push_str(&template.render(&doc));
            ends.push(spool.written + spool.texts.len());
            if spool.texts.len() > memory {
                spool.spill()?;
            }
        }
        let texts = spool.finish()?;
        Ok(Self { ids, texts, ends })
    }

    /// Returns `true` if the texts exceed 64 MiB, so that they are in a temporary file.
    #[must_use]
    pub const fn is_in_file(&self) -> bool {
        matches!(self.texts, Texts::File(_))
    }

    /// Removes the texts that were read from a file from the resident memory. The system maps more
    /// pages than are read.
    pub fn release(&self) {
        if let Texts::File(bytes) = &self.texts {
            bytes.release();
        }
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

    /// Returns `true` if there are no documents.
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
        end.and_then(|end| self.texts.get(start, end)).unwrap_or("")
    }

    pub(super) fn number(&self, id: &str) -> Option<DocNum> {
        self.ids.get(id).or_else(|| {
            let has_space = id.contains(char::is_whitespace);
            has_space.then(|| self.ids.get(&underscored(id))).flatten()
        })
    }
}

impl CandidateTexts for DocumentTexts {
    fn text(&self, id: &str) -> Result<Option<Cow<'_, str>>, SearchError> {
        Ok(self.get(id).map(|(_, text)| Cow::Borrowed(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_a_file_are_those_in_memory() {
        let corpus: Vec<Document> = (0..300)
            .map(|n| Document::new(format!("d{n}")).with_text("\u{e4}\u{1d11e}x".repeat(n % 7)))
            .collect();
        let read = |memory| DocumentTexts::read(&corpus, &DocTemplate::default(), memory).unwrap();
        let expected = read(usize::MAX);
        assert!(!expected.is_in_file());
        for memory in [0, 1, 50, 2000] {
            let texts = read(memory);
            assert!(texts.is_in_file());
            assert_eq!(texts.len(), corpus.len());
            for doc in &corpus {
                assert_eq!(texts.get(&doc.id), expected.get(&doc.id));
                texts.release();
                assert_eq!(
                    texts.get(&doc.id),
                    Some((doc.id.as_str(), doc.text.as_str()))
                );
            }
            assert_eq!(texts.text(DocNum::new(300)), "");
        }
    }
}
