use std::collections::HashSet;

use ir_core::AttributeValue;
use ir_qa::soco::SocoDocument;
use rusqlite::{OptionalExtension, Transaction, params};

use super::annotations::{Annotation, AnnotationPosition, all_annotations, set_positions};
use super::{Store, StoreError, json, now, select, sha256};

/// Where a document came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Added as a record, over REST or with `Service::add`.
    Api,
    /// Read from the folder of papers.
    Folder,
}

/// Document of the store.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StoredDocument {
    /// Id of the document.
    pub id: String,
    /// Record that was added.
    pub record: SocoDocument,
}

/// Numbers of documents that an addition changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddedDocuments {
    /// Documents with new ids.
    pub new: u64,
    /// Documents that replaced another record.
    pub replaced: u64,
    /// Documents with known records.
    pub unchanged: u64,
}

/// State of the documents: those that were added, or those that queries see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentState {
    /// After all additions and deletions.
    Added,
    /// Documents of the last publication: queries see them.
    Published,
}

/// Question of an accepted annotation at its span.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublishedQuestion {
    /// Id of the annotation.
    pub annotation: i64,
    /// Id of the document.
    pub document: String,
    /// Number of the chunk.
    pub chunk: usize,
    /// First character of the span in the normalized text of the chunk.
    pub start: usize,
    /// Text of the question.
    pub question: String,
}

/// Content that the next publication makes visible.
#[derive(Debug, Default)]
pub(crate) struct Publication {
    /// Ids and hashes of the documents, by id.
    pub(crate) documents: Vec<(String, [u8; 32])>,
    /// Questions of accepted annotations, by annotation.
    pub(crate) questions: Vec<PublishedQuestion>,
    /// Pending and accepted annotations. Their positions are not found yet.
    pub(crate) annotations: Vec<Annotation>,
    /// Positions of annotations in the documents.
    pub(crate) positions: Vec<AnnotationPosition>,
}

impl Publication {
    /// SHA-256 of the documents and the annotations.
    pub(crate) fn hash(&self) -> [u8; 32] {
        let mut bytes = Vec::new();
        for (id, hash) in &self.documents {
            bytes.extend((id.len() as u64).to_le_bytes());
            bytes.extend(id.as_bytes());
            bytes.extend(hash);
        }
        for annotation in &self.annotations {
            bytes.extend(annotation.id.to_le_bytes());
            bytes.extend(annotation.revision.to_le_bytes());
        }
        sha256(&bytes)
    }
}

impl Origin {
    fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Folder => "folder",
        }
    }
}

impl DocumentState {
    fn table(self) -> &'static str {
        match self {
            Self::Added => "documents",
            Self::Published => "published_documents",
        }
    }
}

