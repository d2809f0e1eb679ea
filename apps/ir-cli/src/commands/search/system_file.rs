//! The system of a file (`ir search --system`), or of a type with its keys (`--type`).

use anyhow::{Context, Result};
use ir_bm25::analysis::Analysis;
use ir_system::systems::{AnalyzerEntry, Cleaner, CleaningEntry};
use ir_system::{Registry, SystemEntry, SystemSpec};
use toml::Value;

use super::args::Args;
use super::save::set_common_keys;
use crate::shared::console::bail_usage;
use crate::shared::options::first_set;
use crate::shared::system_options::{described_by, open_system};

/// System of a file or of `--type`, with the system to search.
pub(super) struct SystemFile {
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
    /// Checks the options beside the file or type, and reads and checks the system. `None` for the
    /// options of a model.
    pub(super) fn read(args: &Args) -> Result<Option<Self>> {
        let Some(option) = described_by(args.system.as_ref(), &args.typed) else {
            return Ok(None);
        };
        check(args, option)?;
        let spec = match (&args.system, args.typed.spec()?) {
            (Some(path), _) => open_system(path)?,
            (None, spec) => {
                let mut spec = spec.context("expected --type")?;
                for root in &mut spec.systems {
                    let name = args.tag_or(&root.name).to_owned();
                    root.name = name;
                    set_common_keys(args, root);
                }
                spec
            }
        };
        let root = spec.root().context("expected a system")?.clone();
        Ok(Some(Self { spec, root }))
    }

    /// Name of a key of the system to search, for messages.
    pub(super) fn key(&self, key: &str) -> String {
        match self.spec.source.path() {
            Some(path) => format!("{key} of {}", path.display()),
            None => self.spec.source.key_name(&format!("systems[0].{key}")),
        }
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

/// Rejects options of a system beside a system file or type, which `described` names.
fn check(args: &Args, described: &str) -> Result<()> {
    args.check_typed()?;
    args.check_list()?;
    #[cfg(feature = "remote")]
    args.remote.check()?;
    // Keys of a file.
    let is_file = args.system.is_some();
    let has_time = args.not_later_than_query.is_some();
    let of_the_search = first_set([
        ("--save", is_file && args.save.is_some()),
        ("--template", args.template.is_some()),
        ("--shard", args.shard.shard.is_some()),
    ]);
    #[cfg(feature = "dense")]
    let of_the_search = of_the_search.or(args.vectors.first_set());
    let of_the_search = of_the_search.or(args.setup.first_set()).map(str::to_owned);
    let keys_of_the_file = [
        ("--filter", "where", !args.filter.is_empty()),
        ("--not-later-than-query", "filter", has_time),
    ];
    let mut given = keys_of_the_file.iter().filter(|(.., is_given)| *is_given);
    if is_file && let Some((option, key, _)) = given.next() {
        bail_usage!("{option}: expected no --system; its file has the key {key}");
    }
    if let Some(option) = args.lexical.first_set(|_| true).or(of_the_search) {
        bail_usage!("{option}: expected either {described} or options of a system, found both");
    }
    Ok(())
}
