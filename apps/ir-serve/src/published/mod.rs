//! Published state: the documents, answers and suggestions that queries see.
//!
//! The state is in memory, not in the store: an index over a hundred thousand answers is built in
//! seconds from documents and stored vectors. A state that is only read needs no locks, and one
//! assignment replaces it. The store holds what cannot be computed again.

mod encoder;
mod error;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use ir_core::{Attributes, Progress, Retriever, Side};
use ir_qa::documents::SeenPapers;
use ir_qa::frames::{DroppedText, FrameConfig, normalized};
use ir_qa::questions::{QuestionError, QuestionFile, add_questions};
use ir_qa::retrieval::{AnswerConfig, AnswerIndex, RerankedAnswers};
use ir_qa::soco::{SocoContent, SocoDocument};
use ir_qa::suggest::{FrequentPhrases, Suggester};
use ir_qa::{Chunk, ChunkKind, Frame, FrameQuestion, character_count};

pub(crate) use self::encoder::{CACHED_VECTORS, PublishEncoder};
pub use self::error::PublishError;
use self::error::report;
use crate::config::{ServiceQuestions, ServiceReranker};
use crate::store::{Annotation, Publication, PublishedQuestion, Store, sha256};

/// Documents, answers and suggestions of a publication. Immutable.
#[derive(Debug)]
pub struct PublishedState {
    /// In the order of their ids.
    documents: Vec<PublishedDocument>,
    numbers: HashMap<String, usize>,
    index: Arc<AnswerIndex>,
    /// The answers of `index`, ranked by the reranker.
    reranked: Option<RerankedAnswers>,
    suggester: Suggester,
    /// Suggestions that a generator wrote, normalized.
    generated: HashSet<String>,
    hidden: Vec<HiddenDocument>,
    /// Number of answers that lack a vector.
    waiting: usize,
}

/// Document of the folder of papers that is not published, because an earlier one has its DOI or
/// arXiv id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HiddenDocument {
    pub(crate) id: String,
    /// Id of the published document.
    pub(crate) published: String,
}

/// Document with the positions of its answers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PublishedDocument {
    /// Id of the document.
    pub id: String,
    /// Fields of the document.
    pub meta: Attributes,
    /// Chunks with normalized texts. The chunks of questions with answers are the answers.
    pub chunks: Vec<Chunk>,
    /// Answers in the order of the text.
    pub answers: Vec<AnswerPosition>,
    /// Numbers of the sentences, titles and headings that are no answers because of their lengths.
    /// Blank answers of an FAQ are too short.
    pub dropped: DroppedText,
    /// If `true`, the document was read from a file of the folder of papers.
    pub(crate) is_in_folder: bool,
}

/// Position of an answer in its document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerPosition {
    /// Id of the frame.
    pub frame: String,
    /// Number of the chunk from 0.
    pub chunk: usize,
    /// Bytes of the answer in the text of the chunk.
    pub range: Range<usize>,
}

/// Parameters of the published state.
#[derive(Clone)]
pub(crate) struct PublishConfig {
    pub(crate) frames: FrameConfig,
    pub(crate) answers: AnswerConfig,
    pub(crate) headings: bool,
    pub(crate) encoder: Option<PublishEncoder>,
    pub(crate) questions: Option<ServiceQuestions>,
    pub(crate) reranker: Option<ServiceReranker>,
}

/// Why a state is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuildReason {
    /// The process started: what was published is visible again.
    Load,
    Publication,
}

/// Phrases of at least this many answers are suggestions.
const MIN_PHRASE_ANSWERS: u64 = 3;

