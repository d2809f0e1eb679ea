use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use ir_core::{AttributeValue, Attributes, CorpusError, DocReader, Document};

use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location};
use crate::lines::{LineReader, MAX_LINE};

/// Treatment of a marker that the record already has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RepeatedMarker {
    /// The line is ignored and the current field continues (Cranfield).
    Ignored,
    /// The following lines are appended to the field (CISI).
    Appended,
}

/// Lines of a record by marker letter.
#[derive(Debug, Default)]
struct RecordFields(BTreeMap<char, Vec<String>>);

impl RecordFields {
    fn joined(&self, letter: char, between: &str) -> String {
        let lines = self.0.get(&letter).map_or(&[][..], Vec::as_slice);
        let lines: Vec<&str> = lines
            .iter()
            .map(|line| line.trim_end())
            .filter(|line| !line.is_empty() || letter == 'W')
            .collect();
        lines.join(between).trim_end().to_owned()
    }

    fn attributes(&self, at: Location<'_>) -> Result<Attributes, DataError> {
        let mut attributes = Attributes::new();
        let names = [
            ('A', "author", "; "),
            ('B', "bibliography", " "),
            ('K', "keywords", " "),
            ('C', "classes", " "),
            ('N', "notes", " "),
        ];
        for (letter, name, between) in names {
            let text = self.joined(letter, between);
            if !text.is_empty() {
                attributes.set(name, text);
            }
        }
        let mut citations = Vec::new();
        for line in self.0.get(&'X').into_iter().flatten() {
            let numbers: Result<Vec<i64>, _> = line.split_whitespace().map(str::parse).collect();
            match numbers {
                Ok(numbers) if numbers.is_empty() => {}
                Ok(numbers) if numbers.len() == 3 => citations.push(AttributeValue::from(numbers)),
                _ => return Err(at.syntax("three integers in each line of .X", line)),
            }
        }
        if !citations.is_empty() {
            attributes.set("citations", citations);
        }
        Ok(attributes)
    }
}

/// Reader of the records of a file.
pub(super) struct SmartRecords<R> {
    lines: LineReader<R>,
    source: Arc<str>,
    repeated: RepeatedMarker,
    /// If `true`, a record with a title needs a text, too.
    needs_text: bool,
    /// Number and line of the next record.
    next: Option<(String, u64)>,
    started: bool,
    seen: DuplicateFinder,
}

impl<R: BufRead> SmartRecords<R> {
    pub(super) fn new(reader: R, source: &str, repeated: RepeatedMarker) -> Self {
        let lines = LineReader::new(reader, source);
        Self {
            source: lines.source(),
            lines,
            repeated,
            needs_text: false,
            next: None,
            started: false,
            seen: DuplicateFinder::default(),
        }
    }

    /// Rejects records without text.
    pub(super) fn with_required_text(mut self) -> Self {
        self.needs_text = true;
        self
    }

    /// Reads the next record into `doc`; `false` at the end.
    pub(super) fn read_into(&mut self, doc: &mut Document) -> Result<bool, DataError> {
        if !self.started {
            self.started = true;
            self.read_fields()?;
        }
        let Some((number, line)) = self.next.take() else {
            return Ok(false);
        };
        self.seen
            .add_id(&number, Location::new(&self.source, line))?;
        let fields = self.read_fields()?;
        let at = Location::new(&self.source, line);
        let has = |letter| fields.0.contains_key(&letter);
        if !has('W') && (self.needs_text || !has('T')) {
            return Err(at.missing_field(".W"));
        }
        doc.id = number;
        doc.title = fields.joined('T', " ").trim().to_owned();
        doc.text = fields.joined('W', "\n");
        doc.attributes = fields.attributes(at)?;
        Ok(true)
    }

    /// Reads the fields up to the next `.I` or the end.
    fn read_fields(&mut self) -> Result<RecordFields, DataError> {
        let mut fields: BTreeMap<char, Vec<String>> = BTreeMap::new();
        let mut current = None;
        let mut length = 0;
        while let Some(line) = self.lines.read()? {
            length += line.text.len() as u64 + 1;
            if length > MAX_LINE {
                let at = Location::new(&self.source, line.number);
                return Err(at.syntax("a record of at most 64 MiB", ".I"));
            }
            let text = line.text.strip_suffix('\r').unwrap_or(line.text);
            let syntax = |expected| Location::new(&self.source, line.number).syntax(expected, text);
            if let Some(number) = text.strip_prefix(".I")
                && number.starts_with([' ', '\t'])
            {
                let number = number.trim();
                if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(syntax("a number after .I"));
                }
                self.next = Some((number.to_owned(), line.number));
                return Ok(RecordFields(fields));
            }
            match marker(text) {
                Some('I') => return Err(syntax("a number after .I")),
                Some(letter @ ('T' | 'A' | 'B' | 'W' | 'X' | 'K' | 'C' | 'N')) => {
                    if fields.contains_key(&letter) && self.repeated == RepeatedMarker::Ignored {
                        continue;
                    }
                    fields.entry(letter).or_default();
                    current = Some(letter);
                }
                Some(_) => return Err(syntax("one of .I .T .A .B .W .X .K .C .N")),
                None => match current.and_then(|letter| fields.get_mut(&letter)) {
                    Some(lines) => lines.push(text.to_owned()),
                    None if text.trim().is_empty() => {}
                    None => return Err(syntax("a record that starts with .I and a marker")),
                },
            }
        }
        Ok(RecordFields(fields))
    }
}

impl<R: BufRead + Send> DocReader for SmartRecords<R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        Ok(self.read_into(doc)?)
    }
}

/// Letter of a marker line.
fn marker(text: &str) -> Option<char> {
    let mut chars = text.trim_end().chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('.'), Some(letter @ 'A'..='Z'), None) => Some(letter),
        _ => None,
    }
}
