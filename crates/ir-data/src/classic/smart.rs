//! Records of the SMART system.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use ir_core::{Attributes, Value};

use crate::error::excerpt;
use crate::seen::Seen;
use crate::{DataError, Lines};

/// What a mark means that a record has had already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeated {
    /// Nothing: the text goes on (Cranfield).
    TextGoesOn,
    /// The same field once more (CISI).
    Again,
}

/// One record: its number and its fields, by letter.
#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) number: String,
    pub(super) line: u64,
    fields: BTreeMap<char, Vec<String>>,
}

impl Record {
    fn joined(&self, mark: char, between: &str) -> String {
        let lines = self.fields.get(&mark).map_or(&[][..], Vec::as_slice);
        let lines: Vec<&str> = lines
            .iter()
            .map(|line| line.trim_end())
            .filter(|line| !line.is_empty() || mark == 'W')
            .collect();
        lines.join(between).trim_end().to_owned()
    }

    pub(super) fn title(&self) -> String {
        self.joined('T', " ").trim().to_owned()
    }

    pub(super) fn text(&self) -> String {
        self.joined('W', "\n")
    }

    pub(super) fn attributes(&self, source: &str) -> Result<Attributes, DataError> {
        let mut attributes = Attributes::new();
        let names = [
            ('A', "author", "; "),
            ('B', "bibliography", " "),
            ('K', "keywords", " "),
            ('C', "classes", " "),
            ('N', "notes", " "),
        ];
        for (mark, name, between) in names {
            let text = self.joined(mark, between);
            if !text.is_empty() {
                attributes.set(name, text);
            }
        }
        let mut citations = Vec::new();
        for line in self.fields.get(&'X').into_iter().flatten() {
            let numbers: Result<Vec<i64>, _> = line.split_whitespace().map(str::parse).collect();
            match numbers {
                Ok(numbers) if numbers.is_empty() => {}
                Ok(numbers) if numbers.len() == 3 => citations.push(Value::from(numbers)),
                _ => {
                    return Err(DataError::Syntax {
                        path: source.to_owned(),
                        line: self.line,
                        expected: "three whole numbers in each line of the record's .X",
                        found: excerpt(line),
                    });
                }
            }
        }
        if !citations.is_empty() {
            attributes.set("citations", citations);
        }
        Ok(attributes)
    }
}

/// Reads record after record.
pub(super) struct Records<R> {
    lines: Lines<R>,
    source: Arc<str>,
    repeated: Repeated,
    /// The head of the record that comes next.
    head: Option<(String, u64)>,
    started: bool,
    seen: Seen,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(reader: R, source: &str, repeated: Repeated) -> Self {
        let lines = Lines::new(reader, source);
        Self {
            source: lines.source(),
            lines,
            repeated,
            head: None,
            started: false,
            seen: Seen::default(),
        }
    }

    /// The next record; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Record>, DataError> {
        if !self.started {
            self.started = true;
            self.body()?;
        }
        let Some((number, line)) = self.head.take() else {
            return Ok(None);
        };
        self.seen.new_id(&number, &self.source, line)?;
        let fields = self.body()?;
        if !fields.contains_key(&'W') {
            return Err(DataError::MissingField {
                path: self.source.as_ref().to_owned(),
                line,
                field: ".W".to_owned(),
            });
        }
        Ok(Some(Record {
            number,
            line,
            fields,
        }))
    }

    /// The fields up to the next `.I`, which is kept, or the end.
    fn body(&mut self) -> Result<BTreeMap<char, Vec<String>>, DataError> {
        let mut fields: BTreeMap<char, Vec<String>> = BTreeMap::new();
        let mut current = None;
        while let Some(line) = self.lines.read()? {
            let text = line.text.strip_suffix('\r').unwrap_or(line.text);
            let syntax = |expected| DataError::Syntax {
                path: self.source.as_ref().to_owned(),
                line: line.number,
                expected,
                found: excerpt(text),
            };
            if let Some(number) = text.strip_prefix(".I")
                && number.starts_with([' ', '\t'])
            {
                let number = number.trim();
                if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(syntax("a number after .I"));
                }
                self.head = Some((number.to_owned(), line.number));
                return Ok(fields);
            }
            match mark(text) {
                Some('I') => return Err(syntax("a number after .I")),
                Some(mark @ ('T' | 'A' | 'B' | 'W' | 'X' | 'K' | 'C' | 'N')) => {
                    if fields.contains_key(&mark) && self.repeated == Repeated::TextGoesOn {
                        continue;
                    }
                    fields.entry(mark).or_default();
                    current = Some(mark);
                }
                Some(_) => return Err(syntax("one of .I .T .A .B .W .X .K .C .N")),
                None => match current.and_then(|mark| fields.get_mut(&mark)) {
                    Some(lines) => lines.push(text.to_owned()),
                    None if text.trim().is_empty() => {}
                    None => return Err(syntax("a record that begins with .I and a mark")),
                },
            }
        }
        Ok(fields)
    }
}

/// The letter of a line that is a mark.
fn mark(text: &str) -> Option<char> {
    let mut chars = text.trim_end().chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('.'), Some(letter @ 'A'..='Z'), None) => Some(letter),
        _ => None,
    }
}
