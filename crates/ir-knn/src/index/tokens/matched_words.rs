//! Words of a document that contain the best tokens of a query.

use std::ops::Range;

use ir_core::stop_words::NLTK;
use ir_core::{SearchError, TokenVectors};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::query::QueryTokens;
use crate::simd::Cpu;

/// Returns the words of a document that contain the best token of a query token, as in
/// [`explain_max_sim`](crate::explain_max_sim), for highlighting: ranges in bytes of the text of
/// the document, ascending and disjoint.
///
/// - Tokens of the query count if they are in a word of its text: not the tokens of query
///   expansion, prefixes and special tokens, not punctuation, and not English stop words.
/// - Their best tokens count under the same conditions, if the similarity is above 0.
/// - A token that is a part of a word stands for the whole word.
///
/// # Errors
/// Returns the errors of [`max_sim`](crate::max_sim).
///
/// ```
/// use ir_core::TokenVectors;
/// use ir_knn::matched_words;
/// // Tokens "the", "tea"; "dr", "inks", ",", "tea".
/// let query = TokenVectors::new(2, vec![0.0, 1.0, 1.0, 0.1], vec![0..3, 4..7]);
/// let vectors = vec![0.0, 0.0, 0.9, 0.0, 0.0, 1.0, 0.5, 0.0];
/// let document = TokenVectors::new(2, vectors, vec![0..2, 2..6, 6..7, 8..11]);
/// let words = matched_words(("the tea", &query), ("drinks, tea", &document))?;
/// assert_eq!(words, [0..6]);
/// # Ok::<(), ir_core::SearchError>(())
/// ```
pub fn matched_words(
    (query_text, query): (&str, &TokenVectors),
    (text, document): (&str, &TokenVectors),
) -> Result<Vec<Range<usize>>, SearchError> {
    let tokens = QueryTokens::new(query)?;
    tokens.check(document)?;
    let matches = tokens.matches(Cpu::detect(), &document.values);
    let matches = query.spans.iter().zip(matches);
    let matches = matches.filter(|(span, (_, similarity))| {
        *similarity > 0.0 && content_word(query_text, span).is_some()
    });
    let words = matches.filter_map(|(_, (best, _))| content_word(text, document.spans.get(best)?));
    let mut words: Vec<Range<usize>> = words.collect();
    words.sort_by_key(|word| (word.start, word.end));
    // Tokens of several words may overlap with words.
    let mut disjoint: Vec<Range<usize>> = Vec::with_capacity(words.len());
    for word in words {
        match disjoint.last_mut() {
            Some(last) if word.start < last.end => last.end = last.end.max(word.end),
            _ => disjoint.push(word),
        }
    }
    Ok(disjoint)
}

/// Word around a token of a text. `None` if the token is not of the text, has neither letters nor
/// digits, or the word is a stop word.
fn content_word(text: &str, token: &Range<usize>) -> Option<Range<usize>> {
    if !text.get(token.clone())?.contains(char::is_alphanumeric) {
        return None;
    }
    let word = word_around(text, token);
    let lower = text[word.clone()].to_lowercase();
    (!NLTK.contains(&lower.as_str())).then_some(word)
}

/// Extends a token, a range of a text, to the whole word: to the letters, digits and combining
/// marks around it. Points and commas between digits belong to the number. In scripts without
/// spaces between words, a token is not extended.
pub(super) fn word_around(text: &str, token: &Range<usize>) -> Range<usize> {
    let mut inside = text[token.clone()].chars();
    let Some(first) = inside.next() else {
        return token.clone();
    };
    let last = inside.next_back().unwrap_or(first);
    let start = token.start - bytes_of_word(first, text[..token.start].chars().rev());
    start..token.end + bytes_of_word(last, text[token.end..].chars())
}

/// Number of bytes of the characters that continue the word of the character before them.
fn bytes_of_word(before: char, rest: impl Iterator<Item = char>) -> usize {
    if !is_in_word(before) {
        return 0;
    }
    let (mut before, mut rest) = (before, rest.peekable());
    let mut bytes = 0;
    while let Some(c) = rest.next() {
        let is_number = before.is_numeric() && rest.peek().is_some_and(|next| next.is_numeric());
        let continues = is_in_word(c) || (is_number && matches!(c, '.' | ','));
        if !continues {
            break;
        }
        bytes += c.len_utf8();
        before = c;
    }
    bytes
}

/// Returns `true` for letters, digits and combining marks, except in scripts without spaces between
/// words.
fn is_in_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    let is_unspaced = matches!(
        c,
        // Thai and Lao, Myanmar, Khmer
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        // Kana, and Han in its blocks
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}'
    );
    let is_mark = || c.general_category_group() == GeneralCategoryGroup::Mark;
    !is_unspaced && (c.is_alphanumeric() || is_mark())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text of the word around the first occurrence of a token.
    fn word<'a>(text: &'a str, token: &str) -> &'a str {
        let start = text.find(token).unwrap();
        &text[word_around(text, &(start..start + token.len()))]
    }

    #[test]
    fn tokens_are_extended_to_words() {
        for (text, token, expected) in [
            ("hot drinking, water", "ing", "drinking"),
            ("hot drinking, water", "drink", "drinking"),
            ("hot drinking, water", "ki", "drinking"),
            ("hot drinking, water", ",", ","),
            ("drinking", "drinking", "drinking"),
            ("Bäume-grün", "um", "Bäume"),
            ("Bäume-grün", "-", "-"),
            // A combining diaeresis.
            ("Ba\u{308}ume.", "ume", "Ba\u{308}ume"),
            ("a rate of 0.001.", "001", "0.001"),
            ("a rate of 0.001.", "0", "0.001"),
            ("1,234.5, then", "234", "1,234.5"),
            ("in 2020, 15 papers", "2020", "2020"),
            ("end.Next", "end", "end"),
            ("緑茶を飲む", "茶", "茶"),
            ("緑茶tea", "tea", "tea"),
            ("ชาร้อน", "ชา", "ชา"),
        ] {
            assert_eq!(word(text, token), expected, "{text:?}, {token:?}");
        }
        assert_eq!(word_around("tea", &(1..1)), 1..1);
    }

    #[test]
    fn words_with_content() {
        let text = "What is THE tea? —";
        let content = |token: &str| {
            let start = text.find(token).unwrap();
            content_word(text, &(start..start + token.len())).map(|word| &text[word])
        };
        assert_eq!(content("te"), Some("tea"));
        for token in ["Wh", "at", "is", "THE", "?", "—"] {
            assert_eq!(content(token), None, "{token:?}");
        }
        for token in [0..0, 3..99, 18..19] {
            assert_eq!(content_word(text, &token), None, "{token:?}");
        }
    }
}
