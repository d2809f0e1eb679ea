//! The type `run`.

use ir_core::Run;
use ir_core::trec::read_run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::existing_file;
use crate::error::SystemError;
use crate::system::{OpenSystem, System, SystemContext};
use crate::trec_file::TrecFile;

/// Name of the type.
pub const RUN: &str = "run";

/// Run in a file, such as a published one.
///
/// Number of hits, filters and conditions of the search do not apply; `remove_self` of the task
/// does.
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
        let path = existing_file(context, "run", &self.run.file)?;
        let failed = "reading the run";
        let bytes = self.run.read(&path).map_err(SystemError::stage(failed))?;
        let name = path.display().to_string();
        let parsed = read_run(&bytes[..], &name, self.run.header_line());
        let parsed = parsed.map_err(SystemError::stage(failed))?;
        for warning in &parsed.warnings {
            context.observer().note(&warning.to_string());
        }
        Ok(Some(parsed.data))
    }
}
