use std::collections::HashSet;

use ir_qa::soco::SocoDocument;
use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::documents::add_document;
use super::{AddedDocuments, Origin, Store, StoreError, now, select};

/// File of the folder of papers without documents, or with documents that lack parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[non_exhaustive]
pub struct FileProblem {
    /// Path relative to the folder, with `/`.
    pub path: String,
    /// Kind of the problem: the file could not be read, was skipped, or lacks parts.
    pub status: FileStatus,
    /// Error, reason to skip the file, or missing parts.
    #[schema(example = "no authors, no year")]
    pub reason: String,
}

/// Document that was read from a file of the folder.
#[derive(Debug)]
pub(crate) struct ReadDocument {
    pub(crate) id: String,
    pub(crate) record: SocoDocument,
    /// Size and time of modification of the file.
    pub(crate) stamp: String,
}

/// State of a file with a [`FileProblem`].
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum FileStatus {
    /// Damaged, or not in its format. Documents of an earlier version of the file are kept.
    Failed,
    /// Not opened, such as a file without a format. Documents of an earlier version of the file are
    /// kept.
    Skipped,
    /// Read, but parts are missing, such as authors.
    Incomplete,
}

/// Complete reading of the folder of papers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[non_exhaustive]
pub struct FolderReading {
    /// Path of the folder, or of one file.
    pub path: String,
    /// Number of files, those with problems included.
    pub files: u64,
    /// End of the reading, Unix time in milliseconds.
    pub ended_at: i64,
}

impl FileStatus {
    /// All states, the worst first.
    pub const ALL: [Self; 3] = [Self::Failed, Self::Skipped, Self::Incomplete];

    /// Name of the state, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Incomplete => "incomplete",
        }
    }

    fn parse(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|status| status.name() == name);
        found.unwrap_or(Self::Failed)
    }
}

