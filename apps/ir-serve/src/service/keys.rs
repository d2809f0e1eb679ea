//! Keys of the service, which are stored as hashes.

use super::Service;
use crate::error::ServiceError;
use crate::store::{KeyRole, role_of};

impl Service {
    /// Creates a key. It is returned once and stored as a hash.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn create_key(&self, role: KeyRole) -> Result<String, ServiceError> {
        let key = self.store.create_key(role)?;
        self.read_keys()?;
        Ok(key)
    }

    /// Deletes all keys.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn delete_keys(&self) -> Result<(), ServiceError> {
        self.store.delete_keys()?;
        self.read_keys()
    }

    /// Returns `true` if there are keys.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        !self.read_lock().is_empty()
    }

    /// Returns the role of a key, in a time that does not depend on the key; `None` if it is
    /// unknown.
    #[must_use]
    pub fn role(&self, key: &str) -> Option<KeyRole> {
        role_of(&self.read_lock(), key)
    }

    fn read_keys(&self) -> Result<(), ServiceError> {
        let keys = self.store.keys()?;
        let lock = self.keys.write();
        *lock.unwrap_or_else(std::sync::PoisonError::into_inner) = keys;
        Ok(())
    }

    fn read_lock(&self) -> std::sync::RwLockReadGuard<'_, Vec<([u8; 32], KeyRole)>> {
        let lock = self.keys.read();
        lock.unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
