//! Term dictionary: a finite-state transducer from a key, which is a field number and a term, to
//! the offset of the posting list.
//!
//! The crate `fst` writes it. It is not read with `fst`, which trusts its bytes and panics for
//! invalid ones: checksums find damage, but bytes could be forged with correct checksums. Here,
//! every offset is verified while a node is read.
//!
//! # Layout of a node
//! The address of a node is the address of its last byte, the state. Its fields precede that byte,
//! the last one first:
//! - state 0b11......: one transition, to the node that precedes this one. The input (1) if the low
//!   six bits are 0, which otherwise are the number of a frequent input;
//! - state 0b10......: one transition. The input (1) if the low six bits are 0; the sizes (1); the
//!   address; the output;
//! - state 0b0.......: the number of transitions (1, where 1 means 256) if the low six bits are 0;
//!   the sizes (1); an index (256) for more than 32 transitions; the inputs, addresses and outputs;
//!   the final output, if the second bit is set.
//!
//! The sizes are the size of an address (high four bits) and the size of an output. An address is
//! the distance from the first byte of the node, or 0 for the node 0, which is final and has no
//! transition.

use std::ops::ControlFlow::{self, Break, Continue};

use fst::raw::Fst;
use ir_core::store::SectionBytes;

use crate::prefetch::prefetch;

/// The bytes are not a term dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidDictionary;

/// Version of the layout that `fst` writes.
const VERSION: u64 = fst::raw::VERSION;
/// Size of the header: version and type.
const HEADER: usize = 16;
/// Size of the footer: number of keys, address of the root, checksum.
const FOOTER: usize = 20;
/// Address of the final node without transitions.
const EMPTY: usize = 0;
/// Nodes with more transitions have an index.
const MAX_WITHOUT_INDEX: usize = 32;
const INDEX: usize = 256;

/// Number of lookups at the same time.
const LOOKUPS: usize = 16;
/// Bytes before a node that are in the cache with it, if any is.
const NEAR: usize = 63;
/// One more than the number of inputs that a state encodes.
const COMMON_INPUTS: usize = 64;

#[derive(Clone)]
pub(crate) struct TermDictionary {
    bytes: SectionBytes,
    root: usize,
    /// The inputs by their number in a state.
    common_inputs: [u8; COMMON_INPUTS],
}

/// A node. Its fields lie between the header and its state.
#[derive(Clone, Copy)]
struct Node<'a> {
    bytes: &'a [u8],
    /// Offset of the first byte.
    start: usize,
    /// Number of transitions, at most 256.
    len: usize,
    inputs: Inputs,
    /// End of the addresses of the transitions, of which the first is the last one. Their outputs
    /// precede the addresses in the same order.
    addresses: usize,
    /// 0 if the only transition is to the node before.
    address_size: usize,
    output_size: usize,
    is_final: bool,
}

#[derive(Clone, Copy)]
enum Inputs {
    One(u8),
    /// End of the inputs, of which the first is the last one, and whether an index follows.
    Many(usize, bool),
}

impl<'a> Node<'a> {
    const EMPTY: Self = Self {
        bytes: &[],
        start: EMPTY,
        len: 0,
        inputs: Inputs::Many(0, false),
        addresses: 0,
        address_size: 0,
        output_size: 0,
        is_final: true,
    };

    /// Reads the node at an address.
    #[inline]
    fn new(dictionary: &'a TermDictionary, addr: usize) -> Result<Self, InvalidDictionary> {
        Self::read(dictionary, addr).ok_or(InvalidDictionary)
    }

