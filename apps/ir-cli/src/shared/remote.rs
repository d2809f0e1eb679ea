//! Options of the client of a search engine on another machine.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::ValueHint;
use ir_engines::{ClientConfig, EngineAddress, EngineCollection, MilvusApi, Recorder};

use crate::shared::console::bail_usage;
use crate::shared::options::positive;
use crate::shared::output::OutputPath;

/// Options of the client of a server.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Engine")]
pub(crate) struct ClientOptions {
    /// Time limit of one attempt of a request to the server, in seconds [default: 120]
    #[arg(long, value_parser = seconds, value_name = "SECONDS", value_hint = ValueHint::Other)]
    pub(crate) engine_timeout: Option<Duration>,

    /// Attempts per request on transient failures, with exponential backoff from 0.5-1 s
    /// [default: 5]
    #[arg(long, value_parser = positive, value_name = "N")]
    pub(crate) engine_attempts: Option<usize>,

    /// Append requests and responses to a file, as JSON lines, for tests and error reports. Omits
    /// credentials and the address, but not the data; not for milvus+grpc
    #[arg(long, value_name = "FILE")]
    pub(crate) engine_record: Option<OutputPath>,
}

impl ClientOptions {
    /// Creates the client of a collection.
    pub(crate) fn collection(&self, address: &EngineAddress) -> Result<EngineCollection> {
        let default = ClientConfig::default();
        let attempts = self.engine_attempts.map(u32::try_from);
        let config = ClientConfig {
            timeout: self.engine_timeout.unwrap_or(default.timeout),
            attempts: attempts.map_or(default.attempts, |it| it.unwrap_or(u32::MAX)),
            ..default
        };
        let recorder = match &self.engine_record {
            Some(_) if address.api == MilvusApi::Grpc => {
                bail_usage!("--engine-record: expected an address without +grpc, found {address}")
            }
            Some(path) => {
                let path = path.binary_file("--engine-record")?;
                Some(Arc::new(Recorder::append(path)?))
            }
            None => None,
        };
        Ok(EngineCollection::new(address, &config, recorder)?)
    }
}

/// Parses a positive number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let parsed = text.parse().ok();
    let parsed = parsed.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    parsed
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| format!("expected a positive number of seconds, found {text:?}"))
}
