//! Analysis of any text: terms are non-empty and in text order, without overlap but for bigrams;
//! highlighted spans and snippets are substrings.
//!
//! The first four bytes select the analyzer, the first line is the query, the rest the text.
#![no_main]

use ir_bm25::analysis::{
    Analysis, CjkBigrams, Highlighter, Normalization, QueryCleaning, Stemmer, StopWords, Tokenizer,
    mark,
};
use ir_core::Analyzer;
use libfuzzer_sys::fuzz_target;

fn select_analysis([steps, stemmer, max_len, script]: [u8; 4]) -> Analysis {
    let bit = |n: u8| steps & (1 << n) != 0;
    let stop_words = [
        StopWords::None,
        StopWords::Lucene33,
        StopWords::Nltk179,
        StopWords::custom(["tea", "d'", "\u{f6}l"]),
    ];
    let normalizations = [
        Normalization::None,
        Normalization::Nfc,
        Normalization::Width,
        Normalization::Fold,
    ];
    let bigrams = match script >> 2 & 3 {
        _ if !bit(0) => CjkBigrams::None,
        1 => CjkBigrams::Bigrams,
        2 => CjkBigrams::BigramsAndUnigrams,
        _ => CjkBigrams::None,
    };
    let (_, stemmer) = Stemmer::NAMED[usize::from(stemmer) % Stemmer::NAMED.len()];
    let tokenizer = if bit(0) {
        Tokenizer::Unicode
    } else {
        Tokenizer::Whitespace
    };
    Analysis::anserini()
        .with_tokenizer(tokenizer)
        .with_possessive(bit(1))
        .with_lower_case(bit(2))
        .with_stop_words(stop_words[usize::from(steps >> 3) % 4].clone())
        .with_normalization(normalizations[usize::from(script) % 4])
        .with_cjk_bigrams(bigrams)
        .with_stemmer(stemmer)
        .with_max_len(usize::from(max_len).max(2))
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&settings, rest)) = bytes.split_first_chunk() else {
        return;
    };
    let analysis = select_analysis(settings);
    // Stop words that folding changes are an error.
    let Ok(pipeline) = analysis.build() else {
        return;
    };
    let input = String::from_utf8_lossy(rest);
    let (query, text) = input.split_once('\n').unwrap_or(("tea", &input));

    let (mut before, mut next) = (0, 0);
    pipeline.analyze(text, &mut |token| {
        assert!(!token.term.is_empty());
        assert!(token.start < token.end);
        if analysis.cjk_bigrams == CjkBigrams::None {
            assert!(before <= token.start);
            assert!(next <= token.position);
        } else {
            assert!(next <= token.position + 1);
        }
        let term_text = text
            .get(token.start..token.end)
            .expect("a character boundary");
        // As in Lucene, the whitespace tokenizer may exceed the limit by half a surrogate pair.
        let excess = usize::from(analysis.tokenizer == Tokenizer::Whitespace);
        assert!(term_text.encode_utf16().count() <= analysis.max_len + excess);
        (before, next) = (token.end, token.position + 1);
    });

    let highlighter = Highlighter::new(&pipeline, query);
    let spans = highlighter.spans(text);
    assert!(spans.iter().all(|span| text.get(span.clone()).is_some()));
    assert!(spans.windows(2).all(|two| two[0].end <= two[1].start));
    let marked = mark(text, &spans, "[", "]");
    assert_eq!(marked.len(), text.len() + 2 * spans.len());
    assert_eq!(mark(text, &spans, "", ""), text);
    for width in [0, 1, 7, 40, usize::MAX] {
        let snippet = highlighter.snippet(text, width);
        let part = text
            .get(snippet.range.clone())
            .expect("a character boundary");
        assert!(part.chars().count() <= width);
        for span in &snippet.spans {
            assert!(snippet.range.start <= span.start && span.end <= snippet.range.end);
            assert!(spans.contains(span));
        }
    }
    for cleaning in [QueryCleaning::default(), QueryCleaning::datafinder()] {
        let clean = cleaning.clean(query);
        assert_eq!(cleaning.clean(&clean), clean);
    }
});
