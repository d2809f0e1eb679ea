//! Vector of a fixed text, which tells models, CPUs and backends apart.

use ir_core::{EncodeError, Encoder, Side};

/// Returns the text of [`probe`], which exceeds the sequence length of most encoders.
#[must_use]
pub fn probe_text() -> String {
    "Ships seen by radar, number 1 of 7. ".repeat(80)
}

/// Returns the vector of a fixed long text, as bits. Another model, CPU or backend has another one.
///
/// # Errors
/// Returns the error of the encoder.
pub fn probe(encoder: &dyn Encoder, side: Side) -> Result<Vec<u32>, EncodeError> {
    let vector = encoder.encode(side, &[&probe_text()])?;
    Ok(vector.into_iter().map(f32::to_bits).collect())
}
