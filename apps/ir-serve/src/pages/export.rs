//! Exports of annotations: JSON lines, SQuAD, TREC qrels, training examples.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use ir_core::training::{TrainingExample, TrainingText};
use ir_core::{Qrels, trec};
use ir_data::training::write_example;
use ir_qa::Frame;
use serde::Serialize;
use serde_json::json;

use super::access::Visitor;
use super::error::PageError;
use super::parameters::PathParameter;
use crate::app::App;
use crate::published::PublishedState;
use crate::store::{Annotation, AnnotationStatus};

/// Question with its relevant answers. Other answers are not judged.
pub(super) struct JudgedQuery<'a> {
    /// Number of the annotation, or of the first query with the words.
    pub(super) id: i64,
    pub(super) text: String,
    /// No answer occurs twice.
    pub(super) answers: Vec<&'a Frame>,
}

/// File to save. The extension of its name decides its type.
pub(super) fn file(name: &str, content: String) -> Response {
    let kind = match name.rsplit_once('.') {
        Some((_, "jsonl")) => "application/x-ndjson",
        Some((_, "json")) => "application/json",
        Some((_, "csv")) => "text/csv; charset=utf-8",
        Some((_, "bib")) => "application/x-bibtex; charset=utf-8",
        Some((_, "ris")) => "application/x-research-info-systems; charset=utf-8",
        Some((_, "tsv")) => "text/tab-separated-values; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    };
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [
        (CONTENT_TYPE, kind.to_owned()),
        (CONTENT_DISPOSITION, disposition),
    ];
    (headers, content).into_response()
}

/// Line of a file of comma-separated values (RFC 4180). Fields with commas, quotation marks or line
/// breaks are between quotation marks. An apostrophe is before fields that a spreadsheet would take
/// for formulas.
pub(super) fn csv_line<const N: usize>(fields: [String; N]) -> String {
    let fields = fields.map(|field| {
        let is_negative = field.starts_with('-') && field.parse::<f64>().is_ok();
        let field = if field.starts_with(['=', '+', '-', '@', '\t']) && !is_negative {
            format!("'{field}")
        } else {
            field
        };
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field
        }
    });
    fields.join(",") + "\r\n"
}

/// Id of a frame as a column of TREC files: white space, control characters and `%` are
/// percent-encoded, so that distinct ids stay distinct.
fn exported_id(id: &str) -> String {
    let mut exported = String::with_capacity(id.len());
    for character in id.chars() {
        if character.is_whitespace() || character.is_control() || character == '%' {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string does not fail.
                let _ = write!(exported, "%{byte:02X}");
            }
        } else {
            exported.push(character);
        }
    }
    exported
}

/// Values as JSON lines.
pub(super) fn json_lines<T: Serialize>(values: &[T]) -> Result<String, PageError> {
    let mut lines = String::new();
    for value in values {
        lines.push_str(&serde_json::to_string(value).map_err(failed)?);
        lines.push('\n');
    }
    Ok(lines)
}

/// Error of writing an export.
fn failed(error: impl std::fmt::Display) -> PageError {
    PageError::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        format!("The export failed: {error}."),
    )
}

/// Exports annotations as the file with a name.
pub(super) async fn export(
    State(app): State<Arc<App>>,
    _: Visitor,
    PathParameter(name): PathParameter<String>,
) -> Result<Response, PageError> {
    let annotations = app.store(|store| store.annotations(None, None)).await?;
    if name == "annotations.jsonl" {
        return Ok(file(&name, json_lines(&annotations)?));
    }
    let state = app.service.published()?;
    let accepted = accepted(&state, &annotations);
    if name == "squad.json" {
        return Ok(file(&name, squad(&state, &accepted)));
    }
    let judged = accepted.iter().filter_map(|(annotation, frame)| {
        Some(JudgedQuery {
            id: annotation.id,
            text: annotation.question.clone(),
            answers: vec![(*frame)?],
        })
    });
    judged_file(&name, &judged.collect::<Vec<_>>(), &state)
}

