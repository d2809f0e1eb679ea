//! Insight: what users ask, from the query log.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::{Html, Response};
use maud::{Markup, html};

use super::access::Admin;
use super::error::PageError;
use super::export::{JudgedQuery, file, json_lines, judged_file};
use super::parameters::{PathParameter, UrlParameters};
use crate::app::App;
use crate::published::PublishedState;
use crate::store::{OpenedAnswer, QueryRecord, sha256};
use crate::urls::url;

/// Latest queries that the page is about.
const WINDOW: u32 = 10_000;

/// Rows of a table.
const ROWS: usize = 20;

/// Maximum number of queries of an export.
const EXPORT: u32 = 100_000;

/// Numbers of queries with the same text, up to case and white space.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct QueryCounts {
    /// Text of the first of the queries.
    text: String,
    asked: usize,
    /// Number of queries of the search page, which logs opened answers.
    recorded: usize,
    clicked: usize,
    /// Number of queries without answers.
    empty: usize,
}

/// Statistics of the query log.
#[derive(Debug, Default)]
struct LogStatistics {
    queries: usize,
    users: usize,
    suggestions: usize,
    /// Number of queries of the search page, which logs opened answers.
    recorded: usize,
    clicked: usize,
    /// Median and 95th percentile of the time in microseconds.
    micros: (u64, u64),
    /// The most frequent first.
    texts: Vec<QueryCounts>,
}

impl LogStatistics {
    fn new(log: &[QueryRecord]) -> Self {
        let mut texts: HashMap<String, QueryCounts> = HashMap::new();
        let mut users: Vec<&str> = log.iter().map(|query| query.user.as_str()).collect();
        users.sort_unstable();
        users.dedup();
        for query in log {
            let (key, text) = words_of(&query.query);
            let counts = texts.entry(key).or_insert_with(|| QueryCounts {
                text,
                ..QueryCounts::default()
            });
            counts.asked += 1;
            counts.recorded += usize::from(query.records_clicks);
            counts.clicked += usize::from(!query.clicks.is_empty());
            counts.empty += usize::from(query.results == 0);
        }
        let mut texts: Vec<QueryCounts> = texts.into_values().collect();
        texts.sort_unstable_by(|a, b| b.asked.cmp(&a.asked).then_with(|| a.text.cmp(&b.text)));
        let mut micros: Vec<u64> = log.iter().map(|query| query.micros).collect();
        micros.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (micros.len() * percent).div_ceil(100).saturating_sub(1);
            micros.get(rank).copied().unwrap_or(0)
        };
        Self {
            queries: log.len(),
            users: users.len(),
            recorded: log.iter().filter(|query| query.records_clicks).count(),
            suggestions: log.iter().filter(|query| query.is_suggestion).count(),
            clicked: log.iter().filter(|query| !query.clicks.is_empty()).count(),
            micros: (percentile(50), percentile(95)),
            texts,
        }
    }
}

fn percent(number: usize, all: usize) -> String {
    let percent = 100.0 * number as f64 / all.max(1) as f64;
    format!("{percent:.1} %")
}

/// Page of the query log.
pub(super) async fn page(State(app): State<Arc<App>>, _: Admin) -> Result<Html<String>, PageError> {
    let (log, all) = app
        .store(|store| {
            let last = store.last_query()?;
            let after = (last - i64::from(WINDOW)).max(0);
            Ok((store.queries(after, WINDOW)?, last))
        })
        .await?;
    let statistics = LogStatistics::new(&log);
    let unlogged = app.service.unlogged_queries();
    let state = app.service.published().ok();
    let is_generated = |text: &str| {
        let state = state.as_ref();
        state.is_some_and(|state| state.is_generated(text))
    };
    let content = html! {
        h1 { "Insight" }
        p.hint {
            "Queries: the latest " (statistics.queries) " of " (all) "."
            @if unlogged > 0 { " Since the start of the server, " (unlogged) " were not logged because the disk was too slow or full." }
        }
        @if statistics.queries == 0 {
            p role="status" { "Nobody has asked anything yet." }
        } @else {
            dl.numbers {
                div { dt { "Users, and queries over REST without a user" } dd { (statistics.users) } }
                div { dt { "From suggestions" } dd { (percent(statistics.suggestions, statistics.queries)) } }
                div { dt { "With an opened answer, on the search page" } dd { (percent(statistics.clicked, statistics.recorded)) } }
                div { dt { "Median time" } dd { (milliseconds(statistics.micros.0)) } }
                div { dt { "95th percentile" } dd { (milliseconds(statistics.micros.1)) } }
            }
            (table("frequent", "Frequent questions", &statistics.texts, is_generated, |counts| counts.asked))
            (table("unclicked", "Questions without an opened answer", &statistics.texts, is_generated, |counts| if counts.clicked == 0 { counts.recorded } else { 0 }))
            (table("unanswered", "Questions without answers", &statistics.texts, is_generated, |counts| counts.empty))
        }
        section aria-labelledby="export" {
            h2 #export { "Export" }
            ul {
                li { a href="/insight/export/queries.jsonl" { "Query log with opened answers, JSON lines" } }
                li { a href="/insight/export/examples.jsonl" { "Questions with opened answers, training examples for " code { "ir mine" } } }
                li {
                    "Evaluation data: "
                    a href="/insight/export/queries.tsv" { "questions with opened answers" } ", "
                    a href="/insight/export/qrels.txt" { "the opened answers as TREC qrels" } ", "
                    a href="/insight/export/documents.jsonl" { "all answers as documents" }
                }
            }
            p.hint { "Examples and qrels have each question once. Answers that nobody opened are not judged; those whose text has changed are left out." }
            p.hint { "A file has at most " (EXPORT) " queries. The parameter " code { "after" } " is the number of the query after which it starts." }
        }
    };
    Ok(app.page("Insight").current("/insight").html(&content))
}

