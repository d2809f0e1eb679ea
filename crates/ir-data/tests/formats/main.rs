//! Small inputs for every trap of every format: what is read, or the one error that is given.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod beir;
mod collections;
mod datafinder;
mod indri;
mod json;
mod runs;
mod smart;
mod squad;
mod tables;
