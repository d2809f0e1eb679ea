//! The analysis against what Lucene 9.9.1 did with the same strings (`testdata/lucene`, see the
//! README there).

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use ir_bm25::analysis::{Analysis, AnalysisError, Normalization, Stemmer, StopWords, Tokenizer};
use ir_core::Analyzer;
use std::io::Read;
use std::path::{Path, PathBuf};

pub(crate) fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/lucene")
        .join(name)
}

/// String, tokens of the `StandardTokenizer` with UTF-16 offsets, terms of Anserini's chain.
type Row = (String, Vec<(String, usize, usize)>, Vec<String>);

fn rows(text: &str) -> Vec<Row> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut columns = line.split('\t').map(|c| serde_json::from_str(c).unwrap());
            let mut column = || -> serde_json::Value { columns.next().unwrap() };
            (
                serde_json::from_value(column()).unwrap(),
                serde_json::from_value(column()).unwrap(),
                serde_json::from_value(column()).unwrap(),
            )
        })
        .collect()
}

fn check(rows: &[Row]) {
    let words = Analysis::lucene_standard()
        .with_lower_case(false)
        .build()
        .unwrap();
    let chain = Analysis::anserini().build().unwrap();
    let mut wrong = 0;
    for (text, tokens, terms) in rows {
        let mut found = Vec::new();
        words.analyze(text, &mut |token| {
            let units = |end: usize| text[..end].encode_utf16().count();
            assert_eq!(&text[token.start..token.end], token.term);
            found.push((token.term.to_owned(), units(token.start), units(token.end)));
        });
        let chained = chain.terms(text);
        if found != *tokens || chained != *terms {
            wrong += 1;
            eprintln!(
                "{text:?}\n  found {found:?}\n  lucene {tokens:?}\n  found {chained:?}\n  lucene {terms:?}"
            );
        }
    }
    assert_eq!(wrong, 0, "of {} strings", rows.len());
}

#[test]
fn tokens_and_terms_are_lucenes() {
    let rows = rows(&std::fs::read_to_string(reference("tokens.tsv")).unwrap());
    assert!(rows.len() > 1000, "{}", rows.len());
    check(&rows);
}

pub(crate) fn unzipped(name: &str) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(reference(name)).unwrap();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    text
}

#[test]
fn tokens_and_terms_of_random_strings_are_lucenes() {
    let rows = rows(&unzipped("fuzz.tsv.gz"));
    assert_eq!(rows.len(), 8000);
    check(&rows);
}

/// Every code point in twenty surroundings. The measurements are runs of code points that behave
/// alike; it is enough to try the long ones here and there.
#[test]
fn code_points_are_cut_as_lucene_cuts_them() {
    let words = Analysis::lucene_standard()
        .with_lower_case(false)
        .build()
        .unwrap();
    let text = unzipped("codepoints.tsv.gz");
    let templates: Vec<String> = text
        .lines()
        .find_map(|line| Some(serde_json::from_str(line.strip_prefix("# templates: ")?).unwrap()))
        .unwrap();
    let (mut next, mut wrong) = (0, 0);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        assert_eq!(columns.len(), 2 + templates.len());
        let end = |column: &str| u32::from_str_radix(column, 16).unwrap();
        let (first, last) = (end(columns[0]), end(columns[1]));
        assert_eq!(first, next);
        next = if last == 0xD7FF { 0xE000 } else { last + 1 };
        let step = if last - first < 500 { 1 } else { 97 };
        for c in (first..=last)
            .step_by(step)
            .chain([last])
            .filter_map(char::from_u32)
        {
            for (template, lucene) in templates.iter().zip(&columns[2..]) {
                let text = template.replace("{}", &c.to_string());
                let mut found = Vec::new();
                words.analyze(&text, &mut |token| {
                    let count = |end: usize| text[..end].chars().count();
                    found.push(format!("{}-{}", count(token.start), count(token.end)));
                });
                if found.join(" ") != *lucene {
                    wrong += 1;
                    eprintln!(
                        "U+{:04X} in {template:?}: {found:?}, Lucene {lucene}",
                        c as u32
                    );
                }
            }
        }
    }
    assert_eq!((next, wrong), (0x11_0000, 0));
}

