//! Positions of the terms in the documents of a posting list.
//!
//! For a list of several blocks: the end offset of the positions of every block from the start of
//! those of the first (4). Then, for every posting, its first position and the differences of the
//! others from their predecessors, as varints.

use ir_core::store::{ByteReader, write_varint};

use super::{BLOCK, Posting};

/// Appends the positions of postings: as many for each as its frequency, in their order. [`None`]
/// if they take more than 4 GiB.
pub(super) fn encode(postings: &[Posting], positions: &[u32], to: &mut Vec<u8>) -> Option<()> {
    let mut ends = Vec::new();
    let mut bytes = Vec::new();
    let mut rest = positions;
    for block in postings.chunks(BLOCK) {
        for posting in block {
            let (these, others) = rest.split_at_checked(posting.tf as usize)?;
            write_gaps(these, &mut bytes);
            rest = others;
        }
        ends.extend(u32::try_from(bytes.len()).ok()?.to_le_bytes());
    }
    if postings.len() > BLOCK {
        to.append(&mut ends);
    }
    to.append(&mut bytes);
    Some(())
}

/// Appends the first position and the differences of the others from their predecessors. Positions
/// must not descend.
pub(crate) fn write_gaps(positions: &[u32], to: &mut Vec<u8>) {
    let mut before = 0;
    for &position in positions {
        write_varint(to, u64::from(position.saturating_sub(before)));
        before = position;
    }
}

/// Reads `tf` positions, which do not descend; [`None`] if damaged.
pub(crate) fn read_gaps(input: &mut ByteReader<'_>, tf: u32, to: &mut Vec<u32>) -> Option<()> {
    let mut position = 0_u32;
    for _ in 0..tf {
        position = position.checked_add(input.varint32()?)?;
        to.push(position);
    }
    Some(())
}

/// Bytes of the positions of a block of a list with so many blocks.
pub(super) fn block(positions: &[u8], block: usize, blocks: usize) -> Option<&[u8]> {
    if blocks == 1 {
        return Some(positions);
    }
    let (ends, bytes) = positions.split_at_checked(blocks.checked_mul(4)?)?;
    let end = |block: usize| {
        let mut input = ByteReader::new(ends.get(4 * block..)?);
        Some(input.u32()? as usize)
    };
    let start = block.checked_sub(1).map_or(Some(0), end)?;
    bytes.get(start..end(block)?)
}

/// Bytes after this number of varints; [`None`] if there are fewer.
pub(super) fn skip(bytes: &[u8], varints: u64) -> Option<&[u8]> {
    let mut rest = varints;
    let mut at = 0;
    while rest > 0 {
        rest -= u64::from(*bytes.get(at)? < 0x80);
        at += 1;
    }
    bytes.get(at..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Forged positions are an error, or positions that do not descend.
        #[test]
        fn forged_positions(
            bytes in prop::collection::vec(prop_oneof![Just(0xff), 0_u8..16, any::<u8>()], 0..80),
            (at, blocks) in (0..4_usize, 1..5_usize),
            varints in prop_oneof![0..20_u64, Just(u64::MAX)],
            tf in prop_oneof![0..20_u32, Just(u32::MAX)],
        ) {
            let found = block(&bytes, at.min(blocks - 1), blocks);
            let Some(rest) = found.and_then(|block| skip(block, varints)) else {
                return Ok(());
            };
            let mut positions = Vec::new();
            if read_gaps(&mut ByteReader::new(rest), tf, &mut positions).is_some() {
                prop_assert_eq!(positions.len(), tf as usize);
                prop_assert!(positions.is_sorted());
            }
        }
    }
}