    #[inline]
    fn read(dictionary: &'a TermDictionary, addr: usize) -> Option<Self> {
        if addr == EMPTY {
            return Some(Self::EMPTY);
        }
        let bytes = dictionary.bytes.as_ref();
        (addr < bytes.len().checked_sub(FOOTER)?).then_some(())?;
        let state = *bytes.get(addr)?;
        let low = usize::from(state & 0b11_1111);
        // Offset below `from` of a field of this size.
        let field = |from: usize, size: usize| from.checked_sub(size).filter(|&at| at >= HEADER);
        let mut node = Self {
            bytes,
            start: addr,
            len: 1,
            ..Self::EMPTY
        };
        if state & 0b1000_0000 == 0 {
            let mut at = addr;
            node.len = low;
            if low == 0 {
                at = field(at, 1)?;
                node.len = match *bytes.get(at)? {
                    1 => 256,
                    n => usize::from(n),
                };
            }
            at = field(at, 1)?;
            node.read_sizes(*bytes.get(at)?)?;
            let has_index = node.len > MAX_WITHOUT_INDEX;
            let inputs = field(at, if has_index { INDEX } else { 0 })?;
            node.inputs = Inputs::Many(inputs, has_index);
            node.addresses = field(inputs, node.len)?;
            node.is_final = state & 0b100_0000 != 0;
            let outputs = node.len + usize::from(node.is_final);
            let size = node.len * node.address_size + outputs * node.output_size;
            node.start = field(node.addresses, size)?;
            return Some(node);
        }
        let mut at = addr;
        let mut input = dictionary.common_inputs[low];
        if low == 0 {
            at = field(at, 1)?;
            input = *bytes.get(at)?;
        }
        node.inputs = Inputs::One(input);
        node.is_final = false;
        if state & 0b100_0000 == 0 {
            at = field(at, 1)?;
            node.read_sizes(*bytes.get(at)?)?;
            node.addresses = at;
            at = field(at, node.address_size + node.output_size)?;
        }
        node.start = at;
        Some(node)
    }

    #[inline]
    fn read_sizes(&mut self, sizes: u8) -> Option<()> {
        self.address_size = usize::from(sizes >> 4);
        self.output_size = usize::from(sizes & 15);
        let has_addresses = self.len == 0 || self.address_size > 0;
        (self.address_size <= 8 && self.output_size <= 8 && has_addresses).then_some(())
    }

    /// The integer of `size` bytes, at most 8, below `end`.
    #[inline]
    fn integer(&self, end: usize, size: usize) -> Option<u64> {
        // The footer follows the last node, so that there are eight bytes.
        let eight = self.bytes.get(end.checked_sub(size)?..)?.first_chunk()?;
        let mask = u64::MAX.checked_shr(64 - 8 * size as u32).unwrap_or(0);
        Some(u64::from_le_bytes(*eight) & mask)
    }

    /// The number of the transition with an input.
    #[inline]
    fn find(&self, input: u8) -> Option<usize> {
        match self.inputs {
            Inputs::One(only) => (only == input).then_some(0),
            Inputs::Many(end, true) => {
                let at = usize::from(*self.bytes.get(end + usize::from(input))?);
                (at < self.len).then_some(at)
            }
            Inputs::Many(end, false) => {
                let inputs = self.bytes.get(end - self.len..end)?;
                inputs.iter().rev().position(|&byte| byte == input)
            }
        }
    }

    /// The input of a transition below [`Node::len`].
    fn input(&self, at: usize) -> Option<u8> {
        match self.inputs {
            Inputs::One(only) => Some(only),
            Inputs::Many(end, _) => self.bytes.get(end.checked_sub(at + 1)?).copied(),
        }
    }

    /// Output and address of a transition below [`Node::len`]. The address is a positive distance
    /// below the node: nodes are written after those that they lead to, so there are no cycles.
    #[inline]
    fn follow(&self, at: usize) -> Result<(u64, usize), InvalidDictionary> {
        self.transition(at).ok_or(InvalidDictionary)
    }

    #[inline]
    fn transition(&self, at: usize) -> Option<(u64, usize)> {
        if self.address_size == 0 {
            return Some((0, self.start.checked_sub(1)?)).filter(|_| self.start > HEADER);
        }
        let end = self.addresses - at * self.address_size;
        let distance = self.integer(end, self.address_size)?;
        let addr = match usize::try_from(distance).ok()? {
            0 => EMPTY,
            distance => self.start.checked_sub(distance)?,
        };
        let outputs = self.addresses - self.len * self.address_size;
        let output = self.integer(outputs - at * self.output_size, self.output_size)?;
        Some((output, addr))
    }

    /// The output of the key that ends at a final node.
    fn final_output(&self) -> Result<u64, InvalidDictionary> {
        if self.output_size == 0 {
            return Ok(0);
        }
        let output = self.integer(self.start + self.output_size, self.output_size);
        output.ok_or(InvalidDictionary)
    }
}

