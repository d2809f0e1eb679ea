use rusqlite::{OptionalExtension, params};

use super::{Store, StoreError};

impl Store {
    /// Ids of the documents of a file of the folder, if it has the stamp with which it was read,
    /// and the documents are those that were read.
    pub(crate) fn documents_of_file(
        &self,
        path: &str,
        stamp: &str,
    ) -> Result<Option<Vec<String>>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached("SELECT stamp = ? FROM files WHERE path = ?")?;
        let is_same = select.query_row([stamp, path], |row| row.get(0));
        if !is_same.optional()?.unwrap_or(false) {
            return Ok(None);
        }
        let mut select = connection.prepare_cached(
            "SELECT read.id, documents.hash IS read.hash AND documents.origin IS 'folder'
             FROM file_documents AS read LEFT JOIN documents USING (id) WHERE path = ?",
        )?;
        let mut rows = select.query([path])?;
        let mut ids = Vec::new();
        while let Some(row) = rows.next()? {
            if !row.get::<_, bool>(1)? {
                return Ok(None);
            }
            ids.push(row.get(0)?);
        }
        Ok(Some(ids))
    }

    /// Stores that files of the folder were read: their paths, stamps, and the ids of their
    /// documents, which are stored.
    pub(crate) fn set_files(
        &self,
        files: &[(String, String, Vec<String>)],
    ) -> Result<(), StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction()?;
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
        transaction.commit()?;
        Ok(())
    }
}
