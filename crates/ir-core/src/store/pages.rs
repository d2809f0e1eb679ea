//! Checksums of the pages of a large section, verified when a page is first read.
//!
//! A checksum per posting list would read long lists whole, of which pruning skips most blocks. A
//! CRC-32 per 16 KiB costs 0.02 % of the size, and a bit per page records that it was verified:
//! damage is an error of the search, never another ranking. Vector files have no pages: their first
//! search verifies the file, because a graph search reads hundreds of scattered vectors, each of
//! which would need a check.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crc32fast::Hasher;

use super::{OpenIndexError, SectionBytes};

/// Bytes per page. Its checksum takes four.
const PAGE: usize = 16 << 10;

/// The name of the section with the checksums of the pages of `section`.
pub(super) fn checksums_name(section: &str) -> String {
    format!("{section}-pages")
}

/// Computes the checksums of the pages of a section while it is written.
#[derive(Debug, Default)]
pub(super) struct PageHasher {
    page: Hasher,
    page_len: usize,
    checksums: Vec<u8>,
}

impl PageHasher {
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (head, rest) = bytes.split_at(bytes.len().min(PAGE - self.page_len));
            self.page.update(head);
            self.page_len += head.len();
            if self.page_len == PAGE {
                self.end_page();
            }
            bytes = rest;
        }
    }

    fn end_page(&mut self) {
        let checksum = std::mem::take(&mut self.page).finalize();
        self.checksums.extend(checksum.to_le_bytes());
        self.page_len = 0;
    }

    /// The checksums, four bytes each. The last page may be shorter.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.page_len > 0 {
            self.end_page();
        }
        self.checksums
    }
}

/// A section with a checksum for every 16 KiB page
/// ([`IndexFileWriter::begin_paged`](super::IndexFileWriter::begin_paged)).
///
/// Unless the whole section was verified when the file was opened, a page is verified when it is
/// first read. Cheap to clone; clones share the set of verified pages.
///
/// ```
/// use std::io::Write;
/// use ir_core::store::{IndexFile, IndexFileWriter, IndexFormat, Verify};
/// static FORMAT: IndexFormat = IndexFormat {
///     magic: *b"example\n",
///     version: 1,
///     name: "an example index",
///     large_sections: &["postings"],
/// };
/// let path = std::env::temp_dir().join(format!("ir-core-pages-{}", std::process::id()));
/// let mut writer = IndexFileWriter::new(&FORMAT, Vec::new())?;
/// writer.begin_paged("postings")?;
/// writer.write_all(b"0123456789")?;
/// let mut bytes = writer.finish()?;
/// let at = bytes.windows(3).position(|window| window == b"012").ok_or("no postings")?;
/// bytes[at] ^= 1;
/// std::fs::write(&path, bytes)?;
/// let file = IndexFile::open(&FORMAT, &path, Verify::SmallSections)?;
/// assert!(file.paged_section("postings")?.get(4..6).is_err());
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct PagedSection {
    path: PathBuf,
    name: String,
    bytes: SectionBytes,
    /// [`None`] if the section was verified when the file was opened.
    unverified: Option<Arc<PageChecksums>>,
}

#[derive(Debug)]
struct PageChecksums {
    expected: Vec<u32>,
    /// A bit for every page.
    verified: Vec<AtomicU64>,
}

impl PagedSection {
    /// `checksums` has four bytes for every page; [`None`] for any other length.
    pub(super) fn new(
        path: PathBuf,
        name: &str,
        bytes: SectionBytes,
        checksums: &[u8],
        is_verified: bool,
    ) -> Option<Self> {
        let pages = bytes.as_ref().len().div_ceil(PAGE);
        (checksums.len() == pages.checked_mul(4)?).then_some(())?;
        let unverified = || {
            let checksums = checksums
                .chunks_exact(4)
                .filter_map(|four| four.try_into().ok());
            Arc::new(PageChecksums {
                expected: checksums.map(u32::from_le_bytes).collect(),
                verified: (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            })
        };
        Some(Self {
            path,
            name: name.to_owned(),
            bytes,
            unverified: (!is_verified).then(unverified),
        })
    }

    /// The length of the section in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.as_ref().len()
    }

    /// Returns whether the section has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of a range. Verifies its pages that were not verified before.
    ///
    /// # Errors
    /// [`OpenIndexError::Checksum`] if a page is damaged, [`OpenIndexError::Malformed`] if the
    /// range is not within the section.
    #[inline]
    pub fn get(&self, range: Range<usize>) -> Result<&[u8], OpenIndexError> {
        let pages = range.start / PAGE..range.end.div_ceil(PAGE);
        let Some(bytes) = self.bytes.as_ref().get(range) else {
            return Err(self.malformed("the bytes that other sections refer to"));
        };
        if let Some(checksums) = self.unverified.as_deref() {
            for page in pages {
                if !checksums.is_verified(page) {
                    self.verify(checksums, page)?;
                }
            }
        }
        Ok(bytes)
    }

