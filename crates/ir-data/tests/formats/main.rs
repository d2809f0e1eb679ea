//! Small inputs for the properties of every format: the parsed data or the error.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod beir;
mod biocaddie;
mod biocaddie_records;
mod catalog;
mod datafinder;
mod indri;
mod json;
mod runs;
mod sgml;
mod smart;
mod squad;
mod tsv;
