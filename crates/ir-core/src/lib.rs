#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod adapters;
mod analyzer;
mod attributes;
mod cached;
mod collection;
pub mod compat;
mod encoder;
mod explanation;
mod file;
mod filter;
pub mod fuse;
mod held_back;
pub mod hybrid;
mod ids;
pub mod interleave;
mod judged;
mod labelled;
pub mod mine;
mod order;
mod progress;
mod qrels;
mod random;
mod ranking;
mod retriever;
mod run;
mod search;
mod stop_words;
mod training;
pub mod trec;

pub use adapters::{ByText, Distinct};
pub use analyzer::{Analyzer, Token};
pub use attributes::{Attributes, Value, name};
pub use cached::CachedEncoder;
pub use collection::{Corpus, CorpusError, DocReader, Docs, Document, Queries, Query};
pub use encoder::{EncodeError, Encoded, Encoder, Side};
pub use explanation::Explanation;
pub use file::{AtomicFile, remove_unfinished};
pub use filter::{AllOf, AnyOf, DocFilter, DocSet, NoneOf, NotLaterThan, Predicate, Years};
pub use held_back::HeldBack;
pub use ids::{DocIds, DocNum, IdError};
pub use judged::JudgedDocs;
pub use labelled::{StratifiedQrels, SubtopicQrels};
pub use order::ListOrder;
pub use progress::{Flow, NoProgress, Progress};
pub use qrels::{Grade, Judgments, Qrels};
pub use random::SplitMix;
pub use ranking::{Hit, Ranking, TopK};
pub use retriever::{Retriever, SearchError};
pub use run::{Run, Scored};
pub use search::Search;
pub use stop_words::NLTK_STOP_WORDS;
pub use training::{
    ExampleFault, Fingerprint, TrainingError, TrainingExample, TrainingSet, TrainingText,
};
