//! WordPiece vocabulary training by byte-pair encoding.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// Maximum size of the alphabet; rarer characters are unknown. As in the trainer of Hugging Face's
/// tokenizers for BERT.
const MAX_ALPHABET: usize = 1000;

/// Minimum frequency of a pair that is merged. As in that trainer.
const MIN_FREQUENCY: u64 = 2;

type TokenPair = (u32, u32);

/// Trains a vocabulary of at most `size` tokens on words with their frequencies: `special` tokens,
/// then single characters at the start of a word and, with the prefix `##`, inside a word, then
/// merges of the most frequent pair of adjacent tokens. Ties are broken by age of the tokens, so
/// that the result depends on the words alone.
///
/// # Errors
/// The number of special tokens and characters, if it exceeds `size`.
///
/// # Source
/// Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", ACL 2016; with
/// BERT's `##`, as Hugging Face's WordPiece trainer. The results of that trainer vary between runs,
/// because it numbers tokens in the order of a hash table.
pub(super) fn train(
    words: &BTreeMap<String, u64>,
    special: &[&str],
    size: usize,
) -> Result<Vec<String>, usize> {
    let alphabet = alphabet(words);
    // Words that contain `#` could be confused with tokens.
    let is_known = |word: &str| {
        word.chars().all(|c| alphabet.binary_search(&c).is_ok())
            && (word == "#" || !word.contains('#'))
    };
    let words: Vec<(&str, u64)> = words
        .iter()
        .map(|(word, &count)| (word.as_str(), count))
        .filter(|(word, _)| is_known(word))
        .collect();
    let mut inner: Vec<char> = words
        .iter()
        .flat_map(|(word, _)| word.chars().skip(1))
        .collect();
    inner.sort_unstable();
    inner.dedup();

    let mut vocabulary = Vocabulary::default();
    special.iter().for_each(|&token| {
        vocabulary.id(token.to_owned());
    });
    alphabet.iter().for_each(|c| {
        vocabulary.id(c.to_string());
    });
    inner.iter().for_each(|c| {
        vocabulary.id(format!("##{c}"));
    });
    if vocabulary.tokens.len() > size {
        return Err(vocabulary.tokens.len());
    }
    let words = words.into_iter().map(|(word, count)| {
        let letters = word.chars().enumerate().map(|(at, c)| match at {
            0 => vocabulary.id(c.to_string()),
            _ => vocabulary.id(format!("##{c}")),
        });
        (letters.collect(), count)
    });
    let mut counts = PairCounts::new(words.collect());
    while vocabulary.tokens.len() < size
        && let Some(pair) = counts.most_frequent()
    {
        let merged = vocabulary.merged(pair);
        counts.merge(pair, vocabulary.id(merged));
    }
    Ok(vocabulary.tokens)
}

/// Returns the most frequent characters, sorted.
fn alphabet(words: &BTreeMap<String, u64>) -> Vec<char> {
    let mut counts: BTreeMap<char, u64> = BTreeMap::new();
    for (word, count) in words {
        for c in word.chars() {
            *counts.entry(c).or_default() += count;
        }
    }
    let mut order: Vec<(Reverse<u64>, char)> = counts
        .into_iter()
        .map(|(c, count)| (Reverse(count), c))
        .collect();
    order.sort_unstable();
    order.truncate(MAX_ALPHABET);
    let mut alphabet: Vec<char> = order.into_iter().map(|(_, c)| c).collect();
    alphabet.sort_unstable();
    alphabet
}

/// Tokens and their ids.
#[derive(Default)]
struct Vocabulary {
    tokens: Vec<String>,
    ids: HashMap<String, u32>,
}

impl Vocabulary {
    /// Returns the id of a token, which is added if it is new.
    fn id(&mut self, token: String) -> u32 {
        let next = self.tokens.len() as u32;
        *self.ids.entry(token).or_insert_with_key(|token| {
            self.tokens.push(token.clone());
            next
        })
    }

    /// Concatenation of two tokens.
    fn merged(&self, (first, second): TokenPair) -> String {
        let [first, second] = [first, second].map(|token| &self.tokens[token as usize]);
        let second = second.strip_prefix("##").unwrap_or(second);
        format!("{first}{second}")
    }
}