/// Accepted annotations of published text, with the frame of the answer if the text is in one.
fn accepted<'a>(
    state: &'a PublishedState,
    annotations: &'a [Annotation],
) -> Vec<(&'a Annotation, Option<&'a Frame>)> {
    let accepted = annotations
        .iter()
        .filter(|annotation| annotation.status == AnnotationStatus::Accepted);
    accepted
        .filter_map(|annotation| {
            let document = state.document(&annotation.document)?;
            if !document.has_span(annotation) {
                return None;
            }
            let place = document.answer_at(annotation.chunk, annotation.start);
            let frame = place.and_then(|place| state.frame(&place.frame));
            Some((annotation, frame))
        })
        .collect()
}

/// SQuAD 1.1: documents are articles, chunks are paragraphs.
fn squad(state: &PublishedState, accepted: &[(&Annotation, Option<&Frame>)]) -> String {
    let mut sorted: Vec<&Annotation> = accepted.iter().map(|(annotation, _)| *annotation).collect();
    sorted.sort_by_key(|annotation| (&annotation.document, annotation.chunk, annotation.id));
    let articles = sorted
        .chunk_by(|a, b| a.document == b.document)
        .map(|article| {
            let document = state.document(&article[0].document);
            let paragraphs = article
                .chunk_by(|a, b| a.chunk == b.chunk)
                .map(|paragraph| {
                    let chunk =
                        document.and_then(|document| document.chunks.get(paragraph[0].chunk));
                    let context = chunk
                        .and_then(|chunk| chunk.text.as_deref())
                        .unwrap_or_default();
                    let questions = paragraph.iter().map(|annotation| {
                json!({
                    "id": annotation.id.to_string(),
                    "question": annotation.question,
                    "answers": [{"text": annotation.span, "answer_start": annotation.start}],
                })
            });
                    json!({"context": context, "qas": questions.collect::<Vec<_>>()})
                });
            json!({"title": article[0].document, "paragraphs": paragraphs.collect::<Vec<_>>()})
        });
    json!({"version": "1.1", "data": articles.collect::<Vec<_>>()}).to_string()
}

/// Exports judged queries, or the answers that they refer to, as the file with a name.
pub(super) fn judged_file(
    name: &str,
    judged: &[JudgedQuery<'_>],
    state: &PublishedState,
) -> Result<Response, PageError> {
    let content = match name {
        "qrels.txt" => qrels(judged)?,
        "queries.tsv" => {
            let lines = judged.iter();
            let lines = lines.map(|query| format!("{}\t{}\n", query.id, query.text));
            lines.collect()
        }
        "examples.jsonl" => examples(judged)?,
        "documents.jsonl" => {
            let frames = state.index().frames().iter();
            let documents =
                frames.map(|frame| json!({"id": exported_id(&frame.id), "text": frame.answer}));
            json_lines(&documents.collect::<Vec<_>>())?
        }
        _ => return Err(PageError::not_found("This file does not exist.")),
    };
    Ok(file(name, content))
}

/// Judgments as lines of TREC qrels.
fn qrels(judged: &[JudgedQuery<'_>]) -> Result<String, PageError> {
    let mut qrels = Qrels::new();
    for query in judged {
        for frame in &query.answers {
            qrels.insert(&query.id.to_string(), &exported_id(&frame.id), 1);
        }
    }
    let mut out = Vec::new();
    trec::write_qrels(&qrels, &mut out).map_err(failed)?;
    String::from_utf8(out).map_err(failed)
}

/// Training examples in Tevatron's format, which `ir mine --examples` reads. The relevant answers
/// are the positives.
fn examples(judged: &[JudgedQuery<'_>]) -> Result<String, PageError> {
    let mut out = Vec::new();
    for (line, query) in (1..).zip(judged) {
        let example = TrainingExample::new(query.text.clone()).with_query_id(query.id.to_string());
        let positives = query.answers.iter();
        let positives = positives
            .map(|frame| TrainingText::new(frame.answer.clone()).with_id(exported_id(&frame.id)));
        let example = positives.fold(example, TrainingExample::positive);
        write_example(&mut out, &example, "examples.jsonl", line).map_err(failed)?;
    }
    String::from_utf8(out).map_err(failed)
}
