//! Tools of the protocol: answers to a question, the text of a paper, the list of papers.

use std::sync::Arc;

use ir_core::Predicate;
use ir_data::parser_message;
use ir_qa::ChunkKind;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::RpcError;
use crate::api::query::check_filter_size;
use crate::api_error::ApiError;
use crate::app::App;
use crate::error::ServiceError;
use crate::papers::{PaperOrder, PaperRecord, PaperSelection, sorted_papers};
use crate::published::{PublishedDocument, PublishedState};
use crate::service::{PaperTags, Question, ScoredAnswer};
use crate::urls::sentence_url;

/// Default number of answers.
const ANSWERS: usize = 5;

/// Default number of papers in a list.
const PAPERS: usize = 50;

/// Maximum number of papers in a list.
const MAX_PAPERS: usize = 1_000;

/// Number of bytes after which a page of a paper ends, with a whole paragraph.
const PAGE_BYTES: usize = 20_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FindAnswers {
    question: String,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    filter: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadPaper {
    doc_id: String,
    /// Number of the first chunk.
    #[serde(default)]
    start: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListPapers {
    #[serde(default)]
    title: String,
    #[serde(default)]
    tag: String,
    #[serde(default)]
    sort: PaperOrder,
    #[serde(default)]
    descending: bool,
    #[serde(default)]
    skip: usize,
    #[serde(default)]
    limit: Option<usize>,
}

/// Result of a tool: texts for the model, and the same as an object.
struct ToolResult {
    texts: Vec<String>,
    structured: Value,
}

/// Descriptions of the tools.
pub(super) fn list() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let number = json!({"type": ["integer", "null"]});
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let optional_text = json!({"type": ["string", "null"]});
    json!([
        {
            "name": "find_answers",
            "description": "Returns sentences of papers that answer a question, verbatim, with their contexts, sections, titles, years and links.",
            "annotations": {"readOnlyHint": true},
            "inputSchema": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "limit": {"type": "integer", "minimum": 1, "default": ANSWERS},
                    "filter": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Conditions that all papers must meet, such as year>=2020 or doc_id=p1",
                    },
                },
                "required": ["question"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "answers": {"type": "array", "items": {
                        "type": "object",
                        "properties": {
                            "answer": text("Sentence of the paper"),
                            "context": text("Text around the sentence"),
                            "doc_id": text("Id of the paper, for read_paper"),
                            "title": text("Title of the paper"),
                            "section": optional_text,
                            "page": number,
                            "link": text("Address of the sentence in its paper"),
                            "citation": text("Reference of the paper"),
                            "meta": {"type": "object"},
                            "score": {"type": "number"},
                        },
                        "required": ["answer", "context", "doc_id", "title", "link", "score"],
                    }},
                    "warnings": texts,
                },
                "required": ["answers", "warnings"],
            },
        },
        {
            "name": "read_paper",
            "description": "Returns the text of a paper by the doc_id of an answer, in pages of about 20,000 bytes.",
            "annotations": {"readOnlyHint": true},
            "inputSchema": {
                "type": "object",
                "properties": {
                    "doc_id": {"type": "string"},
                    "start": {
                        "type": "integer",
                        "minimum": 0,
                        "default": 0,
                        "description": "Number of the first paragraph: next of the page before",
                    },
                },
                "required": ["doc_id"],
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "doc_id": {"type": "string"},
                    "title": {"type": "string"},
                    "citation": {"type": "string"},
                    "text": text("Paragraphs, with # before titles and ## before headings"),
                    "start": {"type": "integer"},
                    "next": number,
                    "paragraphs": {"type": "integer", "description": "Number of paragraphs, titles and headings of the paper"},
                },
                "required": ["doc_id", "title", "text", "start", "next", "paragraphs"],
            },
        },
        {
            "name": "list_papers",
            "description": "Lists the papers with titles, authors, years, venues, tags and numbers of answer sentences.",
            "annotations": {"readOnlyHint": true},
            "inputSchema": {
                "type": "object",
                "properties": {
                    "title": text("Words that titles contain"),
                    "tag": text("Tag of the papers"),
                    "sort": {"enum": PaperOrder::ALL.map(PaperOrder::name), "default": PaperOrder::default().name()},
                    "descending": {"type": "boolean", "default": false},
                    "skip": {"type": "integer", "minimum": 0, "default": 0},
                    "limit": {"type": "integer", "minimum": 0, "maximum": MAX_PAPERS, "default": PAPERS},
                },
                "additionalProperties": false,
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "total": {"type": "integer"},
                    "papers": {"type": "array", "items": {"type": "object"}},
                },
                "required": ["total", "papers"],
            },
        },
    ])
}

