//! Text and metadata of a document as HTML.

use std::ops::Range;

use ir_qa::documents::language_tag;
use maud::{Markup, html};

/// Part of a text with the matching words and annotated spans in it.
pub(super) fn marked(
    text: &str,
    range: Range<usize>,
    words: &[Range<usize>],
    notes: &[Range<usize>],
) -> Markup {
    let first = words.partition_point(|word| word.end <= range.start);
    let last = words.partition_point(|word| word.start < range.end);
    let words = words.get(first..last).unwrap_or_default();
    let edges = words.iter().chain(notes);
    let mut edges: Vec<usize> = edges
        .flat_map(|other| [other.start, other.end])
        .filter(|edge| range.contains(edge))
        .chain([range.start, range.end])
        .collect();
    edges.sort_unstable();
    edges.dedup();
    html! {
        @for edge in edges.windows(2) {
            @let part = text.get(edge[0]..edge[1]).unwrap_or_default();
            @let next = words.partition_point(|word| word.end <= edge[0]);
            @let is_word = words.get(next).is_some_and(|word| word.start <= edge[0]);
            @let is_note = notes.iter().any(|note| note.contains(&edge[0]));
            @match (is_note, is_word) {
                (true, true) => span.annotated { b { (part) } },
                (true, false) => span.annotated { (part) },
                (false, true) => b { (part) },
                (false, false) => (part),
            }
        }
    }
}

/// Text of a value of metadata; lists are joined.
pub(super) fn text_of(value: &ir_core::AttributeValue) -> Option<String> {
    use ir_core::AttributeValue::{Bool, Float, Int, List, Map, Text};
    match value {
        Text(text) => Some(text.clone()),
        Int(number) => Some(number.to_string()),
        Float(number) => Some(number.to_string()),
        List(values) => {
            let texts: Vec<String> = values.iter().filter_map(text_of).collect();
            Some(texts.join(", "))
        }
        Bool(_) | Map(_) => None,
    }
}

/// Language tag of a text such as `zh-Hans` or `Chinese`.
pub(super) fn language_of(text: &str) -> Option<&str> {
    language_tag(text).or_else(|| is_language(text).then_some(text))
}

/// Returns `true` if a text is a language tag such as `en` or `zh-Hans`.
fn is_language(text: &str) -> bool {
    let mut parts = text.split('-');
    let first = parts.next().unwrap_or_default();
    (2..=3).contains(&first.len())
        && first.bytes().all(|byte| byte.is_ascii_alphabetic())
        && parts.all(|part| {
            (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_text_and_are_escaped() {
        let words = [0..3, 4..7];
        let notes = [2..6, 5..7];
        assert_eq!(
            marked("tea <b> &", 0..9, &words, &notes).into_string(),
            "<b>te</b><span class=\"annotated\"><b>a</b></span><span class=\"annotated\"> </span>\
             <span class=\"annotated\"><b>&lt;</b></span><span class=\"annotated\"><b>b</b></span>\
             <span class=\"annotated\"><b>&gt;</b></span> &amp;"
        );
        assert_eq!(marked("tea", 1..1, &words, &notes).into_string(), "");
        assert!(
            is_language("zh-Hans")
                && is_language("eng")
                && !is_language("x\" y")
                && !is_language("")
        );
        assert_eq!(language_of("Arabic"), Some("ar"));
        assert_eq!(language_of("zh-Hans"), Some("zh-Hans"));
        assert_eq!(language_of("x\" y"), None);
    }
}
