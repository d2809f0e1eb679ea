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

mod cjk_bigrams;
mod cleaning;
mod error;
mod folding;
mod highlight;
mod lowercase;
mod normalization;
mod overrides;
mod pipeline;
mod stemmer;
mod stop_words;
mod tokenizer;
mod word_list;
mod word_set;

pub use cjk_bigrams::CjkBigrams;
pub use cleaning::QueryCleaning;
pub use error::AnalysisError;
pub use highlight::{Highlighter, Snippet, mark};
pub use normalization::Normalization;
pub use pipeline::AnalysisPipeline;
pub use stemmer::Stemmer;
pub use stop_words::StopWords;
pub use tokenizer::Tokenizer;
pub use word_list::{WordList, WordListError};

use ir_core::setters;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
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
    /// Bigrams of Chinese, Japanese and Korean characters. Default: [`CjkBigrams::None`].
    #[serde(default, skip_serializing_if = "CjkBigrams::is_none")]
    pub cjk_bigrams: CjkBigrams,
    /// Stop words, normalized as tokens are, and removed after lowercasing and before stemming.
    /// Default: [`StopWords::Lucene33`].
    pub stop_words: StopWords,
    /// Words that the stemmer leaves unchanged, as they are after lowercasing, normalized as tokens
    /// are; stop words are removed nevertheless. Lucene's `SetKeywordMarkerFilter` has this place
    /// in its `EnglishAnalyzer`. Default: none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub protected_words: BTreeSet<String>,
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

const NAMED: [(&str, Preset); 7] = [
    ("porter", Analysis::porter),
    ("anserini", Analysis::anserini),
    ("anserini-unstemmed", Analysis::anserini_unstemmed),
    ("english", Analysis::english),
    ("lucene-standard", Analysis::lucene_standard),
    ("whitespace", Analysis::whitespace),
    ("lucene-cjk", Analysis::lucene_cjk),
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
            cjk_bigrams: CjkBigrams::None,
            stop_words: StopWords::Lucene33,
            protected_words: BTreeSet::new(),
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

    /// Lucene's `CJKAnalyzer` for Chinese, Japanese and Korean: Unicode words, width folding,
    /// lowercasing, bigrams, 35 English stop words.
    pub fn lucene_cjk() -> Self {
        Self {
            normalization: Normalization::Width,
            cjk_bigrams: CjkBigrams::Bigrams,
            stop_words: StopWords::custom(CJK_STOP_WORDS),
            ..Self::lucene_standard()
        }
    }

    setters! {
        with_tokenizer: tokenizer, Tokenizer;
        with_max_len: max_len, usize;
        with_normalization: normalization, Normalization;
        with_possessive: possessive, bool;
        with_lower_case: lower_case, bool;
        with_cjk_bigrams: cjk_bigrams, CjkBigrams;
        with_stop_words: stop_words, StopWords;
        with_protected_words: protected_words, BTreeSet<String>;
        with_stemmer: stemmer, Stemmer;
    }
}

/// The 35 stop words of Lucene's `CJKAnalyzer`.
#[rustfmt::skip]
const CJK_STOP_WORDS: [&str; 35] = [
    "a", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of", "on",
    "or", "s", "such", "t", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will",
    "with", "www",
];

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
        if !self.cjk_bigrams.is_none() {
            write!(f, "+cjk_{}", self.cjk_bigrams)?;
        }
        match &self.stop_words {
            StopWords::None => {}
            StopWords::Lucene33 => f.write_str("+stop:lucene33")?,
            StopWords::Nltk179 => f.write_str("+stop:nltk179")?,
            StopWords::Custom(words) => write!(f, "+stop:custom({})", words.len())?,
        }
        if !self.protected_words.is_empty() {
            write!(f, "+protected({})", self.protected_words.len())?;
        }
        match self.stemmer {
            Stemmer::None => Ok(()),
            stemmer => write!(f, "+{stemmer}"),
        }
    }
}

/// Parses the name of a preset: `porter`, `anserini`, `anserini-unstemmed`, `english`,
/// `lucene-standard`, `whitespace`, `lucene-cjk`.
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
