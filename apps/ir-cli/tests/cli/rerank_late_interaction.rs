//! Reranking by late interaction: `--rerank`, `--rerank-tokens`, system files, `ir ask`.

use std::collections::BTreeSet;
use std::ops::Range;

use ir_core::stop_words::NLTK;
use ir_core::{Candidate, Reranker, TokenEncoder};
use ir_dense::MultiVectorEncoder;
use ir_knn::{LateInteraction, TokenEncoding, TokenStoreConfig, TokenStoreWriter, max_sim};

use crate::common::Folder;
use crate::rerank::{MODEL, TEXTS, folder, lists, ranked};
use crate::saved_systems::{VECTORS, assert_same_run};

/// Folder of a tiny late-interaction model with random weights.
const COLBERT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../crates/ir-dense/testdata/late-interaction/stanford"
);

/// MaxSim by document of a query and texts.
fn max_sims(query: &str, texts: &[(&str, &str)]) -> Vec<(String, f32)> {
    let model = MultiVectorEncoder::open(COLBERT).unwrap();
    let query = &model.encode_queries(&[query]).unwrap()[0];
    ranked(texts.iter().map(|(id, text)| {
        let document = &model.encode_documents(&[*text]).unwrap()[0];
        ((*id).to_owned(), max_sim(query, document).unwrap())
    }))
}

/// Word that a token is in, among the words between all characters but letters and digits.
fn word_of(text: &str, token: &Range<usize>) -> Option<Range<usize>> {
    let mut start = 0;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if !c.is_alphanumeric() {
            if start <= token.start && token.end <= at && !token.is_empty() {
                return Some(start..at);
            }
            start = at + c.len_utf8();
        }
    }
    None
}

/// Descriptions of the best document token of each query token, and the words of these document
/// tokens that are marked, by loops over all tokens.
fn naive_matches(query: &str, text: &str) -> (Vec<String>, BTreeSet<(usize, usize)>) {
    let model = MultiVectorEncoder::open(COLBERT).unwrap();
    let of_query = &model.encode_queries(&[query]).unwrap()[0];
    let of_text = &model.encode_documents(&[text]).unwrap()[0];
    let shown = |number: usize, text: &str, span: &Range<usize>| {
        let token = &text[span.clone()];
        match word_of(text, span) {
            _ if span.is_empty() => number.to_string(),
            Some(word) if &text[word.clone()] != token => {
                format!("{number} {token:?} of {:?}", &text[word])
            }
            _ => format!("{number} {token:?}"),
        }
    };
    let is_stop_word = |word: &str| NLTK.contains(&word.to_lowercase().as_str());
    let (mut lines, mut words) = (Vec::new(), BTreeSet::new());
    for (number, (one, span)) in of_query.rows().zip(&of_query.spans).enumerate() {
        let (mut best, mut similarity) = (0, f32::NEG_INFINITY);
        for (other, row) in of_text.rows().enumerate() {
            let products = one.iter().zip(row);
            let product = products.fold(0.0_f32, |sum, (a, b)| a.mul_add(*b, sum));
            if product > similarity {
                (best, similarity) = (other, product);
            }
        }
        let best_span = &of_text.spans[best];
        let (of, to) = (shown(number, query, span), shown(best, text, best_span));
        lines.push(format!("query token {of}: document token {to}"));
        let (Some(asked), Some(word)) = (word_of(query, span), word_of(text, best_span)) else {
            continue;
        };
        if similarity > 0.0 && !is_stop_word(&query[asked]) && !is_stop_word(&text[word.clone()]) {
            words.insert((word.start, word.end));
        }
    }
    (lines, words)
}

#[test]
fn late_interaction_models_satisfy_the_contract() {
    let model = MultiVectorEncoder::open(COLBERT).unwrap();
    ir_testkit::check_reranker(&LateInteraction::new(model));
}

#[test]
fn explanations_and_marks_are_the_words_of_the_best_tokens() {
    let reranker = LateInteraction::new(MultiVectorEncoder::open(COLBERT).unwrap());
    // Truncated at 40 tokens.
    let long = "Shipping documents by radio, with a query. ".repeat(12);
    let (mut pieces, mut marks) = (0, 0);
    for query in ["What is drinking tea?", "the Ships of Asia", "is it", ""] {
        for text in [
            "Green tea leaves, dried, are in the ports.",
            "Bäume am Fluß — a ship's waves",
            long.as_str(),
            "",
        ] {
            let candidate = Candidate::new("d", text);
            let (lines, words) = naive_matches(query, text);
            let tree = reranker.explain(query, &[candidate], 0).unwrap().unwrap();
            let shown = tree.details.into_iter().map(|it| it.description);
            assert_eq!(shown.collect::<Vec<_>>(), lines);
            pieces += lines.iter().filter(|line| line.contains(" of ")).count();
            let matched = reranker.matched_words(query, &candidate).unwrap();
            let matched = matched.map(|words| {
                let words = words.into_iter().map(|word| (word.start, word.end));
                words.collect::<BTreeSet<_>>()
            });
            marks += words.len();
            let expected = (!text.is_empty()).then_some(words);
            assert_eq!(matched, expected, "{query:?}, {text:?}");
        }
    }
    assert!(pieces > 0 && marks > 0, "{pieces}, {marks}");
}

