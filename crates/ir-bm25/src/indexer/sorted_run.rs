//! Sorted runs: terms in ascending order with their postings, in memory or in temporary files.
//!
//! An entry consists of key length and key; first document and its frequency; last document;
//! number of postings; length and bytes of the positions of the first posting; length and bytes of
//! the tail: for every further posting twice the gap, plus one if the frequency is one, else the
//! frequency follows; then its positions. Runs of an index without positions have none. All
//! integers are varints. The first posting is separate so that lists are concatenated without
//! decoding them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};

use crate::error::RepeatedTerm;
use crate::postings::{Posting, read_gaps, write_gap, write_gaps};
use ir_core::store::{ByteReader, write_varint};

/// Maximum number of runs in a merge.
const MERGE_FACTOR: usize = 64;

/// Encoder of a sorted run.
#[derive(Debug, Default)]
pub(super) struct RunWriter {
    bytes: Vec<u8>,
    rest: Vec<u8>,
}

impl RunWriter {
    /// Appends a term. Keys must ascend; postings must not be empty and must ascend by document.
    /// `positions` are the positions of all postings, or empty for an index without positions.
    pub(super) fn push(&mut self, key: &[u8], postings: &[Posting], positions: &[u32]) {
        let [first, others @ ..] = postings else {
            return;
        };
        self.rest.clear();
        let mut of_first = Vec::new();
        let mut positions = positions;
        let mut next_positions = |posting: &Posting, to: &mut Vec<u8>| {
            if let Some((these, others)) = positions.split_at_checked(posting.tf as usize) {
                write_gaps(these, to);
                positions = others;
            }
        };
        next_positions(first, &mut of_first);
        let mut last = first.doc;
        for posting in others {
            push_posting(&mut self.rest, last, *posting);
            next_positions(posting, &mut self.rest);
            last = posting.doc;
        }
        let head = ListHead {
            first: *first,
            last,
            count: postings.len() as u64,
            positions: of_first,
        };
        write_entry(&mut self.bytes, key, &head, &self.rest);
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Number of bytes written.
    pub(super) const fn len(&self) -> usize {
        self.bytes.len()
    }
}

fn push_posting(to: &mut Vec<u8>, last: u32, posting: Posting) {
    let gap = u64::from(posting.doc.saturating_sub(last));
    write_gap(to, gap, posting.tf);
}

#[derive(Debug, Default)]
struct ListHead {
    first: Posting,
    last: u32,
    count: u64,
    /// Encoded positions of the first posting.
    positions: Vec<u8>,
}

fn write_entry(to: &mut Vec<u8>, key: &[u8], head: &ListHead, rest: &[u8]) {
    write_varint(to, key.len() as u64);
    to.extend(key);
    for number in [head.first.doc, head.first.tf, head.last] {
        write_varint(to, u64::from(number));
    }
    write_varint(to, head.count);
    for bytes in [&head.positions, rest] {
        write_varint(to, bytes.len() as u64);
        to.extend(bytes);
    }
}

/// The sorted runs of an index builder, in document order.
#[derive(Debug, Default)]
pub(super) struct SortedRuns {
    spilled: Vec<(File, u64)>,
    memory: Vec<Vec<u8>>,
    in_memory: usize,
    /// If `true`, a term in two runs is an error ([`RepeatedTerm`]).
    unique_terms: bool,
}

impl SortedRuns {
    /// Runs in which each term has one list.
    #[cfg(feature = "ciff")]
    pub(super) fn with_unique_terms() -> Self {
        Self {
            unique_terms: true,
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, run: Vec<u8>) {
        self.in_memory += run.len();
        self.memory.push(run);
    }

    /// Bytes held in memory.
    pub(super) const fn in_memory(&self) -> usize {
        self.in_memory
    }

    /// Merges the runs in memory into a temporary file, and the files when there are many.
    pub(super) fn spill(&mut self, new_file: &dyn Fn() -> io::Result<File>) -> io::Result<()> {
        let runs = std::mem::take(&mut self.memory);
        self.in_memory = 0;
        if runs.is_empty() {
            return Ok(());
        }
        let sources = runs.into_iter().map(RunReader::memory).collect();
        let merge = RunMerge::new(sources, self.unique_terms)?;
        self.spilled.push(merge_to_file(merge, new_file()?)?);
        if self.spilled.len() >= MERGE_FACTOR {
            let sources = Self::files(&mut self.spilled)?;
            let merge = RunMerge::new(sources, self.unique_terms)?;
            self.spilled.push(merge_to_file(merge, new_file()?)?);
        }
        Ok(())
    }

    fn files(spilled: &mut Vec<(File, u64)>) -> io::Result<Vec<RunReader>> {
        let files = std::mem::take(spilled).into_iter();
        files
            .map(|(file, size)| RunReader::file(file, size))
            .collect()
    }

    /// Starts the final merge of all runs.
    pub(super) fn merge(mut self) -> io::Result<RunMerge> {
        let mut sources = Self::files(&mut self.spilled)?;
        sources.extend(self.memory.into_iter().map(RunReader::memory));
        RunMerge::new(sources, self.unique_terms)
    }
}

fn merge_to_file(mut merge: RunMerge, file: File) -> io::Result<(File, u64)> {
    let mut to = BufWriter::with_capacity(1 << 18, file);
    let (mut term, mut entry) = (MergedTerm::default(), Vec::new());
    let mut size = 0;
    while merge.next(&mut term)? {
        let Some(head) = &term.head else { continue };
        entry.clear();
        write_entry(&mut entry, &term.key, head, &term.rest);
        to.write_all(&entry)?;
        size += entry.len() as u64;
    }
    let file = to.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok((file, size))
}

/// A term with its concatenated postings, still encoded.
#[derive(Debug, Default)]
pub(super) struct MergedTerm {
    pub(super) key: Vec<u8>,
    head: Option<ListHead>,
    rest: Vec<u8>,
}

impl MergedTerm {
    /// Decodes the postings, in document order, and the positions of all if the index has them.
    pub(super) fn postings(&self, has_positions: bool) -> io::Result<(Vec<Posting>, Vec<u32>)> {
        let Some(head) = &self.head else {
            return Ok(Default::default());
        };
        let mut postings = Vec::with_capacity(self.rest.len().min(head.count as usize) + 1);
        let mut positions = Vec::new();
        postings.push(head.first);
        let mut of_first = ByteReader::new(&head.positions);
        if has_positions {
            read_gaps(&mut of_first, head.first.tf, &mut positions).ok_or_else(corrupt)?;
        }
        let mut input = ByteReader::new(&self.rest);
        let mut doc = head.first.doc;
        while !input.is_empty() {
            let code = input.varint().ok_or_else(corrupt)?;
            doc = u32::try_from(code >> 1)
                .ok()
                .and_then(|gap| doc.checked_add(gap))
                .ok_or_else(corrupt)?;
            let tf = match code & 1 {
                1 => 1,
                _ => input.varint32().ok_or_else(corrupt)?,
            };
            postings.push(Posting { doc, tf });
            if has_positions {
                read_gaps(&mut input, tf, &mut positions).ok_or_else(corrupt)?;
            }
        }
        Ok((postings, positions))
    }

