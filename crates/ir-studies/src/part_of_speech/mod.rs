//! Parts of speech of texts, and queries reduced to their content words.
//!
//! [`PartOfSpeechFilter`] keeps the words of some parts of speech, as the published program of
//! DataFinder does with nouns, adjectives and verbs before the other steps of query cleaning. A
//! [`PartOfSpeechTagger`] splits a text into tagged words. [`TaggedTexts`] reads them from a file
//! in [CoNLL-U](https://universaldependencies.org/format.html), which spaCy, Stanza and UDPipe
//! write.
//!
//! ```
//! use ir_studies::part_of_speech::{PartOfSpeechFilter, TaggedTexts};
//! let file = "1\tMaps\tmap\tNOUN\t_\t_\t_\t_\t_\t_\n\
//!             2\tof\tof\tADP\t_\t_\t_\t_\t_\t_\n\
//!             3\tlarge\tlarge\tADJ\t_\t_\t_\t_\t_\t_\n\
//!             4\tcities\tcity\tNOUN\t_\t_\t_\t_\t_\t_\n";
//! let tagger = TaggedTexts::read(file.as_bytes(), "queries.conllu")?;
//! let filter = PartOfSpeechFilter::default();
//! assert_eq!(filter.apply(&tagger, "Maps of large cities")?, "Maps large cities");
//! assert!(filter.apply(&tagger, "Maps of towns").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No tagger of the registry is used: `pos-tagger` 0.2 is licensed under the GPL,
//! `wiktionary-part-of-speech-extract` lists the tags of a word without a choice among them, and
//! `crftag` has no English model.

mod conllu;

use std::error::Error;
use std::fmt;
use std::str::FromStr;

pub use conllu::TaggedTexts;

