//! Cursor over a posting list.
//!
//! The operations of a cursor decode no more than they need: the block of a document and its
//! impacts ([`PostingsCursor::shallow`], [`PostingsCursor::impacts`]) need no decoding, its
//! documents ([`PostingsCursor::seek`]) the gaps, and term frequencies ([`PostingsCursor::tf`],
//! [`PostingsCursor::postings`]) the whole block.

use std::ops::Range;

use super::decoded_block::DecodedBlock;
use super::impacts::Impact;
use super::{
    BLOCK, BLOCK_IMPACTS, END, ENTRY, LIST_IMPACTS, Posting, VARINTS, kth_impacts, positions,
    read_gaps,
};
use ir_core::store::{ByteReader, OpenIndexError, PagedSection};

/// Marks that no block is decoded.
const NONE: usize = usize::MAX;
/// Maximum size of the part of a list before its block entries.
const MAX_HEADER: usize = 5 + 10 + 2 * 10 + 1 + 2 * LIST_IMPACTS + kth_impacts::MAX_SIZE;
/// Maximum size of a block of varints: five bytes per gap and per frequency.
const MAX_VARINTS: usize = (BLOCK - 1) * (5 + 5);

/// Successive postings of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PostingsSlice<'a> {
    pub(crate) docs: &'a [u32],
    /// Term frequencies; as many as documents.
    pub(crate) tfs: &'a [u32],
    /// No frequency minus one takes more bits.
    pub(crate) tf_bits: u8,
}

/// Forward-only cursor over the posting list of one term.
///
/// Checksums of the header and the block entries are verified when the list is opened, the checksum
/// of a block when it is decoded.
#[derive(Debug)]
pub(crate) struct PostingsCursor<'a> {
    /// Document frequency of the term.
    pub(crate) df: u32,
    /// Total number of occurrences of the term.
    pub(crate) occurrences: u64,
    documents: u32,
    list_impacts: &'a [u8],
    kth_impacts: &'a [u8],
    /// One per block; empty for a list of one incomplete block.
    entries: &'a [[u8; ENTRY]],
    /// The incomplete block of a list without entries.
    varints: &'a [u8],
    section: &'a PagedSection,
    /// Offset in the section of the first block of a list with entries.
    first_block: usize,
    blocks: usize,
    block: usize,
    /// The last document of `block`.
    last: u32,
    loaded: usize,
    with_tfs: usize,
    decoded: Box<DecodedBlock>,
    /// Bits per frequency minus one and the packed frequencies of the loaded block.
    packed_tfs: (u8, &'a [u8]),
    at: usize,
    damage: Option<Box<OpenIndexError>>,
    positions: Option<Box<PositionsCursor<'a>>>,
}

/// Location of the positions of a list, and of those that are read next.
#[derive(Debug, Clone, Default)]
struct PositionsCursor<'a> {
    /// Range in the section.
    range: Range<usize>,
    /// Block of the next positions, and the positions of the whole block.
    block: Option<usize>,
    bytes: &'a [u8],
    /// Posting in the block, and its positions with those after it.
    at: usize,
    rest: &'a [u8],
}

