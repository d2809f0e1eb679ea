//! The file of an index: a head, sections, a table of them, and a tail.
//!
//! | part | bytes | content |
//! |---|---|---|
//! | head | 64 | `ir-flat\n`, format version (4), CRC-32 of these 12, zeros |
//! | sections | | each begins at a multiple of 64, filled up with zeros |
//! | table | | JSON: what the index is; the sections with length and CRC-32, zeros included |
//! | tail | 24 | where the table begins (8), its length (4), CRC-32 of the table and these 12 (4), `\nir-end\n` |
//!
//! | section | content |
//! |---|---|
//! | `rows` | the vectors, row by row, 32-bit floats |
//! | `codes` | the same in 8 bits, in tiles of 64 rows: four dimensions of every row, then the next four |
//! | `bounds` | of every tile 4 × 64 floats: scales, errors, norms, lifts |
//! | `ids` | each after its length in four bytes |
//!
//! A [`HalfIndex`](crate::HalfIndex) begins with `ir-half\n` and has `halves`, the vectors in 16-bit
//! floats, and `ids`. A [`SparseIndex`](crate::SparseIndex) begins with `ir-sprs\n` and has these:
//!
//! | section | content |
//! |---|---|
//! | `lengths`, `columns`, `values` | how many values each vector has; their columns; they, 32-bit floats |
//! | `lists`, `places`, `weights` | the same by column: how many vectors have it; which; the values |
//! | `ids` | as above |
//!
//! An index with a graph begins with `ir-hnsw\n` and has these besides:
//!
//! | section | content |
//! |---|---|
//! | `middle` | the vector that was taken off all others, 32-bit floats |
//! | `records` | the vectors in 8 bits, one after another, in the order of the graph, each with step and lift |
//! | `links` | layer by layer, the lowest first, the neighbours of each vector, filled up with 2³² − 1 |
//! | `order` | the documents of each vector of the graph |
//! | `starts` | where those of each begin, and the end; only when some vectors are equal |
//!
//! One that is walked by the vectors as they are has no `middle`, no `records`, and no `step` in its table.
//!
//! All numbers are little-endian. Every byte is under a checksum or compared.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ir_core::DocIds;
use serde::{Deserialize, Serialize};

use super::align::LINE;
use super::mmap::Map;
use super::{OpenError, Similarity};
use crate::HnswConfig;

const CLOSING: [u8; 8] = *b"\nir-end\n";

/// What a file holds, as its head says.
#[derive(Debug)]
pub(crate) struct Kind {
    magic: [u8; 8],
    version: u32,
    /// In words, with its article.
    name: &'static str,
}

/// A [`FlatIndex`](crate::FlatIndex).
pub(crate) static FLAT: Kind = Kind {
    magic: *b"ir-flat\n",
    version: 1,
    name: "a flat index",
};
/// A [`HalfIndex`](crate::HalfIndex).
pub(crate) static HALF: Kind = Kind {
    magic: *b"ir-half\n",
    version: 1,
    name: "an index in 16 bits",
};
/// A [`SparseIndex`](crate::SparseIndex).
pub(crate) static SPARSE: Kind = Kind {
    magic: *b"ir-sprs\n",
    version: 1,
    name: "a sparse index",
};
/// An [`HnswIndex`](crate::HnswIndex).
pub(crate) static HNSW: Kind = Kind {
    magic: *b"ir-hnsw\n",
    version: 1,
    name: "an HNSW index",
};
pub(crate) const HEAD: usize = LINE;
const TAIL: usize = 24;
/// How many bytes are asked of the system ahead of checking them.
const AHEAD: usize = 8 << 20;

/// How much is checked when an index is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verify {
    /// Every byte. Reads the whole file once.
    #[default]
    Everything,
    /// Everything but the vectors, so that opening does not depend on their size. Damage in them
    /// shows as wrong hits; [`FlatIndex::verify`](crate::FlatIndex::verify) makes up for it.
    Tables,
}