impl Store {
    /// Adds documents with their ids, all or none. A document with a known id replaces it.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn add(
        &self,
        documents: &[(String, SocoDocument)],
        origin: Origin,
    ) -> Result<AddedDocuments, StoreError> {
        self.write(|transaction| {
            let mut added = AddedDocuments::default();
            for (id, document) in documents {
                add_document(transaction, id, document, origin, &mut added)?;
            }
            Ok(added)
        })
    }

    /// Deletes documents by id, or all documents without ids, and returns their number. Unknown ids
    /// are left out.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn delete(&self, ids: Option<&[String]>) -> Result<usize, StoreError> {
        self.write(|transaction| {
            let mut deleted = 0;
            match ids {
                None => deleted = transaction.execute("DELETE FROM documents", [])?,
                Some(ids) => {
                    for id in ids {
                        let mut delete =
                            transaction.prepare_cached("DELETE FROM documents WHERE id = ?")?;
                        deleted += delete.execute([id])?;
                    }
                }
            }
            Ok(deleted)
        })
    }

    /// Returns at most `limit` documents in the order of their ids, from position `skip` on.
    ///
    /// # Errors
    /// The store cannot be read, or a record is damaged.
    pub fn documents(
        &self,
        state: DocumentState,
        skip: u64,
        limit: u64,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(&format!(
            "SELECT id, hash, record FROM {} LEFT JOIN contents USING (hash)
             ORDER BY id LIMIT ? OFFSET ?",
            state.table()
        ))?;
        let bound = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let mut rows = select.query([bound(limit), bound(skip)])?;
        let mut documents = Vec::new();
        while let Some(row) = rows.next()? {
            let (id, hash, record): (String, [u8; 32], Option<String>) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let Some(record) = record else {
                // A wrong bit in one of the two hashes.
                return Err(self.damaged(&id));
            };
            documents.push(self.parsed(id, hash, &record)?);
        }
        Ok(documents)
    }

    /// Ids of the documents that were read from the folder.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn folder_documents(&self) -> Result<HashSet<String>, StoreError> {
        let folder = "SELECT id FROM documents WHERE origin = 'folder'";
        select(&self.connection(), folder, [], |row| row.get(0))
    }

    /// Ids, hashes and questions of a state.
    pub(crate) fn publication(&self, state: DocumentState) -> Result<Publication, StoreError> {
        let mut connection = self.connection();
        // One snapshot of all tables.
        let transaction = connection.transaction()?;
        let mut publication = Publication {
            documents: ids_and_hashes(&transaction, state)?,
            ..Publication::default()
        };
        match state {
            DocumentState::Added => publication.annotations = all_annotations(&transaction)?,
            DocumentState::Published => {
                let questions = "SELECT annotation, document, chunk, span_start, question
                                 FROM published_questions ORDER BY annotation";
                publication.questions = select(&transaction, questions, [], |row| {
                    Ok(PublishedQuestion {
                        annotation: row.get(0)?,
                        document: row.get(1)?,
                        chunk: row.get(2)?,
                        start: row.get(3)?,
                        question: row.get(4)?,
                    })
                })?;
            }
        }
        Ok(publication)
    }

    /// Record of a document by its hash.
    pub(crate) fn record(&self, id: &str, hash: &[u8; 32]) -> Result<StoredDocument, StoreError> {
        let record: Option<String> = {
            let connection = self.connection();
            let mut select =
                connection.prepare_cached("SELECT record FROM contents WHERE hash = ?")?;
            select.query_row([hash], |row| row.get(0)).optional()?
        };
        match record {
            Some(record) => self.parsed(id.to_owned(), *hash, &record),
            None => Err(self.damaged(id)),
        }
    }

    /// Makes a publication the published state, and forgets records that no state has, and failed
    /// attempts to encode texts.
    pub(crate) fn set_published(&self, publication: &Publication) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.execute("DELETE FROM encoding_attempts", [])?;
            transaction.execute("DELETE FROM published_documents", [])?;
            for (id, hash) in &publication.documents {
                let mut insert = transaction
                    .prepare_cached("INSERT INTO published_documents (id, hash) VALUES (?, ?)")?;
                insert.execute(params![id, hash])?;
            }
            transaction.execute("DELETE FROM published_questions", [])?;
            for question in &publication.questions {
                let mut insert = transaction
                    .prepare_cached("INSERT INTO published_questions VALUES (?, ?, ?, ?, ?)")?;
                insert.execute(params![
                    question.annotation,
                    question.document,
                    question.chunk,
                    question.start,
                    question.question
                ])?;
            }
            set_positions(transaction, &publication.positions)?;
            transaction.execute(
                "DELETE FROM contents WHERE hash NOT IN
             (SELECT hash FROM documents UNION SELECT hash FROM published_documents)",
                [],
            )?;
            Ok(())
        })
    }

    /// SHA-256 of the documents and accepted annotations that the next publication has.
    pub(crate) fn content_hash(&self) -> Result<[u8; 32], StoreError> {
        Ok(self.publication(DocumentState::Added)?.hash())
    }

    /// Returns `true` if added and published documents differ, in ids or records.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn has_changes(&self) -> Result<bool, StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction()?;
        let added = ids_and_hashes(&transaction, DocumentState::Added)?;
        Ok(added != ids_and_hashes(&transaction, DocumentState::Published)?)
    }

    fn parsed(
        &self,
        id: String,
        hash: [u8; 32],
        record: &str,
    ) -> Result<StoredDocument, StoreError> {
        if sha256(record.as_bytes()) != hash {
            return Err(self.damaged(&id));
        }
        let document = ir_qa::soco::SocoReader::new(record.as_bytes(), &id).next();
        match document {
            Some(Ok(record)) if has_id(&record, &id) => Ok(StoredDocument { id, record }),
            _ => Err(self.damaged(&id)),
        }
    }

    fn damaged(&self, document: &str) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            document: document.to_owned(),
        }
    }
}

/// Returns `true` if a record has no `doc_id`, or the id under which it is stored.
fn has_id(record: &SocoDocument, id: &str) -> bool {
    match record.meta.get("doc_id") {
        Some(AttributeValue::Text(text)) => text.is_empty() || text == id,
        Some(AttributeValue::Int(number)) => number.to_string() == id,
        _ => true,
    }
}

/// Adds a document and counts it.
pub(super) fn add_document(
    transaction: &Transaction<'_>,
    id: &str,
    document: &SocoDocument,
    origin: Origin,
    added: &mut AddedDocuments,
) -> Result<(), StoreError> {
    let record = json(document)?;
    let hash = sha256(record.as_bytes());
    let mut known = transaction.prepare_cached("SELECT hash FROM documents WHERE id = ?")?;
    let known: Option<[u8; 32]> = known.query_row([id], |row| row.get(0)).optional()?;
    match known {
        None => added.new += 1,
        Some(known) if known == hash => added.unchanged += 1,
        Some(_) => added.replaced += 1,
    }
    // A damaged record is replaced by what it was.
    let mut insert = transaction.prepare_cached(
        "INSERT INTO contents (hash, record) VALUES (?1, ?2)
         ON CONFLICT (hash) DO UPDATE SET record = ?2 WHERE record <> ?2",
    )?;
    insert.execute(params![hash, record])?;
    let mut insert = transaction.prepare_cached(
        "INSERT INTO documents (id, hash, origin, added_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (id) DO UPDATE SET hash = ?2, origin = ?3",
    )?;
    insert.execute(params![id, hash, origin.name(), now()])?;
    Ok(())
}

fn ids_and_hashes(
    transaction: &Transaction<'_>,
    state: DocumentState,
) -> Result<Vec<(String, [u8; 32])>, StoreError> {
    let query = format!("SELECT id, hash FROM {} ORDER BY id", state.table());
    select(transaction, &query, [], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}
