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
    /// Maps a file into memory, or reads it without the feature `mmap`.
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
        Self::load(File::open(path).map_err(io)?).map_err(io)
    }

    #[cfg(feature = "mmap")]
    fn load(file: File) -> io::Result<Self> {
        // Some systems cannot map an empty file.
        if file.metadata()?.len() == 0 {
            return Ok(Self::default());
        }
        Ok(Self(ByteStorage::Mapped(Arc::new(MappedFile::new(&file)?))))
    }

    #[cfg(not(feature = "mmap"))]
    fn load(mut file: File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut file, &mut bytes)?;
        Ok(Self::from(bytes))
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
