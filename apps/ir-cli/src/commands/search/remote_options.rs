//! Options of a collection on a server.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args as _, Command, Id, ValueHint};
use ir_engines::EngineAddress;
use ir_system::{Registry, SystemEntry};

use super::vectors::DenseOptions;
use crate::shared::console::{Usage, bail_usage};
use crate::shared::indexing::IndexOptions;
use crate::shared::options::{first_set, positive};
use crate::shared::remote::ClientOptions;
use crate::shared::shards::ShardOption;
use crate::shared::system_options::{
    REMOTE, SYSTEM, SystemOptions, TypedSystem, key_help, message,
};

/// Options of a collection on a server.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct RemoteOptions {
    /// Search a collection on a server, loaded by `ir load`, in place of an index:
    /// `ENGINE://HOST[:PORT]/NAME`; `ir load --help` lists the engines. COLLECTION has the queries;
    /// the output is a TREC run. --save writes the system without credentials and options of the
    /// client
    #[arg(
        long, value_name = "ADDRESS", value_hint = ValueHint::Other,
        conflicts_with_all = embedded_options(),
    )]
    engine: Option<EngineAddress>,

    #[arg(long, help = key_help(REMOTE, "queries"), value_name = "FILE", requires = "engine")]
    engine_vectors: Option<PathBuf>,

    #[arg(long, help = key_help(REMOTE, "ef"), value_parser = positive, value_name = "N", requires = "engine_vectors")]
    engine_ef: Option<usize>,

    #[arg(long, help = key_help(REMOTE, "hybrid"), requires = "engine_vectors")]
    engine_hybrid: bool,

    #[arg(long, help = key_help(REMOTE, "any_encoder"), requires = "engine_vectors")]
    engine_any_encoder: bool,

    /// Directory in which responses of the server are cached, by the content of the collection and
    /// of the request. It is created
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "engine")]
    pub(super) engine_cache: Option<PathBuf>,

    #[command(flatten)]
    pub(super) client: ClientOptions,
}

/// Options of the embedded search. clap has no group of a struct that contains another one.
fn embedded_options() -> Vec<Id> {
    let command = DenseOptions::augment_args(Command::new(""));
    let command = IndexOptions::augment_args(command);
    let command = ShardOption::augment_args(command);
    let ids = command
        .get_arguments()
        .map(|option| option.get_id().clone());
    let others = ["template", "cache", "verify", "json", "explain", "system"];
    ids.chain(SystemOptions::ids())
        .chain(others.into_iter().chain(TypedSystem::IDS).map(Id::from))
        .collect()
}

impl RemoteOptions {
    pub(crate) const fn is_set(&self) -> bool {
        self.engine.is_some()
    }

    /// Default run tag; `None` without a server.
    pub(super) fn tag(&self) -> Option<&'static str> {
        self.engine.as_ref()?;
        Some(match (self.engine_hybrid, &self.engine_vectors) {
            (true, _) => "remote-hybrid",
            (false, Some(_)) => "remote-vectors",
            (false, None) => "remote-bm25",
        })
    }

    /// System of the options, as in a system file; `None` without a server.
    pub(super) fn system(&self) -> Option<SystemEntry> {
        let engine = self.engine.as_ref()?.to_string();
        let mut entry = SystemEntry::new(SYSTEM, REMOTE).with("engine", engine);
        if let Some(path) = &self.engine_vectors {
            entry = entry.with("queries", path.display().to_string());
        }
        if let Some(candidates) = self.engine_ef {
            entry = entry.with("ef", i64::try_from(candidates).unwrap_or(i64::MAX));
        }
        let flags = [
            ("hybrid", self.engine_hybrid),
            ("any_encoder", self.engine_any_encoder),
        ];
        let given = flags.into_iter().filter(|(_, is_given)| *is_given);
        Some(given.fold(entry, |entry, (key, _)| entry.with(key, true)))
    }

    /// Checks the system of the options. Rejects the other options without a server: clap does not
    /// beside `--system`, which excludes the option that they require.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(entry) = self.system() {
            let parsed = Registry::default().parse(REMOTE, &entry.parameters);
            parsed.map_err(|error| Usage(message(REMOTE, &error)))?;
            return Ok(());
        }
        let given = first_set([
            ("--engine-vectors", self.engine_vectors.is_some()),
            ("--engine-ef", self.engine_ef.is_some()),
            ("--engine-hybrid", self.engine_hybrid),
            ("--engine-any-encoder", self.engine_any_encoder),
            ("--engine-cache", self.engine_cache.is_some()),
            ("--engine-timeout", self.client.engine_timeout.is_some()),
            ("--engine-attempts", self.client.engine_attempts.is_some()),
            ("--engine-record", self.client.engine_record.is_some()),
        ]);
        match given {
            Some(option) => bail_usage!("{option}: expected --engine, found none"),
            None => Ok(()),
        }
    }
}
