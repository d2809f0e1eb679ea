//! Addresses of collections, and credentials.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ir_fetch::HttpClient;

use crate::error::{CREDENTIAL_VARIABLES, RemoteError};

/// Engine of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum EngineKind {
    Milvus,
    Elasticsearch,
    OpenSearch,
}

impl EngineKind {
    /// Returns the name of the engine.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Milvus => "Milvus",
            Self::Elasticsearch => "Elasticsearch",
            Self::OpenSearch => "OpenSearch",
        }
    }

    const fn default_port(self, api: MilvusApi) -> u16 {
        match (self, api) {
            (Self::Milvus, MilvusApi::V1) => 9091,
            (Self::Milvus, MilvusApi::V2 | MilvusApi::Grpc) => 19530,
            (Self::Elasticsearch | Self::OpenSearch, _) => 9200,
        }
    }
}

/// API of a Milvus server. A collection is loaded and searched over the same API. A collection of
/// `/api/v1` can be searched over gRPC, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MilvusApi {
    /// `/api/v1` of port 9091: Milvus 2.3 and later. The port has access to all data without
    /// credentials, so that a network or proxy must protect it.
    #[default]
    V1,
    /// `/v2/vectordb` of port 19530: Milvus 2.4 and later, with credentials.
    V2,
    /// gRPC of port 19530, with credentials, in builds with the feature `milvus-grpc`: all releases
    /// of Milvus, and milvus-lite. BM25 and hybrid search need Milvus 2.5 or milvus-lite.
    Grpc,
}

/// Address of a collection: `ENGINE://HOST[:PORT]/COLLECTION`, where `ENGINE` is `milvus`,
/// `elasticsearch` or `opensearch`, followed by `+v2` or `+grpc` for the API [`MilvusApi::V2`] or
/// [`MilvusApi::Grpc`] and by `+tls` for a server with TLS.
///
/// Ports by default: 9091 (Milvus), 19530 (Milvus, `+v2` and `+grpc`), 9200. Credentials are not
/// part of it ([`Credentials`]).
///
/// ```
/// use ir_engines::{EngineAddress, EngineKind};
/// let address: EngineAddress = "milvus+tls://vectors.example.org/papers".parse()?;
/// assert_eq!(address.engine, EngineKind::Milvus);
/// assert_eq!(address.base_url(), "https://vectors.example.org:9091");
/// assert_eq!(address.to_string(), "milvus+tls://vectors.example.org:9091/papers");
/// let address: EngineAddress = "milvus+v2://localhost/papers".parse()?;
/// assert_eq!(address.base_url(), "http://localhost:19530");
/// assert!("milvus://example.org".parse::<EngineAddress>().is_err());
/// # Ok::<(), ir_engines::RemoteError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EngineAddress {
    /// Engine that the server runs.
    pub engine: EngineKind,
    /// API of a Milvus server.
    pub api: MilvusApi,
    /// If `true`, the server speaks TLS.
    pub tls: bool,
    /// Host name or address; an IPv6 address is in brackets.
    pub host: String,
    /// Port of the API.
    pub port: u16,
    /// Name of the collection or index: letters, digits, `_`, `-` and `.`.
    pub collection: String,
}

impl EngineAddress {
    /// Returns the URL of the server, without a path.
    #[must_use]
    pub fn base_url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}:{}", self.host, self.port)
    }
}

impl fmt::Display for EngineAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = match self.engine {
            EngineKind::Milvus => "milvus",
            EngineKind::Elasticsearch => "elasticsearch",
            EngineKind::OpenSearch => "opensearch",
        };
        let api = match self.api {
            MilvusApi::V1 => "",
            MilvusApi::V2 => "+v2",
            MilvusApi::Grpc => "+grpc",
        };
        let tls = if self.tls { "+tls" } else { "" };
        let (host, port, collection) = (&self.host, self.port, &self.collection);
        write!(f, "{engine}{api}{tls}://{host}:{port}/{collection}")
    }
}

impl FromStr for EngineAddress {
    type Err = RemoteError;

