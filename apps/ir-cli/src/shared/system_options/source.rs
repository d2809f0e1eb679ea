//! A system as an argument of a command: a file, or options.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args as _, Command, Id};
use ir_bm25::{SegmentedIndex, StoredFields};
use ir_system::{Registry, SystemSpec};

use super::SystemOptions;
use super::option::PRIOR;
use crate::shared::console::bail_usage;

/// System to search with: a system file, or the options of a model.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct SystemSource {
    /// Search with the system of a file, written by `ir search --save`, in place of the options of
    /// a model
    #[arg(long, value_name = "FILE", conflicts_with_all = SystemOptions::ids())]
    pub(crate) system: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: SystemOptions,
}

impl SystemOptions {
    /// Ids of the options. clap has no group of a struct that contains another one.
    pub(crate) fn ids() -> Vec<Id> {
        let command = Self::augment_args(Command::new(""));
        command
            .get_arguments()
            .map(|option| option.get_id().clone())
            .collect()
    }
}

impl SystemSource {
    /// Ids of the options, for conflicts with another source of rankings.
    pub(crate) fn ids() -> Vec<Id> {
        let mut ids = SystemOptions::ids();
        ids.push(Id::from("system"));
        ids
    }

    /// What an index of the system stores of the documents, besides what is needed otherwise.
    pub(crate) fn stored_fields(&self) -> StoredFields {
        if self.system.is_some() || self.options.needs_texts() {
            StoredFields::Everything
        } else if self.options.is_set(PRIOR) {
            StoredFields::Attributes
        } else {
            StoredFields::Nothing
        }
    }

    /// Name of the system, or its scoring model with parameters, for messages.
    pub(crate) fn label(&self, spec: &SystemSpec, index: &SegmentedIndex) -> Result<String> {
        match spec.root().filter(|_| self.system.is_some()) {
            Some(root) => Ok(root.name.clone()),
            None => Ok(self.options.searcher(index)?.model().to_string()),
        }
    }

    /// Reads and checks the system, which cleans its queries.
    pub(crate) fn spec(&self) -> Result<SystemSpec> {
        let Some(path) = &self.system else {
            self.options.check()?;
            return self.options.spec();
        };
        let spec = SystemSpec::open(path)?;
        spec.validate(&Registry::default())?;
        if let Some(root) = spec.root()
            && root.filter.is_some()
        {
            bail_usage!(
                "--system: {}: expected a system without a filter; give --not-later-than-query",
                path.display()
            );
        }
        Ok(spec)
    }
}

/// Returns `true` if a system has saved vectors of the queries, by their ids.
pub(crate) fn needs_queries(spec: &SystemSpec) -> bool {
    let mut systems = spec.systems.iter();
    systems.any(|system| system.parameters.contains_key("queries"))
}

/// Returns `true` if a system searches positions.
pub(crate) fn needs_positions(spec: &SystemSpec) -> bool {
    let mut systems = spec.systems.iter();
    systems.any(|system| {
        ["sdm", "syntax"]
            .iter()
            .any(|key| system.parameters.contains_key(*key))
    })
}
