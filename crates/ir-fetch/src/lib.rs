#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod chat;
mod client;
mod digest;
mod download;
mod error;
mod request;
mod response;

pub use client::HttpClient;
pub use digest::Checksum;
pub use download::Download;
pub use error::{CertificateError, DownloadError, NoResponseReason, RequestError};
pub use request::{HttpMethod, HttpRequest};
