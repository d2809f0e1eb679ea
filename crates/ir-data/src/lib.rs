#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod attribute;
pub mod beir;
pub mod biocaddie;
mod bundled;
pub mod catalog;
mod collection;
mod compression;
mod compression_format;
pub mod datafinder;
mod duplicates;
mod error;
#[cfg(feature = "parquet")]
pub mod iclr;
pub mod indri;
mod json;
pub mod jsonl;
mod lines;
mod parser_message;
mod qrels;
pub mod results;
pub mod resume;
pub mod s2orc;
pub mod sentences;
pub mod sgml;
pub mod smart;
pub mod squad;
mod template;
mod templated_corpus;
mod text_encoding;
pub mod training;
pub mod trec;
pub mod tsv;

pub use catalog::open_path_or_name;
pub use collection::{Collection, CountedCorpus, InMemoryJudgedQueries, JudgedQueries};
pub use compression::{Compression, DataFile, create, decompress, detect_compression, open};
pub use error::{DataError, InvalidText};
pub use json::{JsonFields, RecordKind};
pub use jsonl::{DuplicateIds, JsonlCorpus, JsonlWriter};
pub use lines::{Line, LineReader, MAX_LINE};
pub use parser_message::parser_message;
pub use qrels::{parse_qrels_any, read_qrels_any, read_split_qrels};
pub use template::{DocTemplate, TemplateError};
pub use templated_corpus::TemplatedCorpus;
pub use text_encoding::TextEncoding;
pub use trec::{read_qrels, read_run, write_qrels, write_run};
pub use tsv::{TsvCorpus, TsvWriter};
