//! The model of a reranking as options, for commands that rank texts of their own.

#[cfg(feature = "dense")]
use std::path::Path;

use anyhow::Result;
use clap::{ArgMatches, Command, FromArgMatches};
use ir_system::{OpenReranker, SourceMap};
use toml::{Table, Value};

use super::option::{OPTIONS, RERANK, SystemOption};
use super::{CANDIDATES, of_reranking, rerank_system};
use crate::shared::console::bail_usage;

/// Keys of the type `rerank` that are options. The others are about documents.
const KEYS: [&str; 3] = ["model", "precision", "batch"];

/// Model of a reranking: `--rerank`, `--rerank-precision` and `--rerank-batch`. None without the
/// feature `dense`.
#[derive(Debug, Clone, Default)]
pub(crate) struct RerankOptions {
    parameters: Table,
}

fn options() -> impl Iterator<Item = &'static SystemOption> {
    OPTIONS
        .iter()
        .filter(|option| option.kind == RERANK && KEYS.contains(&&*option.parameter.key))
}

impl clap::Args for RerankOptions {
    fn augment_args(command: Command) -> Command {
        options().fold(command, |command, option| command.arg(option.argument()))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RerankOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut options = Self::default();
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let given = options().filter_map(|option| {
            let value = matches.get_one::<Value>(option.name)?;
            Some((option.parameter.key.clone(), value.clone()))
        });
        self.parameters.extend(given);
        Ok(())
    }
}

impl RerankOptions {
    /// Opens the model; `None` without one. `tokens` is the token store with the vectors of the
    /// texts of a late-interaction model.
    pub(crate) fn open(&self, tokens: Option<&str>) -> Result<Option<OpenReranker>> {
        if self.parameters.is_empty() {
            return Ok(None);
        }
        if !self.parameters.contains_key("model") {
            let mut options = options();
            let given = options.find(|it| self.parameters.contains_key(&it.parameter.key));
            let name = given.map_or(RERANK, |option| option.name);
            bail_usage!("--{name}: expected --{RERANK}, found none");
        }
        let mut parameters = self.parameters.clone();
        parameters.insert("first".to_owned(), CANDIDATES.into());
        let tokens = tokens.map(|path| ("tokens".to_owned(), path.into()));
        parameters.extend(tokens);
        let opened = rerank_system(parameters)?.open_model(&SourceMap::default());
        opened.map(Some).map_err(of_reranking)
    }
}

/// Opens the cross-encoder or late-interaction model in a folder.
#[cfg(feature = "dense")]
pub(crate) fn open_reranker(folder: &Path) -> Result<OpenReranker> {
    let mut parameters = Table::new();
    parameters.insert("first".to_owned(), CANDIDATES.into());
    let folder = folder.display().to_string();
    parameters.insert("model".to_owned(), folder.into());
    let opened = rerank_system(parameters)?.open_model(&SourceMap::default());
    opened.map_err(anyhow::Error::from)
}
