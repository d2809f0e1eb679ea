//! Export of an index.

use std::io::Write;

use ir_core::{DocNum, Flow, Progress};
use prost::Message;

use super::messages::{DocRecordMessage, HeaderMessage, PostingMessage, PostingsListMessage};
use super::{ANALYSIS, CiffError, CiffHeader, VERSION};
use crate::Index;
use crate::postings::Posting;

/// Number of posting lists or documents between reports of progress.
const REPORTED: u64 = 1 << 12;

impl Index {
    /// Writes a field of the index in the Common Index File Format, which
    /// [`CiffReader`](crate::CiffReader) reads. Document numbers and exact document lengths are
    /// kept. The description of the header has the program, the field and the analysis as JSON.
    ///
    /// ```
    /// use ir_bm25::{Bm25, CiffReader, Index, IndexConfig};
    /// use ir_core::{Document, NoProgress, Retriever, Search};
    ///
    /// let documents = [("d1", "Green tea"), ("d2", "Black tea, tea with milk")];
    /// let documents = documents.map(|(id, text)| Document::new(id).with_text(text));
    /// let index = Index::build(&documents[..], &IndexConfig::default(), &mut NoProgress)?;
    /// let mut file = Vec::new();
    /// index.write_ciff("contents", &mut file, &mut NoProgress)?;
    ///
    /// let reader = CiffReader::new(&file[..], "tea.ciff")?;
    /// let analysis = reader.header().analysis().ok_or("no analysis")?;
    /// let read = reader.build(analysis, 1 << 20, &mut NoProgress)?;
    /// let found = read.searcher(Bm25::ANSERINI)?.search("tea", &Search::top(2))?;
    /// assert_eq!(found, index.searcher(Bm25::ANSERINI)?.search("tea", &Search::top(2))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`CiffError::UnknownField`] for a field that the index lacks,
    /// [`CiffError::TooLarge`] if a number exceeds 31 bits, [`CiffError::Damaged`],
    /// [`CiffError::Write`] and [`CiffError::Canceled`].
    pub fn write_ciff<W: Write>(
        &self,
        field: &str,
        mut to: W,
        progress: &mut dyn Progress,
    ) -> Result<CiffHeader, CiffError> {
        let names = self.config().fields.names();
        let Some(number) = names.iter().position(|&name| name == field) else {
            return Err(CiffError::UnknownField {
                expected: names.to_vec(),
                found: field.to_owned(),
            });
        };
        let stats = &self.field_stats()[number];
        let header = CiffHeader {
            posting_lists: small("posting lists", stats.terms)?.unsigned_abs(),
            documents: small("documents", self.len() as u64)?.unsigned_abs(),
            total_posting_lists: small("posting lists", stats.terms)?.unsigned_abs(),
            tokens: stats.tokens,
            average_length: match self.len() {
                0 => 0.0,
                documents => stats.tokens as f64 / documents as f64,
            },
            description: self.ciff_description(field),
        };
        let mut buffer = Vec::new();
        let mut write = |message: &dyn EncodeMessage, what: &dyn Fn() -> String| {
            buffer.clear();
            message.append(&mut buffer, what)?;
            to.write_all(&buffer).map_err(CiffError::Write)
        };
        write(&message_of(&header, self.len() as u64)?, &|| {
            "header".to_owned()
        })?;

        let mut postings: Vec<Posting> = Vec::new();
        let mut lists = self.lists();
        let mut written = 0;
        while let Some((key, mut cursor)) = lists.next()? {
            if key.first().map(|&field| usize::from(field)) != Some(number) {
                continue;
            }
            let term = String::from_utf8_lossy(&key[1..]).into_owned();
            postings.clear();
            cursor.read_all(&mut postings)?;
            let message = posting_list(term, &postings)?;
            let name = || format!("bytes of the posting list of term {:?}", message.term);
            write(&message, &name)?;
            written += 1;
            if written % REPORTED == 0 {
                report(progress, "writing terms", written, stats.terms)?;
            }
        }
        if written != stats.terms {
            return Err(self.malformed_stats().into());
        }
        let lengths = self.lengths(number)?;
        for (doc, id) in (0..).zip(self.ids().iter()) {
            let length = lengths.get(DocNum::new(doc).index()).copied().unwrap_or(0);
            let length_name = || format!("length of document {id:?}");
            let message = DocRecordMessage {
                docid: small("document number", u64::from(doc))?,
                doclength: small_with(&length_name, u64::from(length))?,
                collection_docid: id.to_owned(),
            };
            write(&message, &|| format!("bytes of document {id:?}"))?;
            if u64::from(doc) % REPORTED == 0 {
                report(
                    progress,
                    "writing documents",
                    u64::from(doc),
                    self.len() as u64,
                )?;
            }
        }
        to.flush().map_err(CiffError::Write)?;
        Ok(header)
    }

