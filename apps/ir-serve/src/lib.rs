#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod annotation_positions;
mod api;
mod api_error;
mod app;
mod base_path;
mod batching;
mod config;
mod error;
mod host;
mod metrics;
mod pages;
mod papers;
mod published;
mod publisher;
mod query_log;
mod request_permit;
mod server;
mod service;
pub mod store;
mod timed_writes;
mod urls;
mod watched_body;

pub use api::openapi;
pub use base_path::{BasePath, InvalidBasePath};
pub use config::{
    AccessConfig, Collection, Limits, PaperFolder, ServiceConfig, ServiceEncoder, ServiceGenerator,
    ServiceQuestions, ServiceReranker,
};
pub use error::ServiceError;
pub use pages::pages;
pub use published::{AnswerPosition, PublishError, PublishedDocument, PublishedState};
pub use server::{Server, ServerError};
pub use service::{
    AnswerList, CollectionHits, FolderRead, GeneratedAnswer, GenerationOutcome, Question,
    RerankedText, Rescan, ScoredAnswer, Service, Suggestion, record_of,
};
