//! Stemming of English words.

mod porter;

use serde::{Deserialize, Serialize};
use std::fmt;

/// Stemming algorithm. All algorithms expect lowercase words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stemmer {
    /// No stemming: tokens are unchanged.
    None,
    /// Porter stemmer of Lucene, and so of Anserini, Elasticsearch and Solr: the author's revised
    /// implementation, which keeps words of one or two letters and changes two of the published
    /// rules.
    #[default]
    Porter,
    /// Porter stemmer as published in 1980. Snowball's `porter` differs only in double consonants
    /// that are rare in English (`trekking` is `trek` here, `trekk` in Snowball).
    Porter1980,
    /// Snowball's `english` (Porter2), version 3.0. A later revision of the algorithm would be
    /// another variant, so that saved indexes keep their terms.
    English,
}

impl Stemmer {
    /// Stems a lowercase word.
    ///
    /// ```
    /// use ir_bm25::analysis::Stemmer;
    /// assert_eq!(Stemmer::Porter.stem("generalizations"), "gener");
    /// assert_eq!(Stemmer::English.stem("generalizations"), "general");
    /// ```
    pub fn stem(self, word: &str) -> String {
        let mut term = word.to_owned();
        Stem::new(self).apply(&mut term);
        term
    }
}

/// The name in saved indexes.
impl fmt::Display for Stemmer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Porter => "porter",
            Self::Porter1980 => "porter1980",
            Self::English => "english",
        })
    }
}

/// A stemmer with its buffers.
pub(super) struct Stem {
    stemmer: Stemmer,
    snowball: Option<snowball_stemmers_rs::Stemmer>,
    units: Vec<u16>,
}

impl Stem {
    pub(super) fn new(stemmer: Stemmer) -> Self {
        let snowball = (stemmer == Stemmer::English).then(|| {
            snowball_stemmers_rs::Stemmer::create(snowball_stemmers_rs::Algorithm::English)
        });
        Self {
            stemmer,
            snowball,
            units: Vec::new(),
        }
    }

    /// Stems in place. The stem of `s` by the published Porter rules is empty.
    pub(super) fn apply(&mut self, word: &mut String) {
        match self.stemmer {
            Stemmer::None => {}
            Stemmer::Porter => porter::stem(word, &mut self.units, porter::PorterRules::Revised),
            Stemmer::Porter1980 => {
                porter::stem(word, &mut self.units, porter::PorterRules::Published)
            }
            Stemmer::English => {
                if let Some(snowball) = &self.snowball
                    && let std::borrow::Cow::Owned(stem) = snowball.stem(word)
                {
                    *word = stem;
                }
            }
        }
    }
}
