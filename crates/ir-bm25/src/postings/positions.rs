//! Positions of the terms in the documents of a posting list.
//!
//! For a list of several blocks: the end offset of the positions of every block from the start of
//! the positions (4). Then, for every posting, its first position and the differences of the
//! others from their predecessors, as varints.

use std::ops::Range;

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

/// Range of the positions of a block in the `len` bytes of positions of a list with so many blocks.
/// `read` returns the bytes of a range. Returns [`None`] if damaged.
pub(super) fn block_range<'a, E>(
    (block, blocks): (usize, usize),
    len: usize,
    read: impl Fn(Range<usize>) -> Result<&'a [u8], E>,
) -> Result<Option<Range<usize>>, E> {
    if blocks == 1 {
        return Ok(Some(0..len));
    }
    let Some(first) = blocks.checked_mul(4).filter(|&first| first <= len) else {
        return Ok(None);
    };
    if block >= blocks {
        return Ok(None);
    }
    // The ends of the block before and of this one.
    let ends = read(4 * block.saturating_sub(1)..4 * block + 4)?;
    let mut input = ByteReader::new(ends);
    let ends = (|| {
        let start = match block {
            0 => 0,
            _ => input.u32()? as usize,
        };
        let end = input.u32()? as usize;
        (start <= end && end <= len - first).then(|| first + start..first + end)
    })();
    Ok(ends)
}

/// Bytes after this number of varints; [`None`] if there are fewer.
pub(super) fn skip(bytes: &[u8], varints: u64) -> Option<&[u8]> {
    /// The high bits, which are set in all bytes of a varint but the last.
    const MORE: u64 = 0x8080_8080_8080_8080;
    let (mut rest, mut left) = (bytes, varints);
    while left >= 8
        && let Some((eight, others)) = rest.split_first_chunk()
    {
        left -= u64::from((!u64::from_le_bytes(*eight) & MORE).count_ones());
        rest = others;
    }
    let mut at = 0;
    while left > 0 {
        left -= u64::from(*rest.get(at)? < 0x80);
        at += 1;
    }
    rest.get(at..)
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
            let read = |range| bytes.get(range).ok_or(());
            let found = block_range((at.min(blocks - 1), blocks), bytes.len(), read);
            let Some(block) = found.unwrap() else {
                return Ok(());
            };
            let Some(rest) = skip(&bytes[block], varints) else {
                return Ok(());
            };
            let mut positions = Vec::new();
            if read_gaps(&mut ByteReader::new(rest), tf, &mut positions).is_some() {
                prop_assert_eq!(positions.len(), tf as usize);
                prop_assert!(positions.is_sorted());
            }
        }
    }

    proptest! {
        /// Skipped varints are those that a reader reads.
        #[test]
        fn skipped_varints(
            values in prop::collection::vec(prop_oneof![0..3_u32, any::<u32>()], 0..60),
            count in 0..70_u64,
        ) {
            let mut bytes = Vec::new();
            values.iter().for_each(|value| write_varint(&mut bytes, u64::from(*value)));
            let mut input = ByteReader::new(&bytes);
            let read = (0..count).all(|_| input.varint().is_some());
            let expected = read.then(|| input.rest());
            prop_assert_eq!(skip(&bytes, count), expected);
        }
    }
}