/// Java 21 knows Unicode 15; characters that have been given a lower case since are not letters to
/// the tokenizer.
#[test]
fn lower_case_is_javas() {
    let text = std::fs::read_to_string(reference("lowercase.tsv")).unwrap();
    let mut java = std::collections::BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (from, to) = line.split_once('\t').unwrap();
        let code = |hex| char::from_u32(u32::from_str_radix(hex, 16).unwrap()).unwrap();
        java.insert(code(from), code(to));
    }
    assert_eq!(java.len(), 1433);
    let lower = Analysis::lucene_standard()
        .with_tokenizer(Tokenizer::Whitespace)
        .build()
        .unwrap();
    let tokens = Analysis::lucene_standard().build().unwrap();
    for c in ('!'..=char::MAX).filter(|c| !c.is_whitespace()) {
        let expected = java.get(&c).unwrap_or(&c).to_string();
        let text = c.to_string();
        let mut found = None;
        lower.analyze(&text, &mut |token| found = Some(token.term.to_owned()));
        if found.as_ref() != Some(&expected) {
            assert!(
                tokens.terms(&text).is_empty(),
                "{c:?} {found:?}, Java {expected:?}"
            );
        }
    }
}

/// The whole folder `porter` or `english` of Snowball's data: (word, stem).
fn vocabulary(name: &str) -> Option<Vec<(String, String)>> {
    let folder = crate::common::data()?.join("snowball").join(name);
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let (words, stems) = (read("voc.txt"), read("output.txt"));
    assert_eq!(words.lines().count(), stems.lines().count());
    Some(
        words
            .lines()
            .map(str::to_owned)
            .zip(stems.lines().map(str::to_owned))
            .collect(),
    )
}

/// Word, Snowball's stem, Lucene's stem.
fn porter_differences() -> Vec<(String, String, String)> {
    std::fs::read_to_string(reference("porter_differences.tsv"))
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut columns = line.split('\t').map(str::to_owned);
            let mut column = || columns.next().unwrap();
            (column(), column(), column())
        })
        .collect()
}

#[test]
fn porter_differs_from_snowballs_where_lucenes_does() {
    let differences = porter_differences();
    assert_eq!(differences.len(), 67);
    for (word, snowball, lucene) in differences {
        assert_eq!(Stemmer::Porter1980.stem(&word), snowball, "{word}");
        assert_eq!(Stemmer::Porter.stem(&word), lucene, "{word}");
    }
}

#[test]
fn porter_vocabulary() {
    let Some(words) = vocabulary("porter") else {
        return;
    };
    assert_eq!(words.len(), 42_603);
    let differences = porter_differences();
    for (word, stem) in &words {
        assert_eq!(Stemmer::Porter1980.stem(word), *stem, "{word}");
        let lucene = differences
            .iter()
            .find(|d| d.0 == *word)
            .map_or(stem, |d| &d.2);
        assert_eq!(Stemmer::Porter.stem(word), *lucene, "{word}");
    }
}

#[test]
fn words_outside_the_vocabulary() {
    assert_eq!(Stemmer::Porter1980.stem("trekking"), "trek");
    assert_eq!(Stemmer::Porter1980.stem("s"), "");
    assert_eq!(Stemmer::Porter.stem("s"), "s");
    assert!(
        Analysis::anserini()
            .with_stemmer(Stemmer::Porter1980)
            .build()
            .unwrap()
            .terms("s")
            .is_empty()
    );
}

#[test]
fn english_vocabulary() {
    let Some(words) = vocabulary("english") else {
        return;
    };
    assert_eq!(words.len(), 42_649);
    for (word, stem) in &words {
        assert_eq!(Stemmer::English.stem(word), *stem, "{word}");
    }
}