    fn from_str(text: &str) -> Result<Self, RemoteError> {
        let invalid = |expected| RemoteError::Address {
            found: text.to_owned(),
            expected,
        };
        let whole = "ENGINE://HOST[:PORT]/COLLECTION with the engine milvus, elasticsearch or opensearch, optionally followed by +v2 or +grpc (Milvus) and +tls";
        let (scheme, rest) = text.split_once("://").ok_or_else(|| invalid(whole))?;
        let (engine, tls) = match scheme.strip_suffix("+tls") {
            Some(engine) => (engine, true),
            None => (scheme, false),
        };
        let (engine, api) = match engine {
            "milvus+v2" => ("milvus", MilvusApi::V2),
            "milvus+grpc" => ("milvus", MilvusApi::Grpc),
            other => (other, MilvusApi::V1),
        };
        let engine = match engine {
            "milvus" => EngineKind::Milvus,
            "elasticsearch" => EngineKind::Elasticsearch,
            "opensearch" => EngineKind::OpenSearch,
            _ => return Err(invalid(whole)),
        };
        if rest.contains('@') {
            // Not repeated: it may be a password.
            return Err(RemoteError::Address {
                found: format!("{scheme}://…@…"),
                expected: "credentials in environment variables, not in the address",
            });
        }
        let (server, collection) = rest.split_once('/').ok_or_else(|| invalid(whole))?;
        let is_ipv6 = server.ends_with(']');
        let (host, port) = match server.rsplit_once(':') {
            Some((host, port)) if !is_ipv6 => {
                let port = port.parse().ok().filter(|&port| port > 0);
                (host, port.ok_or_else(|| invalid("a port from 1 to 65535"))?)
            }
            _ => (server, engine.default_port(api)),
        };
        let is_host = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let is_valid = match host.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            Some(ipv6) => ipv6.parse::<Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.chars().all(is_host),
        };
        if !is_valid {
            return Err(invalid(
                "a host name, an IPv4 address or an IPv6 address in brackets",
            ));
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if collection.is_empty() || !collection.chars().all(is_name) {
            return Err(invalid("a collection name of letters, digits, _, - and ."));
        }
        Ok(Self {
            engine,
            api,
            tls,
            host: host.to_owned(),
            port,
            collection: collection.to_owned(),
        })
    }
}

/// Credentials and trusted certificates of a server.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Value of the header `Authorization`; `None` sends none.
    pub authorization: Option<String>,
    /// Certificates to trust in place of the bundled ones, in PEM format.
    pub root_certificates: Option<Vec<u8>>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("authorization", &self.authorization.as_ref().map(|_| "…"))
            .finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads the environment.
    ///
    /// | variable | effect |
    /// |---|---|
    /// | `IR_REMOTE_TOKEN` | `Authorization: Bearer TOKEN`; of Milvus, `USER:PASSWORD` |
    /// | `IR_REMOTE_API_KEY` | `Authorization: ApiKey KEY`, of Elasticsearch |
    /// | `IR_REMOTE_USER`, `IR_REMOTE_PASSWORD` | `Authorization: Basic …` |
    /// | `IR_REMOTE_CA` | PEM file of the certificates to trust |
    ///
    /// # Errors
    /// More than one kind of credentials, a user without a password or the reverse, a value that
    /// is not UTF-8, or a file that cannot be read.
    pub fn from_environment() -> Result<Self, RemoteError> {
        Self::from_variables(&|name| match std::env::var(name) {
            Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(error) => Err(error.to_string()),
        })
    }

    fn from_variables(
        get: &dyn Fn(&str) -> Result<Option<String>, String>,
    ) -> Result<Self, RemoteError> {
        let read = |variable: &'static str| {
            get(variable).map_err(|message| RemoteError::Credentials { variable, message })
        };
        let invalid = |variable, message: &str| RemoteError::Credentials {
            variable,
            message: message.to_owned(),
        };
        let token = read("IR_REMOTE_TOKEN")?.map(|token| format!("Bearer {token}"));
        let key = read("IR_REMOTE_API_KEY")?.map(|key| format!("ApiKey {key}"));
        let basic = match (read("IR_REMOTE_USER")?, read("IR_REMOTE_PASSWORD")?) {
            (Some(user), Some(password)) => {
                let pair = BASE64_STANDARD.encode(format!("{user}:{password}"));
                Some(format!("Basic {pair}"))
            }
            (Some(_), None) => {
                return Err(invalid(
                    "IR_REMOTE_PASSWORD",
                    "expected a password, found none",
                ));
            }
            (None, Some(_)) => {
                return Err(invalid("IR_REMOTE_USER", "expected a user, found none"));
            }
            (None, None) => None,
        };
        let mut all = [token, key, basic].into_iter().flatten();
        let authorization = all.next();
        if all.next().is_some() {
            let message = format!("expected one of {CREDENTIAL_VARIABLES}, found several");
            return Err(invalid("IR_REMOTE_TOKEN", &message));
        }
        let has_control = |value: &String| value.chars().any(char::is_control);
        if authorization.as_ref().is_some_and(has_control) {
            return Err(invalid(
                "IR_REMOTE_TOKEN",
                "expected credentials without control characters, found one (a line feed?)",
            ));
        }
        let root_certificates = match read("IR_REMOTE_CA")? {
            Some(path) => Some(std::fs::read(&path).map_err(|error| {
                invalid("IR_REMOTE_CA", &format!("{path}: cannot be read: {error}"))
            })?),
            None => None,
        };
        Ok(Self {
            authorization,
            root_certificates,
        })
    }
}

