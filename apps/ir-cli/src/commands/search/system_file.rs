//! The file of `ir search --system`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ir_bm25::analysis::Analysis;
use ir_system::systems::{AnalyzerEntry, Cleaner, CleaningEntry};
use ir_system::{Registry, SystemEntry, SystemSpec};
use toml::Value;

use super::args::Args;
use crate::shared::console::bail_usage;
use crate::shared::options::first_set;
use crate::shared::system_options::open_system;

/// A system file with the system to search.
pub(super) struct SystemFile {
    pub(super) path: PathBuf,
    pub(super) spec: SystemSpec,
    pub(super) root: SystemEntry,
}

/// Types of which documents match by the words of the query, and types that combine systems.
const LEXICAL: [&str; 7] = [
    "bm25",
    "hybrid",
    "lsi",
    "prior",
    "random-indexing",
    "rerank",
    "tfidf",
];

impl SystemFile {
    /// Checks the options beside the file, and reads and checks the file.
    pub(super) fn read(args: &Args, path: &Path) -> Result<Self> {
        check(args)?;
        let spec = open_system(path)?;
        let root = spec.root().context("expected a system")?.clone();
        Ok(Self {
            path: path.to_owned(),
            spec,
            root,
        })
    }

    /// Maximum number of hits of the system.
    pub(super) fn max_hits(&self) -> Result<usize> {
        let most = self.spec.max_hits(&Registry::default())?;
        Ok(most.unwrap_or(usize::MAX))
    }

    /// Returns `true` if documents match by the words of the query.
    pub(super) fn is_lexical(&self) -> bool {
        let mut systems = self.spec.systems.iter();
        systems.all(|system| LEXICAL.contains(&&*system.kind))
    }

    /// Returns `true` if a system has a key.
    pub(super) fn has_key(&self, key: &str) -> bool {
        self.first(key).is_some()
    }

    /// The first value of a key.
    fn first(&self, key: &str) -> Option<&Value> {
        let mut systems = self.spec.systems.iter();
        systems.find_map(|system| system.parameters.get(key))
    }

    /// Analysis of documents that the system indexes.
    pub(super) fn analysis(&self) -> Result<Analysis> {
        let Some(value) = self.first("analyzer") else {
            return Ok(Analysis::default());
        };
        let entry: AnalyzerEntry = value.clone().try_into()?;
        Ok(entry.analysis()?)
    }

    /// Cleaning of the queries, which the systems apply themselves.
    pub(super) fn cleaner(&self) -> Result<Option<Cleaner>> {
        let Some(value) = self.first("cleaning") else {
            return Ok(None);
        };
        let entry: CleaningEntry = value.clone().try_into()?;
        let resolve = |path: &str| self.spec.source.resolve("cleaning.tags", path);
        let tags = entry.tags.as_deref().map(resolve).transpose()?;
        Ok(Some(entry.cleaner(tags.as_deref())?))
    }
}

/// Rejects options of a system beside a system file.
fn check(args: &Args) -> Result<()> {
    args.check_typed()?;
    args.check_list()?;
    #[cfg(feature = "remote")]
    args.remote.check()?;
    let of_the_search = first_set([
        ("--save", args.save.is_some()),
        ("--template", args.template.is_some()),
        ("--filter", !args.filter.is_empty()),
        (
            "--not-later-than-query",
            args.not_later_than_query.is_some(),
        ),
        ("--shard", args.shard.shard.is_some()),
    ]);
    #[cfg(feature = "dense")]
    let of_the_search = of_the_search.or(args.vectors.first_set());
    let of_the_search = of_the_search.or(args.setup.first_set()).map(str::to_owned);
    if let Some(option) = args.lexical.first_set(|_| true).or(of_the_search) {
        bail_usage!("{option}: expected either --system or options of a system, found both");
    }
    Ok(())
}