/// Calls a tool. `site` is the URL of the pages. Errors of a tool are results, so that the agent
/// sees them; errors of the call are errors of the protocol.
pub(super) async fn call(app: &Arc<App>, site: &str, mut params: Value) -> Result<Value, RpcError> {
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let arguments = match params.get_mut("arguments") {
        Some(arguments) => arguments.take(),
        None => json!({}),
    };
    let result = match name.as_str() {
        "find_answers" => find_answers(app, site, parsed(&name, arguments)?).await?,
        "read_paper" => {
            let request: ReadPaper = parsed(&name, arguments)?;
            let page = app.run(move |service| {
                let state = service.published()?;
                paper_page(&state, &request).ok_or(ServiceError::NoDocument { id: request.doc_id })
            });
            page.await
        }
        "list_papers" => {
            let request: ListPapers = parsed(&name, arguments)?;
            let limit = request.limit.unwrap_or(PAPERS);
            if limit > MAX_PAPERS {
                let message = format!("limit: expected at most {MAX_PAPERS}, found {limit}");
                return Err(invalid(&name, &message));
            }
            let list = app.run(move |service| {
                Ok(paper_list(
                    &*service.published()?,
                    &service.tags()?,
                    &request,
                ))
            });
            list.await
        }
        _ => return Err(invalid(&name, "not found")),
    };
    Ok(match result {
        Ok(ToolResult { texts, structured }) => {
            let content = texts.iter();
            let content = content.map(|text| json!({"type": "text", "text": text}));
            json!({
                "content": content.collect::<Vec<_>>(),
                "structuredContent": structured,
            })
        }
        Err(error) => {
            let message = ApiError::from(error).message;
            json!({"content": [{"type": "text", "text": message}], "isError": true})
        }
    })
}

/// Error of a call.
fn invalid(tool: &str, message: &str) -> RpcError {
    RpcError {
        code: -32602,
        message: format!("tool {tool:?}: {message}"),
    }
}

/// Arguments of a tool.
fn parsed<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, RpcError> {
    serde_json::from_value(arguments)
        .map_err(|error| invalid(tool, &parser_message(&error.to_string(), "an object")))
}

async fn find_answers(
    app: &Arc<App>,
    site: &str,
    arguments: FindAnswers,
) -> Result<Result<ToolResult, ServiceError>, RpcError> {
    let tool = "find_answers";
    let parsed = arguments.filter.iter().map(|condition| condition.parse());
    let filters: Vec<Predicate> = parsed
        .collect::<Result<_, _>>()
        .map_err(|error| invalid(tool, &format!("filter: {error}")))?;
    check_filter_size(&filters).map_err(|message| invalid(tool, &message))?;
    if arguments.limit == Some(0) {
        return Err(invalid(tool, "limit: expected at least 1, found 0"));
    }
    let question = Question {
        filters,
        user: "mcp".to_owned(),
        ..Question::new(arguments.question, arguments.limit.unwrap_or(ANSWERS))
    };
    let found = match (app.ask(question).await, app.service.published()) {
        (Ok(list), Ok(state)) => {
            let answers = list.answers.iter();
            let answers: Vec<Value> = answers.map(|it| answer_of(&state, site, it)).collect();
            let structured = json!({"answers": answers, "warnings": list.warnings});
            let mut texts = vec![structured.to_string()];
            texts.extend(list.warnings);
            Ok(ToolResult { texts, structured })
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    Ok(found)
}

/// Answer with its paper, section and link.
fn answer_of(state: &PublishedState, site: &str, answer: &ScoredAnswer) -> Value {
    let frame = &answer.frame;
    // Another publication may have removed the paper meanwhile.
    let paper = state.document(&frame.paper);
    let title = paper.map_or(frame.paper.as_str(), PublishedDocument::title);
    let section = paper.and_then(|paper| paper.section(paper.answer(&frame.id)?.chunk));
    json!({
        "answer": frame.answer,
        "context": frame.context,
        "doc_id": frame.paper,
        "title": title,
        "section": section,
        "page": frame.page,
        "link": format!("{site}{}", sentence_url(frame)),
        "citation": paper.map(|paper| paper.citation().to_string()).unwrap_or_default(),
        "meta": frame.metadata,
        "score": answer.score,
    })
}

/// Chunks of a published document from one on, separated by blank lines; `None` if there is no such
/// document.
fn paper_page(state: &PublishedState, request: &ReadPaper) -> Option<ToolResult> {
    let paper = state.document(&request.doc_id)?;
    let (mut text, mut next) = (String::new(), None);
    for (number, chunk) in paper.chunks.iter().enumerate().skip(request.start) {
        let Some(paragraph) = chunk.text.as_deref().filter(|text| !text.is_empty()) else {
            continue;
        };
        if text.len() >= PAGE_BYTES {
            next = Some(number);
            break;
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(match chunk.kind {
            ChunkKind::Title => "# ",
            ChunkKind::Section => "## ",
            ChunkKind::Content | ChunkKind::Row | ChunkKind::Formula => "",
        });
        text.push_str(paragraph);
    }
    let structured = json!({
        "doc_id": paper.id,
        "title": paper.title(),
        "citation": paper.citation().to_string(),
        "text": text,
        "start": request.start,
        "next": next,
        "paragraphs": paper.chunks.len(),
    });
    let mut texts = vec![text];
    texts.extend(
        next.map(|next| format!("The paper continues: call read_paper with start={next}.")),
    );
    Some(ToolResult { texts, structured })
}

fn paper_list(state: &PublishedState, tags: &PaperTags, request: &ListPapers) -> ToolResult {
    let selection = PaperSelection {
        order: request.sort,
        is_descending: request.descending,
        words: request.title.clone(),
        tag: request.tag.clone(),
    };
    let papers = sorted_papers(state, tags, &selection);
    let limit = request.limit.unwrap_or(PAPERS);
    let listed = papers.iter().skip(request.skip).take(limit);
    let listed: Vec<PaperRecord> = listed.map(|paper| PaperRecord::new(paper, tags)).collect();
    let structured = json!({"total": papers.len(), "papers": listed});
    ToolResult {
        texts: vec![structured.to_string()],
        structured,
    }
}
