//! The type `run`.

use ir_core::Run;
use ir_core::trec::{Parsed, read_run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::existing_file;
use crate::entry::SystemEntry;
use crate::error::{SpecError, SystemError};
use crate::source::SourceMap;
use crate::system::{OpenSystem, System, SystemContext};
use crate::trec_file::TrecFile;

/// Name of the type.
pub const RUN: &str = "run";

/// Error of keys that have no effect on a [`RunSystem`].
pub const NO_SEARCH: &str = "expected a system that searches; it has no effect on the type run";

/// Run in a file, such as a published one.
///
/// Number of hits, filters and conditions of the search do not apply; `remove_self` of the task
/// does. `ir search --system` writes the results of its queries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSystem {
    /// Run in TREC format.
    pub run: TrecFile,
}

impl System for RunSystem {
    fn files(&self) -> Vec<(String, String)> {
        vec![("run".to_owned(), self.run.file.clone())]
    }

    fn content(&self, context: &SystemContext<'_>) -> Result<String, SystemError> {
        context.file_hash(&existing_file(context, "run", &self.run.file)?)
    }

    fn open(&self, _: &mut SystemContext<'_>) -> Result<OpenSystem, SystemError> {
        let message = "expected a system that searches, found a run";
        Err(SystemError::parameter("type", message))
    }

    fn run(&self, context: &mut SystemContext<'_>) -> Result<Option<Run>, SystemError> {
        let parsed = self.read(context.source)?;
        for warning in &parsed.warnings {
            context.observer().note(&warning.to_string());
        }
        Ok(Some(parsed.data))
    }
}

/// Rejects keys of a search in a system of the type `run`. `table` is the key of the system, such
/// as `systems[0]`.
///
/// # Errors
/// Returns [`SpecError::Key`] for the first such key.
pub fn check_run(entry: &SystemEntry, source: &SourceMap, table: &str) -> Result<(), SpecError> {
    let of_a_search = [
        ("hits", entry.hits.is_some()),
        ("filter", entry.filter.is_some()),
        ("where", entry.condition.is_some()),
    ];
    let given = of_a_search.into_iter().find(|(_, is_given)| *is_given);
    match given.filter(|_| entry.kind == RUN) {
        Some((key, _)) => Err(source.error(&format!("{table}.{key}"), NO_SEARCH)),
        None => Ok(()),
    }
}

impl RunSystem {
    /// Reads the run. `source` is the file of the system.
    ///
    /// # Errors
    /// Returns a [`SystemError`] if there is no such file, or it is not a run.
    pub fn read(&self, source: &SourceMap) -> Result<Parsed<Run>, SystemError> {
        let path = source.existing_file(RUN, &self.run.file)?;
        let failed = "reading the run";
        let bytes = self.run.read(&path).map_err(SystemError::stage(failed))?;
        let name = path.display().to_string();
        let parsed = read_run(&bytes[..], &name, self.run.header_line());
        parsed.map_err(SystemError::stage(failed))
    }
}
