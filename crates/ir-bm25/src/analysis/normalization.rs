//! Unicode normalization of tokens.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use unicode_normalization::char::{compose, decompose_compatible};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::folding::{folded, is_removed_ascii};
use super::lowercase::push_lower;

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
    /// Folding of width, as Lucene's `CJKWidthFilter`: full-width ASCII characters are the ASCII
    /// ones, half-width Katakana the full ones, with their voicing marks.
    Width,
    /// Folding of case, accents, width, ligatures and letter forms, as Lucene's
    /// `ICUFoldingFilter`: NFKC with case folding, and the foldings of Unicode Technical Report
    /// 30. Terms are in lower case whatever [`Analysis::lower_case`] is.
    ///
    /// | folded | examples |
    /// |---|---|
    /// | full case folding | `Straße` `strasse`, `ΛΌΓΟΣ` and `λόγος` `λογοσ`, `İ` `i` |
    /// | diacritics of all scripts | `é` `e`, `ё` `е`, `हिन्दी` `हिनदी`, `ガ` `カ` |
    /// | strokes and hooks | `ø` `o`, `đ` `d`, `ғ` `г`, `ı` `i` |
    /// | ligatures, digraphs | `æ` `ae`, `œ` `oe`, `ﬁ` `fi`, `ǆ` `dz` |
    /// | phonetic letters, small capitals | `ə` `a`, `ŋ` `n`, `ʀ` `r` |
    /// | width, vertical and positional forms | `ＫＧ` `kg`, `ｶﾅ` `カナ`, `ﻼ` `لا` |
    /// | digits of all scripts | `৭০৬` `706`, `Ⅻ` `xii`, `②` `2` |
    /// | radicals | `⼈` `人`, `⺝` `月` |
    /// | vowel marks, letters of Arabic | `مُحَمَّد` `محمد`, `ى` and `ی` `ي`, `ة` `ه`, `ک` `ك` |
    /// | quotation marks, dashes, symbols | `“` `"`, `—` `-`, `№` `no` |
    /// | ignorable characters | soft hyphens and joiners are removed |
    ///
    /// Not folded: Hiragana and Katakana stay apart, as do traditional and simplified Han
    /// characters; Hangul syllables stay composed; nothing is transliterated; `ä` is `a`, not
    /// `ae`. The prolonged sound mark `ー` is removed: `コーヒー` is `コヒ`. Letters that differ in
    /// an accent alone are one, which merges words in many languages: Swedish `höra` and `hora`.
    ///
    /// Texts in NFC have the terms of Lucene; other texts have the terms of their form NFC.
    ///
    /// [`Analysis::lower_case`]: super::Analysis::lower_case
    Fold,
}

impl Normalization {
    /// Returns `true` for [`Normalization::None`].
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Appends the term of a token: normalization, then removal of the possessive, then lower case.
    /// The ASCII characters that the folding removes are removed, too.
    pub(super) fn push_term(
        self,
        term: &mut String,
        token: &str,
        possessive: bool,
        lower_case: bool,
    ) {
        let normalized = self.apply(token);
        let word = if possessive {
            without_possessive(&normalized)
        } else {
            &normalized
        };
        // Folding lowercases all but ASCII tokens.
        let lower_case = match self {
            Self::Fold => token.is_ascii(),
            _ => lower_case,
        };
        if lower_case {
            push_lower(term, word);
        } else {
            term.push_str(word);
        }
    }

    /// Returns a word of a list as the term of a token. The word has the case of the terms.
    pub(super) fn listed_term(self, word: &str) -> String {
        let mut term = String::new();
        self.push_term(&mut term, word, false, false);
        term
    }

    /// Returns `true` if a word has the case of the terms.
    pub(super) fn has_case_of_terms(self, word: &str, lower_case: bool) -> bool {
        if !lower_case && self != Self::Fold {
            return true;
        }
        let mut lower = String::new();
        push_lower(&mut lower, word);
        lower == word
    }

    /// Returns the token normalized, before lower case.
    fn apply(self, token: &str) -> Cow<'_, str> {
        match self {
            Self::None => Cow::Borrowed(token),
            Self::Nfc if token.is_ascii() || is_nfc(token) => Cow::Borrowed(token),
            Self::Nfc => Cow::Owned(token.nfc().collect()),
            Self::Fold if token.contains(is_removed_ascii) || !token.is_ascii() => {
                Cow::Owned(folded(token))
            }
            Self::Fold => Cow::Borrowed(token),
            Self::Width if token.contains(is_wide_or_narrow) => Cow::Owned(with_plain_width(token)),
            Self::Width => Cow::Borrowed(token),
        }
    }
}

