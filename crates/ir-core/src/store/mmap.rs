//! Memory mapping of files; unsafe code of the feature `mmap`.

use std::fs::File;
use std::io;
use std::ops::Range;

/// A read-only memory-mapped file.
#[derive(Debug)]
pub(super) struct MappedFile(memmap2::Mmap);

impl MappedFile {
    pub(super) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the map is read-only and lives as long as this value. The remaining condition is
        // that nobody changes or truncates the file while it is mapped, which no program can
        // enforce portably. This workspace never writes to an index in place: it writes a new file
        // and renames it over the old name, which leaves mapped files intact. Whoever edits an
        // index file in place under a running program breaks the documented contract of `open`.
        // Only `&[u8]` is handed out, and decoders check bounds, so such a change shows as wrong
        // values or a bus error, not as an out-of-bounds read.
        let map = unsafe { memmap2::Mmap::map(file)? };
        Ok(Self(map))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Disables read-ahead for a range that is accessed randomly.
    pub(super) fn advise_random(&self, range: Range<usize>) {
        // Advice is optional: an error only means more read-ahead.
        #[cfg(unix)]
        let _ = (self.0).advise_range(memmap2::Advice::Random, range.start, range.len());
        #[cfg(not(unix))]
        let _ = range;
    }

    /// Removes the pages of a range from the resident memory of the process.
    pub(super) fn release(&self, range: Range<usize>) {
        if self.0.get(range.clone()).is_none() {
            return;
        }
        // SAFETY: the range is in the map, which is read-only and backed by a file. Precondition:
        // the file is not modified while it is mapped, as for `new`. Then the next access to a page
        // that was removed reads the same bytes from the file again.
        #[cfg(unix)]
        let _ = unsafe {
            let advice = memmap2::UncheckedAdvice::DontNeed;
            (self.0).unchecked_advise_range(advice, range.start, range.len())
        };
    }

    /// Starts reading a range ahead.
    pub(super) fn advise_needed(&self, range: Range<usize>) {
        #[cfg(unix)]
        let _ = (self.0).advise_range(memmap2::Advice::WillNeed, range.start, range.len());
        #[cfg(not(unix))]
        let _ = range;
    }
}
