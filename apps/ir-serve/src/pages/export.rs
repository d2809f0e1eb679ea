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
use ir_qa::{Frame, character_count};
use serde::Serialize;
use serde_json::json;

use super::access::Visitor;
use super::error::PageError;
use super::parameters::PathParameter;
use crate::app::App;
use crate::published::PublishedState;
use crate::store::{Annotation, AnnotationStatus};

/// File to save: its name, type and content.
pub(super) fn file(name: &str, kind: &str, content: String) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [
        (CONTENT_TYPE, kind.to_owned()),
        (CONTENT_DISPOSITION, disposition),
    ];
    (headers, content).into_response()
}

/// Id of a frame as a column of TREC files: white space, control characters and `%` are
/// percent-encoded, so that distinct ids stay distinct.
pub(super) fn exported_id(id: &str) -> String {
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
pub(super) fn failed(error: impl std::fmt::Display) -> PageError {
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
        return Ok(file(
            &name,
            "application/x-ndjson",
            json_lines(&annotations)?,
        ));
    }
    let state = app.service.published()?;
    let accepted = accepted(&state, &annotations);
    let (kind, content) = match name.as_str() {
        "squad.json" => ("application/json", squad(&state, &accepted)),
        "qrels.txt" => ("text/plain; charset=utf-8", qrels(&accepted)?),
        "queries.tsv" => (
            "text/tab-separated-values; charset=utf-8",
            queries(&accepted),
        ),
        "examples.jsonl" => ("application/x-ndjson", examples(&accepted)?),
        "documents.jsonl" => ("application/x-ndjson", documents(&state)?),
        _ => return Err(PageError::not_found("This file does not exist.")),
    };
    Ok(file(&name, kind, content))
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
            let length = character_count(&annotation.span);
            let span = document.span(annotation.chunk, annotation.start, length);
            if span != Some(&*annotation.span) {
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

/// Judgments: the query with the number of an annotation has the frame of its text as relevant.
fn qrels(accepted: &[(&Annotation, Option<&Frame>)]) -> Result<String, PageError> {
    let mut qrels = Qrels::new();
    for (annotation, frame) in accepted {
        if let Some(frame) = frame {
            qrels.insert(&annotation.id.to_string(), &exported_id(&frame.id), 1);
        }
    }
    qrels_lines(&qrels)
}

/// Judgments as lines of TREC qrels.
pub(super) fn qrels_lines(qrels: &Qrels) -> Result<String, PageError> {
    let mut out = Vec::new();
    trec::write_qrels(qrels, &mut out).map_err(failed)?;
    String::from_utf8(out).map_err(failed)
}

fn queries(accepted: &[(&Annotation, Option<&Frame>)]) -> String {
    let judged = accepted.iter().filter(|(_, frame)| frame.is_some());
    judged
        .map(|(annotation, _)| format!("{}\t{}\n", annotation.id, annotation.question))
        .collect()
}

/// The answers as a collection for the qrels and the examples.
pub(super) fn documents(state: &PublishedState) -> Result<String, PageError> {
    let frames = state.index().frames().iter();
    let documents: Vec<_> = frames
        .map(|frame| json!({"id": exported_id(&frame.id), "text": frame.answer}))
        .collect();
    json_lines(&documents)
}

fn examples(accepted: &[(&Annotation, Option<&Frame>)]) -> Result<String, PageError> {
    let examples = accepted.iter().filter_map(|(annotation, frame)| {
        let frame = (*frame)?;
        let example = TrainingExample::new(annotation.question.clone())
            .with_query_id(annotation.id.to_string())
            .positive(TrainingText::new(frame.answer.clone()).with_id(exported_id(&frame.id)));
        Some(example)
    });
    example_lines(examples)
}

/// Training examples in Tevatron's format, which `ir mine --examples` reads.
pub(super) fn example_lines(
    examples: impl Iterator<Item = TrainingExample>,
) -> Result<String, PageError> {
    let mut out = Vec::new();
    for (line, example) in (1..).zip(examples) {
        write_example(&mut out, &example, "examples.jsonl", line).map_err(failed)?;
    }
    String::from_utf8(out).map_err(failed)
}