impl<'a> PostingsCursor<'a> {
    /// Opens the list at `offset` of the section, in an index of `documents` documents with or
    /// without positions.
    pub(crate) fn open(
        section: &'a PagedSection,
        offset: u64,
        documents: u32,
        has_positions: bool,
    ) -> Result<Self, OpenIndexError> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(MAX_HEADER + MAX_VARINTS);
        let list = section.get(start..end.min(section.len()))?;
        let parsed = Self::parse(section, list, (start, documents), has_positions);
        let mut cursor = parsed.ok_or_else(|| malformed(section))?;
        if cursor.df as usize >= BLOCK {
            // `varints` is what follows the header.
            let entries = start + list.len() - cursor.varints.len();
            cursor.first_block = entries.saturating_add(cursor.blocks.saturating_mul(ENTRY));
            (cursor.entries, _) = section.get(entries..cursor.first_block)?.as_chunks();
            cursor.varints = &[];
        }
        cursor.last = cursor.last_of(0);
        Ok(cursor)
    }

    /// Parses the header of a list.
    fn parse(
        section: &'a PagedSection,
        list: &'a [u8],
        (start, documents): (usize, u32),
        has_positions: bool,
    ) -> Option<Self> {
        let mut input = ByteReader::new(list);
        let df = input.varint32().filter(|&df| df > 0 && df <= documents)?;
        let occurrences = input.varint()?.checked_add(u64::from(df))?;
        let mut positions = None;
        if has_positions {
            let size = usize::try_from(input.varint()?).ok()?;
            let of_positions = usize::try_from(input.varint()?).ok()?;
            let first = start.checked_add(input.position())?.checked_add(size)?;
            positions = Some(Box::new(PositionsCursor {
                range: first..first.checked_add(of_positions)?,
                ..PositionsCursor::default()
            }));
        }
        let list_impacts = if df > 1 {
            let n = usize::from(input.u8()?);
            (1..=LIST_IMPACTS).contains(&n).then_some(())?;
            input.take(2 * n)?
        } else {
            &[]
        };
        let kth_impacts = input.take(kth_impacts::size(df))?;
        Some(Self {
            df,
            occurrences,
            documents,
            list_impacts,
            kth_impacts,
            entries: &[],
            varints: input.rest(),
            section,
            first_block: 0,
            blocks: (df as usize).div_ceil(BLOCK),
            block: 0,
            last: 0,
            loaded: NONE,
            with_tfs: NONE,
            decoded: DecodedBlock::new(),
            packed_tfs: (0, &[]),
            at: 0,
            damage: None,
            positions,
        })
    }

    /// Returns the damage found so far. A damaged list ends at the damaged block.
    pub(crate) fn take_damage(&mut self) -> Option<OpenIndexError> {
        self.damage.take().map(|damage| *damage)
    }

    /// The error for a list that cannot be decoded although its checksums are correct.
    pub(crate) fn malformed(&self) -> OpenIndexError {
        malformed(self.section)
    }

    /// The impacts of the whole list; [`None`] for a list of one posting.
    pub(crate) fn list_impacts(&self) -> Option<impl Iterator<Item = Impact> + use<'a>> {
        (self.df > 1).then(|| impacts(self.list_impacts))
    }

    /// Frequencies and length codes such that for each of these pairs, at least `k` postings have
    /// no lower frequency and no higher code.
    pub(crate) fn kth_impacts(&self, k: usize) -> impl Iterator<Item = (u32, u8)> + use<'a> {
        kth_impacts::read(self.kth_impacts, k)
    }

    /// Moves to the block that `doc` is in, if it is in any: the first that does not end before it.
    /// Costs no decoding.
    #[inline]
    pub(crate) fn shallow(&mut self, doc: u32) {
        if doc > self.last {
            self.gallop(doc);
        }
    }

    fn gallop(&mut self, doc: u32) {
        let (mut low, mut step) = (self.block + 1, 1);
        while low + step <= self.blocks && self.last_of(low + step - 1) < doc {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(self.blocks);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.last_of(middle) < doc {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.block = low;
        self.last = self.last_of(low);
    }

    /// The number of the current block; [`PostingsCursor::blocks`] at the end.
    #[inline]
    pub(crate) const fn block(&self) -> usize {
        self.block
    }

    /// The number of blocks.
    #[inline]
    pub(crate) const fn blocks(&self) -> usize {
        self.blocks
    }

    /// Upper bound of the documents in a block, below the first document of the next block;
    /// [`END`] for the last block of a short list and past the last block.
    #[inline]
    pub(crate) fn last_of(&self, block: usize) -> u32 {
        self.entries.get(block).map_or(END, last_document)
    }

    /// The impacts of a block.
    #[inline]
    pub(crate) fn impacts(&self, block: usize) -> impl Iterator<Item = Impact> + use<'a> {
        let entry = self.entries.get(block);
        impacts(entry.map_or(self.list_impacts, |entry| {
            &entry[ENTRY - 2 * BLOCK_IMPACTS..]
        }))
    }

    /// Moves to the first posting at or after `doc` and returns its document; [`END`] if there is
    /// none.
    #[inline]
    pub(crate) fn seek(&mut self, doc: u32) -> u32 {
        self.shallow(doc);
        loop {
            if self.loaded != self.block && !self.load() {
                return END;
            }
            let current = self.decoded.doc(self.at);
            if current >= doc {
                return current;
            }
            self.at = self.decoded.lower_bound(doc);
            if self.at < self.decoded.len() {
                return self.decoded.doc(self.at);
            }
            // Reached only if the block ends before its entry says.
            self.next_block();
            if self.block >= self.blocks {
                return END;
            }
        }
    }

    /// Moves to the first posting.
    pub(crate) fn rewind(&mut self) {
        self.block = 0;
        self.last = self.last_of(0);
        self.loaded = NONE;
        self.with_tfs = NONE;
        self.at = 0;
    }

    /// Moves to the next block.
    pub(crate) fn next_block(&mut self) {
        self.block = (self.block + 1).min(self.blocks);
        self.last = self.last_of(self.block);
    }

    /// The postings from the current one to the end of its block, after [`PostingsCursor::seek`].
    #[inline]
    pub(crate) fn postings(&mut self) -> PostingsSlice<'_> {
        self.load_tfs();
        self.slice(self.at..self.decoded.len())
    }

    /// Moves past the postings of the current block below `end`, after [`PostingsCursor::seek`].
    /// Returns these and the document after them, if it is in the block.
    #[inline]
    pub(crate) fn take_below(&mut self, end: u32) -> (PostingsSlice<'_>, Option<u32>) {
        let from = self.at;
        let len = self.decoded.len();
        let next = match len.checked_sub(1) {
            Some(last) if self.decoded.doc(last) >= end => {
                self.at = self.decoded.lower_bound(end).max(from);
                Some(self.decoded.doc(self.at))
            }
            _ => {
                self.at = len;
                None
            }
        };
        self.load_tfs();
        (self.slice(from..self.at), next)
    }

    /// Calls `visit` with the postings from the current one to the end of its block, after
    /// [`PostingsCursor::seek`], and moves past as many as it returns. Returns the document after
    /// these, if it is in the block.
    #[inline]
    pub(crate) fn visit_block(
        &mut self,
        visit: impl FnOnce(PostingsSlice<'_>) -> usize,
    ) -> Option<u32> {
        self.load_tfs();
        self.at += visit(self.slice(self.at..self.decoded.len()));
        (self.at < self.decoded.len()).then(|| self.decoded.doc(self.at))
    }

    /// Calls `visit` with the postings from `start` on to the end of their block, and with the
    /// following blocks up to `end`. `visit` returns the number of its postings below `end`.
    /// Returns a lower bound, at least `end`, of the document after them.
    #[inline]
    pub(crate) fn for_each_slice(
        &mut self,
        start: u32,
        end: u32,
        mut visit: impl FnMut(PostingsSlice<'_>) -> usize,
    ) -> u32 {
        let mut doc = self.seek(start);
        while doc < end {
            if let Some(next) = self.visit_block(&mut visit) {
                return next.max(end);
            }
            if self.last >= end - 1 {
                return self.last.saturating_add(1);
            }
            self.next_block();
            doc = if self.load() {
                self.decoded.doc(0)
            } else {
                END
            };
        }
        doc
    }

    #[inline]
    fn slice(&self, range: Range<usize>) -> PostingsSlice<'_> {
        PostingsSlice {
            docs: self.decoded.docs().get(range.clone()).unwrap_or_default(),
            tfs: self.decoded.tfs().get(range).unwrap_or_default(),
            tf_bits: self.packed_tfs.0,
        }
    }

    /// Appends all postings. The cursor must be at the start of the list.
    pub(crate) fn read_all(&mut self, to: &mut Vec<Posting>) -> Result<(), OpenIndexError> {
        while self.seek(0) != END {
            let PostingsSlice { docs, tfs, .. } = self.postings();
            let pairs = docs.iter().zip(tfs);
            to.extend(pairs.map(|(&doc, &tf)| Posting { doc, tf }));
            self.next_block();
        }
        self.take_damage().map_or(Ok(()), Err)
    }

    /// Appends the positions of the current posting, after [`PostingsCursor::seek`]: as many as its
    /// frequency. Those of postings before it are skipped. Damage is an error.
    pub(crate) fn positions(&mut self, to: &mut Vec<u32>) -> Result<(), OpenIndexError> {
        self.load_tfs();
        let mut positions = self.positions.take().ok_or_else(|| self.malformed())?;
        let read = self.read_positions(&mut positions, to);
        self.positions = Some(positions);
        read
    }

    fn read_positions(
        &self,
        next: &mut PositionsCursor<'a>,
        to: &mut Vec<u32>,
    ) -> Result<(), OpenIndexError> {
        if next.block != Some(self.loaded) {
            self.load_positions(next)?;
        } else if next.at > self.at {
            next.at = 0;
            next.rest = next.bytes;
        }
        self.read_loaded_positions(next, to)
            .ok_or_else(|| self.malformed())
    }

    /// Finds the positions of the current block.
    fn load_positions(&self, next: &mut PositionsCursor<'a>) -> Result<(), OpenIndexError> {
        let (section, first) = (self.section, next.range.start);
        let read = |range: Range<usize>| section.get(first + range.start..first + range.end);
        let of_block = (self.loaded, self.blocks);
        let range = positions::block_range(of_block, next.range.len(), read)?;
        let bytes = read(range.ok_or_else(|| self.malformed())?)?;
        next.block = Some(self.loaded);
        next.bytes = bytes;
        next.at = 0;
        next.rest = bytes;
        Ok(())
    }

    fn read_loaded_positions(
        &self,
        next: &mut PositionsCursor<'a>,
        to: &mut Vec<u32>,
    ) -> Option<()> {
        let skipped = self.decoded.tfs().get(next.at..self.at)?;
        let skipped = skipped.iter().map(|&tf| u64::from(tf)).sum();
        let mut input = ByteReader::new(positions::skip(next.rest, skipped)?);
        read_gaps(&mut input, *self.decoded.tfs().get(self.at)?, to)?;
        next.at = self.at + 1;
        next.rest = input.rest();
        Some(())
    }

    /// Term frequency of the current posting.
    #[inline]
    pub(crate) fn tf(&mut self) -> u32 {
        self.load_tfs();
        self.decoded.tfs().get(self.at).copied().unwrap_or(1)
    }

    /// Decodes the documents of the current block; `false` at the end.
    fn load(&mut self) -> bool {
        if self.block >= self.blocks {
            return false;
        }
        if let Err(damage) = self.decode_docs() {
            self.damage = Some(Box::new(damage));
            self.block = self.blocks;
            self.last = END;
            self.decoded.clear();
            return false;
        }
        self.loaded = self.block;
        self.at = 0;
        true
    }

    /// Bits per gap and per frequency of a block, and its range in the section.
    fn block_entry(&self, block: usize) -> Option<(u8, u8, Range<usize>)> {
        let start = match block.checked_sub(1) {
            Some(before) => end_offset(self.entries.get(before)?),
            None => 0,
        };
        let entry = self.entries.get(block)?;
        let offset = |offset| self.first_block.checked_add(offset);
        Some((
            entry[8],
            entry[9],
            offset(start)?..offset(end_offset(entry))?,
        ))
    }

    /// Bits per gap and per frequency of the current block, and its content.
    fn block_data(&self) -> Result<(u8, u8, &'a [u8]), OpenIndexError> {
        if self.entries.is_empty() {
            return Ok((VARINTS, 0, self.varints));
        }
        let entry = self.block_entry(self.block);
        let (doc_bits, tf_bits, range) = entry.ok_or_else(|| self.malformed())?;
        Ok((doc_bits, tf_bits, self.section.get(range)?))
    }

    /// Decodes the documents of the current block.
    fn decode_docs(&mut self) -> Result<(), OpenIndexError> {
        let (doc_bits, tf_bits, data) = self.block_data()?;
        self.packed_tfs = (
            tf_bits,
            data.get(16 * usize::from(doc_bits)..).unwrap_or_default(),
        );
        self.unpack_docs(doc_bits, data)
            .ok_or_else(|| self.malformed())
    }

    fn unpack_docs(&mut self, doc_bits: u8, data: &[u8]) -> Option<()> {
        let previous = self.block.checked_sub(1).map(|before| self.last_of(before));
        let full = (self.block + 1) * BLOCK <= self.df as usize;
        if doc_bits == VARINTS {
            (!full).then_some(())?;
            let n = self.df as usize - self.block * BLOCK;
            let next = previous.map_or(0, |doc| u64::from(doc) + 1);
            let decoded = &mut self.decoded;
            self.packed_tfs.0 = decoded.decode_varints(n, next, self.documents, data)?;
            self.with_tfs = self.block;
            return Some(());
        }
        (full && doc_bits <= 32).then_some(())?;
        self.decoded.unpack_docs(previous, doc_bits, data)?;
        let last = self.decoded.doc(BLOCK - 1);
        (last == self.last && last < self.documents).then_some(())
    }

    #[inline]
    fn load_tfs(&mut self) {
        if self.with_tfs != self.loaded {
            self.unpack_tfs();
        }
    }

    fn unpack_tfs(&mut self) {
        let (tf_bits, data) = self.packed_tfs;
        if self.decoded.unpack_tfs(tf_bits, data).is_none() {
            self.damage = Some(Box::new(self.malformed()));
            self.decoded.reset_tfs();
            self.packed_tfs.0 = 0;
        }
        self.with_tfs = self.loaded;
    }
}

/// The last document of a block, from its entry.
#[inline]
fn last_document(&[a, b, c, d, ..]: &[u8; ENTRY]) -> u32 {
    u32::from_le_bytes([a, b, c, d])
}

/// The end of a block, from its entry: the offset from the first block.
#[inline]
fn end_offset(&[_, _, _, _, a, b, c, d, ..]: &[u8; ENTRY]) -> usize {
    u32::from_le_bytes([a, b, c, d]) as usize
}

fn malformed(section: &PagedSection) -> OpenIndexError {
    section.malformed("a valid posting list")
}

/// Decodes impacts, up to the padding: impacts ascend by frequency, padding repeats the last one.
#[inline]
fn impacts(bytes: &[u8]) -> impl Iterator<Item = Impact> + use<'_> {
    let mut before = 0;
    let impact = |pair: &[u8]| Impact {
        tf: pair[0],
        length: pair[1],
    };
    let impacts = bytes.chunks_exact(2).map(impact);
    impacts.take_while(move |impact| std::mem::replace(&mut before, impact.tf) < impact.tf)
}