    /// Appends the list of a run.
    fn join(&mut self, from: &mut RunReader) {
        match &mut self.head {
            None => self.head = Some(std::mem::take(&mut from.head)),
            Some(merged) => {
                push_posting(&mut self.rest, merged.last, from.head.first);
                self.rest.append(&mut from.head.positions);
                merged.last = from.head.last;
                merged.count += from.head.count;
            }
        }
        self.rest.extend(&from.rest);
    }
}

fn corrupt() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "a temporary file of the index builder is corrupt",
    )
}

/// Sequential reader of a run.
struct RunReader {
    from: RunInput,
    key: Vec<u8>,
    head: ListHead,
    rest: Vec<u8>,
}

enum RunInput {
    Memory(io::Cursor<Vec<u8>>),
    File(io::Take<BufReader<File>>),
}

impl RunReader {
    fn new(from: RunInput) -> Self {
        Self {
            from,
            key: Vec::new(),
            head: ListHead::default(),
            rest: Vec::new(),
        }
    }

    fn memory(run: Vec<u8>) -> Self {
        Self::new(RunInput::Memory(io::Cursor::new(run)))
    }

    fn file(mut file: File, size: u64) -> io::Result<Self> {
        file.rewind()?;
        let reader = BufReader::with_capacity(1 << 17, file).take(size);
        Ok(Self::new(RunInput::File(reader)))
    }

    /// Reads the next entry; `false` at the end.
    fn advance(&mut self) -> io::Result<bool> {
        match &mut self.from {
            RunInput::Memory(from) => {
                read_entry(from, &mut self.key, &mut self.head, &mut self.rest)
            }
            RunInput::File(from) => read_entry(from, &mut self.key, &mut self.head, &mut self.rest),
        }
    }
}

fn read_entry(
    from: &mut impl BufRead,
    key: &mut Vec<u8>,
    head: &mut ListHead,
    rest: &mut Vec<u8>,
) -> io::Result<bool> {
    if from.fill_buf()?.is_empty() {
        return Ok(false);
    }
    let n = read_varint(from)?;
    read_bytes(from, n, key)?;
    let mut number = || u32::try_from(read_varint(from)?).map_err(|_| corrupt());
    let (doc, tf, last) = (number()?, number()?, number()?);
    head.first = Posting { doc, tf };
    head.last = last;
    head.count = read_varint(from)?;
    for bytes in [&mut head.positions, rest] {
        let n = read_varint(from)?;
        read_bytes(from, n, bytes)?;
    }
    Ok(true)
}