/// The inputs that `fst` encodes in a state, by their number there. `fst` does not export them, so
/// they are read from a dictionary that has a node for each.
fn common_inputs() -> [u8; COMMON_INPUTS] {
    let mut bytes = VERSION.to_le_bytes().to_vec();
    bytes.resize(HEADER, 0);
    bytes.extend((0..COMMON_INPUTS as u8).map(|number| 0b1100_0000 | number));
    let root = bytes.len() as u64 - 1;
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(root.to_le_bytes());
    bytes.extend([0; 4]);
    let mut inputs = [0; COMMON_INPUTS];
    if let Ok(fst) = Fst::new(bytes) {
        for (number, input) in inputs.iter_mut().enumerate().skip(1) {
            *input = fst.node(HEADER + number).transition(0).inp;
        }
    }
    inputs
}

impl TermDictionary {
    pub(crate) fn new(bytes: SectionBytes) -> Result<Self, fst::Error> {
        // Verifies the size of the header and the footer.
        let fst = Fst::new(bytes)?;
        let bytes = fst.as_bytes();
        let version = bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let footer = bytes
            .len()
            .checked_sub(FOOTER)
            .and_then(|at| bytes.get(at + 8..));
        let root = footer.and_then(|footer| footer.first_chunk());
        let root = root.map(|bytes| u64::from_le_bytes(*bytes));
        let root = root.and_then(|root| usize::try_from(root).ok());
        match (version, root) {
            (Some(VERSION), Some(root)) => Ok(Self {
                bytes: fst.into_inner(),
                root,
                common_inputs: common_inputs(),
            }),
            (Some(got), Some(_)) => {
                let expected = VERSION;
                Err(fst::raw::Error::Version { expected, got }.into())
            }
            _ => Err(fst::raw::Error::Format { size: bytes.len() }.into()),
        }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<u64>, InvalidDictionary> {
        let mut lookup = Lookup::new(self, 0, key);
        loop {
            if let Break(found) = self.advance(&mut lookup)? {
                return Ok(found);
            }
        }
    }

    /// The offsets of keys, in their order. Reads the nodes of several keys in turn, so that the
    /// CPU loads them into the cache at the same time.
    pub(crate) fn get_all<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
    ) -> Result<Vec<Option<u64>>, InvalidDictionary> {
        let mut offsets = vec![None; keys.len()];
        let mut keys = keys.iter().enumerate();
        let mut start = || {
            let (number, key) = keys.next()?;
            Some(Lookup::new(self, number, key.as_ref()))
        };
        let mut lookups: Vec<_> = std::iter::from_fn(&mut start).take(LOOKUPS).collect();
        while !lookups.is_empty() {
            let mut at = 0;
            while let Some(lookup) = lookups.get_mut(at) {
                let Break(found) = self.advance(lookup)? else {
                    at += 1;
                    continue;
                };
                offsets[lookup.number] = found;
                match start() {
                    Some(next) => *lookup = next,
                    None => {
                        lookups.swap_remove(at);
                    }
                }
            }
        }
        Ok(offsets)
    }

    /// Reads nodes up to one that is not in the cache, which is prefetched, or to the end of the
    /// lookup, which is the offset of the key.
    #[inline]
    fn advance(
        &self,
        lookup: &mut Lookup<'_>,
    ) -> Result<ControlFlow<Option<u64>>, InvalidDictionary> {
        loop {
            let node = Node::new(self, lookup.addr)?;
            let Some((&byte, rest)) = lookup.rest.split_first() else {
                if !node.is_final {
                    return Ok(Break(None));
                }
                let offset = sum(lookup.output, node.final_output()?)?;
                return Ok(Break(Some(offset)));
            };
            let Some(at) = node.find(byte) else {
                return Ok(Break(None));
            };
            let (output, addr) = node.follow(at)?;
            lookup.output = sum(lookup.output, output)?;
            lookup.addr = addr;
            lookup.rest = rest;
            if node.start.saturating_sub(addr) > NEAR && addr != EMPTY {
                let line = addr.saturating_sub(NEAR)..addr + 1;
                prefetch(node.bytes.get(line).unwrap_or_default());
                return Ok(Continue(()));
            }
        }
    }

    /// The keys, ascending, with their offsets.
    pub(crate) fn keys(&self) -> TermKeys<'_> {
        TermKeys {
            dictionary: self,
            key: Vec::new(),
            path: Vec::new(),
            is_started: false,
        }
    }
}

/// Search for the offset of a key.
struct Lookup<'k> {
    /// Number of the key.
    number: usize,
    /// The part of the key that was not read.
    rest: &'k [u8],
    /// Address of the next node.
    addr: usize,
    /// Sum of the outputs so far.
    output: u64,
}

