//! A training file, of which the places of its lines are in memory.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ir_core::{
    Fingerprint, Flow, NoProgress, Progress, TrainingError, TrainingExample, TrainingSet,
};

use super::line::TrainingForm;
use crate::error::name_of;
use crate::lines::located;
use crate::{Compression, DataError, Lines, open};

/// A file of training examples, one JSON object a line; see the [module](super) for its forms.
///
/// The file must stay as it is while it is used.
///
/// ```
/// use ir_core::{TrainingExample, TrainingSet, TrainingText};
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
    form: TrainingForm,
    source: Source,
    places: Vec<Place>,
    left_out: Vec<DataError>,
    fingerprint: u64,
}

enum Source {
    Disk(Mutex<File>),
    Memory(Vec<u8>),
}

/// Where a line is, without its end.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: u64,
    bytes: u32,
    line: u32,
}

impl fmt::Debug for TrainingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrainingFile")
            .field("path", &self.path)
            .field("examples", &self.places.len())
            .field("left_out", &self.left_out.len())
            .finish_non_exhaustive()
    }
}

impl TrainingFile {
    /// Opens a file with texts in it: Tevatron's form or the plain one.
    ///
    /// # Errors
    /// When the file cannot be read or has no examples, or the first line that is not as it should
    /// be; the error names it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        Self::open_with(path, TrainingForm::default())
    }

    /// Opens a file that is to be read in this way.
    ///
    /// # Errors
    /// As [`TrainingFile::open`].
    pub fn open_with(path: impl AsRef<Path>, form: TrainingForm) -> Result<Self, DataError> {
        Self::open_watched(path, form, &mut NoProgress)
    }

    /// [`TrainingFile::open_with`], with progress in bytes.
    ///
    /// # Errors
    /// As [`TrainingFile::open`], and when `progress` asks to stop.
    pub fn open_watched(
        path: impl AsRef<Path>,
        form: TrainingForm,
        progress: &mut dyn Progress,
    ) -> Result<Self, DataError> {
        let path = path.as_ref();
        let name = name_of(path);
        let read = |source| DataError::Read {
            path: name.clone(),
            source,
        };
        // Opens any file, and says what is wrong with those that are none.
        let mut opened = open(path)?;
        let plain = path.is_file() && Compression::of_file(path)?.is_none();
        let source = if plain {
            drop(opened);
            Source::Disk(Mutex::new(File::open(path).map_err(read)?))
        } else {
            let mut content = Vec::new();
            opened
                .read_to_end(&mut content)
                .map_err(|error| located(error, &name, 1))?;
            Source::Memory(content)
        };
        let mut file = Self {
            path: name.clone(),
            form,
            source: Source::Memory(Vec::new()),
            places: Vec::new(),
            left_out: Vec::new(),
            fingerprint: 0,
        };
        match &source {
            Source::Disk(_) => {
                let reader = File::open(path).map_err(read)?;
                let bytes = reader.metadata().map_err(read)?.len();
                file.scan(BufReader::with_capacity(1 << 16, reader), bytes, progress)?;
            }
            Source::Memory(content) => {
                file.scan(Cursor::new(content), content.len() as u64, progress)?;
            }
        }
        file.source = source;
        if file.places.is_empty() {
            return Err(file
                .left_out
                .into_iter()
                .next()
                .unwrap_or(DataError::Empty {
                    path: name,
                    expected: "training examples",
                }));
        }
        Ok(file)
    }

    /// What was left out, because [`Unusable::LeaveOut`](super::Unusable) was asked for: the errors
    /// that it would have been.
    #[must_use]
    pub fn left_out(&self) -> &[DataError] {
        &self.left_out
    }

    /// Reads all lines once and keeps their places.
    fn scan(
        &mut self,
        reader: impl BufRead,
        bytes: u64,
        progress: &mut dyn Progress,
    ) -> Result<(), DataError> {
        let at = Arc::new(AtomicU64::new(0));
        let mut lines = Lines::new(
            Counting {
                reader,
                at: Arc::clone(&at),
            },
            &self.path,
        );
        let mut all = Fingerprint::new();
        let mut start = 0;
        while let Some(line) = lines.read()? {
            let end = at.load(Ordering::Relaxed);
            let (from, number) = (start, line.number);
            start = end;
            if number % 4096 == 0
                && progress.report("reading examples", end, Some(bytes)) == Flow::Stop
            {
                return Err(DataError::Cancelled);
            }
            if line.text.trim_ascii().is_empty() {
                continue;
            }
            let example = self
                .form
                .read(line.text, &self.path, number, &mut self.left_out)?;
            if let Some(example) = example {
                all.add(&example);
                // A line has 64 MiB at most.
                let bytes = (end - from) as u32;
                let line = u32::try_from(number).map_err(|_| DataError::Count {
                    path: self.path.clone(),
                    what: "lines at most",
                    expected: u64::from(u32::MAX),
                    found: number,
                })?;
                self.places.push(Place {
                    start: from,
                    bytes,
                    line,
                });
            }
        }
        self.fingerprint = all.finish();
        Ok(())
    }

    fn line(&self, place: Place) -> io::Result<Vec<u8>> {
        let bytes = place.bytes as usize;
        match &self.source {
            Source::Disk(file) => {
                let mut line = vec![0; bytes];
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(place.start))?;
                file.read_exact(&mut line)?;
                Ok(line)
            }
            Source::Memory(content) => {
                let start = place.start as usize;
                Ok(content[start..start + bytes].to_vec())
            }
        }
    }

    fn read(&self, place: Place) -> Result<TrainingExample, DataError> {
        let line = u64::from(place.line);
        let read = |source| DataError::ReadOn {
            path: self.path.clone(),
            line,
            source,
        };
        let bytes = self.line(place).map_err(read)?;
        let text = String::from_utf8(bytes)
            .map_err(|error| read(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let example = self.form.read(text, &self.path, line, &mut Vec::new())?;
        // It was of use when the file was opened.
        let changed = || io::Error::new(io::ErrorKind::InvalidData, "the file has changed");
        example.ok_or_else(|| read(changed()))
    }
}

impl TrainingSet for TrainingFile {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn get(&self, index: usize) -> Result<TrainingExample, TrainingError> {
        let len = self.places.len();
        let place = self.places.get(index);
        let place = *place.ok_or(TrainingError::NoSuchExample { index, len })?;
        self.read(place).map_err(|error| TrainingError::Read {
            index,
            source: Box::new(error),
        })
    }

    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

/// Counts the bytes that have been read.
struct Counting<R> {
    reader: R,
    at: Arc<AtomicU64>,
}

impl<R: BufRead> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.at.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counting<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.at.fetch_add(bytes as u64, Ordering::Relaxed);
        self.reader.consume(bytes);
    }
}
