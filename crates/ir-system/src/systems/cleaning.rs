//! Cleaning of queries, for systems of several types.

use std::path::Path;
use std::sync::Arc;

use ir_bm25::analysis::{QueryCleaning, StopWords};
use ir_core::stop_words::ENGLISH_FUNCTION_WORDS;
use ir_core::{Rewritten, SearchError};
use ir_studies::part_of_speech::{PartOfSpeechFilter, TaggedTexts, TaggingError};

use super::existing_file;
use crate::entries::cleaning::TAGS;
use crate::entries::{CleaningEntry, StopWordList};
use crate::error::SystemError;
use crate::system::{OpenSystem, SharedRetriever, SystemContext};

impl CleaningEntry {
    /// Hash of the file that the cleaning reads; empty without one.
    pub(super) fn content(
        entry: Option<&Self>,
        context: &SystemContext<'_>,
    ) -> Result<String, SystemError> {
        match entry.and_then(|entry| entry.tags.as_ref()) {
            None => Ok(String::new()),
            Some(path) => context.file_hash(&existing_file(context, TAGS, path)?),
        }
    }

    /// Reads the file of the tags.
    pub(super) fn open(&self, context: &SystemContext<'_>) -> Result<Cleaner, SystemError> {
        let tags = self.tags.as_ref();
        let tags = tags.map(|path| existing_file(context, TAGS, path));
        self.cleaner(tags.transpose()?.as_deref())
    }

    /// Returns the cleaner of texts. `tags` is the path of the key `tags`.
    ///
    /// # Errors
    /// Returns [`SystemError::Parameter`] if a tag is unknown, or the file cannot be read.
    pub fn cleaner(&self, tags: Option<&Path>) -> Result<Cleaner, SystemError> {
        let tags = match tags {
            None => None,
            Some(path) => {
                let tags = TaggedTexts::open(path);
                let tags = tags.map_err(|error| SystemError::parameter(TAGS, error.to_string()))?;
                Some((self.filter()?, tags))
            }
        };
        let cleaning = QueryCleaning::default()
            .with_punctuation_removed(self.punctuation)
            .with_lower_case(self.lower_case)
            .with_stop_words(match self.stop_words {
                StopWordList::FunctionWords => StopWords::custom(ENGLISH_FUNCTION_WORDS),
                StopWordList::Nltk => StopWords::Nltk179,
                StopWordList::None => StopWords::None,
            });
        Ok(Cleaner { cleaning, tags })
    }

    /// Cleans the queries of a system.
    pub(super) fn applied(
        entry: Option<&Self>,
        context: &SystemContext<'_>,
        open: OpenSystem,
    ) -> Result<OpenSystem, SystemError> {
        let Some(entry) = entry else { return Ok(open) };
        let cleaner = Arc::new(entry.open(context)?);
        let cleaned = |retriever: SharedRetriever| -> SharedRetriever {
            let cleaner = cleaner.clone();
            Arc::new(Rewritten::new(retriever, move |text: &str| {
                let cleaned = cleaner.clean(text);
                cleaned.map_err(|error| SearchError::Engine {
                    engine: "query cleaning",
                    source: error.into(),
                })
            }))
        };
        Ok(OpenSystem {
            retriever: cleaned(open.retriever),
            with_duplicates: open.with_duplicates.map(cleaned),
            ..open
        })
    }
}

/// Steps of a cleaning, with the tags of its file.
#[derive(Debug)]
pub struct Cleaner {
    cleaning: QueryCleaning,
    tags: Option<(PartOfSpeechFilter, TaggedTexts)>,
}

impl Cleaner {
    /// Returns the cleaned text.
    ///
    /// # Errors
    /// Returns [`TaggingError`] if the file of the tags lacks the text.
    pub fn clean(&self, text: &str) -> Result<String, TaggingError> {
        Ok(match &self.tags {
            None => self.cleaning.clean(text),
            Some((filter, tags)) => self.cleaning.clean(&filter.apply(tags, text)?),
        })
    }
}
