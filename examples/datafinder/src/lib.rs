//! Systems, task and table of the DataFinder experiment (ACL 2023), shared by the program
//! `datafinder`, its tests and the ablations.

#![allow(missing_docs, missing_debug_implementations, reason = "an example")]

pub mod encoder;
pub mod encoders;
pub mod experiment;
pub mod systems;
pub mod table;
pub mod task;
pub mod training;

/// The examples of the repository's README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
