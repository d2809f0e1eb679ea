//! First line of a file, by which its format is detected.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::path::Path;

use crate::compression::open;
use crate::error::{DataError, NO_NAMES, name_of, read_error};
use crate::lines::{MAX_LINE, at_line};
use crate::text_encoding::TextEncoding;

/// Maximum length of what precedes the first record of a file with markup: declarations, comments
/// and the root element.
const MARKUP_HEAD: u64 = 1 << 16;

/// First line of a file that is neither blank nor `sep=;`, and the bytes consumed to find it.
#[derive(Debug)]
pub(crate) struct FileHead {
    /// Bytes consumed so far; the reader of the format reads them again.
    pub(crate) bytes: Vec<u8>,
    /// Range of that line.
    range: Range<usize>,
    /// The line without byte order mark and surrounding white space; empty if the file has none.
    pub(crate) line: String,
    /// Number of that line, from 1.
    pub(crate) number: u64,
    /// Elements at the start of a file with markup.
    elements: FirstElements,
}

impl FileHead {
    /// Reads up to the end of the first non-blank line, which is truncated at [`MAX_LINE`], and of
    /// files with markup up to the first record. More white space before the line is an error, and
    /// so are vectors, Parquet and Arrow: they are read from files.
    pub(crate) fn read(reader: &mut dyn BufRead, name: &str) -> Result<Self, DataError> {
        let mut bytes = Vec::new();
        let mut number = 0;
        let other = |found: &str| DataError::OtherFormat {
            path: name.to_owned(),
            expected: "texts",
            found: found.to_owned(),
        };
        loop {
            number += 1;
            let start = bytes.len();
            let mut limited = reader.take(MAX_LINE + 1);
            let read = limited.read_until(b'\n', &mut bytes);
            let read = read.map_err(|error| match number {
                1 => read_error(Path::new(name))(error),
                number => at_line(error, name, number),
            })?;
            let line = bytes[start..].strip_prefix(b"\xef\xbb\xbf");
            let line = line.unwrap_or(&bytes[start..]).trim_ascii();
            if let Some(found) = vector_format(line).or_else(|| columns_in_a_stream(line)) {
                return Err(other(found));
            }
            let is_skipped = line.is_empty() || is_separator_line(line);
            if is_skipped && bytes.len() as u64 > MAX_LINE {
                return Err(DataError::OtherFormat {
                    path: name.to_owned(),
                    // MAX_LINE.
                    expected: "text in the first 67108864 bytes",
                    found: "white space".to_owned(),
                });
            }
            if read == 0 || !is_skipped {
                let line = String::from_utf8_lossy(line).into_owned();
                let range = start..bytes.len();
                let read = read_first_elements(reader, &line, &mut bytes, start);
                return Ok(Self {
                    elements: read.map_err(|error| at_line(error, name, number))?,
                    bytes,
                    range,
                    line,
                    number,
                });
            }
        }
    }

    /// First line in another encoding than UTF-8.
    pub(crate) fn decoded(&self, encoding: TextEncoding) -> String {
        if self.bytes.starts_with(b"\xef\xbb\xbf") {
            return self.line.clone();
        }
        let mut text = String::new();
        match encoding.decode(self.first_line()).read_to_string(&mut text) {
            Ok(_) => text.trim_ascii().to_owned(),
            Err(_) => self.line.clone(),
        }
    }

    /// The line as it is in the file.
    pub(crate) fn first_line(&self) -> &[u8] {
        self.bytes.get(self.range.clone()).unwrap_or_default()
    }

