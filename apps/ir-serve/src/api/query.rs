use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use axum::{Extension, Json};
use ir_core::{AttributeValue, Attributes, Comparable, Conditions, Explanation, Predicate};
use ir_qa::Frame;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::QueryAccess;
use super::body::JsonBody;
use super::document_schema::Filter;
use crate::api_error::ApiError;
use crate::app::App;
use crate::base_path::RequestBase;
use crate::published::PublishedState;
use crate::service::{GeneratedAnswer, Question, ScoredAnswer, Suggestion};
use crate::store::random_hex;
use crate::urls::sentence_url;

/// Body of `/v1/search/query`. Unknown fields are ignored. Fields of `query` beside it are a
/// warning, and `filter` is an error.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object with the field query")]
pub(super) struct QueryRequest {
    query: QueryFields,
    /// Id of the user or session, for the query log. Default: random.
    #[serde(default)]
    uid: Option<String>,
    /// Counts of values of fields among the 1,000 best answers, by name.
    #[serde(default)]
    aggs: BTreeMap<String, Aggregation>,
    // Fields of `query` at the wrong level.
    #[serde(default)]
    #[schema(ignore)]
    filter: Option<IgnoredAny>,
    #[serde(default)]
    #[schema(ignore)]
    n_best: Option<IgnoredAny>,
    #[serde(default)]
    #[schema(ignore)]
    explain: Option<IgnoredAny>,
    #[serde(default)]
    #[schema(ignore)]
    generate: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object with the field query")]
struct QueryFields {
    /// Text of the question.
    #[schema(example = "How many hours of recordings are there?")]
    query: String,
    /// Maximum number of answers.
    #[serde(default = "default_results")]
    #[schema(default = 10, minimum = 0)]
    n_best: usize,
    /// Conditions on the fields of the documents: a text such as `year>=2020` or `doc_id=p1,p2`, a
    /// predicate as JSON, or a list of these. All of them must hold. Documents without the
    /// field satisfy `year>=2020`; add the condition `year` to exclude them. At most 100 conditions
    /// with 10,000 values.
    #[serde(default)]
    #[schema(value_type = Option<Filter>, example = json!(["year>=2010"]))]
    filter: Option<Conditions>,
    /// If `true`, results have explanations of their scores.
    #[serde(default)]
    explain: bool,
    /// If `true`, a language model writes an answer from the best results. An error if the server
    /// has no language model.
    #[serde(default)]
    generate: bool,
}

/// Counts of the values of a field.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object with the field field, such as {\"field\": \"year\"}")]
struct Aggregation {
    /// Name of the field.
    #[schema(example = "year")]
    field: String,
    /// Maximum number of values; the most frequent ones are returned.
    #[serde(default = "default_results")]
    size: usize,
}

/// Answers to a question.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct QueryResponse {
    /// Answers, the best first.
    results: Vec<QueryResult>,
    /// Questions that resemble the question, the best first.
    related: Vec<Suggestion>,
    /// Number of the query in the query log.
    query_id: i64,
    /// Answer that a language model wrote from the first results, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    generated: Option<GeneratedFields>,
    /// Counts of values by the names of the request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    aggs: BTreeMap<String, Vec<ValueCount>>,
    /// What may be an error of the request, such as a filter on a field that no document has, or
    /// with a limit that values cannot be compared with, or a field of `query` beside it; and a
    /// reranking that exceeded its time limit, so that the search before it ranks the answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// Answer that a language model wrote from quoted sentences. Without a text there is an error.
#[derive(Debug, Serialize, ToSchema)]
struct GeneratedFields {
    /// Name of the model.
    model: String,
    /// Text of the model, which may be wrong. `[1]` cites the first of the sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Why there is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    /// The sentences that the model got: the first results.
    sentences: Vec<SentenceFields>,
}

#[derive(Debug, Serialize, ToSchema)]
struct SentenceFields {
    /// Id of the answer.
    id: String,
    /// Text of the answer sentence.
    value: String,
    /// `true` if the text cites the sentence.
    cited: bool,
}

#[derive(Debug, Serialize, ToSchema)]
struct QueryResult {
    /// Score; higher is better. If the server has a reranker, the first answers have scores of the
    /// reranker, and later answers scores of the search before it.
    score: f32,
    a: AnswerFields,
    /// Questions of the answer that may be shown.
    questions: Vec<QuestionText>,
    /// Fields of the document, with `doc_id`, `chunk_type` and, if known, `page`.
    #[schema(value_type = Object)]
    meta: Attributes,
    /// The terms of the score, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    explanation: Option<Explanation>,
}

/// Answer with its context: `context[answer_start..]` starts with `value`.
#[derive(Debug, Serialize, ToSchema)]
struct AnswerFields {
    /// Id of the answer.
    id: String,
    /// Text of the answer sentence.
    value: String,
    /// Text around the answer.
    context: String,
    /// Offset of the answer in the context, in characters.
    answer_start: usize,
    /// Heading above the answer, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<String>,
    /// Path of the answer in its paper, on the pages of the server.
    link: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct QuestionText {
    /// Text of the question.
    value: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct ValueCount {
    #[schema(value_type = serde_json::Value)]
    value: AttributeValue,
    count: usize,
}

/// Body of `/v1/search/suggest`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(expecting = "an object with the field query")]
pub(super) struct SuggestRequest {
    /// Typed text; its last word may be incomplete.
    #[schema(example = "how many")]
    query: String,
    /// Maximum number of suggestions.
    #[serde(default = "default_results")]
    #[schema(default = 10, minimum = 0)]
    n_best: usize,
}

/// Suggestions, the best first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SuggestResponse {
    results: Vec<Suggestion>,
}

const fn default_results() -> usize {
    10
}

/// Answers among which values are counted.
const AGGREGATED: usize = 1_000;

/// Largest numbers of conditions in a filter, and of values in them, with which all documents are
/// compared.
const FILTER_CONDITIONS: usize = 100;
const FILTER_VALUES: usize = 10_000;

/// Maximum number of aggregations in a request.
const AGGREGATIONS: usize = 20;

/// Checks the size of a filter. The error is a message.
pub(super) fn check_filter_size(filters: &[Predicate]) -> Result<(), String> {
    let conditions: Vec<&Predicate> = filters.iter().flat_map(Predicate::conditions).collect();
    let values = conditions.iter().map(|condition| match condition {
        Predicate::OneOf { values, .. } => values.len(),
        _ => 0,
    });
    for (found, most, what) in [
        (conditions.len(), FILTER_CONDITIONS, "conditions"),
        (values.sum(), FILTER_VALUES, "values"),
    ] {
        if found > most {
            return Err(format!(
                "filter: expected at most {most} {what}, found {found}"
            ));
        }
    }
    Ok(())
}

/// Conditions of a request, if it has not too many.
pub(super) fn predicates(filter: Option<Conditions>) -> Result<Vec<Predicate>, ApiError> {
    let predicates = filter.map_or_else(Vec::new, |Conditions(predicates)| predicates);
    check_filter_size(&predicates).map_err(ApiError::invalid)?;
    Ok(predicates)
}

impl QueryRequest {
    /// Returns warnings of fields of `query` that are beside it and have no effect. A filter is an
    /// error: results that ignore it are wrong.
    fn misplaced(&self) -> Result<Vec<String>, ApiError> {
        if self.filter.is_some() {
            return Err(ApiError::invalid(
                "body: field filter: expected in the field query, as in \
                 {\"query\": {\"query\": \"...\", \"filter\": \"year>=2020\"}}, found beside it",
            ));
        }
        let others = [
            ("n_best", self.n_best),
            ("explain", self.explain),
            ("generate", self.generate),
        ];
        let found = others.into_iter().filter(|(_, value)| value.is_some());
        let warnings = found.map(|(name, _)| {
            format!("body: field {name}: expected in the field query, found beside it: no effect")
        });
        Ok(warnings.collect())
    }
}

/// Answers a question with sentences of the published documents.
#[utoipa::path(
    post,
    path = "/v1/search/query",
    tag = "search",
    request_body = QueryRequest,
    responses((status = 200, description = "Answers, the best first", body = QueryResponse))
)]
pub(super) async fn query(
    State(app): State<Arc<App>>,
    _: QueryAccess,
    base: Option<Extension<RequestBase>>,
    JsonBody(request): JsonBody<QueryRequest>,
) -> Result<Json<QueryResponse>, ApiError> {
    let start = Instant::now();
    if request.aggs.len() > AGGREGATIONS {
        return Err(ApiError::invalid(format!(
            "aggs: expected at most {AGGREGATIONS}, found {}",
            request.aggs.len()
        )));
    }
    let misplaced = request.misplaced()?;
    let fields = request.query;
    if fields.generate && app.service.generator().is_none() {
        return Err(ApiError::invalid(
            "generate: expected a server that has a language model (ir serve --generate URL)",
        ));
    }
    let n_best = fields.n_best;
    let uid = match request.uid {
        Some(uid) => uid,
        None => random_hex(16).map_err(|error| ApiError::from(crate::ServiceError::from(error)))?,
    };
    let depth = if request.aggs.is_empty() {
        n_best
    } else {
        n_best.max(AGGREGATED.min(app.service.limits().results))
    };
    let question = Question {
        filters: predicates(fields.filter)?,
        user: uid,
        explain: fields.explain,
        explained: Some(0..n_best),
        ..Question::new(fields.query.clone(), depth)
    };
    let mut list = app.ask(question).await?;
    list.warnings.extend(misplaced);
    let count = |aggregation: &Aggregation| value_counts(&list.answers, aggregation);
    let aggs = request
        .aggs
        .iter()
        .map(|(name, aggregation)| (name.clone(), count(aggregation)));
    let aggs = aggs.collect();
    list.answers.truncate(n_best);
    let generated = if fields.generate {
        app.generate(start, &fields.query, &list.answers).await
    } else {
        None
    };
    let generated = generated.map(|generated| GeneratedFields::new(generated, &list.answers));
    let state = app.service.published()?;
    let base = base.as_ref().and_then(|Extension(base)| base.url());
    let base = base.unwrap_or_default();
    let results = std::mem::take(&mut list.answers).into_iter();
    let results = results.map(|answer| QueryResult::new(answer, &state, base));
    Ok(Json(QueryResponse {
        results: results.collect(),
        related: list.related,
        query_id: list.query,
        generated,
        aggs,
        warnings: list.warnings,
    }))
}

