//! Front-coded ids: each id as the length of the prefix that it shares with the previous one, and
//! its suffix.
//!
//! | part | bytes | content |
//! |---|---|---|
//! | blocks | | see below |
//! | ends | 8 for each block | end offset of the block |
//! | order | 1 | 1 if the ids ascend (equal ids included), else 0 |
//!
//! A block has 32 ids, the last one fewer. An id starts with a byte: the length of the shared
//! prefix (high four bits) and of the suffix (low four bits). A length of 15 or more is 15 there,
//! and the rest follows as a varint. The suffix follows. The first id of a block shares no prefix,
//! so that blocks are decoded independently.
//!
//! # Source
//! Witten, Moffat and Bell, "Managing Gigabytes", 2nd ed., 1999, section 4.1.

use std::io::{self, Write};
use std::sync::OnceLock;

use crate::store::{ByteReader, SectionBytes, write_varint};

/// Number of ids in a full block.
const BLOCK: usize = 32;
/// Lengths from this on continue in a varint.
const LONG: usize = 15;

/// Writes ids in the format above.
pub(super) fn write<'a, W: Write>(
    ids: impl IntoIterator<Item = &'a str>,
    to: &mut W,
) -> io::Result<()> {
    let (mut ends, mut end) = (Vec::new(), 0_u64);
    let mut block = Vec::new();
    let mut previous = "";
    let mut ascending = true;
    for (n, id) in ids.into_iter().enumerate() {
        ascending &= previous <= id;
        if n % BLOCK == 0 && n > 0 {
            end_block(&mut block, &mut ends, &mut end, to)?;
        }
        let same = |(a, b): &(u8, u8)| a == b;
        let shared = match n % BLOCK {
            0 => 0,
            _ => previous.bytes().zip(id.bytes()).take_while(same).count(),
        };
        let suffix = &id.as_bytes()[shared..];
        block.push((shared.min(LONG) << 4 | suffix.len().min(LONG)) as u8);
        for length in [shared, suffix.len()] {
            if let Some(rest) = length.checked_sub(LONG) {
                write_varint(&mut block, rest as u64);
            }
        }
        block.extend(suffix);
        previous = id;
    }
    if !block.is_empty() {
        end_block(&mut block, &mut ends, &mut end, to)?;
    }
    ends.push(u8::from(ascending));
    to.write_all(&ends)
}

fn end_block<W: Write>(
    block: &mut Vec<u8>,
    ends: &mut Vec<u8>,
    end: &mut u64,
    to: &mut W,
) -> io::Result<()> {
    to.write_all(block)?;
    *end += block.len() as u64;
    ends.extend(end.to_le_bytes());
    block.clear();
    Ok(())
}

/// Front-coded ids. A block is decoded when one of its ids is first read.
pub(super) struct FrontCodedIds {
    bytes: SectionBytes,
    count: usize,
    is_ascending: bool,
    blocks: Box<[OnceLock<Box<IdBlock>>]>,
}

/// The ids of a block; empty if the block is damaged.
#[derive(Default, PartialEq)]
struct IdBlock {
    text: String,
    ends: [u32; BLOCK],
}

impl FrontCodedIds {
    /// [`None`] if the bytes are not the ids of `count` documents as far as their length, their
    /// last offset and their order tell.
    pub(super) fn open(bytes: SectionBytes, count: usize) -> Option<Self> {
        let blocks = count.div_ceil(BLOCK);
        let ends = blocks.checked_mul(8)?.checked_add(1)?;
        let coded = bytes.as_ref().len().checked_sub(ends)?;
        let is_ascending = match bytes.as_ref().last()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let ids = Self {
            bytes,
            count,
            is_ascending,
            blocks: (0..blocks).map(|_| OnceLock::new()).collect(),
        };
        (ids.end(blocks)? == coded).then_some(ids)
    }

    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Returns `true` if every id is at least its predecessor.
    pub(super) const fn is_ascending(&self) -> bool {
        self.is_ascending
    }

    /// Id `n`; empty if it is damaged.
    ///
    /// # Panics
    /// If there are at most `n` ids.
    pub(super) fn at(&self, n: usize) -> &str {
        assert!(
            n < self.count,
            "expected a document below {}, found {n}",
            self.count
        );
        let decode = || Box::new(self.decode(n / BLOCK).unwrap_or_default());
        let block = self.blocks[n / BLOCK].get_or_init(decode);
        let end = |n: usize| block.ends[n] as usize;
        let n = n % BLOCK;
        &block.text[n.checked_sub(1).map_or(0, end)..end(n)]
    }

    /// Decodes all ids; `false` if one is damaged, or their order is not the recorded one.
    pub(super) fn is_intact(&self) -> bool {
        let is_valid = |block: usize| {
            let decoded = self.decode(block);
            let is_valid = decoded.is_some();
            self.blocks[block].get_or_init(|| Box::new(decoded.unwrap_or_default()));
            is_valid
        };
        (0..self.blocks.len()).all(is_valid) && self.iter().is_sorted() == self.is_ascending
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &str> + '_ {
        (0..self.count).map(|n| self.at(n))
    }

