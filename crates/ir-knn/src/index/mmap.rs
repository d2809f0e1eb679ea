//! Mapping a file into memory.

use std::fs::File;
use std::io;
use std::ops::Range;

/// A file in memory, read-only.
#[derive(Debug)]
pub(super) struct Map(memmap2::Mmap);

impl Map {
    pub(super) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the map is read-only and lives as long as this value. What remains is that the file
        // must not be changed or cut while it is mapped, which no program can enforce portably. This
        // crate never writes to a file in place: it writes a new one and renames it over the old name,
        // and the old file stays as it was for those who have mapped it. Whoever edits an index file in
        // place under a running program breaks the contract of `FlatIndex::open`, which says so. Only
        // `&[u8]` is handed out, and every bit pattern is a valid number, so such a change would show
        // as wrong values or a bus error, not as a wild read of this crate's making.
        let map = unsafe { memmap2::Mmap::map(file)? };
        Ok(Self(map))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Says that these bytes are read here and there: what lies around them need not be read along.
    pub(super) fn scattered(&self, bytes: Range<usize>) {
        // What the system does not do is no error: it reads more then.
        #[cfg(unix)]
        let _ = (self.0).advise_range(memmap2::Advice::Random, bytes.start, bytes.len());
        #[cfg(not(unix))]
        let _ = bytes;
    }

    /// Says that these bytes are all read next.
    pub(super) fn needed(&self, bytes: Range<usize>) {
        #[cfg(unix)]
        let _ = (self.0).advise_range(memmap2::Advice::WillNeed, bytes.start, bytes.len());
        #[cfg(not(unix))]
        let _ = bytes;
    }
}
