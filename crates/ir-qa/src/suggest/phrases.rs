//! Frequent phrases of texts.

use std::collections::{HashMap, HashSet};

use ir_bm25::analysis::{Analysis, AnalysisPipeline, StopWords};
use ir_core::Analyzer;

/// Counts phrases: successive words of a text that neither start nor end with a stop word.
///
/// A phrase is counted once per text, so its frequency is a document frequency. Words are those of
/// Lucene's `StandardAnalyzer`; stop words are the 179 English ones of NLTK. Phrases may cross
/// punctuation.
///
/// ```
/// use ir_qa::suggest::FrequentPhrases;
/// let mut phrases = FrequentPhrases::new(3);
/// phrases.add("Attention is a weighted mean of values.");
/// phrases.add("The weighted mean of ranks, and the weighted mean.");
/// let frequent: Vec<_> = phrases.frequent(2).collect();
/// assert_eq!(frequent, [("mean".into(), 2), ("weighted".into(), 2), ("weighted mean".into(), 2)]);
/// ```
#[derive(Debug, Clone)]
pub struct FrequentPhrases {
    analyzer: AnalysisPipeline,
    max_words: usize,
    counts: HashMap<String, u64>,
}

impl FrequentPhrases {
    /// Creates a counter of phrases of at most `max_words` words.
    #[expect(clippy::expect_used, reason = "the analysis is a preset")]
    pub fn new(max_words: usize) -> Self {
        let preset = Analysis::lucene_standard();
        Self {
            analyzer: preset.build().expect("presets are valid"),
            max_words,
            counts: HashMap::new(),
        }
    }

    /// Counts the phrases of a text.
    pub fn add(&mut self, text: &str) {
        let words = self.analyzer.terms(text);
        let is_stop: Vec<bool> = words
            .iter()
            .map(|word| StopWords::Nltk179.contains(word))
            .collect();
        let mut phrases = HashSet::new();
        for start in (0..words.len()).filter(|&start| !is_stop[start]) {
            let longest = words.len().min(start.saturating_add(self.max_words));
            let ends = (start + 1..=longest).filter(|&end| !is_stop[end - 1]);
            phrases.extend(ends.map(|end| words[start..end].join(" ")));
        }
        for phrase in phrases {
            *self.counts.entry(phrase).or_default() += 1;
        }
    }

    /// Returns the phrases of at least `min_texts` texts with their numbers of texts, ascending by
    /// phrase.
    pub fn frequent(self, min_texts: u64) -> impl Iterator<Item = (String, u64)> {
        let mut frequent: Vec<(String, u64)> = self
            .counts
            .into_iter()
            .filter(|(_, count)| *count >= min_texts)
            .collect();
        frequent.sort_unstable();
        frequent.into_iter()
    }
}
