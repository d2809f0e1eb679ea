use proptest::prelude::*;

use super::*;

/// Optimal string alignment: edit distance with transpositions of adjacent characters.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = match (i, j) {
                (0, n) | (n, 0) => n,
                _ => {
                    let substitution = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    let insertion = rows[i][j - 1] + 1;
                    let deletion = rows[i - 1][j] + 1;
                    substitution.min(insertion).min(deletion)
                }
            };
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                rows[i][j] = rows[i][j].min(rows[i - 2][j - 2] + 1);
            }
        }
    }
    rows[a.len()][b.len()]
}

/// Number of edits between a typed word and a word, or a prefix of it, after the first character.
fn edits(typed: &str, word: &str, is_prefix: bool) -> usize {
    if typed.chars().next() != word.chars().next() {
        return usize::MAX;
    }
    let prefixes = word.char_indices().map(|(end, _)| &word[..end]);
    let prefixes = prefixes.filter(|_| is_prefix).chain([word]);
    let distances = prefixes.map(|prefix| distance(typed, prefix));
    distances.min().unwrap_or(usize::MAX)
}

/// Suggestions by testing every text.
fn scan(texts: &[(String, u64)], typed: &str, limit: usize) -> Vec<(String, u64, MatchKind)> {
    let analyzer = Analysis::lucene_standard().build().unwrap();
    let normalized = |text: &str| analyzer.terms(text).join(" ");
    let mut merged: Vec<(String, u64, String)> = Vec::new();
    let mut by_popularity = texts.to_vec();
    by_popularity.sort_by_key(|(text, popularity)| (std::cmp::Reverse(*popularity), text.clone()));
    for (text, popularity) in by_popularity {
        let key = normalized(&text);
        match merged.iter_mut().find(|(_, _, other)| *other == key) {
            Some((_, sum, _)) => *sum += popularity,
            None if key.is_empty() => {}
            None => merged.push((text, popularity, key)),
        }
    }
    let words = analyzer.terms(typed);
    let is_prefix = typed.ends_with(char::is_alphanumeric);
    let kind = |key: &str| {
        let mut prefix = words.join(" ");
        if !is_prefix && !prefix.is_empty() {
            prefix.push(' ');
        }
        if key.starts_with(&prefix) {
            return Some(MatchKind::Prefix);
        }
        // The maximum number of edits of a word, in its best match.
        let mut worst = 0;
        for (at, word) in words.iter().enumerate() {
            let is_prefix = is_prefix && at + 1 == words.len();
            let edits = key.split(' ').map(|other| edits(word, other, is_prefix));
            let edits = edits.min().unwrap_or(usize::MAX);
            let max = match word.chars().count() {
                0..=2 => 0,
                3..=5 => 1,
                _ => 2,
            };
            if edits > max {
                return None;
            }
            worst = worst.max(edits);
        }
        Some(match worst {
            0 => MatchKind::Words,
            edits => MatchKind::Corrected { edits: edits as u8 },
        })
    };
    let mut found: Vec<(String, u64, MatchKind)> = merged
        .into_iter()
        .filter_map(|(text, popularity, key)| Some((text, popularity, kind(&key)?)))
        .collect();
    found.sort_by_key(|(text, popularity, kind)| {
        (*kind, std::cmp::Reverse(*popularity), text.clone())
    });
    if let Some((_, _, best)) = found.first().cloned() {
        let corrected = |kind| matches!(kind, MatchKind::Corrected { .. });
        found.retain(|(_, _, kind)| !corrected(*kind) || *kind == best);
    }
    found.truncate(limit);
    found
}

fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[abc]{1,7}",
        "(what|is|the|dropout|batch|size|über|模型)",
        "[ab]é[a-c]{2,5}"
    ];
    let separator = prop_oneof![Just(" "), Just("  "), Just("? "), Just(", ")];
    proptest::collection::vec((word, separator), 0..5).prop_map(|words| {
        let words = words.into_iter().map(|(word, separator)| word + separator);
        words.collect()
    })
}

