use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::{Store, StoreError, now, select};

/// Publication that runs, waits or has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Job {
    /// Random id of 32 hexadecimal digits.
    pub id: String,
    /// State of the job.
    pub status: JobStatus,
    /// What is being done, such as `encoding answers`.
    pub stage: String,
    /// Units of the stage that are done.
    pub done: u64,
    /// Units of the stage.
    pub total: u64,
    /// Unix time in milliseconds.
    pub enqueued_at: i64,
    /// Unix time in milliseconds.
    pub started_at: Option<i64>,
    /// Unix time in milliseconds.
    pub ended_at: Option<i64>,
    /// Why the job failed.
    pub error: Option<String>,
}

/// State of a [`Job`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobStatus {
    /// Waits for the end of another publication.
    Queued,
    /// Reads documents, encodes or indexes.
    Started,
    /// Ended: its result is visible.
    Finished,
    /// Ended with an error: the published state is unchanged.
    Failed,
    /// Ended by an abort: the published state is unchanged.
    Aborted,
}

impl JobStatus {
    /// Name of the state, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Started => "started",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
        }
    }

    /// Returns `true` if the job has ended.
    #[must_use]
    pub fn is_end(self) -> bool {
        !matches!(self, Self::Queued | Self::Started)
    }

    fn parse(name: &str) -> Self {
        match name {
            "queued" => Self::Queued,
            "started" => Self::Started,
            "finished" => Self::Finished,
            "aborted" => Self::Aborted,
            _ => Self::Failed,
        }
    }
}

/// Attempts of a job that may end the process.
pub(crate) const MAX_ATTEMPTS: i64 = 5;

/// Jobs that are kept; older ones that have ended are forgotten.
const KEPT_JOBS: i64 = 1_000;

const COLUMNS: &str = "id, status, stage, done, total, enqueued_at, started_at, ended_at, error";

impl Store {
    /// Creates a job that waits.
    pub(crate) fn create_job(&self, id: &str) -> Result<Job, StoreError> {
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO jobs (id, status, enqueued_at) VALUES (?, 'queued', ?)",
                params![id, now()],
            )?;
            transaction.execute(
                "DELETE FROM jobs WHERE number <= (SELECT max(number) FROM jobs) - ?
             AND status NOT IN ('queued', 'started')",
                [KEPT_JOBS],
            )?;
            let select = format!("SELECT {COLUMNS} FROM jobs WHERE id = ?");
            Ok(transaction.query_row(&select, [id], job)?)
        })
    }

    /// Returns a job by id.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn job(&self, id: &str) -> Result<Option<Job>, StoreError> {
        let connection = self.connection();
        let select = format!("SELECT {COLUMNS} FROM jobs WHERE id = ?");
        let mut select = connection.prepare_cached(&select)?;
        Ok(select.query_row([id], job).optional()?)
    }

    /// Returns the latest jobs, at most `limit`, the latest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn jobs(&self, limit: u32) -> Result<Vec<Job>, StoreError> {
        let latest = format!("SELECT {COLUMNS} FROM jobs ORDER BY number DESC LIMIT ?");
        select(&self.connection(), &latest, [limit], job)
    }

    /// Jobs that wait or were running when the process ended, in their order. Those that ended the
    /// process [`MAX_ATTEMPTS`] times fail here.
    pub(crate) fn unfinished_jobs(&self) -> Result<Vec<String>, StoreError> {
        self.write(|transaction| {
            let error = format!(
                "the process ended {MAX_ATTEMPTS} times during this publication, such as for lack of \
                 memory; the published state is unchanged"
            );
            transaction.execute(
                "UPDATE jobs SET status = 'failed', error = ?, ended_at = ?
                 WHERE status IN ('queued', 'started') AND attempts >= ?",
                params![error, now(), MAX_ATTEMPTS],
            )?;
            let unfinished =
                "SELECT id FROM jobs WHERE status IN ('queued', 'started') ORDER BY number";
            select(transaction, unfinished, [], |row| row.get(0))
        })
    }

    /// Starts jobs that run together. The attempt is counted before anything is done, so that a
    /// process that is killed leaves it.
    pub(crate) fn start_jobs(&self, ids: &[String], content: &[u8; 32]) -> Result<(), StoreError> {
        self.write(|transaction| {
            for id in ids {
                transaction.execute(
                    "UPDATE jobs SET status = 'started', started_at = ?, attempts = attempts + 1,
                 content = ? WHERE id = ?",
                    params![now(), content, id],
                )?;
            }
            Ok(())
        })
    }

    /// Lets jobs wait again that were interrupted in order: the attempt does not count.
    pub(crate) fn requeue_jobs(&self, ids: &[String]) -> Result<(), StoreError> {
        self.write(|transaction| {
            for id in ids {
                transaction.execute(
                "UPDATE jobs SET status = 'queued', attempts = max(attempts - 1, 0) WHERE id = ?",
                [id],
            )?;
            }
            Ok(())
        })
    }

    /// Returns `true` if the latest job ended the process [`MAX_ATTEMPTS`] times, with this
    /// content.
    pub(crate) fn was_given_up(&self, content: &[u8; 32]) -> Result<bool, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT status = 'failed' AND attempts >= ?1 AND content IS ?2 FROM jobs
             ORDER BY number DESC LIMIT 1",
        )?;
        let given_up = select.query_row(params![MAX_ATTEMPTS, content], |row| row.get(0));
        Ok(given_up.optional()?.unwrap_or(false))
    }

    /// Ends jobs, all or none; `progress` is the last stage, the units done and all units.
    pub(crate) fn end_jobs(
        &self,
        ids: &[String],
        status: JobStatus,
        progress: (&str, u64, u64),
        error: Option<&str>,
    ) -> Result<(), StoreError> {
        let (stage, done, total) = progress;
        self.write(|transaction| {
            for id in ids {
                transaction.execute(
                    "UPDATE jobs SET status = ?, stage = ?, done = ?, total = ?, error = ?,
                 ended_at = ? WHERE id = ?",
                    params![status.name(), stage, done, total, error, now(), id],
                )?;
            }
            Ok(())
        })
    }
}

fn job(row: &Row<'_>) -> rusqlite::Result<Job> {
    let status: String = row.get(1)?;
    Ok(Job {
        id: row.get(0)?,
        status: JobStatus::parse(&status),
        stage: row.get(2)?,
        done: row.get(3)?,
        total: row.get(4)?,
        enqueued_at: row.get(5)?,
        started_at: row.get(6)?,
        ended_at: row.get(7)?,
        error: row.get(8)?,
    })
}
