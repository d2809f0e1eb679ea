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
//! | `<DOCNO>` | id, unique, without inner white space; without it the attribute `id` of `<DOC>` |
//! | `<HEADLINE>` `<TITLE>` `<HEAD>` `<HL>` `<TTL>` | title (not `<HEAD>` after `<DOCHDR>`) |
//! | `<TEXT>` `<LP>` `<LEADPARA>` | text; without them, all but id, title and `<DOCHDR>` |
//! | others, such as `<DATE>` | skipped beside a text; [`skipped_elements`] lists them |
//! | `<SCRIPT>` `<STYLE>` | skipped |
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
//! | `<num>` `<number>` `<id>` `<identifier>` `<qid>` | id, unique, without inner white space |
//! | `<topic_id>` `<topicid>` | the same |
//! | `<title>` | text, at most once |
//! | `<query>` `<content>` `<question>` | attributes; without a title also the text |
//! | `<desc>` `<description>` | the same |
//! | `<narr>` `<narrative>` | attribute `narrative` |
//!
//! - Topics are elements `<top>`, `<topic>` or `<inex_topic>`, with or without a root element, or
//!   `<query>` below `<queries>`, as TREC, CLEF, NTCIR, INEX and FIRE have them. Without an element
//!   for the id, it is the attribute `number`, `num`, `id`, `qid`, `topic_id`, `topicid` or `q` of
//!   the topic. A topic without any of these elements is the text itself; without a text, it is the
//!   attribute `title` or `query`. A prefix of a language is skipped: `<EN-title>`.
//! - Names of elements are case-insensitive.
//! - A record ends at its closing tag; the next one may start on the same line. `<DOC>` in a
//!   document and `<top>` in a topic are errors. Tags in comments, CDATA sections, scripts and
//!   style sheets are not tags of records; in a comment between records, too. Such documents are
//!   counted by [`Corpus::skipped`].
//! - A comment, CDATA section, script or style sheet without an end is text. It has no end, either,
//!   if `</DOC>` and then `<DOC>` or another opening follow before the end: it does not reach into
//!   other documents, as in Lucene's `TrecContentSource`, which splits documents by these tags
//!   alone. A value of several lines does not contain `</DOC>`. The text of a record, and what is
//!   read to find an end, is at most 64 MiB.
//! - Closing tags of topic fields are optional. A field ends at an opening or closing tag of one of
//!   the elements above, or of `con`, `conc`, `smry`, `fac`, `def`, `dom`, `head`, `nat`, `time` or
//!   `subtopic`, which are skipped; so is everything between `<subtopic>` and `</subtopic>`.
//! - `Number:` before an id is removed, and then leading zeros are, too, as in TREC's qrels. Other
//!   ids keep their zeros: `<num>0007</num>`, `<topic number="007">`.
//! - Other tags and comments are removed; they separate words. A tag may span several lines. Values
//!   of attributes may contain `>`. CDATA sections are text. `<TITLE/>` is empty.
//! - An XML declaration, comments, a DOCTYPE and root elements may precede the records. In files
//!   that are read as UTF-8, the encoding of the declaration is UTF-8, ISO-8859-1 or Windows-1252;
//!   another one is an error. A byte order mark takes precedence.
//! - NUL bytes are skipped; [`Corpus::skipped`] counts them.
//! - Character references of HTML are decoded: `&eacute;`, `&#233;`, `&#xE9;`. The names of HTML 4
//!   for Latin-1, and numbers, need no `;`: `caf&eacute`, `&copy 2020`. Unknown ones are text.
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

mod character_references;
mod markup;
mod records;
mod skipped;
mod topics;

pub use character_references::character_reference;
pub use skipped::skipped_elements;
pub use topics::{read_topics, read_topics_by_field};

use std::io::BufRead;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ir_core::{Corpus, CorpusError, DocReader, Document, Skipped};

use crate::collection::collect_documents;
use crate::compression::open;
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location, name_of};
use crate::text_encoding::TextEncoding;
use character_references::decoded;
use markup::{Token, attribute, is_self_closing, tokens};
use records::{RecordElement, RecordElements, RecordReader, append, one_line};

const DOCUMENTS: RecordElements = RecordElements {
    elements: &[RecordElement {
        name: "DOC",
        close: "</DOC>",
        root: None,
    }],
    open: "<DOC>",
};
/// Maximum number of open sections of a document. Opening tags of deeper sections are ignored.
const MAX_DEPTH: usize = 64;

/// Corpus in TREC files, possibly compressed. Every reader opens the files again.
#[derive(Debug, Clone)]
pub struct SgmlCorpus {
    files: Vec<PathBuf>,
    encoding: TextEncoding,
    /// Number of NUL bytes that a reader has skipped.
    skipped_nul: Arc<AtomicU64>,
    /// Number of documents in comments that a reader has skipped.
    commented: Arc<AtomicU64>,
}

