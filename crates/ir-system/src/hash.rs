//! Content hashes, which name the entries of the cache.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// SHA-256 of a sequence of strings and numbers, as 32 hexadecimal digits (128 bits).
#[derive(Debug, Clone, Default)]
pub struct ContentHash(Sha256);

impl ContentHash {
    /// Adds a string, preceded by its length, so that no two sequences have the same bytes.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// Adds bytes, preceded by their length.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds the content of a file.
    ///
    /// # Errors
    /// Returns the error of reading the file.
    pub fn file(&mut self, file: &mut impl Read) -> io::Result<&mut Self> {
        let mut buffer = vec![0; 1 << 20];
        let mut length = 0;
        loop {
            let read = match file.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            self.0.update(&buffer[..read]);
            length += read as i64;
            if read == 0 {
                return Ok(self.number(length));
            }
        }
    }

    /// Adds a number of 64 bits.
    pub fn number(&mut self, number: i64) -> &mut Self {
        self.0.update(number.to_le_bytes());
        self
    }

    /// Returns the hash as hexadecimal digits.
    #[must_use]
    pub fn finish(self) -> String {
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

    #[test]
    fn hashes_of_files_do_not_depend_on_the_sizes_of_reads() {
        let hash = |mut file: &mut dyn Read| {
            let mut hash = ContentHash::default();
            hash.file(&mut file).unwrap();
            hash.finish()
        };
        let whole = hash(&mut &b"abcdef"[..]);
        assert_eq!(whole, hash(&mut b"ab".chain(&b"cdef"[..])));
        assert_ne!(whole, hash(&mut &b"abcde"[..]));
    }
}
