//! Ids of the vectors of a file, and messages about them.

use std::fmt::Display;

use ir_core::DocIds;

/// Adds an id. `at` is its position, for errors.
pub(super) fn push_id(ids: &mut DocIds, id: &str, at: &dyn Display) -> Result<(), String> {
    if id.is_empty() {
        return Err(format!("{at}: expected an id, found none"));
    }
    ids.push(id)
        .map(drop)
        .map_err(|error| format!("{at}: {error}"))
}

pub(super) fn check_unique(ids: &DocIds, name: &str) -> Result<(), String> {
    ids.check_unique()
        .map_err(|error| format!("{name}: {error}"))
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
