//! Finding and checking the sections of an index file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{Bytes, CLOSING, HEAD, MAGIC, Part, TAIL, VERSION, section};
use crate::OpenError;
use crate::codec::Input;

/// How much is checked when an index is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verify {
    /// Every byte. Reads the whole file once, at some gigabytes a second when it is cached.
    #[default]
    Everything,
    /// Everything but the two large sections, the postings and the stored documents, so that opening does not
    /// depend on their size. Damage in them shows as an error of the search that meets it, or as wrong hits, never
    /// as a panic. [`Index::verify`](crate::Index::verify) makes up for it.
    Tables,
}

/// The sections of a file.
#[derive(Debug, Clone)]
pub(crate) struct Sections {
    pub(crate) path: PathBuf,
    bytes: Bytes,
    table: Vec<Section>,
}

#[derive(Debug, Clone)]
struct Section {
    name: String,
    range: Range<usize>,
    checksum: u32,
}

impl Sections {
    /// Reads head, tail and table, and checks as much as is asked for.
    pub(crate) fn open(bytes: Bytes, path: &Path, verify: Verify) -> Result<Self, OpenError> {
        let path = path.to_owned();
        let table = match Self::table(bytes.as_ref()) {
            Ok(table) => table,
            Err(wrong) => return Err(wrong.at(path, bytes.as_ref())),
        };
        let sections = Self { path, bytes, table };
        sections.verify(|name| {
            verify == Verify::Everything || (name != section::POSTINGS && name != section::STORED)
        })?;
        Ok(sections)
    }

    fn table(bytes: &[u8]) -> Result<Vec<Section>, Wrong> {
        let head = bytes.get(..HEAD).ok_or(Wrong::Beginning)?;
        let mut input = Input::new(head);
        if input.take(MAGIC.len()) != Some(&MAGIC) {
            return Err(Wrong::Beginning);
        }
        let version = input.u32().ok_or(Wrong::Beginning)?;
        let expected = input.u32().ok_or(Wrong::Beginning)?;
        let found = crc32fast::hash(&head[..HEAD - 4]);
        if expected != found {
            return Err(Wrong::Checksum("head", expected, found));
        }
        if version == 0 {
            return Err(Wrong::Malformed("head", "a format version from 1"));
        }
        if version > VERSION {
            return Err(Wrong::Newer(version));
        }
        let end = bytes.len().checked_sub(TAIL).ok_or(Wrong::End)?;
        let mut input = Input::new(&bytes[end..]);
        let start = input.u64().and_then(|n| usize::try_from(n).ok());
        let (start, length, expected) = match (start, input.u32(), input.u32()) {
            (Some(start), Some(length), Some(expected)) => (start, length as usize, expected),
            _ => return Err(Wrong::End),
        };
        if input.rest() != CLOSING {
            return Err(Wrong::End);
        }
        const TABLE: Wrong = Wrong::Malformed("table", "the sections of the file");
        if start < HEAD || start.checked_add(length) != Some(end) {
            return Err(TABLE);
        }
        let found = crc32fast::hash(&bytes[start..end + 12]);
        if expected != found {
            return Err(Wrong::Checksum("table", expected, found));
        }
        let sections = Self::rows(&bytes[start..end]).ok_or(TABLE)?;
        if sections.last().map_or(HEAD, |last| last.range.end) != start {
            return Err(TABLE);
        }
        Ok(sections)
    }

    fn rows(table: &[u8]) -> Option<Vec<Section>> {
        let mut input = Input::new(table);
        let mut at = HEAD;
        let mut sections = Vec::new();
        for _ in 0..input.u32()? {
            let n = usize::from(input.u8()?);
            let name = std::str::from_utf8(input.take(n)?).ok()?.to_owned();
            let end = at.checked_add(usize::try_from(input.u64()?).ok()?)?;
            let checksum = input.u32()?;
            sections.push(Section {
                name,
                range: at..end,
                checksum,
            });
            at = end;
        }
        input.is_empty().then_some(sections)
    }

    /// Compares the checksums of the sections that are chosen.
    pub(crate) fn verify(&self, choose: impl Fn(&str) -> bool) -> Result<(), OpenError> {
        for section in self.table.iter().filter(|section| choose(&section.name)) {
            let bytes = self.bytes.as_ref().get(section.range.clone());
            let found = crc32fast::hash(bytes.unwrap_or_default());
            if found != section.checksum {
                return Err(OpenError::Checksum {
                    path: self.path.clone(),
                    section: section.name.clone(),
                    expected: section.checksum,
                    found,
                });
            }
        }
        Ok(())
    }

    /// A section; empty when the file has none of this name.
    pub(crate) fn part(&self, name: &str) -> Part {
        let found = self.table.iter().find(|section| section.name == name);
        let range = found.map_or(0..0, |section| section.range.clone());
        Part::new(self.bytes.clone(), range)
    }

    /// Names and sizes in bytes, in the order of the file.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (&str, usize)> {
        self.table
            .iter()
            .map(|section| (section.name.as_str(), section.range.len()))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    pub(crate) fn malformed(&self, section: &str, expected: &'static str) -> OpenError {
        OpenError::Malformed {
            path: self.path.clone(),
            section: section.to_owned(),
            expected,
        }
    }
}

/// An [`OpenError`] before it knows its file.
enum Wrong {
    Beginning,
    End,
    Newer(u32),
    Checksum(&'static str, u32, u32),
    Malformed(&'static str, &'static str),
}

impl Wrong {
    fn at(self, path: PathBuf, bytes: &[u8]) -> OpenError {
        match self {
            // A file that is no more than the beginning of an index was cut.
            Self::Beginning
                if !bytes.is_empty() && MAGIC.starts_with(&bytes[..bytes.len().min(8)]) =>
            {
                OpenError::CutShort {
                    path,
                    found: bytes.len() as u64,
                }
            }
            Self::Beginning => OpenError::NotAnIndex {
                path,
                expected: String::from_utf8_lossy(&MAGIC).into_owned(),
                found: String::from_utf8_lossy(&bytes[..bytes.len().min(MAGIC.len())]).into_owned(),
            },
            Self::End => OpenError::CutShort {
                path,
                found: bytes.len() as u64,
            },
            Self::Newer(found) => OpenError::NewerVersion {
                path,
                expected: VERSION,
                found,
            },
            Self::Checksum(section, expected, found) => OpenError::Checksum {
                path,
                section: section.to_owned(),
                expected,
                found,
            },
            Self::Malformed(section, expected) => OpenError::Malformed {
                path,
                section: section.to_owned(),
                expected,
            },
        }
    }
}
