//! Offsets in characters (Unicode code points), which answer spans, frames and SQuAD use, and
//! excerpts.

/// Returns the byte offset of the character with this number; `None` beyond the end. The number of
/// characters is the offset of the end.
///
/// ```
/// assert_eq!(ir_core::byte_offset("grün", 3), Some(4));
/// assert_eq!(ir_core::byte_offset("grün", 4), Some(5));
/// assert_eq!(ir_core::byte_offset("grün", 5), None);
/// ```
#[must_use]
pub fn byte_offset(text: &str, characters: usize) -> Option<usize> {
    if text.is_ascii() {
        return (characters <= text.len()).then_some(characters);
    }
    let offsets = text.char_indices().map(|(at, _)| at);
    offsets.chain([text.len()]).nth(characters)
}

/// Returns the number of characters of a text.
///
/// ```
/// assert_eq!(ir_core::character_count("grün"), 4);
/// ```
#[must_use]
pub fn character_count(text: &str) -> usize {
    text.chars().count()
}

/// Returns the first 60 characters of a text for an error message, with `…` if it is longer. A
/// control character counts as its escape, such as `\u{1}`.
///
/// ```
/// assert_eq!(ir_core::excerpt("tea"), "tea");
/// assert!(ir_core::excerpt(&"tea ".repeat(20)).ends_with("tea …"));
/// assert_eq!(ir_core::excerpt(&"\u{1}".repeat(20)), "\u{1}".repeat(12) + "…");
/// ```
#[must_use]
pub fn excerpt(text: &str) -> String {
    const LENGTH: usize = 60;
    let mut length = 0;
    let end = text.char_indices().find(|(_, char)| {
        length += if char.is_control() {
            char.escape_debug().count()
        } else {
            1
        };
        length > LENGTH
    });
    match end {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
