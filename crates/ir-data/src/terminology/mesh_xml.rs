//! Descriptors and supplementary concepts of MeSH in XML.

use std::io::BufRead;

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::Event;

use super::{Concept, with_synonyms};
use crate::error::{DataError, Location};
use crate::lines::LineReader;

/// Elements that are records of MeSH.
const RECORDS: [&str; 2] = ["DescriptorRecord", "SupplementalRecord"];

/// Maximum size of a record in bytes: 16 MiB.
const MAX_RECORD: usize = 16 << 20;

/// Reads MeSH in XML: records (`DescriptorRecord`, `SupplementalRecord`) that start and end on
/// lines of their own, as in the files of the National Library of Medicine. The terms of each
/// `Concept` of a record are the strings of its `Term`s. Concepts with one term are left out.
/// `source` names the reader in errors.
///
/// ```
/// use ir_data::terminology::read_mesh_xml;
/// let text = "<DescriptorRecordSet>\n<DescriptorRecord DescriptorClass=\"1\">\n<ConceptList>
///     <Concept><TermList><Term><String>Myasthenia Gravis</String></Term>
///     <Term><String>MG &amp; others</String></Term></TermList></Concept>
///     </ConceptList>\n</DescriptorRecord>\n</DescriptorRecordSet>\n";
/// let concepts = read_mesh_xml(text.as_bytes(), "desc2026.xml")?;
/// assert_eq!(concepts[0].terms, ["Myasthenia Gravis", "MG & others"]);
/// # Ok::<(), ir_data::DataError>(())
/// ```
///
/// # Errors
/// The source cannot be read, there is no record, or a record is not well-formed, does not end, or
/// is too large.
pub fn read_mesh_xml(reader: impl BufRead, source: &str) -> Result<Vec<Concept>, DataError> {
    let mut lines = LineReader::new(reader, source);
    let mut concepts = Vec::new();
    // Line, end tag and text of the open record.
    let mut record: Option<(u64, String, String)> = None;
    let mut records = 0_u64;
    while let Some(line) = lines.read()? {
        if record.is_none() {
            let name = RECORDS.iter().find(|name| {
                let tag = line.text.trim_start().strip_prefix('<');
                let rest = tag.and_then(|tag| tag.strip_prefix(**name));
                rest.is_some_and(|rest| rest.starts_with([' ', '>', '\r']) || rest.is_empty())
            });
            record = name.map(|name| (line.number, format!("</{name}>"), String::new()));
        }
        let Some((start, end, text)) = &mut record else {
            continue;
        };
        text.push_str(line.text);
        text.push('\n');
        let at = Location::new(source, *start);
        if text.len() > MAX_RECORD {
            return Err(at.syntax("a record of at most 16 MiB", "a larger one"));
        }
        if line.text.contains(end.as_str()) {
            records += 1;
            add_concepts(text, at, &mut concepts)?;
            record = None;
        }
    }
    if let Some((line, end, _)) = record {
        return Err(Location::new(source, line).syntax("the end tag of the record", &end));
    }
    if records == 0 {
        let at = Location::new(source, 1);
        return Err(at.syntax("<DescriptorRecord> or <SupplementalRecord>", "none"));
    }
    Ok(with_synonyms(concepts))
}

/// Adds the concepts of a record.
fn add_concepts(
    text: &str,
    at: Location<'_>,
    concepts: &mut Vec<Concept>,
) -> Result<(), DataError> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<String> = Vec::new();
    let mut concept = None;
    let mut term = String::new();
    let (mut line, mut counted) = (at.line, 0);
    loop {
        let offset = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let offset = offset.clamp(counted, text.len());
        let passed = text.as_bytes()[counted..offset].iter();
        line += passed.filter(|&&byte| byte == b'\n').count() as u64;
        counted = offset;
        let here = Location::new(at.path, line);
        let wrong = |found: &str| here.syntax("well-formed XML", found);
        let event = reader.read_event();
        let event = event.map_err(|error| wrong(&error.to_string()))?;
        let is_term =
            matches!(open.as_slice(), [.., term, name] if term == "Term" && name == "String");
        match event {
            Event::Start(tag) => {
                let name: String = tag.local_name().as_ref().to_owned();
                match name.as_str() {
                    "Concept" => concept = Some(Concept::new(line)),
                    "String" => term.clear(),
                    _ => {}
                }
                open.push(name);
            }
            Event::End(_) => {
                if is_term && let Some(concept) = &mut concept {
                    concept.add(&term);
                }
                if open.pop().is_some_and(|name| name == "Concept") {
                    concepts.extend(concept.take());
                }
            }
            Event::Text(found) if is_term => term.push_str(&found.xml10_content()),
            Event::CData(found) if is_term => term.push_str(&found.xml10_content()),
            Event::GeneralRef(reference) if is_term => {
                let character = reference.resolve_char_ref();
                let character = character.map_err(|error| wrong(&error.to_string()))?;
                let name = reference.xml10_content();
                let value = character.map(String::from);
                let value = value.or_else(|| resolve_xml_entity(&name).map(str::to_owned));
                term.push_str(&value.ok_or_else(|| wrong(&format!("&{name};")))?);
            }
            Event::Eof => break,
            _ => {}
        }
    }
    match open.last() {
        Some(name) => Err(at.syntax("an end tag of each element", name)),
        None => Ok(()),
    }
}
