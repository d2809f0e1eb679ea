use ir_core::{Document, NoProgress, Retriever, Search};

use super::*;
use crate::{Bm25, Index, IndexConfig};

/// Vectors by the first letter of the last word: `a` is near to `b`, both are orthogonal to others.
struct Letters;

impl Encoder for Letters {
    fn dim(&self) -> usize {
        2
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(2)) {
            let word = text.split_whitespace().last().unwrap_or_default();
            row.copy_from_slice(match word.chars().next() {
                Some('a') => &[2.0, 0.0],
                Some('b') => &[3.0, 4.0],
                Some('z') => &[0.0, 0.0],
                _ => &[-1.0, 0.5],
            });
        }
        Ok(())
    }
}

fn searcher() -> Searcher {
    let documents = [
        Document::new("1").with_text("apples"),
        Document::new("2").with_text("bananas and berries"),
        Document::new("3").with_text("cherries"),
    ];
    let index = Index::build(&documents[..], &IndexConfig::default(), &mut NoProgress).unwrap();
    index.searcher(Bm25::ANSERINI).unwrap()
}

const WORDS: [&str; 7] = [
    "apples",
    "bananas",
    "banana",
    "the",
    "sour apple",
    "berries",
    "cherries",
];

fn expansion(words: usize, weight: f32) -> NearestWords {
    let searcher = searcher();
    let vectors = TermVectors::encoded(&searcher, WORDS, &Letters).unwrap();
    // A stem once, no stop words, no phrases.
    assert_eq!(vectors.len(), 4);
    NearestWords::new(searcher, Arc::new(Letters), vectors, words, weight).unwrap()
}

#[test]
fn nearest_terms_are_added_with_their_cosines() {
    let expanded = |words, query: &str| {
        let terms = expansion(words, 0.5).expand(query).unwrap().into_iter();
        terms
            .map(|term| (term.term, term.weight))
            .collect::<Vec<_>>()
    };
    let pair = |term: &str, weight: f32| (term.to_owned(), weight);
    let (apple, banana, berry) = (pair("appl", 1.0), pair("banana", 0.3), pair("berri", 0.3));
    // cos((2, 0), (3, 4)) = 0.6. Terms at negative cosines are not added.
    assert_eq!(
        expanded(9, "apples"),
        [apple.clone(), banana.clone(), berry]
    );
    // Equal cosines in the order of the terms.
    assert_eq!(expanded(1, "apples"), [apple, banana]);
    // Counts of the query, terms that are no words of the vectors, the order of cosines.
    let expected = [
        pair("tea", 2.0),
        pair("banana", 1.0),
        pair("berri", 0.5),
        pair("appl", 0.3),
    ];
    assert_eq!(expanded(9, "tea tea bananas"), expected);
    // Zero vector.
    assert_eq!(expanded(9, "zoo"), [pair("zoo", 1.0)]);
    assert_eq!(expanded(9, "the"), []);
}

#[test]
fn rankings_are_those_of_the_expanded_terms() {
    let expansion = expansion(9, 0.5);
    let search = Search::top(10);
    let ranking = expansion.search("apples", &search).unwrap();
    let ids = ranking.iter().map(|hit| expansion.ids().id(hit.doc));
    assert_eq!(ids.collect::<Vec<_>>(), ["1", "2"]);
    for hit in &ranking {
        let why = expansion
            .explain("apples", hit.doc, &search)
            .unwrap()
            .unwrap();
        assert_eq!(why.score(), hit.score);
    }
}

#[test]
fn without_words_or_weight_the_searcher_is_unchanged() {
    let search = Search::top(10);
    for (words, weight) in [(0, 0.5), (9, 0.0)] {
        for query in ["apples", "cherries bananas cherries", "the", ""] {
            let found = expansion(words, weight).search(query, &search).unwrap();
            assert_eq!(found, searcher().search(query, &search).unwrap(), "{query}");
        }
    }
}

#[test]
fn errors() {
    let terms = || ["a", "b"].map(str::to_owned);
    let message = |vectors: Vec<f32>| {
        TermVectors::new(terms(), 2, vectors)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        message(vec![1.0]),
        "expected 4 values of 2 term vectors, found 1"
    );
    assert_eq!(
        message(vec![1.0, 2.0, 3.0, f32::NAN]),
        "vector of the term \"b\": expected finite numbers, found NaN"
    );
    let vectors = TermVectors::new(terms(), 1, vec![1.0, 2.0]).unwrap();
    let wrong = |vectors: TermVectors, weight| {
        let expansion = NearestWords::new(searcher(), Arc::new(Letters), vectors, 1, weight);
        expansion.unwrap_err().to_string()
    };
    assert_eq!(
        wrong(vectors, 1.0),
        "expected an encoder of dimension 1, found 2"
    );
    let vectors = TermVectors::new(terms(), 2, vec![1.0; 4]).unwrap();
    assert_eq!(
        wrong(vectors, -1.0),
        "weight of nearest words: expected a finite number >= 0, found -1"
    );
}

#[test]
fn words_of_terms() {
    let analyzer = crate::Analysis::anserini().build().unwrap();
    let mut words = TermWords::default();
    assert!(words.is_empty());
    words.add(&analyzer, "Connected connections, connection's NASA");
    words.add(&analyzer, "the connections of nasa, Zeta's zeta");
    assert_eq!(words.len(), 3);
    // Most frequent as written; ties in byte order.
    let found: Vec<_> = words.most_frequent().collect();
    assert_eq!(
        found,
        [
            ("connect", "connections"),
            ("nasa", "NASA"),
            ("zeta", "Zeta's")
        ]
    );
    // Each word has its term again.
    let vectors = TermVectors::encoded(&searcher(), found.iter().map(|it| it.1), &Letters).unwrap();
    assert_eq!(vectors.terms, ["connect", "nasa", "zeta"]);
}

/// Offsets of a custom analyzer may be anywhere.
#[test]
fn words_outside_the_text_are_left_out() {
    struct Anywhere;
    impl ir_core::Analyzer for Anywhere {
        fn analyze(&self, _: &str, emit: &mut dyn FnMut(ir_core::Token<'_>)) {
            for (start, end) in [(0, 3), (2, 1), (0, 9), (1, 3)] {
                emit(ir_core::Token {
                    term: "t",
                    start,
                    end,
                    position: 0,
                });
            }
        }
    }
    let mut words = TermWords::default();
    // The second byte is inside a character.
    words.add(&Anywhere, "\u{e4}b");
    assert_eq!(
        words.most_frequent().collect::<Vec<_>>(),
        [("t", "\u{e4}b")]
    );
}
