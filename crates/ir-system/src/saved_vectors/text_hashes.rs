//! Hashes of encoded texts, which `ir encode` records with their vectors.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ir_core::Fnv1a;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Returns the 64-bit FNV-1a hash of a text and its id.
///
/// ```
/// use ir_system::saved_vectors::text_hash;
/// assert_eq!(text_hash("q1", "tea"), text_hash("q1", "tea"));
/// assert_ne!(text_hash("q1", "tea"), text_hash("q2", "tea"));
/// ```
#[must_use]
pub fn text_hash(id: &str, text: &str) -> u64 {
    let mut hash = Fnv1a::new();
    hash.write(id.as_bytes());
    // Separator: 0xFF does not occur in UTF-8.
    hash.write(&[0xFF]);
    hash.write(text.as_bytes());
    hash.finish()
}

/// Hashes of texts, in the order of their vectors. Serialized as base64 of the little-endian
/// hashes.
///
/// ```
/// use ir_system::saved_vectors::TextHashes;
/// let (mut encoded, mut today) = (TextHashes::default(), TextHashes::default());
/// encoded.push("q1", "green tea");
/// today.push("q1", "black tea");
/// assert_eq!(encoded.difference(&today).as_deref(), Some("text 1 of 1 differs"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextHashes(Vec<u64>);

impl TextHashes {
    /// Appends the hash of a text.
    pub fn push(&mut self, id: &str, text: &str) {
        self.0.push(text_hash(id, text));
    }

    /// Returns the number of texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no texts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the hashes, in the order of the vectors.
    #[must_use]
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }

    /// Appends the hashes of the texts that follow.
    pub fn extend(&mut self, next: &Self) {
        self.0.extend_from_slice(&next.0);
    }

    /// Returns the first difference to `found`; `None` if the texts are the same, in the same
    /// order.
    #[must_use]
    pub fn difference(&self, found: &Self) -> Option<String> {
        let (expected, count) = (grouped(self.len()), grouped(found.len()));
        if self.len() != found.len() {
            return Some(format!("expected {expected} texts, found {count}"));
        }
        let mut pairs = self.0.iter().zip(&found.0);
        let first = pairs.position(|(expected, found)| expected != found)?;
        Some(format!("text {} of {expected} differs", grouped(first + 1)))
    }
}

/// Number with a comma before each group of three digits.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl FromIterator<u64> for TextHashes {
    fn from_iter<I: IntoIterator<Item = u64>>(hashes: I) -> Self {
        Self(hashes.into_iter().collect())
    }
}

impl Serialize for TextHashes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self.0.iter().flat_map(|hash| hash.to_le_bytes()).collect();
        serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for TextHashes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = BASE64_STANDARD.decode(text).map_err(de::Error::custom)?;
        let (hashes, rest) = bytes.as_chunks();
        if !rest.is_empty() {
            return Err(de::Error::invalid_length(bytes.len(), &"8 bytes per text"));
        }
        Ok(Self(
            hashes.iter().copied().map(u64::from_le_bytes).collect(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_compact_base64() {
        let mut texts = TextHashes::default();
        for n in 0..1000 {
            texts.push(&n.to_string(), "tea");
        }
        let json = serde_json::to_string(&texts).unwrap();
        assert_eq!(json.len(), 2 + 8_000_usize.div_ceil(3) * 4);
        assert_eq!(serde_json::from_str::<TextHashes>(&json).unwrap(), texts);
        for wrong in ["\"AAAA\"", "\"?\"", "7"] {
            assert!(
                serde_json::from_str::<TextHashes>(wrong).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn differences_name_the_first_text() {
        let texts = |pairs: &[(&str, &str)]| {
            let mut texts = TextHashes::default();
            pairs.iter().for_each(|(id, text)| texts.push(id, text));
            texts
        };
        let expected = texts(&[("a", "tea"), ("b", "milk")]);
        assert_eq!(expected.difference(&expected), None);
        let found = texts(&[("a", "tea"), ("bm", "ilk")]);
        let difference = expected.difference(&found).unwrap();
        assert_eq!(difference, "text 2 of 2 differs");
        let difference = expected.difference(&texts(&[])).unwrap();
        assert_eq!(difference, "expected 2 texts, found 0");
    }
}
