use std::io::{self, BufRead, Read};

use ir_core::Attributes;
use ir_data::parser_message;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::record::{FaqFields, SocoContent, SocoDocument};

/// Error of a file of records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum SocoError {
    /// The file cannot be read.
    #[error("{path}: cannot read")]
    Read {
        path: String,
        #[source]
        source: io::Error,
    },
    /// The file is not a sequence or an array of objects. `entry` counts from 1.
    #[error("{path}:{line}: entry {entry}: expected {expected}, found {found}")]
    Syntax {
        path: String,
        line: u64,
        entry: u64,
        expected: &'static str,
        found: String,
    },
    /// A field has the wrong type or is missing. `found` is the parser's message.
    #[error("{path}:{line}: entry {entry}: field {field}: {found}")]
    Field {
        path: String,
        line: u64,
        entry: u64,
        field: String,
        found: String,
    },
}

/// Reader of records, one at a time. After an error, there are no further records.
#[derive(Debug)]
pub struct SocoReader<R> {
    input: LineCounter<R>,
    path: String,
    /// Number of records that were started.
    entry: u64,
    state: ReaderState,
    /// If `true`, the end or an error was reached.
    is_done: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReaderState {
    Start,
    Sequence,
    /// Within an array. The flag is true after a comma.
    Array(bool),
    End,
}

#[derive(Deserialize)]
struct Record {
    doc_type: String,
    data: Box<RawValue>,
    #[serde(default)]
    meta: Attributes,
}

impl<R: BufRead> SocoReader<R> {
    /// Reads from `input`; `path` names it in errors.
    pub fn new(input: R, path: &str) -> Self {
        Self {
            input: LineCounter { input, line: 1 },
            path: path.to_owned(),
            entry: 0,
            state: ReaderState::Start,
            is_done: false,
        }
    }

    fn read(&mut self) -> Result<Option<SocoDocument>, SocoError> {
        loop {
            let next = self.input.peek();
            let next = next.map_err(|source| self.read_error(source))?;
            match (self.state, next) {
                (_, Some(b' ' | b'\t' | b'\r' | b'\n')) => self.input.skip(),
                (ReaderState::Start, Some(0xef)) if self.input.skip_byte_order_mark() => {}
                (ReaderState::Start, Some(b'[')) => {
                    self.input.skip();
                    self.state = ReaderState::Array(true);
                }
                (ReaderState::Start | ReaderState::Sequence, None) => return Ok(None),
                (ReaderState::Start | ReaderState::Sequence, Some(b'{')) => {
                    self.state = ReaderState::Sequence;
                    return self.record().map(Some);
                }
                (ReaderState::Array(true), Some(b'{')) => {
                    self.state = ReaderState::Array(false);
                    return self.record().map(Some);
                }
                (ReaderState::Array(false), Some(b',')) => {
                    self.input.skip();
                    self.state = ReaderState::Array(true);
                }
                (ReaderState::Array(after_comma), Some(b']'))
                    if !after_comma || self.entry == 0 =>
                {
                    self.input.skip();
                    self.state = ReaderState::End;
                }
                (ReaderState::End, None) => return Ok(None),
                (state, found) => {
                    let expected = match state {
                        ReaderState::Start | ReaderState::Sequence | ReaderState::Array(true) => {
                            "an object"
                        }
                        ReaderState::Array(false) => "`,` or `]`",
                        ReaderState::End => "the end of the file",
                    };
                    let found = found.map_or_else(
                        || "the end of the file".to_owned(),
                        |byte| format!("`{}`", char::from(byte).escape_debug()),
                    );
                    return Err(SocoError::Syntax {
                        path: self.path.clone(),
                        line: self.input.line,
                        entry: self.entry + 1,
                        expected,
                        found,
                    });
                }
            }
        }
    }

    fn read_error(&self, source: io::Error) -> SocoError {
        let path = self.path.clone();
        SocoError::Read { path, source }
    }

