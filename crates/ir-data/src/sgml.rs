//! TREC documents and topics in SGML.
//!
//! ```text
//! <DOC>
//! <DOCNO> FT911-3 </DOCNO>
//! <HEADLINE> Tea prices </HEADLINE>
//! <TEXT>
//! The price of tea &amp; coffee ...
//! </TEXT>
//! </DOC>
//! ```
//!
//! | element | result |
//! |---|---|
//! | `<DOCNO>` | id; required once, unique, without inner white space |
//! | `<HEADLINE>` `<TITLE>` `<HEAD>` `<HL>` `<TTL>` | title |
//! | `<TEXT>` | text; without this element, everything that is not id, title or `<DOCHDR>` |
//!
//! Topics:
//!
//! ```text
//! <top>
//! <num> Number: 301
//! <title> International Organized Crime
//! <desc> Description:
//! Identify organizations that participate in international criminal activity.
//! <narr> Narrative:
//! ...
//! </top>
//! ```
//!
//! | element | result |
//! |---|---|
//! | `<num>` | id; required once, unique, without inner white space |
//! | `<title>` | text, at most once; without a title, the description is the text |
//! | `<desc>` `<narr>` | attributes `description` and `narrative` |
//!
//! - Names of elements are case-insensitive.
//! - A record ends at `</DOC>` or `</top>`; the next one may start on the same line. `<DOC>` in a
//!   document and `<top>` in a topic are errors.
//! - Closing tags of topic fields are optional. A field ends at an opening or closing tag of `num`,
//!   `title`, `desc`, `narr`, `con`, `smry`, `fac`, `def`, `dom`, `head`, `nat` or `time`.
//! - `Number:` and leading zeros of `<num>` are removed, as in TREC's qrels.
//! - Other tags are removed. A tag separates words, as in Lucene's reader of TREC files.
//! - `&amp;`, `&lt;`, `&gt;`, `&quot;` and `&apos;` are decoded.
//!
//! ```
//! let text = "<DOC>\n<DOCNO> d1 </DOCNO>\n<TEXT>\nTea &amp; <i>milk</i>\n</TEXT>\n</DOC>\n";
//! let docs = ir_data::sgml::read_documents(text.as_bytes(), "docs.sgml")?;
//! assert_eq!((docs[0].id.as_str(), docs[0].text.as_str()), ("d1", "Tea & milk"));
//! let text = "<top>\n<num> Number: 051\n<title> Airbus subsidies\n</top>\n";
//! let topics = ir_data::sgml::read_topics(text.as_bytes(), "topics")?;
//! assert_eq!((topics[0].id.as_str(), topics[0].text.as_str()), ("51", "Airbus subsidies"));
//! # Ok::<(), ir_data::DataError>(())
//! ```

use std::io::BufRead;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use ir_core::{Corpus, CorpusError, DocReader, Document, Query};

use crate::collection::collect_documents;
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location, name_of};
use crate::indri::unescaped;
use crate::lines::{LineReader, MAX_LINE};
use crate::text_encoding::TextEncoding;

const DOCUMENT_TAGS: [&str; 2] = ["<DOC>", "</DOC>"];
const TOPIC_TAGS: [&str; 2] = ["<top>", "</top>"];

/// Topic sections with a result, and the labels at the start of their texts.
const LABELS: [(&str, &str); 4] = [
    ("num", "Number:"),
    ("title", "Topic:"),
    ("desc", "Description:"),
    ("narr", "Narrative:"),
];

/// Positions in [`LABELS`] of the sections that a topic has at most once.
const ID: usize = 0;
const TITLE: usize = 1;

/// Topic sections without a result.
const IGNORED_TOPIC_SECTIONS: [&str; 8] =
    ["con", "smry", "fac", "def", "dom", "head", "nat", "time"];

/// Maximum number of open sections of a document. Opening tags of deeper sections are ignored.
const MAX_DEPTH: usize = 64;