impl<'k> Lookup<'k> {
    fn new(dictionary: &TermDictionary, number: usize, key: &'k [u8]) -> Self {
        Self {
            number,
            rest: key,
            addr: dictionary.root,
            output: 0,
        }
    }
}

/// Iterator over the keys of a dictionary, in depth-first order of its nodes.
pub(crate) struct TermKeys<'a> {
    dictionary: &'a TermDictionary,
    key: Vec<u8>,
    path: Vec<Step<'a>>,
    is_started: bool,
}

struct Step<'a> {
    node: Node<'a>,
    /// Sum of the outputs on the path.
    output: u64,
    is_listed: bool,
    next_transition: usize,
}

impl<'a> TermKeys<'a> {
    pub(crate) fn next(&mut self) -> Result<Option<(&[u8], u64)>, InvalidDictionary> {
        let dictionary = self.dictionary;
        if !self.is_started {
            self.is_started = true;
            let root = Node::new(dictionary, dictionary.root)?;
            self.path.push(Step::new(root, 0));
        }
        while let Some(step) = self.path.last_mut() {
            let node = step.node;
            if !step.is_listed {
                step.is_listed = true;
                if node.is_final {
                    let offset = sum(step.output, node.final_output()?)?;
                    return Ok(Some((&self.key, offset)));
                }
                // Every path leads to a key, except in a dictionary without keys. Otherwise the
                // number of keys would not bound the number of paths.
                if node.len == 0 && !self.key.is_empty() {
                    return Err(InvalidDictionary);
                }
            }
            if step.next_transition == node.len {
                self.path.pop();
                self.key.pop();
                continue;
            }
            let input = node.input(step.next_transition).ok_or(InvalidDictionary)?;
            let (of_transition, addr) = node.follow(step.next_transition)?;
            step.next_transition += 1;
            let output = sum(step.output, of_transition)?;
            self.key.push(input);
            self.path
                .push(Step::new(Node::new(dictionary, addr)?, output));
        }
        Ok(None)
    }
}

impl<'a> Step<'a> {
    fn new(node: Node<'a>, output: u64) -> Self {
        Self {
            node,
            output,
            is_listed: false,
            next_transition: 0,
        }
    }
}

