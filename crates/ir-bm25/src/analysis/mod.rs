//! Text analysis: what counts as a word, and which words count as the same.
//!
//! An [`Analysis`] is a description, a plain value that is saved with the index; [`Analysis::build`] turns it into the
//! [`AnalysisPipeline`] that does the work. Documents and queries must go through the same analysis, or they do not meet.
//!
//! ```
//! use ir_bm25::analysis::{Analysis, Stemmer};
//! use ir_core::Analyzer;
//!
//! # fn main() -> Result<(), ir_bm25::analysis::AnalysisError> {
//! let anserini = Analysis::default().build()?;
//! assert_eq!(anserini.terms("The dogs' easily-found bowls"), ["dog", "easili", "found", "bowl"]);
//!
//! let plain = Analysis::anserini().with_stemmer(Stemmer::None).build()?;
//! assert_eq!(plain.terms("The dogs' easily-found bowls"), ["dogs", "easily", "found", "bowls"]);
//! # Ok(())
//! # }
//! ```

mod cleaning;
mod error;
mod highlight;
mod lowercase;
mod pipeline;
mod stemmer;
mod stop_words;
mod tokenizer;

pub use cleaning::QueryCleaning;
pub use error::AnalysisError;
pub use highlight::{Highlighter, Snippet, mark};
pub use pipeline::AnalysisPipeline;
pub use stemmer::Stemmer;
pub use stop_words::StopWords;
pub use tokenizer::Tokenizer;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The least that [`Analysis::max_len`] may be: one character outside the basic plane is two units.
pub const SHORTEST_TOKEN: usize = 2;
/// The most that [`Analysis::max_len`] may be, as in Lucene.
pub const LONGEST_TOKEN: usize = 1 << 20;

/// How text becomes terms: the steps in the order in which they are taken.
///
/// The default is what Anserini and Pyserini do with English, which is also Lucene's `EnglishAnalyzer`:
///
/// ```
/// use ir_bm25::analysis::{Analysis, StopWords, Stemmer, Tokenizer};
///
/// let analysis = Analysis::default();
/// assert_eq!(analysis, Analysis::anserini());
/// assert_eq!(analysis.tokenizer, Tokenizer::Unicode);
/// assert_eq!(analysis.max_len, 255);
/// assert!(analysis.possessive && analysis.lower_case);
/// assert_eq!(analysis.stop_words, StopWords::Lucene33);
/// assert_eq!(analysis.stemmer, Stemmer::Porter);
/// assert_eq!(analysis.to_string(), "anserini");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Analysis {
    /// Cuts the text into words.
    pub tokenizer: Tokenizer,
    /// The longest word in UTF-16 units, from [`SHORTEST_TOKEN`] to [`LONGEST_TOKEN`]; a longer one is cut into
    /// pieces.
    pub max_len: usize,
    /// Whether a final `'s` is cut off (with `'`, `’` or `＇`).
    pub possessive: bool,
    /// Whether words are lower-cased: one character for one, by Unicode's simple mapping. Accents stay.
    pub lower_case: bool,
    /// Words that are dropped. They are compared after lower-casing and before stemming.
    pub stop_words: StopWords,
    /// Brings words to a common form. A word of which nothing is left is dropped.
    pub stemmer: Stemmer,
}

impl Default for Analysis {
    /// [`Analysis::anserini`].
    fn default() -> Self {
        Self::anserini()
    }
}

type Preset = fn() -> Analysis;

const NAMED: [(&str, Preset); 5] = [
    ("anserini", Analysis::anserini),
    ("anserini-unstemmed", Analysis::anserini_unstemmed),
    ("english", Analysis::english),
    ("lucene-standard", Analysis::lucene_standard),
    ("whitespace", Analysis::whitespace),
];

impl Analysis {
    /// Anserini's default for English, the same as Lucene's `EnglishAnalyzer`: Unicode words, possessive, lower case,
    /// 33 stop words, Porter's stemmer.
    pub fn anserini() -> Self {
        Self {
            tokenizer: Tokenizer::Unicode,
            max_len: 255,
            possessive: true,
            lower_case: true,
            stop_words: StopWords::Lucene33,
            stemmer: Stemmer::Porter,
        }
    }

