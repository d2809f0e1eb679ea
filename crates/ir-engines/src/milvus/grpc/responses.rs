//! Results of responses, and errors of their statuses.

use super::messages::{
    Checked, DescribeIndexResponse, QueryResults, ScalarField, SearchResultData, Status,
};
use crate::RemoteError;
use crate::milvus::protocol::divided;
use crate::milvus::{ENGINE, ScoredNumbers};

pub(super) fn is_missing(status: &Status) -> bool {
    status.code == 100
        || status.error_code == 4
        || (status.error_code != 0 && status.reason.contains("collection not found"))
}

/// Returns `true` for `IndexNotExist`: 25 in Milvus, 700 since 2.3, 11 in milvus-lite.
const fn is_without_index(status: &Status) -> bool {
    status.code == 700 || matches!(status.error_code, 11 | 25 | 700)
}

/// Numbers of indexed, all and pending documents of the index of a field; `None` if there is none.
pub(super) fn rows_of_index(
    response: &DescribeIndexResponse,
    field: &str,
) -> Result<Option<(u64, u64, u64)>, RemoteError> {
    if response.status().is_some_and(is_without_index) {
        return Ok(None);
    }
    check(response.status(), "describe the index")?;
    let mut indexes = response.index_descriptions.iter();
    let index = indexes.find(|index| index.field_name == field);
    let number = |rows: i64| u64::try_from(rows).unwrap_or(0);
    Ok(index.map(|index| {
        (
            number(index.indexed_rows),
            number(index.total_rows),
            number(index.pending_index_rows),
        )
    }))
}

/// Status of HTTP and message of a transient error: the server marks it as retriable, or it is the
/// rate limit. milvus-lite has other codes than Milvus.
pub(super) fn transient(status: &Status) -> Option<(u16, String)> {
    let is_limited = status.code == 8;
    let message: String = status.reason.chars().take(500).collect();
    let found = is_limited || (status.retriable && status.code != 0);
    let http = if is_limited { 429 } else { 503 };
    found.then(|| (http, format!("{message} (code {})", status.code)))
}

pub(super) fn check(status: Option<&Status>, operation: &'static str) -> Result<(), RemoteError> {
    match status {
        Some(status) if status.error_code != 0 || status.code != 0 => Err(RemoteError::Rejected {
            engine: ENGINE,
            operation,
            message: status.reason.chars().take(500).collect(),
        }),
        _ => Ok(()),
    }
}

/// Numbers and scores of hits per query; `None` if numbers, scores and counts do not fit.
pub(super) fn hits(data: &SearchResultData, queries: usize) -> Option<ScoredNumbers> {
    let numbers = data.ids.as_ref().and_then(|ids| ids.integers.as_ref());
    let numbers = numbers.map_or(&[][..], |numbers| &numbers.data);
    if data.scores.len() != numbers.len() {
        return None;
    }
    let pairs = numbers.iter().zip(&data.scores);
    let pairs =
        pairs.map(|(&number, &score)| Some((u64::try_from(number).ok()?, f64::from(score))));
    let counts = data.topks.iter().map(|&count| usize::try_from(count).ok());
    divided(pairs, counts, queries)
}

pub(super) fn column<'r>(results: &'r QueryResults, name: &str) -> Option<&'r ScalarField> {
    let mut fields = results.fields_data.iter();
    fields
        .find(|field| field.field_name == name)?
        .scalars
        .as_ref()
}

pub(super) fn longs<'r>(results: &'r QueryResults, name: &str) -> Option<&'r [i64]> {
    Some(&column(results, name)?.longs.as_ref()?.data)
}
