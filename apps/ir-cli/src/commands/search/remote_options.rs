//! Options of a collection on a server.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args as _, Command, Id, ValueHint};
use ir_engines::EngineAddress;

use super::vectors::DenseOptions;
use crate::shared::console::bail_usage;
use crate::shared::indexing::IndexOptions;
use crate::shared::options::{first_set, positive};
use crate::shared::remote::ClientOptions;
use crate::shared::shards::ShardOption;
use crate::shared::system_options::{SystemOptions, TypedSystem, key_help};

/// Options of a collection on a server.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct RemoteOptions {
    /// Search a collection on a server, loaded by `ir load`, in place of an index:
    /// `ENGINE://HOST[:PORT]/NAME`; `ir load --help` lists the engines. COLLECTION has the queries;
    /// the output is a TREC run
    #[arg(
        long, value_name = "ADDRESS", value_hint = ValueHint::Other,
        conflicts_with_all = embedded_options(),
    )]
    pub(super) engine: Option<EngineAddress>,

    #[arg(long, help = key_help("remote", "queries"), value_name = "FILE", requires = "engine")]
    pub(super) engine_vectors: Option<PathBuf>,

    #[arg(long, help = key_help("remote", "ef"), value_parser = positive, value_name = "N", requires = "engine_vectors")]
    pub(super) engine_ef: Option<usize>,

    #[arg(long, help = key_help("remote", "hybrid"), requires = "engine_vectors")]
    pub(super) engine_hybrid: bool,

    #[arg(long, help = key_help("remote", "any_encoder"), requires = "engine_vectors")]
    pub(super) engine_any_encoder: bool,

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
    let others = [
        "template", "cache", "verify", "json", "explain", "save", "system",
    ];
    ids.chain(SystemOptions::ids())
        .chain(others.into_iter().chain(TypedSystem::IDS).map(Id::from))
        .collect()
}

impl RemoteOptions {
    pub(crate) const fn is_set(&self) -> bool {
        self.engine.is_some()
    }

    /// Rejects options of the client without a server.
    pub(crate) fn check(&self) -> Result<()> {
        let given = first_set([
            ("--engine-timeout", self.client.engine_timeout.is_some()),
            ("--engine-attempts", self.client.engine_attempts.is_some()),
            ("--engine-record", self.client.engine_record.is_some()),
        ]);
        match given {
            Some(option) if !self.is_set() => {
                bail_usage!("{option}: expected --engine, found none")
            }
            _ => Ok(()),
        }
    }
}
