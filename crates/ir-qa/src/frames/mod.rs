//! Documents to frames, by the published converter's rules.
//!
//! 1. Line breaks and non-breaking spaces become spaces; carriage returns and tabs are deleted.
//! 2. Running text is split into sentences. Sentences that are too short or too long are dropped.
//!    Titles, headings and rows of tables stay whole; formulas are left out.
//! 3. The context of a sentence has, in this order, the last title, the last heading, the sentences
//!    before it and the text after it, joined by spaces. Each side stops as soon as its budget is
//!    used up, so that the last piece may exceed it. The sentences before it stop at a heading, and
//!    equal sentences count once; the text after it stops at a title only. Titles and headings have
//!    no sentences before them. Rows of tables have the title and the heading, and are in no
//!    context of a sentence.
//!
//! Ids of chunks, which are random in the published converter, are numbers of chunks. Two kinds of
//! chunks that it keeps are dropped: blank titles and headings, and those longer than the longest
//! sentence, which would be repeated in the context of every sentence below.

mod context;

use std::collections::BTreeMap;
use std::iter;
use std::ops::Range;

use ir_core::Attributes;

use crate::chunk::Chunk;
use crate::documents::Paper;
use crate::frame::{ChunkKind, Frame};
use crate::sentences::{Language, SentenceSplitter};
use crate::soco::FaqEntry;
use context::{Contexts, Piece};
use ir_core::character_count;

/// Rules of the conversion of documents to frames.
///
/// ```
/// use ir_qa::frames::FrameConfig;
/// use ir_qa::sentences::Language;
/// use ir_qa::{Chunk, ChunkKind};
/// let chunks = [
///     Chunk::new(ChunkKind::Title, "On tea"),
///     Chunk::new(ChunkKind::Content, "Tea is a drink. It comes from Asia."),
/// ];
/// let set = FrameConfig::new(Language::English).convert("p1", &chunks);
/// assert_eq!(set.frames.len(), 3);
/// assert_eq!(set.frames[2].id, "p1/1/1");
/// assert_eq!(set.frames[2].answer, "It comes from Asia.");
/// assert_eq!(set.frames[2].context, "On tea Tea is a drink. It comes from Asia.");
/// assert_eq!(set.frames[2].answer_start, 23);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameConfig {
    /// Splitter of running text.
    pub splitter: SentenceSplitter,
    /// Budget of the context on each side of the answer, in characters. Default: 150 for English,
    /// 75 for Chinese.
    pub budget: usize,
    /// Minimum length of a sentence in characters. Default: 5.
    pub min_length: usize,
    /// Maximum length of a sentence, title or heading in characters. Default: 500.
    pub max_length: usize,
}

/// Frames of a document.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct FrameSet {
    /// Frames in the order of the document.
    pub frames: Vec<Frame>,
    /// Where the answers of the frames are in the document: one position per frame.
    pub positions: Vec<FramePosition>,
    /// Numbers of sentences, titles and headings without a frame.
    pub dropped: DroppedText,
}

/// Position of an answer in its document.
///
/// ```
/// use ir_qa::frames::{FrameConfig, normalized};
/// use ir_qa::{Chunk, ChunkKind};
/// let chunk = Chunk::new(ChunkKind::Content, "Tea is\na drink. It comes from Asia.");
/// let set = FrameConfig::default().convert("p1", &[chunk.clone()]);
/// let text = normalized(chunk.text.as_deref().unwrap_or_default());
/// assert_eq!(&text[set.positions[1].range.clone()], "It comes from Asia.");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FramePosition {
    /// Number of the chunk from 0.
    pub chunk: usize,
    /// Bytes of the answer in the [`normalized`] text of the chunk.
    pub range: Range<usize>,
}

/// Numbers of pieces of text that did not become frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedText {
    /// Sentences below the minimum length, and blank titles and headings.
    pub too_short: u64,
    /// Sentences, titles and headings above the maximum length.
    pub too_long: u64,
}

impl DroppedText {
    /// Adds the numbers of another document.
    pub fn add(&mut self, other: Self) {
        self.too_short += other.too_short;
        self.too_long += other.too_long;
    }
}

impl Default for FrameConfig {
    fn default() -> Self {
        Self::new(Language::default())
    }
}

impl FrameConfig {
    /// Creates the published configuration of a language.
    #[must_use]
    pub fn new(language: Language) -> Self {
        let budget = match language {
            Language::English => 150,
            Language::Chinese => 75,
        };
        Self {
            splitter: SentenceSplitter::new(language),
            budget,
            min_length: 5,
            max_length: 500,
        }
    }