    /// Program, field and analysis.
    fn ciff_description(&self, field: &str) -> String {
        let program = self.stats().program;
        match self.analyzer_name() {
            Some(name) => format!("{program}; field {field}; custom analyzer {name}"),
            None => {
                // The analysis was read from JSON.
                let json = serde_json::to_string(&self.config().analysis).unwrap_or_default();
                format!("{program}; field {field}; {ANALYSIS}{json}")
            }
        }
    }
}

/// Message that is written after its size.
trait EncodeMessage {
    /// Appends size and message. Messages have at most 2 GiB.
    fn append(&self, to: &mut Vec<u8>, what: &dyn Fn() -> String) -> Result<(), CiffError>;
}

impl<M: Message> EncodeMessage for M {
    fn append(&self, to: &mut Vec<u8>, what: &dyn Fn() -> String) -> Result<(), CiffError> {
        small_with(what, self.encoded_len() as u64)?;
        // A vector has room for every message.
        self.encode_length_delimited(to)
            .map_err(|error| CiffError::Write(error.into()))
    }
}

fn message_of(header: &CiffHeader, documents: u64) -> Result<HeaderMessage, CiffError> {
    let lists = small("posting lists", u64::from(header.posting_lists))?;
    let documents = small("documents", documents)?;
    let tokens = i64::try_from(header.tokens).map_err(|_| CiffError::TooLarge {
        what: "tokens".to_owned(),
        limit: i64::MAX.unsigned_abs(),
        found: header.tokens,
    })?;
    Ok(HeaderMessage {
        version: VERSION,
        num_postings_lists: lists,
        num_docs: documents,
        total_postings_lists: lists,
        total_docs: documents,
        total_terms_in_collection: tokens,
        average_doclength: header.average_length,
        description: header.description.clone(),
    })
}

fn posting_list(term: String, postings: &[Posting]) -> Result<PostingsListMessage, CiffError> {
    let mut messages = Vec::with_capacity(postings.len());
    let (mut previous, mut occurrences) = (0, 0_i64);
    for posting in postings {
        let frequency = || format!("frequency of term {term:?}");
        let tf = small_with(&frequency, u64::from(posting.tf))?;
        occurrences += i64::from(tf);
        messages.push(PostingMessage {
            docid: small(
                "document number",
                u64::from(posting.doc).wrapping_sub(previous),
            )?,
            tf,
        });
        previous = u64::from(posting.doc);
    }
    Ok(PostingsListMessage {
        term,
        df: postings.len() as i64,
        cf: occurrences,
        postings: messages,
    })
}

fn small(what: &str, number: u64) -> Result<i32, CiffError> {
    small_with(&|| what.to_owned(), number)
}

fn small_with(what: &dyn Fn() -> String, number: u64) -> Result<i32, CiffError> {
    i32::try_from(number).map_err(|_| CiffError::TooLarge {
        what: what(),
        limit: u64::from(i32::MAX.unsigned_abs()),
        found: number,
    })
}

fn report(
    progress: &mut dyn Progress,
    stage: &str,
    done: u64,
    total: u64,
) -> Result<(), CiffError> {
    match progress.report(stage, done, Some(total)) {
        Flow::Continue => Ok(()),
        Flow::Stop => Err(CiffError::Canceled),
    }
}
