//! Encoders of systems: model, training, and the vectors of the documents.

#[cfg(feature = "dense")]
mod generated_questions;
#[cfg(feature = "dense")]
mod model_stage;
#[cfg(feature = "dense")]
mod retriever;
#[cfg(not(feature = "dense"))]
mod without_models;

use crate::entries::bm25::expansion::encoder::in_table;
use crate::entries::{EncoderEntry, EncoderReference, unknown_encoder};
use crate::error::SystemError;
use crate::source::SourceMap;
use crate::system::SystemContext;

impl EncoderReference {
    /// Calls `use_entry` with the entry, and adds the key of the entry to its errors.
    pub(crate) fn with<'a, T>(
        &self,
        context: &mut SystemContext<'a>,
        use_entry: impl FnOnce(&EncoderEntry, &mut SystemContext<'a>) -> Result<T, SystemError>,
    ) -> Result<T, SystemError> {
        match self {
            Self::Table(entry) => use_entry(entry, context).map_err(in_table),
            Self::Name(name) => {
                let entry = named_entry(context, name)?;
                use_entry(entry, context).map_err(|error| in_file(context.source, name, error))
            }
        }
    }

    /// Variant of [`EncoderReference::with`] that computes nothing.
    pub(crate) fn inspect<T>(
        &self,
        context: &SystemContext<'_>,
        use_entry: impl FnOnce(&EncoderEntry) -> Result<T, SystemError>,
    ) -> Result<T, SystemError> {
        match self {
            Self::Table(entry) => use_entry(entry).map_err(in_table),
            Self::Name(name) => use_entry(named_entry(context, name)?)
                .map_err(|error| in_file(context.source, name, error)),
        }
    }
}

fn named_entry<'a>(
    context: &SystemContext<'a>,
    name: &str,
) -> Result<&'a EncoderEntry, SystemError> {
    let encoders = context.encoders;
    let found = encoders.get(name);
    found.ok_or_else(|| unknown_encoder("encoder", name, encoders.keys().map(String::as_str)))
}

/// Error of an entry of `[encoders]`.
fn in_file(source: &SourceMap, name: &str, error: SystemError) -> SystemError {
    source
        .system_error(&format!("encoders.{name}"), error)
        .into()
}