    /// The file up to the end of the line.
    pub(crate) fn up_to_first_line(&self) -> &[u8] {
        self.bytes.get(..self.range.end).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// Returns `true` if the file is JSON, by its first character, otherwise by its extension.
    pub(crate) fn is_json(&self, path: &Path) -> bool {
        self.line.starts_with(['{', '[']) || has_json_extension(path)
    }

    /// Returns `true` if the file is in SMART format: its first line is `.I` and a number.
    pub(crate) fn is_smart(&self) -> bool {
        let number = self.line.strip_prefix(".I").map(str::trim_start);
        number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    }

    /// Returns `true` if the first element of the file is Indri's `<parameters>`.
    pub(crate) fn is_indri(&self) -> bool {
        self.elements.root_is("parameters")
    }

    /// Returns `true` if the file starts with a TREC document, or with the root element of several.
    pub(crate) fn is_trec(&self) -> bool {
        self.elements.is_trec()
    }

    /// Returns `true` if the first line is a row of MS MARCO's documents: id, URL, title and text.
    pub(crate) fn is_msmarco_document(&self) -> bool {
        let columns: Vec<&str> = self.line.split('\t').collect();
        matches!(columns[..], [_, url, _, _] if url.contains("://"))
    }

    /// Adds to an error of the columns that the file is read as TSV, and which format its first
    /// line has.
    pub(crate) fn with_format(&self, error: DataError) -> DataError {
        match error {
            error @ DataError::Columns { .. } => DataError::TsvColumns {
                error: Box::new(error),
                guess: format_of_columns(&self.line),
            },
            error => error,
        }
    }
}

/// Returns `true` if a line names the separator of the columns, as spreadsheets write it before the
/// header line.
pub(crate) fn is_separator_line(line: &[u8]) -> bool {
    matches!(line.trim_ascii(), b"sep=" | b"sep=," | b"sep=;")
}

/// First element of a file with markup, and the element after its tag. Declarations and comments
/// are skipped.
#[derive(Debug, Default)]
pub(crate) struct FirstElements {
    names: Vec<String>,
    /// If `true`, more text does not add names.
    is_complete: bool,
}

impl FirstElements {
    pub(crate) fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let mut rest = text.trim_start();
        while found.names.len() < 2 && !rest.is_empty() {
            match declaration(rest) {
                Declaration::Closed(length) => {
                    rest = rest[length..].trim_start();
                    continue;
                }
                Declaration::Unfinished => return found,
                Declaration::None => {}
            }
            let tag = rest.strip_prefix('<').unwrap_or_default();
            let end = tag.find(|c: char| matches!(c, '>' | '/') || c.is_whitespace());
            if !tag.starts_with(|c: char| c.is_ascii_alphabetic()) {
                found.is_complete = true;
                return found;
            }
            let Some(end) = end else {
                return found;
            };
            found.names.push(tag[..end].to_owned());
            // The element after the tag of a record does not matter.
            found.is_complete = found.is_trec() || found.root_is("parameters");
            match tag.find('>') {
                Some(end) if !found.is_complete => rest = tag[end + 1..].trim_start(),
                _ => return found,
            }
        }
        found.is_complete = found.names.len() == 2;
        found
    }

    /// Returns `true` if the first element has a name, in any case.
    pub(crate) fn root_is(&self, name: &str) -> bool {
        let root = self.names.first();
        root.is_some_and(|root| root.eq_ignore_ascii_case(name))
    }

    /// Returns `true` if one of the elements has a name, in any case.
    pub(crate) fn has(&self, name: &str) -> bool {
        let mut names = self.names.iter();
        names.any(|found| found.eq_ignore_ascii_case(name))
    }

    /// Returns `true` if the elements are TREC documents.
    pub(crate) fn is_trec(&self) -> bool {
        self.root_is("DOCS") || self.has("DOC")
    }
}

/// Reads the lines after the first one until they show the first elements. `bytes` has the first
/// line from `start`.
fn read_first_elements(
    reader: &mut dyn BufRead,
    line: &str,
    bytes: &mut Vec<u8>,
    start: usize,
) -> io::Result<FirstElements> {
    if !line.starts_with('<') {
        return Ok(FirstElements::default());
    }
    let mut found = FirstElements::parse(line);
    let mut is_end = false;
    while !found.is_complete && !is_end && ((bytes.len() - start) as u64) < MARKUP_HEAD {
        // At least as much as was read, so that the time is linear.
        let target = start + 2 * (bytes.len() - start);
        while bytes.len() < target && !is_end {
            is_end = reader.take(MARKUP_HEAD).read_until(b'\n', bytes)? == 0;
        }
        let text = bytes[start..].strip_prefix(b"\xef\xbb\xbf");
        let text = String::from_utf8_lossy(text.unwrap_or(&bytes[start..]));
        found = FirstElements::parse(&text);
    }
    Ok(found)
}

/// Declaration, processing instruction or comment at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Declaration {
    /// Closed after this number of bytes.
    Closed(usize),
    /// The text ends before the declaration does.
    Unfinished,
    None,
}