#[test]
fn the_saved_form_stays() {
    let saved = r#"{"tokenizer":"unicode","max_len":255,"possessive":true,"lower_case":true,"stop_words":"lucene33","stemmer":"porter"}"#;
    assert_eq!(serde_json::to_string(&Analysis::anserini()).unwrap(), saved);
    let other = Analysis::whitespace()
        .with_stop_words(StopWords::custom(["b", "a"]))
        .with_stemmer(Stemmer::Porter1980);
    assert_eq!(
        serde_json::to_string(&other).unwrap(),
        r#"{"tokenizer":"whitespace","max_len":255,"possessive":false,"lower_case":false,"stop_words":{"custom":["a","b"]},"stemmer":"porter1980"}"#
    );
    // Nothing unknown is passed over, and nothing missing is guessed.
    assert!(serde_json::from_str::<Analysis>(&saved.replace("max_len", "max_length")).is_err());
    assert!(serde_json::from_str::<Analysis>(&saved.replace(r#""max_len":255,"#, "")).is_err());
    assert!(serde_json::from_str::<Analysis>(&saved.replace("porter", "potter")).is_err());
    let more = saved.replace('}', r#","folding":true}"#);
    assert!(serde_json::from_str::<Analysis>(&more).is_err());
}

#[test]
fn presets_go_by_their_names() {
    for name in [
        "porter",
        "anserini",
        "anserini-unstemmed",
        "english",
        "lucene-standard",
        "whitespace",
        "lucene-cjk",
    ] {
        assert_eq!(name.parse::<Analysis>().unwrap().to_string(), name);
    }
    let error = "potter".parse::<Analysis>().unwrap_err();
    assert!(
        error.to_string().contains("anserini, anserini-unstemmed"),
        "{error}"
    );
    let own = Analysis::english()
        .with_stop_words(StopWords::custom(["x"]))
        .with_max_len(20);
    assert_eq!(
        own.to_string(),
        "unicode(20)+possessive+lower+stop:custom(1)+english"
    );
}

#[test]
fn an_analysis_that_cannot_work_is_refused() {
    for found in [0, 1, (1 << 20) + 1] {
        let error = Analysis::default().with_max_len(found).build().unwrap_err();
        assert_eq!(error, AnalysisError::TokenLength { found });
    }
    let upper = Analysis::default().with_stop_words(StopWords::custom(["The"]));
    assert!(matches!(
        upper.build(),
        Err(AnalysisError::UnmatchableStopWord { .. })
    ));
    assert!(upper.with_lower_case(false).build().is_ok());
}

/// The words of lists are normalized as the tokens are, whatever the form in the list.
#[test]
fn words_of_lists_are_normalized() {
    let (composed, decomposed) = ("étés", "e\u{301}te\u{301}s");
    for (normalization, term) in [
        (Normalization::Nfc, composed),
        (Normalization::Fold, "etes"),
    ] {
        for listed in [composed, decomposed] {
            let analysis = Analysis::default()
                .with_normalization(normalization)
                .with_stemmer(Stemmer::English);
            let terms = |analysis: Analysis| {
                let text = format!("{composed} {decomposed} tea");
                analysis.build().unwrap().terms(&text)
            };
            let stopped = analysis
                .clone()
                .with_stop_words(StopWords::custom([listed]));
            assert_eq!(terms(stopped), ["tea"]);
            let protected = analysis.with_protected_words([listed.to_owned()].into());
            assert_eq!(terms(protected), [term, term, "tea"]);
        }
    }
    // Without normalization, forms are different words.
    let plain = Analysis::anserini().with_stop_words(StopWords::custom([decomposed]));
    assert_eq!(plain.build().unwrap().terms(composed).len(), 1);
    let cased = Analysis::default()
        .with_normalization(Normalization::Fold)
        .with_protected_words(["Étés".to_owned()].into());
    assert!(matches!(
        cased.build(),
        Err(AnalysisError::UnmatchableProtectedWord { .. })
    ));
}

#[test]
fn white_space_is_javas() {
    let pipeline = Analysis::whitespace().with_max_len(4).build().unwrap();
    let text = "a\u{a0}b\u{85}c\u{2007}\u{202f} d\u{1c}e\u{3000}f\u{2028}\u{b}𐐨𐐨𐐨 xyz𐐨w ";
    let terms = [
        "a\u{a0}b\u{85}",
        "c\u{2007}\u{202f}",
        "d",
        "e",
        "f",
        "𐐨𐐨",
        "𐐨",
        "xyz𐐨",
        "w",
    ];
    assert_eq!(pipeline.terms(text), terms);
}