/// Corpus in TREC files, possibly compressed. Every reader opens the files again.
#[derive(Debug, Clone)]
pub struct SgmlCorpus {
    files: Vec<PathBuf>,
    encoding: TextEncoding,
}

impl SgmlCorpus {
    /// Creates a corpus from a file of `<DOC>` elements.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::from_files([path.into()])
    }

    /// Creates a corpus from several files, which are read in this order. Ids are unique in all of
    /// them.
    pub fn from_files(files: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            files: files.into_iter().collect(),
            encoding: TextEncoding::Utf8,
        }
    }

    /// Sets the character encoding. Default: UTF-8.
    #[must_use]
    pub fn with_encoding(mut self, encoding: TextEncoding) -> Self {
        self.encoding = encoding;
        self
    }
}

impl Corpus for SgmlCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let mut files = SgmlFilesReader {
            corpus: self,
            next: 0,
            current: None,
            seen: DuplicateFinder::default(),
        };
        files.open_next()?;
        Ok(Box::new(files))
    }
}

/// Reader of the documents of several files.
struct SgmlFilesReader<'a> {
    corpus: &'a SgmlCorpus,
    /// Number of opened files.
    next: usize,
    current: Option<SgmlReader<Box<dyn BufRead + Send>>>,
    /// Ids of all files, if there are several.
    seen: DuplicateFinder,
}

impl SgmlFilesReader<'_> {
    fn open_next(&mut self) -> Result<(), DataError> {
        self.current = None;
        if let Some(path) = self.corpus.files.get(self.next) {
            let reader = self.corpus.encoding.open(path)?;
            self.current = Some(SgmlReader::new(reader, &name_of(path)));
            self.next += 1;
        }
        Ok(())
    }

    fn read_into(&mut self, doc: &mut Document) -> Result<bool, DataError> {
        while let Some(current) = &mut self.current {
            if current.read_into(doc)? {
                let is_several = self.corpus.files.len() > 1;
                if is_several && self.seen.add(&[&doc.id], self.next as u64).is_some() {
                    let at = Location::new(&current.records.source, current.line);
                    return Err(at.syntax("an id that no earlier file has", &doc.id));
                }
                return Ok(true);
            }
            self.open_next()?;
        }
        Ok(false)
    }
}

impl DocReader for SgmlFilesReader<'_> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        Ok(self.read_into(doc)?)
    }
}

/// Reader of TREC documents.
#[derive(Debug)]
pub struct SgmlReader<R> {
    records: RecordReader<R>,
    /// Line on which the last document starts.
    line: u64,
    seen: DuplicateFinder,
}

impl<R: BufRead> SgmlReader<R> {
    /// Reads from `reader`; `source` names it in errors.
    pub fn new(reader: R, source: &str) -> Self {
        Self {
            records: RecordReader::new(reader, source, DOCUMENT_TAGS),
            line: 0,
            seen: DuplicateFinder::default(),
        }
    }

