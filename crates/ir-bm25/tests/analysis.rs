//! The analysis against what Lucene 9.9.1 did with the same strings (`testdata/lucene`, see the README there).

use ir_bm25::analysis::{Analysis, Stemmer};
use ir_core::Analyzer;
use std::path::{Path, PathBuf};

fn reference(name: &str) -> PathBuf {
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

/// The whole folder `porter` or `english` of Snowball's data: (word, stem).
fn vocabulary(name: &str) -> Option<Vec<(String, String)>> {
    let Some(data) = std::env::var_os("IR_DATA") else {
        eprintln!("skipped: IR_DATA is not set");
        return None;
    };
    let folder = Path::new(&data).join("snowball").join(name);
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
fn english_vocabulary() {
    let Some(words) = vocabulary("english") else {
        return;
    };
    assert_eq!(words.len(), 42_649);
    for (word, stem) in &words {
        assert_eq!(Stemmer::English.stem(word), *stem, "{word}");
    }
}