impl PublishedState {
    /// Builds the state of a publication with the vectors that the store has. Answers without a
    /// vector are found by BM25.
    pub(crate) fn build(
        store: &Store,
        publication: &Publication,
        config: &PublishConfig,
        reason: BuildReason,
        progress: &mut dyn Progress,
    ) -> Result<Self, PublishError> {
        let mut questions: HashMap<&str, Vec<&PublishedQuestion>> = HashMap::new();
        for question in &publication.questions {
            questions
                .entry(&question.document)
                .or_default()
                .push(question);
        }
        let total = publication.documents.len() as u64;
        let (mut documents, mut frames) = (Vec::new(), Vec::new());
        let (mut used, mut hidden) = (HashSet::new(), Vec::new());
        let (folder, mut seen) = (store.folder_documents()?, SeenPapers::default());
        for (done, (id, hash)) in (0..).zip(&publication.documents) {
            report(progress, "reading documents", done, total)?;
            let record = store.record(id, hash)?.record;
            if folder.contains(id)
                && let Some(published) = seen.duplicate_of(id, &record.meta)
            {
                tracing::warn!(document = %id, %published, "hidden: the same DOI or arXiv id");
                hidden.push(HiddenDocument {
                    id: id.clone(),
                    published: published.to_owned(),
                });
                continue;
            }
            let questions = questions.remove(id.as_str()).unwrap_or_default();
            let (mut document, mut answers) = published_document(id, &record, &questions, config);
            make_unique(&mut document, &mut answers, &mut used);
            document.is_in_folder = folder.contains(id);
            documents.push(document);
            frames.extend(answers);
        }
        report(progress, "reading documents", total, total)?;
        if let Some(questions) = &config.questions {
            questions.add(&mut frames, reason, progress)?;
        }
        let (suggester, generated) = suggester(&documents, &frames, store);
        let mut waiting = 0;
        let index = match &config.encoder {
            None => {
                report(progress, "indexing", 0, 1)?;
                AnswerIndex::lexical(frames, &config.answers)?
            }
            Some(encoder) => {
                let (vectors, incomplete) =
                    encoder.stored_vectors(store, &frames, &config.answers)?;
                waiting = incomplete;
                report(progress, "indexing", 0, 1)?;
                let encoder = encoder.cached();
                AnswerIndex::with_vectors(frames, &config.answers, encoder, vectors)?
            }
        };
        let index = Arc::new(index);
        let reranked = config.reranker.as_ref();
        let reranked = reranked.map(|it| it.rerank(&index)).transpose()?;
        report(progress, "indexing", 1, 1)?;
        let ids = documents.iter().map(|document| document.id.clone());
        let numbers = ids.zip(0..).collect();
        Ok(Self {
            documents,
            numbers,
            index,
            reranked,
            suggester,
            generated,
            hidden,
            waiting,
        })
    }

    /// Number of answers that wait for a vector, their own or one of their questions: a vector that
    /// the encoder has not computed yet.
    #[must_use]
    pub const fn waiting_for_vectors(&self) -> usize {
        self.waiting
    }

    /// Warning of answers that wait for vectors.
    pub(crate) fn vector_warning(&self) -> Option<String> {
        (self.waiting > 0).then(|| {
            format!(
                "{} of {} answers wait for their vectors and are ranked by BM25 alone",
                self.waiting,
                self.index.frames().len()
            )
        })
    }

    /// The documents by id.
    #[must_use]
    pub fn documents(&self) -> &[PublishedDocument] {
        &self.documents
    }

    /// Returns a document by id.
    #[must_use]
    pub fn document(&self, id: &str) -> Option<&PublishedDocument> {
        self.numbers.get(id).map(|&number| &self.documents[number])
    }

    /// Documents of the folder of papers that are not published, by id.
    pub(crate) fn hidden(&self) -> &[HiddenDocument] {
        &self.hidden
    }

    /// Index of the answers of all documents.
    #[must_use]
    pub fn index(&self) -> &AnswerIndex {
        &self.index
    }

    /// The answers that the reranker ranks; `None` without a reranker.
    pub(crate) const fn reranked(&self) -> Option<&RerankedAnswers> {
        self.reranked.as_ref()
    }

    /// Returns a frame by id.
    #[must_use]
    pub fn frame(&self, id: &str) -> Option<&Frame> {
        let number = self.index.ids().get(id)?;
        self.index.frames().get(number.index())
    }

