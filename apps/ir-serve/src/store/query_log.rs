use std::collections::HashMap;

use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::{Store, StoreError, now, select};

/// Query of a user, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedQuery {
    /// Id of the user or session.
    pub user: String,
    /// Text of the query.
    pub query: String,
    /// If `true`, the user chose a suggestion.
    pub is_suggestion: bool,
    /// Number of answers that were returned.
    pub results: usize,
    /// Time of the search in microseconds.
    pub micros: u64,
    /// If `true`, opened answers of the query are logged.
    pub records_clicks: bool,
}

/// Query of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QueryRecord {
    /// Number in the log, from 1.
    pub id: i64,
    /// Unix time in milliseconds.
    pub asked_at: i64,
    /// Id of the user or session.
    pub user: String,
    /// Text of the query.
    pub query: String,
    /// If `true`, the user chose a suggestion.
    pub is_suggestion: bool,
    /// Number of answers that were returned.
    pub results: u64,
    /// Time of the search in microseconds.
    pub micros: u64,
    /// If `true`, opened answers of the query are logged, as on the search page. Default: true, for
    /// queries of older versions.
    #[serde(default = "is_recorded")]
    pub records_clicks: bool,
    /// Frames of the answers that the user opened, in that order.
    pub clicks: Vec<String>,
}

/// Opened answer of a query, for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoggedClick {
    /// Number of the query.
    pub(crate) query: i64,
    /// Id of the user or session.
    pub(crate) user: String,
    /// Frame of the answer.
    pub(crate) frame: String,
    /// Rank of the answer, from 1.
    pub(crate) rank: u32,
    /// SHA-256 of the text of the answer, if it is published.
    pub(crate) answer: Option<[u8; 32]>,
}

/// Answer of the log that a user opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenedAnswer {
    /// Number of the query.
    pub(crate) query: i64,
    /// Text of the query.
    pub(crate) text: String,
    /// Frame of the answer.
    pub(crate) frame: String,
    /// SHA-256 of the text of the answer; `None` if an older version logged it.
    pub(crate) answer: Option<[u8; 32]>,
}

const fn is_recorded() -> bool {
    true
}

/// Latest queries that make suggestions popular.
const POPULARITY_WINDOW: u32 = 100_000;

impl Store {
    /// Appends queries with their numbers and times to the log, then opened answers.
    /// Answers of unknown queries, of queries of other users and of queries without recorded clicks
    /// or results are left out.
    pub(crate) fn log_queries(
        &self,
        queries: &[(i64, i64, LoggedQuery)],
        clicks: &[LoggedClick],
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            for (id, asked_at, query) in queries {
                let mut insert = transaction.prepare_cached(
                    "INSERT INTO queries
                 (id, asked_at, user, query, is_suggestion, results, micros, records_clicks)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                )?;
                insert.execute(params![
                    id,
                    asked_at,
                    query.user,
                    query.query,
                    query.is_suggestion,
                    query.results,
                    query.micros,
                    query.records_clicks
                ])?;
            }
            for click in clicks {
                let mut insert = transaction.prepare_cached(
                    "INSERT INTO clicks (query, frame, rank, clicked_at, answer)
                 SELECT id, ?, ?, ?, ? FROM queries
                 WHERE id = ? AND user = ? AND records_clicks AND results > 0",
                )?;
                insert.execute(params![
                    click.frame,
                    click.rank,
                    now(),
                    click.answer,
                    click.query,
                    click.user
                ])?;
            }
            Ok(())
        })
    }

    /// Deletes the oldest queries beyond the last `keep`, with their opened answers: at most
    /// `limit` in a call. Returns their number.
    pub(crate) fn delete_old_queries(&self, keep: usize, limit: u32) -> Result<usize, StoreError> {
        let keep = i64::try_from(keep).unwrap_or(i64::MAX);
        let connection = self.connection();
        // Numbers that are not in the log, of queries that could not be logged, count as kept.
        let mut has_old = connection.prepare_cached(
            "SELECT EXISTS
             (SELECT 1 FROM queries WHERE id <= (SELECT max(id) FROM queries) - ?)",
        )?;
        let has_old: bool = has_old.query_row([keep], |row| row.get(0))?;
        if !has_old {
            return Ok(0);
        }
        let mut delete = connection.prepare_cached(
            "DELETE FROM queries WHERE id IN
             (SELECT id FROM queries WHERE id <= (SELECT max(id) FROM queries) - ?
              ORDER BY id LIMIT ?)",
        )?;
        Ok(delete.execute(params![keep, limit])?)
    }

    /// Adds to each normalized text how many of the latest queries are equal to it when they are
    /// normalized. Other queries are not kept in memory.
    pub(crate) fn count_asked(
        &self,
        texts: &mut HashMap<String, u64>,
        normalize: impl Fn(&str) -> String,
    ) -> Result<(), StoreError> {
        let connection = self.reader()?;
        let mut select =
            connection.prepare("SELECT query FROM queries ORDER BY id DESC LIMIT ?")?;
        let mut rows = select.query([POPULARITY_WINDOW])?;
        while let Some(row) = rows.next()? {
            let query: String = row.get(0)?;
            if let Some(count) = texts.get_mut(&normalize(&query)) {
                *count += 1;
            }
        }
        Ok(())
    }

    /// Number of the last query of the log; 0 if it is empty.
    pub(crate) fn last_query(&self) -> Result<i64, StoreError> {
        let connection = self.connection();
        Ok(
            connection.query_row("SELECT coalesce(max(id), 0) FROM queries", [], |row| {
                row.get(0)
            })?,
        )
    }

    /// Returns at most `limit` queries of the log after number `after`, by number.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn queries(&self, after: i64, limit: u32) -> Result<Vec<QueryRecord>, StoreError> {
        let connection = self.connection();
        let queries = "SELECT id, asked_at, user, query, is_suggestion, results, micros,
             records_clicks FROM queries WHERE id > ? ORDER BY id LIMIT ?";
        let mut records: Vec<_> = select(&connection, queries, params![after, limit], |row| {
            Ok(QueryRecord {
                id: row.get(0)?,
                asked_at: row.get(1)?,
                user: row.get(2)?,
                query: row.get(3)?,
                is_suggestion: row.get(4)?,
                results: row.get(5)?,
                micros: row.get(6)?,
                records_clicks: row.get(7)?,
                clicks: Vec::new(),
            })
        })?;
        let clicks = "SELECT frame FROM clicks WHERE query = ? ORDER BY rowid";
        for record in &mut records {
            record.clicks = select(&connection, clicks, [record.id], |row| row.get(0))?;
        }
        Ok(records)
    }

    /// Returns the opened answers of at most `limit` queries of the log after number `after`, by
    /// query, then in the order in which they were opened.
    pub(crate) fn opened_answers(
        &self,
        after: i64,
        limit: u32,
    ) -> Result<Vec<OpenedAnswer>, StoreError> {
        let opened = "SELECT asked.id, asked.query, clicks.frame, clicks.answer
             FROM (SELECT id, query FROM queries WHERE id > ? ORDER BY id LIMIT ?) AS asked
             JOIN clicks ON clicks.query = asked.id ORDER BY asked.id, clicks.rowid";
        select(&self.connection(), opened, params![after, limit], |row| {
            Ok(OpenedAnswer {
                query: row.get(0)?,
                text: row.get(1)?,
                frame: row.get(2)?,
                answer: row.get(3)?,
            })
        })
    }
}