proptest! {
    #[test]
    fn completions_equal_a_scan(
        texts in proptest::collection::vec((text(), 0..5_u64), 0..40),
        typed in text(),
        ends_in_a_word in any::<bool>(),
        limit in 0..12_usize,
    ) {
        let typed = if ends_in_a_word { typed.trim_end_matches([' ', '?', ',']) } else { &typed };
        let suggester = Suggester::new(texts.clone());
        let found: Vec<_> = suggester
            .complete(typed, limit)
            .into_iter()
            .map(|found| (found.text.to_owned(), found.popularity, found.kind))
            .collect();
        prop_assert_eq!(found, scan(&texts, typed, limit), "{}", typed);
    }
}

#[test]
fn many_matches_of_the_last_word_are_tested_one_by_one() {
    let text = |n: usize| match n % 1000 {
        999 => format!("rare alpha{n}"),
        _ => format!("common alpha{n}"),
    };
    let texts: Vec<(String, u64)> = (0..20_000).map(|n| (text(n), n as u64)).collect();
    let suggester = Suggester::new(texts.clone());
    for typed in [
        "rare al",
        "rare aplha",
        "al rare",
        "common aplha1",
        "rare zeta",
    ] {
        let found: Vec<_> = suggester
            .complete(typed, 25)
            .into_iter()
            .map(|found| (found.text.to_owned(), found.popularity, found.kind))
            .collect();
        assert_eq!(found, scan(&texts, typed, 25), "{typed}");
    }
}

/// Corrected words with several long posting lists, which are not copied, and short ones.
#[test]
fn long_and_short_lists_of_corrected_words() {
    let text = |n: usize| {
        let first = ["message", "messages", "massage", "messenger"][n % 4];
        let second = match n % 50 {
            7 => "reporf",
            n => ["report", "reports", "record"][n % 3],
        };
        format!("{first} {second} x{n}")
    };
    let texts: Vec<(String, u64)> = (0..3_000).map(|n| (text(n), n as u64 % 90)).collect();
    let suggester = Suggester::new(texts.clone());
    for typed in [
        "mesage ",
        "mesasge repotr ",
        "rpeorts mssage ",
        "reprof mesages",
        "mesage rep",
        "mesage x7",
        "mesage recrod zeta",
    ] {
        let found: Vec<_> = suggester
            .complete(typed, 40)
            .into_iter()
            .map(|found| (found.text.to_owned(), found.popularity, found.kind))
            .collect();
        assert_eq!(found, scan(&texts, typed, 40), "{typed}");
    }
}

/// Each repetition of a word would intersect its posting list once more.
#[test]
fn repeated_words_count_once() {
    let text = |n: usize| format!("the {} q{n}", ["alpha", "omega"][n % 2]);
    let suggester = Suggester::new((0..50_000).map(|n| (text(n), 1)));
    let start = std::time::Instant::now();
    let repeated = "the ".repeat(40_000);
    assert!(
        suggester
            .complete(&format!("{repeated}alpha omega "), 5)
            .is_empty()
    );
    let typed = format!("{repeated}q7 alpha q7");
    assert_eq!(
        suggester.complete(&typed, 5),
        suggester.complete("the q7 alpha q7", 5)
    );
    assert!(start.elapsed() < std::time::Duration::from_secs(15));
}

#[test]
fn words_end_where_the_analysis_ends_them() {
    let suggester = Suggester::new([("cafe\u{301} noir", 1), ("क्या है चाय", 1), ("a_b tea", 1)]);
    for (typed, text) in [
        ("cafe\u{301}", "cafe\u{301} noir"),
        ("noir cafe\u{301}", "cafe\u{301} noir"),
        ("क्", "क्या है चाय"),
        ("a_", "a_b tea"),
    ] {
        let found = suggester.complete(typed, 5);
        let texts: Vec<&str> = found.iter().map(|found| found.text).collect();
        assert_eq!(texts, [text], "{typed}");
    }
    assert!(suggester.complete("caf ", 5).is_empty());
}

#[test]
fn without_words_the_most_popular_are_returned() {
    let suggester = Suggester::new([("tea", 1), ("coffee", 2), ("?!", 9)]);
    assert_eq!(suggester.len(), 2);
    for typed in ["", " ", "?"] {
        let found = suggester.complete(typed, 5);
        let texts: Vec<&str> = found.iter().map(|found| found.text).collect();
        assert_eq!(texts, ["coffee", "tea"]);
    }
    assert!(suggester.complete("tea", 0).is_empty());
    assert!(Suggester::new::<&str>([]).complete("tea", 5).is_empty());
}
