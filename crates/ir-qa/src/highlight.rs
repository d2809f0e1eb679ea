//! Answers and matching words marked in a context.

use std::ops::Range;

use ir_bm25::analysis::Highlighter;

use crate::frame::Frame;
use ir_core::character_count;

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

/// Splits the context of a frame at the edges of its answer and of the words that match the query
/// of `highlighter`. The segments cover the context.
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
/// let segments = segments(&frame, &Highlighter::new(&analysis, "tea of Asia"));
/// assert_eq!((segments[2].text, segments[2].start), ("Tea", 12));
/// assert_eq!(
///     to_html(&segments),
///     "<b>Tea</b> &amp; milk. <mark><b>Tea</b> &lt;hot&gt; comes from <b>Asia</b>.</mark>"
/// );
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn segments<'a>(frame: &'a Frame, highlighter: &Highlighter<'_>) -> Vec<HighlightSegment<'a>> {
    let words = highlighter.spans(&frame.context);
    segments_of(&frame.context, &[frame.answer_bytes()], &words)
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
    use proptest::prelude::*;

    use super::*;

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
