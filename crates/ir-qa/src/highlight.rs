//! Answers and matching words marked in a context.

use std::ops::Range;

use ir_bm25::analysis::Highlighter;
use ir_core::{MatchedText, character_count};

use crate::frame::Frame;

/// Part of a context in which nothing, the answer, a matching word, or both are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HighlightSegment<'a> {
    /// Text of the part.
    pub text: &'a str,
    /// Offset in the context, in characters.
    pub start: usize,
    /// If `true`, the part is in the answer.
    pub in_answer: bool,
    /// If `true`, the part is in a matching word.
    pub is_match: bool,
}

/// Splits the context of a frame at the edges of its answer and of the matching words
/// ([`matching_words`]). `matched`: text that a model read, with the words that it matched; it
/// applies to the answer and the context if it contains them. The segments cover the context.
///
/// ```
/// use ir_bm25::analysis::{Analysis, Highlighter};
/// use ir_qa::highlight::{segments, to_html};
/// use ir_qa::{ChunkKind, Frame};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let context = "Tea & milk. Tea <hot> comes from Asia.";
/// let answer = "Tea <hot> comes from Asia.";
/// let frame = Frame::new("f", "p", ChunkKind::Content, context, 12, answer)?;
/// let analysis = Analysis::anserini().build()?;
/// let segments = segments(&frame, &Highlighter::new(&analysis, "tea of Asia"), None);
/// assert_eq!((segments[2].text, segments[2].start), ("Tea", 12));
/// assert_eq!(
///     to_html(&segments),
///     "<b>Tea</b> &amp; milk. <mark><b>Tea</b> &lt;hot&gt; comes from <b>Asia</b>.</mark>"
/// );
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn segments<'a>(
    frame: &'a Frame,
    highlighter: &Highlighter<'_>,
    matched: Option<&MatchedText>,
) -> Vec<HighlightSegment<'a>> {
    let (context, answer) = (&frame.context, frame.answer_bytes());
    let parts = matched.map(|matched| [(0..context.len(), matched), (answer.clone(), matched)]);
    let read: Vec<(Range<usize>, &MatchedText)> = parts.into_iter().flatten().collect();
    let words = matching_words(context, highlighter, &read);
    segments_of(context, &[answer], &words)
}

/// Returns the matching words of a text: byte ranges in ascending order, without duplicates.
///
/// `read`: parts of the text in bytes, each with a text that a model read. If the model's text
/// contains the part, the words that the model matched replace the words of the query of
/// `highlighter` in the part.
///
/// ```
/// use ir_bm25::analysis::{Analysis, Highlighter};
/// use ir_core::MatchedText;
/// use ir_qa::highlight::matching_words;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let analysis = Analysis::anserini().build()?;
/// let query = Highlighter::new(&analysis, "origin of tea");
/// let text = "Milk tea. Tea comes from Asia.";
/// assert_eq!(matching_words(text, &query, &[]), [5..8, 10..13]);
/// // A model has read the second sentence, and matched "comes".
/// let matched = MatchedText::new("Tea comes from Asia.", vec![4..9]);
/// assert_eq!(matching_words(text, &query, &[(10..30, &matched)]), [5..8, 14..19]);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn matching_words(
    text: &str,
    highlighter: &Highlighter<'_>,
    read: &[(Range<usize>, &MatchedText)],
) -> Vec<Range<usize>> {
    let read = read.iter().filter_map(|(part, matched)| {
        let words = matched.words_in(text.get(part.clone())?)?;
        Some((part, words))
    });
    let read: Vec<(&Range<usize>, Vec<Range<usize>>)> = read.collect();
    let mut words = highlighter.spans(text);
    words.retain(|word| {
        let is_outside = |part: &Range<usize>| word.end <= part.start || part.end <= word.start;
        read.iter().all(|(part, _)| is_outside(part))
    });
    for (part, matched) in read {
        let matched = matched.into_iter();
        words.extend(matched.map(|word| part.start + word.start..part.start + word.end));
    }
    words.sort_by_key(|word| (word.start, word.end));
    words.dedup();
    words
}

/// Splits a text at the edges of answers and of matching words, byte ranges at character boundaries
/// in ascending order. Words that are out of order, and ranges that are not at boundaries, are
/// skipped.
#[must_use]
pub fn segments_of<'a>(
    text: &'a str,
    answers: &[Range<usize>],
    words: &[Range<usize>],
) -> Vec<HighlightSegment<'a>> {
    let is_range =
        |range: &Range<usize>| text.get(range.clone()).is_some_and(|part| !part.is_empty());
    let answers: Vec<&Range<usize>> = answers.iter().filter(|answer| is_range(answer)).collect();
    let mut segments: Vec<HighlightSegment<'a>> = Vec::new();
    let mut start = 0;
    let mut push = |range: Range<usize>, is_match: bool| {
        let mut from = range.start;
        while from < range.end {
            let inside = answers.iter().find(|answer| answer.contains(&from));
            let next = answers.iter().map(|answer| answer.start);
            let edge = match inside {
                Some(answer) => Some(answer.end),
                None => next.filter(|&next| next > from).min(),
            };
            let part = from..edge.map_or(range.end, |edge| edge.min(range.end));
            from = part.end;
            segments.push(HighlightSegment {
                text: &text[part.clone()],
                start,
                in_answer: inside.is_some(),
                is_match,
            });
            start += character_count(&text[part]);
        }
    };
    let mut done = 0;
    for word in words {
        if word.start >= done && is_range(word) {
            push(done..word.start, false);
            push(word.clone(), true);
            done = word.end;
        }
    }
    push(done..text.len(), false);
    segments
}

