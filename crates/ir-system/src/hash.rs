//! Content hashes, which name the entries of the cache.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

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

/// Hashes of files, each computed once.
#[derive(Debug, Default)]
pub struct FileHashes {
    files: RefCell<HashMap<PathBuf, String>>,
    /// Of the documents of collections, by name.
    pub(crate) collections: RefCell<HashMap<String, String>>,
}

impl FileHashes {
    /// Returns the hash of the content of a file.
    ///
    /// # Errors
    /// Returns the error of reading the file.
    pub fn get(&self, path: &Path) -> io::Result<String> {
        if let Some(hash) = self.files.borrow().get(path) {
            return Ok(hash.clone());
        }
        let hash = file_hash(path)?;
        self.files
            .borrow_mut()
            .insert(path.to_owned(), hash.clone());
        Ok(hash)
    }

    /// Returns the paths of the files that have a hash, in no order.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files.borrow().keys().cloned().collect()
    }
}

/// Hash of the content of a file.
pub fn file_hash(path: &Path) -> io::Result<String> {
    let mut hash = ContentHash::default();
    hash.file(&mut File::open(path)?)?;
    Ok(hash.finish())
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
