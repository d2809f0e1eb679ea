//! Content hashes, which name the entries of the cache.

use sha2::{Digest, Sha256};

/// SHA-256 of a sequence of strings and numbers, as 32 hexadecimal digits (128 bits).
#[derive(Debug, Clone, Default)]
pub(crate) struct ContentHash(Sha256);

impl ContentHash {
    /// Adds a string, preceded by its length, so that no two sequences have the same bytes.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(crate) fn number(&mut self, number: i64) -> &mut Self {
        self.0.update(number.to_le_bytes());
        self
    }

    pub(crate) fn finish(self) -> String {
        let digest = self.0.finalize();
        digest[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_have_different_hashes() {
        let hash = |parts: &[&str]| {
            let mut hash = ContentHash::default();
            for part in parts {
                hash.text(part);
            }
            hash.finish()
        };
        assert_eq!(hash(&["a", "b"]), hash(&["a", "b"]));
        assert_ne!(hash(&["ab"]), hash(&["a", "b"]));
        assert_ne!(hash(&[""]), hash(&[]));
        assert_eq!(hash(&["a"]).len(), 32);
    }
}
