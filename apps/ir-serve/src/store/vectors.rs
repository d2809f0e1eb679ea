use std::collections::HashSet;

use ir_core::{Fnv1a, Side};
use rusqlite::{OptionalExtension, params};

use super::{MAX_ATTEMPTS, Store, StoreError};

impl Store {
    /// The stored vector of a text by its SHA-256. A damaged one counts as absent: it is encoded
    /// again.
    pub(crate) fn vector(
        &self,
        encoder: &str,
        side: Side,
        hash: &[u8; 32],
    ) -> Result<Option<Vec<f32>>, StoreError> {
        let connection = self.connection();
        let mut select = connection.prepare_cached(
            "SELECT vector, checksum FROM vectors WHERE encoder = ? AND side = ? AND hash = ?",
        )?;
        let found: Option<(Vec<u8>, Option<i64>)> = select
            .query_row(params![encoder, number(side), hash], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        let intact = found.filter(|(bytes, expected)| {
            let is_intact = expected.is_none_or(|expected| expected == checksum(bytes));
            if !is_intact {
                tracing::warn!("a vector is damaged and is encoded again");
            }
            is_intact
        });
        Ok(intact.map(|(bytes, _)| {
            let values = bytes.chunks_exact(4);
            values
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect()
        }))
    }

    /// Deletes the vectors of all encoders except vectors of these texts, and returns their number.
    pub(crate) fn retain_vectors(
        &self,
        used: &HashSet<(Side, [u8; 32])>,
    ) -> Result<usize, StoreError> {
        self.write(|transaction| {
            let mut gone: Vec<(String, i64, [u8; 32])> = Vec::new();
            {
                let mut select =
                    transaction.prepare_cached("SELECT encoder, side, hash FROM vectors")?;
                let mut rows = select.query([])?;
                while let Some(row) = rows.next()? {
                    let (side, hash): (i64, [u8; 32]) = (row.get(1)?, row.get(2)?);
                    let text = match side {
                        0 => (Side::Document, hash),
                        _ => (Side::Query, hash),
                    };
                    if !used.contains(&text) {
                        gone.push((row.get(0)?, side, hash));
                    }
                }
            }
            for (encoder, side, hash) in &gone {
                let mut delete = transaction.prepare_cached(
                    "DELETE FROM vectors WHERE encoder = ? AND side = ? AND hash = ?",
                )?;
                delete.execute(params![encoder, side, hash])?;
            }
            Ok(gone.len())
        })
    }

    /// Counts an attempt to encode texts, before the texts are encoded, so that a process that is
    /// killed leaves it. Returns `false` instead if the process ended [`MAX_ATTEMPTS`] times since
    /// vectors were stored or the attempts were forgotten.
    pub(crate) fn start_encoding(&self) -> Result<bool, StoreError> {
        self.write(|transaction| {
            let attempts = "SELECT attempts FROM encoding_attempts";
            let attempts = transaction.query_row(attempts, [], |row| row.get::<_, i64>(0));
            let attempts = attempts.optional()?.unwrap_or(0);
            let is_started = attempts < MAX_ATTEMPTS;
            if is_started {
                let replace = "INSERT OR REPLACE INTO encoding_attempts VALUES (1, ?)";
                transaction.execute(replace, [attempts + 1])?;
            }
            Ok(is_started)
        })
    }

    /// Forgets the attempts to encode texts, which ended in order or are to be repeated.
    pub(crate) fn forget_encoding_attempts(&self) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.execute("DELETE FROM encoding_attempts", [])?;
            Ok(())
        })
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
        self.write(|transaction| {
            transaction.execute("DELETE FROM encoding_attempts", [])?;
            for (hash, vector) in hashes.iter().zip(vectors.chunks_exact(dim.max(1))) {
                let bytes: Vec<u8> = vector
                    .iter()
                    .flat_map(|value| value.to_le_bytes())
                    .collect();
                let mut insert = transaction.prepare_cached(
                    "INSERT OR REPLACE INTO vectors (encoder, side, hash, vector, checksum)
                 VALUES (?, ?, ?, ?, ?)",
                )?;
                let checksum = checksum(&bytes);
                insert.execute(params![encoder, number(side), hash, bytes, checksum])?;
            }
            Ok(())
        })
    }
}

/// Checksum of the bytes of a vector: FNV-1a.
pub(super) fn checksum(bytes: &[u8]) -> i64 {
    Fnv1a::hash(bytes).cast_signed()
}

fn number(side: Side) -> i64 {
    match side {
        Side::Document => 0,
        Side::Query => 1,
    }
}
