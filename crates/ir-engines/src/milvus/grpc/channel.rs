//! Blocking calls over a gRPC channel.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prost::Message;
use tokio::runtime::{Builder, Runtime};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request};
use tonic_prost::ProstCodec;

use crate::connection::Connection;
use crate::{ClientConfig, Credentials, EngineAddress, RemoteError};

/// Maximum number of bytes of a message, in both directions.
const MAX_MESSAGE: usize = 256 << 20;

/// Interval of the pings that find a lost connection while a call waits, and the time limit of the
/// response to one.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// Status of a call that tonic ends at the time limit.
const CANCELED: i32 = 1;

const SERVICE: &str = "/milvus.proto.milvus.MilvusService/";

/// Channel to one server, with a thread of its own that does the transfers. Connects with the first
/// call, and again after a loss.
#[derive(Clone)]
pub(in crate::milvus) struct GrpcChannel {
    inner: Arc<Inner>,
}

struct Inner {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    channel: Channel,
    authorization: Option<MetadataValue<Ascii>>,
    url: String,
    /// Name of the collection.
    name: String,
    connection: Connection,
    tls: bool,
    /// If `true`, the server has responded to a call.
    has_responded: AtomicBool,
}

impl fmt::Debug for GrpcChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GrpcChannel").field(&self.inner.url).finish()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Dropping a runtime waits, which is not allowed on threads of another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl GrpcChannel {
    pub(in crate::milvus) fn new(
        address: &EngineAddress,
        credentials: &Credentials,
        config: &ClientConfig,
        connection: Connection,
    ) -> Result<Self, RemoteError> {
        let url = address.base_url();
        let invalid = |_| RemoteError::Address {
            found: address.to_string(),
            expected: "a host name or address",
        };
        let mut endpoint = Endpoint::from_shared(url.clone())
            .map_err(invalid)?
            .connect_timeout(config.timeout)
            .timeout(config.timeout)
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT);
        if address.tls {
            let tls = match &credentials.root_certificates {
                Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
                None => ClientTlsConfig::new().with_webpki_roots(),
            };
            endpoint = endpoint
                .tls_config(tls)
                .map_err(|error| RemoteError::Credentials {
                    variable: "IR_REMOTE_CA",
                    message: error.to_string(),
                })?;
        }
        let failed = |source: std::io::Error| RemoteError::Unreachable {
            url: url.clone(),
            source: source.into(),
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("ir-engines-grpc")
            .enable_all()
            .build()
            .map_err(failed)?;
        let channel = {
            let _guard = runtime.enter();
            endpoint.connect_lazy()
        };
        let authorization = match &credentials.authorization {
            Some(value) => Some(authorization(value)?),
            None => None,
        };
        let (runtime, tls) = (Some(runtime), address.tls);
        Ok(Self {
            inner: Arc::new(Inner {
                runtime,
                channel,
                authorization,
                url,
                name: address.collection.clone(),
                connection,
                tls,
                has_responded: AtomicBool::new(false),
            }),
        })
    }

    pub(super) fn name(&self) -> String {
        self.inner.name.clone()
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.inner.connection
    }

    /// URL of a method, for messages.
    pub(in crate::milvus) fn url(&self, method: &str) -> String {
        format!("{}{SERVICE}{method}", self.inner.url)
    }

    /// Calls a method once.
    pub(super) fn call<Q, R>(&self, method: &'static str, request: Q) -> Result<R, RemoteError>
    where
        Q: Message + 'static,
        R: Message + Default + 'static,
    {
        let inner = &self.inner;
        let mut request = Request::new(request);
        if let Some(value) = &inner.authorization {
            request
                .metadata_mut()
                .insert("authorization", value.clone());
        }
        let path = PathAndQuery::try_from(format!("{SERVICE}{method}"));
        let unreachable = |source: Box<dyn std::error::Error + Send + Sync>| {
            let url = self.url(method);
            RemoteError::Unreachable { url, source }
        };
        let path = path.map_err(|error| unreachable(error.into()))?;
        let Some(runtime) = &inner.runtime else {
            return Err(unreachable("the channel is closed".into()));
        };
        let mut client = Grpc::new(inner.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE);
        // A task and a channel, because `block_on` panics on threads of another runtime.
        let (send, receive) = mpsc::sync_channel(1);
        runtime.spawn(async move {
            let result = match client.ready().await {
                Ok(()) => {
                    let codec = ProstCodec::<Q, R>::new();
                    let response = client.unary(request, path, codec).await;
                    response.map(tonic::Response::into_inner)
                }
                Err(error) => Err(tonic::Status::from_error(error.into())),
            };
            // The receiver waits.
            let _ = send.send(result);
        });
        match receive.recv() {
            Ok(Ok(response)) => {
                inner.has_responded.store(true, Ordering::Relaxed);
                Ok(response)
            }
            Ok(Err(status)) => Err(self.error(method, &status)),
            Err(error) => Err(unreachable(error.into())),
        }
    }

    fn error(&self, method: &str, status: &tonic::Status) -> RemoteError {
        let url = self.url(method);
        let mut message = status.message().to_owned();
        let mut source = std::error::Error::source(status);
        while let Some(error) = source {
            let text = error.to_string();
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            source = error.source();
        }
        let source = message.clone().into();
        match status.code() {
            Code::Unauthenticated => RemoteError::Unauthorized { url, status: 401 },
            Code::PermissionDenied => RemoteError::Unauthorized { url, status: 403 },
            Code::DeadlineExceeded => RemoteError::Timeout { url, source },
            code if code as i32 == CANCELED => RemoteError::Timeout { url, source },
            _ if self.inner.tls && is_tls(&message) => RemoteError::Tls { url, source },
            Code::Unimplemented => {
                RemoteError::response(url, "the gRPC API of Milvus (port 19530)", message)
            }
            // Larger than the server receives, however often it is sent.
            Code::ResourceExhausted if message.contains("larger than max") => {
                let found = format!("{message}; send fewer documents or queries per request");
                RemoteError::response(url, "a message within the limit of the server", found)
            }
            // The server is overloaded, or another request interfered.
            code @ (Code::ResourceExhausted | Code::Aborted) => RemoteError::Status {
                url,
                status: match code {
                    Code::ResourceExhausted => 429,
                    _ => 503,
                },
                body: format!("the gRPC status {code:?}: {message}"),
            },
            // Statuses of the transport, not of a service.
            Code::Unavailable => RemoteError::Unreachable { url, source },
            Code::Unknown | Code::Internal if is_protocol(&message) => {
                match http_status(&message) {
                    Some(status @ 500..=599) => RemoteError::Status {
                        url,
                        status,
                        body: message,
                    },
                    // The server speaks gRPC: the connection broke.
                    _ if self.inner.has_responded.load(Ordering::Relaxed) => {
                        RemoteError::Unreachable { url, source }
                    }
                    _ => RemoteError::response(
                        url,
                        "gRPC, as Milvus speaks on port 19530 (with TLS, the scheme ends in `+tls`)",
                        message,
                    ),
                }
            }
            Code::Unknown => RemoteError::Unreachable { url, source },
            code => {
                let found = format!("the gRPC status {code:?}: {message}");
                RemoteError::response(url, "a response of Milvus", found)
            }
        }
    }
}

