#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod app;
mod batching;
mod config;
mod error;
mod pages;
mod published;
mod publisher;
mod query_log;
mod service;
pub mod store;

pub use config::{Collection, Limits, ServiceConfig, ServiceEncoder};
pub use error::ServiceError;
pub use pages::pages;
pub use published::{AnswerPlace, PublishError, PublishedDocument, PublishedState};
pub use service::{AnswerList, Question, ScoredAnswer, Service, record_of};
