//! Systems, task and table of the DataFinder experiment (ACL 2023), shared by the program
//! `datafinder`, its tests and the ablations.

#![allow(missing_docs, reason = "an example")]

pub mod encoder;
pub mod encoders;
pub mod systems;
pub mod table;
pub mod task;
pub mod tiny;
