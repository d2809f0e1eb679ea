use ir_core::{Corpus, CorpusError, DocReader, Document, Skipped};

use crate::template::DocTemplate;

/// Corpus with texts that a template renders, so that an index of the texts covers the fields
/// that the template names. Titles and attributes are unchanged.
///
/// ```
/// use ir_core::{Corpus, Document};
/// use ir_data::TemplatedCorpus;
/// let corpus = vec![Document::new("a").with_title("T").with_text("x").with("task", "parsing")];
/// let template = "{text} {task}".parse()?;
/// let templated = TemplatedCorpus::new(&corpus, &template);
/// let documents: Result<Vec<Document>, _> = templated.docs()?.collect();
/// assert_eq!(documents?[0].text, "x parsing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct TemplatedCorpus<'a> {
    corpus: &'a dyn Corpus,
    template: &'a DocTemplate,
}

impl<'a> TemplatedCorpus<'a> {
    /// Wraps a corpus. [`DocTemplate::check`] finds misspelled fields.
    #[must_use]
    pub fn new(corpus: &'a dyn Corpus, template: &'a DocTemplate) -> Self {
        Self { corpus, template }
    }
}

impl std::fmt::Debug for TemplatedCorpus<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TemplatedCorpus")
            .field("template", self.template)
            .finish_non_exhaustive()
    }
}

impl Corpus for TemplatedCorpus<'_> {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        Ok(Box::new(TemplatedReader {
            reader: self.corpus.open()?,
            template: self.template,
        }))
    }

    fn len_hint(&self) -> Option<u64> {
        self.corpus.len_hint()
    }

    fn skipped(&self) -> Skipped {
        self.corpus.skipped()
    }
}

struct TemplatedReader<'a> {
    reader: Box<dyn DocReader + 'a>,
    template: &'a DocTemplate,
}

impl DocReader for TemplatedReader<'_> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        if !self.reader.read(doc)? {
            return Ok(false);
        }
        doc.text = self.template.render(doc);
        Ok(true)
    }
}