impl SgmlCorpus {
    /// Creates a corpus from a file of `<DOC>` elements.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::from_files([path.into()])
    }

    /// Creates a corpus from several files, which are read in this order. An id that two files have
    /// is an error of the reader.
    ///
    /// ```
    /// use ir_core::Corpus;
    /// use ir_data::sgml::SgmlCorpus;
    /// let folder = std::env::temp_dir().join(format!("ir-data-sgml-{}", std::process::id()));
    /// std::fs::create_dir_all(&folder)?;
    /// let files = ["ft911_1", "ft911_2"].map(|name| folder.join(name));
    /// for (number, file) in files.iter().enumerate() {
    ///     std::fs::write(file, format!("<DOC>\n<DOCNO> FT-{number} </DOCNO>\n</DOC>\n"))?;
    /// }
    /// let corpus = SgmlCorpus::from_files(files);
    /// let ids: Result<Vec<_>, _> = corpus.docs()?.map(|doc| doc.map(|doc| doc.id)).collect();
    /// assert_eq!(ids?, ["FT-0", "FT-1"]);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_files(files: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            files: files.into_iter().collect(),
            encoding: TextEncoding::Utf8,
            skipped_nul: Arc::default(),
            commented: Arc::default(),
        }
    }

    /// Sets the character encoding. Default: UTF-8, or the encoding in the XML declaration of a
    /// file.
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
            skipped_nul: 0,
            commented: 0,
            seen: DuplicateFinder::default(),
        };
        files.open_next()?;
        Ok(Box::new(files))
    }

    fn skipped(&self) -> Skipped {
        Skipped {
            nul_bytes: self.skipped_nul.load(Ordering::Relaxed),
            commented_documents: self.commented.load(Ordering::Relaxed),
            ..Skipped::default()
        }
    }
}

/// Reader of the documents of several files.
struct SgmlFilesReader<'a> {
    corpus: &'a SgmlCorpus,
    /// Number of opened files.
    next: usize,
    current: Option<SgmlReader<Box<dyn BufRead + Send>>>,
    /// Number of NUL bytes of the files that were read.
    skipped_nul: u64,
    /// Number of documents in comments of the files that were read.
    commented: u64,
    /// Ids of all files, if there are several.
    seen: DuplicateFinder,
}

impl SgmlFilesReader<'_> {
    fn open_next(&mut self) -> Result<(), DataError> {
        self.current = None;
        if let Some(path) = self.corpus.files.get(self.next) {
            let name = name_of(path);
            let reader = self.corpus.encoding.decode_markup(open(path)?, &name)?;
            self.current = Some(SgmlReader::new(reader, &name));
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
            self.skipped_nul += current.records.skipped_nul();
            self.commented += current.records.commented;
            self.open_next()?;
        }
        let (nul, commented) = (&self.corpus.skipped_nul, &self.corpus.commented);
        nul.fetch_max(self.skipped_nul, Ordering::Relaxed);
        commented.fetch_max(self.commented, Ordering::Relaxed);
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
            records: RecordReader::new(reader, source, DOCUMENTS),
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
        let (mut after_tag, mut is_page) = (false, false);
        for (range, token) in tokens(self.records.markup()) {
            match token {
                Token::Open(name, attributes) if section(name, is_page).is_some() => {
                    let opened = section(name, is_page);
                    is_page |= opened == Some(Section::Skip);
                    if opened == Some(Section::Id) {
                        let at = self.records.location(range.start);
                        if id_at.replace(at).is_some() {
                            return Err(at.repeated_field("DOCNO"));
                        }
                    }
                    let is_open = open
                        .last()
                        .is_some_and(|top| top.eq_ignore_ascii_case(name));
                    let is_empty = is_self_closing(attributes);
                    if !is_empty && !is_open && open.len() < MAX_DEPTH {
                        open.push(name);
                    }
                }
                Token::Close(name) if section(name, is_page).is_some() => {
                    let same = |open: &&str| open.eq_ignore_ascii_case(name);
                    if let Some(start) = open.iter().rposition(same) {
                        open.truncate(start);
                    }
                }
                Token::Open(..) | Token::Close(_) | Token::Skipped => {}
                Token::Text(words) | Token::Verbatim(words) => {
                    let section = open.last().and_then(|name| section(name, is_page));
                    has_text |= section == Some(Section::Text);
                    let target = match section {
                        Some(Section::Id) => &mut id,
                        Some(Section::Title) => &mut title,
                        Some(Section::Text) => &mut text,
                        Some(Section::Skip) => continue,
                        None => &mut other,
                    };
                    match token {
                        Token::Text(_) => append(target, &decoded(words), after_tag),
                        _ => append(target, words, after_tag),
                    }
                }
            }
            after_tag = !matches!(token, Token::Text(_) | Token::Verbatim(_));
        }
        let mut id = id.trim().to_owned();
        if id_at.is_none()
            && let Some(value) = attribute(&self.records.attributes, "id")
        {
            id = decoded(value.trim()).into_owned();
        }
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
        doc.text = if has_text { &text } else { &other }.trim().to_owned();
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
/// The source cannot be read, or a record does not follow the [format](self).
pub fn read_documents(reader: impl BufRead, source: &str) -> Result<Vec<Document>, DataError> {
    let mut docs = SgmlReader::new(reader, source);
    collect_documents(|doc| docs.read_into(doc))
}

/// Part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Id,
    Title,
    Text,
    Skip,
}

/// Section of an element, of a web page after its `<DOCHDR>`: `<HEAD>` is no title there.
fn section(name: &str, is_page: bool) -> Option<Section> {
    Some(match name.to_ascii_uppercase().as_str() {
        "DOCNO" => Section::Id,
        "HEADLINE" | "TITLE" | "HL" | "TTL" => Section::Title,
        "HEAD" if !is_page => Section::Title,
        "TEXT" | "LP" | "LEADPARA" => Section::Text,
        "DOCHDR" => Section::Skip,
        _ => return None,
    })
}