    /// Reads an object. The parser reads no byte beyond its closing brace.
    fn record(&mut self) -> Result<SocoDocument, SocoError> {
        self.entry += 1;
        let line = self.input.line;
        let mut parser = serde_json::Deserializer::from_reader(&mut self.input);
        let raw = match Box::<RawValue>::deserialize(&mut parser) {
            Ok(raw) => raw,
            Err(error) if error.is_io() => return Err(self.read_error(error.into())),
            Err(error) => {
                return Err(SocoError::Syntax {
                    path: self.path.clone(),
                    line: line + (error.line() as u64).saturating_sub(1),
                    entry: self.entry,
                    expected: "JSON",
                    found: format!(
                        "an error ({})",
                        parser_message(&error.to_string(), "an object")
                    ),
                });
            }
        };
        let text = raw.get();
        let record: Record = self.parse(text, "", line)?;
        let data = record.data.get();
        // The value of `data` is a part of the text of the record.
        let before = text
            .find(data)
            .map_or(0, |at| text[..at].matches('\n').count());
        let line_of_data = line + before as u64;
        let content = match record.doc_type.as_str() {
            "soco_doc" => SocoContent::Document(self.parse(data, "data", line_of_data)?),
            "soco_faq" => {
                let entries: Vec<FaqFields> = self.parse(data, "data", line_of_data)?;
                SocoContent::Faq(entries.into_iter().map(Into::into).collect())
            }
            other => {
                return Err(SocoError::Field {
                    path: self.path.clone(),
                    line,
                    entry: self.entry,
                    field: "doc_type".to_owned(),
                    found: format!("expected soco_doc or soco_faq, found {other:?}"),
                });
            }
        };
        Ok(SocoDocument {
            content,
            meta: record.meta,
        })
    }

    /// Parses a value; `prefix` is its field.
    fn parse<T: DeserializeOwned>(
        &self,
        text: &str,
        prefix: &str,
        line: u64,
    ) -> Result<T, SocoError> {
        let mut parser = serde_json::Deserializer::from_str(text);
        serde_path_to_error::deserialize(&mut parser).map_err(|error| {
            let path = error.path().to_string();
            let path = if path == "." { "" } else { path.as_str() };
            let field = match (prefix, path) {
                ("", "") => "(record)".to_owned(),
                (prefix, path) if prefix.is_empty() || path.is_empty() || path.starts_with('[') => {
                    format!("{prefix}{path}")
                }
                (prefix, path) => format!("{prefix}.{path}"),
            };
            let inner = error.into_inner();
            SocoError::Field {
                path: self.path.clone(),
                line: line + (inner.line() as u64).saturating_sub(1),
                entry: self.entry,
                field,
                // The error has the line in a field of its own.
                found: parser_message(&inner.to_string(), "an object"),
            }
        })
    }
}

impl<R: BufRead> Iterator for SocoReader<R> {
    type Item = Result<SocoDocument, SocoError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let next = self.read().transpose();
        self.is_done = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Input that counts its lines.
#[derive(Debug)]
struct LineCounter<R> {
    input: R,
    /// Line from 1 of the next byte.
    line: u64,
}

impl<R: BufRead> LineCounter<R> {
    /// The next byte; `None` at the end.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.input.fill_buf() {
                Ok(bytes) => return Ok(bytes.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Skips the byte that [`LineCounter::peek`] returned.
    fn skip(&mut self) {
        if let Ok(Some(b'\n')) = self.peek() {
            self.line += 1;
        }
        self.input.consume(1);
    }

    /// Skips the byte order mark of UTF-8 at the start of the buffer.
    fn skip_byte_order_mark(&mut self) -> bool {
        let found = self
            .input
            .fill_buf()
            .is_ok_and(|bytes| bytes.starts_with(b"\xef\xbb\xbf"));
        if found {
            self.input.consume(3);
        }
        found
    }
}

impl<R: BufRead> Read for LineCounter<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(out)?;
        self.line += out[..count].iter().filter(|&&byte| byte == b'\n').count() as u64;
        Ok(count)
    }
}
