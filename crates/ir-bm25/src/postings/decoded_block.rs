//! The decoded postings of a block.

use bitpacking::{BitPacker, BitPacker4x};
use ir_core::store::ByteReader;

use super::unpack::unpack_ascending;
use super::{BLOCK, END};

/// Documents per group of [`DecodedBlock::lower_bound`].
const GROUP: usize = 16;

/// Documents and term frequencies of a block. Kept on the heap, so that cursors are cheap to move.
#[derive(Debug)]
pub(super) struct DecodedBlock {
    /// Ascending; [`END`] from `len` on.
    docs: [u32; BLOCK],
    tfs: [u32; BLOCK],
    /// `true` if all frequencies are 1.
    are_tfs_one: bool,
    len: usize,
}

impl DecodedBlock {
    pub(super) fn new() -> Box<Self> {
        Box::new(Self {
            docs: [END; BLOCK],
            tfs: [1; BLOCK],
            are_tfs_one: true,
            len: 0,
        })
    }

    /// Removes the decoded postings.
    pub(super) fn clear(&mut self) {
        self.docs = [END; BLOCK];
        self.len = 0;
    }

    /// Postings decoded, at most [`BLOCK`].
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The document of a posting; [`END`] past the last one.
    #[inline]
    pub(super) fn doc(&self, at: usize) -> u32 {
        self.docs.get(at).copied().unwrap_or(END)
    }

    #[inline]
    pub(super) fn docs(&self) -> &[u32] {
        self.docs.get(..self.len).unwrap_or(&self.docs)
    }

    /// The term frequencies, as many as documents, after [`DecodedBlock::unpack_tfs`].
    #[inline]
    pub(super) fn tfs(&self) -> &[u32] {
        self.tfs.get(..self.len).unwrap_or(&self.tfs)
    }

    /// Number of documents below `doc`. Without branches, which searches would mispredict.
    #[inline]
    pub(super) fn lower_bound(&self, doc: u32) -> usize {
        let (groups, _) = self.docs.as_chunks::<GROUP>();
        let (_, before_last) = groups.split_last().unwrap_or((&[0; GROUP], &[]));
        let is_below = |group: &&[u32; GROUP]| group[GROUP - 1] < doc;
        let group = before_last.iter().filter(is_below).count();
        let inside = groups.get(group).map_or(0, |group| {
            group.iter().map(|&d| u32::from(d < doc)).sum::<u32>()
        });
        group * GROUP + inside as usize
    }

    /// Unpacks the documents of a full block, after the document `previous`. [`None`] for invalid
    /// data.
    pub(super) fn unpack_docs(
        &mut self,
        previous: Option<u32>,
        bits: u8,
        data: &[u8],
    ) -> Option<()> {
        let packed = data.get(..16 * usize::from(bits))?;
        unpack_ascending(previous, packed, bits, &mut self.docs);
        self.len = BLOCK;
        let is_ascending = cannot_overflow(previous, bits) || {
            let first = previous.is_none_or(|previous| previous < self.docs[0]);
            self.docs
                .windows(2)
                .fold(first, |so_far, pair| so_far & (pair[0] < pair[1]))
        };
        is_ascending.then_some(())
    }

    /// Unpacks the frequencies of a full block. [`None`] for invalid data.
    pub(super) fn unpack_tfs(&mut self, bits: u8, data: &[u8]) -> Option<()> {
        if bits == 0 {
            self.reset_tfs();
            return Some(());
        }
        (bits <= 32).then_some(())?;
        let packed = data.get(..16 * usize::from(bits))?;
        self.are_tfs_one = false;
        BitPacker4x::new().decompress(packed, &mut self.tfs, bits);
        if bits < 32 {
            self.tfs.iter_mut().for_each(|tf| *tf += 1);
        } else {
            let tfs = self.tfs.iter_mut();
            tfs.for_each(|tf| *tf = tf.saturating_add(1));
        }
        Some(())
    }

    /// Sets all frequencies to 1.
    pub(super) fn reset_tfs(&mut self) {
        if !self.are_tfs_one {
            self.tfs = [1; BLOCK];
            self.are_tfs_one = true;
        }
    }

    /// Decodes an incomplete block of `n` postings from the document `next` on, all below
    /// `documents`. Returns the bits that the frequencies minus one take; [`None`] for invalid
    /// data.
    pub(super) fn decode_varints(
        &mut self,
        n: usize,
        mut next: u64,
        documents: u32,
        data: &[u8],
    ) -> Option<u8> {
        self.clear();
        self.are_tfs_one = false;
        let mut input = ByteReader::new(data);
        let mut frequencies = 0;
        for (doc, tf) in self.docs.iter_mut().zip(&mut self.tfs).take(n) {
            let code = input.varint()?;
            let number = next.checked_add(code >> 1)?;
            (number < u64::from(documents)).then_some(())?;
            *doc = number as u32;
            *tf = match code & 1 {
                1 => 1,
                _ => input.varint32().filter(|&tf| tf > 0)?,
            };
            frequencies |= *tf - 1;
            next = number + 1;
        }
        self.len = n.min(BLOCK);
        Some((u32::BITS - frequencies.leading_zeros()) as u8)
    }
}

/// Returns whether the 128 gaps of a block after a document cannot overflow; every gap is at most
/// `2^bits`.
fn cannot_overflow(previous: Option<u32>, bits: u8) -> bool {
    const { assert!(BLOCK << 24 <= 1 << 31) };
    bits <= 24 && previous.is_none_or(|previous| previous < 1 << 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lower_bound_counts_documents(
            docs in prop::collection::btree_set(0_u32..400, 0..=BLOCK),
            doc in prop_oneof![0_u32..402, Just(END - 1), Just(END)],
        ) {
            let mut block = DecodedBlock::new();
            for (to, &doc) in block.docs.iter_mut().zip(&docs) {
                *to = doc;
            }
            block.len = docs.len();
            let expected = docs.iter().filter(|&&d| d < doc).count();
            prop_assert_eq!(block.lower_bound(doc), expected);
        }
    }
}
