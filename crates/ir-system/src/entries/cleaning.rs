//! Cleaning of queries, for systems of several types.

use std::fmt;

use ir_studies::part_of_speech::{PartOfSpeech, PartOfSpeechFilter};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::SystemError;

/// Cleaning of query texts, in this order: parts of speech, punctuation, case, stop words.
///
/// DataFinder's kNN removes punctuation and NLTK's stop words; its BM25 cleans nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CleaningEntry {
    /// Tagged words of the queries, a file in CoNLL-U. Only words of some parts of speech are kept.
    /// Default: all words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<String>,
    /// Universal part-of-speech tags of the words to keep. Default: NOUN, ADJ, VERB, as published
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

/// Stop words of TF-IDF and of query cleaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StopWordList {
    /// English function words of questions.
    FunctionWords,
    /// NLTK's English stop words.
    Nltk,
    /// No stop words are removed.
    #[default]
    None,
}

/// Deserializes a table only: the derived implementation accepts a list of all values, too.
pub(crate) fn table<'de, D: Deserializer<'de>>(
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

pub(crate) const TAGS: &str = "cleaning.tags";

impl CleaningEntry {
    pub(crate) fn check(&self) -> Result<(), SystemError> {
        if self.parts_of_speech.is_some() && self.tags.is_none() {
            return Err(SystemError::requires("cleaning.parts_of_speech", TAGS));
        }
        self.filter().map(drop)
    }

    pub(crate) fn filter(&self) -> Result<PartOfSpeechFilter, SystemError> {
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
    pub(crate) fn file(&self) -> Option<(String, String)> {
        Some((TAGS.to_owned(), self.tags.clone()?))
    }
}
