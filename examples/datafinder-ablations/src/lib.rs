//! Names of datasets in running text.

pub mod names;