    /// Sides and hashes of the texts that are encoded.
    pub(crate) fn encoded_texts(&self, config: &AnswerConfig) -> HashSet<(Side, [u8; 32])> {
        let mut texts = HashSet::new();
        for frame in self.index.frames() {
            let answer = config.encoded_text(frame);
            texts.insert((Side::Document, sha256(answer.as_bytes())));
            let questions = frame.questions.iter();
            texts.extend(questions.map(|q| (Side::Query, sha256(q.text.as_bytes()))));
        }
        texts
    }

    /// Suggestions: displayable questions, titles, frequent phrases, and generated questions.
    #[must_use]
    pub fn suggester(&self) -> &Suggester {
        &self.suggester
    }

    /// Returns whether a suggestion is a generated question, up to case and punctuation.
    #[must_use]
    pub fn is_generated(&self, suggestion: &str) -> bool {
        let normalized = self.suggester.normalized(suggestion);
        self.generated.contains(&normalized)
    }
}

impl PublishedDocument {
    /// The title: the field `title` or `doc_title`, the first title of the text, or the id; of a
    /// longer one the first 500 characters.
    #[must_use]
    pub fn title(&self) -> &str {
        let field = |name| {
            self.meta
                .text(name)
                .filter(|title| !title.trim().is_empty())
        };
        let chunk = || {
            let mut titles = self
                .chunks
                .iter()
                .filter(|chunk| chunk.kind == ChunkKind::Title);
            titles.find_map(|chunk| chunk.text.as_deref())
        };
        let title = field("title").or_else(|| field("doc_title"));
        let title = title.or_else(chunk).unwrap_or(&self.id);
        ir_qa::byte_offset(title, MAX_DISPLAYED).map_or(title, |end| &title[..end])
    }

    /// The position of an answer by the id of its frame.
    #[must_use]
    pub fn answer(&self, frame: &str) -> Option<&AnswerPosition> {
        self.answers.iter().find(|answer| answer.frame == frame)
    }

    /// The answer that has a character of a chunk.
    #[must_use]
    pub fn answer_at(&self, chunk: usize, character: usize) -> Option<&AnswerPosition> {
        let text = self.chunks.get(chunk)?.text.as_deref()?;
        let byte = ir_qa::byte_offset(text, character)?;
        let mut answers = self.answers.iter().filter(|answer| answer.chunk == chunk);
        answers.find(|answer| answer.range.contains(&byte))
    }

    /// The answer that a question about a span belongs to: the one with the first character of the
    /// span or, in the same section, the next one of the chunk, the one before it in the chunk, the
    /// next one, the one before it, in this order. Titles, headings, and sentences that are too
    /// short or too long have no answers of their own. `None` if the section has no answer.
    #[must_use]
    pub fn nearest_answer(&self, chunk: usize, character: usize) -> Option<&AnswerPosition> {
        let text = self.chunks.get(chunk)?.text.as_deref()?;
        let byte = ir_qa::byte_offset(text, character)?;
        let is_heading = |chunk: &Chunk| chunk.kind.is_heading();
        let start = self.chunks[..=chunk].iter().rposition(is_heading);
        let after = self.chunks[chunk + 1..].iter().position(is_heading);
        let section = start.unwrap_or(0)..after.map_or(self.chunks.len(), |at| chunk + 1 + at);
        let answers = self.answers.iter();
        let answers = answers.filter(|answer| section.contains(&answer.chunk));
        // An answer of another chunk is further away than any of the same, and one before the span
        // further away than one after it, which the span may extend to.
        answers.min_by_key(|answer| {
            let chunks = answer.chunk.abs_diff(chunk);
            let is_before = (answer.chunk, answer.range.end) <= (chunk, byte);
            let bytes = if is_before {
                usize::MAX - answer.range.end
            } else {
                answer.range.start
            };
            (chunks > 0, is_before, chunks, bytes)
        })
    }

