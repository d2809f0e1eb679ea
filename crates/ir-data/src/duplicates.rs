use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hasher};

use crate::error::{DataError, Location};

/// Detector of repeated ids. Stores the line of the first occurrence by a 128-bit hash of the id.
#[derive(Debug, Default)]
pub(crate) struct DuplicateFinder {
    first: HashMap<u128, u64>,
}

impl DuplicateFinder {
    /// Adds a key and returns the line of its first occurrence, if any.
    pub(crate) fn add(&mut self, parts: &[&str], line: u64) -> Option<u64> {
        match self.first.entry(hash(parts)) {
            Entry::Occupied(first) => Some(*first.get()),
            Entry::Vacant(new) => {
                new.insert(line);
                None
            }
        }
    }

    /// Adds the id of a record.
    ///
    /// # Errors
    /// An earlier line has the same id.
    pub(crate) fn add_id(&mut self, id: &str, at: Location<'_>) -> Result<(), DataError> {
        match self.add(&[id], at.line) {
            None => Ok(()),
            Some(first) => Err(DataError::RepeatedId {
                path: at.path.to_owned(),
                line: at.line,
                id: id.to_owned(),
                first,
            }),
        }
    }
}

/// 128-bit hash of a list of strings.
pub(crate) fn hash(parts: &[&str]) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(salt);
        for part in parts {
            hasher.write(part.as_bytes());
            hasher.write_u8(0xff);
        }
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}
