#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod attribute;
pub mod beir;
mod beir_files;
mod beir_layout;
pub mod biocaddie;
mod bundled;
pub mod catalog;
mod collection;
pub mod columnar;
mod compression;
mod compression_format;
pub mod csv;
pub mod datafinder;
mod documents;
mod duplicates;
mod error;
mod file_kind;
mod formats;
mod head;
pub mod iclr;
pub mod indri;
mod json;
pub mod jsonl;
mod judgments;
mod lines;
mod panics;
mod parser_message;
mod parts;
mod qrels;
mod queries;
pub mod results;
pub mod resume;
mod row;
pub mod s2orc;
pub mod sentences;
#[cfg(feature = "html")]
pub mod sgml;
pub mod smart;
mod sparse_vectors;
pub mod squad;
mod template;
mod templated_corpus;
pub mod terminology;
mod text_encoding;
pub mod training;
pub mod trec;
pub mod tsv;
mod utf16;

pub use beir_files::beir_files;
pub use catalog::open_path_or_name;
pub use collection::{Collection, CountedCorpus, InMemoryJudgedQueries, JudgedQueries};
pub use compression::{
    Compression, DataFile, byte_order_mark, create, decompress, detect_compression, is_plain, open,
    open_bytes, unsupported_compression,
};
pub use documents::{DocumentFile, DocumentFiles, DocumentFormat, ReadOptions};
pub use error::{DataError, InvalidText};
pub use file_kind::FileKind;
pub use formats::{FORMATS, Format};
pub use head::{ColumnarFormat, has_json_extension, is_trec_file};
pub use json::{FieldNames, GivenNames, RecordKind};
pub use jsonl::{DuplicateIds, JsonlCorpus, JsonlWriter};
pub use lines::{Line, LineReader, MAX_LINE};
pub use panics::catch_panic;
pub use parser_message::parser_message;
pub use parts::check_parts;
pub use qrels::{parse_qrels_any, read_qrels_any, read_split_qrels};
pub use queries::{QueryFormat, read_queries, read_queries_from};
pub use sparse_vectors::{SPARSE_VECTORS, SparseVectorReader, SparseVectorRecord};
pub use template::{DocTemplate, TemplateError};
pub use templated_corpus::TemplatedCorpus;
pub use text_encoding::TextEncoding;
pub use trec::{read_qrels, read_run, write_qrels, write_run};
pub use tsv::{TsvCorpus, TsvWriter};
