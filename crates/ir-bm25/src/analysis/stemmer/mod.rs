//! Stemmers: a word to the form shared by its relatives.

mod porter;

use serde::{Deserialize, Serialize};
use std::fmt;

/// How words are brought to a common form. All of them expect lower-case words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stemmer {
    /// Words stay as they are.
    None,
    /// Porter's stemmer as Lucene has it (and with it Anserini, Elasticsearch and Solr): the author's revised program,
    /// which leaves words of one and two letters alone and has two rules that differ from the printed ones.
    #[default]
    Porter,
    /// Porter's stemmer as printed in 1980. Snowball's `porter` is the same but for double consonants that English
    /// hardly has (of `trekking` this makes `trek`, Snowball `trekk`).
    Porter1980,
    /// Snowball's `english` (also called Porter2) as of its version 3.0. The algorithm is revised from time to time;
    /// a later revision would be another variant here, so that saved indexes keep their terms.
    English,
}

impl Stemmer {
    /// The stem of one lower-case word.
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

/// The name as it is spelled in a saved index.
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

/// A stemmer at work, with the scratch space that it needs.
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

    /// Stems in place. The printed Porter rules make an empty word of `s`.
    pub(super) fn apply(&mut self, word: &mut String) {
        match self.stemmer {
            Stemmer::None => {}
            Stemmer::Porter => porter::stem(word, &mut self.units, porter::Form::Revised),
            Stemmer::Porter1980 => porter::stem(word, &mut self.units, porter::Form::Printed),
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