fn read_varint(from: &mut impl BufRead) -> io::Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let mut byte = [0];
        from.read_exact(&mut byte)?;
        number |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] < 0x80 {
            return Ok(number);
        }
    }
    Err(corrupt())
}

fn read_bytes(from: &mut impl Read, n: u64, to: &mut Vec<u8>) -> io::Result<()> {
    to.clear();
    if from.take(n).read_to_end(to)? as u64 == n {
        Ok(())
    } else {
        Err(corrupt())
    }
}

/// Multiway merge of runs: terms ascend, the postings of a term are in run order.
pub(super) struct RunMerge {
    sources: Vec<RunReader>,
    heap: BinaryHeap<HeapEntry>,
    unique_terms: bool,
}

/// The current key of a run. Ordered in reverse for the max-heap: smallest key, then first run.
#[derive(PartialEq, Eq)]
struct HeapEntry {
    key: Vec<u8>,
    source: usize,
}

impl Ord for HeapEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        (&other.key, other.source).cmp(&(&self.key, self.source))
    }
}

impl PartialOrd for HeapEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl RunMerge {
    fn new(sources: Vec<RunReader>, unique_terms: bool) -> io::Result<Self> {
        let mut merge = Self {
            sources,
            heap: BinaryHeap::new(),
            unique_terms,
        };
        for source in 0..merge.sources.len() {
            merge.advance(source, Vec::new())?;
        }
        Ok(merge)
    }

    fn advance(&mut self, source: usize, mut key: Vec<u8>) -> io::Result<()> {
        let from = &mut self.sources[source];
        if from.advance()? {
            std::mem::swap(&mut key, &mut from.key);
            self.heap.push(HeapEntry { key, source });
        } else {
            // Frees the memory or the file of the run.
            *from = RunReader::memory(Vec::new());
        }
        Ok(())
    }

    /// Advances to the next term; `false` at the end.
    pub(super) fn next(&mut self, term: &mut MergedTerm) -> io::Result<bool> {
        term.head = None;
        term.rest.clear();
        while let Some(next) = self.heap.peek() {
            if term.head.is_none() {
                term.key.clone_from(&next.key);
            } else if next.key != term.key {
                break;
            } else if self.unique_terms {
                // The first byte of a key is the field.
                let term = next.key.get(1..).unwrap_or_default();
                let term = String::from_utf8_lossy(term).into_owned();
                let repeated = RepeatedTerm { term };
                return Err(io::Error::new(io::ErrorKind::InvalidData, repeated));
            }
            let Some(HeapEntry { key, source }) = self.heap.pop() else {
                break;
            };
            term.join(&mut self.sources[source]);
            self.advance(source, key)?;
        }
        Ok(term.head.is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn merging_concatenates_postings(
            chunks in prop::collection::vec(
                prop::collection::btree_map("[a-c]{1,2}", prop::collection::vec(1u32..4, 1..6), 0..6), 1..70),
            spill_every in 1usize..8,
            has_positions in any::<bool>(),
        ) {
            let mut expected: BTreeMap<Vec<u8>, (Vec<Posting>, Vec<u32>)> = BTreeMap::new();
            let mut runs = SortedRuns::default();
            for (n, chunk) in chunks.into_iter().enumerate() {
                let mut run = RunWriter::default();
                for (key, tfs) in chunk {
                    let docs = (n as u32 * 100..).step_by(3);
                    let postings: Vec<_> = docs.zip(tfs).map(|(doc, tf)| Posting { doc, tf }).collect();
                    let positions = postings.iter().flat_map(|posting| {
                        (0..posting.tf).map(move |n| posting.doc % 7 + n * (posting.doc % 300))
                    });
                    let positions: Vec<u32> = positions.filter(|_| has_positions).collect();
                    run.push(key.as_bytes(), &postings, &positions);
                    let list = expected.entry(key.into_bytes()).or_default();
                    list.0.extend(postings);
                    list.1.extend(positions);
                }
                runs.push(run.into_bytes());
                if n % spill_every == 0 {
                    runs.spill(&tempfile::tempfile).unwrap();
                    prop_assert_eq!(runs.in_memory(), 0);
                }
            }
            let mut merge = runs.merge().unwrap();
            let (mut term, mut found) = (MergedTerm::default(), BTreeMap::new());
            while merge.next(&mut term).unwrap() {
                prop_assert!(found.insert(term.key.clone(), term.postings(has_positions).unwrap()).is_none());
            }
            prop_assert_eq!(found, expected);
        }
    }
}
