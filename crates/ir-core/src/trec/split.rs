//! Splitting a run file into chunks for parallel reading.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::json::is_json;
use super::number::c_number;
use super::read::{parse_rank, scan_from};
use super::scan::{BYTE_ORDER_MARK, Position};
use super::table::{RunTable, is_separator_line};
use super::{HeaderLine, MAX_LINE, RunLine, RunSummary, TrecReadError, is_space};

/// Chunk of an uncompressed run file, from the first line of a query to the last line of a query.
/// If the lines of a query are not contiguous, the query may span several chunks.
///
/// ```
/// use ir_core::trec::{self, HeaderLine, TrecReadError};
/// let path = std::env::temp_dir().join(format!("ir-core-chunks-{}.txt", std::process::id()));
/// std::fs::write(&path, "q1 Q0 d1 1 9.5 mine\nq1 Q0 d2 2 8.5 mine\nq2 Q0 d1 1 7.5 mine\n")?;
/// let chunks = trec::split_run(&path, 10)?;
/// assert_eq!(chunks.len(), 2);
/// let mut docs = Vec::new();
/// chunks[1].scan(HeaderLine::AsData, |line| {
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
    /// End offset; `None` for the end of the file.
    to: Option<u64>,
    /// `true` for a run of MS MARCO.
    has_ranks: bool,
}

/// Splits a run file into chunks of at least `size` bytes each, except the last. Where no query
/// boundary is found, the rest of the file is one chunk, and so is a run in JSON or with names of
/// columns.
///
/// # Errors
/// If the file cannot be opened or is a directory.
pub fn split_run(path: impl AsRef<Path>, size: u64) -> io::Result<Vec<RunChunk>> {
    let path = path.as_ref();
    let file = File::open(path)?;
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut reader = BufReader::with_capacity(1 << 16, file);
    // Read errors are reported when the first chunk is read.
    let is_json = reader
        .fill_buf()
        .is_ok_and(|head| is_json(head) == Some(true));
    let format = column_format(&mut reader).unwrap_or(ColumnFormat::Scores);
    let has_ranks = format == ColumnFormat::Ranks;
    let is_whole = is_json || format == ColumnFormat::Table;
    // The first chunk has a line that is no header.
    let first = reader.stream_position().unwrap_or(0);
    let mut chunks = Vec::new();
    let mut from = 0_u64;
    loop {
        let at = from.checked_add(size.max(1)).map(|at| at.max(first));
        let at = at.filter(|&at| at < about.len() && !is_whole);
        // Read errors are reported when the chunk is read.
        let to = at.and_then(|at| cut(&mut reader, at).ok().flatten());
        let path = path.to_owned();
        chunks.push(RunChunk {
            path,
            from,
            to,
            has_ranks,
        });
        match to {
            Some(to) => from = to,
            None => return Ok(chunks),
        }
    }
}

/// Columns of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnFormat {
    /// The six columns of TREC, or an error.
    Scores,
    /// The three columns of MS MARCO.
    Ranks,
    /// Columns with names in a header line.
    Table,
}

/// Columns of the first line, or of the line after a header line.
fn column_format(reader: &mut impl BufRead) -> io::Result<ColumnFormat> {
    let mut line = Vec::new();
    let mut is_first = true;
    while reader.take(MAX_LINE).read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line));
        let columns: Vec<&str> = text.split_ascii_whitespace().collect();
        let is_blank = columns.is_empty() || text.starts_with('#');
        let is_separator = is_first && is_separator_line(&text);
        if !is_blank && !is_separator {
            let header = RunTable::from_header(&text);
            if is_first && !matches!(header, Ok(None)) {
                return Ok(ColumnFormat::Table);
            }
            let is_header = matches!(columns[..], [_, _, rank] if c_number(rank).is_none());
            if !(std::mem::take(&mut is_first) && is_header) {
                let is_rank = matches!(columns[..], [_, _, rank] if parse_rank(rank) == Some(1));
                return Ok(if is_rank {
                    ColumnFormat::Ranks
                } else {
                    ColumnFormat::Scores
                });
            }
        }
        line.clear();
    }
    Ok(ColumnFormat::Scores)
}

/// Returns the offset of the first query that starts after `at`.
fn cut(reader: &mut (impl BufRead + Seek), at: u64) -> io::Result<Option<u64>> {
    // Starts at the previous byte: `at` may be the start of a line.
    let mut offset = reader.seek(SeekFrom::Start(at - 1))?;
    let mut line = Vec::new();
    let mut next = |line: &mut Vec<u8>| {
        line.clear();
        reader.take(MAX_LINE).read_until(b'\n', line)
    };
    offset += next(&mut line)? as u64;
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
                Some(query) if query != id => return Ok(Some(offset)),
                Some(_) => {}
            }
        }
        offset += line.len() as u64;
    }
}

impl RunChunk {
    /// Reads the chunk as [`scan_run`](super::scan_run). Lines are numbered from its start.
    ///
    /// # Errors
    /// Returns the errors of [`scan_run`](super::scan_run).
    pub fn scan<E: From<TrecReadError>>(
        &self,
        header: HeaderLine,
        each: impl FnMut(RunLine<'_>) -> Result<(), E>,
    ) -> Result<RunSummary, E> {
        let source = self.path.display().to_string();
        let position = Position {
            lines: 0,
            data: self.from > 0,
            started: self.from > 0,
        };
        // The first chunk reports the format.
        let has_ranks = (self.from > 0).then_some(self.has_ranks);
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
        scan_from(input, &source, header, position, has_ranks, each)
    }
}
