//! Bigrams of Chinese, Japanese and Korean characters.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::tokenizer::is_cjk;

/// Bigrams of Han, Hiragana, Katakana and Hangul characters, as Lucene's `CJKBigramFilter` forms
/// them from the tokens of [`Tokenizer::Unicode`](super::Tokenizer::Unicode).
///
/// Adjacent characters of these scripts are one run, whichever tokens they are in. A run of n
/// characters has n − 1 bigrams at successive positions, and a character without a neighbor is a
/// term of its own. Tokens that mix Hangul with other letters are unchanged.
///
/// ```
/// use ir_bm25::analysis::{Analysis, CjkBigrams};
/// use ir_core::Analyzer;
///
/// # fn main() -> Result<(), ir_bm25::analysis::AnalysisError> {
/// let bigrams = Analysis::lucene_cjk();
/// let both = bigrams.clone().with_cjk_bigrams(CjkBigrams::BigramsAndUnigrams);
/// assert_eq!(bigrams.build()?.terms("日本語 BM25 本"), ["日本", "本語", "bm25", "本"]);
/// assert_eq!(both.build()?.terms("日本語"), ["日", "日本", "本", "本語", "語"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CjkBigrams {
    /// The tokens of the tokenizer.
    #[default]
    None,
    /// Bigrams, and characters without a neighbor.
    Bigrams,
    /// Each character, and the bigram that starts with it at the same position. Document lengths
    /// count both; Lucene's `BM25Similarity` counts the characters.
    BigramsAndUnigrams,
}

impl CjkBigrams {
    /// Returns `true` for [`CjkBigrams::None`].
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// The name in saved indexes.
impl fmt::Display for CjkBigrams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Bigrams => "bigrams",
            Self::BigramsAndUnigrams => "bigrams_and_unigrams",
        })
    }
}

/// Bigram or unigram, with its byte range in the text.
#[derive(Debug)]
pub(super) struct Gram<'a> {
    pub(super) term: &'a str,
    pub(super) start: usize,
    pub(super) end: usize,
    /// `true` at the position of the unigram before.
    pub(super) is_overlaid: bool,
}

/// A character of a run, with its byte range in the text.
#[derive(Debug, Clone, Copy)]
struct RunCharacter {
    character: char,
    start: usize,
    end: usize,
}

impl RunCharacter {
    fn emit(self, emit: &mut dyn FnMut(Gram<'_>)) {
        emit(Gram {
            term: self.character.encode_utf8(&mut [0; 4]),
            start: self.start,
            end: self.end,
            is_overlaid: false,
        });
    }
}

/// Former of bigrams, token by token.
#[derive(Debug)]
pub(super) struct BigramFilter {
    has_unigrams: bool,
    /// Last character of the current run.
    last: Option<RunCharacter>,
    /// `true` if `last` is in a bigram.
    is_paired: bool,
    /// End of the current run.
    end: usize,
    /// Buffer of a bigram.
    bigram: String,
}

impl BigramFilter {
    /// The former of an analysis with bigrams.
    pub(super) fn new(bigrams: CjkBigrams) -> Option<Self> {
        (!bigrams.is_none()).then(|| Self {
            has_unigrams: bigrams == CjkBigrams::BigramsAndUnigrams,
            last: None,
            is_paired: false,
            end: 0,
            bigram: String::new(),
        })
    }

    /// Adds the characters of the token at `start`, with the normalized form `term`. Ends the run
    /// and returns `false` if the token is of another script.
    pub(super) fn add(
        &mut self,
        token: &str,
        start: usize,
        term: &str,
        emit: &mut dyn FnMut(Gram<'_>),
    ) -> bool {
        if !is_cjk(token) {
            self.finish(emit);
            return false;
        }
        if start != self.end {
            self.finish(emit);
        }
        self.end = start + token.len();
        // Characters that the normalization joined or split have the range of the token.
        let is_aligned = term.chars().count() == token.chars().count();
        let mut surface = token.char_indices();
        for character in term.chars() {
            let (start, end) = match surface.next() {
                Some((at, c)) if is_aligned => (start + at, start + at + c.len_utf8()),
                _ => (start, self.end),
            };
            let next = RunCharacter {
                character,
                start,
                end,
            };
            self.push(next, emit);
        }
        true
    }

    fn push(&mut self, next: RunCharacter, emit: &mut dyn FnMut(Gram<'_>)) {
        if let Some(last) = self.last {
            if self.has_unigrams {
                last.emit(emit);
            }
            self.bigram.clear();
            self.bigram.extend([last.character, next.character]);
            emit(Gram {
                term: &self.bigram,
                start: last.start,
                end: next.end,
                is_overlaid: self.has_unigrams,
            });
        }
        self.is_paired = self.last.is_some();
        self.last = Some(next);
    }

    /// Ends the current run.
    pub(super) fn finish(&mut self, emit: &mut dyn FnMut(Gram<'_>)) {
        if let Some(last) = self.last.take()
            && (self.has_unigrams || !self.is_paired)
        {
            last.emit(emit);
        }
        self.is_paired = false;
    }
}