    #[cold]
    fn verify(&self, checksums: &PageChecksums, page: usize) -> Result<(), OpenIndexError> {
        let bytes = self.bytes.as_ref();
        let end = bytes.len().min((page + 1) * PAGE);
        let found = crc32fast::hash(bytes.get(page * PAGE..end).unwrap_or_default());
        match checksums.expected.get(page) {
            Some(&expected) if expected != found => Err(OpenIndexError::Checksum {
                path: self.path.clone(),
                section: self.name.clone(),
                expected,
                found,
            }),
            _ => {
                checksums.set_verified(page);
                Ok(())
            }
        }
    }

    /// The error for a section that does not contain the `expected` content.
    #[must_use]
    pub fn malformed(&self, expected: &'static str) -> OpenIndexError {
        OpenIndexError::Malformed {
            path: self.path.clone(),
            section: self.name.clone(),
            expected,
        }
    }
}

/// Relaxed: a bit publishes no other memory, and at worst two threads verify the same page.
impl PageChecksums {
    #[inline]
    fn is_verified(&self, page: usize) -> bool {
        let word = self.verified.get(page / 64);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (page % 64) & 1 == 1)
    }

    fn set_verified(&self, page: usize) {
        if let Some(word) = self.verified.get(page / 64) {
            word.fetch_or(1 << (page % 64), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{IndexFile, IndexFileWriter, IndexFormat, Verify};
    use std::io::Write;

    static FORMAT: IndexFormat = IndexFormat {
        magic: *b"ir-page\n",
        version: 1,
        name: "a test index",
        large_sections: &["large"],
    };

    /// Writes one section in pieces of `step` bytes.
    fn write(content: &[u8], step: usize) -> Vec<u8> {
        let mut writer = IndexFileWriter::new(&FORMAT, Vec::new()).unwrap();
        writer.begin_paged("large").unwrap();
        for piece in content.chunks(step) {
            writer.write_all(piece).unwrap();
        }
        writer.section("small", b"{}").unwrap();
        writer.finish().unwrap()
    }

    fn open(bytes: &[u8], verify: Verify) -> PagedSection {
        let file = IndexFile::from_bytes(&FORMAT, bytes.to_vec(), verify).unwrap();
        file.paged_section("large").unwrap()
    }

    #[test]
    fn content_does_not_depend_on_the_pieces_written() {
        for len in [0, 1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE, 70 * PAGE + 5] {
            let content: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
            let file = write(&content, PAGE);
            assert_eq!(file, write(&content, 1000));
            for verify in [Verify::AllSections, Verify::SmallSections] {
                let section = open(&file, verify);
                assert_eq!((section.len(), section.is_empty()), (len, len == 0));
                assert_eq!(section.get(0..len).unwrap(), content);
                assert_eq!(
                    section.get(len / 3..len / 2).unwrap(),
                    &content[len / 3..len / 2]
                );
                assert!(section.get(0..len + 1).unwrap_err().is_damage());
                assert!(section.get(len + 1..len + 1).unwrap_err().is_damage());
            }
        }
    }

    #[test]
    fn a_damaged_page_is_an_error_whenever_it_is_read_and_other_pages_are_not() {
        let content = vec![7; 4 * PAGE + 9];
        let mut file = write(&content, PAGE);
        let start = file
            .windows(64)
            .position(|window| window == [7; 64])
            .unwrap();
        file[start + 2 * PAGE] ^= 0x10;
        let section = open(&file, Verify::SmallSections);
        let clone = section.clone();
        for section in [&section, &clone, &section] {
            for good in [0..2 * PAGE, 3 * PAGE..content.len(), 5..6] {
                assert_eq!(section.get(good.clone()).unwrap(), &content[good]);
            }
            for bad in [
                2 * PAGE..2 * PAGE + 1,
                3 * PAGE - 1..3 * PAGE,
                0..content.len(),
            ] {
                match section.get(bad).unwrap_err() {
                    OpenIndexError::Checksum {
                        path,
                        section,
                        expected,
                        found,
                    } => {
                        assert_eq!((path, &*section), ("(memory)".into(), "large"));
                        assert_eq!(expected, crc32fast::hash(&[7; PAGE]));
                        assert_ne!(expected, found);
                    }
                    error => panic!("{error}"),
                }
            }
        }
    }
}