/// HTML of segments: the answer in `<mark>`, matching words in `<b>`, everything else escaped. Safe
/// in element content.
#[must_use]
pub fn to_html(segments: &[HighlightSegment<'_>]) -> String {
    let mut html = String::new();
    let mut in_answer = false;
    for segment in segments {
        if segment.in_answer != in_answer {
            html.push_str(if in_answer { "</mark>" } else { "<mark>" });
            in_answer = segment.in_answer;
        }
        if segment.is_match {
            html.push_str("<b>");
        }
        escape_into(segment.text, &mut html);
        if segment.is_match {
            html.push_str("</b>");
        }
    }
    if in_answer {
        html.push_str("</mark>");
    }
    html
}

/// Appends text with the characters escaped that HTML treats specially.
fn escape_into(text: &str, html: &mut String) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use ir_bm25::analysis::Analysis;
    use proptest::prelude::*;

    use super::*;
    use crate::ChunkKind;

    #[test]
    fn words_across_the_edges_of_the_answer_are_split() {
        let segments = segments_of("grün tea", std::slice::from_ref(&(2..6)), &[0..5, 6..9]);
        let found: Vec<_> = segments
            .iter()
            .map(|s| (s.text, s.start, s.in_answer, s.is_match))
            .collect();
        assert_eq!(
            found,
            [
                ("gr", 0, false, true),
                ("ün", 2, true, true),
                (" ", 4, true, false),
                ("tea", 5, false, true),
            ]
        );
        assert_eq!(
            to_html(&segments),
            "<b>gr</b><mark><b>ün</b> </mark><b>tea</b>"
        );
    }

    #[test]
    fn a_model_replaces_the_words_of_what_it_has_read() {
        let analysis = Analysis::default().build().unwrap();
        let query = Highlighter::new(&analysis, "green tea");
        let context = "Green tea. Grün tea is green. Tea!";
        let answer = "Grün tea is green.";
        let frame = Frame::new("f", "p", ChunkKind::Content, context, 11, answer).unwrap();
        let marked = |matched: Option<&MatchedText>| to_html(&segments(&frame, &query, matched));
        let without = "<b>Green</b> <b>tea</b>. <mark>Grün <b>tea</b> is <b>green</b>.</mark> \
                       <b>Tea</b>!";
        assert_eq!(marked(None), without);
        let matched = MatchedText::new(answer, vec![0..5, 13..18]);
        assert_eq!(
            marked(Some(&matched)),
            "<b>Green</b> <b>tea</b>. <mark><b>Grün</b> tea is <b>green</b>.</mark> <b>Tea</b>!"
        );
        // The text of rerankers that read the context, too.
        let both = format!("{answer} [SEP] {context}");
        let matched = MatchedText::new(&both, vec![0..5, both.len() - 4..both.len() - 1]);
        assert_eq!(
            marked(Some(&matched)),
            "Green tea. <mark><b>Grün</b> tea is green.</mark> <b>Tea</b>!"
        );
        let other = MatchedText::new("Coffee", Vec::new());
        assert_eq!(marked(Some(&other)), without);
    }

    proptest! {
        /// Segments cover the text, offsets are characters, and HTML has no markup of the text.
        #[test]
        fn segments_cover_the_text(
            text in "[<>&\"'aü茶 ]{0,20}",
            answers in prop::collection::vec((0_usize..40, 0_usize..40), 0..3),
            words in prop::collection::vec((0_usize..40, 0_usize..40), 0..5),
        ) {
            let words: Vec<_> = words.into_iter().map(|(from, to)| from..to).collect();
            let answers: Vec<_> = answers.into_iter().map(|(from, to)| from..to).collect();
            let segments = segments_of(&text, &answers, &words);
            let joined: String = segments.iter().map(|segment| segment.text).collect();
            prop_assert_eq!(&joined, &text);
            let mut start = 0;
            for segment in &segments {
                prop_assert_eq!(segment.start, start);
                let byte = text.char_indices().nth(start).unwrap().0;
                let is_valid = |r: &&Range<usize>| text.get((*r).clone()).is_some();
                let in_answer = answers.iter().filter(is_valid).any(|r| r.contains(&byte));
                prop_assert_eq!(segment.in_answer, in_answer);
                start += segment.text.chars().count();
            }
            let mut plain = to_html(&segments);
            for tag in ["<mark>", "</mark>", "<b>", "</b>"] {
                plain = plain.replace(tag, "");
            }
            prop_assert!(!plain.contains(['<', '>', '"', '\'']));
            for (code, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")] {
                plain = plain.replace(code, character);
            }
            prop_assert_eq!(plain, text);
        }
    }
}
