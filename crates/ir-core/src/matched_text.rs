use std::ops::Range;

/// Text of a document with the words that match a query best, for highlighting.
///
/// [`Retriever::matched_text`](crate::Retriever::matched_text) returns it for models that compare
/// words, such as late interaction.
///
/// ```
/// use ir_core::MatchedText;
/// let matched = MatchedText::new("On tea. It is drunk hot.", vec![3..6, 14..19]);
/// assert_eq!(matched.words_in("It is drunk hot."), Some(vec![6..11]));
/// // The model did not read this text.
/// assert_eq!(matched.words_in("Coffee is drunk hot."), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatchedText {
    /// Text that the model read.
    pub text: String,
    /// Ranges of the words in the text, in bytes, ascending.
    pub words: Vec<Range<usize>>,
}

impl MatchedText {
    /// Creates a text with the ranges of words in it, in bytes, ascending.
    #[must_use]
    pub fn new(text: impl Into<String>, words: Vec<Range<usize>>) -> Self {
        Self {
            text: text.into(),
            words,
        }
    }

    /// Returns the ranges of the words in `part`, in bytes of `part`, ascending: of the words that
    /// are inside of an occurrence of `part` in the text. `None` if there is no occurrence, or
    /// `part` is empty: the model did not read it.
    #[must_use]
    pub fn words_in(&self, part: &str) -> Option<Vec<Range<usize>>> {
        if part.is_empty() {
            return None;
        }
        let mut is_part = false;
        let mut words = Vec::new();
        for (start, _) in self.text.match_indices(part) {
            is_part = true;
            let end = start + part.len();
            let inside = self.words.iter();
            let inside = inside.filter(|word| start <= word.start && word.end <= end);
            words.extend(inside.map(|word| word.start - start..word.end - start));
        }
        words.sort_by_key(|word| (word.start, word.end));
        words.dedup();
        is_part.then_some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_all_occurrences() {
        let matched = MatchedText::new("tea: grün tea, grün tea", vec![0..3, 5..10, 22..25]);
        let words = |part: &str| {
            let words = matched.words_in(part)?.into_iter();
            Some(words.map(|word| (word.start, word.end)).collect::<Vec<_>>())
        };
        assert_eq!(words("grün tea"), Some(vec![(0, 5), (6, 9)]));
        assert_eq!(words("tea"), Some(vec![(0, 3)]));
        assert_eq!(words(&matched.text), Some(vec![(0, 3), (5, 10), (22, 25)]));
        // Words across the edges of the part are not inside.
        assert_eq!(words("rün tea,"), Some(vec![]));
        assert_eq!(words("coffee"), None);
        assert_eq!(words(""), None);
    }
}
