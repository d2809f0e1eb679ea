//! Opening an index file and verifying its checksums.

use std::error::Error;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::pages::checksums_name;
use super::{ByteReader, IndexBytes, OpenIndexError, PagedSection, SectionBytes};

/// Sections start at multiples of this, which is the size of a cache line.
pub(super) const ALIGNMENT: usize = 64;
/// The length of the header in bytes.
pub const HEADER_LEN: usize = ALIGNMENT;
/// The last bytes of a file.
pub(super) const END_MARKER: [u8; 8] = *b"\nir-end\n";
const FOOTER_LEN: usize = 24;
/// Sections of more bytes are removed from the resident memory while they are verified.
const RELEASED_FROM: usize = 64 << 20;

/// Read-ahead in bytes while checksums are verified.
const READ_AHEAD: usize = 8 << 20;

/// The file format of one kind of index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexFormat {
    /// The first bytes of a file.
    pub magic: [u8; 8],
    /// Format version. Files of any other version are rejected.
    pub version: u32,
    /// Name for error messages, with its article: "a BM25 index".
    pub name: &'static str,
    /// The sections that only [`Verify::AllSections`] verifies when a file is opened.
    pub large_sections: &'static [&'static str],
}

impl IndexFormat {
    /// The header of a file.
    #[must_use]
    pub fn header(&self) -> [u8; HEADER_LEN] {
        let mut header = [0; HEADER_LEN];
        header[..8].copy_from_slice(&self.magic);
        header[8..12].copy_from_slice(&self.version.to_le_bytes());
        let checksum = crc32fast::hash(&header[..12]);
        header[12..16].copy_from_slice(&checksum.to_le_bytes());
        header
    }
}

/// When the checksums of an index are verified. The `verify` method of an index always verifies all
/// sections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verify {
    /// All sections when the index is opened. Reads the whole file once.
    AllSections,
    /// Large sections (postings and stored documents; vectors and graphs) on first use, so that the
    /// time to open an index does not depend on their size; the others when it is opened. Pages of
    /// postings and stored documents are verified when they are first read ([`PagedSection`]),
    /// vectors and graphs in the first search, which reads the whole file once; concurrent searches
    /// wait for it. Damage is an error of the search, and of every later one.
    #[default]
    FirstUse,
    /// Like [`Verify::FirstUse`], but searches do not verify vectors and graphs. Damage there shows
    /// as a search error or as wrong hits, never as a panic.
    SmallSections,
}

/// An open index file: a container of named sections.
#[derive(Debug, Clone)]
pub struct IndexFile {
    path: Option<PathBuf>,
    bytes: IndexBytes,
    sections: Vec<Section>,
    /// Result of the verification of all sections; empty if [`IndexFile::verify_on_first_use`] must
    /// verify the file. Clones share it.
    verified: Arc<OnceLock<Result<(), ChecksumMismatch>>>,
}

#[derive(Debug, Clone)]
struct Section {
    name: String,
    /// Byte range of the content, without padding.
    range: Range<usize>,
    checksum: u32,
    /// `true` if the checksum was verified when the file was opened.
    is_verified: bool,
}

/// Difference of a checksum: the bytes of a section have changed since the file was written.
#[derive(Debug, Clone)]
struct ChecksumMismatch {
    section: String,
    expected: u32,
    found: u32,
}

impl ChecksumMismatch {
    /// Compares the checksums of a section.
    fn check(section: &str, expected: u32, found: u32) -> Result<(), Self> {
        if expected == found {
            return Ok(());
        }
        Err(Self {
            section: section.to_owned(),
            expected,
            found,
        })
    }
}

impl Section {
    /// The content and its padding.
    fn padded(&self) -> Range<usize> {
        self.range.start..self.range.end.next_multiple_of(ALIGNMENT)
    }
}

impl IndexFile {
    /// Opens a file and verifies its checksums. The file must not be changed in place while it is
    /// open; replacing it by another ([`AtomicFile`](super::AtomicFile)) is safe.
    ///
    /// # Errors
    /// [`OpenIndexError`] names the file, what was expected and what was found.
    pub fn open(format: &IndexFormat, path: &Path, verify: Verify) -> Result<Self, OpenIndexError> {
        let bytes = IndexBytes::open(path)?;
        Self::new(format, bytes, Some(path.to_owned()), verify)
    }

    /// Opens an index in memory. Errors name it `(memory)`.
    ///
    /// # Errors
    /// Returns the errors of [`IndexFile::open`].
    pub fn from_bytes(
        format: &IndexFormat,
        bytes: impl Into<IndexBytes>,
        verify: Verify,
    ) -> Result<Self, OpenIndexError> {
        Self::new(format, bytes.into(), None, verify)
    }

