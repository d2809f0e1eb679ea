//! Small inputs for every trap of every format: what is read, or the one error that is given.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod beir;
mod classic;
mod collections;
mod datafinder;
mod indri;
mod json;
mod runs;
mod squad;
mod tables;
