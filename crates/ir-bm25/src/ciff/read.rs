//! Import of an index.

use std::fmt::{self, Display};
use std::io::{BufRead, Read};
use std::path::Path;

use ir_core::{DocFilter, DocNum, DocSet, Flow, Progress};
use prost::Message;

use super::messages::{DocRecordMessage, HeaderMessage, PostingsListMessage};
use super::{CiffError, CiffHeader, VERSION};
use crate::indexer::PostingListBuilder;
use crate::postings::Posting;
use crate::{Analysis, BuildError, DocOrder, Index, IndexConfig};

/// Number of posting lists or documents between reports of progress.
const REPORTED: u32 = 1 << 12;

/// Reader of an index in the Common Index File Format. [`Index::write_ciff`] has an example.
///
/// The index has the field `contents`, the document numbers, frequencies and document lengths of
/// the file, and neither positions nor stored fields. BM25's average document length is the mean of
/// the document lengths that are not 0.
#[derive(Debug)]
pub struct CiffReader<R> {
    input: MessageReader<R>,
    header: CiffHeader,
}

impl<R: BufRead> CiffReader<R> {
    /// Reads the header of a file. `name` is for errors.
    ///
    /// # Errors
    /// Returns [`CiffError::Read`], and [`CiffError::Invalid`] for another version, invalid numbers
    /// and files with a part of the documents.
    pub fn new(input: R, name: &str) -> Result<Self, CiffError> {
        let mut input = MessageReader {
            reader: input,
            name: name.to_owned(),
            part: Part::Header,
            start: 0,
            offset: 0,
            buffer: Vec::new(),
        };
        let message: HeaderMessage = input.read(Part::Header)?;
        if message.version != VERSION {
            return Err(input.invalid(format!("version {VERSION}"), message.version));
        }
        let number = |what: &str, number: i32| {
            let expected = || input.invalid(format!("{what} of at least 0"), number);
            u32::try_from(number).map_err(|_| expected())
        };
        let header = CiffHeader {
            posting_lists: number("num_postings_lists", message.num_postings_lists)?,
            documents: number("num_docs", message.num_docs)?,
            total_posting_lists: number("total_postings_lists", message.total_postings_lists)?,
            tokens: u64::try_from(message.total_terms_in_collection).map_err(|_| {
                let found = message.total_terms_in_collection;
                input.invalid("total_terms_in_collection of at least 0", found)
            })?,
            average_length: message.average_doclength,
            description: message.description,
        };
        if message.total_docs != message.num_docs {
            let expected = format!("all {} documents of the collection", message.total_docs);
            return Err(input.invalid(expected, message.num_docs));
        }
        Ok(Self { input, header })
    }

    /// Header of the file.
    #[must_use]
    pub const fn header(&self) -> &CiffHeader {
        &self.header
    }

    /// Builds an index in memory. `analysis` is the analysis of queries, which must have made the
    /// terms of the file; [`CiffHeader::analysis`] is the recorded one. `memory` is the budget for
    /// postings in bytes ([`DEFAULT_MEMORY`](crate::DEFAULT_MEMORY)); the rest is spilled to
    /// temporary files.
    ///
    /// # Errors
    /// Returns [`CiffError::Invalid`] with the position of a damaged message,
    /// [`CiffError::RepeatedTerm`], [`CiffError::Read`] and [`CiffError::Build`].
    pub fn build(
        self,
        analysis: Analysis,
        memory: usize,
        progress: &mut dyn Progress,
    ) -> Result<Index, CiffError> {
        self.finish(analysis, memory, progress, PostingListBuilder::finish)
    }

    /// Builds an index in a file and opens it. The write is atomic.
    ///
    /// # Errors
    /// Returns the errors of [`CiffReader::build`], and [`CiffError::Build`] if the file cannot be
    /// written.
    pub fn build_to(
        self,
        path: impl AsRef<Path>,
        analysis: Analysis,
        memory: usize,
        progress: &mut dyn Progress,
    ) -> Result<Index, CiffError> {
        let path = path.as_ref();
        let finish = |builder: PostingListBuilder, progress: &mut dyn Progress| {
            builder.finish_to(path, progress)
        };
        self.finish(analysis, memory, progress, finish)
    }

