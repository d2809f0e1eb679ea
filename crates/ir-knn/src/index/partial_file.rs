//! Index files that are written over several runs of a program.
//!
//! Two files exist beside the destination until the index is complete: `NAME.partial`, which
//! becomes the index, and `NAME.partial-ids`, a journal of blocks:
//!
//! | part | bytes | content |
//! |---|---|---|
//! | length | 4 | length of the content |
//! | content | | see below |
//! | checksum | 4 | CRC-32 of the content |
//!
//! The content of the first block is a header as JSON. Every other block contains the number of
//! units (4), the CRC-32 of all data so far (4), and entries, which each writer defines. A unit has
//! a fixed number of bytes: a vector of a flat index, a byte of a token store.
//!
//! A block is written after its data. After an interruption, the index ends before the first block
//! that is truncated, damaged or does not match the checksum of the data.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use ir_core::store::{AtomicFile, HEADER_LEN, IndexFileWriter, IndexFormat, resolve_links};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Maximum size in bytes of the data of a block, unless a single document is larger.
pub(super) const BLOCK_SIZE: usize = 4 << 20;

/// Partial index and its journal, locked until the value is dropped.
#[derive(Debug)]
pub(super) struct PartialFile {
    format: &'static IndexFormat,
    /// First section of the index, which the data belong to.
    section: &'static str,
    destination: PathBuf,
    partial_path: PathBuf,
    journal_path: PathBuf,
    partial: File,
    journal: File,
    /// Checksum of the written data.
    checksum: Hasher,
    /// Ends of the last complete block in both files.
    partial_end: u64,
    journal_end: u64,
}

/// Error of a partial file.
#[derive(Debug)]
pub(super) enum PartialFileError {
    Io { path: PathBuf, source: io::Error },
    Locked { path: PathBuf },
}

