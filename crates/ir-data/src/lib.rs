#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod beir;
pub mod catalogue;
pub mod classic;
mod collection;
mod create;
pub mod datafinder;
mod error;
#[cfg(feature = "fetch")]
pub mod fetch;
#[cfg(feature = "parquet")]
pub mod iclr;
pub mod indri;
pub mod jsonl;
mod lines;
mod open;
mod record;
mod seen;
pub mod squad;
mod template;
pub mod training;
pub mod trec;
pub mod tsv;
mod zstd;

pub use catalogue::open_path_or_name;
pub use collection::{Collection, Counted, Judged, JudgedInMemory};
pub use create::{DataFile, create};
pub use error::{DataError, NotText};
pub use jsonl::{JsonlCorpus, JsonlWriter, Repeats};
pub use lines::{Line, Lines, MAX_LINE};
pub use open::{Compression, decode, open};
pub use record::JsonFields;
pub use template::{DocTemplate, TemplateError};
pub use trec::{read_qrels, read_qrels_any, read_run, write_qrels, write_run};
pub use tsv::{TsvCorpus, TsvWriter};