    /// End offset of the blocks before `block`.
    fn end(&self, block: usize) -> Option<usize> {
        let Some(before) = block.checked_sub(1) else {
            return Some(0);
        };
        let bytes = self.bytes.as_ref();
        let ends = bytes.len().checked_sub(8 * self.blocks.len() + 1)?;
        let mut end = ByteReader::new(bytes.get(ends + 8 * before..)?);
        usize::try_from(end.u64()?).ok()
    }

    fn decode(&self, block: usize) -> Option<IdBlock> {
        let range = self.end(block)?..self.end(block + 1)?;
        let mut reader = ByteReader::new(self.bytes.as_ref().get(range)?);
        let mut text = Vec::new();
        let mut ends = [0; BLOCK];
        let mut previous = 0;
        let count = BLOCK.min(self.count - block * BLOCK);
        for end in &mut ends[..count] {
            let lengths = usize::from(reader.u8()?);
            let mut length = |short: usize| match short {
                LONG => usize::try_from(reader.varint()?).ok()?.checked_add(LONG),
                _ => Some(short),
            };
            let (shared, suffix) = (length(lengths >> 4)?, length(lengths & 15)?);
            let start = text.len();
            (shared <= start - previous).then_some(())?;
            text.extend_from_within(previous..previous + shared);
            text.extend(reader.take(suffix)?);
            *end = u32::try_from(text.len()).ok()?;
            previous = start;
        }
        let text = String::from_utf8(text).ok()?;
        ends[count..].fill(text.len() as u32);
        let are_ids = ends.iter().all(|&end| text.is_char_boundary(end as usize));
        (reader.is_empty() && are_ids).then_some(IdBlock { text, ends })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::DocIds;
    use crate::store::IndexBytes;
    use proptest::prelude::*;

    fn section(bytes: Vec<u8>) -> SectionBytes {
        SectionBytes::from(IndexBytes::from(bytes))
    }

    fn encode<'a>(ids: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(ids, &mut bytes).unwrap();
        bytes
    }

    fn assert_round_trip(ids: &[&str]) {
        let bytes = encode(ids.iter().copied());
        let coded = FrontCodedIds::open(section(bytes), ids.len()).unwrap();
        assert!(coded.is_intact());
        assert_eq!(coded.is_ascending(), ids.is_sorted());
        let decoded: Vec<&str> = (0..ids.len()).rev().map(|n| coded.at(n)).collect();
        assert!(decoded.iter().rev().eq(ids));
    }

    #[test]
    fn ids_round_trip() {
        assert_round_trip(&[]);
        assert_round_trip(&["", "", "a", "ü", "ú", "a"]);
        let long: Vec<String> = (10..18)
            .flat_map(|n| ["x".repeat(n), "xy".repeat(n)])
            .collect();
        assert_round_trip(&long.iter().map(String::as_str).collect::<Vec<_>>());
        let huge = "é".repeat(DocIds::MAX_LEN / 2);
        assert_round_trip(&[&huge, &huge, &huge[2..], "é"]);
        let numbers: Vec<String> = (0..1000).map(|n| format!("MED-{n:04}")).collect();
        let ids: Vec<&str> = numbers.iter().map(String::as_str).collect();
        for n in [1, BLOCK - 1, BLOCK, BLOCK + 1, 1000] {
            assert_round_trip(&ids[..n]);
        }
        assert!(encode(ids).len() < 3000, "two bytes for most ids");
    }

    #[test]
    fn lookups_equal_those_in_memory() {
        for ids in [["a", "b", "b", "c"], ["b", "a", "c", "b"]] {
            let in_memory: DocIds = ids.into_iter().collect();
            let coded = DocIds::from_section(section(encode(ids)), ids.len()).unwrap();
            assert_eq!(coded, in_memory);
            assert_eq!(coded.order(), in_memory.order());
            for id in ["", "a", "b", "c", "d"] {
                assert_eq!(coded.get(id), in_memory.get(id), "{id}");
            }
            assert_eq!(coded.check_unique(), in_memory.check_unique());
            let mut appended = coded.clone();
            appended.push("aa").unwrap();
            assert_eq!(
                appended.iter().collect::<Vec<_>>(),
                [&ids[..], &["aa"]].concat()
            );
        }
    }

    #[test]
    fn another_number_of_ids_is_an_error() {
        let bytes = encode(["a", "b"]);
        for n in [0, 1, 3, 33, usize::MAX] {
            let ids = DocIds::from_section(section(bytes.clone()), n);
            assert!(ids.is_none_or(|ids| !ids.is_intact()), "{n}");
        }
    }

    proptest! {
        #[test]
        fn any_ids_round_trip(ids in prop::collection::vec("[ab\u{e9}]{0,20}", 0..100)) {
            assert_round_trip(&ids.iter().map(String::as_str).collect::<Vec<_>>());
        }

        #[test]
        fn damaged_bytes_never_panic(
            ids in prop::collection::vec("[ab\u{e9}]{0,20}", 1..70),
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut bytes = encode(ids.iter().map(String::as_str));
            for (at, value) in flips {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if let Some(coded) = FrontCodedIds::open(section(bytes), ids.len()) {
                let decoded: Vec<&str> = coded.iter().collect();
                prop_assert_eq!(decoded.len(), ids.len());
                prop_assert!(!coded.is_intact() || coded.is_ascending() == decoded.is_sorted());
            }
        }
    }
}
