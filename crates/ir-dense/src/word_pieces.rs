//! Word pieces learnt from words: which strings become tokens.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

/// The most characters that get pieces of their own; rarer ones stay unknown. As the trainer of
/// Hugging Face's tokenizers for BERT has it, as the next.
const CHARACTERS: usize = 1000;

/// How often two pieces must stand side by side to become one.
const LEAST: u64 = 2;

/// Two pieces side by side.
type Pair = (u32, u32);

/// Learns a vocabulary of at most `size` pieces from words and how often each occurs: `special`
/// first, then single characters, at the beginning of a word and, marked by `##`, within one. Then,
/// again and again, the two pieces that stand side by side most often become one more piece.
/// Ties go to the pieces that were there first, so that the result depends on the words alone.
///
/// Errors with the number of pieces that there are at least, when that is more than `size`.
///
/// # Source
/// Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", ACL 2016; with
/// BERT's `##`, as Hugging Face's trainer of word pieces. That trainer's own results differ from
/// run to run: it numbers pieces in the order of a hash table.
pub(crate) fn learn(
    words: &BTreeMap<String, u64>,
    special: &[&str],
    size: usize,
) -> Result<Vec<String>, usize> {
    let alphabet = alphabet(words);
    // Longer words with the mark itself in them could not be told from pieces.
    let known = |word: &str| {
        word.chars().all(|c| alphabet.binary_search(&c).is_ok())
            && (word == "#" || !word.contains('#'))
    };
    let words: Vec<(&str, u64)> = words
        .iter()
        .map(|(word, &count)| (word.as_str(), count))
        .filter(|(word, _)| known(word))
        .collect();
    let mut within: Vec<char> = words
        .iter()
        .flat_map(|(word, _)| word.chars().skip(1))
        .collect();
    within.sort_unstable();
    within.dedup();

    let mut pieces = Pieces::default();
    special.iter().for_each(|&token| {
        pieces.number(token.to_owned());
    });
    alphabet.iter().for_each(|c| {
        pieces.number(c.to_string());
    });
    within.iter().for_each(|c| {
        pieces.number(format!("##{c}"));
    });
    if pieces.names.len() > size {
        return Err(pieces.names.len());
    }
    let words = words.into_iter().map(|(word, count)| {
        let letters = word.chars().enumerate().map(|(at, c)| match at {
            0 => pieces.number(c.to_string()),
            _ => pieces.number(format!("##{c}")),
        });
        (letters.collect(), count)
    });
    let mut table = Table::new(words.collect());
    while pieces.names.len() < size
        && let Some(pair) = table.most_frequent()
    {
        let joined = pieces.joined(pair);
        table.join(pair, pieces.number(joined));
    }
    Ok(pieces.names)
}

/// The characters of the words, the most frequent if there are too many, in their order.
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
    order.truncate(CHARACTERS);
    let mut alphabet: Vec<char> = order.into_iter().map(|(_, c)| c).collect();
    alphabet.sort_unstable();
    alphabet
}

/// The pieces and their numbers.
#[derive(Default)]
struct Pieces {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Pieces {
    /// The number of a piece, which is a new one if it is new.
    fn number(&mut self, name: String) -> u32 {
        let next = self.names.len() as u32;
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }

    fn joined(&self, (first, second): Pair) -> String {
        let [first, second] = [first, second].map(|piece| &self.names[piece as usize]);
        let second = second.strip_prefix("##").unwrap_or(second);
        format!("{first}{second}")
    }
}

/// The words as pieces, and how often which pieces stand side by side.
#[derive(Default)]
struct Table {
    words: Vec<(Vec<u32>, u64)>,
    counts: HashMap<Pair, u64>,
    /// The words in which a pair is, or was once.
    places: HashMap<Pair, Vec<u32>>,
    /// Pairs by their counts at one time; those that have fallen since are put back when met.
    queue: BinaryHeap<(u64, Reverse<Pair>)>,
}

impl Table {
    fn new(words: Vec<(Vec<u32>, u64)>) -> Self {
        let mut table = Self {
            words,
            ..Self::default()
        };
        for word in 0..table.words.len() {
            table.count_in(word, |_| true);
        }
        let pairs = table.counts.iter().map(|(&pair, &n)| (n, Reverse(pair)));
        table.queue = pairs.collect();
        table
    }