/// The names of the sections.
pub(crate) mod section {
    pub(crate) const ROWS: &str = "rows";
    pub(crate) const HALVES: &str = "halves";
    pub(crate) const CODES: &str = "codes";
    pub(crate) const BOUNDS: &str = "bounds";
    pub(crate) const IDS: &str = "ids";
    pub(crate) const LENGTHS: &str = "lengths";
    pub(crate) const COLUMNS: &str = "columns";
    pub(crate) const VALUES: &str = "values";
    pub(crate) const LISTS: &str = "lists";
    pub(crate) const PLACES: &str = "places";
    pub(crate) const WEIGHTS: &str = "weights";
    pub(crate) const MIDDLE: &str = "middle";
    pub(crate) const RECORDS: &str = "records";
    pub(crate) const LINKS: &str = "links";
    pub(crate) const ORDER: &str = "order";
    pub(crate) const STARTS: &str = "starts";

    /// Those that are checked whenever a file is opened.
    pub(super) const TABLES: [&str; 4] = [IDS, MIDDLE, ORDER, STARTS];
}

/// What an index says about itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Table {
    /// The crate that wrote it and its version.
    program: String,
    pub(crate) similarity: Similarity,
    pub(crate) dim: usize,
    pub(crate) documents: usize,
    /// Of an index with a graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) graph: Option<GraphTable>,
    sections: Vec<Section>,
}

impl Table {
    fn new(similarity: Similarity, dim: usize, documents: usize) -> Self {
        Self {
            program: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).to_owned(),
            similarity,
            dim,
            documents,
            graph: None,
            sections: Vec::new(),
        }
    }
}

/// What an index says about its graph.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GraphTable {
    pub(crate) config: HnswConfig,
    /// Different vectors.
    pub(crate) nodes: usize,
    /// What a step of 1 in a record is worth. Without it there are no records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Section {
    name: String,
    bytes: u64,
    crc32: u32,
}

/// A mapped file whose head, tail and table are in order.
#[derive(Debug, Clone)]
pub(crate) struct Mapped {
    map: Arc<Map>,
    path: PathBuf,
    pub(crate) table: Table,
    ranges: Vec<Range<usize>>,
}

/// A part of a mapped file.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    map: Arc<Map>,
    range: Range<usize>,
}

impl Part {
    /// Says that few of these bytes are read, here and there.
    pub(crate) fn scattered(&self) {
        self.map.scattered(self.range.clone());
    }
}

impl AsRef<[u8]> for Part {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.map.bytes()[self.range.clone()]
    }
}

impl Mapped {
    pub(crate) fn open(kind: &Kind, path: &Path, verify: Verify) -> Result<Self, OpenError> {
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
        if file.metadata().map_err(io)?.len() == 0 {
            // Some systems do not map empty files.
            return Err(foreign(kind, path, &[]));
        }
        let map = Arc::new(Map::new(&file).map_err(io)?);
        let (table, ranges) = table(kind, path, map.bytes())?;
        let mapped = Self {
            map,
            path: path.to_owned(),
            table,
            ranges,
        };
        mapped.verify(|name| verify == Verify::Everything || section::TABLES.contains(&name))?;
        Ok(mapped)
    }

    /// A whole file of an index that must be of this similarity and of vectors of this length.
    pub(crate) fn open_as(
        kind: &Kind,
        path: &Path,
        similarity: Similarity,
        dim: usize,
    ) -> Result<Self, OpenError> {
        let file = Self::open(kind, path, Verify::Everything)?;
        let path = || path.to_owned();
        if file.table.similarity != similarity {
            return Err(OpenError::Similarity {
                path: path(),
                expected: similarity,
                found: file.table.similarity,
            });
        }
        if file.table.dim != dim {
            return Err(OpenError::Dimensions {
                path: path(),
                expected: dim,
                found: file.table.dim,
            });
        }
        Ok(file)
    }

    /// Compares the checksums of the sections that are chosen.
    pub(crate) fn verify(&self, choose: impl Fn(&str) -> bool) -> Result<(), OpenError> {
        for (section, range) in self.table.sections.iter().zip(&self.ranges) {
            if !choose(&section.name) {
                continue;
            }
            let mut found = crc32fast::Hasher::new();
            let end = filled(range.end);
            for start in (range.start..end).step_by(AHEAD) {
                let some = start..end.min(start + AHEAD);
                self.map.needed(some.clone());
                found.update(&self.map.bytes()[some]);
            }
            let found = found.finalize();
            if found != section.crc32 {
                return Err(OpenError::Checksum {
                    path: self.path.clone(),
                    section: section.name.clone(),
                    expected: section.crc32,
                    found,
                });
            }
        }
        Ok(())
    }

