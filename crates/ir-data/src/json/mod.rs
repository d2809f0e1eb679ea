//! JSON records: documents, attribute values and error positions.

mod document;
mod fields;
mod value;

pub(crate) use document::{parse_document, write_document};
pub use fields::JsonFields;
pub(crate) use value::{JsonLineNumbers, json_error, parse_object, type_name};