/// Words as tokens, and the frequency of each pair of adjacent tokens.
#[derive(Default)]
struct PairCounts {
    words: Vec<(Vec<u32>, u64)>,
    counts: HashMap<TokenPair, u64>,
    /// Words that have or had a pair.
    words_of_pair: HashMap<TokenPair, Vec<u32>>,
    /// Pairs by frequency. Frequencies may be outdated: `most_frequent` reinserts such pairs.
    queue: BinaryHeap<(u64, Reverse<TokenPair>)>,
}

impl PairCounts {
    fn new(words: Vec<(Vec<u32>, u64)>) -> Self {
        let mut pairs = Self {
            words,
            ..Self::default()
        };
        for word in 0..pairs.words.len() {
            pairs.add_word(word, |_| true);
        }
        let queue = pairs.counts.iter().map(|(&pair, &n)| (n, Reverse(pair)));
        pairs.queue = queue.collect();
        pairs
    }

    /// Adds the pairs of a word; registers the word for pairs for which `is_new` is true.
    fn add_word(&mut self, word: usize, is_new: impl Fn(TokenPair) -> bool) {
        let (tokens, count) = &self.words[word];
        for two in tokens.windows(2) {
            let pair = (two[0], two[1]);
            *self.counts.entry(pair).or_default() += count;
            if is_new(pair) {
                self.words_of_pair
                    .entry(pair)
                    .or_default()
                    .push(word as u32);
            }
        }
    }

    /// Subtracts the pairs of a word.
    fn remove_word(&mut self, word: usize) {
        let (tokens, count) = &self.words[word];
        for two in tokens.windows(2) {
            if let Some(frequency) = self.counts.get_mut(&(two[0], two[1])) {
                *frequency -= count;
            }
        }
    }

    /// Returns the next pair to merge.
    fn most_frequent(&mut self) -> Option<TokenPair> {
        while let Some((count, Reverse(pair))) = self.queue.pop() {
            let now = self.counts.get(&pair).copied().unwrap_or(0);
            if now == count {
                return (count >= MIN_FREQUENCY).then_some(pair);
            }
            if now > 0 {
                self.queue.push((now, Reverse(pair)));
            }
        }
        None
    }

    /// Replaces a pair by a token in all words.
    fn merge(&mut self, pair: TokenPair, token: u32) {
        let mut words = self.words_of_pair.remove(&pair).unwrap_or_default();
        words.sort_unstable();
        words.dedup();
        let is_new = |(first, second): TokenPair| first == token || second == token;
        let mut new_pairs = Vec::new();
        for word in words {
            let word = word as usize;
            self.remove_word(word);
            let tokens = merged(&self.words[word].0, pair, token);
            let pairs = tokens.windows(2).map(|two| (two[0], two[1]));
            new_pairs.extend(pairs.filter(|&pair| is_new(pair)));
            self.words[word].0 = tokens;
            self.add_word(word, is_new);
        }
        self.counts.remove(&pair);
        new_pairs.sort_unstable();
        new_pairs.dedup();
        let new_pairs = new_pairs
            .into_iter()
            .map(|pair| (self.counts[&pair], Reverse(pair)));
        self.queue.extend(new_pairs);
    }
}