/// Removes a trailing `'s` with any of three apostrophes, in either case.
fn without_possessive(word: &str) -> &str {
    match word.strip_suffix(['s', 'S']) {
        Some(rest) => rest
            .strip_suffix(['\'', '\u{2019}', '\u{ff07}'])
            .unwrap_or(word),
        None => word,
    }
}

/// Returns `true` for full-width ASCII characters and half-width Katakana.
fn is_wide_or_narrow(c: char) -> bool {
    matches!(c, '！'..='～' | '･'..='ﾟ')
}

/// The token with the usual forms of full-width ASCII characters and half-width Katakana. A
/// half-width voicing mark is composed with the Katakana before it.
fn with_plain_width(token: &str) -> String {
    let mut plain = String::with_capacity(token.len());
    for c in token.chars() {
        if !is_wide_or_narrow(c) {
            plain.push(c);
            continue;
        }
        decompose_compatible(c, |usual| {
            let voiced = plain
                .chars()
                .next_back()
                .filter(|before| matches!(c, 'ﾞ' | 'ﾟ') && matches!(before, 'ウ'..='ヽ'))
                .and_then(|before| compose(before, usual));
            if voiced.is_some() {
                plain.pop();
            }
            plain.push(voiced.unwrap_or(usual));
        });
    }
    plain
}

/// The name in saved indexes.
impl fmt::Display for Normalization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Nfc => "nfc",
            Self::Width => "width",
            Self::Fold => "fold",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn term(normalization: Normalization, token: &str) -> String {
        let mut term = String::new();
        normalization.push_term(&mut term, token, false, false);
        term
    }

    /// By hand, after the tables of Unicode.
    #[test]
    fn forms_of_a_word_are_one_term() {
        let nfc = |token: &str| Normalization::Nfc.apply(token).into_owned();
        let fold = |token: &str| term(Normalization::Fold, token);
        for (token, composed, plain) in [
            ("naive", "naive", "naive"),
            ("nai\u{308}ve", "naïve", "naive"),
            ("naïve", "naïve", "naive"),
            // The sign of the unit, a singleton.
            ("\u{212b}ngstr\u{f6}m", "Ångström", "angstrom"),
            // Conjoining jamo compose, and so stay apart from other syllables.
            ("\u{1112}\u{1161}\u{11ab}", "한", "한"),
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

    /// The test of Lucene's `ICUFoldingFilter`.
    #[test]
    fn foldings_of_lucenes_test() {
        for (token, folded) in [
            ("This", "this"),
            ("Ruß", "russ"),
            ("ΜΆΪΟΣ", "μαιοσ"),
            ("Μάϊος", "μαιοσ"),
            ("𐐖", "𐐾"),
            ("ﴳﴺﰧ", "طمطمطم"),
            ("क\u{94d}\u{200d}ष", "कष"),
            ("résumé", "resume"),
            ("re\u{301}sume\u{301}", "resume"),
            ("৭০৬", "706"),
            ("đis", "dis"),
            ("cræzy", "craezy"),
            ("ELİF", "elif"),
            ("eli\u{307}f", "elif"),
        ] {
            assert_eq!(term(Normalization::Fold, token), folded, "{token}");
        }
    }

    #[test]
    fn width_of_katakana_and_ascii() {
        for (token, plain) in [
            ("Ｔｅｓｔ１２３４", "Test1234"),
            ("ｶﾀｶﾅ", "カタカナ"),
            ("ｳﾞｨｯﾂ", "ヴィッツ"),
            ("ﾊﾟﾅｿﾆｯｸ", "パナソニック"),
            ("ﾞａ", "\u{3099}a"),
            ("é", "é"),
        ] {
            assert_eq!(term(Normalization::Width, token), plain, "{token}");
        }
    }

    proptest! {
        /// Canonically equivalent tokens are one term, and a term is its own normal form.
        #[test]
        fn equivalent_tokens_are_equal(token in "\\PC{0,12}") {
            let decomposed: String = token.nfd().collect();
            for form in [Normalization::Nfc, Normalization::Fold] {
                let normalized = term(form, &token);
                prop_assert_eq!(&term(form, &decomposed), &normalized);
                prop_assert_eq!(&term(form, &normalized), &normalized);
            }
        }
    }
}
