#![doc = include_str!("../README.md")]
#![cfg_attr(not(feature = "mmap"), forbid(unsafe_code))]
#![cfg_attr(feature = "mmap", deny(unsafe_code))]

mod adapters;
mod analyzer;
mod attributes;
mod cached_encoder;
mod characters;
mod comparison;
mod condition;
mod conditions;
mod corpus;
mod date;
mod encoder;
mod error;
mod explanation;
mod filter;
mod filter_check;
pub mod fusion;
mod hash;
mod ids;
mod macros;
mod matched_text;
mod precomputed_encoder;
mod predicate;
mod progress;
mod qrels;
mod random;
mod ranking;
mod reader;
mod reranker;
mod retriever;
mod run;
mod run_order;
mod search;
#[cfg(feature = "segments")]
pub mod segments;
mod shard;
#[cfg(feature = "shards")]
pub mod shards;
mod similarity;
pub mod stop_words;
pub mod store;
#[cfg(test)]
mod tests;
mod time_limited;
mod token_encoder;
pub mod training;
pub mod trec;

pub use adapters::{Distinct, Renumbered, Rewritten};
pub use analyzer::{Analyzer, Token};
pub use attributes::{AttributeValue, Attributes};
pub use cached_encoder::CachedEncoder;
pub use characters::{byte_offset, character_count, excerpt};
pub use comparison::Comparable;
pub use condition::ParsePredicateError;
pub use conditions::Conditions;
pub use corpus::{Corpus, CorpusError, CorpusIter, DocReader, Document, Query, Skipped};
pub use date::Date;
pub use encoder::{Encoded, Encoder, Side};
pub use error::{EncodeError, SearchError};
pub use explanation::Explanation;
pub use filter::{AllOf, DocFilter, NoneOf, NotLaterThan, WithCondition, Years};
pub use filter_check::{ConditionCheck, YearCheck};
pub use hash::Fnv1a;
pub use ids::{DocIds, DocNum, DocSet, IdError, SegmentNumbers, SegmentOrder, SegmentedIds};
pub use matched_text::MatchedText;
pub use precomputed_encoder::PrecomputedEncoder;
pub use predicate::Predicate;
pub use progress::{Flow, NoProgress, Progress};
pub use qrels::{Grade, JudgedDocs, Judgments, Qrels, StratifiedQrels, SubtopicQrels};
pub use random::SplitMix64;
pub use ranking::{Hit, Ranking, TopK};
pub use reader::{AnswerSpan, Reader, ReaderError, ReaderInput};
pub use reranker::{Candidate, CandidateTexts, Reranker};
pub use retriever::Retriever;
pub use run::{Run, ScoredDoc};
pub use run_order::RunOrder;
pub use search::Search;
pub use shard::{CorpusRange, Shard, ShardError};
pub use similarity::VectorSimilarity;
pub use time_limited::TimeLimited;
pub use token_encoder::{TokenEncoder, TokenVectors};
