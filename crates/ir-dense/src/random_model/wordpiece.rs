//! WordPiece vocabulary training by byte-pair encoding.
//!
//! All characters are special tokens of the trainer: the crate tokenizers numbers other characters
//! in the order of a hash table and breaks ties by number, so that three runs of version 0.22.2
//! gave three vocabularies. It numbers special tokens in the given order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use tokenizers::AddedToken;
use tokenizers::models::bpe::{BPE, BpeTrainer};

use super::CreateModelError;
use crate::error::{ModelError, TokenizerError};

/// Maximum size of the alphabet; rarer characters are unknown. As in the trainer of Hugging Face's
/// tokenizers for BERT.
const MAX_ALPHABET: usize = 1000;

/// Minimum frequency of a pair that is merged. As in that trainer.
const MIN_FREQUENCY: u64 = 2;

/// Trains a vocabulary of at most `size` tokens on words with their frequencies: `special` tokens,
/// then single characters at the start of a word and, with the prefix `##`, inside a word, then
/// merges of the most frequent pair of adjacent tokens. Ties are broken by age of the tokens, so
/// that the result depends on the words alone.
///
/// # Errors
/// If the special tokens and characters exceed `size`, or a pair of adjacent characters has a
/// frequency above 2³¹ − 1.
///
/// # Source
/// Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", ACL 2016; with
/// BERT's `##`, by the trainer of Hugging Face's tokenizers.
pub(super) fn train(
    words: &BTreeMap<String, u64>,
    special: &[&str],
    size: usize,
) -> Result<Vec<String>, CreateModelError> {
    let alphabet = alphabet(words);
    // Words that contain `#` could be confused with tokens.
    let is_known = |word: &str| {
        word.chars().all(|c| alphabet.contains(&c)) && (word == "#" || !word.contains('#'))
    };
    let words = words.iter().filter(|(word, _)| is_known(word));
    let inner: BTreeSet<char> = words
        .clone()
        .flat_map(|(word, _)| word.chars().skip(1))
        .collect();
    // The trainer numbers `special_tokens` in order, but other characters in the order of a hash
    // table, and breaks ties by these numbers. Therefore all characters are passed as special.
    let special = special.iter().map(|&token| token.to_owned());
    let special = special.chain(alphabet.iter().map(char::to_string));
    let special = special.chain(inner.iter().map(|c| format!("##{c}")));
    let special: Vec<AddedToken> = special.map(|token| AddedToken::from(token, true)).collect();
    let min = special.len();
    if min > size {
        return Err(CreateModelError::Setting {
            field: "vocab_size",
            expected: "room for the special tokens and the characters of the texts",
            found: format!("{size}, and these alone are {min}"),
        });
    }
    // The trainer counts pairs in i32. A pair of longer tokens is not more frequent than the
    // characters where they meet.
    if let Some((pair, found)) = pair_counts(words.clone()).find(|(_, n)| *n > i32::MAX as u64) {
        return Err(CreateModelError::PairFrequency { pair, found });
    }
    // The trainer allocates this many tokens; a merge removes at least one character.
    let max = min + words.clone().map(|(word, _)| word.len()).sum::<usize>();
    let trainer = BpeTrainer::builder()
        .vocab_size(size.min(max))
        .min_frequency(MIN_FREQUENCY)
        .continuing_subword_prefix("##".into())
        .special_tokens(special)
        .show_progress(false)
        .build();
    let words = words.map(|(word, &count)| (word.into(), count)).collect();
    let mut model = BPE::default();
    trainer
        .do_train(&words, &mut model)
        .map_err(|source| ModelError::from(TokenizerError::Encode { source }))?;
    let tokens: BTreeMap<u32, String> = model
        .get_vocab()
        .into_iter()
        .map(|(token, id)| (id, token))
        .collect();
    Ok(tokens.into_values().collect())
}

/// Returns the most frequent characters.
fn alphabet(words: &BTreeMap<String, u64>) -> BTreeSet<char> {
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
    order.into_iter().map(|(_, c)| c).collect()
}

/// Frequencies of pairs of adjacent characters, separately at the start of and inside words.
fn pair_counts<'a>(
    words: impl Iterator<Item = (&'a String, &'a u64)>,
) -> impl Iterator<Item = (String, u64)> {
    let mut counts: BTreeMap<(bool, char, char), u64> = BTreeMap::new();
    for (word, count) in words {
        let pairs = word.chars().zip(word.chars().skip(1));
        for (position, (a, b)) in pairs.enumerate() {
            *counts.entry((position > 0, a, b)).or_default() += count;
        }
    }
    let name = |((is_inner, a, b), count)| {
        if is_inner {
            (format!("##{a} ##{b}"), count)
        } else {
            (format!("{a} ##{b}"), count)
        }
    };
    counts.into_iter().map(name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use ir_core::SplitMix64;

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
            "aaaa aaab baaa aaaaa aaaaaaa banana banana anana nanan ananana bananana",
            "a",
        ] {
            let words = words(text);
            for size in [150, 300, 500] {
                let found = train(&words, &SPECIAL, size);
                let expected = reference(&words, size);
                match found {
                    Ok(found) => assert_eq!(found, expected),
                    Err(error) => {
                        let min = expected.len();
                        assert!(min > size);
                        assert!(error.to_string().contains(&format!("alone are {min},")));
                    }
                }
            }
        }
    }

    #[test]
    fn equals_reference_implementation_for_repeated_letters() {
        for seed in 0..500 {
            let mut random = SplitMix64::new(seed, 0);
            let letters = ["a", "ab", "abn"][random.below(3)].as_bytes();
            let mut words = BTreeMap::new();
            for _ in 0..=random.below(8) {
                let letters = (0..=random.below(14)).map(|_| letters[random.below(letters.len())]);
                let word = letters.map(char::from).collect();
                words.insert(word, 1 + random.below(5) as u64);
            }
            for size in [12, 100] {
                let found = train(&words, &SPECIAL, size).unwrap();
                assert_eq!(found, reference(&words, size), "{words:?}");
            }
        }
    }

    #[test]
    fn rejects_pairs_that_the_trainer_cannot_count() {
        let max = i32::MAX as u64;
        let train = |words: &[(&str, u64)]| {
            let words = words.iter().map(|&(word, n)| (word.to_owned(), n));
            train(&words.collect(), &[], 100)
        };
        // "b" has no pair; "a" and "##a" are different tokens.
        let tokens = train(&[("aa", max), ("baa", max - 1), ("b", 10 * max)]).unwrap();
        assert_eq!(tokens, ["a", "b", "##a", "aa", "ba", "baa"]);
        let error = |words: &[(&str, u64)]| train(words).unwrap_err().to_string();
        assert_eq!(
            error(&[("aa", max), ("aab", 1)]),
            "the pair \"a ##a\" occurs 2147483648 times, expected at most 2147483647"
        );
        // Every occurrence in a word counts.
        assert_eq!(
            error(&[("baaa", 1 << 30)]),
            "the pair \"##a ##a\" occurs 2147483648 times, expected at most 2147483647"
        );
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
        assert_eq!(
            train(&words, &[], 12).unwrap_err().to_string(),
            "vocab_size is 12, and these alone are 18, expected room for the special tokens and \
             the characters of the texts"
        );
    }

    /// Without numbered characters, the trainer gives the same vocabulary up to ties.
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
