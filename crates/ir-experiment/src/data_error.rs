//! Errors of the data that a key names.

use ir_data::DataError;
use ir_data::catalog::Catalog;
use ir_system::{SourceMap, SpecError};

use crate::suggest::did_you_mean;

/// Adds the position of a key to an error of its data.
pub(crate) fn data_error(source: &SourceMap, key: &str, error: DataError) -> SpecError {
    let message = match &error {
        DataError::UnknownCollection { name, known } => {
            // Entries of the catalog without documents and queries are only files.
            let catalog = Catalog::from_env();
            let has_data = |name: &&str| {
                let entry = catalog.entry(name);
                entry.is_ok_and(|entry| entry.documents + entry.queries > 0)
            };
            let names = known.iter().map(String::as_str).filter(has_data);
            let names: Vec<&str> = names.collect();
            format!(
                "expected a collection ({}) or the path of a folder, found {name:?}{}",
                names.join(", "),
                did_you_mean(name, names)
            )
        }
        DataError::UnknownSplit { split, known, .. } => {
            let names = known.iter().map(String::as_str);
            format!("{error}{}", did_you_mean(split, names))
        }
        error if error.is_missing() => {
            return SpecError::Missing {
                location: source.location(key),
                key: key.to_owned(),
                message: error.to_string(),
            };
        }
        _ => {
            return SpecError::Stage {
                location: source.location(key),
                key: key.to_owned(),
                stage: "reading".to_owned(),
                source: Box::new(error),
            };
        }
    };
    source.error(key, message)
}
