use std::io::{self, Write};

use ir_core::Attributes;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};

use crate::chunk::Chunk;
use crate::frame::{ChunkKind, Frame, FrameError, FrameQuestion};

/// Record that is uploaded: a document or questions with answers.
#[derive(Debug, Clone, PartialEq)]
pub struct SocoDocument {
    /// Entries of the record.
    pub content: SocoContent,
    /// Fields of the document, such as `doc_id` and `doc_title`.
    pub meta: Attributes,
}

/// Entries of a record, by its `doc_type`.
#[derive(Debug, Clone, PartialEq)]
pub enum SocoContent {
    /// `soco_doc`: chunks in the order of the text.
    Document(Vec<Chunk>),
    /// `soco_faq`: questions with answers.
    Faq(Vec<FaqEntry>),
}

/// Questions with an answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FaqEntry {
    /// Text of the answer.
    pub answer: String,
    /// Questions that it answers.
    pub questions: Vec<FrameQuestion>,
    /// Fields of the entry, for filters.
    pub meta: Attributes,
}

/// Frame as a record: answer with context and offset, questions, `chunk_id`, `chunk_type` and the
/// fields of its document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SocoFrame {
    answer: FrameAnswer,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    questions: Vec<SocoQuestion>,
    #[serde(default)]
    meta: Attributes,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FrameAnswer {
    value: String,
    context: String,
    answer_start: usize,
    #[serde(default)]
    displayable: bool,
    #[serde(default)]
    add_to_qa_index: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FaqAnswer {
    value: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FaqFields {
    answer: FaqAnswer,
    #[serde(default)]
    questions: Vec<SocoQuestion>,
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    meta: Attributes,
}

/// Question: an object with `value` and `displayable`, or a string.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct SocoQuestion {
    value: String,
    displayable: bool,
    /// Not in SOCO's records; written for generated questions only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    generated: bool,
}

impl<'de> Deserialize<'de> for SocoQuestion {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct QuestionVisitor;

        #[derive(Deserialize)]
        struct Fields {
            value: String,
            #[serde(default = "displayable")]
            displayable: bool,
            #[serde(default)]
            generated: bool,
        }

        impl<'de> Visitor<'de> for QuestionVisitor {
            type Value = SocoQuestion;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a question: a string, or an object with `value`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<SocoQuestion, E> {
                Ok(SocoQuestion {
                    value: text.to_owned(),
                    displayable: true,
                    generated: false,
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SocoQuestion, A::Error> {
                let fields = Fields::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(SocoQuestion {
                    value: fields.value,
                    displayable: fields.displayable,
                    generated: fields.generated,
                })
            }
        }

        input.deserialize_any(QuestionVisitor)
    }
}

fn displayable() -> bool {
    true
}

impl From<SocoQuestion> for FrameQuestion {
    fn from(question: SocoQuestion) -> Self {
        let mut of_frame = Self::new(question.value).with_displayable(question.displayable);
        of_frame.generated = question.generated;
        of_frame
    }
}

impl From<&FrameQuestion> for SocoQuestion {
    fn from(question: &FrameQuestion) -> Self {
        Self {
            value: question.text.clone(),
            displayable: question.displayable,
            generated: question.generated,
        }
    }
}

impl From<FaqFields> for FaqEntry {
    fn from(fields: FaqFields) -> Self {
        Self {
            answer: fields.answer.value,
            questions: fields.questions.into_iter().map(Into::into).collect(),
            meta: fields.meta,
        }
    }
}

impl From<&FaqEntry> for FaqFields {
    fn from(entry: &FaqEntry) -> Self {
        Self {
            answer: FaqAnswer {
                value: entry.answer.clone(),
            },
            questions: entry.questions.iter().map(Into::into).collect(),
            meta: entry.meta.clone(),
        }
    }
}

impl FaqEntry {
    /// Creates an entry without questions and fields.
    #[must_use]
    pub fn new(answer: impl Into<String>) -> Self {
        Self {
            answer: answer.into(),
            questions: Vec::new(),
            meta: Attributes::new(),
        }
    }

    /// Frame of the entry with the answer as context. Blank questions are left out.
    #[must_use]
    pub fn to_frame(&self, id: impl Into<String>, paper: impl Into<String>) -> Frame {
        let questions = self.questions.iter();
        let questions = questions.filter(|question| !question.text.trim().is_empty());
        Frame {
            id: id.into(),
            paper: paper.into(),
            kind: ChunkKind::Content,
            page: None,
            answer: self.answer.clone(),
            context: self.answer.clone(),
            answer_start: 0,
            questions: questions.cloned().collect(),
            metadata: self.meta.clone(),
        }
    }
}

impl Serialize for SocoDocument {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut record = out.serialize_struct("SocoDocument", 3)?;
        match &self.content {
            SocoContent::Document(chunks) => {
                record.serialize_field("data", chunks)?;
                record.serialize_field("meta", &self.meta)?;
                record.serialize_field("doc_type", "soco_doc")?;
            }
            SocoContent::Faq(entries) => {
                let entries: Vec<FaqFields> = entries.iter().map(Into::into).collect();
                record.serialize_field("data", &entries)?;
                record.serialize_field("meta", &self.meta)?;
                record.serialize_field("doc_type", "soco_faq")?;
            }
        }
        record.end()
    }
}

impl From<&Frame> for SocoFrame {
    fn from(frame: &Frame) -> Self {
        let mut meta = frame.metadata.clone();
        let chunk = frame
            .id
            .rsplit_once('/')
            .map_or(frame.id.as_str(), |(chunk, _)| chunk);
        meta.set("chunk_id", chunk);
        meta.set("chunk_type", frame.kind.name());
        meta.set("doc_id", frame.paper.as_str());
        if let Some(title) = frame.metadata.text("title") {
            let title = title.to_owned();
            meta.set("doc_title", title);
        }
        if let Some(page) = frame.page {
            meta.set("page", i64::from(page));
        }
        Self {
            answer: FrameAnswer {
                value: frame.answer.clone(),
                context: frame.context.clone(),
                answer_start: frame.answer_start,
                displayable: false,
                add_to_qa_index: true,
            },
            questions: frame.questions.iter().map(Into::into).collect(),
            meta,
        }
    }
}

impl SocoFrame {
    /// Frame of the record. `doc_id`, `chunk_type` and `page` are read from its fields, if present.
    ///
    /// # Errors
    /// The context does not have the answer at its offset.
    pub fn to_frame(&self, id: impl Into<String>) -> Result<Frame, FrameError> {
        let kind = match self.meta.text("chunk_type") {
            Some("title") => ChunkKind::Title,
            Some("section") => ChunkKind::Section,
            Some("row") => ChunkKind::Row,
            _ => ChunkKind::Content,
        };
        let answer = &self.answer;
        let paper = self.meta.text("doc_id").unwrap_or_default();
        let (context, value) = (answer.context.as_str(), answer.value.as_str());
        let mut frame = Frame::new(id, paper, kind, context, answer.answer_start, value)?;
        frame.page = self
            .meta
            .int("page")
            .and_then(|page| u32::try_from(page).ok());
        frame.questions = self.questions.iter().cloned().map(Into::into).collect();
        frame.metadata = self.meta.clone();
        Ok(frame)
    }
}

/// Writes records, one per line.
///
/// # Errors
/// `out` cannot be written.
pub fn write_records<'a>(
    records: impl IntoIterator<Item = &'a SocoDocument>,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_lines(records, out)
}

/// Writes frames as records, one per line.
///
/// # Errors
/// `out` cannot be written.
pub fn write_frames<'a>(
    frames: impl IntoIterator<Item = &'a Frame>,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_lines(frames.into_iter().map(SocoFrame::from), out)
}

fn write_lines<R: Serialize>(
    records: impl IntoIterator<Item = R>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for record in records {
        serde_json::to_writer(&mut *out, &record)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