    /// Returns `true` if the text has the span of an annotation at its offset.
    pub(crate) fn has_span(&self, annotation: &Annotation) -> bool {
        let length = character_count(&annotation.span);
        let found = self.span(annotation.chunk, annotation.start, length);
        found == Some(&*annotation.span)
    }

    /// The text at a span, in characters of a chunk, if it is inside.
    #[must_use]
    pub fn span(&self, chunk: usize, start: usize, length: usize) -> Option<&str> {
        span_of(self.chunks.get(chunk)?.text.as_deref()?, start, length)
    }
}

/// Text of `length` characters from character `start` on.
pub(crate) fn span_of(text: &str, start: usize, length: usize) -> Option<&str> {
    let from = ir_qa::byte_offset(text, start)?;
    let to = from + ir_qa::byte_offset(&text[from..], length)?;
    Some(&text[from..to])
}

/// Chunks of a record with normalized texts: what annotations refer to.
pub(crate) fn normalized_chunks(record: &SocoDocument) -> Vec<Chunk> {
    match &record.content {
        SocoContent::Document(chunks) => {
            let normalized = chunks.iter().cloned().map(|mut chunk| {
                chunk.text = chunk.text.as_deref().map(normalized);
                chunk
            });
            normalized.collect()
        }
        SocoContent::Faq(entries) => {
            let answers = entries.iter().map(|entry| normalized(&entry.answer));
            answers
                .map(|answer| Chunk::new(ChunkKind::Content, answer))
                .collect()
        }
    }
}

/// Appends `-2`, `-3`, ... to ids of frames that earlier documents have, because ids of documents
/// and chunks have slashes, too.
fn make_unique(document: &mut PublishedDocument, frames: &mut [Frame], used: &mut HashSet<String>) {
    for (frame, place) in frames.iter_mut().zip(&mut document.answers) {
        let id = frame.id.clone();
        for count in 2.. {
            if used.insert(frame.id.clone()) {
                break;
            }
            frame.id = format!("{id}-{count}");
        }
        place.frame.clone_from(&frame.id);
    }
}

/// A document with the positions of its answers, and their frames.
fn published_document(
    id: &str,
    record: &SocoDocument,
    questions: &[&PublishedQuestion],
    config: &PublishConfig,
) -> (PublishedDocument, Vec<Frame>) {
    let chunks = normalized_chunks(record);
    let set = match &record.content {
        SocoContent::Document(_) => config.frames.convert(id, &chunks),
        SocoContent::Faq(entries) => FrameConfig::convert_faq(id, entries),
    };
    let (mut frames, mut answers) = (Vec::new(), Vec::new());
    // Shared by the frames of the document.
    let mut meta = record.meta.clone();
    meta.set("doc_id", id);
    for (mut frame, position) in set.frames.into_iter().zip(set.positions) {
        if !config.headings && frame.kind.is_heading() {
            continue;
        }
        let of_entry = std::mem::replace(&mut frame.metadata, meta.clone());
        for (name, value) in of_entry.iter().filter(|(name, _)| *name != "doc_id") {
            frame.metadata.set(name, value.clone());
        }
        answers.push(AnswerPosition {
            frame: frame.id.clone(),
            chunk: position.chunk,
            range: position.range,
        });
        frames.push(frame);
    }
    let document = PublishedDocument {
        id: id.to_owned(),
        meta: record.meta.clone(),
        chunks,
        answers,
        dropped: set.dropped,
        is_in_folder: false,
    };
    for question in questions {
        let place = document.nearest_answer(question.chunk, question.start);
        let frame = place.and_then(|place| frames.iter_mut().find(|frame| frame.id == place.frame));
        match frame {
            Some(frame) => frame
                .questions
                .push(FrameQuestion::new(question.question.as_str())),
            None => {
                let (document, annotation) = (id, question.annotation);
                tracing::warn!(
                    document,
                    annotation,
                    "a question was left out: its section has no answer sentence"
                );
            }
        }
    }
    (document, frames)
}