/// Replaces a pair by `token` in a word.
fn merged(tokens: &[u32], (first, second): TokenPair, token: u32) -> Vec<u32> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut rest = tokens;
    while let [next, after @ ..] = rest {
        if *next == first && after.first() == Some(&second) {
            out.push(token);
            rest = &after[1..];
        } else {
            out.push(*next);
            rest = after;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECIAL: [&str; 2] = ["[PAD]", "[UNK]"];

    fn words(text: &str) -> BTreeMap<String, u64> {
        let mut words = BTreeMap::new();
        for word in text.split_whitespace() {
            *words.entry(word.to_owned()).or_default() += 1;
        }
        words
    }

    /// Reference implementation: counts all pairs of all words before every merge.
    fn reference(words: &BTreeMap<String, u64>, size: usize) -> Vec<String> {
        let mut pieces: Vec<String> = SPECIAL.map(str::to_owned).into();
        let first: std::collections::BTreeSet<char> =
            words.keys().flat_map(|word| word.chars()).collect();
        pieces.extend(first.iter().map(char::to_string));
        let within: std::collections::BTreeSet<char> =
            words.keys().flat_map(|word| word.chars().skip(1)).collect();
        pieces.extend(within.iter().map(|c| format!("##{c}")));
        let mut cut: Vec<(Vec<String>, u64)> = words
            .iter()
            .map(|(word, &count)| {
                let letters = word.chars().enumerate();
                let letters = letters.map(|(at, c)| match at {
                    0 => c.to_string(),
                    _ => format!("##{c}"),
                });
                (letters.collect(), count)
            })
            .collect();
        while pieces.len() < size {
            let numbers: HashMap<&String, usize> = pieces.iter().zip(0..).collect();
            let mut counts: BTreeMap<(usize, usize), u64> = BTreeMap::new();
            for (word, count) in &cut {
                for two in word.windows(2) {
                    let pair = (numbers[&two[0]], numbers[&two[1]]);
                    *counts.entry(pair).or_default() += count;
                }
            }
            let best = counts.iter().map(|(&pair, &count)| (count, Reverse(pair)));
            let Some((2.., Reverse((a, b)))) = best.max() else {
                break;
            };
            let (a, b) = (pieces[a].clone(), pieces[b].clone());
            let both = format!("{a}{}", b.trim_start_matches("##"));
            if !pieces.contains(&both) {
                pieces.push(both.clone());
            }
            for (word, _) in &mut cut {
                let mut at = 0;
                while at + 1 < word.len() {
                    if word[at] == a && word[at + 1] == b {
                        word[at] = both.clone();
                        word.remove(at + 1);
                    }
                    at += 1;
                }
            }
        }
        pieces
    }

    #[test]
    fn equals_reference_implementation() {
        let readme = include_str!("../../README.md").chars();
        let text: String = readme.filter(|&c| c != '#').take(8000).collect();
        for text in [
            &*text,
            &text.to_lowercase(),
            "aaa aaaa aa ab aba abab ababab bbbb abcabc bcabc cabcab xyz",
            "a",
        ] {
            let words = words(text);
            for size in [150, 300, 500] {
                let found = train(&words, &SPECIAL, size);
                let expected = reference(&words, size);
                match found {
                    Ok(found) => assert_eq!(found, expected),
                    Err(min) => assert!(min > size && expected.len() == min),
                }
            }
        }
    }

    #[test]
    fn worked_example() {
        // "##er" has frequency 5; then "l" "##o" 4, "lo" "##w" 4, and so on.
        let words = words("low lower lower lowest newer newer wider");
        let pieces = train(&words, &[], 20).unwrap();
        let letters: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(
            letters[..10],
            ["d", "e", "i", "l", "n", "o", "r", "s", "t", "w"]
        );
        assert_eq!(
            letters[10..19],
            [
                "##d", "##e", "##i", "##o", "##r", "##s", "##t", "##w", "##er"
            ]
        );
        assert_eq!(letters[19], "lo");
        assert_eq!(train(&words, &[], 12), Err(18));
    }

    /// The vocabulary of Hugging Face's trainer is the same up to ties, whose order varies.
    #[test]
    fn agrees_with_tokenizers_library() {
        use tokenizers::models::wordpiece::{WordPiece, WordPieceTrainerBuilder};
        use tokenizers::{Model, Trainer};
        let text = concat!(
            include_str!("../../README.md"),
            include_str!("../train/config.rs"),
            include_str!("../train/trainer.rs"),
            include_str!("../encode/bi_encoder.rs"),
            include_str!("mod.rs")
        );
        let words = words(&text.to_lowercase());
        let words: BTreeMap<String, u64> = words
            .into_iter()
            .filter(|(word, _)| word.chars().all(char::is_alphabetic))
            .collect();
        let size = 400;
        let ours = train(&words, &[], size).unwrap();
        let mut trainer = WordPieceTrainerBuilder::new()
            .vocab_size(size)
            .min_frequency(MIN_FREQUENCY)
            .show_progress(false)
            .build();
        let all = words
            .iter()
            .flat_map(|(word, &n)| (0..n).map(move |_| word));
        trainer.feed(all, |word| Ok(vec![word.to_owned()])).unwrap();
        let mut model = WordPiece::default();
        let _ = trainer.train(&mut model).unwrap();
        let theirs = model.get_vocab();
        assert_eq!((ours.len(), theirs.len()), (size, size));
        let shared = ours.iter().filter(|&piece| theirs.contains_key(piece));
        let shared = shared.count();
        assert!(shared * 100 >= 95 * size, "{shared} of {size}");
    }
}
