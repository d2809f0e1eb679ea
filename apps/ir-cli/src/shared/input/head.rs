//! Format detection from the first line of a file.

use std::io::{BufRead, Read};
use std::path::Path;

use anyhow::{Error, Result, anyhow, bail};
use ir_data::{DataError, JsonFields, MAX_LINE, RecordKind};
use serde_json::{Map, Value};

use super::notes::is_note;
use crate::shared::console::Console;

/// Elements at the start of TREC documents.
const TREC_ELEMENTS: [&str; 2] = ["DOC", "DOCS"];

/// First non-blank line of a file, and the bytes consumed to find it.
pub(super) struct FileHead {
    /// Bytes consumed so far; the parser reads them again.
    pub(super) bytes: Vec<u8>,
    /// First non-blank line, without byte order mark and surrounding white space; empty if the
    /// file has none.
    pub(super) line: String,
    /// Number of that line, from 1.
    line_number: u64,
}

impl FileHead {
    /// Reads up to the end of the first non-blank line, which is truncated at [`MAX_LINE`]. More
    /// white space before it is an error.
    pub(super) fn read(reader: &mut dyn BufRead, name: &str) -> Result<Self> {
        let mut bytes = Vec::new();
        let mut line_number = 0;
        loop {
            line_number += 1;
            let start = bytes.len();
            let read = reader
                .take(MAX_LINE + 1)
                .read_until(b'\n', &mut bytes)
                .map_err(|error| match error.get_ref() {
                    // Decompression errors already name the file.
                    Some(_) => Error::new(error),
                    None => Error::new(error).context(format!("{name}: cannot be read")),
                })?;
            let line = bytes[start..].strip_prefix(b"\xef\xbb\xbf");
            let line = line.unwrap_or(&bytes[start..]).trim_ascii();
            if let Some(found) = vector_format(line) {
                bail!("{name}: expected texts, found {found}");
            }
            if line.is_empty() && bytes.len() as u64 > MAX_LINE {
                bail!("{name}: expected text in the first {MAX_LINE} bytes, found white space");
            }
            if read == 0 || !line.is_empty() {
                let line = String::from_utf8_lossy(line).into_owned();
                return Ok(Self {
                    bytes,
                    line,
                    line_number,
                });
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Returns `true` if the file is JSON, by its first character, otherwise by its extension.
    pub(super) fn is_json(&self, path: &Path) -> bool {
        self.line.starts_with(['{', '[']) || has_json_extension(path)
    }

    /// Returns `true` if the file is in SMART format: its first line is `.I` and a number.
    pub(super) fn is_smart(&self) -> bool {
        let number = self.line.strip_prefix(".I").map(str::trim_start);
        number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    }

    /// Returns `true` if the file starts with an SGML element of this name, in any case.
    pub(super) fn is_element(&self, name: &str) -> bool {
        starts_element(&self.line, name)
    }

    /// Returns `true` if the file starts with a TREC document, or with the root element of several.
    pub(super) fn is_trec(&self) -> bool {
        TREC_ELEMENTS.iter().any(|name| self.is_element(name))
    }

    /// Replaces the first line by the first record of a JSON array.
    pub(super) fn first_of_array(&mut self, array: &[u8]) {
        let text = array.strip_prefix(b"\xef\xbb\xbf").unwrap_or(array);
        let start = text.trim_ascii_start();
        let Some(records) = start.strip_prefix(b"[") else {
            return;
        };
        let space = records.len() - records.trim_ascii_start().len();
        let lines = records[..space].iter().filter(|&&byte| byte == b'\n');
        let mut values = serde_json::Deserializer::from_slice(records).into_iter::<Value>();
        if let Some(Ok(first)) = values.next() {
            self.line = first.to_string();
            self.line_number += lines.count() as u64;
        }
    }

    /// Field names of the first line. An error if it is a JSON object without an id or a text.
    pub(super) fn json_fields(&self, name: &str, kind: RecordKind) -> Result<JsonFields> {
        Ok(JsonFields::detect(
            &self.line,
            kind,
            name,
            self.line_number,
        )?)
    }

    /// Warns if the first line of a TSV file has the names of its columns: it is read as a row.
    pub(super) fn warn_of_column_names(&self, name: &str, console: &Console) {
        let line = self.line.to_lowercase();
        let mut columns = line.split('\t').map(str::trim);
        let (id, text) = (columns.next(), columns.next());
        let kinds = [RecordKind::Document, RecordKind::Query];
        let is_id = |id| {
            kinds
                .iter()
                .any(|kind| kind.id_names().any(|name| name == id))
        };
        let is_text = |text| {
            kinds
                .iter()
                .any(|kind| kind.text_names().any(|name| name == text))
        };
        if id.is_some_and(is_id) && text.is_some_and(is_text) {
            console.warn(format_args!(
                "{name}:{}: a line of column names? it is read as a row; remove it (tail -n +2)",
                self.line_number
            ));
        }
    }

    /// Adds to an error of the columns that the documents are read as TSV, and which format the
    /// first line has.
    pub(super) fn documents_error(&self, path: &Path, error: DataError) -> Error {
        match format_of_columns(&self.line) {
            "" if is_note(path) => anyhow!(
                "{error} (read as TSV: id, tab, text; notes are read from a folder: give the folder)"
            ),
            _ => self.queries_error(error),
        }
    }

    /// Returns `true` if the first line is a row of MS MARCO's documents: id, URL, title and text.
    pub(super) fn is_msmarco_document(&self) -> bool {
        let columns: Vec<&str> = self.line.split('\t').collect();
        matches!(columns[..], [_, url, _, _] if url.contains("://"))
    }

    /// [`Self::documents_error`] of queries.
    pub(super) fn queries_error(&self, error: DataError) -> Error {
        let format = format_of_columns(&self.line);
        anyhow!("{error} (read as TSV: id, tab, text{format})")
    }

    /// Fields of the first line; none if it is not a JSON object.
    pub(super) fn fields(&self) -> Map<String, Value> {
        serde_json::from_str(&self.line).unwrap_or_default()
    }
}

/// Returns `true` if a text starts with the opening tag of an element, in any case.
fn starts_element(text: &str, name: &str) -> bool {
    let rest = text.strip_prefix('<').unwrap_or_default();
    let end = rest.find(|c: char| c == '>' || c.is_whitespace());
    end.is_some_and(|end| rest[..end].eq_ignore_ascii_case(name))
}

/// End of a hint that names the format of a line of a run or of judgments; empty for other lines.
fn format_of_columns(line: &str) -> &'static str {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let is_grade = |text: &str| text.parse::<i64>().is_ok();
    match columns[..] {
        [_, _, _, rank, score, _] if is_grade(rank) && score.parse::<f64>().is_ok() => "; a run?",
        [_, _, _, grade] if is_grade(grade) => "; judgments?",
        [_, _, grade] if is_grade(grade) => "; judgments?",
        ["query-id", "corpus-id", "score"] => "; judgments?",
        _ => "",
    }
}

/// Names of the fields of an object, quoted, for messages.
pub(crate) fn field_names(object: &Map<String, Value>) -> String {
    if object.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<String> = object.keys().map(|name| format!("{name:?}")).collect();
    names.join(", ")
}

/// Returns `true` if a file starts with the SGML element `<DOC>`, in any case, or with a root
/// element `<DOCS>`. White space before it is at most 4 KiB. Files without a size, such as
/// `/proc/kmsg`, are not read: reading may not end.
pub(super) fn is_trec(path: &Path) -> bool {
    if path.metadata().is_ok_and(|found| found.len() == 0) {
        return false;
    }
    let mut head = Vec::new();
    let read = ir_data::open(path).map(|file| file.take(1 << 12).read_to_end(&mut head));
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    let line = String::from_utf8_lossy(head.trim_ascii_start());
    matches!(read, Ok(Ok(_))) && TREC_ELEMENTS.iter().any(|name| starts_element(&line, name))
}

/// Describes a vector file by its magic bytes; `None` for other files.
fn vector_format(line: &[u8]) -> Option<&'static str> {
    Some(match line {
        b"ir-flat" | b"ir-half" | b"ir-hnsw" | b"ir-sprs" if cfg!(feature = "dense") => {
            "a vector index: pass it to --vectors"
        }
        b"ir-flat" | b"ir-half" | b"ir-hnsw" | b"ir-sprs" => {
            "a vector index: pass it to --vectors, which needs the feature \"dense\" \
             (cargo install --path apps/ir-cli --features dense)"
        }
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => "a NumPy array",
        _ => return None,
    })
}

pub(super) fn has_json_extension(path: &Path) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let name = [".gz", ".zst"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(&name);
    [".jsonl", ".json", ".ndjson"]
        .iter()
        .any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_first_non_blank_line() {
        let mut reader = "\u{feff}\n \r\n  {\"a\": 1}\nnext".as_bytes();
        let head = FileHead::read(&mut reader, "x").unwrap();
        assert_eq!(head.line, "{\"a\": 1}");
        assert!(head.fields().keys().eq(["a"]));
        assert_eq!(reader, b"next");
        assert!(
            FileHead::read(&mut "\n\n".as_bytes(), "x")
                .unwrap()
                .is_empty()
        );
        for vectors in [&b"ir-flat\n\0\x01"[..], b"\x93NUMPY\x01\0"] {
            let error = FileHead::read(&mut &*vectors, "x")
                .err()
                .unwrap()
                .to_string();
            assert!(error.starts_with("x: expected texts, found "), "{error}");
        }
    }

    #[test]
    fn leading_white_space_is_limited() {
        let mut endless = std::io::BufReader::new(std::io::repeat(b' '));
        let error = FileHead::read(&mut endless, "x").err().unwrap();
        let expected = "x: expected text in the first 67108864 bytes, found white space";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn json_extensions() {
        for name in ["a.jsonl", "A.JSON", "a.jsonl.gz", "a.json.zst"] {
            assert!(has_json_extension(Path::new(name)), "{name}");
        }
        for name in ["a.tsv", "json", "a.json.tsv", "a.gz"] {
            assert!(!has_json_extension(Path::new(name)), "{name}");
        }
    }
}
