//! Finds repeated ids without keeping the ids.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use crate::DataError;

/// Remembers on which line each id stood first, by a 128-bit hash of the id.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    first: HashMap<u128, u64>,
}

impl Seen {
    /// Notes an id; gives the line of its first occurrence if there was one.
    pub(crate) fn note(&mut self, parts: &[&str], line: u64) -> Option<u64> {
        let hash = hash(parts);
        let mut earlier = None;
        self.first
            .entry(hash)
            .and_modify(|first| earlier = Some(*first))
            .or_insert(line);
        earlier
    }
}

impl Seen {
    /// Notes the id of a record; an error if an earlier line has it.
    pub(crate) fn new_id(&mut self, id: &str, path: &str, line: u64) -> Result<(), DataError> {
        match self.note(&[id], line) {
            None => Ok(()),
            Some(first) => Err(DataError::RepeatedId {
                path: path.to_owned(),
                line,
                id: id.to_owned(),
                first,
            }),
        }
    }
}

/// A hash that two different lists of texts share once in 2^128 cases.
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
