//! Tests of documents, frames, questions, readers and answers. One program, which is linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod common;
mod documents;
#[cfg(feature = "endpoint")]
mod endpoint;
mod frames;
mod golden;
mod json_documents;
mod markup_documents;
mod natural_questions;
mod questions;
mod reader;
mod soco;
mod text_documents;
