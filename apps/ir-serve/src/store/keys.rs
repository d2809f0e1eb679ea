use rusqlite::params;
use subtle::{Choice, ConstantTimeEq};

use super::{Store, StoreError, now, select, sha256};

/// What a key permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyRole {
    /// Queries and states of publications.
    Query,
    /// All requests, and the review of annotations.
    Admin,
}

impl KeyRole {
    /// Name of the role, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Admin => "admin",
        }
    }
}

impl Store {
    /// Creates a random key of 256 bits and stores its hash; the key itself is not stored.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn create_key(&self, role: KeyRole) -> Result<String, StoreError> {
        let key = random_hex(32)?;
        let connection = self.connection();
        connection.execute(
            "INSERT INTO keys (hash, role, created_at) VALUES (?, ?, ?)",
            params![sha256(key.as_bytes()), role.name(), now()],
        )?;
        Ok(key)
    }

    /// Deletes all keys.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn delete_keys(&self) -> Result<(), StoreError> {
        self.connection().execute("DELETE FROM keys", [])?;
        Ok(())
    }

    /// Hashes and roles of the keys.
    pub(crate) fn keys(&self) -> Result<Vec<([u8; 32], KeyRole)>, StoreError> {
        select(
            &self.connection(),
            "SELECT hash, role FROM keys",
            [],
            |row| {
                let role: String = row.get(1)?;
                let role = match role.as_str() {
                    "admin" => KeyRole::Admin,
                    _ => KeyRole::Query,
                };
                Ok((row.get(0)?, role))
            },
        )
    }
}

/// The role of a key among hashed keys. The time does not depend on the key.
pub(crate) fn role_of(keys: &[([u8; 32], KeyRole)], key: &str) -> Option<KeyRole> {
    let hash = sha256(key.as_bytes());
    let mut found = None;
    for (known, role) in keys {
        let is_equal: Choice = known[..].ct_eq(&hash[..]);
        if is_equal.into() {
            found = Some(*role);
        }
    }
    found
}

/// Random bytes of the operating system in hexadecimal.
pub(crate) fn random_hex(bytes: usize) -> Result<String, StoreError> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|error| StoreError::Open {
        path: "random numbers of the operating system".to_owned(),
        source: error.into(),
    })?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}