/// Tags with their names, in alphabetic order.
macro_rules! parts_of_speech {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)*) => {
        /// Part of speech: a universal tag (UPOS).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum PartOfSpeech {
            $($(#[$doc])* $variant,)*
        }

        impl PartOfSpeech {
            /// All tags, in alphabetic order.
            pub const ALL: [Self; 17] = [$(Self::$variant,)*];

            /// Returns the name of the tag, such as `NOUN`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

parts_of_speech! {
    /// `ADJ`: adjectives such as *large* and *first*.
    Adjective "ADJ",
    /// `ADP`: adpositions such as *in* and *during*.
    Adposition "ADP",
    /// `ADV`: adverbs such as *very* and *there*.
    Adverb "ADV",
    /// `AUX`: auxiliary verbs such as *has* and *should*.
    Auxiliary "AUX",
    /// `CCONJ`: coordinating conjunctions such as *and*.
    CoordinatingConjunction "CCONJ",
    /// `DET`: determiners such as *the* and *this*.
    Determiner "DET",
    /// `INTJ`: interjections such as *hello*.
    Interjection "INTJ",
    /// `NOUN`: nouns such as *city* and *beauty*.
    Noun "NOUN",
    /// `NUM`: numerals such as *two* and *2020*.
    Numeral "NUM",
    /// `PART`: particles such as *not*.
    Particle "PART",
    /// `PRON`: pronouns such as *they* and *who*.
    Pronoun "PRON",
    /// `PROPN`: proper nouns such as *ImageNet*.
    ProperNoun "PROPN",
    /// `PUNCT`: punctuation such as commas.
    Punctuation "PUNCT",
    /// `SCONJ`: subordinating conjunctions such as *if*.
    SubordinatingConjunction "SCONJ",
    /// `SYM`: symbols such as *%*.
    Symbol "SYM",
    /// `VERB`: verbs such as *run* and *trained*.
    Verb "VERB",
    /// `X`: other words, such as typing errors.
    Other "X",
}

impl fmt::Display for PartOfSpeech {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Error parsing the name of a part of speech.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a universal part-of-speech tag, such as NOUN, ADJ or VERB, found {found:?}")]
pub struct ParsePartOfSpeechError {
    found: String,
}

impl FromStr for PartOfSpeech {
    type Err = ParsePartOfSpeechError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|tag| tag.name() == name);
        found.ok_or_else(|| ParsePartOfSpeechError {
            found: name.to_owned(),
        })
    }
}

/// Word with its part of speech.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaggedWord {
    /// Word as in the text.
    pub text: String,
    /// Tag of the word in its sentence.
    pub tag: PartOfSpeech,
}

/// Part-of-speech tagger: a model, or a file of tagged texts.
///
/// Deterministic: equal texts have equal words and tags.
pub trait PartOfSpeechTagger {
    /// Splits a text into words, and tags them in order.
    ///
    /// # Errors
    /// The tagger has no tags of this text, or failed.
    fn tag(&self, text: &str) -> Result<Vec<TaggedWord>, TaggingError>;
}

/// Error of a part-of-speech tagger.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum TaggingError {
    /// The file has no tags of a text.
    #[error("{path}: expected the tagged words of {text:?}, found none")]
    Untagged { path: String, text: String },
    /// A tagger outside this crate failed.
    #[error("cannot tag {text:?}")]
    Tagger {
        text: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

/// Filter of words by part of speech.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartOfSpeechFilter {
    keep: Vec<PartOfSpeech>,
}

impl Default for PartOfSpeechFilter {
    /// Nouns, adjectives and verbs, as published for DataFinder. Proper nouns are removed.
    fn default() -> Self {
        use PartOfSpeech::{Adjective, Noun, Verb};
        Self::new([Noun, Adjective, Verb])
    }
}

impl FromIterator<PartOfSpeech> for PartOfSpeechFilter {
    fn from_iter<I: IntoIterator<Item = PartOfSpeech>>(keep: I) -> Self {
        Self::new(keep)
    }
}

impl PartOfSpeechFilter {
    /// Creates a filter that keeps the words of these parts of speech.
    pub fn new(keep: impl IntoIterator<Item = PartOfSpeech>) -> Self {
        let mut keep: Vec<PartOfSpeech> = keep.into_iter().collect();
        keep.sort_unstable();
        keep.dedup();
        Self { keep }
    }

    /// Returns the kept parts of speech, in alphabetic order.
    #[must_use]
    pub fn keep(&self) -> &[PartOfSpeech] {
        &self.keep
    }

    /// Returns the words of a text that are kept, joined by spaces. A text without words is not
    /// tagged.
    ///
    /// # Errors
    /// The tagger returns one.
    pub fn apply(
        &self,
        tagger: &dyn PartOfSpeechTagger,
        text: &str,
    ) -> Result<String, TaggingError> {
        if text.trim().is_empty() {
            return Ok(String::new());
        }
        let words = tagger.tag(text)?;
        let kept = words.iter().filter(|word| self.keep.contains(&word.tag));
        let kept: Vec<&str> = kept.map(|word| word.text.as_str()).collect();
        Ok(kept.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Capitalized words are proper nouns, other words verbs.
    struct ByCase;

    impl PartOfSpeechTagger for ByCase {
        fn tag(&self, text: &str) -> Result<Vec<TaggedWord>, TaggingError> {
            let tag = |word: &str| {
                if word.chars().all(char::is_lowercase) {
                    PartOfSpeech::Verb
                } else {
                    PartOfSpeech::ProperNoun
                }
            };
            if text.contains('?') {
                return Err(TaggingError::Tagger {
                    text: text.to_owned(),
                    source: "a question".into(),
                });
            }
            let words = text.split_whitespace();
            let words = words.map(|word| TaggedWord {
                text: word.to_owned(),
                tag: tag(word),
            });
            Ok(words.collect())
        }
    }

    #[test]
    fn words_are_filtered() {
        let filter = PartOfSpeechFilter::default();
        let keep: Vec<&str> = filter.keep().iter().map(|tag| tag.name()).collect();
        assert_eq!(keep, ["ADJ", "NOUN", "VERB"]);
        let apply = |filter: &PartOfSpeechFilter, text| filter.apply(&ByCase, text).unwrap();
        assert_eq!(apply(&filter, "Anna  reads Books aloud"), "reads aloud");
        assert_eq!(apply(&filter, "Anna"), "");
        assert_eq!(apply(&filter, " \n"), "");
        let proper: PartOfSpeechFilter = [PartOfSpeech::ProperNoun; 2].into_iter().collect();
        assert_eq!(apply(&proper, "Anna reads Books"), "Anna Books");
        let error = filter.apply(&ByCase, "who?").unwrap_err();
        assert_eq!(error.to_string(), "cannot tag \"who?\"");
        // Without words there is nothing to tag.
        assert_eq!(filter.apply(&ByCase, " ").unwrap(), "");
    }

    #[test]
    fn names() {
        for tag in PartOfSpeech::ALL {
            assert_eq!(tag.to_string().parse(), Ok(tag));
        }
        assert!(PartOfSpeech::ALL.is_sorted_by_key(|tag| tag.name()));
        let error = "noun".parse::<PartOfSpeech>().unwrap_err().to_string();
        assert!(error.ends_with("found \"noun\""), "{error}");
    }
}
