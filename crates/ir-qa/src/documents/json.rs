//! JSON by its content: articles of SQuAD, records of SOCO, papers of S2ORC.

use std::fmt;

use ir_core::Attributes;
use ir_data::DataError;
use ir_data::s2orc::read_papers;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::DocumentError;
use super::format::DocumentFormat;
use super::paper::Paper;
use super::squad;
use crate::chunk::Chunk;
use crate::frame::ChunkKind;
use crate::soco::{SocoContent, SocoReader};

/// Reads a file. The first object of the file decides the format.
pub(super) fn read(
    text: &str,
    path: &str,
    id: &str,
) -> Result<(DocumentFormat, Vec<Paper>), DocumentError> {
    match format_of(text) {
        Some(DocumentFormat::Soco) => Ok((DocumentFormat::Soco, read_soco(text, path, id)?)),
        Some(DocumentFormat::S2orc) => Ok((DocumentFormat::S2orc, read_s2orc(text, path, id)?)),
        Some(_) => Ok((DocumentFormat::Squad, squad::read(text, path, id)?)),
        None => Err(DocumentError::Format {
            path: path.to_owned(),
            expected: "articles of SQuAD, records of SOCO or papers of S2ORC",
            found: "another JSON object".to_owned(),
        }),
    }
}

/// Format by the keys of the first object. SQuAD for invalid JSON: its reader reports the position.
fn format_of(text: &str) -> Option<DocumentFormat> {
    let mut keys = FirstKeys {
        found: None,
        has_data: false,
    };
    let mut parser = serde_json::Deserializer::from_str(text.trim_start_matches('\u{feff}'));
    // Reading stops at the key that decides, which is an error of the parser.
    let is_valid = parser.deserialize_any(&mut keys).is_ok();
    match (keys.found, keys.has_data) {
        (Some(format), _) => Some(format),
        (None, true) => Some(DocumentFormat::Squad),
        (None, false) => (!is_valid).then_some(DocumentFormat::Squad),
    }
}

struct FirstKeys {
    found: Option<DocumentFormat>,
    has_data: bool,
}

impl<'de> Visitor<'de> for &mut FirstKeys {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, or an array of objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.has_data |= key == "data";
            self.found = match key.as_str() {
                "doc_type" => Some(DocumentFormat::Soco),
                "paper_id" | "body_text" | "pdf_parse" | "grobid_parse" | "latex_parse" => {
                    Some(DocumentFormat::S2orc)
                }
                _ => None,
            };
            if self.found.is_some() {
                return Ok(());
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        seq.next_element_seed(First(self))?;
        Ok(())
    }
}

struct First<'k>(&'k mut FirstKeys);

impl<'de> serde::de::DeserializeSeed<'de> for First<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self.0)
    }
}

/// Reads records of documents and of questions with answers. The id of a paper is the id of the
/// file, `#` and the `doc_id` of the record or its number from 1; the fields of the record are
/// metadata, and `doc_title` or `title` the title of a document without one.
fn read_soco(text: &str, path: &str, id: &str) -> Result<Vec<Paper>, DocumentError> {
    let mut papers = Vec::new();
    for (number, record) in (1..).zip(SocoReader::new(text.as_bytes(), path)) {
        let record = record?;
        let name = record.meta.text("doc_id").map(str::to_owned);
        let name = name.unwrap_or_else(|| number.to_string());
        let mut paper = Paper::new(format!("{id}#{name}"));
        set_fields(&mut paper, &record.meta);
        match record.content {
            SocoContent::Document(chunks) => push_chunks(&mut paper, &chunks),
            SocoContent::Faq(entries) => paper.faq = entries,
        }
        papers.push(paper);
    }
    Ok(papers)
}

fn set_fields(paper: &mut Paper, meta: &Attributes) {
    let title = meta.text("doc_title").or_else(|| meta.text("title"));
    paper.title = title.unwrap_or_default().to_owned();
    paper.year = meta.year();
    paper.metadata = meta.clone();
}

fn push_chunks(paper: &mut Paper, chunks: &[Chunk]) {
    let mut has_title = false;
    for chunk in chunks {
        let Some(text) = &chunk.text else { continue };
        match chunk.kind {
            ChunkKind::Title if !has_title => {
                has_title = true;
                paper.title = super::paper::single_spaced(text);
            }
            ChunkKind::Title | ChunkKind::Section => {
                paper.push_section(1, text);
                if let Some(section) = paper.sections.last_mut() {
                    section.page = chunk.page;
                }
            }
            ChunkKind::Content => paper.push_paragraph(text, chunk.page),
            ChunkKind::Row => paper.push_row(text, chunk.page),
            ChunkKind::Formula => paper.keep_formula(text, None, chunk.page),
        }
    }
}

/// Reads papers of S2ORC: JSON lines, or one object on several lines. The id of a paper is the id
/// of the file, `#` and its `paper_id`. The abstract is the first section.
fn read_s2orc(text: &str, path: &str, id: &str) -> Result<Vec<Paper>, DataError> {
    let parsed = match serde_json::from_str::<serde_json::Value>(text) {
        // One object, as s2orc-doc2json writes it.
        Ok(object) => read_papers(object.to_string().as_bytes(), path)?,
        Err(_) => read_papers(text.as_bytes(), path)?,
    };
    let papers = parsed.into_iter().map(|parsed| {
        let mut paper = Paper::new(format!("{id}#{}", parsed.id));
        paper.title = super::paper::single_spaced(&parsed.keys.title);
        paper.authors = parsed.authors;
        paper.year = parsed.year;
        paper.venue = Some(super::paper::single_spaced(&parsed.venue)).filter(|it| !it.is_empty());
        for (key, value) in [("doi", &parsed.keys.doi), ("arxiv", &parsed.keys.arxiv)] {
            if !value.is_empty() {
                paper.metadata.set(key, value.as_str());
            }
        }
        if !parsed.abstract_text.trim().is_empty() {
            paper.push_section(1, "Abstract");
            paper.push_paragraph(&parsed.abstract_text, None);
        }
        for section in &parsed.sections {
            paper.push_section(1, &section.title);
            for paragraph in &section.paragraphs {
                paper.push_paragraph(&paragraph.text, None);
            }
        }
        paper.remove_empty_sections();
        paper
    });
    Ok(papers.collect())
}