/// Finds the end of a declaration at the start of a text. A DOCTYPE may have an internal subset:
/// `<!DOCTYPE topics [ <!ENTITY a "b"> ]>`.
pub(crate) fn declaration(text: &str) -> Declaration {
    let closed = |end: Option<usize>| end.map_or(Declaration::Unfinished, Declaration::Closed);
    if text.starts_with("<!--") {
        return closed(text.find("-->").map(|at| at + "-->".len()));
    }
    let is_instruction = text.starts_with("<?");
    if text.starts_with("<![") || !(is_instruction || text.starts_with("<!")) {
        return Declaration::None;
    }
    let is_end = |c: char| matches!(c, '<' | '>') || (c == '[' && !is_instruction);
    let Some(end) = text[2..].find(is_end).map(|at| at + 2) else {
        return Declaration::Unfinished;
    };
    match text.as_bytes()[end] {
        b'>' => Declaration::Closed(end + 1),
        b'[' => closed(end_of_subset(text, end + 1)),
        _ => Declaration::None,
    }
}

/// End of a DOCTYPE with an internal subset that starts at an offset.
fn end_of_subset(text: &str, start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at += text[at..].find(['<', ']'])?;
        let rest = &text[at..];
        if rest.starts_with("<!--") {
            at += rest.find("-->")?;
        } else if let Some(after) = rest.strip_prefix(']')
            && let Some(after) = after.trim_start().strip_prefix('>')
        {
            return Some(text.len() - after.len());
        } else {
            at += 1;
        }
    }
}

/// End of a hint that names the format of a line of a run, of judgments or of a table without a
/// header; empty for other lines.
fn format_of_columns(line: &str) -> &'static str {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let is_grade = |text: &str| text.parse::<i64>().is_ok();
    match columns[..] {
        [_, _, _, rank, score, _] if is_grade(rank) && score.parse::<f64>().is_ok() => "; a run?",
        [_, _, _, grade] if is_grade(grade) => "; judgments?",
        [_, _, grade] if is_grade(grade) => "; judgments?",
        ["query-id", "corpus-id", "score"] => "; judgments?",
        _ if line.starts_with('<') => {
            "; TREC documents are elements <DOC>, topics are elements <top> or <topic>"
        }
        _ if !line.contains('\t') && line.contains([',', ';']) => NO_NAMES,
        _ => "",
    }
}

/// Format of a file with columns that have names and types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnarFormat {
    /// Apache Parquet: pages of columns in groups of rows.
    Parquet,
    /// Apache Arrow: a file (Feather) or a stream of messages.
    Arrow,
}

impl ColumnarFormat {
    /// Detects the format of a file by its first bytes; `None` for other files and for pipes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn detect(path: impl AsRef<Path>) -> Result<Option<Self>, DataError> {
        let path = path.as_ref();
        if !path.is_file() {
            return Ok(None);
        }
        let file = File::open(path).map_err(read_error(path))?;
        let mut start = Vec::new();
        let read = file.take(8).read_to_end(&mut start);
        read.map_err(read_error(path))?;
        Ok(Self::of_start(&start))
    }

    /// Format that the first bytes show.
    fn of_start(start: &[u8]) -> Option<Self> {
        match start {
            [b'P', b'A', b'R', b'1', ..] => Some(Self::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', 0, 0, ..] => Some(Self::Arrow),
            // A stream starts with a marker and the length of its schema.
            [0xff, 0xff, 0xff, 0xff, _, _, _, 0, ..] => Some(Self::Arrow),
            _ => None,
        }
    }

    /// Name of the format in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
        }
    }
}

/// Error of a file with tags without the feature that reads it.
#[cfg(not(feature = "html"))]
pub(crate) fn no_html(name: &str) -> DataError {
    DataError::OtherFormat {
        path: name.to_owned(),
        expected: "a format without tags, or the feature \"html\"",
        found: "tags".to_owned(),
    }
}

/// Describes a vector file by its magic bytes; `None` for other files.
pub(crate) fn vector_format(line: &[u8]) -> Option<&'static str> {
    Some(match line {
        b"ir-flat" | b"ir-half" | b"ir-hnsw" | b"ir-sprs" => "a vector index: pass it to --vectors",
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => "a NumPy array",
        _ => return None,
    })
}

