use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::OpenIndexError;
#[cfg(feature = "mmap")]
use super::mmap::MappedFile;

/// The bytes of an index: a memory-mapped file, or owned or static memory. Cheap to clone.
#[derive(Clone)]
pub struct IndexBytes(ByteStorage);

#[derive(Clone)]
enum ByteStorage {
    Owned(Arc<Vec<u8>>),
    Static(&'static [u8]),
    #[cfg(feature = "mmap")]
    Mapped(Arc<MappedFile>),
}

impl IndexBytes {
    /// Maps a file into memory, or reads it without the feature `mmap`. The file must not be
    /// modified in place while it is mapped.
    ///
    /// # Errors
    /// [`OpenIndexError::Directory`] or [`OpenIndexError::Io`].
    pub fn open(path: &Path) -> Result<Self, OpenIndexError> {
        let io = |source| OpenIndexError::Io {
            path: path.to_owned(),
            source,
        };
        if path.is_dir() {
            return Err(OpenIndexError::Directory {
                path: path.to_owned(),
            });
        }
        let file = File::open(path).map_err(io)?;
        Self::from_file(&file).map_err(io)
    }

    /// Maps an open file into memory, or reads it without the feature `mmap`. The file must not be
    /// modified in place while it is mapped.
    ///
    /// # Errors
    /// If the file cannot be mapped or read.
    #[cfg(feature = "mmap")]
    pub fn from_file(file: &File) -> io::Result<Self> {
        // Some systems cannot map an empty file.
        if file.metadata()?.len() == 0 {
            return Ok(Self::default());
        }
        Ok(Self(ByteStorage::Mapped(Arc::new(MappedFile::new(file)?))))
    }

    /// Maps an open file into memory, or reads it without the feature `mmap`. The file must not be
    /// modified in place while it is mapped.
    ///
    /// # Errors
    /// If the file cannot be mapped or read.
    #[cfg(not(feature = "mmap"))]
    pub fn from_file(mut file: &File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        io::Seek::rewind(&mut file)?;
        io::Read::read_to_end(&mut file, &mut bytes)?;
        Ok(Self::from(bytes))
    }

    /// The bytes of a range, which are empty if it exceeds all bytes.
    #[must_use]
    pub fn range(&self, range: Range<usize>) -> SectionBytes {
        SectionBytes::new(self.clone(), range)
    }

    /// Starts reading a range ahead, if the bytes are memory-mapped.
    pub(super) fn advise_needed(&self, range: Range<usize>) {
        #[cfg(feature = "mmap")]
        if let ByteStorage::Mapped(map) = &self.0 {
            map.advise_needed(range);
        }
        #[cfg(not(feature = "mmap"))]
        let _ = range;
    }
}

impl Default for IndexBytes {
    fn default() -> Self {
        Self(ByteStorage::Static(&[]))
    }
}

impl From<Vec<u8>> for IndexBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(ByteStorage::Owned(Arc::new(bytes)))
    }
}

impl From<&'static [u8]> for IndexBytes {
    fn from(bytes: &'static [u8]) -> Self {
        Self(ByteStorage::Static(bytes))
    }
}

impl AsRef<[u8]> for IndexBytes {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            ByteStorage::Owned(bytes) => bytes,
            ByteStorage::Static(bytes) => bytes,
            #[cfg(feature = "mmap")]
            ByteStorage::Mapped(map) => map.as_bytes(),
        }
    }
}

impl fmt::Debug for IndexBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IndexBytes({})", self.as_ref().len())
    }
}

/// The bytes of one section. Cheap to clone; keeps the file mapped.
#[derive(Debug, Clone, Default)]
pub struct SectionBytes {
    bytes: IndexBytes,
    range: Range<usize>,
}

impl SectionBytes {
    pub(super) const fn new(bytes: IndexBytes, range: Range<usize>) -> Self {
        Self { bytes, range }
    }

    /// Disables read-ahead for a section of which only few, scattered bytes are read. No effect
    /// unless the file is memory-mapped.
    pub fn advise_random(&self) {
        #[cfg(feature = "mmap")]
        if let ByteStorage::Mapped(map) = &self.bytes.0 {
            map.advise_random(self.range.clone());
        }
    }

    /// Starts reading the section ahead. No effect unless the file is memory-mapped.
    pub fn advise_needed(&self) {
        self.bytes.advise_needed(self.range.clone());
    }

    /// Removes the section from the resident memory of the process; the next access reads it from
    /// the file again, or from the page cache of the system. The bytes are the same as long as the
    /// file is not modified while it is mapped, which is the contract of [`IndexBytes::from_file`].
    /// No effect unless the file is memory-mapped.
    pub fn release(&self) {
        #[cfg(feature = "mmap")]
        if let ByteStorage::Mapped(map) = &self.bytes.0 {
            map.release(self.range.clone());
        }
    }
}

/// All bytes, as one section.
impl From<IndexBytes> for SectionBytes {
    fn from(bytes: IndexBytes) -> Self {
        let range = 0..bytes.as_ref().len();
        Self { bytes, range }
    }
}

impl AsRef<[u8]> for SectionBytes {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        let bytes = self.bytes.as_ref();
        bytes.get(self.range.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_the_same_bytes_after_a_release() -> Result<(), Box<dyn std::error::Error>> {
        let path = std::env::temp_dir().join(format!("ir-core-bytes-{}", std::process::id()));
        let content: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
        std::fs::write(&path, &content)?;
        let file = File::open(&path)?;
        // The position of the file has no effect.
        io::Read::read_exact(&mut &file, &mut [0; 7])?;
        let bytes = IndexBytes::from_file(&file)?;
        std::fs::remove_file(&path)?;
        assert_eq!(bytes.as_ref(), content);
        for range in [0..100_000, 0..1, 4095..4097, 99_999..100_000, 50..50] {
            let section = bytes.range(range.clone());
            section.advise_needed();
            assert_eq!(section.as_ref(), &content[range.clone()]);
            section.release();
            assert_eq!(section.as_ref(), &content[range]);
        }
        for range in [0..100_001, 100_001..100_002, usize::MAX - 1..usize::MAX] {
            let section = bytes.range(range);
            section.release();
            assert!(section.as_ref().is_empty());
        }
        assert_eq!(bytes.as_ref(), content);
        Ok(())
    }
}
