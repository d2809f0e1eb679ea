use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::{Store, StoreError, check_revision, json, now, select};

/// Query for datasets with its relevant datasets: DataFinder's annotation of an abstract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DatasetAnnotation {
    /// Number of the annotation, from 1.
    pub id: i64,
    /// Number of edits plus 1.
    pub revision: i64,
    /// Content of the form.
    #[serde(flatten)]
    pub content: NewDatasetAnnotation,
    /// Name or session of the annotator.
    pub annotator: String,
    /// Unix time in milliseconds.
    pub created_at: i64,
    /// Unix time in milliseconds.
    pub updated_at: i64,
}

/// Content of a [`DatasetAnnotation`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewDatasetAnnotation {
    /// Abstract of the paper.
    #[serde(rename = "abstract")]
    pub summary: String,
    /// Values by field, such as `task`; empty values are left out.
    pub fields: BTreeMap<String, String>,
    /// Names of the relevant datasets.
    pub datasets: Vec<String>,
}

const COLUMNS: &str = "id, revision, abstract, fields, datasets, annotator, created_at, updated_at";

impl Store {
    /// Stores a dataset annotation.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn annotate_datasets(
        &self,
        new: &NewDatasetAnnotation,
        annotator: &str,
    ) -> Result<DatasetAnnotation, StoreError> {
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO dataset_annotations
             (abstract, fields, datasets, annotator, created_at, updated_at)
             VALUES (?, ?, ?, ?, ?5, ?5)",
                params![
                    new.summary,
                    json(&new.fields)?,
                    json(&new.datasets)?,
                    annotator,
                    now()
                ],
            )?;
            by_id(transaction, transaction.last_insert_rowid())
        })
    }

    /// Returns a dataset annotation by id.
    ///
    /// # Errors
    /// No annotation has the id, or the store cannot be read.
    pub fn dataset_annotation(&self, id: i64) -> Result<DatasetAnnotation, StoreError> {
        by_id(&self.connection(), id)
    }

    /// Returns all dataset annotations by id.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn dataset_annotations(&self) -> Result<Vec<DatasetAnnotation>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM dataset_annotations ORDER BY id");
        select(&self.connection(), &query, [], annotation)
    }

    /// Replaces the content of a dataset annotation.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the annotation has another revision: it was edited meanwhile.
    pub fn edit_dataset_annotation(
        &self,
        id: i64,
        revision: i64,
        new: &NewDatasetAnnotation,
    ) -> Result<DatasetAnnotation, StoreError> {
        self.write(|transaction| {
            check_revision(id, by_id(transaction, id)?.revision, revision)?;
            transaction.execute(
                "UPDATE dataset_annotations SET revision = revision + 1, abstract = ?, fields = ?,
             datasets = ?, updated_at = ? WHERE id = ?",
                params![
                    new.summary,
                    json(&new.fields)?,
                    json(&new.datasets)?,
                    now(),
                    id
                ],
            )?;
            by_id(transaction, id)
        })
    }

    /// Deletes a dataset annotation.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if the annotation has another revision: it was edited meanwhile.
    pub fn delete_dataset_annotation(&self, id: i64, revision: i64) -> Result<(), StoreError> {
        self.write(|transaction| {
            check_revision(id, by_id(transaction, id)?.revision, revision)?;
            transaction.execute("DELETE FROM dataset_annotations WHERE id = ?", [id])?;
            Ok(())
        })
    }
}

fn by_id(connection: &Connection, id: i64) -> Result<DatasetAnnotation, StoreError> {
    let select = format!("SELECT {COLUMNS} FROM dataset_annotations WHERE id = ?");
    let mut select = connection.prepare_cached(&select)?;
    let found = select.query_row([id], annotation).optional()?;
    found.ok_or(StoreError::NoAnnotation { id })
}

fn annotation(row: &Row<'_>) -> rusqlite::Result<DatasetAnnotation> {
    let (fields, datasets): (String, String) = (row.get(3)?, row.get(4)?);
    let invalid = |column: usize| {
        let kind = rusqlite::types::Type::Text;
        move |error: serde_json::Error| {
            rusqlite::Error::FromSqlConversionFailure(column, kind, error.into())
        }
    };
    Ok(DatasetAnnotation {
        id: row.get(0)?,
        revision: row.get(1)?,
        content: NewDatasetAnnotation {
            summary: row.get(2)?,
            fields: serde_json::from_str(&fields).map_err(invalid(3))?,
            datasets: serde_json::from_str(&datasets).map_err(invalid(4))?,
        },
        annotator: row.get(5)?,
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_edited_and_deleted_by_revision() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let mut new = NewDatasetAnnotation {
            summary: "We parse \"trees\".".to_owned(),
            fields: [("task".to_owned(), "parsing".to_owned())].into(),
            datasets: vec!["Penn Treebank".to_owned()],
        };
        let first = store.annotate_datasets(&new, "Ann").unwrap();
        assert_eq!((first.id, first.revision, &first.content), (1, 1, &new));
        new.datasets.clear();
        let edited = store.edit_dataset_annotation(1, 1, &new).unwrap();
        assert_eq!((edited.revision, &edited.content), (2, &new));
        let conflict = store.edit_dataset_annotation(1, 1, &new).unwrap_err();
        assert!(matches!(
            conflict,
            StoreError::Conflict {
                id: 1,
                expected: 1,
                found: 2
            }
        ));
        assert!(store.delete_dataset_annotation(1, 1).is_err());
        assert_eq!(store.dataset_annotations().unwrap(), [edited]);
        store.delete_dataset_annotation(1, 2).unwrap();
        assert!(matches!(
            store.dataset_annotation(1),
            Err(StoreError::NoAnnotation { id: 1 })
        ));
    }
}