/// Completes what a user has typed, with questions and phrases of the published documents.
#[utoipa::path(
    post,
    path = "/v1/search/suggest",
    tag = "search",
    request_body = SuggestRequest,
    responses((status = 200, description = "Suggestions, the best first", body = SuggestResponse))
)]
pub(super) async fn suggest(
    State(app): State<Arc<App>>,
    _: QueryAccess,
    JsonBody(request): JsonBody<SuggestRequest>,
) -> Result<Json<SuggestResponse>, ApiError> {
    let complete = move |service: &crate::Service| service.complete(&request.query, request.n_best);
    let results = app.run_search(complete).await?;
    Ok(Json(SuggestResponse { results }))
}

impl GeneratedFields {
    fn new(generated: GeneratedAnswer, answers: &[ScoredAnswer]) -> Self {
        let error = generated.outcome.message();
        let text = generated.outcome.text();
        let is_cited = |position| text.is_some_and(|text| text.cited.contains(&position));
        let sentences = answers.iter().take(generated.sentences).enumerate();
        let sentences = sentences.map(|(position, answer)| SentenceFields {
            id: answer.frame.id.clone(),
            value: answer.frame.answer.clone(),
            cited: is_cited(position),
        });
        Self {
            model: generated.model,
            text: text.map(|text| text.text.clone()),
            error,
            sentences: sentences.collect(),
        }
    }
}