    fn new(
        format: &IndexFormat,
        bytes: IndexBytes,
        path: Option<PathBuf>,
        verify: Verify,
    ) -> Result<Self, OpenIndexError> {
        let mut file = Self {
            path,
            bytes,
            sections: Vec::new(),
            verified: Arc::default(),
        };
        if verify != Verify::FirstUse {
            file.verified.get_or_init(|| Ok(()));
        }
        file.check_header(format)?;
        file.sections = file.read_table()?;
        for section in &mut file.sections {
            let is_large = format.large_sections.contains(&&*section.name);
            section.is_verified = verify == Verify::AllSections || !is_large;
        }
        let verified = file.verify_sections(|section| section.is_verified);
        verified.map_err(|mismatch| file.damaged(mismatch))?;
        Ok(file)
    }

    fn check_header(&self, format: &IndexFormat) -> Result<(), OpenIndexError> {
        let bytes = self.as_bytes();
        let start = &bytes[..bytes.len().min(format.magic.len())];
        if bytes.len() < HEADER_LEN && !bytes.is_empty() && format.magic.starts_with(start) {
            return Err(self.truncated());
        }
        if start != format.magic {
            return Err(OpenIndexError::NotAnIndex {
                path: self.error_path(),
                name: format.name,
                expected: String::from_utf8_lossy(&format.magic).into_owned(),
                found: String::from_utf8_lossy(start).into_owned(),
            });
        }
        let mut reader = ByteReader::new(bytes);
        let checked = reader.take(12).unwrap_or_default();
        let expected = reader.u32().unwrap_or_default();
        self.compare("header", expected, crc32fast::hash(checked))?;
        let version = ByteReader::new(&checked[8..]).u32().unwrap_or_default();
        if version != format.version {
            return Err(OpenIndexError::Version {
                path: self.error_path(),
                expected: format.version,
                found: version,
            });
        }
        if bytes[..HEADER_LEN] != format.header() {
            return Err(self.malformed("header", "zeros after its checksum"));
        }
        Ok(())
    }

    fn read_table(&self) -> Result<Vec<Section>, OpenIndexError> {
        let bytes = self.as_bytes();
        let end = bytes
            .len()
            .checked_sub(FOOTER_LEN)
            .filter(|&end| end >= HEADER_LEN && bytes.ends_with(&END_MARKER))
            .ok_or_else(|| self.truncated())?;
        let mut footer = ByteReader::new(&bytes[end..]);
        let start = footer.u64().and_then(|start| usize::try_from(start).ok());
        let length = footer.u32().unwrap_or_default() as usize;
        let expected = footer.u32().unwrap_or_default();
        let start = start
            .filter(|start| *start >= HEADER_LEN && start.checked_add(length) == Some(end))
            .ok_or_else(|| self.malformed("footer", "the offset of the section table"))?;
        self.compare("table", expected, crc32fast::hash(&bytes[start..end + 12]))?;
        parse_table(&bytes[start..end])
            .filter(|sections| sections.last().map_or(HEADER_LEN, |s| s.padded().end) == start)
            .ok_or_else(|| self.malformed("table", "the sections of the file"))
    }

    /// Verifies the checksums of all sections. Reads the whole file in every call. Later calls of
    /// [`IndexFile::verify_on_first_use`] return the result without reading.
    ///
    /// # Errors
    /// [`OpenIndexError::Checksum`] names the first damaged section.
    pub fn verify(&self) -> Result<(), OpenIndexError> {
        let found = self.verify_sections(|_| true);
        self.verified.get_or_init(|| found.clone());
        found.map_err(|mismatch| self.damaged(mismatch))
    }

    /// Verifies the sections that were not verified when the file was opened with
    /// [`Verify::FirstUse`]. The first call reads them, concurrent calls wait for it, and later
    /// calls return the same result without reading; a file that is replaced must be opened again.
    /// Does nothing for the other values of [`Verify`]. For formats with large sections that are
    /// not paged ([`IndexFile::paged_section`]).
    ///
    /// # Errors
    /// Returns [`OpenIndexError::Checksum`] if a section is damaged.
    #[inline]
    pub fn verify_on_first_use(&self) -> Result<(), OpenIndexError> {
        match self.verified.get() {
            Some(Ok(())) => Ok(()),
            _ => self.verify_once(|| self.verify_sections(|section| !section.is_verified)),
        }
    }

    /// First result of `verify`, which must not wait for other threads: they may be waiting for
    /// this result.
    #[cold]
    fn verify_once(
        &self,
        verify: impl FnOnce() -> Result<(), ChecksumMismatch>,
    ) -> Result<(), OpenIndexError> {
        let verified = self.verified.get_or_init(verify);
        verified.clone().map_err(|mismatch| self.damaged(mismatch))
    }

