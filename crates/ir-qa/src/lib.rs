#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod characters;
mod chunk;
mod frame;
pub mod frames;
pub mod sentences;

pub use characters::{byte_offset, character_count};
pub use chunk::Chunk;
pub use frame::{ChunkKind, Frame, FrameError, FrameQuestion};
