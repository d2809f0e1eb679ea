//! Mapping a file into memory.

use std::fs::File;
use std::io;

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
}
