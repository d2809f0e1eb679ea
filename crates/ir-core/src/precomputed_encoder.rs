use std::collections::HashMap;
use std::fmt;

use crate::encoder::{Encoder, Side};
use crate::error::EncodeError;

/// Encoder that looks texts up in a table of precomputed vectors, such as encoded queries.
///
/// Query and document vectors are the same. A text without a vector is
/// [`EncodeError::Model`].
///
/// ```
/// use ir_core::{Encoder, PrecomputedEncoder, Side};
/// let mut encoder = PrecomputedEncoder::new("queries.vectors", 2);
/// encoder.insert("green tea", &[0.6, 0.8]);
/// assert_eq!(encoder.encode(Side::Query, &["green tea"])?, [0.6, 0.8]);
/// assert!(encoder.encode(Side::Query, &["black tea"]).is_err());
/// # Ok::<(), ir_core::EncodeError>(())
/// ```
#[derive(Clone)]
pub struct PrecomputedEncoder {
    source: String,
    dim: usize,
    vectors: HashMap<String, Vec<f32>>,
}

impl PrecomputedEncoder {
    /// Creates an encoder without vectors. `source` names the vectors in errors: a path, for
    /// example.
    pub fn new(source: impl Into<String>, dim: usize) -> Self {
        Self {
            source: source.into(),
            dim,
            vectors: HashMap::new(),
        }
    }

    /// Adds the vector of a text, or replaces it.
    ///
    /// # Panics
    /// The vector has another dimension.
    pub fn insert(&mut self, text: impl Into<String>, vector: &[f32]) {
        assert_eq!(vector.len(), self.dim, "dimension of the vector");
        self.vectors.insert(text.into(), vector.to_vec());
    }
}

impl Encoder for PrecomputedEncoder {
    fn dim(&self) -> usize {
        self.dim
    }

    fn encode_into(&self, _: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        let (expected, found) = (texts.len() * self.dim, out.len());
        if found != expected {
            return Err(EncodeError::Shape { expected, found });
        }
        for (text, row) in texts.iter().zip(out.chunks_exact_mut(self.dim.max(1))) {
            let Some(vector) = self.vectors.get(*text) else {
                return Err(EncodeError::Model {
                    model: self.source.clone(),
                    source: format!("expected a vector of {text:?}, found none").into(),
                });
            };
            row.copy_from_slice(vector);
        }
        Ok(())
    }
}

impl fmt::Debug for PrecomputedEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrecomputedEncoder")
            .field("source", &self.source)
            .field("dim", &self.dim)
            .field("vectors", &self.vectors.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors() {
        let mut encoder = PrecomputedEncoder::new("q.vectors", 2);
        encoder.insert("a", &[1.0, 2.0]);
        encoder.insert("a", &[3.0, 4.0]);
        assert_eq!(
            encoder.encode(Side::Document, &["a", "a"]).unwrap(),
            [3.0, 4.0, 3.0, 4.0]
        );
        let shape = encoder.encode_into(Side::Query, &["a"], &mut [0.0; 3]);
        assert!(matches!(
            shape,
            Err(EncodeError::Shape {
                expected: 2,
                found: 3
            })
        ));
        let unknown = encoder.encode(Side::Query, &["a", "b"]).unwrap_err();
        assert_eq!(unknown.to_string(), "encoder q.vectors failed");
        let source = std::error::Error::source(&unknown).unwrap().to_string();
        assert_eq!(source, "expected a vector of \"b\", found none");
    }
}
