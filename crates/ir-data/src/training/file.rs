use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ir_core::training::{Fingerprint, TrainingExample, TrainingSet, TrainingSetError};
use ir_core::{Flow, NoProgress, Progress};

use super::format::TrainingFormat;
use crate::compression::{is_plain, open};
use crate::error::{DataError, Location, name_of, read_error, write_error};
use crate::lines::LineReader;

/// File of training examples as JSON lines; the [module](super) lists the formats.
///
/// The file must not change while it is in use. The examples of a compressed file or a pipe are
/// written to an unnamed temporary file, not kept in memory.
///
/// ```
/// use ir_core::training::{TrainingExample, TrainingSet, TrainingText};
/// use ir_data::training::{TrainingFile, TrainingWriter};
/// let path = std::env::temp_dir().join(format!("ir-data-training-{}.jsonl", std::process::id()));
/// let example = TrainingExample::new("how is tea brewed")
///     .positive(TrainingText::new("Pour hot water over the leaves.").with_id("d7"))
///     .negative(TrainingText::new("Coffee is roasted.").with_id("d2"));
/// let mut writer = TrainingWriter::create(&path)?;
/// writer.example(&example)?;
/// writer.commit()?;
///
/// let set = TrainingFile::open(&path)?;
/// assert_eq!(set.get(0)?, example);
/// assert_eq!(set.fingerprint(), vec![example].fingerprint());
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TrainingFile {
    path: String,
    format: TrainingFormat,
    /// The file, or a temporary file with the lines of examples if it is compressed or a pipe.
    content: Mutex<File>,
    lines: Vec<LineSpan>,
    skipped: Vec<DataError>,
    fingerprint: u64,
}

/// Writer of the lines of examples to an unnamed temporary file.
struct TemporaryLines {
    folder: PathBuf,
    file: BufWriter<File>,
    written: u64,
}

impl TemporaryLines {
    /// Creates the file. Returns a handle for reading, too.
    fn create() -> Result<(File, Self), DataError> {
        let folder = std::env::temp_dir();
        let file = tempfile::tempfile_in(&folder).map_err(write_error(&folder))?;
        let reader = file.try_clone().map_err(write_error(&folder))?;
        let file = BufWriter::with_capacity(1 << 16, file);
        let written = 0;
        Ok((
            reader,
            Self {
                folder,
                file,
                written,
            },
        ))
    }

    fn append(&mut self, line: &str) -> Result<(), DataError> {
        let write = self.file.write_all(line.as_bytes());
        write.map_err(write_error(&self.folder))?;
        self.written += line.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DataError> {
        self.file.flush().map_err(write_error(&self.folder))
    }
}

/// Byte range and number of a line.
#[derive(Debug, Clone, Copy)]
struct LineSpan {
    start: u64,
    bytes: u32,
    line: u32,
}

impl fmt::Debug for TrainingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrainingFile")
            .field("path", &self.path)
            .field("examples", &self.lines.len())
            .field("skipped", &self.skipped.len())
            .finish_non_exhaustive()
    }
}

