//! Papers of every format beside what is read of them, in `testdata/golden`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use ir_qa::ChunkKind;
use ir_qa::documents::{DocumentReader, Paper, Paragraph, ParsedFile};
use ir_qa::sentences::{Language, SentenceSplitter};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/golden")
}

/// Papers of a file: metadata, headings, sentences after `-`, rows of tables after `|`, formulas
/// after `=` with their markup, pages in parentheses, and the parts that are missing.
fn shown(file: &ParsedFile) -> String {
    let mut text = String::new();
    for paper in &file.papers {
        if file.papers.len() > 1 {
            writeln!(text, "paper: {}", paper.id).unwrap();
        }
        write_metadata(paper, &mut text);
        let splitter = SentenceSplitter::scientific(Language::English);
        for section in &paper.sections {
            if !section.heading.is_empty() {
                let marks = "#".repeat(section.level.into());
                writeln!(text, "{marks} {}{}", section.heading, page(section.page)).unwrap();
            }
            for paragraph in &section.paragraphs {
                write_paragraph(paragraph, &splitter, &mut text);
            }
        }
    }
    let missing: Vec<String> = file.missing.iter().map(ToString::to_string).collect();
    if !missing.is_empty() {
        writeln!(text, "missing: {}", missing.join(", ")).unwrap();
    }
    text
}

fn write_metadata(paper: &Paper, text: &mut String) {
    writeln!(text, "title: {}", paper.title).unwrap();
    if !paper.authors.is_empty() {
        writeln!(text, "authors: {}", paper.authors.join("; ")).unwrap();
    }
    if let Some(year) = paper.year {
        writeln!(text, "year: {year}").unwrap();
    }
    if let Some(venue) = &paper.venue {
        writeln!(text, "venue: {venue}").unwrap();
    }
    let fields = paper.metadata.iter();
    let fields: BTreeSet<String> = fields
        .map(|(name, value)| format!("{name}: {}", serde_json::to_string(value).unwrap()))
        .collect();
    for field in fields {
        writeln!(text, "{field}").unwrap();
    }
}

fn write_paragraph(paragraph: &Paragraph, splitter: &SentenceSplitter, text: &mut String) {
    let own = &paragraph.text;
    let page = page(paragraph.page);
    match paragraph.kind {
        ChunkKind::Row => writeln!(text, "| {own}{page}").unwrap(),
        ChunkKind::Formula => writeln!(text, "= {own}{page}").unwrap(),
        _ => {
            for sentence in splitter.split(own) {
                writeln!(text, "- {}{page}", &own[sentence]).unwrap();
            }
        }
    }
    if let Some(markup) = &paragraph.markup {
        writeln!(text, "  {markup}").unwrap();
    }
}

fn page(page: Option<u32>) -> String {
    page.map(|page| format!(" ({page})")).unwrap_or_default()
}

fn check(name: &str) {
    let path = folder().join(name);
    let file = DocumentReader::default().read_file(&path, "f").unwrap();
    let expected = fs::read_to_string(folder().join(format!("{name}.golden"))).unwrap();
    assert_eq!(shown(&file), expected, "{name}");
}

/// Defines a test per file, and the list of their names.
macro_rules! golden_files {
    ($($test:ident: $name:literal,)+) => {
        const NAMES: &[&str] = &[$($name),+];
        $(
            #[test]
            fn $test() {
                check($name);
            }
        )+
    };
}

golden_files! {
    html_acknowledgments: "html-acknowledgments.html",
    html_affiliations: "html-affiliations.html",
    html_characters: "html-characters.html",
    html_citations: "html-citations.html",
    html_footnotes: "html-footnotes.html",
    html_formula: "html-formula.html",
    html_hidden: "html-hidden.html",
    html_katex: "html-katex.html",
    html_latexml: "html-latexml.html",
    html_layout: "html-layout.html",
    html_metadata: "html-metadata.html",
    html_powers: "html-powers.html",
    html_references: "html-references.html",
    html_scielo: "html-scielo.html",
    html_stamp: "html-stamp.html",
    html_table: "html-table.html",
    jats_acknowledgments: "jats-acknowledgments.xml",
    jats_articleset: "jats-articleset.xml",
    jats_characters: "jats-characters.xml",
    jats_citations: "jats-citations.xml",
    jats_definitions: "jats-definitions.xml",
    jats_footnotes: "jats-footnotes.xml",
    jats_formula: "jats-formula.xml",
    jats_formula_image: "jats-formula-image.xml",
    jats_formula_in_paragraph: "jats-formula-in-paragraph.xml",
    jats_mathml: "jats-mathml.xml",
    jats_metadata: "jats-metadata.xml",
    jats_oai: "jats-oai.xml",
    jats_part_doi: "jats-part-doi.xml",
    jats_powers: "jats-powers.xml",
    jats_table: "jats-table.xml",
    jats_table_spans: "jats-table-spans.xml",
    jats_tex: "jats-tex.xml",
    md_acknowledgments: "md-acknowledgments.md",
    md_footnotes: "md-footnotes.md",
    md_formula: "md-formula.md",
    md_front_matter: "md-front-matter.md",
    md_level_two: "md-level-two.md",
    md_pandoc: "md-pandoc.md",
    md_powers: "md-powers.md",
    md_references: "md-references.md",
    md_table: "md-table.md",
    md_toml: "md-toml.md",
    s2orc_2019: "s2orc-2019.jsonl",
    s2orc_cord_19: "s2orc-cord-19.json",
    s2orc_year_empty: "s2orc-year-empty.json",
    s2orc_year_text: "s2orc-year-text.json",
    sentences_abbreviations: "sentences-abbreviations.md",
    sentences_arabic: "sentences-arabic.md",
    sentences_chinese: "sentences-chinese.md",
    sentences_citations: "sentences-citations.md",
    sentences_hindi: "sentences-hindi.md",
    sentences_japanese: "sentences-japanese.md",
    sentences_korean: "sentences-korean.md",
    sentences_two_languages: "sentences-two-languages.md",
    soco: "soco.jsonl",
    squad: "squad.json",
    tei_acknowledgment: "tei-acknowledgment.tei.xml",
    tei_corpus: "tei-corpus.tei.xml",
    tei_formula: "tei-formula.tei.xml",
    tei_lines: "tei-lines.tei.xml",
    tei_metadata: "tei-metadata.tei.xml",
    tei_notes: "tei-notes.tei.xml",
    tei_pages: "tei-pages.tei.xml",
    tei_powers: "tei-powers.tei.xml",
    tei_table: "tei-table.tei.xml",
    txt_acknowledgments: "txt-acknowledgments.txt",
    txt_characters: "txt-characters.txt",
    txt_drop_cap: "txt-drop-cap.txt",
    txt_formula_letters: "txt-formula-letters.txt",
    txt_hyphens: "txt-hyphens.txt",
    txt_identifiers: "txt-identifiers.txt",
    txt_pages: "txt-pages.txt",
    txt_references: "txt-references.txt",
    xhtml: "xhtml.xml",
}

#[test]
fn every_golden_file_has_a_test() {
    let entries = fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let found: BTreeSet<String> = names.filter(|name| !name.ends_with(".golden")).collect();
    let tested: BTreeSet<String> = NAMES.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(found, tested);
    assert!(tested.len() >= 60);
}
