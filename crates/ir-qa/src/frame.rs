//! Frames: answer sentences with their contexts.

use std::fmt;
use std::ops::Range;

use ir_core::{Attributes, ReaderInput, byte_offset, character_count};
use serde::{Deserialize, Serialize};

/// Sentence that may answer questions, with its context.
///
/// As JSON, a frame is an object with the fields of this type; `page`, `questions` and `metadata`
/// are optional. Reading it fails unless the context has the answer at its offset.
///
/// ```
/// use ir_qa::{ChunkKind, Frame, FrameQuestion};
/// let context = "Über tea. Tea is a drink.";
/// let mut frame = Frame::new("p1/1", "p1", ChunkKind::Content, context, 10, "Tea is a drink.")?;
/// frame.questions.push(FrameQuestion::new("What is tea?"));
/// frame.metadata.set("year", 2020_i64);
/// let json = serde_json::to_string(&frame)?;
/// assert_eq!(serde_json::from_str::<Frame>(&json)?, frame);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedFrame")]
#[non_exhaustive]
pub struct Frame {
    /// Id of the frame; unique in a collection.
    pub id: String,
    /// Id of the paper.
    pub paper: String,
    /// Part of the paper that the answer is from.
    pub kind: ChunkKind,
    /// Page of the paper from 1, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Answer sentence, title or section heading.
    pub answer: String,
    /// Text around the answer, which contains it.
    pub context: String,
    /// Offset of the answer in the context, in characters.
    pub answer_start: usize,
    /// Questions that the answer answers, written by annotators or generated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<FrameQuestion>,
    /// Title, year, authors and other fields for filters.
    #[serde(skip_serializing_if = "Attributes::is_empty")]
    pub metadata: Attributes,
}

/// Question of a frame.
///
/// ```
/// use ir_qa::FrameQuestion;
/// let hidden = FrameQuestion::new("What is tea?").with_displayable(false);
/// let json = r#"{"text":"What is tea?","displayable":false}"#;
/// assert_eq!(serde_json::to_string(&hidden)?, json);
/// let generated = FrameQuestion::generated("What is tea?");
/// let json = r#"{"text":"What is tea?","displayable":false,"generated":true}"#;
/// assert_eq!(serde_json::to_string(&generated)?, json);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FrameQuestion {
    /// Text of the question.
    pub text: String,
    /// If `true`, users see the question as a suggestion or related question, like a question of a
    /// person. `false` for generated questions, which are marked where users see them.
    /// Default: true.
    #[serde(default = "displayable")]
    pub displayable: bool,
    /// If `true`, a [`QuestionGenerator`](crate::questions::QuestionGenerator) wrote the question,
    /// not an annotator. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generated: bool,
}

/// Kind of a chunk: the part of a document that a frame is from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ChunkKind {
    /// Title of the document.
    Title,
    /// Heading of a section.
    Section,
    /// Running text, which is split into sentences.
    #[default]
    Content,
    /// Row of a table, with the names of its columns. It is an answer as a whole.
    Row,
    /// Displayed formula, which is no answer.
    Formula,
}

/// Error of a frame without the answer at its offset in the context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "frame {frame:?}: expected the answer {answer:?} at character {answer_start} of the context, found {found:?}"
)]
#[allow(missing_docs)]
pub struct FrameError {
    pub frame: String,
    pub answer: String,
    pub answer_start: usize,
    pub found: String,
}

/// Fields of a frame before the check of its offset.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UncheckedFrame {
    id: String,
    paper: String,
    kind: ChunkKind,
    #[serde(default)]
    page: Option<u32>,
    answer: String,
    context: String,
    answer_start: usize,
    #[serde(default)]
    questions: Vec<FrameQuestion>,
    #[serde(default)]
    metadata: Attributes,
}

impl Frame {
    /// Creates a frame without page, questions and metadata. `answer_start` is in characters.
    ///
    /// # Errors
    /// The context does not have the answer at this offset.
    pub fn new(
        id: impl Into<String>,
        paper: impl Into<String>,
        kind: ChunkKind,
        context: impl Into<String>,
        answer_start: usize,
        answer: impl Into<String>,
    ) -> Result<Self, FrameError> {
        let frame = Self {
            id: id.into(),
            paper: paper.into(),
            kind,
            page: None,
            answer: answer.into(),
            context: context.into(),
            answer_start,
            questions: Vec::new(),
            metadata: Attributes::new(),
        };
        frame.check().map(|()| frame)
    }

