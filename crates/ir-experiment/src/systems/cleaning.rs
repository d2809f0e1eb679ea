//! Cleaning of queries, for systems of several types.

use std::fmt;
use std::sync::Arc;

use ir_bm25::analysis::{QueryCleaning, StopWords};
use ir_core::{Rewritten, SearchError};
use ir_studies::part_of_speech::{PartOfSpeech, PartOfSpeechFilter, TaggedTexts, TaggingError};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::knn::StopWordList;
use super::vectors::existing_file;
use crate::error::SystemError;
use crate::system::{OpenSystem, SharedRetriever, SystemContext};

/// Cleaning of query texts, in this order: parts of speech, punctuation, case, stop words.
///
/// DataFinder's kNN removes punctuation and NLTK's stop words; its BM25 cleans nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CleaningEntry {
    /// Tagged words of the queries, a file in CoNLL-U, relative to the experiment file. Only words
    /// with a tag of `parts_of_speech` are kept. Default: all words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<String>,
    /// Universal part-of-speech tags to keep, for `tags`. Default: NOUN, ADJ, VERB, as published
    /// for DataFinder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts_of_speech: Option<Vec<String>>,
    /// Replaces the 32 ASCII punctuation characters by spaces. Default: false.
    pub punctuation: bool,
    /// Lowercases the text. Default: false.
    pub lower_case: bool,
    /// Stop words to remove, ignoring case. Default: `none`.
    pub stop_words: StopWordList,
}

/// Deserializes a table only: the derived implementation accepts a list of all values, too.
pub(super) fn table<'de, D: Deserializer<'de>>(
    input: D,
) -> Result<Option<CleaningEntry>, D::Error> {
    struct Table;

    impl<'de> Visitor<'de> for Table {
        type Value = CleaningEntry;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table such as { punctuation = true }")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            CleaningEntry::deserialize(MapAccessDeserializer::new(map))
        }
    }

    input.deserialize_map(Table).map(Some)
}

const TAGS: &str = "cleaning.tags";

impl CleaningEntry {
    pub(super) fn check(&self) -> Result<(), SystemError> {
        if self.parts_of_speech.is_some() && self.tags.is_none() {
            let message = "expected the key tags, a file with the tagged words of the queries";
            return Err(SystemError::parameter("cleaning.parts_of_speech", message));
        }
        self.filter().map(drop)
    }

    fn filter(&self) -> Result<PartOfSpeechFilter, SystemError> {
        let Some(names) = &self.parts_of_speech else {
            return Ok(PartOfSpeechFilter::default());
        };
        let tags = names.iter().enumerate().map(|(n, name)| {
            name.parse::<PartOfSpeech>().map_err(|error| {
                let key = format!("cleaning.parts_of_speech[{n}]");
                SystemError::parameter(key, error.to_string())
            })
        });
        tags.collect()
    }

    /// File that the cleaning reads, with its key.
    pub(super) fn file(&self) -> Option<(String, String)> {
        Some((TAGS.to_owned(), self.tags.clone()?))
    }

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
        let tags = match &self.tags {
            None => None,
            Some(path) => {
                let path = existing_file(context, TAGS, path)?;
                let tags = TaggedTexts::open(path);
                let tags = tags.map_err(|error| SystemError::parameter(TAGS, error.to_string()))?;
                Some((self.filter()?, tags))
            }
        };
        let cleaning = QueryCleaning::default()
            .with_punctuation_removed(self.punctuation)
            .with_lower_case(self.lower_case)
            .with_stop_words(match self.stop_words {
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
        })
    }
}

/// Steps of a cleaning, with the tags of its file.
pub(super) struct Cleaner {
    cleaning: QueryCleaning,
    tags: Option<(PartOfSpeechFilter, TaggedTexts)>,
}

impl Cleaner {
    pub(super) fn clean(&self, text: &str) -> Result<String, TaggingError> {
        Ok(match &self.tags {
            None => self.cleaning.clean(text),
            Some((filter, tags)) => self.cleaning.clean(&filter.apply(tags, text)?),
        })
    }
}