/// Limits of the client of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientConfig {
    /// Time limit of one attempt of a request. Default: 2 minutes.
    pub timeout: Duration,
    /// Number of attempts of a request. Range: ≥ 1. Default: 5.
    pub attempts: u32,
    /// Wait after the first failed attempt; it doubles after each further one and has jitter.
    /// Default: 1 second.
    pub backoff: Duration,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            attempts: 5,
            backoff: Duration::from_secs(1),
        }
    }
}

impl ClientConfig {
    pub(crate) fn client(&self, credentials: &Credentials) -> Result<HttpClient, RemoteError> {
        let client = HttpClient::new()
            .with_timeout(self.timeout)
            .with_attempts(self.attempts, self.backoff);
        let client = match &credentials.authorization {
            Some(value) => client.with_authorization(value),
            None => client,
        };
        match &credentials.root_certificates {
            Some(pem) => {
                client
                    .with_root_certificates(pem)
                    .map_err(|error| RemoteError::Credentials {
                        variable: "IR_REMOTE_CA",
                        message: error.to_string(),
                    })
            }
            None => Ok(client),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let parse = |text: &str| text.parse::<EngineAddress>();
        let address = parse("opensearch://[::1]/a-b").unwrap();
        assert_eq!(address.base_url(), "http://[::1]:9200");
        assert_eq!(parse("elasticsearch://h:1/x").unwrap().port, 1);
        let address = parse("milvus+v2+tls://h/c").unwrap();
        assert_eq!((address.api, address.port), (MilvusApi::V2, 19530));
        assert_eq!(address.to_string(), "milvus+v2+tls://h:19530/c");
        let address = parse("milvus+grpc://h/c").unwrap();
        assert_eq!((address.api, address.port), (MilvusApi::Grpc, 19530));
        assert_eq!(address.to_string(), "milvus+grpc://h:19530/c");
        for invalid in [
            "milvus:/h/c",
            "qdrant://h/c",
            "milvus://h",
            "opensearch+v2://h/c",
            "opensearch+grpc://h/c",
            "milvus+tls+v2://h/c",
            "milvus://h:0/c",
            "milvus://h:99999/c",
            "milvus:///c",
            "milvus://::1/c",
            "milvus://[::1/c",
            "milvus://[x]/c",
            "milvus://h/",
            "milvus://h/a/b",
            "milvus://h/a?b",
            "milvus://h h/c",
        ] {
            assert!(parse(invalid).is_err(), "{invalid}");
        }
        let message = parse("milvus://user:secret@h/c").unwrap_err().to_string();
        assert!(!message.contains("secret"), "{message}");
    }

    #[test]
    fn credentials_of_the_environment() {
        let read = |variables: &[(&str, &str)]| {
            let all: Vec<(String, String)> = variables
                .iter()
                .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            Credentials::from_variables(&move |name| {
                let found = all.iter().find(|(known, _)| known == name);
                Ok(found.map(|(_, value)| value.clone()))
            })
        };
        assert_eq!(read(&[]).unwrap(), Credentials::default());
        let header = |variables| read(variables).unwrap().authorization.unwrap();
        assert_eq!(header(&[("IR_REMOTE_TOKEN", "t")]), "Bearer t");
        assert_eq!(header(&[("IR_REMOTE_API_KEY", "k")]), "ApiKey k");
        // The example of RFC 7617.
        let user = [
            ("IR_REMOTE_USER", "Aladdin"),
            ("IR_REMOTE_PASSWORD", "open sesame"),
        ];
        assert_eq!(header(&user), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        for invalid in [
            &[("IR_REMOTE_USER", "u")][..],
            &[("IR_REMOTE_PASSWORD", "p")],
            &[("IR_REMOTE_TOKEN", "t"), ("IR_REMOTE_API_KEY", "k")],
            &[("IR_REMOTE_TOKEN", "t\nx: y")],
            &[("IR_REMOTE_CA", "/no/such/file")],
        ] {
            let message = read(invalid).unwrap_err().to_string();
            assert!(message.contains("IR_REMOTE_"), "{message}");
        }
        let debug = format!("{:?}", read(&user).unwrap());
        assert!(!debug.contains("QWx"), "{debug}");
    }
}
