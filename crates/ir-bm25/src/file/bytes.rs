//! Where the bytes of an index are.

use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::OpenError;

/// The bytes of an index: in memory, shared or owned, or a mapped file.
#[derive(Clone)]
pub struct Bytes(Kind);

#[derive(Clone)]
enum Kind {
    Owned(Arc<Vec<u8>>),
    Shared(Arc<[u8]>),
    Static(&'static [u8]),
    #[cfg(feature = "mmap")]
    Mapped(Arc<super::mmap::Map>),
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Kind::Owned(Arc::new(bytes)))
    }
}

impl From<Arc<[u8]>> for Bytes {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self(Kind::Shared(bytes))
    }
}

impl From<&'static [u8]> for Bytes {
    fn from(bytes: &'static [u8]) -> Self {
        Self(Kind::Static(bytes))
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Kind::Owned(bytes) => bytes,
            Kind::Shared(bytes) => bytes,
            Kind::Static(bytes) => bytes,
            #[cfg(feature = "mmap")]
            Kind::Mapped(map) => map.bytes(),
        }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.as_ref().len())
    }
}

/// A part of them.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    bytes: Bytes,
    range: Range<usize>,
}

impl Part {
    pub(crate) const fn new(bytes: Bytes, range: Range<usize>) -> Self {
        Self { bytes, range }
    }
}

impl AsRef<[u8]> for Part {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.bytes
            .as_ref()
            .get(self.range.clone())
            .unwrap_or_default()
    }
}

/// Maps a file, or reads it where there is no mapping.
pub(crate) fn open_bytes(path: &Path) -> Result<Bytes, OpenError> {
    let io = |source| OpenError::Io {
        path: path.to_owned(),
        source,
    };
    if path.is_dir() {
        return Err(OpenError::Directory {
            path: path.to_owned(),
        });
    }
    let file = File::open(path).map_err(io)?;
    contents(file).map_err(io)
}

#[cfg(feature = "mmap")]
fn contents(file: File) -> std::io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        // Some systems do not map empty files.
        return Ok(Bytes::from(Vec::new()));
    }
    Ok(Bytes(Kind::Mapped(Arc::new(super::mmap::Map::new(&file)?))))
}

#[cfg(not(feature = "mmap"))]
fn contents(mut file: File) -> std::io::Result<Bytes> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(Bytes::from(bytes))
}