/// Number of nodes in explanations of hits or answers, one per line, that show the texts of a query
/// token and a document token.
fn shown_tokens(lines: &str) -> usize {
    let shown = lines.lines().map(|line| {
        let hit: serde_json::Value = serde_json::from_str(line).unwrap();
        let value = |value: &serde_json::Value| value.as_f64().unwrap() as f32;
        let explanation = &hit["explanation"];
        assert_eq!(value(&explanation["value"]), value(&hit["score"]), "{hit}");
        let tree = &explanation["parts"][0];
        assert!(
            tree["what"].as_str().unwrap().starts_with("MaxSim"),
            "{hit}"
        );
        let tokens = tree["parts"].as_array().unwrap().iter();
        let texts = tokens.map(|token| token["what"].as_str().unwrap().matches('"').count());
        texts.filter(|quotes| *quotes >= 4).count()
    });
    shown.sum()
}

#[test]
fn late_interaction_ranks_candidates() {
    let here = folder();
    let search = ["search", "tiny", "--rerank", COLBERT];
    let run = here.ir(&search).ok();
    let found = lists(&run.out);
    assert_eq!(found["q1"], max_sims("tea leaves", &TEXTS[..2]));
    assert_eq!(found["q2"], max_sims("rivers", &TEXTS[2..]));
    assert_same_run(&here, &["--rerank", COLBERT, "--rerank-precision", "int8"]);
    let explain = ["--query", "tea leaves", "--json", "--explain"];
    let ran = here.ir(&[&search[..], &explain].concat()).ok();
    assert_eq!(ran.out.lines().count(), 2);
    assert!(shown_tokens(&ran.out) > 0, "{}", ran.out);
    // Long documents are counted, and a late-interaction model rejects windows.
    let short = ["--rerank-max-tokens", "6"];
    let ran = here.ir(&[&search[..], &short].concat()).ok();
    assert!(ran.err.contains("longer than the model"), "{}", ran.err);
    let windows = ["--rerank-windows", "maximum"];
    let ran = here.ir(&[&search[..], &windows].concat());
    assert_ne!(ran.code, 0);
    let expected = "--rerank-windows: expected \"first\" for a late-interaction model";
    assert!(ran.err.contains(expected), "{}", ran.err);
}

