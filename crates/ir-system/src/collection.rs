//! Collections that a key names.

use std::path::PathBuf;

use ir_data::catalog::Catalog;
use ir_data::{Collection, DataError};

use crate::error::SystemError;

/// Opens a collection of the catalog by name, or a folder by the path that `resolve` returns.
pub fn open_named(
    name: &str,
    resolve: impl FnOnce() -> Result<PathBuf, SystemError>,
) -> Result<Result<Collection, DataError>, SystemError> {
    let catalog = Catalog::from_env();
    if catalog.entry(name).is_ok() {
        return Ok(catalog.open(name));
    }
    let path = resolve()?;
    Ok(if path.exists() {
        ir_data::open_path_or_name(&path.to_string_lossy())
    } else if name.starts_with('$') {
        // The folder that the variable names, and not the variable.
        catalog.open(&path.to_string_lossy())
    } else {
        catalog.open(name)
    })
}
