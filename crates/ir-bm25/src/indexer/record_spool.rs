//! Append-only storage of records in memory and a temporary file, with random access.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Append-only records, located by their end offsets.
#[derive(Debug, Default)]
pub(super) struct RecordSpool {
    memory: Vec<u8>,
    file: Option<File>,
    in_file: u64,
    ends: Vec<u64>,
}

impl RecordSpool {
    /// Appends records; `ends` counts from the first byte of `bytes`.
    pub(super) fn extend(&mut self, bytes: &[u8], ends: &[u64]) {
        let start = self.in_file + self.memory.len() as u64;
        self.memory.extend(bytes);
        self.ends.extend(ends.iter().map(|end| start + end));
    }

    /// Bytes of records held in memory, without end offsets.
    pub(super) fn in_memory(&self) -> usize {
        self.memory.len()
    }

    /// Moves the records in memory to the temporary file.
    pub(super) fn spill(&mut self, new_file: &dyn Fn() -> io::Result<File>) -> io::Result<()> {
        if self.memory.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(new_file()?),
        };
        file.write_all(&self.memory)?;
        self.in_file += self.memory.len() as u64;
        self.memory = Vec::new();
        Ok(())
    }

    /// Reads record `n`. Do not call [`RecordSpool::spill`] afterwards.
    pub(super) fn read(&mut self, n: usize, to: &mut Vec<u8>) -> io::Result<()> {
        let missing = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let start = n
            .checked_sub(1)
            .map_or(Some(0), |before| self.ends.get(before).copied());
        let (start, end) = start.zip(self.ends.get(n).copied()).ok_or_else(missing)?;
        to.clear();
        if let Some(from) = start.checked_sub(self.in_file) {
            let range = from as usize..(end - self.in_file) as usize;
            to.extend(self.memory.get(range).ok_or_else(missing)?);
            return Ok(());
        }
        let file = self.file.as_mut().ok_or_else(missing)?;
        file.seek(SeekFrom::Start(start))?;
        to.resize((end - start) as usize, 0);
        file.read_exact(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_in_any_order() {
        for spill_at in [None, Some(0), Some(1), Some(2)] {
            let mut spool = RecordSpool::default();
            for n in 0..3_u8 {
                spool.extend(&[n, n, n + 10], &[2, 3]);
                if Some(n) == spill_at {
                    spool.spill(&tempfile::tempfile).unwrap();
                    assert_eq!(spool.in_memory(), 0);
                }
            }
            let mut record = Vec::new();
            for n in (0..6).rev() {
                spool.read(n, &mut record).unwrap();
                let k = n as u8 / 2;
                let expected = if n % 2 == 0 { vec![k, k] } else { vec![k + 10] };
                assert_eq!(record, expected);
            }
            assert!(spool.read(6, &mut record).is_err());
        }
    }
}
