#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod characters;
mod frame;

pub use characters::{byte_offset, character_count};
pub use frame::{ChunkKind, Frame, FrameError, FrameQuestion};
