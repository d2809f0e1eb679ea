//! A run file in several parts, each to be read by a thread of its own.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::read::scan_from;
use super::scan::Position;
use super::{HeaderLine, MAX_LINE, RunLine, RunSummary, TrecReadError, is_space};

/// A part of a run file of plain text: it begins with the first line of a query and ends with the
/// last line of one. A query whose lines do not stand together may be in several parts.
///
/// ```
/// use ir_core::trec::{self, HeaderLine, TrecReadError};
/// let path = std::env::temp_dir().join(format!("ir-core-parts-{}.txt", std::process::id()));
/// std::fs::write(&path, "q1 Q0 d1 1 9.5 mine\nq1 Q0 d2 2 8.5 mine\nq2 Q0 d1 1 7.5 mine\n")?;
/// let parts = trec::split_run(&path, 10)?;
/// assert_eq!(parts.len(), 2);
/// let mut docs = Vec::new();
/// parts[1].scan(HeaderLine::AsData, |line| {
///     docs.push(line.doc.to_owned());
///     Ok::<(), TrecReadError>(())
/// })?;
/// assert_eq!(docs, ["d1"]);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct RunChunk {
    path: PathBuf,
    from: u64,
    /// `None` for the end of the file.
    to: Option<u64>,
}

/// Cuts a run file into parts of at least `size` bytes each, but for the last one. Where no cut is
/// found the rest of the file is one part.
///
/// # Errors
/// When the file cannot be opened or is a folder.
pub fn split_run(path: impl AsRef<Path>, size: u64) -> io::Result<Vec<RunChunk>> {
    let path = path.as_ref();
    let file = File::open(path)?;
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut parts = vec![RunChunk {
        path: path.to_owned(),
        from: 0,
        to: None,
    }];
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut from = 0_u64;
    while let Some(at) = from.checked_add(size.max(1)).filter(|&at| at < about.len()) {
        // A file that cannot be read is for whoever reads the part.
        let Ok(Some(cut)) = cut(&mut reader, at) else {
            break;
        };
        if let Some(last) = parts.last_mut() {
            last.to = Some(cut);
        }
        parts.push(RunChunk {
            path: path.to_owned(),
            from: cut,
            to: None,
        });
        from = cut;
    }
    Ok(parts)
}

/// Where the first query begins whose first line begins behind `at`.
fn cut(reader: &mut (impl BufRead + Seek), at: u64) -> io::Result<Option<u64>> {
    // From the byte before: `at` may be the beginning of a line.
    let mut place = reader.seek(SeekFrom::Start(at - 1))?;
    let mut line = Vec::new();
    let mut next = |line: &mut Vec<u8>| {
        line.clear();
        reader.take(MAX_LINE).read_until(b'\n', line)
    };
    place += next(&mut line)? as u64;
    let mut query: Option<Vec<u8>> = None;
    loop {
        if next(&mut line)? == 0 || line.last() != Some(&b'\n') {
            return Ok(None);
        }
        let mut columns = line.split(|&b| is_space(b)).filter(|id| !id.is_empty());
        if line[0] != b'#'
            && let Some(id) = columns.next()
        {
            match &query {
                None => query = Some(id.to_owned()),
                Some(query) if query != id => return Ok(Some(place)),
                Some(_) => {}
            }
        }
        place += line.len() as u64;
    }
}

impl RunChunk {
    /// Reads the part as [`scan_run`](super::scan_run) does. Lines are counted from its beginning.
    ///
    /// # Errors
    /// As [`scan_run`](super::scan_run).
    pub fn scan<E: From<TrecReadError>>(
        &self,
        header: HeaderLine,
        each: impl FnMut(RunLine<'_>) -> Result<(), E>,
    ) -> Result<RunSummary, E> {
        let source = self.path.display().to_string();
        let position = Position {
            lines: 0,
            data: self.from > 0,
        };
        let opened = || {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(self.from))?;
            Ok(file.take(self.to.map_or(u64::MAX, |to| to - self.from)))
        };
        let input = opened().map_err(|cause| TrecReadError::Io {
            path: source.clone(),
            line: 1,
            cause,
        })?;
        scan_from(input, &source, header, position, each)
    }
}
