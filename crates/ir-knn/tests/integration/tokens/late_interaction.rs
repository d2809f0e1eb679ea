//! The reranker, with and without a store.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ir_core::{
    Candidate, EncodeError, Reranker, SearchError, Side, TimeLimited, TokenEncoder, TokenVectors,
};
use ir_knn::{
    LateInteraction, LateInteractionError, TokenCodebook, TokenCodebookConfig, TokenEncoding,
    TokenStoreConfig,
};
use proptest::prelude::*;

use super::{naive_max_sim, store};

const DIM: usize = 8;

/// Pseudorandom unit vector of every word; queries have an expansion token without text.
#[derive(Debug, Clone)]
struct Words(Option<&'static str>);

fn vector(word: &str) -> Vec<f32> {
    let mut random = ir_core::SplitMix64::from_name(1, word);
    let mut row: Vec<f32> = (0..DIM).map(|_| super::normal(&mut random)).collect();
    super::normalize(&mut row);
    row
}

impl TokenEncoder for Words {
    fn dim(&self) -> usize {
        DIM
    }

    fn encode_tokens(&self, side: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, EncodeError> {
        let encode = |text: &&str| {
            let (mut values, mut spans) = (Vec::new(), Vec::new());
            for word in text.split_whitespace() {
                let start = word.as_ptr() as usize - text.as_ptr() as usize;
                values.extend(vector(word));
                spans.push(start..start + word.len());
            }
            if side == Side::Query && !spans.is_empty() {
                values.extend(vector("[MASK]"));
                spans.push(0..0);
            }
            TokenVectors::new(DIM, values, spans)
        };
        Ok(texts.iter().map(encode).collect())
    }

    fn fingerprint(&self) -> Option<String> {
        self.0.map(str::to_owned)
    }
}

/// [`Words`] that counts the queries it encodes.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

impl TokenEncoder for Counting {
    fn dim(&self) -> usize {
        DIM
    }

    fn encode_tokens(&self, side: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, EncodeError> {
        if side == Side::Query {
            self.0.fetch_add(texts.len(), Ordering::Relaxed);
        }
        Words(None).encode_tokens(side, texts)
    }
}

fn texts() -> Vec<(String, String)> {
    let words = ["grün", "tea", "coffee", "leaves", "water", "hot", "cup"];
    let text = |n: usize| {
        let picked = (0..n % 6).map(|at| words[(n * 5 + at * at) % words.len()]);
        picked.collect::<Vec<_>>().join(" ")
    };
    (0..30).map(|n| (format!("d{n}"), text(n))).collect()
}

fn candidates(texts: &[(String, String)]) -> Vec<Candidate<'_>> {
    texts
        .iter()
        .map(|(id, text)| Candidate::new(id, text))
        .collect()
}

fn encoded(texts: &[(String, String)]) -> Vec<(String, TokenVectors)> {
    let encode = |text: &str| {
        Words(None)
            .encode_tokens(Side::Document, &[text])
            .unwrap()
            .remove(0)
    };
    texts
        .iter()
        .map(|(id, text)| (id.clone(), encode(text)))
        .collect()
}

fn codebook() -> TokenCodebook {
    let words = encoded(&texts());
    let sample: Vec<f32> = words
        .iter()
        .flat_map(|(_, it)| &it.values)
        .copied()
        .collect();
    let config = TokenCodebookConfig::default().with_centroids(4_usize);
    TokenCodebook::train(DIM, &sample, &config).unwrap()
}

fn config(encoding: TokenEncoding) -> TokenStoreConfig {
    TokenStoreConfig::new(DIM)
        .with_encoding(encoding)
        .with_spans(true)
        .with_codebook(codebook())
}

const QUERIES: [&str; 4] = ["hot grün tea", "coffee", "", "leaves in water cup"];

#[test]
fn a_time_limit_encodes_the_query_once() {
    let texts = texts();
    let candidates = candidates(&texts);
    for top in [None, Some(3)] {
        let reranker = LateInteraction::new(Counting::default());
        let reranker = match top {
            None => reranker,
            Some(k) => reranker.with_top(k),
        };
        let expected = reranker.scores(QUERIES[0], &candidates).unwrap();
        reranker.encoder().0.store(0, Ordering::Relaxed);
        let limited = TimeLimited::new(&reranker, Duration::MAX);
        let scores = limited.scores(QUERIES[0], &candidates).unwrap();
        assert_eq!(scores, expected, "{top:?}");
        assert_eq!(reranker.encoder().0.load(Ordering::Relaxed), 1, "{top:?}");
        let limited = TimeLimited::new(&reranker, Duration::ZERO);
        let error = limited.scores(QUERIES[0], &candidates).unwrap_err();
        assert!(matches!(
            error,
            SearchError::TimeLimit { candidates: 30, .. }
        ));
    }
}

#[test]
fn scores_equal_the_naive_loop() {
    let texts = texts();
    let candidates = candidates(&texts);
    let on_texts = LateInteraction::new(Words(None));
    assert!(on_texts.needs_texts() && on_texts.store().is_none());
    let stored = LateInteraction::new(Words(None));
    let stored = stored.with_store(store(&config(TokenEncoding::F32), &encoded(&texts)));
    let stored = stored.unwrap();
    assert!(!stored.needs_texts());
    for query in QUERIES {
        let of_query = Words(None)
            .encode_tokens(Side::Query, &[query])
            .unwrap()
            .remove(0);
        let expected: Vec<Option<f32>> = encoded(&texts)
            .iter()
            .map(|(_, document)| Some(naive_max_sim(&of_query, document)))
            .collect();
        for reranker in [&on_texts, &stored] {
            assert_eq!(reranker.scores(query, &candidates).unwrap(), expected);
            assert_eq!(reranker.scores(query, &[]).unwrap(), []);
            let reversed: Vec<Candidate<'_>> = candidates.iter().rev().copied().collect();
            let mut scores = reranker.scores(query, &reversed).unwrap();
            scores.reverse();
            assert_eq!(scores, expected);
        }
    }
    let batch: Vec<(&str, &[Candidate<'_>])> = QUERIES
        .iter()
        .enumerate()
        .map(|(n, &query)| (query, &candidates[n..20 + n]))
        .collect();
    for reranker in [&on_texts, &stored] {
        let all = reranker.scores_batch(&batch).unwrap();
        for ((query, candidates), scores) in batch.iter().zip(&all) {
            assert_eq!(&reranker.scores(query, candidates).unwrap(), scores);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// The k best and those equal to the last of them are kept, in a store and on texts.
    #[test]
    fn top_keeps_the_best(
        k in 0..20_usize,
        query in prop::sample::select(QUERIES.to_vec()),
        picks in prop::collection::vec(0..30_usize, 0..40),
        encoding in prop::sample::select(TokenEncoding::ALL.to_vec()),
    ) {
        let texts = texts();
        let all = candidates(&texts);
        let picked: Vec<Candidate<'_>> = picks.iter().map(|&n| all[n]).collect();
        let stored = store(&config(encoding), &encoded(&texts));
        let stored = LateInteraction::new(Words(None)).with_store(stored).unwrap();
        let plain = store(&TokenStoreConfig::new(DIM), &encoded(&texts));
        let plain = LateInteraction::new(Words(None)).with_store(plain).unwrap();
        for reranker in [LateInteraction::new(Words(None)), stored, plain] {
            let scores = reranker.scores(query, &picked).unwrap();
            let mut sorted: Vec<f32> = scores.iter().flatten().copied().collect();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let floor = match k {
                0 => f32::INFINITY,
                k => sorted.get(k - 1).copied().unwrap_or(f32::NEG_INFINITY),
            };
            let expected: Vec<Option<f32>> =
                scores.iter().map(|&score| score.filter(|&score| score >= floor)).collect();
            let top = reranker.with_top(k);
            prop_assert_eq!(top.scores(query, &picked).unwrap(), expected);
        }
    }
}

#[test]
fn explanations_add_up() {
    let texts = texts();
    let candidates = candidates(&texts);
    for encoding in TokenEncoding::ALL {
        let stored = store(&config(encoding), &encoded(&texts));
        let stored = LateInteraction::new(Words(None))
            .with_store(stored)
            .unwrap();
        for reranker in [
            LateInteraction::new(Words(None)),
            stored.clone(),
            stored.with_top(5),
        ] {
            for query in QUERIES {
                let scores = reranker.scores(query, &candidates).unwrap();
                for (n, score) in scores.into_iter().enumerate() {
                    let explanation = reranker.explain(query, &candidates, n).unwrap();
                    let found = explanation.as_ref().map(|it| it.score().to_bits());
                    assert_eq!(found, score.map(f32::to_bits));
                    let Some(explanation) = explanation else {
                        continue;
                    };
                    let sum = explanation
                        .details
                        .iter()
                        .fold(0.0, |sum, it| sum + it.value);
                    assert_eq!((sum as f32).to_bits(), explanation.score().to_bits());
                    let is_empty = query.is_empty() || texts[n].1.is_empty();
                    let tokens = query.split_whitespace().count() + 1;
                    let details = if is_empty { 0 } else { tokens };
                    assert_eq!(explanation.details.len(), details);
                }
            }
        }
    }
}

#[test]
fn explanations_show_the_tokens() {
    let texts = [("d".to_owned(), "hot grün tea".to_owned())];
    let stored = store(&config(TokenEncoding::F32), &encoded(&texts));
    let stored = LateInteraction::new(Words(None))
        .with_store(stored)
        .unwrap();
    let descriptions = |candidate: Candidate<'_>| -> Vec<String> {
        let explanation = stored.explain("grün", &[candidate], 0).unwrap().unwrap();
        explanation
            .details
            .into_iter()
            .map(|it| it.description)
            .collect()
    };
    let with_text = descriptions(Candidate::new("d", "hot grün tea"));
    assert_eq!(
        with_text[0],
        "query token 0 \"grün\": document token 1 \"grün\""
    );
    // The expansion token has no text.
    assert!(with_text[1].starts_with("query token 1: document token "));
    // Ranges that are not in the text, or not between characters.
    for text in ["", "ho", "hot grü", "üüüüüüü"] {
        let without = descriptions(Candidate::new("d", text));
        assert_eq!(without[0], "query token 0 \"grün\": document token 1");
    }
}

#[test]
fn late_interaction_satisfies_the_contract() {
    ir_testkit::check_reranker(&LateInteraction::new(Words(None)));
}

/// Text of the matched words of a candidate; `None` if the reranker knows no words.
fn matched<'a>(
    reranker: &LateInteraction<Words>,
    query: &str,
    candidate: Candidate<'a>,
) -> Option<Vec<&'a str>> {
    let words = reranker.matched_words(query, &candidate).unwrap()?;
    Some(words.into_iter().map(|it| &candidate.text[it]).collect())
}

/// The words of the query that are in the text, in the order of the text: the vector of a word is
/// the best one for itself.
#[test]
fn matched_words_are_the_words_of_the_query() {
    let texts = texts();
    let stored = store(&config(TokenEncoding::F32), &encoded(&texts));
    let stored = LateInteraction::new(Words(None))
        .with_store(stored)
        .unwrap();
    let spans = TokenStoreConfig::new(DIM).with_spans(false);
    let bare = LateInteraction::new(Words(None))
        .with_store(store(&spans, &encoded(&texts)))
        .unwrap();
    // "in" is a stop word, and "the" is in no text.
    let query = "leaves in the grün tea";
    let mut found = 0;
    for candidate in candidates(&texts) {
        let on_texts = LateInteraction::new(Words(None));
        let words = matched(&on_texts, query, candidate);
        assert_eq!(matched(&stored, query, candidate), words);
        assert_eq!(matched(&bare, query, candidate), None);
        if candidate.text.is_empty() {
            assert_eq!(words, None);
            continue;
        }
        let mut expected = Vec::new();
        for word in candidate.text.split_whitespace() {
            // The first of equal tokens is the best one.
            if query.split(' ').any(|it| it == word) && !expected.contains(&word) {
                expected.push(word);
            }
        }
        let mut words = words.unwrap();
        words.retain(|word| query.contains(word));
        assert_eq!(words, expected, "{:?}", candidate.text);
        found += words.len();
    }
    assert!(found > 10, "{found}");
    // A candidate without a text is not looked up.
    assert_eq!(matched(&stored, query, Candidate::new("missing", "")), None);
    // A query of stop words has no words.
    let candidate = Candidate::new("d", "hot tea");
    let on_texts = LateInteraction::new(Words(None));
    assert_eq!(matched(&on_texts, "in the", candidate), Some(vec![]));
    assert_eq!(matched(&stored, "tea", Candidate::new("d1", "")), None);
}

#[test]
fn stores_of_another_model() {
    let texts = texts();
    let documents = encoded(&texts);
    let with = |encoder: Option<&'static str>, config: &TokenStoreConfig| {
        LateInteraction::new(Words(encoder)).with_store(store(config, &documents))
    };
    let base = config(TokenEncoding::F16);
    let named = base.clone().with_encoder("colbert 1");
    assert!(with(None, &base).is_ok() && with(None, &named).is_ok());
    assert!(with(Some("colbert 1"), &named).is_ok() && with(Some("other"), &base).is_ok());
    let error = with(Some("colbert 2"), &named).unwrap_err();
    assert_eq!(
        error.to_string(),
        "token store: expected vectors of the encoder \"colbert 2\", found vectors of \"colbert 1\"; write the store with this encoder"
    );
    let other = store(&TokenStoreConfig::new(3), &[]);
    let error = LateInteraction::new(Words(None))
        .with_store(other)
        .unwrap_err();
    let expected = LateInteractionError::Dim {
        expected: DIM,
        found: 3,
    };
    assert_eq!(error, expected);
}

#[test]
fn candidates_that_are_not_in_the_store() {
    let texts = texts();
    let stored = store(&config(TokenEncoding::F16), &encoded(&texts));
    let stored = LateInteraction::new(Words(None))
        .with_store(stored)
        .unwrap();
    let mut candidates = candidates(&texts);
    candidates.push(Candidate::new("d77", "tea"));
    let error = stored.scores("tea", &candidates).unwrap_err();
    let message = error.source().unwrap().to_string();
    assert_eq!(
        message,
        "candidate \"d77\": expected a document of the token store, found none"
    );
    let explained = stored.explain("tea", &candidates, texts.len());
    let batch = stored.scores_batch(&[("tea", &candidates)]);
    for error in [explained.unwrap_err(), batch.unwrap_err()] {
        assert_eq!(error.source().unwrap().to_string(), message);
    }
    assert_eq!(stored.explain("tea", &candidates, 99).unwrap(), None);
}

/// An encoder that fails, or returns other vectors than it should.
struct Broken(fn(&[&str]) -> Result<Vec<TokenVectors>, EncodeError>);

impl TokenEncoder for Broken {
    fn dim(&self) -> usize {
        DIM
    }

    fn encode_tokens(&self, _: Side, texts: &[&str]) -> Result<Vec<TokenVectors>, EncodeError> {
        (self.0)(texts)
    }
}

#[test]
fn encoders_that_fail() {
    fn token(dim: usize, value: f32) -> TokenVectors {
        let span = 0..0;
        TokenVectors::new(dim, vec![value; dim], vec![span])
    }
    let candidates = [Candidate::new("a", "x"), Candidate::new("b", "y")];
    let scores = |broken: Broken| LateInteraction::new(broken).scores("q", &candidates);
    let error = scores(Broken(|_| Ok(Vec::new()))).unwrap_err();
    let message = error.source().unwrap().to_string();
    assert_eq!(
        message,
        "encoder: expected token vectors of 1 texts, found 0"
    );
    let error = scores(Broken(|_| {
        Err(EncodeError::Shape {
            expected: 1,
            found: 2,
        })
    }));
    assert!(matches!(error, Err(SearchError::Encode(_))));
    let error = scores(Broken(|texts| Ok(vec![token(DIM, f32::NAN); texts.len()])));
    assert!(matches!(error, Err(SearchError::NotFinite { .. })));
    let error = scores(Broken(|texts| {
        let dim = DIM - usize::from(texts[0] == "x");
        Ok(vec![token(dim, 1.0); texts.len()])
    }));
    assert!(matches!(error, Err(SearchError::Dimensions { .. })));
}
