#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod bundled;
mod chunk;
pub mod citation;
pub mod documents;
mod frame;
pub mod frames;
pub mod generation;
pub mod highlight;
pub mod questions;
pub mod reader;
pub mod retrieval;
pub mod soco;
pub mod suggest;
mod word_class;

pub use ir_data::sentences;

pub use bundled::bundled_papers;
pub use chunk::Chunk;
pub use frame::{ChunkKind, Frame, FrameError, FrameQuestion};
pub use ir_core::{byte_offset, character_count};
