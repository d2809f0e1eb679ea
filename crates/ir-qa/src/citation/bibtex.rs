//! BibTeX, the bibliography format of LaTeX.

use std::collections::HashSet;
use std::fmt::Write as _;

use ir_bm25::analysis::{Analysis, AnalysisPipeline, Normalization};
use ir_core::Analyzer as _;

use super::names::PersonName;
use super::{Citation, VenueKind};

/// Entries of papers in BibTeX, with an empty line between them.
///
/// The key is the family name of the first author, the year, and the first word of the title that
/// is no function word; entries with equal keys get the letters `a`, `b`, ... from the second one
/// on. A paper with a venue is an `article`, or `inproceedings` if the venue names a conference;
/// other papers are `misc`. Characters that TeX interprets are escaped, except in `doi` and `url`,
/// which are verbatim; letters of all scripts are kept, for an engine that reads UTF-8. Words of
/// titles with a capital letter inside are in braces, because styles put titles into lower case.
/// Quoted sentences are in `annote`, which the standard styles do not print.
#[must_use]
pub fn bibtex(citations: &[Citation]) -> String {
    let (folding, mut keys) = (folding(), HashSet::new());
    let mut text = String::new();
    for citation in citations {
        if !text.is_empty() {
            text.push('\n');
        }
        let key = key(citation, &folding, &mut keys);
        push_entry(&mut text, citation, &key);
    }
    text
}

fn push_entry(text: &mut String, citation: &Citation, key: &str) {
    let (kind, venue) = match citation.venue_kind() {
        VenueKind::Journal => ("article", "journal"),
        VenueKind::Conference => ("inproceedings", "booktitle"),
        VenueKind::Unknown => ("misc", ""),
    };
    let mut fields: Vec<(&str, String)> = Vec::new();
    if !citation.authors.is_empty() {
        let authors: Vec<String> = citation.authors.iter().map(|it| author(it)).collect();
        fields.push(("author", authors.join(" and ")));
    }
    fields.push(("title", title(&citation.title)));
    if let Some(name) = &citation.venue {
        fields.push((venue, escaped(name)));
    }
    if let Some(year) = citation.year {
        fields.push(("year", year.to_string()));
    }
    if let Some(doi) = &citation.doi {
        fields.push(("doi", verbatim(doi)));
    }
    if let Some(id) = &citation.arxiv {
        fields.push(("eprint", id.clone()));
        fields.push(("archiveprefix", "arXiv".to_owned()));
    }
    fields.extend(citation.url().map(|url| ("url", url)));
    if !citation.quotes.is_empty() {
        let quotes: Vec<String> = citation.quotes.iter().map(|it| it.marked()).collect();
        fields.push(("annote", escaped(&quotes.join(" "))));
    }
    let lines = fields.iter();
    let lines: Vec<String> = lines
        .map(|(name, value)| format!("  {name} = {{{value}}}"))
        .collect();
    // Writing to a string does not fail.
    let _ = write!(text, "@{kind}{{{key},\n{}\n}}\n", lines.join(",\n"));
}

/// Author in the form `family, suffix, given`, which needs no rules for particles. A group is in
/// braces.
fn author(name: &str) -> String {
    let PersonName {
        family,
        given,
        suffix,
    } = PersonName::parse(name);
    let family = escaped(&family);
    match (given.as_str(), suffix.as_str()) {
        ("", "") if family.contains([' ', ',']) => format!("{{{family}}}"),
        ("", "") => family,
        (given, "") => format!("{family}, {}", escaped(given)),
        (given, suffix) => format!("{family}, {}, {}", escaped(suffix), escaped(given)),
    }
}

/// Title with braces around words that have a capital letter after their first character.
fn title(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let mut characters = word.chars().skip_while(|c| !c.is_alphanumeric()).skip(1);
        if characters.any(char::is_uppercase) {
            format!("{{{}}}", escaped(word))
        } else {
            escaped(word)
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Text with the characters that TeX interprets as commands. Braces are commands, too, because
/// BibTeX counts `\{`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' => escaped.extend(['\\', c]),
            '\\' => escaped += "\\textbackslash{}",
            '{' => escaped += "\\textbraceleft{}",
            '}' => escaped += "\\textbraceright{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '<' => escaped += "\\textless{}",
            '>' => escaped += "\\textgreater{}",
            '|' => escaped += "\\textbar{}",
            c => escaped.push(c),
        }
    }
    escaped
}

/// Value of a verbatim field: braces and backslashes, which could end it, are percent-encoded.
fn verbatim(text: &str) -> String {
    let text = text.replace('\\', "%5C");
    text.replace('{', "%7B").replace('}', "%7D")
}

/// Analysis of the words of keys.
#[expect(clippy::expect_used, reason = "the analysis is a preset")]
fn folding() -> AnalysisPipeline {
    let folding = Analysis::anserini_unstemmed().with_normalization(Normalization::Fold);
    folding.build().expect("presets are valid")
}

/// Key of an entry that no earlier entry has.
fn key(citation: &Citation, folding: &AnalysisPipeline, keys: &mut HashSet<String>) -> String {
    let words = |text: &str| -> Vec<String> {
        let words = folding.terms(text).into_iter();
        let words = words.map(|word| word.chars().filter(char::is_ascii_alphanumeric).collect());
        words.filter(|word: &String| !word.is_empty()).collect()
    };
    let mut key = String::new();
    if let Some(first) = citation.authors.first() {
        key += &words(&PersonName::parse(first).family).concat();
    }
    if let Some(year) = citation.year {
        key += &year.unsigned_abs().to_string();
    }
    if let Some(word) = words(&citation.title).first() {
        key += word;
    }
    if key.is_empty() {
        key.push_str("paper");
    }
    let mut unique = key.clone();
    for number in 1_usize.. {
        if keys.insert(unique.clone()) {
            break;
        }
        unique = format!("{key}{}", letters(number));
    }
    unique
}

/// Letters of a number from 1: `a` to `z`, `aa`, ...
fn letters(mut number: usize) -> String {
    let mut letters = Vec::new();
    while number > 0 {
        number -= 1;
        letters.push(char::from(b'a' + u8::try_from(number % 26).unwrap_or(0)));
        number /= 26;
    }
    letters.iter().rev().collect()
}