fn milliseconds(micros: u64) -> String {
    format!("{:.1} ms", micros as f64 / 1000.0)
}

fn table(
    id: &str,
    title: &str,
    texts: &[QueryCounts],
    is_generated: impl Fn(&str) -> bool,
    asked: impl Fn(&QueryCounts) -> usize,
) -> Markup {
    let mut rows: Vec<&QueryCounts> = texts.iter().filter(|counts| asked(counts) > 0).collect();
    rows.sort_by_key(|counts| Reverse(asked(counts)));
    rows.truncate(ROWS);
    html! {
        @if !rows.is_empty() {
            section aria-labelledby=(id) {
                h2 id=(id) { (title) }
                div.table role="group" aria-labelledby=(id) tabindex="0" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "Question" }
                                th.number scope="col" { "Asked" }
                                th.number scope="col" { "Opened" }
                            }
                        }
                        tbody {
                            @for counts in rows {
                                tr {
                                    td {
                                        a href=(url("/", &[("q", &counts.text)])) { (counts.text) }
                                        @if is_generated(&counts.text) { " " span.hint { "(generated)" } }
                                    }
                                    td.number { (asked(counts)) }
                                    td.number { (counts.clicked) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Exports the query log as the file with a name.
pub(super) async fn export(
    State(app): State<Arc<App>>,
    _: Admin,
    PathParameter(name): PathParameter<String>,
    UrlParameters(parameters): UrlParameters,
) -> Result<Response, PageError> {
    let after = parameters.number("after").unwrap_or(0);
    let limit = parameters.number("limit").unwrap_or(EXPORT).min(EXPORT);
    if name == "queries.jsonl" {
        let log = app.store(move |store| store.queries(after, limit)).await?;
        return Ok(file(&name, json_lines(&log)?));
    }
    let opened = app.store(move |store| store.opened_answers(after, limit));
    let opened = opened.await?;
    let state = app.service.published()?;
    judged_file(&name, &judged_queries(&opened, &state), &state)
}

/// Questions with opened answers. Queries with the same words, up to case, are one question. An
/// answer is left out if its text has changed since it was opened: nobody has judged the new text.
fn judged_queries<'a>(opened: &[OpenedAnswer], state: &'a PublishedState) -> Vec<JudgedQuery<'a>> {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut judged: Vec<JudgedQuery<'a>> = Vec::new();
    for opened in opened {
        let Some(frame) = state.frame(&opened.frame) else {
            continue;
        };
        let hash = || sha256(frame.answer.as_bytes());
        if opened.answer.is_some_and(|answer| answer != hash()) {
            continue;
        }
        let (key, text) = words_of(&opened.text);
        if text.is_empty() {
            continue;
        }
        let number = *numbers.entry(key).or_insert_with(|| {
            judged.push(JudgedQuery {
                id: opened.query,
                text,
                answers: Vec::new(),
            });
            judged.len() - 1
        });
        let answers = &mut judged[number].answers;
        if answers.iter().all(|other| other.id != frame.id) {
            answers.push(frame);
        }
    }
    judged
}

/// Words of a query in lower case, by which queries are counted, and as they were typed.
fn words_of(query: &str) -> (String, String) {
    let words = query.split_whitespace().collect::<Vec<_>>().join(" ");
    (words.to_lowercase(), words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_counted_by_their_words() {
        let query = |id, text: &str, clicks: &[&str], results| {
            let record = serde_json::json!({
                "id": id, "asked_at": 0, "user": "u", "query": text, "is_suggestion": id == 1,
                "results": results, "micros": id * 1000, "clicks": clicks,
            });
            serde_json::from_value::<QueryRecord>(record).unwrap()
        };
        let log = [
            query(1, "What is tea?", &["f"], 3),
            query(2, "what  is TEA?", &[], 3),
            query(3, "zzz", &[], 0),
        ];
        let statistics = LogStatistics::new(&log);
        assert_eq!(
            percent(statistics.suggestions, statistics.queries),
            "33.3 %"
        );
        assert_eq!(
            (statistics.users, statistics.clicked, statistics.micros),
            (1, 1, (2000, 3000))
        );
        let texts: Vec<_> = statistics
            .texts
            .iter()
            .map(|c| (&*c.text, c.asked, c.clicked, c.empty))
            .collect();
        assert_eq!(texts, [("What is tea?", 2, 1, 0), ("zzz", 1, 0, 1)]);
        assert_eq!(percent(0, LogStatistics::new(&[]).queries), "0.0 %");
    }
}