fn sum(a: u64, b: u64) -> Result<u64, InvalidDictionary> {
    a.checked_add(b).ok_or(InvalidDictionary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir_core::store::IndexBytes;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn dictionary(keys: &BTreeMap<Vec<u8>, u64>) -> Vec<u8> {
        let mut builder = fst::MapBuilder::memory();
        let pairs = keys.iter().map(|(key, &offset)| (key, offset));
        builder.extend_iter(pairs).unwrap();
        builder.into_inner().unwrap()
    }

    fn open(bytes: Vec<u8>) -> Option<TermDictionary> {
        TermDictionary::new(SectionBytes::from(IndexBytes::from(bytes))).ok()
    }

    /// Nodes of one transition, with every input: in the state or a byte of its own, and with an
    /// output and the address of a node or neither.
    #[test]
    fn every_input_is_read() {
        let key = |byte: u8, n: u8| vec![byte, n, byte, byte];
        let of_byte = |byte| [(key(byte, 0), u64::from(byte)), (key(byte, 1), 1 << 40)];
        let keys: BTreeMap<_, _> = (0..=u8::MAX).flat_map(of_byte).collect();
        let dictionary = open(dictionary(&keys)).unwrap();
        let mut listed = dictionary.keys();
        for (key, &offset) in &keys {
            assert_eq!(listed.next(), Ok(Some((key.as_slice(), offset))));
            assert_eq!(dictionary.get(key), Ok(Some(offset)));
        }
        assert_eq!(listed.next(), Ok(None));
    }

    /// Roots of one transition with every input, an output and the address of a node.
    #[test]
    fn every_input_with_output_is_read() {
        for byte in 0..=u8::MAX {
            let keys = [(vec![byte, 0], 1 << 40), (vec![byte, 1], (1 << 40) + 1)];
            let keys = BTreeMap::from(keys);
            let dictionary = open(dictionary(&keys)).unwrap();
            let root = Node::new(&dictionary, dictionary.root).unwrap();
            assert!(matches!(root.inputs, Inputs::One(_)) && root.output_size > 0);
            for (key, &offset) in &keys {
                assert_eq!(dictionary.get(key), Ok(Some(offset)));
            }
            assert_eq!(dictionary.get(&[byte]), Ok(None));
        }
    }

    proptest! {
        #[test]
        fn keys_round_trip(
            keys in prop::collection::btree_map("[ab\u{e9}]{0,6}", any::<u64>(), 0..80),
        ) {
            let keys = keys.into_iter().map(|(key, offset)| (key.into_bytes(), offset)).collect();
            let dictionary = open(dictionary(&keys)).unwrap();
            let mut listed = dictionary.keys();
            for (key, &offset) in &keys {
                prop_assert_eq!(listed.next(), Ok(Some((key.as_slice(), offset))));
                prop_assert_eq!(dictionary.get(key), Ok(Some(offset)));
            }
            prop_assert_eq!(listed.next(), Ok(None));
            prop_assert_eq!(dictionary.get(b"not a key"), Ok(None));
        }

        /// Known and unknown keys, some twice, more and fewer than are looked up at once.
        #[test]
        fn lookups_at_once_find_the_same(
            keys in prop::collection::btree_map("[ab\u{e9}]{0,6}", any::<u64>(), 0..80),
            unknown in prop::collection::vec("[abc]{0,6}", 0..20),
            size in 0_usize..200,
        ) {
            let keys: BTreeMap<_, _> =
                keys.into_iter().map(|(key, offset)| (key.into_bytes(), offset)).collect();
            let dictionary = open(dictionary(&keys)).unwrap();
            let searched = keys.keys().map(Vec::as_slice).chain(unknown.iter().map(String::as_bytes));
            let searched: Vec<_> = searched.cycle().step_by(3).take(size).collect();
            let expected: Result<Vec<_>, _> = searched.iter().map(|key| dictionary.get(key)).collect();
            prop_assert_eq!(dictionary.get_all(&searched), expected);
        }
    }

    /// Sets every byte of dictionaries to several values, and runs of bytes to random ones.
    #[test]
    fn forged_bytes_are_an_error_or_other_keys() {
        // Nodes of every layout: one transition, few, more than 32, 256; with and without outputs.
        let bytes = 0..=u8::MAX;
        let wide = bytes
            .clone()
            .map(|byte| (vec![b'x', byte], u64::from(byte) << 20));
        let medium = (0..40).map(|byte| (vec![b'y', byte, 7], 3));
        let words = ["a", "ab", "abc", "tea", "teapot", "zeal", "\u{e9}t\u{e9}"];
        let words = words.iter().enumerate();
        let words = words.map(|(n, word)| (word.as_bytes().to_vec(), n as u64 * 1_000_003));
        let large = [(vec![b'z', 1, 2, 3], u64::MAX)];
        let keys: BTreeMap<_, _> = wide.chain(medium).chain(words).chain(large).collect();
        let valid = dictionary(&keys);
        let mut random = 1_u64;
        let mut next = |below: usize| {
            random = random
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f);
            (random >> 33) as usize % below
        };
        let singles = (0..valid.len())
            .flat_map(|at| [0, 1, 0x40, 0x80, 0xc0, 0xff].map(|value| (at, value, 1)));
        let runs: Vec<_> = (0..10_000)
            .map(|_| (next(valid.len()), next(256) as u8, 1 + next(8)))
            .collect();
        let mut errors = 0;
        for (at, value, run) in singles.chain(runs) {
            let mut forged = valid.clone();
            for (n, byte) in forged.iter_mut().skip(at).take(run).enumerate() {
                *byte = value.wrapping_mul(1 + n as u8);
            }
            errors += usize::from(read_all(forged, &keys));
        }
        // The root, the sizes and addresses of nodes.
        assert!(errors > 1000, "{errors}");
        for len in 0..valid.len() {
            read_all(valid[..len].to_vec(), &keys);
        }
    }

    /// Looks the keys up and lists as many. Returns whether there was an error.
    fn read_all(bytes: Vec<u8>, keys: &BTreeMap<Vec<u8>, u64>) -> bool {
        let Some(dictionary) = open(bytes) else {
            return true;
        };
        let found: Result<Vec<_>, _> = keys.keys().map(|key| dictionary.get(key)).collect();
        let all: Vec<_> = keys.keys().collect();
        assert_eq!(dictionary.get_all(&all), found);
        let is_error = found.is_err();
        let mut listed = dictionary.keys();
        for _ in 0..2 * keys.len() {
            match listed.next() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(InvalidDictionary) => return true,
            }
        }
        is_error
    }
}
