use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::{Deserialize, Serialize};

use super::{Store, StoreError, check_revision, now, select};

/// Question of an annotator for a span of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Annotation {
    /// Id, in the order of creation from 1.
    pub id: i64,
    /// Number of edits plus 1.
    pub revision: i64,
    /// Id of the document.
    pub document: String,
    /// Number of the chunk from 0.
    pub chunk: usize,
    /// First character of the span in the normalized text of the chunk.
    pub start: usize,
    /// Text of the span.
    pub span: String,
    /// Text of the question.
    pub question: String,
    /// Name or session of the annotator.
    pub annotator: String,
    /// State of the review.
    pub status: AnnotationStatus,
    /// The annotation that a merged one was merged into.
    pub merged_into: Option<i64>,
    /// If `true`, the document no longer has the span at the offset. Set when documents are
    /// published, reset by an edit of the span.
    pub is_displaced: bool,
    /// Unix time in milliseconds.
    pub created_at: i64,
    /// Unix time in milliseconds.
    pub updated_at: i64,
}

/// Span and question of an annotation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NewAnnotation {
    /// Id of the document.
    pub document: String,
    /// Number of the chunk from 0.
    pub chunk: usize,
    /// First character of the span in the normalized text of the chunk.
    pub start: usize,
    /// Text of the span.
    pub span: String,
    /// Text of the question.
    pub question: String,
}

/// State of the review of an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnnotationStatus {
    /// Waits for a review.
    Pending,
    /// Becomes a question of its frame at the next publication.
    Accepted,
    /// Rejected by the last reviewer.
    Rejected,
    /// A duplicate of another annotation.
    Merged,
}

/// Position of an annotation in a publication.
#[derive(Debug)]
pub(crate) struct AnnotationPosition {
    pub(crate) annotation: i64,
    /// Revision of the annotation at this position.
    pub(crate) revision: i64,
    pub(crate) chunk: usize,
    pub(crate) start: usize,
    /// If `true`, the document does not contain the span, and the position is the previous one.
    pub(crate) is_displaced: bool,
}

/// Decision of a reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Sets [`AnnotationStatus::Accepted`].
    Accept,
    /// Sets [`AnnotationStatus::Rejected`].
    Reject,
    /// Merge into the annotation with this id.
    Merge(i64),
}

const COLUMNS: &str = "id, revision, document, chunk, span_start, span, question, annotator, \
                       status, merged_into, is_displaced, created_at, updated_at";

impl AnnotationStatus {
    /// In the order of the form of the page.
    pub(crate) const ALL: [Self; 4] = [Self::Pending, Self::Accepted, Self::Rejected, Self::Merged];

    /// Name of the state, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Merged => "merged",
        }
    }

    /// Returns `true` if annotations can be merged into an annotation in this state. A rejected or
    /// merged annotation has no question to which they could belong.
    #[must_use]
    pub fn is_merge_target(self) -> bool {
        matches!(self, Self::Pending | Self::Accepted)
    }

    /// The state with a name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// State in a column.
    fn column(row: &Row<'_>, index: usize) -> rusqlite::Result<Self> {
        let name: String = row.get(index)?;
        Ok(Self::parse(&name).unwrap_or(Self::Pending))
    }
}

impl Verdict {
    fn status(self) -> AnnotationStatus {
        match self {
            Self::Accept => AnnotationStatus::Accepted,
            Self::Reject => AnnotationStatus::Rejected,
            Self::Merge(_) => AnnotationStatus::Merged,
        }
    }
}