    fn finish(
        mut self,
        analysis: Analysis,
        memory: usize,
        progress: &mut dyn Progress,
        finish: impl FnOnce(PostingListBuilder, &mut dyn Progress) -> Result<Index, BuildError>,
    ) -> Result<Index, CiffError> {
        analysis.build().map_err(BuildError::from)?;
        let config = IndexConfig::default()
            .with_analysis(analysis)
            .with_order(DocOrder::Insertion);
        let mut builder = PostingListBuilder::new(config, memory);
        let matched = self.read_lists(&mut builder, progress)?;
        self.read_documents(&mut builder, &matched, progress)?;
        self.input.check_end()?;
        finish(builder, progress).map_err(|error| self.input.build_error(error))
    }

    /// Reads the posting lists. Returns the documents that have postings.
    fn read_lists(
        &mut self,
        builder: &mut PostingListBuilder,
        progress: &mut dyn Progress,
    ) -> Result<DocSet, CiffError> {
        let (lists, documents) = (self.header.posting_lists, self.header.documents);
        let input = &mut self.input;
        let mut matched = DocSet::new();
        let mut postings = Vec::new();
        for number in 1..=lists {
            let list: PostingsListMessage = input.read(Part::List(number, lists))?;
            postings.clear();
            if list.term.is_empty() {
                return Err(input.invalid("a term", "an empty one"));
            }
            let (mut next, mut occurrences) = (0_i64, 0_i64);
            for (n, posting) in list.postings.iter().enumerate() {
                let gap = i64::from(posting.docid);
                if gap < i64::from(n > 0) {
                    let expected = format!("ascending document numbers of term {:?}", list.term);
                    return Err(input.invalid(expected, format_args!("the gap {gap}")));
                }
                next += gap;
                let doc = u32::try_from(next).ok().filter(|&doc| doc < documents);
                let Some(doc) = doc else {
                    let expected = format!("document numbers below {documents}");
                    return Err(input.invalid(expected, next));
                };
                let tf = u32::try_from(posting.tf).ok().filter(|&tf| tf > 0);
                let Some(tf) = tf else {
                    let expected = format!("frequencies of term {:?} of at least 1", list.term);
                    return Err(input.invalid(expected, posting.tf));
                };
                occurrences += i64::from(tf);
                matched.insert(DocNum::new(doc));
                postings.push(Posting { doc, tf });
            }
            if list.df != postings.len() as i64 || postings.is_empty() {
                let expected = format!("df {} of term {:?}", postings.len().max(1), list.term);
                return Err(input.invalid(expected, list.df));
            }
            if list.cf != occurrences {
                let expected = format!("cf {occurrences} of term {:?}", list.term);
                return Err(input.invalid(expected, list.cf));
            }
            let pushed = builder.push_list(&list.term, &postings);
            pushed.map_err(|error| input.build_error(error))?;
            report(progress, "reading terms", number, lists)?;
        }
        Ok(matched)
    }

    /// Reads the records of the documents.
    fn read_documents(
        &mut self,
        builder: &mut PostingListBuilder,
        matched: &DocSet,
        progress: &mut dyn Progress,
    ) -> Result<(), CiffError> {
        let documents = self.header.documents;
        let input = &mut self.input;
        for number in 0..documents {
            let record: DocRecordMessage = input.read(Part::Document(number + 1, documents))?;
            if i64::from(record.docid) != i64::from(number) {
                return Err(input.invalid(format!("docid {number}"), record.docid));
            }
            if record.collection_docid.is_empty() {
                return Err(input.invalid("a collection_docid", "an empty one"));
            }
            let least = u32::from(matched.contains(DocNum::new(number)));
            let length = u32::try_from(record.doclength).ok();
            let Some(length) = length.filter(|&length| length >= least) else {
                let expected = match least {
                    0 => "a doclength of at least 0",
                    _ => "a doclength of at least 1, because the document has postings",
                };
                return Err(input.invalid(expected, record.doclength));
            };
            builder.push_document(&record.collection_docid, length)?;
            report(progress, "reading documents", number + 1, documents)?;
        }
        let (tokens, postings) = (builder.tokens(), builder.postings());
        if tokens < postings {
            let expected = format!("document lengths of at least {postings} in total");
            return Err(input.invalid(expected, tokens));
        }
        Ok(())
    }
}