/// Describes the start of a pipe or of a compressed file in columns; `None` for other files.
fn columns_in_a_stream(line: &[u8]) -> Option<&'static str> {
    match ColumnarFormat::of_start(line)? {
        ColumnarFormat::Parquet => {
            Some("Parquet data, which is read from a file that is not compressed")
        }
        ColumnarFormat::Arrow => {
            Some("Arrow data, which is read from a file that is not compressed")
        }
    }
}

/// Returns `true` if a file starts with the SGML element `<DOC>`, in any case, or with a root
/// element `<DOCS>` or one around `<DOC>`. Declarations, comments and white space before it are at
/// most 64 KiB. Files without a size, such as `/proc/kmsg`, are not read: reading may not end.
#[must_use]
pub fn is_trec_file(path: &Path) -> bool {
    if path.metadata().is_ok_and(|found| found.len() == 0) {
        return false;
    }
    let mut head = Vec::new();
    let read = open(path).map(|file| file.take(MARKUP_HEAD).read_to_end(&mut head));
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head);
    let head = head.trim_ascii_start();
    matches!(read, Ok(Ok(_)))
        && head.starts_with(b"<")
        && FirstElements::parse(&String::from_utf8_lossy(head)).is_trec()
}

/// Returns `true` if the name of a file ends in `.json`, `.jsonl` or `.ndjson`, also compressed.
#[must_use]
pub fn has_json_extension(path: &Path) -> bool {
    [".jsonl", ".json", ".ndjson"]
        .iter()
        .any(|end| has_extension(path, end))
}

/// Returns `true` if the name of a file has an extension, in any case, also compressed.
pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    let name = name_of(path).to_ascii_lowercase();
    let name = [".gz", ".zst"]
        .iter()
        .find_map(|end| name.strip_suffix(end))
        .unwrap_or(&name);
    name.ends_with(extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_first_non_blank_line() {
        let mut reader = "\u{feff}\n \r\n  {\"a\": 1}\nnext".as_bytes();
        let head = FileHead::read(&mut reader, "x").unwrap();
        assert_eq!((head.line.as_str(), head.number), ("{\"a\": 1}", 3));
        assert_eq!(reader, b"next");
        assert!(
            FileHead::read(&mut "\n\n".as_bytes(), "x")
                .unwrap()
                .is_empty()
        );
        for binary in [
            &b"ir-flat\n\0\x01"[..],
            b"\x93NUMPY\x01\0",
            b"ARROW1\0\0\xff\xff\xff\xff",
            b"\xff\xff\xff\xff\x30\x02\0\0\x10\0",
        ] {
            let error = FileHead::read(&mut &*binary, "x").unwrap_err().to_string();
            assert!(error.starts_with("x: expected texts, found "), "{error}");
        }
    }

    #[test]
    fn first_elements_of_markup() {
        let document = "<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n";
        for prolog in [
            "",
            "<?xml version=\"1.0\"?>\n",
            "<?xml version='1.0'?><!-- tea\n<a>\n --> \n",
            "<!DOCTYPE docs [\n<!-- it's ]> -->\n<!ENTITY tea \"green\">\n] >\n",
            "<root>\n\n",
            "<?xml version='1.0'?>\n<root lang='en'>\n<!-- tea -->\n",
            "<docs>",
        ] {
            let text = format!("\n{prolog}{document}");
            let mut reader = text.as_bytes();
            let head = FileHead::read(&mut reader, "x").unwrap();
            assert!(head.is_trec() && !head.is_indri(), "{text}");
            // The reader of the format reads the bytes again.
            assert_eq!([&head.bytes[..], reader].concat(), text.as_bytes());
            assert!(head.first_line().ends_with(b"\n"));
        }
        let head = |text: &str| FileHead::read(&mut text.as_bytes(), "x").unwrap();
        assert!(head("<?xml version='1.0'?>\n<parameters>\n<query>").is_indri());
        for text in [
            "<a><b><DOC>",
            "<a>tea<DOC>",
            "<!-- <DOC>",
            "<![CDATA[<DOC>]]>",
            "<",
            "<3 a",
        ] {
            assert!(!head(text).is_trec(), "{text}");
        }
    }

    #[test]
    fn leading_white_space_is_limited() {
        let mut endless = std::io::BufReader::new(std::io::repeat(b' '));
        let error = FileHead::read(&mut endless, "x").unwrap_err();
        let expected = format!("x: expected text in the first {MAX_LINE} bytes, found white space");
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
