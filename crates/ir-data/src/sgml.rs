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
//! | `<DOCNO>` | id; required, unique |
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
//! | `<num>` | id, without `Number:` and without leading zeros, as in TREC's qrels |
//! | `<title>` | text; without a title, the description is the text |
//! | `<desc>` `<narr>` | attributes `description` and `narrative` |
//!
//! - Names of elements are case-insensitive. Closing tags of topic fields are optional.
//! - Other tags are removed. `&amp;`, `&lt;`, `&gt;`, `&quot;` and `&apos;` are decoded.
//! - `<DOC>` and `<top>` start a line, `</DOC>` and `</top>` end one.
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
use std::path::PathBuf;
use std::sync::Arc;

use ir_core::{Corpus, CorpusError, DocReader, Document, Query};

use crate::collection::collect_documents;
use crate::compression::open;
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location, name_of};
use crate::indri::unescaped;
use crate::lines::{LineReader, MAX_LINE};

/// Corpus in a TREC file, possibly compressed. Every reader opens the file again.
#[derive(Debug, Clone)]
pub struct SgmlCorpus {
    path: PathBuf,
}

impl SgmlCorpus {
    /// Creates a corpus from a file of `<DOC>` elements.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl Corpus for SgmlCorpus {
    fn open(&self) -> Result<Box<dyn DocReader + '_>, CorpusError> {
        let (reader, source) = (open(&self.path)?, name_of(&self.path));
        Ok(Box::new(SgmlReader::new(reader, &source)))
    }
}

/// Reader of TREC documents.
#[derive(Debug)]
pub struct SgmlReader<R> {
    records: RecordReader<R>,
    seen: DuplicateFinder,
}

impl<R: BufRead> SgmlReader<R> {
    /// Reads from `reader`; `source` names it in errors.
    pub fn new(reader: R, source: &str) -> Self {
        Self {
            records: RecordReader::new(reader, source, ["<DOC>", "</DOC>"]),
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
        let at = Location::new(&self.records.source, line);
        let [mut id, mut title, mut text, mut other] = [const { String::new() }; 4];
        let mut has_text = false;
        let mut open: Vec<&str> = Vec::new();
        for token in tokens(&self.records.markup) {
            match token {
                Token::Open(name) if section(name).is_some() => open.push(name),
                Token::Close(name) => {
                    let same = |open: &&str| open.eq_ignore_ascii_case(name);
                    if let Some(start) = open.iter().rposition(same) {
                        open.truncate(start);
                    }
                }
                Token::Open(_) => {}
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
                    target.push_str(words);
                }
            }
        }
        let id = unescaped(id.trim());
        if id.is_empty() {
            return Err(at.missing_field("DOCNO"));
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
/// The source cannot be read, or a topic has neither number nor text, or the number of another one.
pub fn read_topics(reader: impl BufRead, source: &str) -> Result<Vec<Query>, DataError> {
    const LABELS: [(&str, &str); 4] = [
        ("num", "Number:"),
        ("title", "Topic:"),
        ("desc", "Description:"),
        ("narr", "Narrative:"),
    ];
    let mut records = RecordReader::new(reader, source, ["<top>", "</top>"]);
    let mut seen = DuplicateFinder::default();
    let mut queries = Vec::new();
    while let Some(line) = records.read()? {
        let at = Location::new(source, line);
        let mut fields = [const { String::new() }; LABELS.len()];
        let mut current = None;
        for token in tokens(&records.markup) {
            match (token, current) {
                (Token::Open(name), _) => {
                    let same = |(field, _): &(&str, &str)| field.eq_ignore_ascii_case(name);
                    current = LABELS.iter().position(same);
                }
                (Token::Close(_), _) => current = None,
                (Token::Text(words), Some(field)) => fields[field].push_str(words),
                (Token::Text(_), None) => {}
            }
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

/// Reader of the records between two tags.
#[derive(Debug)]
struct RecordReader<R> {
    lines: LineReader<R>,
    source: Arc<str>,
    tags: [&'static str; 2],
    /// Text of the current record, tags included.
    markup: String,
}

impl<R: BufRead> RecordReader<R> {
    fn new(reader: R, source: &str, tags: [&'static str; 2]) -> Self {
        let lines = LineReader::new(reader, source);
        Self {
            source: lines.source(),
            lines,
            tags,
            markup: String::new(),
        }
    }

    /// Reads the next record into `markup` and returns the line on which it starts; `None` at the
    /// end.
    fn read(&mut self) -> Result<Option<u64>, DataError> {
        let [open, close] = self.tags;
        let mut start = None;
        self.markup.clear();
        while let Some(line) = self.lines.read()? {
            let text = line.text.trim();
            let at = Location::new(&self.source, line.number);
            if start.is_none() {
                if text.is_empty() {
                    continue;
                }
                if !starts_with(text, open) {
                    return Err(at.syntax(open, text));
                }
                start = Some(line.number);
            }
            if (self.markup.len() + text.len()) as u64 > MAX_LINE {
                return Err(at.syntax("a record of at most 64 MiB", open));
            }
            self.markup.push_str(line.text);
            self.markup.push('\n');
            if ends_with(text, close) {
                return Ok(start);
            }
        }
        match start {
            None => Ok(None),
            Some(line) => {
                let at = Location::new(&self.source, line);
                Err(at.syntax(close, "the end of the file"))
            }
        }
    }
}

fn starts_with(text: &str, tag: &str) -> bool {
    let start = text.as_bytes().get(..tag.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
}

fn ends_with(text: &str, tag: &str) -> bool {
    let start = text.len().checked_sub(tag.len());
    start.is_some_and(|start| text.as_bytes()[start..].eq_ignore_ascii_case(tag.as_bytes()))
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

/// Splits a text into names of tags and the text between them.
fn tokens(mut rest: &str) -> impl Iterator<Item = Token<'_>> {
    std::iter::from_fn(move || {
        if let Some((token, after)) = tag(rest) {
            rest = after;
            return Some(token);
        }
        let first = rest.chars().next()?.len_utf8();
        let end = rest[first..].find('<').map_or(rest.len(), |at| first + at);
        let (text, after) = rest.split_at(end);
        rest = after;
        Some(Token::Text(text))
    })
}

/// Tag at the start of a text, and the text after it.
fn tag(text: &str) -> Option<(Token<'_>, &str)> {
    const LONGEST: usize = 4096;
    let body = text.strip_prefix('<')?;
    let end = body.bytes().take(LONGEST).position(|byte| byte == b'>')?;
    let (tag, after) = (&body[..end], &body[end + 1..]);
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
    Some((token, after))
}