    /// Reads the next document into `doc`; `false` at the end.
    ///
    /// # Errors
    /// The source cannot be read, or a record does not follow the [format](self).
    pub fn read_into(&mut self, doc: &mut Document) -> Result<bool, DataError> {
        let Some(line) = self.records.read()? else {
            return Ok(false);
        };
        self.line = line;
        let at = Location::new(&self.records.source, line);
        let mut id_at = None;
        let [mut id, mut title, mut text, mut other] = [const { String::new() }; 4];
        let mut has_text = false;
        let mut open: Vec<&str> = Vec::new();
        let mut after_tag = false;
        for (range, token) in tokens(&self.records.markup) {
            match token {
                Token::Open(name) if section(name).is_some() => {
                    if section(name) == Some(Section::Id) {
                        let at = self.records.location(line, range.start);
                        if id_at.replace(at).is_some() {
                            return Err(repeated_field(at, "DOCNO"));
                        }
                    }
                    let is_open = open
                        .last()
                        .is_some_and(|top| top.eq_ignore_ascii_case(name));
                    if !is_open && open.len() < MAX_DEPTH {
                        open.push(name);
                    }
                }
                Token::Close(name) if section(name).is_some() => {
                    let same = |open: &&str| open.eq_ignore_ascii_case(name);
                    if let Some(start) = open.iter().rposition(same) {
                        open.truncate(start);
                    }
                }
                Token::Open(name) => self.records.check_not_nested(line, range, name)?,
                Token::Close(_) => {}
                Token::Text(words) => {
                    let section = open.last().and_then(|name| section(name));
                    has_text |= section == Some(Section::Text);
                    let target = match section {
                        Some(Section::Id) => &mut id,
                        Some(Section::Title) => &mut title,
                        Some(Section::Text) => &mut text,
                        Some(Section::Skip) => continue,
                        None => &mut other,
                    };
                    append(target, words, after_tag);
                }
            }
            after_tag = !matches!(token, Token::Text(_));
        }
        let id = unescaped(id.trim());
        if id.is_empty() {
            return Err(at.missing_field("DOCNO"));
        }
        if id.contains(char::is_whitespace) {
            let at = id_at.unwrap_or(at);
            return Err(at.syntax("an id without white space in <DOCNO>", &id));
        }
        self.seen.add_id(&id, at)?;
        doc.clear();
        doc.id = id;
        doc.title = one_line(&title);
        doc.text = unescaped(if has_text { &text } else { &other }.trim());
        Ok(true)
    }
}

impl<R: BufRead + Send> DocReader for SgmlReader<R> {
    fn read(&mut self, doc: &mut Document) -> Result<bool, CorpusError> {
        Ok(self.read_into(doc)?)
    }
}

/// Reads all documents; `source` names the reader in errors.
///
/// # Errors
/// See [`SgmlReader::read_into`].
pub fn read_documents(reader: impl BufRead, source: &str) -> Result<Vec<Document>, DataError> {
    let mut docs = SgmlReader::new(reader, source);
    collect_documents(|doc| docs.read_into(doc))
}

/// Reads all topics as queries; `source` names the reader in errors.
///
/// # Errors
/// The source cannot be read, or a topic does not follow the [format](self): it has no number, two
/// numbers or titles, the number of another topic, or no text.
pub fn read_topics(reader: impl BufRead, source: &str) -> Result<Vec<Query>, DataError> {
    let mut records = RecordReader::new(reader, source, TOPIC_TAGS);
    let mut seen = DuplicateFinder::default();
    let mut queries = Vec::new();
    while let Some(line) = records.read()? {
        let at = Location::new(source, line);
        let mut fields = [const { String::new() }; LABELS.len()];
        let mut current = None;
        let mut starts = [None; 2];
        let mut after_tag = false;
        for (range, token) in tokens(&records.markup) {
            match token {
                Token::Open(name) | Token::Close(name) if is_topic_section(name) => {
                    current = None;
                    if let Token::Open(name) = token {
                        let same = |(field, _): &(&str, &str)| field.eq_ignore_ascii_case(name);
                        current = LABELS.iter().position(same);
                    }
                    if let Some(field @ (ID | TITLE)) = current {
                        let at = records.location(line, range.start);
                        if starts[field].replace(at).is_some() {
                            return Err(repeated_field(at, LABELS[field].0));
                        }
                    }
                }
                Token::Open(name) => records.check_not_nested(line, range, name)?,
                Token::Close(_) => {}
                Token::Text(words) => {
                    if let Some(field) = current {
                        append(&mut fields[field], words, after_tag);
                    }
                }
            }
            after_tag = !matches!(token, Token::Text(_));
        }
        let mut values = fields.iter().zip(LABELS).map(|(text, (_, label))| {
            let text = one_line(text);
            text.strip_prefix(label)
                .map_or_else(|| text.clone(), |rest| rest.trim_start().to_owned())
        });
        let [id, title, description, narrative] =
            std::array::from_fn(|_| values.next().unwrap_or_default());
        let id = match id.trim_start_matches('0') {
            number if id.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty() => number,
            _ => id.as_str(),
        };
        if id.is_empty() {
            return Err(at.missing_field("num"));
        }
        if id.contains(' ') {
            let at = starts[ID].unwrap_or(at);
            return Err(at.syntax("an id without white space in <num>", id));
        }
        seen.add_id(id, at)?;
        let text = if title.is_empty() {
            description.clone()
        } else {
            title
        };
        if text.is_empty() {
            return Err(at.missing_field("title"));
        }
        let mut query = Query::new(id, text);
        for (name, value) in [("description", description), ("narrative", narrative)] {
            if !value.is_empty() {
                query.attributes.set(name, value);
            }
        }
        queries.push(query);
    }
    Ok(queries)
}

