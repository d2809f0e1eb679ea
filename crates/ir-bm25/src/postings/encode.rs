//! Encoding of a posting list.

use bitpacking::{BitPacker, BitPacker4x};

use super::impacts::{Impact, competitive_impacts};
use super::{BLOCK, BLOCK_IMPACTS, LIST_IMPACTS, Posting, VARINTS, kth_impacts, positions};
use ir_core::store::write_varint;

/// Appends a posting list. `postings` must not be empty and must ascend by document; `length`
/// returns the length of a document's field. `positions` are the positions of all postings, for an
/// index with positions. Returns [`None`] if the blocks take more than 4 GiB.
pub(crate) fn encode(
    postings: &[Posting],
    positions: Option<&[u32]>,
    length: impl Fn(u32) -> u32,
    to: &mut Vec<u8>,
) -> Option<()> {
    let occurrences: u64 = postings.iter().map(|p| u64::from(p.tf)).sum();
    write_varint(to, postings.len() as u64);
    write_varint(to, occurrences - postings.len() as u64);
    let Some(positions) = positions else {
        return encode_blocks(postings, length, to);
    };
    let (mut blocks, mut encoded) = (Vec::new(), Vec::new());
    encode_blocks(postings, length, &mut blocks)?;
    positions::encode(postings, positions, &mut encoded)?;
    write_varint(to, blocks.len() as u64);
    write_varint(to, encoded.len() as u64);
    to.append(&mut blocks);
    to.append(&mut encoded);
    Some(())
}

/// Appends the impacts, the block entries and the blocks.
fn encode_blocks(
    postings: &[Posting],
    length: impl Fn(u32) -> u32,
    to: &mut Vec<u8>,
) -> Option<()> {
    let impact = |posting: &Posting| Impact::new(posting.tf, length(posting.doc));
    if postings.len() > 1 {
        let impacts = competitive_impacts(postings.iter().map(impact), LIST_IMPACTS);
        to.push(impacts.len() as u8);
        impacts.iter().for_each(|p| to.extend([p.tf, p.length]));
    }
    kth_impacts::write(postings, &length, to);
    let mut blocks = Vec::new();
    let mut previous = None;
    for block in postings.chunks(BLOCK) {
        let (doc_bits, tf_bits) = if block.len() == BLOCK {
            pack(previous, block, &mut blocks)
        } else {
            encode_varints(previous, block, &mut blocks);
            (VARINTS, 0)
        };
        previous = block.last().map(|p| p.doc);
        if postings.len() >= BLOCK {
            let last = previous.unwrap_or_default();
            to.extend(last.to_le_bytes());
            to.extend(u32::try_from(blocks.len()).ok()?.to_le_bytes());
            to.extend([doc_bits, tf_bits]);
            let impacts = competitive_impacts(block.iter().map(impact), BLOCK_IMPACTS);
            let last = impacts.last().copied().unwrap_or(Impact::new(0, 0));
            for at in 0..BLOCK_IMPACTS {
                let p = impacts.get(at).copied().unwrap_or(last);
                to.extend([p.tf, p.length]);
            }
        }
    }
    to.append(&mut blocks);
    Some(())
}

fn pack(previous: Option<u32>, block: &[Posting], to: &mut Vec<u8>) -> (u8, u8) {
    let packer = BitPacker4x::new();
    let mut numbers = [0_u32; BLOCK];
    let mut packed = [0_u8; 4 * BLOCK];
    for (number, posting) in numbers.iter_mut().zip(block) {
        *number = posting.doc;
    }
    let doc_bits = packer.num_bits_strictly_sorted(previous, &numbers);
    let n = packer.compress_strictly_sorted(previous, &numbers, &mut packed, doc_bits);
    to.extend(&packed[..n]);
    for (number, posting) in numbers.iter_mut().zip(block) {
        *number = posting.tf.saturating_sub(1);
    }
    let tf_bits = packer.num_bits(&numbers);
    let n = packer.compress(&numbers, &mut packed, tf_bits);
    to.extend(&packed[..n]);
    (doc_bits, tf_bits)
}

fn encode_varints(previous: Option<u32>, block: &[Posting], to: &mut Vec<u8>) {
    let mut next = previous.map_or(0, |doc| u64::from(doc) + 1);
    for posting in block {
        let gap = u64::from(posting.doc) - next;
        next = u64::from(posting.doc) + 1;
        write_gap(to, gap, posting.tf);
    }
}

/// Appends twice the gap, plus one if the frequency is one; else the frequency follows.
#[inline]
pub(crate) fn write_gap(to: &mut Vec<u8>, gap: u64, tf: u32) {
    write_varint(to, gap << 1 | u64::from(tf == 1));
    if tf != 1 {
        write_varint(to, u64::from(tf));
    }
}
