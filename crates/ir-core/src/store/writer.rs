use std::io::{self, Write};

use crc32fast::Hasher;

use super::IndexFormat;
use super::container::{ALIGNMENT, END_MARKER, HEADER_LEN};
use super::pages::{PageHasher, checksums_name};

/// Writer of an index file to any sink, section by section, in one pass.
///
/// [`begin`](Self::begin) starts a section; the [`Write`] implementation appends to it.
#[derive(Debug)]
pub struct IndexFileWriter<W> {
    sink: W,
    offset: u64,
    /// The entries of the section table.
    table: Vec<u8>,
    sections: u32,
    current: Option<OpenSection>,
}

/// The section that is being written.
#[derive(Debug)]
struct OpenSection {
    name: String,
    length: u64,
    checksum: Hasher,
    pages: Option<PageHasher>,
}

impl<W: Write> IndexFileWriter<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// When the sink cannot be written.
    pub fn new(format: &IndexFormat, mut sink: W) -> io::Result<Self> {
        sink.write_all(&format.header())?;
        Ok(Self::after_header(sink, None))
    }

    /// Resumes a file that consists of the header ([`IndexFormat::header`]) and the first `length`
    /// bytes of the first section; `crc32` is the checksum of these bytes. The section is still
    /// open: writes append to it.
    #[must_use]
    pub fn resume(sink: W, section: &str, length: u64, crc32: u32) -> Self {
        let section = OpenSection {
            name: section.to_owned(),
            length,
            checksum: Hasher::new_with_initial_len(crc32, length),
            pages: None,
        };
        Self::after_header(sink, Some(section))
    }

    fn after_header(sink: W, current: Option<OpenSection>) -> Self {
        Self {
            sink,
            offset: HEADER_LEN as u64,
            table: Vec::new(),
            sections: 0,
            current,
        }
    }

    /// Ends the current section and starts another. Names have at most 255 bytes.
    ///
    /// # Errors
    /// When the sink cannot be written.
    pub fn begin(&mut self, name: &str) -> io::Result<()> {
        self.end_section()?;
        self.current = Some(OpenSection {
            name: name.to_owned(),
            length: 0,
            checksum: Hasher::new(),
            pages: None,
        });
        Ok(())
    }

    /// Ends the current section and starts a paged section: readers verify a page when they first
    /// read it ([`IndexFile::paged_section`](super::IndexFile::paged_section)). The checksums of
    /// the pages follow as the section `NAME-pages`.
    ///
    /// # Errors
    /// When the sink cannot be written.
    pub fn begin_paged(&mut self, name: &str) -> io::Result<()> {
        self.begin(name)?;
        if let Some(section) = &mut self.current {
            section.pages = Some(PageHasher::default());
        }
        Ok(())
    }

    /// Writes a whole section.
    ///
    /// # Errors
    /// When the sink cannot be written.
    pub fn section(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.begin(name)?;
        self.write_all(content)
    }

    /// Pads the current section and adds its entry to the section table.
    fn end_section(&mut self) -> io::Result<()> {
        let Some(mut section) = self.current.take() else {
            return Ok(());
        };
        let Ok(name_length) = u8::try_from(section.name.len()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let padding = section.length.next_multiple_of(ALIGNMENT as u64) - section.length;
        let padding = &[0; ALIGNMENT][..padding as usize];
        self.sink.write_all(padding)?;
        section.checksum.update(padding);
        self.offset += section.length + padding.len() as u64;
        self.sections += 1;
        self.table.push(name_length);
        self.table.extend(section.name.as_bytes());
        self.table.extend(section.length.to_le_bytes());
        self.table.extend(section.checksum.finalize().to_le_bytes());
        if let Some(pages) = section.pages {
            self.section(&checksums_name(&section.name), &pages.finish())?;
            self.end_section()?;
        }
        Ok(())
    }

    /// Writes section table and footer, and returns the sink.
    ///
    /// # Errors
    /// When the sink cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_section()?;
        let mut end = self.sections.to_le_bytes().to_vec();
        end.append(&mut self.table);
        let length = end.len() as u32;
        end.extend(self.offset.to_le_bytes());
        end.extend(length.to_le_bytes());
        end.extend(crc32fast::hash(&end).to_le_bytes());
        end.extend(END_MARKER);
        self.sink.write_all(&end)?;
        Ok(self.sink)
    }
}

/// Appends to the current section. Without one, writing is an error.
impl<W: Write> Write for IndexFileWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(section) = &mut self.current else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "no section was begun",
            ));
        };
        let n = self.sink.write(bytes)?;
        section.length += n as u64;
        section.checksum.update(&bytes[..n]);
        if let Some(pages) = &mut section.pages {
            pages.update(&bytes[..n]);
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
