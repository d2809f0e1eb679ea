//! Text analysis: tokenization, normalization, lowercasing, stop-word removal and stemming.
//!
//! An [`Analysis`] is a configuration, saved with the index; [`Analysis::build`] creates the
//! [`AnalysisPipeline`] that implements [`Analyzer`](ir_core::Analyzer). Documents and queries must
//! go through the same analysis.
//!
//! ```
//! use ir_bm25::analysis::{Analysis, Stemmer};
//! use ir_core::Analyzer;
//!
//! # fn main() -> Result<(), ir_bm25::analysis::AnalysisError> {
//! let porter = Analysis::default().build()?;
//! assert_eq!(porter.terms("The dogs' easily-found bowls"), ["dog", "easili", "found", "bowl"]);
//!
//! let plain = Analysis::default().with_stemmer(Stemmer::None).build()?;
//! assert_eq!(plain.terms("The dogs' easily-found bowls"), ["dogs", "easily", "found", "bowls"]);
//! # Ok(())
//! # }
//! ```

mod cleaning;
mod error;
mod highlight;
mod lowercase;
mod normalization;
mod pipeline;
mod stemmer;
mod stop_words;
mod tokenizer;

pub use cleaning::QueryCleaning;
pub use error::AnalysisError;
pub use highlight::{Highlighter, Snippet, mark};
pub use normalization::Normalization;
pub use pipeline::AnalysisPipeline;
pub use stemmer::Stemmer;
pub use stop_words::StopWords;
pub use tokenizer::Tokenizer;

use ir_core::setters;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Minimum of [`Analysis::max_len`]: a character outside the basic plane has two UTF-16 units.
pub const SHORTEST_TOKEN: usize = 2;
/// Maximum of [`Analysis::max_len`], as in Lucene.
pub const LONGEST_TOKEN: usize = 1 << 20;

/// Analysis configuration, in processing order.
///
/// The default is [`Analysis::porter`], which differs from Anserini's and Pyserini's analysis of
/// English ([`Analysis::anserini`]) in the normalization only: texts in NFC have the same terms.
///
/// ```
/// use ir_bm25::analysis::{Analysis, Normalization, StopWords, Stemmer, Tokenizer};
///
/// let analysis = Analysis::default();
/// assert_eq!(analysis, Analysis::anserini().with_normalization(Normalization::Nfc));
/// assert_eq!(analysis.tokenizer, Tokenizer::Unicode);
/// assert_eq!(analysis.max_len, 255);
/// assert!(analysis.possessive && analysis.lower_case);
/// assert_eq!(analysis.stop_words, StopWords::Lucene33);
/// assert_eq!(analysis.stemmer, Stemmer::Porter);
/// assert_eq!(analysis.to_string(), "porter");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Analysis {
    /// Splits text into tokens. Default: [`Tokenizer::Unicode`].
    pub tokenizer: Tokenizer,
    /// Maximum token length in UTF-16 units; longer tokens are split. Range: [`SHORTEST_TOKEN`] to
    /// [`LONGEST_TOKEN`]. Default: 255.
    pub max_len: usize,
    /// Unicode normalization of the tokens. Default: [`Normalization::Nfc`]; indexes that record
    /// none have [`Normalization::None`].
    #[serde(default, skip_serializing_if = "Normalization::is_none")]
    pub normalization: Normalization,
    /// Removes a trailing possessive `'s` (with `'`, `’` or `＇`). Default: true.
    pub possessive: bool,
    /// Lowercases tokens by Unicode's simple case mapping. Accents are kept. Default: true.
    pub lower_case: bool,
    /// Stop words, removed after lowercasing and before stemming. Default:
    /// [`StopWords::Lucene33`].
    pub stop_words: StopWords,
    /// Stemmer. Tokens with an empty stem are removed. Default: [`Stemmer::Porter`].
    pub stemmer: Stemmer,
}

impl Default for Analysis {
    /// [`Analysis::porter`].
    fn default() -> Self {
        Self::porter()
    }
}

type Preset = fn() -> Analysis;

const NAMED: [(&str, Preset); 6] = [
    ("porter", Analysis::porter),
    ("anserini", Analysis::anserini),
    ("anserini-unstemmed", Analysis::anserini_unstemmed),
    ("english", Analysis::english),
    ("lucene-standard", Analysis::lucene_standard),
    ("whitespace", Analysis::whitespace),
];

impl Analysis {
    /// English words in Unicode's normal form NFC, lower case, 33 stop words, Porter stemmer.
    pub fn porter() -> Self {
        Self::anserini().with_normalization(Normalization::Nfc)
    }

    /// Anserini's default for English, which equals Lucene's `EnglishAnalyzer`: Unicode words,
    /// possessive removal, lowercasing, 33 stop words, Porter stemmer.
    pub fn anserini() -> Self {
        Self {
            tokenizer: Tokenizer::Unicode,
            max_len: 255,
            normalization: Normalization::None,
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

    /// Lucene's `StandardAnalyzer` with default settings: lowercased Unicode words.
    pub fn lucene_standard() -> Self {
        Self {
            possessive: false,
            stop_words: StopWords::None,
            stemmer: Stemmer::None,
            ..Self::anserini()
        }
    }

    /// For pretokenized text (Anserini's `-pretokenized`): splits at white space.
    pub fn whitespace() -> Self {
        Self {
            tokenizer: Tokenizer::Whitespace,
            lower_case: false,
            ..Self::lucene_standard()
        }
    }

    setters! {
        with_tokenizer: tokenizer, Tokenizer;
        with_max_len: max_len, usize;
        with_normalization: normalization, Normalization;
        with_possessive: possessive, bool;
        with_lower_case: lower_case, bool;
        with_stop_words: stop_words, StopWords;
        with_stemmer: stemmer, Stemmer;
    }

    /// Validates the configuration and creates the analyzer.
    ///
    /// # Errors
    ///
    /// [`AnalysisError`] when the maximum token length is out of range, or a stop word is empty or
    /// can never match.
    pub fn build(&self) -> Result<AnalysisPipeline, AnalysisError> {
        if !(SHORTEST_TOKEN..=LONGEST_TOKEN).contains(&self.max_len) {
            return Err(AnalysisError::TokenLength {
                found: self.max_len,
            });
        }
        self.stop_words.check(self.normalization, self.lower_case)?;
        Ok(AnalysisPipeline::new(self.clone()))
    }
}

/// The name of a preset, else the steps: `unicode+lower+stop:nltk179+english`.
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
        if !self.normalization.is_none() {
            write!(f, "+{}", self.normalization)?;
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

/// Parses the name of a preset: `porter`, `anserini`, `anserini-unstemmed`, `english`,
/// `lucene-standard`, `whitespace`.
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