    /// [`Analysis::anserini`] without the stemmer (Anserini's `-stemmer none`).
    pub fn anserini_unstemmed() -> Self {
        Self::anserini().with_stemmer(Stemmer::None)
    }

    /// [`Analysis::anserini`] with the newer English stemmer (Porter2).
    pub fn english() -> Self {
        Self::anserini().with_stemmer(Stemmer::English)
    }

    /// Lucene's `StandardAnalyzer` as it is when nothing is given: Unicode words in lower case, and no more.
    pub fn lucene_standard() -> Self {
        Self {
            possessive: false,
            stop_words: StopWords::None,
            stemmer: Stemmer::None,
            ..Self::anserini()
        }
    }

    /// For text that was analysed before (Anserini's `-pretokenized`): cut at white space, and no more.
    pub fn whitespace() -> Self {
        Self {
            tokenizer: Tokenizer::Whitespace,
            lower_case: false,
            ..Self::lucene_standard()
        }
    }

    /// The same with another tokenizer.
    #[must_use]
    pub fn with_tokenizer(self, tokenizer: Tokenizer) -> Self {
        Self { tokenizer, ..self }
    }

    /// The same with another longest word, in UTF-16 units.
    #[must_use]
    pub fn with_max_len(self, max_len: usize) -> Self {
        Self { max_len, ..self }
    }

    /// The same with or without the cutting of `'s`.
    #[must_use]
    pub fn with_possessive(self, possessive: bool) -> Self {
        Self { possessive, ..self }
    }

    /// The same with or without lower-casing.
    #[must_use]
    pub fn with_lower_case(self, lower_case: bool) -> Self {
        Self { lower_case, ..self }
    }

    /// The same with other stop words.
    #[must_use]
    pub fn with_stop_words(self, stop_words: StopWords) -> Self {
        Self { stop_words, ..self }
    }

    /// The same with another stemmer.
    #[must_use]
    pub fn with_stemmer(self, stemmer: Stemmer) -> Self {
        Self { stemmer, ..self }
    }

    /// The analysis ready to run.
    ///
    /// # Errors
    ///
    /// [`AnalysisError`] when the longest word is out of range, or a stop word is empty or can never match.
    pub fn build(&self) -> Result<AnalysisPipeline, AnalysisError> {
        if !(SHORTEST_TOKEN..=LONGEST_TOKEN).contains(&self.max_len) {
            return Err(AnalysisError::TokenLength {
                found: self.max_len,
            });
        }
        self.stop_words.check(self.lower_case)?;
        Ok(AnalysisPipeline::new(self.clone()))
    }
}

/// The name of a preset where it is one, and otherwise the steps: `unicode+lower+stop:nltk179+english`.
impl fmt::Display for Analysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = NAMED.iter().find(|(_, preset)| preset() == *self) {
            return f.write_str(name);
        }
        f.write_str(match self.tokenizer {
            Tokenizer::Unicode => "unicode",
            Tokenizer::Whitespace => "whitespace",
        })?;
        if self.max_len != 255 {
            write!(f, "({})", self.max_len)?;
        }
        if self.possessive {
            f.write_str("+possessive")?;
        }
        if self.lower_case {
            f.write_str("+lower")?;
        }
        match &self.stop_words {
            StopWords::None => {}
            StopWords::Lucene33 => f.write_str("+stop:lucene33")?,
            StopWords::Nltk179 => f.write_str("+stop:nltk179")?,
            StopWords::Custom(words) => write!(f, "+stop:custom({})", words.len())?,
        }
        match self.stemmer {
            Stemmer::None => Ok(()),
            stemmer => write!(f, "+{stemmer}"),
        }
    }
}

/// A preset by its name: `anserini`, `anserini-unstemmed`, `english`, `lucene-standard`, `whitespace`.
impl FromStr for Analysis {
    type Err = AnalysisError;

    fn from_str(name: &str) -> Result<Self, AnalysisError> {
        NAMED
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, preset)| preset())
            .ok_or_else(|| AnalysisError::UnknownName {
                found: name.to_owned(),
                expected: NAMED.map(|(known, _)| known).join(", "),
            })
    }
}
