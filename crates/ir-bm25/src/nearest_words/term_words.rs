//! Words of the terms of texts, for encoders.

use std::collections::{BTreeMap, HashMap};

use ir_core::Analyzer;

/// Terms of texts with the words that have them, for [`TermVectors`](crate::TermVectors) of an
/// encoder of text, which knows words and no stems.
///
/// ```
/// use ir_bm25::{Analysis, TermWords};
/// let analyzer = Analysis::anserini().build()?;
/// let mut words = TermWords::default();
/// words.add(&analyzer, "The boats of the harbor, and boats for boating");
/// let found: Vec<_> = words.most_frequent().collect();
/// assert_eq!(found, [("boat", "boats"), ("harbor", "harbor")]);
/// # Ok::<(), ir_bm25::analysis::AnalysisError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct TermWords {
    /// Occurrences of every word of a term.
    terms: BTreeMap<String, HashMap<String, u64>>,
}

impl TermWords {
    /// Adds the words of a text. Skips tokens of custom analyzers with offsets outside the text.
    pub fn add(&mut self, analyzer: &dyn Analyzer, text: &str) {
        analyzer.analyze(text, &mut |token| {
            let Some(word) = text.get(token.start..token.end) else {
                return;
            };
            let words = self.terms.entry(token.term.to_owned()).or_default();
            match words.get_mut(word) {
                Some(count) => *count += 1,
                None => _ = words.insert(word.to_owned(), 1),
            }
        });
    }

    /// Returns the number of terms.
    #[must_use]
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Returns whether there are no terms.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the terms in ascending order, each with its most frequent word as written; of
    /// equally frequent words, the first in byte order.
    pub fn most_frequent(&self) -> impl Iterator<Item = (&str, &str)> {
        self.terms.iter().filter_map(|(term, words)| {
            let words = words.iter().map(|(word, count)| (word.as_str(), *count));
            let most = words.min_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
            Some((term.as_str(), most?.0))
        })
    }
}
