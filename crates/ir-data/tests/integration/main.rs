//! Tests of formats, collections and downloads. One program, which is linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

#[cfg(feature = "fetch")]
mod fetch;
mod formats;
mod iclr;
mod properties;
mod real;
mod sentences;
mod streams;
mod terminology;