/// Part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Id,
    Title,
    Text,
    Skip,
}

fn section(name: &str) -> Option<Section> {
    Some(match name.to_ascii_uppercase().as_str() {
        "DOCNO" => Section::Id,
        "HEADLINE" | "TITLE" | "HEAD" | "HL" | "TTL" => Section::Title,
        "TEXT" => Section::Text,
        "DOCHDR" => Section::Skip,
        _ => return None,
    })
}

fn is_topic_section(name: &str) -> bool {
    let names = LABELS.iter().map(|(name, _)| name);
    names
        .chain(&IGNORED_TOPIC_SECTIONS)
        .any(|known| known.eq_ignore_ascii_case(name))
}

fn repeated_field(at: Location<'_>, field: &str) -> DataError {
    DataError::RepeatedField {
        path: at.path.to_owned(),
        line: at.line,
        field: field.to_owned(),
    }
}

/// Reader of the records between two tags.
#[derive(Debug)]
struct RecordReader<R> {
    lines: LineReader<R>,
    source: Arc<str>,
    tags: [&'static str; 2],
    line: String,
    number: u64,
    /// Length of the prefix of `line` that belongs to previous records.
    consumed: usize,
    /// Text of the current record between its tags.
    markup: String,
}

impl<R: BufRead> RecordReader<R> {
    fn new(reader: R, source: &str, tags: [&'static str; 2]) -> Self {
        let lines = LineReader::new(reader, source);
        Self {
            source: lines.source(),
            lines,
            tags,
            line: String::new(),
            number: 0,
            consumed: 0,
            markup: String::new(),
        }
    }

    /// Reads the next record into `markup` and returns the line on which it starts; `None` at the
    /// end.
    fn read(&mut self) -> Result<Option<u64>, DataError> {
        let [open, close] = self.tags;
        self.markup.clear();
        loop {
            // White space is skipped once per line, not once per record of the line.
            let rest = self.line[self.consumed..].trim_start();
            self.consumed = self.line.len() - rest.len();
            if starts_with(rest, open) {
                self.consumed += open.len();
                break;
            }
            if !rest.is_empty() {
                let at = Location::new(&self.source, self.number);
                let error = at.syntax(open, rest.trim_end());
                self.consumed = self.line.len();
                return Err(error);
            }
            if !self.next_line()? {
                return Ok(None);
            }
        }
        let start = self.number;
        while !self.read_line()? {
            if !self.next_line()? {
                let at = Location::new(&self.source, start);
                return Err(at.syntax(close, "the end of the file"));
            }
        }
        Ok(Some(start))
    }

    /// Reads the next line into `line`; `false` at the end.
    fn next_line(&mut self) -> Result<bool, DataError> {
        self.line.clear();
        self.consumed = 0;
        let Some(line) = self.lines.read()? else {
            return Ok(false);
        };
        self.line.push_str(line.text);
        self.number = line.number;
        Ok(true)
    }

    /// Appends the current line to `markup` up to the closing tag. Returns whether there is one.
    fn read_line(&mut self) -> Result<bool, DataError> {
        let [open, close] = self.tags;
        let rest = &self.line[self.consumed..];
        let at = Location::new(&self.source, self.number);
        let mut end = None;
        for (range, token) in tokens(rest) {
            match token {
                Token::Open(name) if self.is_record(name) => {
                    let error = at.syntax(close, &rest[range.clone()]);
                    self.consumed += range.start;
                    return Err(error);
                }
                Token::Close(name) if self.is_record(name) => {
                    end = Some(range);
                    break;
                }
                _ => {}
            }
        }
        let is_last = end.is_some();
        let Range { start, end } = end.unwrap_or(rest.len()..rest.len());
        if (self.markup.len() + start) as u64 > MAX_LINE {
            let error = at.syntax("a record of at most 64 MiB", open);
            self.consumed = self.line.len();
            return Err(error);
        }
        self.markup.push_str(&rest[..start]);
        if !is_last {
            self.markup.push('\n');
        }
        self.consumed += end;
        Ok(is_last)
    }

    /// Whether `name` is the name of the record's element.
    fn is_record(&self, name: &str) -> bool {
        let [open, _] = self.tags;
        name.eq_ignore_ascii_case(open.trim_matches(['<', '>']))
    }

    /// Returns an error if an opening tag in `markup` starts a record, as `<DOC` and `>` on two
    /// lines do. `start` is the line on which the record starts.
    fn check_not_nested(
        &self,
        start: u64,
        range: Range<usize>,
        name: &str,
    ) -> Result<(), DataError> {
        if !self.is_record(name) {
            return Ok(());
        }
        let [_, close] = self.tags;
        let at = self.location(start, range.start);
        Err(at.syntax(close, &self.markup[range]))
    }

    /// Location of a byte of `markup`. `start` is the line on which the record starts.
    fn location(&self, start: u64, offset: usize) -> Location<'_> {
        let lines = self.markup[..offset].matches('\n').count() as u64;
        Location::new(&self.source, start + lines)
    }
}

fn starts_with(text: &str, tag: &str) -> bool {
    let start = text.as_bytes().get(..tag.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
}

/// Appends a text to a field. After a tag, the words on both sides are separate.
fn append(field: &mut String, text: &str, after_tag: bool) {
    let is_word = |char: Option<char>| char.is_some_and(|char| !char.is_whitespace());
    if after_tag && is_word(field.chars().next_back()) && is_word(text.chars().next()) {
        field.push(' ');
    }
    field.push_str(text);
}

/// Joins the words of a text by single spaces and decodes entities.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    unescaped(&words.join(" "))
}

#[derive(Debug, Clone, Copy)]
enum Token<'a> {
    Open(&'a str),
    Close(&'a str),
    Text(&'a str),
}

/// Splits a text into names of tags and the text between them, with their byte ranges.
fn tokens(text: &str) -> impl Iterator<Item = (Range<usize>, Token<'_>)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &text[start..];
        let (token, length) = match tag(rest) {
            Some(found) => found,
            None => {
                let first = rest.chars().next()?.len_utf8();
                let length = rest[first..].find('<').map_or(rest.len(), |at| first + at);
                (Token::Text(&rest[..length]), length)
            }
        };
        let range = start..start + length;
        start = range.end;
        Some((range, token))
    })
}

/// Tag at the start of a text, and its length in bytes. A tag contains no `<`, so that a text of
/// many `<` is split in linear time.
fn tag(text: &str) -> Option<(Token<'_>, usize)> {
    const LONGEST: usize = 4096;
    let body = text.strip_prefix('<')?;
    let is_end = |byte| matches!(byte, b'<' | b'>');
    let end = body.bytes().take(LONGEST).position(is_end)?;
    let tag = body[end..].starts_with('>').then_some(&body[..end])?;
    let (is_closing, name) = match tag.strip_prefix('/') {
        Some(name) => (true, name),
        None => (false, tag),
    };
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!' || c == '?') {
        return None;
    }
    let name = name.split([' ', '\t', '\n', '\r', '/']).next()?;
    let token = if is_closing {
        Token::Close(name)
    } else {
        Token::Open(name)
    };
    Some((token, end + 2))
}
