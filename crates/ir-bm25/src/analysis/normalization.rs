//! Unicode normalization of tokens.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Unicode normalization of tokens, so that different encodings of a word are the same term.
/// Tokens keep their offsets in the text.
///
/// ```
/// use ir_bm25::analysis::{Analysis, Normalization};
/// use ir_core::Analyzer;
///
/// # fn main() -> Result<(), ir_bm25::analysis::AnalysisError> {
/// let decomposed = "cafe\u{301}";
/// assert_eq!(Analysis::default().build()?.terms(decomposed), ["café"]);
/// assert_eq!(Analysis::anserini().build()?.terms(decomposed), [decomposed]);
///
/// let folding = Analysis::default().with_normalization(Normalization::Fold).build()?;
/// assert_eq!(folding.terms("Café ＫＧ ﬁn Straße"), ["cafe", "kg", "fin", "strass"]);
/// # Ok(())
/// # }
/// ```
///
/// Source: Unicode Standard Annex #15, "Unicode normalization forms".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Normalization {
    /// No normalization, as in Lucene's analyzers and Anserini.
    #[default]
    None,
    /// Canonical composition (NFC): a letter with combining marks and the composed letter are one.
    Nfc,
    /// Folding of case, accents, width and ligatures: compatibility decomposition (NFKD) without
    /// combining marks, in lower case whatever [`Analysis::lower_case`] is, `ß` as `ss`.
    ///
    /// [`Analysis::lower_case`]: super::Analysis::lower_case
    Fold,
}

impl Normalization {
    /// Returns `true` for [`Normalization::None`].
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Returns the term of a token, before lower case.
    pub(super) fn apply(self, token: &str) -> Cow<'_, str> {
        match self {
            Self::None => Cow::Borrowed(token),
            Self::Nfc if token.is_ascii() || is_nfc(token) => Cow::Borrowed(token),
            Self::Nfc => Cow::Owned(token.nfc().collect()),
            Self::Fold if token.is_ascii() => Cow::Owned(token.to_ascii_lowercase()),
            Self::Fold => Cow::Owned(folded(token)),
        }
    }
}

fn folded(token: &str) -> String {
    let letters = token.nfkd().filter(|&letter| !is_combining_mark(letter));
    let mut folded = String::with_capacity(token.len());
    for letter in letters.flat_map(char::to_lowercase) {
        match letter {
            'ß' => folded.push_str("ss"),
            'ς' => folded.push('σ'),
            letter => folded.push(letter),
        }
    }
    folded
}

/// The name in saved indexes.
impl fmt::Display for Normalization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Nfc => "nfc",
            Self::Fold => "fold",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By hand, after the tables of Unicode.
    #[test]
    fn forms_of_a_word_are_one_term() {
        let nfc = |token: &str| Normalization::Nfc.apply(token).into_owned();
        let fold = |token: &str| Normalization::Fold.apply(token).into_owned();
        for (token, composed, plain) in [
            ("naive", "naive", "naive"),
            ("nai\u{308}ve", "naïve", "naive"),
            ("naïve", "naïve", "naive"),
            // The sign of the unit, a singleton.
            ("\u{212b}ngstr\u{f6}m", "Ångström", "angstrom"),
            // Conjoining jamo compose, and so stay apart from other syllables.
            ("\u{1112}\u{1161}\u{11ab}", "한", "\u{1112}\u{1161}\u{11ab}"),
            ("ＡＢＣ", "ＡＢＣ", "abc"),
            ("eﬃcient", "eﬃcient", "efficient"),
            ("STRASSE", "STRASSE", "strasse"),
            ("Straße", "Straße", "strasse"),
            ("İstanbul", "İstanbul", "istanbul"),
            ("λόγος", "λόγος", "λογοσ"),
        ] {
            assert_eq!(nfc(token), composed, "{token}");
            assert_eq!(fold(token), plain, "{token}");
        }
    }

    proptest! {
        /// Canonically equivalent tokens are one term, and a term is its own normal form.
        #[test]
        fn equivalent_tokens_are_equal(token in "\\PC{0,12}") {
            let decomposed: String = token.nfd().collect();
            for form in [Normalization::Nfc, Normalization::Fold] {
                let term = form.apply(&token).into_owned();
                prop_assert_eq!(&form.apply(&decomposed), &term);
                prop_assert_eq!(&form.apply(&term), &term);
            }
        }
    }
}
