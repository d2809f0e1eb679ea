//! Folding, bigrams of Chinese, Japanese and Korean, protected words and stemmers of languages,
//! against ICU with the rules of Lucene, Lucene 9.9.1 and Snowball 3.0.1 (`testdata`, see the
//! READMEs there).

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeMap;

use ir_bm25::analysis::{
    Analysis, AnalysisError, AnalysisPipeline, CjkBigrams, Highlighter, Normalization, Stemmer,
    StopWords, Tokenizer, mark,
};
use ir_bm25::{Bm25, IndexBuilder, IndexConfig, IndexWriter, QuerySyntax, StructuredSearcher};
use ir_core::{Analyzer, Document, NoProgress, Retriever, Search};

use crate::analysis::{reference, unzipped};

fn folding() -> AnalysisPipeline {
    Analysis::whitespace()
        .with_normalization(Normalization::Fold)
        .build()
        .unwrap()
}

fn code(hex: &str) -> char {
    char::from_u32(u32::from_str_radix(hex, 16).unwrap()).unwrap()
}

#[test]
fn foldings_of_all_characters_are_lucenes() {
    let text = unzipped("folding.tsv.gz");
    let mut folded = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (from, to) = line.split_once('\t').unwrap();
        folded.insert(
            code(from),
            to.split_whitespace().map(code).collect::<String>(),
        );
    }
    assert_eq!(folded.len(), 13_355);
    // Characters that Unicode 15 does not have.
    let later = text
        .lines()
        .find_map(|line| line.strip_prefix("# unassigned: "));
    let later: Vec<_> = later
        .unwrap()
        .split_whitespace()
        .map(|range| range.split_once('-').unwrap())
        .map(|(first, last)| {
            let number = |hex| u32::from_str_radix(hex, 16).unwrap();
            number(first)..=number(last)
        })
        .collect();
    let pipeline = folding();
    let (mut wrong, mut compared) = (0, 0);
    for c in ('\0'..=char::MAX).filter(|c| !c.is_whitespace()) {
        if ('\x1c'..='\x1f').contains(&c) || later.iter().any(|range| range.contains(&(c as u32))) {
            continue;
        }
        let expected = folded.get(&c).cloned().unwrap_or_else(|| c.to_string());
        let found = pipeline.terms(&c.to_string()).concat();
        compared += 1;
        if found != expected {
            wrong += 1;
            eprintln!("U+{:04X}: {found:?}, Lucene {expected:?}", c as u32);
        }
    }
    assert!(compared > 280_000, "{compared}");
    assert_eq!(wrong, 0, "of {compared} characters");
}

/// Examples of the documentation.
#[test]
fn what_is_folded_and_what_is_not() {
    let pipeline = folding();
    for (word, expected) in [
        ("Straße", "strasse"),
        ("ΛΌΓΟΣ", "λογοσ"),
        ("ёж", "еж"),
        ("مُحَمَّد", "محمد"),
        ("מַיִם", "מים"),
        ("हिन्दी", "हिनदी"),
        ("ガイド", "カイト"),
        ("コーヒー", "コヒ"),
        ("øl", "ol"),
        ("cœur", "coeur"),
        ("ﬁn", "fin"),
        ("ǆep", "dzep"),
        ("ＫＧ", "kg"),
        ("ｶﾅ", "カナ"),
        ("٣٤", "34"),
        ("Ⅻ", "xii"),
        ("②", "2"),
        ("⼈⺝", "人月"),
        ("ماهى", "ماهي"),
        ("ﻼ", "لا"),
        ("ғ", "г"),
        ("co\u{ad}op", "coop"),
        ("№5", "no5"),
        ("ä", "a"),
        // Not folded.
        ("漢汉", "漢汉"),
        ("かカ", "かカ"),
        ("한글", "한글"),
        ("ж", "ж"),
        ("rock'n'roll", "rock'n'roll"),
        ("a_b", "a_b"),
    ] {
        assert_eq!(pipeline.terms(word), [expected], "{word}");
    }
    // Marks alone are no term, and leave a gap.
    let mut found = Vec::new();
    pipeline.analyze("A \u{301} ^ b", &mut |token| {
        found.push((token.term.to_owned(), token.start, token.position));
    });
    assert_eq!(found, [("a".to_owned(), 0, 0), ("b".to_owned(), 7, 3)]);
}

/// Documents and queries have the same analysis; what is shown is the text.
#[test]
fn folded_words_are_found_and_highlighted_as_written() {
    let analysis = Analysis::porter().with_normalization(Normalization::Fold);
    let pipeline = analysis.build().unwrap();
    let text = "Les Résumés de l'ＩＲ à İzmir, Crème brûlée.";
    let highlighter = Highlighter::new(&pipeline, "RESUME izmir brulee");
    assert_eq!(
        mark(text, &highlighter.spans(text), "[", "]"),
        "Les [Résumés] de l'ＩＲ à [İzmir], Crème [brûlée]."
    );
}