    fn verify_sections(&self, selects: impl Fn(&Section) -> bool) -> Result<(), ChecksumMismatch> {
        for section in self.sections.iter().filter(|section| selects(section)) {
            let range = section.padded();
            let mut checksum = crc32fast::Hasher::new();
            for start in range.clone().step_by(READ_AHEAD) {
                let block = start..range.end.min(start + READ_AHEAD);
                self.bytes.advise_needed(block.clone());
                checksum.update(&self.as_bytes()[block.clone()]);
                if range.len() > RELEASED_FROM {
                    self.bytes.range(block).release();
                }
            }
            ChecksumMismatch::check(&section.name, section.checksum, checksum.finalize())?;
        }
        Ok(())
    }

    fn compare(&self, section: &str, expected: u32, found: u32) -> Result<(), OpenIndexError> {
        ChecksumMismatch::check(section, expected, found).map_err(|mismatch| self.damaged(mismatch))
    }

    fn damaged(&self, mismatch: ChecksumMismatch) -> OpenIndexError {
        let ChecksumMismatch {
            section,
            expected,
            found,
        } = mismatch;
        OpenIndexError::Checksum {
            path: self.error_path(),
            section,
            expected,
            found,
        }
    }

    /// The section with this name, if the file has one.
    #[must_use]
    pub fn section(&self, name: &str) -> Option<SectionBytes> {
        let section = self.sections.iter().find(|section| section.name == name)?;
        Some(SectionBytes::new(self.bytes.clone(), section.range.clone()))
    }

    /// The section with this name, which must be `length` bytes long. `length` is [`None`] when
    /// its computation overflowed, which no section matches.
    ///
    /// # Errors
    /// [`OpenIndexError::Malformed`] with the `expected` content.
    pub fn section_with_len(
        &self,
        name: &str,
        length: Option<usize>,
        expected: &'static str,
    ) -> Result<SectionBytes, OpenIndexError> {
        self.section(name)
            .filter(|section| Some(section.as_ref().len()) == length)
            .ok_or_else(|| self.malformed(name, expected))
    }

    /// The section with this name, which was written with
    /// [`IndexFileWriter::begin_paged`](super::IndexFileWriter::begin_paged); empty if the file has
    /// none.
    ///
    /// # Errors
    /// [`OpenIndexError::Malformed`] if its pages have no checksums.
    pub fn paged_section(&self, name: &str) -> Result<PagedSection, OpenIndexError> {
        let bytes = self.section(name).unwrap_or_default();
        let checksums_name = checksums_name(name);
        let checksums = self.section(&checksums_name).unwrap_or_default();
        let mut sections = self.sections.iter();
        let is_verified = sections.any(|section| section.name == name && section.is_verified);
        PagedSection::new(
            self.error_path(),
            name,
            bytes,
            checksums.as_ref(),
            is_verified,
        )
        .ok_or_else(|| self.malformed(&checksums_name, "a checksum for every page"))
    }

    /// The names of the sections and their lengths in bytes without padding, in file order.
    pub fn sections(&self) -> impl Iterator<Item = (&str, usize)> {
        let sections = self.sections.iter();
        sections.map(|section| (section.name.as_str(), section.range.len()))
    }

    /// Checksum of the section table and its position. The table contains the checksums of all
    /// sections, so that this number identifies the content of a file.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        let bytes = self.as_bytes();
        let at = bytes.len().saturating_sub(END_MARKER.len() + 4);
        let checksum = ByteReader::new(bytes.get(at..).unwrap_or_default()).u32();
        checksum.unwrap_or_default()
    }

    /// All bytes of the file.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// The path of the file; [`None`] for bytes in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The path for error messages.
    fn error_path(&self) -> PathBuf {
        let path = self.path.clone();
        path.unwrap_or_else(|| PathBuf::from("(memory)"))
    }

    fn truncated(&self) -> OpenIndexError {
        OpenIndexError::Truncated {
            path: self.error_path(),
            found: self.as_bytes().len() as u64,
        }
    }

    /// The error for a section that does not contain the `expected` content.
    #[must_use]
    pub fn malformed(&self, section: &str, expected: &'static str) -> OpenIndexError {
        OpenIndexError::Malformed {
            path: self.error_path(),
            section: section.to_owned(),
            expected,
        }
    }

    /// The error for metadata that cannot be parsed.
    #[must_use]
    pub fn metadata_error(
        &self,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> OpenIndexError {
        OpenIndexError::Metadata {
            path: self.error_path(),
            source: source.into(),
        }
    }
}