impl PartialFile {
    /// Opens or creates the files beside the destination, without reading them.
    pub(super) fn open(
        format: &'static IndexFormat,
        section: &'static str,
        path: &Path,
    ) -> Result<Self, PartialFileError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| PartialFileError::Io { path, source }
        };
        // Creating a temporary file fails unless a file at the path can be replaced.
        drop(AtomicFile::create(path).map_err(failed(path))?);
        let destination = resolve_links(path).map_err(failed(path))?;
        let with_suffix = |suffix: &str| {
            let mut name = destination.file_name().unwrap_or_default().to_owned();
            name.push(suffix);
            destination.with_file_name(name)
        };
        let (partial_path, journal_path) = (with_suffix(".partial"), with_suffix(".partial-ids"));
        let open = |path: &Path| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            options.open(path).map_err(failed(path))
        };
        let journal = open(&journal_path)?;
        if let Err(TryLockError::WouldBlock) = journal.try_lock() {
            return Err(PartialFileError::Locked { path: journal_path });
        }
        let partial = open(&partial_path)?;
        Ok(Self {
            format,
            section,
            destination,
            partial_path,
            journal_path,
            partial,
            journal,
            checksum: Hasher::new(),
            partial_end: 0,
            journal_end: 0,
        })
    }

    /// Truncates both files and writes their headers.
    pub(super) fn start(&mut self, header: &impl Serialize) -> Result<(), PartialFileError> {
        let start = |partial: &mut File, journal: &mut File| -> io::Result<u64> {
            for file in [&mut *partial, &mut *journal] {
                file.set_len(0)?;
                file.rewind()?;
            }
            let header = journal_block(&serde_json::to_vec(header)?);
            partial.write_all(&self.format.header())?;
            journal.write_all(&header)?;
            Ok(header.len() as u64)
        };
        let started = start(&mut self.partial, &mut self.journal);
        self.journal_end = started.map_err(|source| self.failed(source))?;
        self.partial_end = HEADER_LEN as u64;
        Ok(())
    }

    /// Finds the complete blocks and truncates both files after them. Starts new files if the
    /// interrupted writer did not complete the header.
    ///
    /// `check` compares the header found, `parse` reads number of units and entries of a block,
    /// and `add` takes them with the data of the block.
    pub(super) fn recover<H: Serialize + DeserializeOwned, T, E: From<PartialFileError>>(
        &mut self,
        header: &H,
        unit: usize,
        check: impl FnOnce(H, &Path) -> Result<(), E>,
        parse: impl Fn(u32, &[u8]) -> Option<T>,
        mut add: impl FnMut(T, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut bytes = Vec::new();
        let read = self.journal.read_to_end(&mut bytes);
        read.map_err(|source| self.failed(source))?;
        let Some((found, mut blocks)) = split_block(&bytes) else {
            return Ok(self.start(header)?);
        };
        let found = serde_json::from_slice(found).map_err(|source| {
            let what =
                "expected the journal of an index of this kind; delete the file to start again";
            let source = io::Error::new(io::ErrorKind::InvalidData, format!("{what}: {source}"));
            let path = self.journal_path.clone();
            PartialFileError::Io { path, source }
        })?;
        check(found, &self.journal_path)?;
        self.journal_end = (bytes.len() - blocks.len()) as u64;
        let mut format_header = [0; HEADER_LEN];
        let mut partial = BufReader::with_capacity(1 << 16, &self.partial);
        let has_header = partial.read_exact(&mut format_header).is_ok();
        if !has_header || format_header != self.format.header() {
            return Ok(self.start(header)?);
        }
        self.partial_end = HEADER_LEN as u64;
        let mut data = Vec::new();
        while let Some((content, rest)) = split_block(blocks) {
            let Some((units, expected, parsed)) =
                split_content(content).and_then(|(units, expected, entries)| {
                    Some((units, expected, parse(units, entries)?))
                })
            else {
                break;
            };
            let size = u64::from(units).saturating_mul(unit as u64);
            data.clear();
            let read = (&mut partial).take(size).read_to_end(&mut data);
            let mut checksum = self.checksum.clone();
            checksum.update(&data);
            let complete = read.is_ok_and(|read| read as u64 == size);
            if !complete || checksum.clone().finalize() != expected {
                break;
            }
            add(parsed, &data)?;
            self.checksum = checksum;
            self.partial_end += size;
            self.journal_end = (bytes.len() - rest.len()) as u64;
            blocks = rest;
        }
        drop(partial);
        let truncated = self.partial.set_len(self.partial_end);
        truncated
            .and_then(|()| self.journal.set_len(self.journal_end))
            .map_err(|source| self.failed(source))?;
        Ok(())
    }

    /// Appends a block of `data`, which consists of `units` units.
    pub(super) fn append(
        &mut self,
        units: u32,
        data: &[u8],
        entries: &[u8],
    ) -> Result<(), PartialFileError> {
        let mut checksum = self.checksum.clone();
        checksum.update(data);
        let mut content = units.to_le_bytes().to_vec();
        content.extend(checksum.clone().finalize().to_le_bytes());
        content.extend_from_slice(entries);
        let block = journal_block(&content);
        // Starts after the last complete block, also if an earlier attempt failed.
        let written = write_at(&mut self.partial, self.partial_end, data)
            .and_then(|()| write_at(&mut self.journal, self.journal_end, &block));
        written.map_err(|source| self.failed(source))?;
        self.partial_end += data.len() as u64;
        self.journal_end += block.len() as u64;
        self.checksum = checksum;
        Ok(())
    }

    /// Completes the index with the sections that `write` adds, syncs it and renames it to the path
    /// of the index.
    pub(super) fn finish(
        &self,
        write: impl FnOnce(&mut IndexFileWriter<BufWriter<&File>>) -> io::Result<()>,
    ) -> Result<(), PartialFileError> {
        let complete = || {
            (&self.partial).seek(SeekFrom::Start(self.partial_end))?;
            let mut writer = IndexFileWriter::resume(
                BufWriter::with_capacity(1 << 16, &self.partial),
                self.section,
                self.partial_end - HEADER_LEN as u64,
                self.checksum.clone().finalize(),
            );
            write(&mut writer)?;
            writer.finish()?.flush()?;
            self.partial.sync_all()?;
            fs::rename(&self.partial_path, &self.destination)
        };
        complete().map_err(|source| self.failed(source))?;
        let _ = fs::remove_file(&self.journal_path);
        // Syncing the directory makes the rename durable; some systems do not support it.
        let folder = self.destination.parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        if let Ok(folder) = File::open(folder.unwrap_or(Path::new("."))) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// Deletes the partial index and its journal.
    pub(super) fn discard(&self) -> Result<(), PartialFileError> {
        for path in [&self.partial_path, &self.journal_path] {
            fs::remove_file(path).map_err(|source| self.failed(source))?;
        }
        Ok(())
    }

    fn failed(&self, source: io::Error) -> PartialFileError {
        PartialFileError::Io {
            path: self.partial_path.clone(),
            source,
        }
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that another thread starts has the file open,
        // too, until it executes its program.
        let _ = self.journal.unlock();
    }
}

fn write_at(file: &mut File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

fn journal_block(content: &[u8]) -> Vec<u8> {
    let mut bytes = (content.len() as u32).to_le_bytes().to_vec();
    bytes.extend(content);
    bytes.extend(crc32fast::hash(content).to_le_bytes());
    bytes
}

/// Content of the first block of a journal, and the bytes after it. [`None`] if the block is
/// truncated or damaged.
fn split_block(journal: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = journal.split_first_chunk()?;
    let (content, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (checksum, rest) = rest.split_first_chunk()?;
    (crc32fast::hash(content) == u32::from_le_bytes(*checksum)).then_some((content, rest))
}

/// Number of units of a block, checksum of all data up to its end, and its entries.
fn split_content(content: &[u8]) -> Option<(u32, u32, &[u8])> {
    let (units, rest) = content.split_first_chunk()?;
    let (checksum, entries) = rest.split_first_chunk()?;
    Some((
        u32::from_le_bytes(*units),
        u32::from_le_bytes(*checksum),
        entries,
    ))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    static FORMAT: IndexFormat = IndexFormat {
        magic: *b"ir-test\n",
        version: 1,
        name: "a test index",
        large_sections: &[],
    };

    /// A copy of the open file, as in a process that is being started, does not keep the lock.
    #[test]
    fn dropped_files_are_unlocked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.ir");
        let open = || PartialFile::open(&FORMAT, "data", &path);
        let locked = open().unwrap();
        let copy = locked.journal.try_clone().unwrap();
        assert!(matches!(open(), Err(PartialFileError::Locked { .. })));
        drop(locked);
        open().unwrap();
        drop(copy);
    }
}