    /// A section of this name, when there is one.
    pub(crate) fn part(&self, name: &str) -> Option<Part> {
        let mut sections = self.table.sections.iter().zip(&self.ranges);
        let (_, range) = sections.find(|(section, _)| section.name == name)?;
        Some(Part {
            map: Arc::clone(&self.map),
            range: range.clone(),
        })
    }

    /// A section of this name and size.
    pub(crate) fn sized(
        &self,
        name: &str,
        size: Option<usize>,
        expected: &'static str,
    ) -> Result<Part, OpenError> {
        self.part(name)
            .filter(|part| Some(part.range.len()) == size)
            .ok_or_else(|| self.malformed(name, expected))
    }

    /// The section with the vectors, of so many bytes a value.
    pub(crate) fn vectors(&self, name: &str, bytes: usize) -> Result<Part, OpenError> {
        let (dim, documents) = (self.table.dim, self.table.documents);
        if dim == 0 && documents > 0 {
            return Err(self.malformed("table", "a number of dimensions"));
        }
        let size = documents.checked_mul(dim);
        let size = size.and_then(|values| values.checked_mul(bytes));
        self.sized(name, size, "a vector for every document")
    }

    /// The ids of the documents.
    pub(crate) fn ids(&self) -> Result<DocIds, OpenError> {
        let ids = self.part(section::IDS);
        ids.and_then(|ids| ids_from_bytes(ids.as_ref(), self.table.documents))
            .ok_or_else(|| self.malformed(section::IDS, "an id for every document"))
    }

    pub(crate) fn malformed(&self, section: &str, expected: &'static str) -> OpenError {
        OpenError::Malformed {
            path: self.path.clone(),
            section: section.to_owned(),
            expected,
        }
    }
}

/// Where the section after one that ends here begins.
const fn filled(end: usize) -> usize {
    end.next_multiple_of(LINE)
}

/// The error of a file that does not begin as an index does.
fn foreign(kind: &Kind, path: &Path, bytes: &[u8]) -> OpenError {
    let begins = &bytes[..bytes.len().min(kind.magic.len())];
    let path = path.to_owned();
    // No more than the beginning of an index: it was cut.
    if !bytes.is_empty() && kind.magic.starts_with(begins) {
        let found = bytes.len() as u64;
        return OpenError::CutShort { path, found };
    }
    OpenError::NotAnIndex {
        path,
        kind: kind.name,
        expected: String::from_utf8_lossy(&kind.magic).into_owned(),
        found: String::from_utf8_lossy(begins).into_owned(),
    }
}

fn number<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.get(..N)?.try_into().ok()
}

fn table(kind: &Kind, path: &Path, bytes: &[u8]) -> Result<(Table, Vec<Range<usize>>), OpenError> {
    let checksum = |section: &str, expected, found| OpenError::Checksum {
        path: path.to_owned(),
        section: section.to_owned(),
        expected,
        found,
    };
    let malformed = |section: &str, expected| OpenError::Malformed {
        path: path.to_owned(),
        section: section.to_owned(),
        expected,
    };
    let Some((head, _)) = bytes
        .split_at_checked(HEAD)
        .filter(|(head, _)| head.starts_with(&kind.magic))
    else {
        return Err(foreign(kind, path, bytes));
    };
    let version = number(&head[8..]).map_or(0, u32::from_le_bytes);
    let expected = number(&head[12..]).map_or(0, u32::from_le_bytes);
    let found = crc32fast::hash(&head[..12]);
    if expected != found {
        return Err(checksum("head", expected, found));
    }
    if version != kind.version {
        return Err(OpenError::Version {
            path: path.to_owned(),
            expected: kind.version,
            found: version,
        });
    }
    if head[16..].iter().any(|&byte| byte != 0) {
        return Err(malformed("head", "zeros after its checksum"));
    }
    let cut = || OpenError::CutShort {
        path: path.to_owned(),
        found: bytes.len() as u64,
    };
    let end = bytes.len().checked_sub(TAIL).ok_or_else(cut)?;
    let tail = &bytes[end..];
    if !tail.ends_with(&CLOSING) {
        return Err(cut());
    }
    let start = number(tail).map_or(0, u64::from_le_bytes);
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let length = number(&tail[8..]).map_or(0, u32::from_le_bytes) as usize;
    let expected = number(&tail[12..]).map_or(0, u32::from_le_bytes);
    if start < HEAD || start.checked_add(length) != Some(end) {
        return Err(malformed("tail", "the place of the table"));
    }
    let found = crc32fast::hash(&bytes[start..end + 12]);
    if expected != found {
        return Err(checksum("table", expected, found));
    }
    let table: Table =
        serde_json::from_slice(&bytes[start..end]).map_err(|error| OpenError::Description {
            path: path.to_owned(),
            source: error.into(),
        })?;
    let mut ranges = Vec::new();
    let mut at = HEAD;
    for section in &table.sections {
        let end = usize::try_from(section.bytes).ok();
        let end = end.and_then(|bytes| at.checked_add(bytes));
        let Some(end) = end.filter(|&end| end <= start) else {
            return Err(malformed("table", "the sections of the file"));
        };
        ranges.push(at..end);
        at = filled(end);
    }
    if at != start {
        return Err(malformed("table", "the sections of the file"));
    }
    Ok((table, ranges))
}