    /// Checks that the context has the answer at its offset, after a field was changed.
    ///
    /// # Errors
    /// The answer does not occur at its offset.
    pub fn check(&self) -> Result<(), FrameError> {
        let rest = byte_offset(&self.context, self.answer_start).map(|at| &self.context[at..]);
        if rest.is_some_and(|rest| rest.starts_with(&self.answer)) {
            return Ok(());
        }
        let length = character_count(&self.answer);
        Err(FrameError {
            frame: self.id.clone(),
            answer: self.answer.clone(),
            answer_start: self.answer_start,
            found: rest.unwrap_or_default().chars().take(length).collect(),
        })
    }

    /// Byte range of the answer in the context. Empty if the answer does not occur at its offset.
    #[must_use]
    pub fn answer_bytes(&self) -> Range<usize> {
        let start = byte_offset(&self.context, self.answer_start).unwrap_or(self.context.len());
        if self.context[start..].starts_with(&self.answer) {
            start..start + self.answer.len()
        } else {
            start..start
        }
    }

    /// Range of the answer in the context, in characters.
    #[must_use]
    pub fn answer_characters(&self) -> Range<usize> {
        self.answer_start..self.answer_start + character_count(&self.answer)
    }

    /// Input of a reader that selects a span of the answer sentence.
    #[must_use]
    pub fn reader_input<'a>(&'a self, question: &'a str) -> ReaderInput<'a> {
        ReaderInput::new(question, &self.context).within(self.answer_characters())
    }
}

impl TryFrom<UncheckedFrame> for Frame {
    type Error = FrameError;

    fn try_from(fields: UncheckedFrame) -> Result<Self, FrameError> {
        let frame = Self {
            id: fields.id,
            paper: fields.paper,
            kind: fields.kind,
            page: fields.page,
            answer: fields.answer,
            context: fields.context,
            answer_start: fields.answer_start,
            questions: fields.questions,
            metadata: fields.metadata,
        };
        frame.check().map(|()| frame)
    }
}

impl FrameQuestion {
    /// Creates a displayable question of an annotator.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            displayable: true,
            generated: false,
        }
    }

    /// Creates a generated question, which is not displayable.
    #[must_use]
    pub fn generated(text: impl Into<String>) -> Self {
        Self {
            generated: true,
            ..Self::new(text).with_displayable(false)
        }
    }

    /// Sets [`FrameQuestion::displayable`].
    #[must_use]
    pub fn with_displayable(mut self, displayable: bool) -> Self {
        self.displayable = displayable;
        self
    }
}

fn displayable() -> bool {
    true
}

impl ChunkKind {
    /// Returns `true` for titles and headings.
    #[must_use]
    pub fn is_heading(self) -> bool {
        matches!(self, Self::Title | Self::Section)
    }

    /// Name in files: `title`, `section`, `content`, `row` or `formula`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Section => "section",
            Self::Content => "content",
            Self::Row => "row",
            Self::Formula => "formula",
        }
    }
}

impl fmt::Display for ChunkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(context: &str, start: usize, answer: &str) -> Result<Frame, FrameError> {
        Frame::new("f", "p", ChunkKind::Content, context, start, answer)
    }

    #[test]
    fn offsets_are_characters() {
        let good = frame("äöü Tea 茶.", 4, "Tea 茶.").unwrap();
        assert_eq!(good.answer_bytes(), 7..15);
        assert_eq!(good.answer_characters(), 4..10);
        assert_eq!(&good.context[good.answer_bytes()], good.answer);
    }

    #[test]
    fn answer_must_be_at_its_offset() {
        let error = frame("äöü Tea", 7, "Tea").unwrap_err();
        assert_eq!(
            error.to_string(),
            "frame \"f\": expected the answer \"Tea\" at character 7 of the context, found \"\""
        );
        assert_eq!(frame("äöü Tea", 3, "Tea").unwrap_err().found, " Te");
        assert!(frame("Tea", usize::MAX, "Tea").is_err());

        let mut changed = frame("Tea, tea", 5, "tea").unwrap();
        changed.answer_start = 100;
        assert!(changed.check().is_err());
        assert_eq!(changed.answer_bytes(), 8..8);
    }

    #[test]
    fn json_is_checked() {
        let json = r#"{"id":"f","paper":"p","kind":"section","answer":"Tea","context":"Tea","answer_start":0,
            "questions":[{"text":"What?"}]}"#;
        let read: Frame = serde_json::from_str(json).unwrap();
        assert_eq!(read.kind, ChunkKind::Section);
        assert!(read.questions[0].displayable);
        for (from, to) in [
            ("\"answer_start\":0", "\"answer_start\":1"),
            ("\"answer_start\":0", "\"answer_start\":-1"),
            ("section", "abstract"),
            ("\"id\"", "\"ids\""),
            ("\"text\"", "\"value\""),
        ] {
            let broken = json.replace(from, to);
            assert!(serde_json::from_str::<Frame>(&broken).is_err(), "{broken}");
        }
    }
}