/// Status of a response of HTTP without a status of gRPC, by the message of tonic.
fn http_status(message: &str) -> Option<u16> {
    let (_, digits) = message.split_once("HTTP status code ")?;
    let end = digits.find(|c: char| !c.is_ascii_digit());
    digits[..end.unwrap_or(digits.len())].parse().ok()
}

fn is_tls(message: &str) -> bool {
    [
        "certificate",
        "InvalidContentType",
        "corrupt message",
        "tls",
        "Tls",
    ]
    .iter()
    .any(|part| message.contains(part))
}

/// Returns `true` if the peer does not speak HTTP/2, or does not speak gRPC over it.
fn is_protocol(message: &str) -> bool {
    [
        "http2 error",
        "h2 protocol error",
        "frame with invalid size",
        "protocol error",
        "HTTP status",
    ]
    .iter()
    .any(|part| message.contains(part))
}

/// Value of the metadata `authorization`: `USER:PASSWORD` in base64.
fn authorization(header: &str) -> Result<MetadataValue<Ascii>, RemoteError> {
    let value = match header.split_once(' ') {
        Some(("Basic", encoded)) => encoded.to_owned(),
        Some((_, token)) => BASE64_STANDARD.encode(token),
        None => BASE64_STANDARD.encode(header),
    };
    let mut value: MetadataValue<Ascii> = value.parse().map_err(|_| RemoteError::Credentials {
        variable: "IR_REMOTE_TOKEN",
        message: "expected characters of a header".to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_those_of_pymilvus() {
        // base64("root:Milvus"), as pymilvus sends it.
        let expected = "cm9vdDpNaWx2dXM=";
        for header in ["Bearer root:Milvus", "Basic cm9vdDpNaWx2dXM="] {
            let value = authorization(header).unwrap();
            assert_eq!(value.to_str().unwrap(), expected);
            assert!(!format!("{value:?}").contains(expected));
        }
    }

    #[test]
    fn errors_that_another_attempt_may_resolve() {
        let address = "milvus+grpc://localhost/papers".parse().unwrap();
        let (credentials, config) = (Credentials::default(), ClientConfig::default());
        let connection = Connection::new(&address, &credentials, &config, "").unwrap();
        let channel = GrpcChannel::new(&address, &credentials, &config, connection).unwrap();
        let error =
            |code, message: &str| channel.error("Query", &tonic::Status::new(code, message));
        let mapped =
            |status| format!("grpc-status header missing, mapped from HTTP status code {status}");
        for (code, message) in [
            (Code::Unavailable, "busy".to_owned()),
            (Code::ResourceExhausted, "rate limit".to_owned()),
            (Code::Aborted, "conflict".to_owned()),
            (Code::Unknown, mapped(500)),
            (Code::Unavailable, mapped(503)),
        ] {
            let error = error(code, &message);
            assert!(error.is_transient(), "{error:?}");
        }
        for (code, message) in [
            (Code::InvalidArgument, "field".to_owned()),
            (Code::PermissionDenied, String::new()),
            (Code::Internal, mapped(400)),
            (
                Code::ResourceExhausted,
                "grpc: received message larger than max (9 vs. 4)".to_owned(),
            ),
        ] {
            let error = error(code, &message);
            assert!(!error.is_transient(), "{error:?}");
        }
        let broken = || error(Code::Internal, "h2 protocol error: error reading a body");
        assert!(broken().to_string().contains("expected gRPC"));
        channel.inner.has_responded.store(true, Ordering::Relaxed);
        assert!(matches!(broken(), RemoteError::Unreachable { .. }));
    }
}