/// Writes a token store of these documents.
fn write_tokens(here: &Folder, name: &str, model: &str, texts: &[(&str, &str)]) {
    let model = MultiVectorEncoder::open(model).unwrap();
    let config = TokenStoreConfig::new(model.dim())
        .with_encoding(TokenEncoding::F32)
        .with_encoder(model.fingerprint().unwrap())
        .with_spans(true);
    let mut writer = TokenStoreWriter::create(here.at(name), &config).unwrap();
    for (id, text) in texts {
        let vectors = &model.encode_documents(&[*text]).unwrap()[0];
        writer.push(id, vectors).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn candidates_have_the_vectors_of_a_token_store() {
    let here = folder();
    write_tokens(&here, "docs.tokens", COLBERT, &TEXTS);
    let rerank = ["--rerank", COLBERT];
    let stored = [&rerank[..], &["--rerank-tokens", "docs.tokens"]].concat();
    let dense = [&["search", "tiny"][..], &VECTORS].concat();
    for search in [&["search", "tiny"][..], &dense[..]] {
        let of_texts = here.ir(&[search, &rerank[..]].concat()).ok().out;
        assert_eq!(here.ir(&[search, &stored[..]].concat()).ok().out, of_texts);
    }
    assert_same_run(&here, &stored);
    // An index without texts.
    here.ir("index tiny -o bare.ir --store nothing").ok();
    let bare = ["search", "bare.ir", "--queries", "tiny"];
    let run = here.ir(&[&bare[..], &stored[..]].concat()).ok();
    let expected = max_sims("tea leaves", &TEXTS[..2]);
    assert_eq!(lists(&run.out)["q1"], expected);
    // Explanations show the texts of tokens if there are texts.
    let explain = [
        "search",
        "tiny",
        "--query",
        "tea leaves",
        "--json",
        "--explain",
    ];
    let ran = here.ir(&[&explain[..], &stored[..]].concat()).ok();
    assert!(shown_tokens(&ran.out) > 0, "{}", ran.out);
}

#[test]
fn wrong_token_stores_are_rejected() {
    let here = folder();
    write_tokens(&here, "docs.tokens", COLBERT, &TEXTS);
    write_tokens(&here, "few.tokens", COLBERT, &TEXTS[..1]);
    let other = COLBERT.replace("stanford", "bert-attended");
    write_tokens(&here, "other.tokens", &other, &TEXTS);
    for (model, store, expected) in [
        (
            COLBERT,
            "few.tokens",
            "candidate \"d2\": expected a document of the token store, found none",
        ),
        (
            COLBERT,
            "other.tokens",
            "--rerank-tokens: other.tokens: token store: expected ",
        ),
        (
            COLBERT,
            "tiny/queries.jsonl",
            "--rerank-tokens: tiny/queries.jsonl: not a token store",
        ),
        (
            COLBERT,
            "none.tokens",
            "--rerank-tokens: none.tokens: cannot be read",
        ),
        (
            MODEL,
            "docs.tokens",
            "--rerank-tokens: expected a late-interaction model, found a cross-encoder",
        ),
    ] {
        let rerank = ["--rerank", model, "--rerank-tokens", store];
        let search = ["search", "tiny", "--query", "tea leaves"];
        here.ir(&[&search[..], &rerank].concat())
            .fails(1, &[expected]);
    }
    here.ir("search tiny --query tea --rerank-tokens docs.tokens")
        .fails(2, &["--rerank-tokens: expected --rerank, found none"]);
}

#[test]
fn answers_are_ranked_by_late_interaction() {
    let here = Folder::new();
    here.write(
        "papers/tea.md",
        "# On tea\n\nTea is a drink. It comes from Asia. Cups hold tea.\n",
    );
    let ask = ["ask", "papers", "What is tea?", "--json", "--explain"];
    let rerank = ["--rerank", COLBERT];
    let ran = here.ir(&[&ask[..], &rerank].concat()).ok();
    let mut scores = Vec::new();
    for line in ran.out.lines() {
        let answer: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = answer["frame"]["answer"].as_str().unwrap();
        let score = answer["score"].as_f64().unwrap() as f32;
        assert_eq!(max_sims("What is tea?", &[("", text)])[0].1, score);
        let tokens = answer["explanation"]["parts"][0]["parts"].as_array();
        let shown = tokens
            .unwrap()
            .iter()
            .map(|it| it["what"].as_str().unwrap());
        let (lines, _) = naive_matches("What is tea?", text);
        assert_eq!(shown.collect::<Vec<_>>(), lines);
        scores.push(score);
    }
    assert!(shown_tokens(&ran.out) > 0, "{}", ran.out);
    assert!(
        scores.len() > 1 && scores.is_sorted_by(|a, b| a >= b),
        "{scores:?}"
    );
}

/// The vectors of the sentences of frames, which `ir encode` writes, give the same answers.
#[test]
fn answers_have_the_vectors_of_a_token_store() {
    let here = Folder::new();
    here.write(
        "papers/tea.md",
        "# On tea\n\nTea is a drink. It comes from Asia. Cups hold tea.\n",
    );
    here.ir("frames papers --scientific -o frames.jsonl").ok();
    let encode = ["encode", COLBERT, "frames.jsonl", "--text-field", "answer"];
    let output = ["--template", "{text}", "--token-encoding", "f32", "-o"];
    here.ir(&[&encode[..], &output, &["answers.tokens"]].concat())
        .ok();
    let ask = ["ask", "frames.jsonl", "What is tea?", "--json", "--explain"];
    let rerank = ["--rerank", COLBERT];
    let stored = ["--rerank-tokens", "answers.tokens"];
    let of_texts = here.ir(&[&ask[..], &rerank].concat()).ok().out;
    assert!(of_texts.lines().count() > 1, "{of_texts}");
    let of_vectors = here.ir(&[&ask[..], &rerank, &stored].concat()).ok().out;
    assert_eq!(of_vectors, of_texts);

    write_tokens(&here, "other.tokens", COLBERT, &TEXTS);
    let other = ["--rerank-tokens", "other.tokens"];
    here.ir(&[&ask[..], &rerank, &other].concat())
        .fails(1, &["expected a document of the token store, found none"]);
    here.ir(&[&ask[..], &stored].concat())
        .fails(2, &["--rerank"]);
}
