use std::collections::BTreeMap;
use std::ops::Range;

use super::keys::PaperKeys;

/// Scientific paper with the structure that a parser found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paper {
    /// Id of the paper; unique in a file.
    pub id: String,
    /// Title and identifiers, which other papers cite.
    pub keys: PaperKeys,
    /// Abstract; may be empty.
    pub abstract_text: String,
    /// Names of the authors, given names first.
    pub authors: Vec<String>,
    /// Year of publication, if known.
    pub year: Option<i64>,
    /// Journal or conference; may be empty.
    pub venue: String,
    /// Sections of the body, in order; empty if the body was not parsed.
    pub sections: Vec<Section>,
    /// Cited works by reference id, such as `BIBREF0`.
    pub bibliography: BTreeMap<String, BibliographyEntry>,
}

/// Section: consecutive paragraphs with the same section title.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section {
    /// Title of the section; may be empty.
    pub title: String,
    /// Paragraphs in the order of the text.
    pub paragraphs: Vec<Paragraph>,
}

/// Paragraph of a section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paragraph {
    /// Text of the paragraph.
    pub text: String,
    /// Citations in the text.
    pub citations: Vec<CitationSpan>,
}

/// Citation in a paragraph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitationSpan {
    /// Byte range in [`Paragraph::text`]. Files count characters.
    pub range: Range<usize>,
    /// Key of [`Paper::bibliography`], if the citation was resolved.
    pub reference: Option<String>,
}

/// Work in a bibliography.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BibliographyEntry {
    /// Title and identifiers of the work.
    pub keys: PaperKeys,
    /// [`Paper::id`] of the work, if it was linked.
    pub paper: Option<String>,
}

impl Paper {
    /// Iterates over the paragraphs of all sections.
    pub fn paragraphs(&self) -> impl Iterator<Item = &Paragraph> {
        self.sections.iter().flat_map(|section| &section.paragraphs)
    }
}
