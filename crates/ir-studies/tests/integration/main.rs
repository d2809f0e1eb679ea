//! Procedures on invented data, and on published files if `IR_DATA` has them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::path::PathBuf;

use ir_data::catalog::Catalog;

mod biocaddie;
mod datafinder;
#[cfg(feature = "endpoint")]
mod endpoint;
mod iclr;

/// A file of the folder `IR_DATA`. If it is missing, prints which one, and the test is skipped.
fn file(path: &str) -> Option<PathBuf> {
    let found = Catalog::from_env().root().map(|root| root.join(path));
    let found = found.filter(|path| path.exists());
    if found.is_none() {
        eprintln!("SKIPPED: {path} is not in IR_DATA");
    }
    found
}