/// String, tokens of Lucene's `CJKAnalyzer` with UTF-16 offsets and positions, and with unigrams.
type CjkRow = (String, Vec<Placed>, Vec<Placed>);
type Placed = (String, usize, usize, u32);

fn placed(pipeline: &AnalysisPipeline, text: &str) -> Vec<Placed> {
    let mut found = Vec::new();
    pipeline.analyze(text, &mut |token| {
        let units = |end: usize| text[..end].encode_utf16().count();
        found.push((
            token.term.to_owned(),
            units(token.start),
            units(token.end),
            token.position,
        ));
    });
    found
}

#[test]
fn bigrams_are_lucenes() {
    let text = unzipped("cjk.tsv.gz");
    let rows: Vec<CjkRow> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            (
                serde_json::from_str(columns[0]).unwrap(),
                serde_json::from_str(columns[1]).unwrap(),
                serde_json::from_str(columns[2]).unwrap(),
            )
        })
        .collect();
    assert_eq!(rows.len(), 2048);
    let bigrams = Analysis::lucene_cjk();
    let both = bigrams
        .clone()
        .with_cjk_bigrams(CjkBigrams::BigramsAndUnigrams);
    let (bigrams, both) = (bigrams.build().unwrap(), both.build().unwrap());
    let mut wrong = 0;
    for (text, of_bigrams, of_both) in &rows {
        for (pipeline, lucene) in [(&bigrams, of_bigrams), (&both, of_both)] {
            let found = placed(pipeline, text);
            if found != *lucene {
                wrong += 1;
                eprintln!("{text:?}\n  found  {found:?}\n  lucene {lucene:?}");
            }
        }
    }
    assert_eq!(wrong, 0, "of {} strings", 2 * rows.len());
}

/// The results that the documentation of `CJKBigramFilter` states.
#[test]
fn bigrams_of_the_documentation() {
    let bigrams = Analysis::lucene_cjk().build().unwrap();
    assert_eq!(bigrams.terms("한국abc"), ["한국abc"]);
    assert_eq!(bigrams.terms("한국 abc"), ["한국", "abc"]);
    assert_eq!(bigrams.terms("日 本"), ["日", "本"]);
    assert_eq!(bigrams.terms("日本、語"), ["日本", "語"]);
    let both = Analysis::lucene_cjk().with_cjk_bigrams(CjkBigrams::BigramsAndUnigrams);
    let both = both.build().unwrap();
    assert_eq!(both.terms("一二三"), ["一", "一二", "二", "二三", "三"]);
    // Bigrams that overlap are one highlight.
    let text = "これは日本語の文書";
    for pipeline in [&bigrams, &both] {
        let highlighter = Highlighter::new(pipeline, "日本語");
        assert_eq!(
            mark(text, &highlighter.spans(text), "[", "]"),
            "これは[日本語]の文書"
        );
    }
}

#[test]
fn phrases_of_bigrams() {
    for bigrams in [CjkBigrams::Bigrams, CjkBigrams::BigramsAndUnigrams] {
        let config = IndexConfig::default()
            .with_analysis(Analysis::lucene_cjk().with_cjk_bigrams(bigrams))
            .with_positions(true);
        let mut builder = IndexBuilder::new(config).unwrap();
        for (id, text) in [
            ("1", "東京都の天気 today"),
            ("2", "京都の天気"),
            ("3", "東京 と 京都"),
            ("4", "都東京"),
        ] {
            builder.push(&Document::new(id).with_text(text)).unwrap();
        }
        let index = builder.finish(&mut NoProgress).unwrap();
        let searcher = index.searcher(Bm25::default()).unwrap();
        let searcher = StructuredSearcher::new(searcher, QuerySyntax::Lucene);
        let ids = |query: &str| -> Vec<String> {
            let mut hits: Vec<_> = searcher
                .search(query, &Search::top(10))
                .unwrap()
                .iter()
                .map(|hit| searcher.ids().id(hit.doc).to_owned())
                .collect();
            hits.sort();
            hits
        };
        assert_eq!(ids("\"東京都\""), ["1"], "{bigrams}");
        assert_eq!(ids("\"京都の天気\""), ["1", "2"], "{bigrams}");
        assert_eq!(ids("\"天気 today\""), ["1"], "{bigrams}");
    }
}

/// Lucene 9.9.1's `EnglishAnalyzer` with these words, its own stop words, and the same texts.
#[test]
fn protected_words_are_those_of_lucenes_english_analyzer() {
    let protected = ["running", "organization", "the", "skies"].map(str::to_owned);
    let analysis = Analysis::anserini().with_protected_words(protected.into());
    let pipeline = analysis.build().unwrap();
    assert_eq!(
        pipeline.terms("Running runs organizations Organization's THE skies sky"),
        ["running", "run", "organ", "organization", "skies", "sky"]
    );
    assert_eq!(
        pipeline.terms("organizational running's"),
        ["organiz", "running"]
    );
    assert_eq!(
        analysis.to_string(),
        "unicode+possessive+lower+stop:lucene33+protected(4)+porter"
    );
}