/// What a file of this kind begins with.
pub(crate) fn head(kind: &Kind) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(&kind.magic);
    head[8..12].copy_from_slice(&kind.version.to_le_bytes());
    let checksum = crc32fast::hash(&head[..12]);
    head[12..16].copy_from_slice(&checksum.to_le_bytes());
    head
}

/// Writes an index from front to back.
#[derive(Debug)]
pub(crate) struct Writer<W> {
    sink: W,
    at: usize,
    table: Table,
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(
        kind: &Kind,
        mut sink: W,
        similarity: Similarity,
        dim: usize,
        documents: usize,
    ) -> io::Result<Self> {
        sink.write_all(&head(kind))?;
        let table = Table::new(similarity, dim, documents);
        Ok(Self {
            sink,
            at: HEAD,
            table,
        })
    }

    /// Goes on behind the head and a first section, all of whose bytes are written and hashed.
    pub(crate) fn behind(
        sink: W,
        (similarity, dim, documents): (Similarity, usize, usize),
        (name, bytes): (&str, u64),
        hasher: crc32fast::Hasher,
    ) -> io::Result<Self> {
        let table = Table::new(similarity, dim, documents);
        let at = HEAD;
        let mut writer = Self { sink, at, table };
        writer.fill(name, bytes, hasher)?;
        Ok(writer)
    }

    /// Says what the graph is.
    pub(crate) fn graph(&mut self, graph: GraphTable) {
        self.table.graph = Some(graph);
    }

    pub(crate) fn section(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(bytes);
        self.fill(name, bytes.len() as u64, hasher)
    }

    /// Ends a section: zeros up to where the next begins, and its place in the table.
    fn fill(&mut self, name: &str, bytes: u64, mut hasher: crc32fast::Hasher) -> io::Result<()> {
        let zeros = &[0; LINE][..(bytes.next_multiple_of(LINE as u64) - bytes) as usize];
        self.sink.write_all(zeros)?;
        hasher.update(zeros);
        self.at += bytes as usize + zeros.len();
        self.table.sections.push(Section {
            name: name.to_owned(),
            bytes,
            crc32: hasher.finalize(),
        });
        Ok(())
    }

    /// Writes table and tail, and gives the sink back.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let mut end = serde_json::to_vec(&self.table)?;
        let table = end.len() as u32;
        end.extend((self.at as u64).to_le_bytes());
        end.extend(table.to_le_bytes());
        end.extend(crc32fast::hash(&end).to_le_bytes());
        end.extend(CLOSING);
        self.sink.write_all(&end)?;
        Ok(self.sink)
    }
}

/// Ids as the file has them.
pub(crate) fn ids_to_bytes(ids: &DocIds) -> Vec<u8> {
    let mut bytes = Vec::new();
    for id in ids.iter() {
        push_id(&mut bytes, id);
    }
    bytes
}

/// One of them.
pub(crate) fn push_id(bytes: &mut Vec<u8>, id: &str) {
    bytes.extend((id.len() as u32).to_le_bytes());
    bytes.extend(id.as_bytes());
}

/// The way back of [`ids_to_bytes`].
pub(crate) fn ids_from_bytes(mut bytes: &[u8], documents: usize) -> Option<DocIds> {
    let mut ids = DocIds::new();
    for _ in 0..documents {
        let (length, rest) = bytes.split_first_chunk()?;
        let (id, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        ids.push(std::str::from_utf8(id).ok()?).ok()?;
        bytes = rest;
    }
    bytes.is_empty().then_some(ids)
}