/// Maximum number of characters of a title or a question that pages and suggestions display. Longer
/// ones, such as a document in one line, would be repeated on every page.
const MAX_DISPLAYED: usize = 500;

/// Returns `true` if a question is short enough for suggestions and related questions.
pub(crate) fn is_displayed(question: &str) -> bool {
    question.chars().nth(MAX_DISPLAYED).is_none()
}

/// Popularity of a question, above the popularity of titles and phrases.
const QUESTION_POPULARITY: u64 = 1_000_000;

/// Popularity of each time that a text was asked, above the sum of the others.
const ASKED_POPULARITY: u64 = 1_000_000 * QUESTION_POPULARITY;

/// Suggestions, and which of them are generated questions. Among those that match a typed text
/// equally well, the ones that users have asked come first, and generated questions last. Other
/// queries of users are never suggested.
fn suggester(
    documents: &[PublishedDocument],
    frames: &[Frame],
    store: &Store,
) -> (Suggester, HashSet<String>) {
    let mut phrases = FrequentPhrases::new(3);
    for frame in frames {
        phrases.add(&frame.answer);
    }
    let questions = || frames.iter().flat_map(|frame| &frame.questions);
    let displayable = questions()
        .filter(|question| question.displayable && is_displayed(&question.text))
        .map(|question| (question.text.clone(), QUESTION_POPULARITY));
    let answered = documents
        .iter()
        .filter(|document| !document.answers.is_empty());
    let titles = answered.map(|document| (document.title().to_owned(), 1));
    let mut all: Vec<(String, u64)> = displayable
        .chain(titles)
        .chain(phrases.frequent(MIN_PHRASE_ANSWERS))
        .collect();
    // The first of equal texts is the spelling that is suggested: it gets the count of all.
    all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let normalize = Suggester::normalizer();
    let mut asked: HashMap<String, u64> =
        all.iter().map(|(text, _)| (normalize(text), 0)).collect();
    let mut generated = HashSet::new();
    for question in questions().filter(|question| question.generated) {
        if let Entry::Vacant(unknown) = asked.entry(normalize(&question.text)) {
            unknown.insert(0);
            all.push((question.text.clone(), 0));
            generated.insert(normalize(&question.text));
        }
    }
    if let Err(error) = store.count_asked(&mut asked, &normalize) {
        tracing::error!(%error, "suggestions are ranked without the query log");
        asked.clear();
    }
    let suggester = Suggester::new(all.into_iter().map(|(text, popularity)| {
        let asked = asked.remove(&normalize(&text)).unwrap_or(0);
        let popularity = popularity.saturating_add(asked.saturating_mul(ASKED_POPULARITY));
        (text, popularity)
    }));
    (suggester, generated)
}

impl ServiceQuestions {
    /// Adds generated questions to frames.
    fn add(
        &self,
        frames: &mut [Frame],
        reason: BuildReason,
        progress: &mut dyn Progress,
    ) -> Result<(), PublishError> {
        let generator = &*self.generator;
        let added = match (&self.file, reason) {
            (None, _) => add_questions(frames, generator, progress),
            (Some(path), BuildReason::Load) => {
                let file = QuestionFile::open(path).map_err(QuestionError::from);
                let file = file.map_err(PublishError::Questions)?;
                file.add_known_questions(frames, generator);
                return Ok(());
            }
            (Some(path), BuildReason::Publication) => QuestionFile::open(path)
                .map_err(QuestionError::from)
                .and_then(|mut file| file.add_questions(frames, generator, progress)),
        };
        let added = added.map_err(|error| match error {
            QuestionError::Canceled => PublishError::Aborted,
            error => PublishError::Questions(error),
        })?;
        if let Some(first) = added.rejected.first() {
            let rejected = added.rejected.len();
            tracing::warn!(rejected, %first, "questions of some answers were not generated");
        }
        tracing::info!(questions = added.questions, "questions were generated");
        Ok(())
    }
}