impl QueryResult {
    /// Answer with its section in a published state, and its link below a base path.
    fn new(answer: ScoredAnswer, state: &PublishedState, base: &str) -> Self {
        let frame = &answer.frame;
        let paper = state.document(&frame.paper);
        let section = paper.and_then(|paper| paper.section(paper.answer(&frame.id)?.chunk));
        let section = section.map(str::to_owned);
        let link = format!("{base}{}", sentence_url(frame));
        let Frame {
            id,
            kind,
            page,
            answer: value,
            context,
            answer_start,
            questions,
            metadata: mut meta,
            ..
        } = answer.frame;
        meta.set("chunk_type", kind.name());
        if let Some(page) = page {
            meta.set("page", i64::from(page));
        }
        let questions = questions
            .into_iter()
            .filter(|question| question.displayable);
        Self {
            score: answer.score,
            a: AnswerFields {
                id,
                value,
                context,
                answer_start,
                section,
                link,
            },
            questions: questions
                .map(|question| QuestionText {
                    value: question.text,
                })
                .collect(),
            meta,
            explanation: answer.explanation,
        }
    }
}

/// Values of a field among answers, by descending count, then in the order of the answers. Values
/// that filters compare as equal numbers, days or truth values count as the first of them. A list
/// counts for each of its members.
fn value_counts(answers: &[ScoredAnswer], aggregation: &Aggregation) -> Vec<ValueCount> {
    let mut counts: Vec<ValueCount> = Vec::new();
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    for answer in answers {
        let values = match answer.frame.metadata.get(&aggregation.field) {
            None => &[],
            Some(AttributeValue::List(members)) => members.as_slice(),
            Some(value) => std::slice::from_ref(value),
        };
        for value in values {
            let key = match Comparable::from_attribute(&aggregation.field, value) {
                Some(value) => value.key(),
                None => serde_json::to_string(value).unwrap_or_default(),
            };
            let position = *positions.entry(key).or_insert(counts.len());
            match counts.get_mut(position) {
                Some(found) => found.count += 1,
                None => counts.push(ValueCount {
                    value: value.clone(),
                    count: 1,
                }),
            }
        }
    }
    counts.sort_by_key(|count| Reverse(count.count));
    counts.truncate(aggregation.size);
    counts
}