#[test]
fn words_that_cannot_be_protected_are_rejected() {
    let protect = |word: &str| {
        let words = [word.to_owned()].into();
        Analysis::porter().with_protected_words(words).build()
    };
    for (word, terms) in [
        ("Running", "running"),
        ("dog's", "dog"),
        ("new york", "new york"),
        ("", ""),
    ] {
        let expected = AnalysisError::UnmatchableProtectedWord {
            word: word.to_owned(),
            terms: terms.to_owned(),
        };
        assert_eq!(protect(word).unwrap_err(), expected);
    }
    assert!(protect("the").is_ok());
    assert!(protect("don't").is_ok());
    assert!(protect("e\u{301}t\u{e9}").is_ok());
    let whitespace = Analysis::whitespace().with_cjk_bigrams(CjkBigrams::Bigrams);
    assert_eq!(
        whitespace.build().unwrap_err(),
        AnalysisError::BigramTokenizer
    );
}

/// The analysis of an index that was saved before these settings has the same meaning and text.
#[test]
fn saved_analyses_of_old_indexes_stay() {
    for (saved, analysis) in [
        (
            r#"{"tokenizer":"unicode","max_len":255,"possessive":true,"lower_case":true,"stop_words":"lucene33","stemmer":"porter"}"#,
            Analysis::anserini(),
        ),
        (
            r#"{"tokenizer":"unicode","max_len":255,"normalization":"nfc","possessive":true,"lower_case":true,"stop_words":"lucene33","stemmer":"porter"}"#,
            Analysis::porter(),
        ),
        (
            r#"{"tokenizer":"unicode","max_len":255,"possessive":true,"lower_case":true,"stop_words":"nltk179","stemmer":"english"}"#,
            Analysis::english().with_stop_words(StopWords::Nltk179),
        ),
    ] {
        let read: Analysis = serde_json::from_str(saved).unwrap();
        assert_eq!(read, analysis);
        assert_eq!(serde_json::to_string(&analysis).unwrap(), saved);
        assert!(read.protected_words.is_empty());
        assert_eq!(read.cjk_bigrams, CjkBigrams::None);
        let terms = read.build().unwrap().terms("Cafés 日本語 naïve");
        let stems = ["café", "日", "本", "語", "naïv"];
        match read.stemmer {
            Stemmer::Porter => assert_eq!(terms, stems),
            _ => assert_eq!(terms[1..4], stems[1..4]),
        }
    }
}

#[test]
fn a_new_analysis_is_recorded_in_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let analysis = Analysis::porter()
        .with_normalization(Normalization::Fold)
        .with_cjk_bigrams(CjkBigrams::Bigrams)
        .with_protected_words(["maus".to_owned()].into())
        .with_stemmer(Stemmer::German);
    let path = folder.path().join("index");
    let config = IndexConfig::default().with_analysis(analysis.clone());
    IndexWriter::create(&path, config)
        .unwrap()
        .commit()
        .unwrap();
    let writer = IndexWriter::open(&path).unwrap();
    assert_eq!(writer.config().analysis, analysis);
    assert_eq!(
        serde_json::to_string(&analysis).unwrap(),
        r#"{"tokenizer":"unicode","max_len":255,"normalization":"fold","possessive":true,"lower_case":true,"cjk_bigrams":"bigrams","stop_words":"lucene33","protected_words":["maus"],"stemmer":"german"}"#
    );
}

/// Words and stems of Snowball 3.0.1.
#[test]
fn stemmers_are_snowballs() {
    let text = std::fs::read_to_string(reference("../snowball/stems.tsv")).unwrap();
    let stemmers: BTreeMap<&str, Stemmer> = Stemmer::NAMED.iter().copied().collect();
    let mut words: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [language, word, stem] = columns[..] else {
            panic!("{line}")
        };
        assert_eq!(stemmers[language].stem(word), stem, "{language} {word}");
        *words.entry(language).or_default() += 1;
    }
    for (name, stemmer) in Stemmer::NAMED {
        assert_eq!(stemmer.to_string(), *name);
        assert_eq!(serde_json::to_value(stemmer).unwrap(), *name);
        if !matches!(
            stemmer,
            Stemmer::None | Stemmer::Porter | Stemmer::Porter1980
        ) {
            assert!(words[name] >= 20, "{name}");
        }
    }
}

#[test]
fn width_is_lucenes_cjk_width_filter() {
    let pipeline = Analysis::whitespace()
        .with_normalization(Normalization::Width)
        .build()
        .unwrap();
    assert_eq!(
        pipeline.terms("Ｔｅｓｔ ｳﾞｨｯﾂ é Ⅻ"),
        ["Test", "ヴィッツ", "é", "Ⅻ"]
    );
    assert_eq!(pipeline.analysis().tokenizer, Tokenizer::Whitespace);
}
