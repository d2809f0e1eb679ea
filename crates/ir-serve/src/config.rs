use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ir_core::{Attributes, Encoder, Retriever};
use ir_qa::frames::FrameConfig;
use ir_qa::retrieval::AnswerConfig;

/// Parameters of a [`Service`](crate::Service).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServiceConfig {
    /// Folder of the store. Created if absent.
    pub data: PathBuf,
    /// Conversion of documents to frames.
    pub frames: FrameConfig,
    /// Weights of answer retrieval.
    pub answers: AnswerConfig,
    /// Whether titles and headings are answers. Default: false.
    pub headings: bool,
    /// Encoder of answers and questions. Default: none, BM25 of answers and contexts.
    pub encoder: Option<ServiceEncoder>,
    /// Further retrievers, searched over REST by name.
    pub collections: Vec<Collection>,
    /// Limits on size, time and number of requests.
    pub limits: Limits,
}

/// Encoder with a name that changes with its vectors, such as a fingerprint of the weights. Vectors
/// are stored under the name.
#[derive(Clone)]
pub struct ServiceEncoder {
    /// Name of the encoder.
    pub name: String,
    /// Encoder of both sides.
    pub encoder: Arc<dyn Encoder>,
}

impl fmt::Debug for ServiceEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceEncoder")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Retriever that is searched at `/v1/collections/{name}/search`.
#[derive(Clone)]
pub struct Collection {
    /// Name in the path of requests.
    pub name: String,
    /// Retriever of texts by text.
    pub retriever: Arc<dyn Retriever<Query = str>>,
    /// Attributes of the documents by number, for filters; empty if there are none.
    pub attributes: Vec<Attributes>,
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collection")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Limits on requests. Requests beyond a limit are answered with an error at once.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a request. Default: 64 MiB.
    pub body_bytes: usize,
    /// Time of a request. Default: 60 s.
    pub time: Duration,
    /// Requests that are processed or wait at the same time; further ones get status 429. Default:
    /// 256.
    pub concurrency: usize,
    /// Open connections; further ones are closed. Default: 1,024.
    pub connections: usize,
    /// Requests per second of each key, with bursts of as many; further ones get status 429.
    /// Default: unlimited.
    pub rate: Option<std::num::NonZeroU32>,
    /// Results of a query. Default: 1,000.
    pub results: usize,
    /// Characters of a query. Default: 10,000.
    pub query_characters: usize,
}

/// Who reaches the server, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessConfig {
    /// Whether pages need a sign-in with a key, and `/metrics` a key. Default: false.
    pub needs_session: bool,
    /// Host names of the server besides `localhost` and IP addresses. Pages are not served under
    /// other names, which prevents DNS rebinding. Default: none.
    pub hosts: Vec<String>,
    /// Whether browsers send cookies over HTTPS only (attribute `Secure`). Default: false.
    pub secure_cookies: bool,
    /// Whether `/metrics` needs no key in any case. Default: false.
    pub public_metrics: bool,
}

impl AccessConfig {
    /// Sets [`AccessConfig::needs_session`].
    #[must_use]
    pub fn with_needs_session(mut self, needs_session: bool) -> Self {
        self.needs_session = needs_session;
        self
    }

    /// Sets [`AccessConfig::hosts`].
    #[must_use]
    pub fn with_hosts(mut self, hosts: Vec<String>) -> Self {
        self.hosts = hosts;
        self
    }

    /// Sets [`AccessConfig::secure_cookies`].
    #[must_use]
    pub fn with_secure_cookies(mut self, secure_cookies: bool) -> Self {
        self.secure_cookies = secure_cookies;
        self
    }

    /// Sets [`AccessConfig::public_metrics`].
    #[must_use]
    pub fn with_public_metrics(mut self, public_metrics: bool) -> Self {
        self.public_metrics = public_metrics;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 64 << 20,
            time: Duration::from_secs(60),
            concurrency: 256,
            connections: 1_024,
            rate: None,
            results: 1_000,
            query_characters: 10_000,
        }
    }
}

impl ServiceConfig {
    /// Creates the configuration of a data folder with the defaults.
    #[must_use]
    pub fn new(data: impl Into<PathBuf>) -> Self {
        let mut frames = FrameConfig::default();
        frames.splitter = frames
            .splitter
            .with_abbreviations(ir_qa::sentences::SCIENTIFIC_ABBREVIATIONS);
        Self {
            data: data.into(),
            frames,
            answers: AnswerConfig::default(),
            headings: false,
            encoder: None,
            collections: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// Sets [`ServiceConfig::encoder`].
    #[must_use]
    pub fn with_encoder(mut self, name: impl Into<String>, encoder: Arc<dyn Encoder>) -> Self {
        self.encoder = Some(ServiceEncoder {
            name: name.into(),
            encoder,
        });
        self
    }

    /// Sets [`ServiceConfig::answers`].
    #[must_use]
    pub fn with_answers(mut self, answers: AnswerConfig) -> Self {
        self.answers = answers;
        self
    }

    /// Sets [`ServiceConfig::headings`].
    #[must_use]
    pub fn with_headings(mut self, headings: bool) -> Self {
        self.headings = headings;
        self
    }

    /// Adds a retriever under a name.
    #[must_use]
    pub fn with_collection(mut self, collection: Collection) -> Self {
        self.collections.push(collection);
        self
    }

    /// Sets [`ServiceConfig::limits`].
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl Limits {
    /// Sets [`Limits::rate`].
    #[must_use]
    pub fn with_rate(mut self, rate: Option<std::num::NonZeroU32>) -> Self {
        self.rate = rate;
        self
    }

    /// Sets [`Limits::concurrency`].
    #[must_use]
    pub fn with_concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Sets [`Limits::connections`].
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets [`Limits::body_bytes`].
    #[must_use]
    pub fn with_body_bytes(mut self, bytes: usize) -> Self {
        self.body_bytes = bytes;
        self
    }

    /// Sets [`Limits::time`].
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }
}
