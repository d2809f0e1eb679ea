use ir_core::Side;
use rusqlite::{OptionalExtension, params};

use super::{Store, StoreError};

impl Store {
    /// The stored vector of a text by its SHA-256.
    pub(crate) fn vector(
        &self,
        encoder: &str,
        side: Side,
        hash: &[u8; 32],
    ) -> Result<Option<Vec<f32>>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT vector FROM vectors WHERE encoder = ? AND side = ? AND hash = ?",
        )?;
        let bytes: Option<Vec<u8>> = select
            .query_row(params![encoder, number(side), hash], |row| row.get(0))
            .optional()?;
        Ok(bytes.map(|bytes| {
            let values = bytes.chunks_exact(4);
            values
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect()
        }))
    }

    /// Stores vectors of texts, all or none. `vectors` is row-major `[hashes.len(), dim]`.
    pub(crate) fn set_vectors(
        &self,
        encoder: &str,
        side: Side,
        hashes: &[[u8; 32]],
        vectors: &[f32],
        dim: usize,
    ) -> Result<(), StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction()?;
        for (hash, vector) in hashes.iter().zip(vectors.chunks_exact(dim.max(1))) {
            let bytes: Vec<u8> = vector
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect();
            let mut insert =
                transaction.prepare_cached("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)")?;
            insert.execute(params![encoder, number(side), hash, bytes])?;
        }
        transaction.commit()?;
        Ok(())
    }
}

fn number(side: Side) -> i64 {
    match side {
        Side::Document => 0,
        Side::Query => 1,
    }
}