    /// Counts the pairs of a word in, and notes its place for those that are new to it.
    fn count_in(&mut self, word: usize, is_new: impl Fn(Pair) -> bool) {
        let (pieces, count) = &self.words[word];
        for two in pieces.windows(2) {
            let pair = (two[0], two[1]);
            *self.counts.entry(pair).or_default() += count;
            if is_new(pair) {
                self.places.entry(pair).or_default().push(word as u32);
            }
        }
    }

    /// And out again.
    fn count_out(&mut self, word: usize) {
        let (pieces, count) = &self.words[word];
        for two in pieces.windows(2) {
            if let Some(number) = self.counts.get_mut(&(two[0], two[1])) {
                *number -= count;
            }
        }
    }

    /// The pair to be joined next.
    fn most_frequent(&mut self) -> Option<Pair> {
        while let Some((count, Reverse(pair))) = self.queue.pop() {
            let now = self.counts.get(&pair).copied().unwrap_or(0);
            if now == count {
                return (count >= LEAST).then_some(pair);
            }
            if now > 0 {
                self.queue.push((now, Reverse(pair)));
            }
        }
        None
    }

    /// Puts one piece in the place of two wherever they are.
    fn join(&mut self, pair: Pair, piece: u32) {
        let mut places = self.places.remove(&pair).unwrap_or_default();
        places.sort_unstable();
        places.dedup();
        let is_new = |(first, second): Pair| first == piece || second == piece;
        let mut risen = Vec::new();
        for place in places {
            let place = place as usize;
            self.count_out(place);
            let pieces = joined(&self.words[place].0, pair, piece);
            let pairs = pieces.windows(2).map(|two| (two[0], two[1]));
            risen.extend(pairs.filter(|&pair| is_new(pair)));
            self.words[place].0 = pieces;
            self.count_in(place, is_new);
        }
        self.counts.remove(&pair);
        risen.sort_unstable();
        risen.dedup();
        let risen = risen
            .into_iter()
            .map(|pair| (self.counts[&pair], Reverse(pair)));
        self.queue.extend(risen);
    }
}

fn joined(pieces: &[u32], (first, second): Pair, piece: u32) -> Vec<u32> {
    let mut out = Vec::with_capacity(pieces.len());
    let mut rest = pieces;
    while let [next, after @ ..] = rest {
        if *next == first && after.first() == Some(&second) {
            out.push(piece);
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

    /// All pairs of all words, counted anew every time.
    fn slowly(words: &BTreeMap<String, u64>, size: usize) -> Vec<String> {
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
    fn as_the_slow_way() {
        let readme = include_str!("../README.md").chars();
        let text: String = readme.filter(|&c| c != '#').take(8000).collect();
        for text in [
            &*text,
            &text.to_lowercase(),
            "aaa aaaa aa ab aba abab ababab bbbb abcabc bcabc cabcab xyz",
            "a",
        ] {
            let words = words(text);
            for size in [150, 300, 500] {
                let found = learn(&words, &SPECIAL, size);
                let expected = slowly(&words, size);
                match found {
                    Ok(found) => assert_eq!(found, expected),
                    Err(least) => assert!(least > size && expected.len() == least),
                }
            }
        }
    }

    #[test]
    fn by_hand() {
        // "##er" is there 5 times; then "l" "##o" 4 times, "lo" "##w" 4, and so on.
        let words = words("low lower lower lowest newer newer wider");
        let pieces = learn(&words, &[], 20).unwrap();
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
        assert_eq!(learn(&words, &[], 12), Err(18));
    }

    /// Hugging Face's trainer finds the same pieces, but for ties and their order, which are others
    /// in every run of it.
    #[test]
    fn nearly_as_the_tokenizers_library() {
        use tokenizers::models::wordpiece::{WordPiece, WordPieceTrainerBuilder};
        use tokenizers::{Model, Trainer};
        let words = words(&include_str!("../README.md").to_lowercase());
        let words: BTreeMap<String, u64> = words
            .into_iter()
            .filter(|(word, _)| word.chars().all(char::is_alphabetic))
            .collect();
        let size = 400;
        let ours = learn(&words, &[], size).unwrap();
        let mut trainer = WordPieceTrainerBuilder::new()
            .vocab_size(size)
            .min_frequency(LEAST)
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
