//! Membership of terms in lists of words.

/// Set of words with a fast path: most words are rejected by first byte and length.
#[derive(Debug, Clone)]
pub(super) struct WordSet {
    /// Bit set of the lengths that occur, by first byte; bit 63 stands for 63 and more bytes.
    lengths: Box<[u64; 256]>,
    sorted: Vec<Box<str>>,
}

impl WordSet {
    pub(super) fn new<T: Into<Box<str>>>(words: impl Iterator<Item = T>) -> Self {
        let mut set = Self {
            lengths: Box::new([0; 256]),
            sorted: words.map(Into::into).collect(),
        };
        set.sorted.sort_unstable();
        for word in &set.sorted {
            if let Some(&first) = word.as_bytes().first() {
                set.lengths[usize::from(first)] |= length_bit(word);
            }
        }
        set
    }

    pub(super) fn contains(&self, word: &str) -> bool {
        let Some(&first) = word.as_bytes().first() else {
            return false;
        };
        self.lengths[usize::from(first)] & length_bit(word) != 0
            && self.sorted.binary_search_by(|w| (**w).cmp(word)).is_ok()
    }
}

fn length_bit(word: &str) -> u64 {
    1 << word.len().min(63)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::StopWords;

    #[test]
    fn the_set_equals_the_list() {
        let long = "x".repeat(70);
        for list in [
            StopWords::None,
            StopWords::Lucene33,
            StopWords::Nltk179,
            StopWords::custom([&long, "é", "ab"]),
        ] {
            let set = WordSet::new(list.iter());
            for word in StopWords::Nltk179.iter().chain([
                "",
                "é",
                "è",
                "ab",
                "ac",
                "abc",
                &long,
                &"x".repeat(71),
            ]) {
                assert_eq!(set.contains(word), list.contains(word), "{word:?}");
            }
        }
    }
}
