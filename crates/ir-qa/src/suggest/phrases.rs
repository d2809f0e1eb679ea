//! Frequent phrases of texts.

use std::collections::HashMap;

use ir_bm25::analysis::{AnalysisPipeline, StopWords};
use ir_core::Analyzer;

/// Counts phrases: successive words of a text that neither start nor end with a stop word.
///
/// A phrase is counted once per text, so its frequency is a document frequency. Words are tokens
/// of Lucene's `StandardAnalyzer`; stop words are the 179 English ones of NLTK. Phrases may cross
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
    /// Numbers of the words, which phrases consist of.
    numbers: HashMap<String, u32>,
    /// Words by number, with whether they are stop words.
    words: Vec<(String, bool)>,
    counts: HashMap<Box<[u32]>, PhraseCount>,
    texts: u64,
}

#[derive(Debug, Clone)]
struct PhraseCount {
    /// Number of texts with the phrase.
    count: u64,
    /// Number of the last text, from 1.
    last_text: u64,
}

impl FrequentPhrases {
    /// Creates a counter of phrases of at most `max_words` words.
    pub fn new(max_words: usize) -> Self {
        Self {
            analyzer: super::analyzer(),
            max_words,
            numbers: HashMap::new(),
            words: Vec::new(),
            counts: HashMap::new(),
            texts: 0,
        }
    }

    /// Counts the phrases of a text.
    pub fn add(&mut self, text: &str) {
        self.texts += 1;
        let words = self.analyzer.terms(text).into_iter();
        let words: Vec<u32> = words.map(|word| self.number(word)).collect();
        let is_stop: Vec<bool> = words
            .iter()
            .map(|&word| self.words[word as usize].1)
            .collect();
        for start in (0..words.len()).filter(|&start| !is_stop[start]) {
            let longest = words.len().min(start.saturating_add(self.max_words));
            for end in (start + 1..=longest).filter(|&end| !is_stop[end - 1]) {
                let phrase = &words[start..end];
                match self.counts.get_mut(phrase) {
                    Some(found) if found.last_text == self.texts => {}
                    Some(found) => {
                        found.count += 1;
                        found.last_text = self.texts;
                    }
                    None => {
                        let first = PhraseCount {
                            count: 1,
                            last_text: self.texts,
                        };
                        self.counts.insert(phrase.into(), first);
                    }
                }
            }
        }
    }

    /// Returns the phrases of at least `min_texts` texts with their numbers of texts, ascending by
    /// phrase.
    pub fn frequent(self, min_texts: u64) -> impl Iterator<Item = (String, u64)> {
        let Self { words, counts, .. } = self;
        let text = |phrase: &[u32]| {
            let words = phrase.iter().map(|&word| words[word as usize].0.as_str());
            words.collect::<Vec<_>>().join(" ")
        };
        let mut frequent: Vec<(String, u64)> = counts
            .iter()
            .filter(|(_, found)| found.count >= min_texts)
            .map(|(phrase, found)| (text(phrase), found.count))
            .collect();
        frequent.sort_unstable();
        frequent.into_iter()
    }

    /// Number of a word.
    fn number(&mut self, word: String) -> u32 {
        if let Some(&number) = self.numbers.get(&word) {
            return number;
        }
        let number = self.words.len() as u32;
        // The list of stop words is searched once per word.
        let is_stop = StopWords::Nltk179.contains(&word);
        self.words.push((word.clone(), is_stop));
        self.numbers.insert(word, number);
        number
    }
}
