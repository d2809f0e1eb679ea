//! Vector of a fixed text, which tells models, CPUs and backends apart.

use ir_core::{EncodeError, Encoder, Side};

/// Returns the text that [`probe`] encodes. It exceeds the sequence length of most encoders.
///
/// ```
/// assert_eq!(ir_system::saved_vectors::probe_text().len(), 80 * 36);
/// ```
#[must_use]
pub fn probe_text() -> String {
    "Ships seen by radar, number 1 of 7. ".repeat(80)
}

/// Returns the vector of [`probe_text`] on a side, one `f32::to_bits` per component. The vector
/// differs between models, and may differ between CPUs and backends.
///
/// # Errors
/// Returns the error of the encoder.
pub fn probe(encoder: &dyn Encoder, side: Side) -> Result<Vec<u32>, EncodeError> {
    let vector = encoder.encode(side, &[&probe_text()])?;
    Ok(vector.into_iter().map(f32::to_bits).collect())
}