/// Message of a file, for errors.
#[derive(Debug, Clone, Copy)]
enum Part {
    Header,
    /// Number from 1, and number of posting lists.
    List(u32, u32),
    /// Number from 1, and number of documents.
    Document(u32, u32),
    End,
}

impl Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("header"),
            Self::List(number, count) => write!(f, "posting list {number} of {count}"),
            Self::Document(number, count) => write!(f, "document {number} of {count}"),
            Self::End => f.write_str("after the last document"),
        }
    }
}

/// Reader of messages after their sizes.
#[derive(Debug)]
struct MessageReader<R> {
    reader: R,
    name: String,
    /// Message that was read last.
    part: Part,
    /// Offset of the message.
    start: u64,
    /// Offset of the next byte.
    offset: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> MessageReader<R> {
    fn read<M: Message + Default>(&mut self, part: Part) -> Result<M, CiffError> {
        (self.part, self.start) = (part, self.offset);
        let size = self.size()?;
        self.buffer.clear();
        let read = (&mut self.reader)
            .take(size)
            .read_to_end(&mut self.buffer)
            .map_err(|source| CiffError::Read {
                name: self.name.clone(),
                source,
            })?;
        self.offset += read as u64;
        if read as u64 != size {
            let found = format!("the end of the file after {read}");
            return Err(self.invalid(format!("{size} bytes"), found));
        }
        M::decode(&self.buffer[..])
            .map_err(|error| self.invalid("a message of CIFF", format_args!("an error: {error}")))
    }

    /// Reads the size of a message: a varint of at most 31 bits.
    fn size(&mut self) -> Result<u64, CiffError> {
        let mut size = 0_u64;
        for shift in (0..35).step_by(7) {
            let Some(byte) = self.byte()? else {
                return Err(self.invalid("a message", "the end of the file"));
            };
            size |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                let limit = u64::from(i32::MAX.unsigned_abs());
                if size > limit {
                    return Err(self.invalid(format!("a size of at most {limit}"), size));
                }
                return Ok(size);
            }
        }
        Err(self.invalid("a size of at most 5 bytes", "more"))
    }

    /// Next byte; [`None`] at the end of the file.
    fn byte(&mut self) -> Result<Option<u8>, CiffError> {
        let buffered = self.reader.fill_buf();
        let buffered = buffered.map_err(|source| CiffError::Read {
            name: self.name.clone(),
            source,
        })?;
        let byte = buffered.first().copied();
        if byte.is_some() {
            self.reader.consume(1);
            self.offset += 1;
        }
        Ok(byte)
    }

    fn check_end(&mut self) -> Result<(), CiffError> {
        (self.part, self.start) = (Part::End, self.offset);
        match self.byte()? {
            None => Ok(()),
            Some(_) => Err(self.invalid("the end of the file", "more bytes")),
        }
    }
}

impl<R> MessageReader<R> {
    /// Error of the index builder, which may find a term with two posting lists.
    fn build_error(&self, error: BuildError) -> CiffError {
        match error.repeated_term() {
            Some(term) => CiffError::RepeatedTerm {
                name: self.name.clone(),
                term: term.to_owned(),
            },
            None => error.into(),
        }
    }

    /// Error of the message that was read last.
    fn invalid(&self, expected: impl Display, found: impl Display) -> CiffError {
        CiffError::Invalid {
            name: self.name.clone(),
            message: self.part.to_string(),
            offset: self.start,
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }
}

fn report(
    progress: &mut dyn Progress,
    stage: &str,
    done: u32,
    total: u32,
) -> Result<(), CiffError> {
    if !done.is_multiple_of(REPORTED) {
        return Ok(());
    }
    match progress.report(stage, u64::from(done), Some(u64::from(total))) {
        Flow::Continue => Ok(()),
        Flow::Stop => Err(BuildError::Canceled.into()),
    }
}