impl Store {
    /// Stores that a folder with a number of files was read completely, and replaces the problems
    /// of files. Those of files in `unchanged`, which were not read again, are kept.
    pub(crate) fn set_folder_reading(
        &self,
        folder: &str,
        files: usize,
        problems: &[FileProblem],
        unchanged: &HashSet<&str>,
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            let known = "SELECT path FROM file_problems";
            let known: Vec<String> = select(transaction, known, [], |row| row.get(0))?;
            for path in known
                .iter()
                .filter(|path| !unchanged.contains(path.as_str()))
            {
                let mut delete =
                    transaction.prepare_cached("DELETE FROM file_problems WHERE path = ?")?;
                delete.execute([path])?;
            }
            for problem in problems {
                let mut insert = transaction
                    .prepare_cached("INSERT OR REPLACE INTO file_problems VALUES (?, ?, ?)")?;
                insert.execute(params![problem.path, problem.status.name(), problem.reason])?;
            }
            let files = i64::try_from(files).unwrap_or(i64::MAX);
            transaction.execute(
                "INSERT OR REPLACE INTO folder_readings (number, path, files, ended_at)
             VALUES (1, ?, ?, ?)",
                params![folder, files, now()],
            )?;
            Ok(())
        })
    }

    /// Returns the last complete reading of a folder of papers; `None` if no folder was read, or
    /// only by a version that did not store its readings.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn folder_reading(&self) -> Result<Option<FolderReading>, StoreError> {
        let connection = self.connection();
        let mut select =
            connection.prepare_cached("SELECT path, files, ended_at FROM folder_readings")?;
        let reading = select.query_row([], |row| {
            Ok(FolderReading {
                path: row.get(0)?,
                files: row.get::<_, i64>(1)?.unsigned_abs(),
                ended_at: row.get(2)?,
            })
        });
        Ok(reading.optional()?)
    }

    /// Returns at most `limit` files of the folder of papers that have no documents or lack parts,
    /// by the last reading of the folder: failed files first, then skipped and incomplete ones,
    /// each by path.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn file_problems(&self, skip: u64, limit: u64) -> Result<Vec<FileProblem>, StoreError> {
        let query = "SELECT path, status, reason FROM file_problems
             ORDER BY instr('failed skipped incomplete', status), path LIMIT ? OFFSET ?";
        let bound = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let range = [bound(limit), bound(skip)];
        select(&self.connection(), query, range, |row| {
            Ok(FileProblem {
                path: row.get(0)?,
                status: FileStatus::parse(&row.get::<_, String>(1)?),
                reason: row.get(2)?,
            })
        })
    }

    /// Returns the numbers of the files of [`Store::file_problems`] by state, in the order of
    /// [`FileStatus::ALL`].
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn file_problem_counts(&self) -> Result<[u64; 3], StoreError> {
        let connection = self.connection();
        let query = "SELECT status, count(*) FROM file_problems GROUP BY status";
        let mut counts = [0; 3];
        let found: Vec<(String, i64)> =
            select(&connection, query, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for (status, count) in found {
            counts[FileStatus::parse(&status) as usize] = count.unsigned_abs();
        }
        Ok(counts)
    }

    /// Adds documents that were read from files of the folder, all or none. Leaves out documents
    /// that were added or replaced over REST, and those that were deleted over REST since the file
    /// had the same stamp.
    pub(crate) fn add_read_documents(&self, documents: &[ReadDocument]) -> Result<(), StoreError> {
        self.write(|transaction| {
            for ReadDocument { id, record, stamp } in documents {
                let mut select = transaction.prepare_cached(
                    "SELECT coalesce(
                   (SELECT origin = 'api' FROM documents WHERE id = ?1),
                   EXISTS (SELECT 1 FROM read_documents WHERE id = ?1 AND stamp = ?2))",
                )?;
                let is_changed_over_rest: bool = select.query_row([id, stamp], |row| row.get(0))?;
                if !is_changed_over_rest {
                    let mut added = AddedDocuments::default();
                    add_document(transaction, id, record, Origin::Folder, &mut added)?;
                }
                let mut insert = transaction
                    .prepare_cached("INSERT OR REPLACE INTO read_documents VALUES (?, ?)")?;
                insert.execute([id, stamp])?;
            }
            Ok(())
        })
    }

    /// Ids of the documents of a file of the folder, if it has the stamps of the file and the
    /// reader with which it was read, and the documents are those that were read, or were replaced
    /// or deleted over REST.
    pub(crate) fn documents_of_file(
        &self,
        path: &str,
        file_stamp: &str,
        reader_stamp: &str,
    ) -> Result<Option<Vec<String>>, StoreError> {
        let connection = self.connection();
        let mut select =
            connection.prepare_cached("SELECT stamp = ? || ' ' || ? FROM files WHERE path = ?")?;
        let is_same = select.query_row([file_stamp, reader_stamp, path], |row| row.get(0));
        if !is_same.optional()?.unwrap_or(false) {
            return Ok(None);
        }
        let mut select = connection.prepare_cached(
            "SELECT read.id, CASE
               WHEN documents.id IS NULL THEN EXISTS (
                 SELECT 1 FROM read_documents AS last WHERE last.id = read.id AND last.stamp = ?2)
               ELSE documents.hash = read.hash OR documents.origin = 'api' END
             FROM file_documents AS read LEFT JOIN documents USING (id) WHERE path = ?1",
        )?;
        let mut rows = select.query([path, file_stamp])?;
        let mut ids = Vec::new();
        while let Some(row) = rows.next()? {
            if !row.get::<_, bool>(1)? {
                return Ok(None);
            }
            ids.push(row.get(0)?);
        }
        Ok(Some(ids))
    }

    /// Ids of the documents that a file had when it was last read.
    pub(crate) fn last_documents_of_file(&self, path: &str) -> Result<Vec<String>, StoreError> {
        let ids = "SELECT id FROM file_documents WHERE path = ?";
        select(&self.connection(), ids, [path], |row| row.get(0))
    }

    /// Deletes documents that were read from the folder, and returns their number. Documents that
    /// were added over REST under the same ids are kept.
    pub(crate) fn delete_folder_documents<'a>(
        &self,
        ids: impl Iterator<Item = &'a str>,
    ) -> Result<usize, StoreError> {
        self.write(|transaction| {
            let mut deleted = 0;
            for id in ids {
                let mut delete = transaction
                    .prepare_cached("DELETE FROM documents WHERE id = ? AND origin = 'folder'")?;
                if delete.execute([id])? > 0 {
                    deleted += 1;
                    let mut delete =
                        transaction.prepare_cached("DELETE FROM read_documents WHERE id = ?")?;
                    delete.execute([id])?;
                }
            }
            Ok(deleted)
        })
    }

    /// Stores that files of the folder were read: their paths, stamps (stamp of the file, a space,
    /// stamp of the reader), and the ids of their documents. Ids without documents were deleted
    /// over REST, and are left out.
    pub(crate) fn set_files(
        &self,
        files: &[(String, String, Vec<String>)],
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            for (path, stamp, ids) in files {
                transaction.execute("DELETE FROM files WHERE path = ?", [path])?;
                transaction.execute("INSERT INTO files VALUES (?, ?)", [path, stamp])?;
                for id in ids {
                    let mut insert = transaction.prepare_cached(
                        "INSERT OR REPLACE INTO file_documents
                     SELECT ?1, id, hash FROM documents WHERE id = ?2",
                    )?;
                    insert.execute(params![path, id])?;
                }
            }
            Ok(())
        })
    }
}