    /// Converts a paper. The frames have [`Paper::attributes`] as metadata; the attribute
    /// `language` is the language of a splitter of scientific text. The answers of [`Paper::faq`]
    /// become frames of their own, as they are, with their questions and fields; the id of such a
    /// frame is the id of the paper, a slash and the number of the entry from 0.
    #[must_use]
    pub fn convert_paper(&self, paper: &Paper) -> FrameSet {
        let attributes = paper.attributes();
        let of_language = attributes.text("language").map(|language| Self {
            splitter: self.splitter.clone().with_language(language),
            ..self.clone()
        });
        let config = of_language.as_ref().unwrap_or(self);
        let mut set = match &*paper.faq {
            [] => config.convert(&paper.id, &paper.chunks()),
            entries => Self::convert_faq(&paper.id, entries),
        };
        for frame in &mut set.frames {
            let of_entry = std::mem::replace(&mut frame.metadata, attributes.clone());
            for (name, value) in of_entry.iter() {
                frame.metadata.set(name, value.clone());
            }
        }
        set
    }

    /// Converts questions with answers. Every answer, as it is, is a frame with its questions and
    /// the fields of the entry; the id is `paper/entry`, where an entry is numbered from 0. Blank
    /// answers are counted as too short.
    #[must_use]
    pub fn convert_faq(paper: &str, entries: &[FaqEntry]) -> FrameSet {
        let mut set = FrameSet::default();
        for (number, entry) in entries.iter().enumerate() {
            let mut entry = entry.clone();
            entry.answer = normalized(&entry.answer);
            if entry.answer.trim().is_empty() {
                set.dropped.too_short += 1;
                continue;
            }
            set.positions.push(FramePosition {
                chunk: number,
                range: 0..entry.answer.len(),
            });
            let frame = entry.to_frame(format!("{paper}/{number}"), paper);
            set.frames.push(frame);
        }
        set
    }

    /// Converts the chunks of a document. The id of a frame is `paper/chunk/sentence`, where a
    /// chunk is numbered from 0 unless it has an id, and a sentence from 0 in its chunk. Dropped
    /// sentences are counted.
    #[must_use]
    pub fn convert(&self, paper: &str, chunks: &[Chunk]) -> FrameSet {
        let mut set = FrameSet::default();
        let mut pieces = Vec::new();
        for (number, chunk) in chunks.iter().enumerate() {
            let Some(text) = chunk.text.as_deref() else {
                continue;
            };
            let text = normalized(text);
            let ranges: Vec<_> = match chunk.kind {
                ChunkKind::Content => self.splitter.split(&text).collect(),
                ChunkKind::Formula => continue,
                ChunkKind::Title | ChunkKind::Section | ChunkKind::Row => {
                    iter::once(0..text.len()).collect()
                }
            };
            for (sentence, range) in ranges.into_iter().enumerate() {
                let text = &text[range.clone()];
                let length = character_count(text);
                let is_blank = text.trim().is_empty();
                let is_content = chunk.kind == ChunkKind::Content;
                if is_blank || (is_content && length < self.min_length) {
                    set.dropped.too_short += 1;
                } else if length > self.max_length {
                    set.dropped.too_long += 1;
                } else {
                    set.positions.push(FramePosition {
                        chunk: number,
                        range,
                    });
                    pieces.push(Piece {
                        chunk: number,
                        sentence,
                        kind: chunk.kind,
                        text: text.to_owned(),
                        length,
                    });
                }
            }
        }
        let mut contexts = Contexts::new(&pieces, self.budget);
        for (at, piece) in pieces.iter().enumerate() {
            let chunk = &chunks[piece.chunk];
            let name = match &chunk.uid {
                Some(uid) => uid.clone(),
                None => piece.chunk.to_string(),
            };
            let (context, answer_start) = contexts.next(at);
            set.frames.push(Frame {
                id: format!("{paper}/{name}/{}", piece.sentence),
                paper: paper.to_owned(),
                kind: piece.kind,
                page: chunk.page,
                answer: piece.text.clone(),
                context,
                answer_start,
                questions: Vec::new(),
                metadata: Attributes::new(),
            });
        }
        make_unique(&mut set.frames);
        set
    }
}

/// Normalizes the text of a chunk: line breaks and non-breaking spaces become spaces, carriage
/// returns and tabs are deleted.
#[must_use]
pub fn normalized(text: &str) -> String {
    let characters = text.chars().filter(|c| !matches!(c, '\r' | '\t'));
    characters
        .map(|c| if matches!(c, '\n' | '\u{a0}') { ' ' } else { c })
        .collect()
}

/// Appends `-2`, `-3`, ... to ids that occur again, because ids of chunks may repeat.
fn make_unique(frames: &mut [Frame]) {
    let mut used: BTreeMap<String, u64> = BTreeMap::new();
    for frame in frames {
        let id = frame.id.clone();
        while let Some(count) = used.get_mut(&frame.id) {
            *count += 1;
            frame.id = format!("{id}-{count}");
        }
        used.insert(frame.id.clone(), 1);
    }
}