impl TrainingFile {
    /// Opens a file in Tevatron or plain format.
    ///
    /// # Errors
    /// The file cannot be read, has no examples or has an invalid line.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        Self::open_with(path, TrainingFormat::default())
    }

    /// Opens a file of this format.
    ///
    /// # Errors
    /// The file cannot be read, has no examples or has an invalid line.
    pub fn open_with(path: impl AsRef<Path>, format: TrainingFormat) -> Result<Self, DataError> {
        Self::open_with_progress(path, format, &mut NoProgress)
    }

    /// Opens a file of this format and reports progress in bytes.
    ///
    /// # Errors
    /// The file cannot be read, has no examples or has an invalid line. Returns
    /// [`DataError::Canceled`] if `progress` cancels.
    pub fn open_with_progress(
        path: impl AsRef<Path>,
        format: TrainingFormat,
        progress: &mut dyn Progress,
    ) -> Result<Self, DataError> {
        let path = path.as_ref();
        let reader = open(path)?;
        let is_plain = is_plain(path)?;
        let (content, mut temporary) = if is_plain {
            (File::open(path).map_err(read_error(path))?, None)
        } else {
            let (content, lines) = TemporaryLines::create()?;
            (content, Some(lines))
        };
        let bytes = if is_plain {
            Some(content.metadata().map_err(read_error(path))?.len())
        } else {
            None
        };
        let mut file = Self {
            path: name_of(path),
            format,
            content: Mutex::new(content),
            lines: Vec::new(),
            skipped: Vec::new(),
            fingerprint: 0,
        };
        file.scan(reader, bytes, temporary.as_mut(), progress)?;
        if let Some(mut temporary) = temporary {
            temporary.flush()?;
        }
        if file.lines.is_empty() {
            return Err(file.skipped.into_iter().next().unwrap_or(DataError::Empty {
                path: file.path,
                expected: "training examples",
            }));
        }
        Ok(file)
    }

    /// Returns the errors of the skipped examples and document ids
    /// ([`OnInvalidExample::Skip`](super::OnInvalidExample)).
    #[must_use]
    pub fn skipped(&self) -> &[DataError] {
        &self.skipped
    }

    /// Reads all lines once and records their byte ranges: in the file of `bytes` bytes or, with
    /// `temporary`, in the lines of examples, which are appended to it.
    fn scan(
        &mut self,
        reader: impl BufRead,
        bytes: Option<u64>,
        mut temporary: Option<&mut TemporaryLines>,
        progress: &mut dyn Progress,
    ) -> Result<(), DataError> {
        let mut lines = LineReader::new(reader, &self.path);
        let mut fingerprint = Fingerprint::new();
        let mut start = 0;
        while let Some(line) = lines.read()? {
            let number = line.number;
            let at = Location::new(&self.path, number);
            let example = match line.text.trim_ascii() {
                "" => None,
                _ => self.format.read(line.text, at, &mut self.skipped)?,
            };
            let end = match (&mut temporary, &example) {
                (None, _) => lines.consumed,
                (Some(temporary), None) => temporary.written,
                (Some(temporary), Some(_)) => {
                    temporary.append(line.text)?;
                    temporary.written
                }
            };
            if number % 4096 == 0
                && progress.report("reading examples", lines.consumed, bytes) == Flow::Stop
            {
                return Err(DataError::Canceled);
            }
            if let Some(example) = example {
                fingerprint.add(&example);
                // The length of a line is at most 64 MiB.
                let bytes = (end - start) as u32;
                let line = u32::try_from(number).map_err(|_| DataError::Count {
                    path: self.path.clone(),
                    items: "lines at most",
                    expected: u64::from(u32::MAX),
                    found: number,
                })?;
                self.lines.push(LineSpan { start, bytes, line });
            }
            start = end;
        }
        self.fingerprint = fingerprint.finish();
        Ok(())
    }

    fn line(&self, span: LineSpan) -> io::Result<Vec<u8>> {
        let mut line = vec![0; span.bytes as usize];
        let mut file = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(span.start))?;
        file.read_exact(&mut line)?;
        Ok(line)
    }

    fn read(&self, span: LineSpan) -> Result<TrainingExample, DataError> {
        let line = u64::from(span.line);
        let read = |source| DataError::ReadLine {
            path: self.path.clone(),
            line,
            source,
        };
        let bytes = self.line(span).map_err(read)?;
        let text = String::from_utf8(bytes)
            .map_err(|error| read(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let at = Location::new(&self.path, line);
        let example = self.format.read(text, at, &mut Vec::new())?;
        // The line was a valid example when the file was opened.
        let changed = || io::Error::new(io::ErrorKind::InvalidData, "the file has changed");
        example.ok_or_else(|| read(changed()))
    }
}

impl TrainingSet for TrainingFile {
    fn len(&self) -> usize {
        self.lines.len()
    }

    fn get(&self, index: usize) -> Result<TrainingExample, TrainingSetError> {
        let len = self.lines.len();
        let span = self.lines.get(index);
        let span = *span.ok_or(TrainingSetError::NoSuchExample { index, len })?;
        self.read(span).map_err(|error| TrainingSetError::Read {
            index,
            source: Box::new(error),
        })
    }

    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}
