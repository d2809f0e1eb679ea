//! A system as an argument of a command: a file, a type with keys, or options of a model.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args as _, Command, Id};
use ir_system::{FilterName, Registry, SystemSpec};

use super::{SystemOptions, TypedSystem};
use crate::shared::console::bail_usage;
use crate::shared::options::first_set;
use crate::shared::search_data::key_of_root;

/// System to search with: a system file, a type with its keys, or the options of a model.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct SystemSource {
    /// Search with the system of a file, written by `ir search --save`, in place of the options of
    /// a model
    #[arg(long, value_name = "FILE", help_heading = "System", conflicts_with_all = SystemOptions::ids())]
    system: Option<PathBuf>,

    #[command(flatten)]
    typed: TypedSystem,

    #[command(flatten)]
    pub(crate) options: SystemOptions,
}

/// The option that describes a system with its index: of a system file, or of a type.
pub(crate) fn described_by(file: Option<&PathBuf>, typed: &TypedSystem) -> Option<&'static str> {
    first_set([("--system", file.is_some()), ("--type", typed.is_set())])
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
        ids.extend(TypedSystem::IDS.map(Id::from));
        ids.push(Id::from("system"));
        ids
    }

    /// The option that describes the system with its index, if it is not the options of a model.
    pub(crate) fn described_by(&self) -> Option<&'static str> {
        described_by(self.system.as_ref(), &self.typed)
    }

    /// Reads and checks the system, which cleans its queries.
    pub(crate) fn spec(&self) -> Result<SystemSpec> {
        if let Some(path) = &self.system {
            return open_unfiltered(path);
        }
        if let Some(spec) = self.typed.spec()? {
            return Ok(spec);
        }
        self.options.check()?;
        self.options.spec()
    }

    /// Reads and checks the system for queries that are not known yet.
    pub(crate) fn spec_for_any_query(&self) -> Result<SystemSpec> {
        if let Some(path) = &self.system {
            return open_for_any_query(path).context("--system");
        }
        let spec = self.spec()?;
        check_any_query(&spec, "--type")?;
        Ok(spec)
    }
}

/// Reads and checks a system file, to search with its filters.
pub(crate) fn open_system(path: &Path) -> Result<SystemSpec> {
    let spec = SystemSpec::open(path)?;
    check(&spec, path)?;
    Ok(spec)
}

/// Checks a system to search. Filters by the year of another record than the first one need an
/// experiment file.
fn check(spec: &SystemSpec, path: &Path) -> Result<()> {
    spec.validate(&Registry::default())?;
    let filter = spec.root().and_then(|root| root.filter);
    let found = match filter {
        Some(FilterName::YearOfBestRecord) => "year-of-best-record",
        Some(FilterName::YearOfLastRecord) => "year-of-last-record",
        _ => return Ok(()),
    };
    bail!(
        "{}: filter: expected none, year or published-year, found {found}, which needs an experiment file",
        path.display()
    )
}

/// Reads and checks a system file for queries that are not known yet.
pub(crate) fn open_for_any_query(path: &Path) -> Result<SystemSpec> {
    let spec = open_unfiltered(path)?;
    check_any_query(&spec, path.display())?;
    Ok(spec)
}

/// Rejects a system with saved vectors of queries, which it finds by their ids.
pub(crate) fn check_any_query(spec: &SystemSpec, source: impl Display) -> Result<()> {
    if spec.uses_query_ids(&Registry::default())? {
        bail!("{source}: expected a system for any query, found saved vectors of queries");
    }
    Ok(())
}

/// Reads a system file with grids, and checks its systems with the first value of each key.
pub(crate) fn open_with_grids(path: &Path) -> Result<SystemSpec> {
    let spec = SystemSpec::open(path)?;
    let mut first = spec.clone();
    for (n, entry) in first.systems.iter_mut().enumerate() {
        for (key, values) in &entry.grid {
            if values.as_array().is_none_or(Vec::is_empty) {
                let message = format!("expected a list of values, found {values}");
                let key = format!("systems[{n}].grid.{key}");
                return Err(spec.source.error(&key, message).into());
            }
        }
        let parameters = entry.points().next();
        if let Some(parameters) = parameters {
            entry.parameters = parameters;
        }
        entry.grid.clear();
    }
    check(&first, path)?;
    Ok(spec)
}

/// Reads and checks a system file for a command that filters by its own options or not at all.
fn open_unfiltered(path: &Path) -> Result<SystemSpec> {
    let spec = SystemSpec::open(path)?;
    spec.validate(&Registry::default())?;
    let root = spec.root();
    let filter = root.and_then(|root| root.filter);
    let filter = filter.filter(|filter| *filter != FilterName::None);
    let filter = filter.map(toml::Value::try_from);
    let condition = root.and_then(|root| root.condition.as_ref());
    let condition = condition.map(toml::Value::try_from);
    for (key, value) in [("filter", filter), ("where", condition)] {
        if let Some(value) = value {
            bail_usage!(
                "{}: expected a system without a filter, found {}",
                spec.source.located_key(&key_of_root(&spec, key)),
                value?
            );
        }
    }
    Ok(spec)
}