impl Store {
    /// Stores an annotation.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn annotate(&self, new: &NewAnnotation, annotator: &str) -> Result<Annotation, StoreError> {
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO annotations (document, chunk, span_start, span, question, annotator,
             status, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, 'pending', ?7, ?7)",
                params![
                    new.document,
                    new.chunk,
                    new.start,
                    new.span,
                    new.question,
                    annotator,
                    now()
                ],
            )?;
            by_id(transaction, transaction.last_insert_rowid())
        })
    }

    /// Returns an annotation by id.
    ///
    /// # Errors
    /// No annotation has the id, or the store cannot be read.
    pub fn annotation(&self, id: i64) -> Result<Annotation, StoreError> {
        by_id(&self.connection(), id)
    }

    /// Returns the annotations of a document or of all, in a state or in all, by id.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn annotations(
        &self,
        document: Option<&str>,
        status: Option<AnnotationStatus>,
    ) -> Result<Vec<Annotation>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM annotations WHERE (?1 IS NULL OR document = ?1)
             AND (?2 IS NULL OR status = ?2) ORDER BY id"
        );
        let status = status.map(AnnotationStatus::name);
        select(
            &self.connection(),
            &query,
            params![document, status],
            annotation,
        )
    }

    /// Replaces span and question of an annotation, which is pending again.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the annotation has another revision: it was edited meanwhile.
    pub fn edit_annotation(
        &self,
        id: i64,
        revision: i64,
        new: &NewAnnotation,
    ) -> Result<Annotation, StoreError> {
        self.write(|transaction| {
            check_revision(id, by_id(transaction, id)?.revision, revision)?;
            transaction.execute(
                "UPDATE annotations SET revision = revision + 1, document = ?, chunk = ?,
             span_start = ?, span = ?, question = ?, status = 'pending', merged_into = NULL,
             is_displaced = 0, updated_at = ? WHERE id = ?",
                params![
                    new.document,
                    new.chunk,
                    new.start,
                    new.span,
                    new.question,
                    now(),
                    id
                ],
            )?;
            transaction.execute("DELETE FROM verdicts WHERE annotation = ?", [id])?;
            by_id(transaction, id)
        })
    }

    /// Deletes an annotation. Annotations that were merged into it are pending again.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the annotation has another revision: it was edited meanwhile.
    pub fn delete_annotation(&self, id: i64, revision: i64) -> Result<(), StoreError> {
        self.write(|transaction| {
            check_revision(id, by_id(transaction, id)?.revision, revision)?;
            separate_merged(transaction, id)?;
            transaction.execute("DELETE FROM annotations WHERE id = ?", [id])?;
            Ok(())
        })
    }

    /// Stores the verdict of a reviewer, which decides the state. Annotations that were merged into
    /// a rejected one are pending again.
    ///
    /// # Errors
    /// - The annotation has another revision ([`StoreError::Conflict`]): it was edited meanwhile.
    /// - The verdict merges it into itself, into an annotation of another document, or into a
    ///   rejected or merged one ([`AnnotationStatus::is_merge_target`]).
    pub fn review(
        &self,
        id: i64,
        revision: i64,
        reviewer: &str,
        verdict: Verdict,
    ) -> Result<Annotation, StoreError> {
        self.write(|transaction| {
            let own = by_id(transaction, id)?;
            check_revision(id, own.revision, revision)?;
            let target = match verdict {
                Verdict::Merge(target) => {
                    let other = by_id(transaction, target)?;
                    let is_target =
                        other.status.is_merge_target() && other.document == own.document;
                    if target == id || !is_target {
                        return Err(StoreError::NoMerge { id, target });
                    }
                    Some(target)
                }
                Verdict::Accept | Verdict::Reject => None,
            };
            if verdict == Verdict::Reject {
                separate_merged(transaction, id)?;
            }
            let status = verdict.status().name();
            transaction.execute(
                "UPDATE annotations SET revision = revision + 1, status = ?, merged_into = ?,
                 updated_at = ? WHERE id = ?",
                params![status, target, now(), id],
            )?;
            transaction.execute(
                "INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?)",
                params![id, reviewer, status, now()],
            )?;
            by_id(transaction, id)
        })
    }

    /// Latest verdict of each reviewer on each annotation, by annotation and reviewer.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn verdicts(&self) -> Result<Vec<(i64, String, AnnotationStatus)>, StoreError> {
        let query =
            "SELECT annotation, reviewer, verdict FROM verdicts ORDER BY annotation, reviewer";
        select(&self.connection(), query, [], |row| {
            let verdict = AnnotationStatus::column(row, 2)?;
            Ok((row.get(0)?, row.get(1)?, verdict))
        })
    }
}

/// All annotations, by id: those that are merged or rejected may become pending again.
pub(super) fn all_annotations(
    transaction: &Transaction<'_>,
) -> Result<Vec<Annotation>, StoreError> {
    let query = format!("SELECT {COLUMNS} FROM annotations ORDER BY id");
    select(transaction, &query, [], annotation)
}

/// Stores the positions of annotations that were not edited meanwhile.
pub(super) fn set_positions(
    transaction: &Transaction<'_>,
    positions: &[AnnotationPosition],
) -> Result<(), StoreError> {
    for position in positions {
        let mut update = transaction.prepare_cached(
            "UPDATE annotations SET chunk = ?, span_start = ?, is_displaced = ?
             WHERE id = ? AND revision = ?",
        )?;
        update.execute(params![
            position.chunk,
            position.start,
            position.is_displaced,
            position.annotation,
            position.revision
        ])?;
    }
    Ok(())
}

/// Makes the annotations that were merged into an annotation pending again.
fn separate_merged(transaction: &Transaction<'_>, id: i64) -> Result<(), StoreError> {
    transaction.execute(
        "UPDATE annotations SET status = 'pending', merged_into = NULL, revision = revision + 1
         WHERE merged_into = ?",
        [id],
    )?;
    Ok(())
}

fn by_id(connection: &Connection, id: i64) -> Result<Annotation, StoreError> {
    let select = format!("SELECT {COLUMNS} FROM annotations WHERE id = ?");
    let mut select = connection.prepare_cached(&select)?;
    let found = select.query_row([id], annotation).optional()?;
    found.ok_or(StoreError::NoAnnotation { id })
}

fn annotation(row: &Row<'_>) -> rusqlite::Result<Annotation> {
    Ok(Annotation {
        id: row.get(0)?,
        revision: row.get(1)?,
        document: row.get(2)?,
        chunk: row.get(3)?,
        start: row.get(4)?,
        span: row.get(5)?,
        question: row.get(6)?,
        annotator: row.get(7)?,
        status: AnnotationStatus::column(row, 8)?,
        merged_into: row.get(9)?,
        is_displaced: row.get(10)?,
        created_at: row.get(11)?,
        updated_at: row.get(12)?,
    })
}
