//! Ids of the vectors of a file, and messages about them.

use std::fmt::Display;

use ir_core::{DocIds, IdError};

/// Adds an id. `at` is its position, for errors.
pub(super) fn push_id(ids: &mut DocIds, id: &str, at: &dyn Display) -> Result<(), String> {
    if id.is_empty() {
        return Err(format!("{at}: expected an id, found none"));
    }
    ids.push(id)
        .map(drop)
        .map_err(|error| format!("{at}: {error}"))
}

/// Rejects repeated ids. `unit` is what has an id, such as a line; `number` returns its number in
/// the file by the position of the id, and `place` is its place with file and number, for errors.
pub(super) fn check_unique(
    ids: &DocIds,
    unit: &str,
    number: impl Fn(usize) -> u64,
    place: impl Fn(u64) -> String,
) -> Result<(), String> {
    ids.check_unique().map_err(|error| match error {
        IdError::Duplicate { id, first, second } => {
            let (place, first) = (place(number(second)), number(first));
            format!("{place}: expected a unique id, found {id:?}, which is also in {unit} {first}")
        }
        error => error.to_string(),
    })
}

/// Number of the line or row at a position, without gaps: from 1.
pub(super) const fn from_one(position: usize) -> u64 {
    position as u64 + 1
}

/// Message of an error and its causes.
pub(super) fn full_message(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    message
}
