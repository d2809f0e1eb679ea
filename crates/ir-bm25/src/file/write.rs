//! Writing an index file from front to back.

use std::io::{self, Write};

use super::{CLOSING, MAGIC, VERSION};

/// Writes sections one after another to any sink, and keeps their lengths and checksums.
pub(crate) struct FileWriter<W> {
    sink: W,
    at: u64,
    sections: Vec<(&'static str, u64, crc32fast::Hasher)>,
}

impl<W: Write> FileWriter<W> {
    pub(crate) fn new(mut sink: W) -> io::Result<Self> {
        let mut head = Vec::from(MAGIC);
        head.extend(VERSION.to_le_bytes());
        head.extend(crc32fast::hash(&head).to_le_bytes());
        sink.write_all(&head)?;
        Ok(Self {
            sink,
            at: head.len() as u64,
            sections: Vec::new(),
        })
    }

    /// Begins a section; what is written from now on is in it.
    pub(crate) fn begin(&mut self, name: &'static str) {
        self.sections.push((name, 0, crc32fast::Hasher::new()));
    }

    /// A whole section at once.
    pub(crate) fn section(&mut self, name: &'static str, bytes: &[u8]) -> io::Result<()> {
        self.begin(name);
        self.put(bytes)
    }

    /// Appends to the present section.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sink.write_all(bytes)?;
        self.at += bytes.len() as u64;
        if let Some((_, length, checksum)) = self.sections.last_mut() {
            *length += bytes.len() as u64;
            checksum.update(bytes);
        }
        Ok(())
    }

    /// Writes table and tail, and gives the sink back.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let mut end = (self.sections.len() as u32).to_le_bytes().to_vec();
        for (name, length, checksum) in std::mem::take(&mut self.sections) {
            end.push(name.len() as u8);
            end.extend(name.as_bytes());
            end.extend(length.to_le_bytes());
            end.extend(checksum.finalize().to_le_bytes());
        }
        let table = end.len() as u32;
        end.extend(self.at.to_le_bytes());
        end.extend(table.to_le_bytes());
        end.extend(crc32fast::hash(&end).to_le_bytes());
        end.extend(CLOSING);
        self.sink.write_all(&end)?;
        Ok(self.sink)
    }
}
