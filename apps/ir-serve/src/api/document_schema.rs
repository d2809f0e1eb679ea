//! Documents and filters in the OpenAPI description. [`SocoReader`](ir_qa::soco::SocoReader) reads
//! the documents, and [`Conditions`](ir_core::Conditions) are the filters.
#![expect(dead_code, reason = "described, never constructed")]

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Document: chunks of its text, or questions with answers.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum DocumentRecord {
    Chunks(ChunkDocument),
    Faq(FaqDocument),
}

/// Text of a document in chunks.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "doc_type": "soco_doc",
    "meta": {"doc_id": "tea", "year": 2020},
    "data": [{"type": "title", "text": "On tea"}, {"type": "content", "text": "Tea is a drink."}]
}))]
pub(super) struct ChunkDocument {
    doc_type: ChunkDocumentType,
    /// Chunks in the order of the text.
    data: Vec<ChunkRecord>,
    /// Fields for filters: texts, numbers, truth values, or lists of them. `doc_id` is the id,
    /// `title` or `doc_title` the title, `year` the year.
    #[schema(required = false)]
    meta: BTreeMap<String, Value>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ChunkDocumentType {
    SocoDoc,
}

/// Condition, or a list of conditions that must all hold.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Filter {
    Condition(ConditionRecord),
    Conditions(Vec<ConditionRecord>),
}

/// Condition such as `year>=2020`, or a predicate as JSON.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum ConditionRecord {
    Text(String),
    Predicate(BTreeMap<String, Value>),
}

/// Title, section heading or running text.
#[derive(Serialize, ToSchema)]
struct ChunkRecord {
    /// Text; chunks without one are skipped.
    text: Option<String>,
    #[serde(rename = "type")]
    kind: ChunkRecordType,
    /// Id of the chunk. Default: its number.
    uid: Option<String>,
    /// Number of the page, from 1, if known.
    #[schema(minimum = 0)]
    page: Option<u32>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ChunkRecordType {
    Title,
    Section,
    Content,
}

/// Document of `soco_faq`: answers, each with questions that it answers.
#[derive(Serialize, ToSchema)]
pub(super) struct FaqDocument {
    doc_type: FaqDocumentType,
    data: Vec<FaqRecord>,
    /// Fields for filters: texts, numbers, truth values, or lists of them.
    #[schema(required = false)]
    meta: BTreeMap<String, Value>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum FaqDocumentType {
    SocoFaq,
}

#[derive(Serialize, ToSchema)]
struct FaqRecord {
    answer: FaqAnswerRecord,
    #[schema(required = false)]
    questions: Vec<FaqQuestionRecord>,
    /// Fields for filters: texts, numbers, truth values, or lists of them.
    #[schema(required = false)]
    meta: BTreeMap<String, Value>,
}

#[derive(Serialize, ToSchema)]
struct FaqAnswerRecord {
    /// Text of the answer.
    value: String,
}

/// Question: a text, or an object.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum FaqQuestionRecord {
    Text(String),
    Object(FaqQuestionObject),
}

#[derive(Serialize, ToSchema)]
struct FaqQuestionObject {
    value: String,
    /// If `true`, users see the question. Default: true.
    #[schema(required = false, default = true)]
    displayable: bool,
}
