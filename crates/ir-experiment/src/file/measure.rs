//! Measures of a file.

use ir_eval::Measure;

use crate::suggest::suggested_measure;

/// Parses a measure; the error of an unknown name suggests the closest one.
pub(crate) fn parse_measure(name: &str) -> Result<Measure, String> {
    name.parse().map_err(|error: ir_eval::ParseMeasureError| {
        let hint = match &error {
            ir_eval::ParseMeasureError::Unknown { text } => suggested_measure(text, &[]),
            _ => String::new(),
        };
        format!("{error}{hint}")
    })
}