fn parse_table(table: &[u8]) -> Option<Vec<Section>> {
    let mut reader = ByteReader::new(table);
    let mut start = HEADER_LEN;
    let mut sections = Vec::new();
    for _ in 0..reader.u32()? {
        let length = usize::from(reader.u8()?);
        let name = std::str::from_utf8(reader.take(length)?).ok()?.to_owned();
        let end = start.checked_add(usize::try_from(reader.u64()?).ok()?)?;
        let next = end.checked_next_multiple_of(ALIGNMENT)?;
        let checksum = reader.u32()?;
        sections.push(Section {
            name,
            range: start..end,
            checksum,
            is_verified: false,
        });
        start = next;
    }
    reader.is_empty().then_some(sections)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::store::IndexFileWriter;

    static FORMAT: IndexFormat = IndexFormat {
        magic: *b"ir-once\n",
        version: 1,
        name: "a test index",
        large_sections: &["large"],
    };
    /// Offset of the section `large`.
    const LARGE: usize = HEADER_LEN;

    fn bytes() -> Vec<u8> {
        let mut writer = IndexFileWriter::new(&FORMAT, Vec::new()).unwrap();
        writer.section("large", &[7; 5000]).unwrap();
        writer.section("small", b"{}").unwrap();
        writer.finish().unwrap()
    }

    fn damaged() -> Vec<u8> {
        let mut bytes = bytes();
        bytes[LARGE + 4000] ^= 0x10;
        bytes
    }

    fn open(bytes: Vec<u8>, verify: Verify) -> IndexFile {
        IndexFile::from_bytes(&FORMAT, bytes, verify).unwrap()
    }

    fn is_mismatch(result: Result<(), OpenIndexError>) -> bool {
        matches!(result, Err(OpenIndexError::Checksum { section, .. }) if section == "large")
    }

    #[test]
    fn damage_of_large_sections_is_an_error_as_the_option_says() {
        let opened = IndexFile::from_bytes(&FORMAT, damaged(), Verify::AllSections);
        assert!(is_mismatch(opened.map(drop)));
        let file = open(damaged(), Verify::FirstUse);
        for file in [&file, &file.clone(), &file] {
            assert!(is_mismatch(file.verify_on_first_use()));
            assert!(is_mismatch(file.verify()));
        }
        let file = open(damaged(), Verify::SmallSections);
        assert!(is_mismatch(file.verify()));
        file.verify_on_first_use().unwrap();
        for verify in [Verify::AllSections, Verify::FirstUse, Verify::SmallSections] {
            let file = open(bytes(), verify);
            file.verify_on_first_use().unwrap();
            file.verify().unwrap();
        }
    }

    #[test]
    fn concurrent_first_uses_verify_once() {
        for result in [Ok(()), ChecksumMismatch::check("large", 1, 2)] {
            let file = open(bytes(), Verify::FirstUse);
            let (calls, start) = (AtomicUsize::new(0), Barrier::new(8));
            let verify = || {
                calls.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(20));
                result.clone()
            };
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    let (file, start, verify) = (file.clone(), &start, &verify);
                    let is_ok = result.is_ok();
                    scope.spawn(move || {
                        start.wait();
                        assert_eq!(file.verify_once(verify).is_ok(), is_ok);
                        assert_eq!(file.verify_on_first_use().is_ok(), is_ok);
                    });
                }
            });
            assert_eq!(calls.into_inner(), 1);
        }
    }

    /// A file that is modified in place shows which calls read it.
    #[cfg(feature = "mmap")]
    #[test]
    fn later_uses_do_not_read_the_file() {
        use std::fs;
        use std::io::{Seek, SeekFrom, Write};

        let path = std::env::temp_dir().join(format!("ir-core-once-{}", std::process::id()));
        let set = |value: u8| {
            let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.seek(SeekFrom::Start(LARGE as u64 + 4000)).unwrap();
            file.write_all(&[value]).unwrap();
        };
        for is_explicit in [true, false] {
            let first = |file: &IndexFile| {
                if is_explicit {
                    file.verify()
                } else {
                    file.verify_on_first_use()
                }
            };
            fs::write(&path, bytes()).unwrap();
            let file = IndexFile::open(&FORMAT, &path, Verify::FirstUse).unwrap();
            first(&file).unwrap();
            set(8);
            file.clone().verify_on_first_use().unwrap();
            assert!(is_mismatch(file.verify()));
            file.verify_on_first_use().unwrap();

            let file = IndexFile::open(&FORMAT, &path, Verify::FirstUse).unwrap();
            assert!(is_mismatch(first(&file)));
            set(7);
            assert!(is_mismatch(file.clone().verify_on_first_use()));
            file.verify().unwrap();
            assert!(is_mismatch(file.verify_on_first_use()));
            let again = IndexFile::open(&FORMAT, &path, Verify::FirstUse).unwrap();
            again.verify_on_first_use().unwrap();
        }
        fs::remove_file(&path).unwrap();
    }
}
