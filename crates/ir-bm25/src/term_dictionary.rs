//! Term dictionary: a finite-state transducer from a key, which is a field number and a term, to
//! the offset of the posting list.
//!
//! The crate `fst` trusts its bytes, and panics for invalid ones. Checksums find damage; bytes
//! could still be forged with correct checksums. So the layout of every node is verified before
//! `fst` reads it.
//!
//! # Layout of a node
//! The address of a node is that of its last byte, the state. Its fields precede that byte, the
//! last one first:
//! - state 0b11......: one transition, to the node that precedes this one. The input (1) if the low
//!   six bits are 0;
//! - state 0b10......: one transition. The input (1) if the low six bits are 0; the sizes (1); the
//!   address; the output;
//! - state 0b0.......: the number of transitions (1, where 1 means 256) if the low six bits are 0;
//!   the sizes (1); an index (256) for more than 32 transitions; the inputs, addresses and outputs;
//!   the final output, if the second bit is set.
//!
//! The sizes are those of an address (high four bits) and of an output. An address is the distance
//! from the first byte of the node, or 0 for the node 0, which is final and has no transition.

use fst::raw::{Fst, Node, Output};
use ir_core::store::SectionBytes;

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

#[derive(Clone)]
pub(crate) struct TermDictionary {
    fst: Fst<SectionBytes>,
    root: usize,
}

/// A node whose layout is valid.
#[derive(Clone, Copy)]
struct VerifiedNode<'a> {
    node: Node<'a>,
    bytes: &'a [u8],
    /// Offset in the dictionary of the first byte of the node.
    start: usize,
    /// End of the addresses of the transitions, of which the first is the last one; 0 if the only
    /// transition is to the node before.
    addresses: usize,
    address_size: usize,
}

impl<'a> VerifiedNode<'a> {
    /// Verifies and reads the node at an address.
    fn new(fst: &'a Fst<SectionBytes>, addr: usize) -> Result<Self, InvalidDictionary> {
        let bytes = fst.as_bytes();
        let (start, addresses, address_size) = layout(bytes, addr).ok_or(InvalidDictionary)?;
        Ok(Self {
            node: fst.node(addr),
            bytes,
            start,
            addresses,
            address_size,
        })
    }

    /// Output and address of a transition below [`Node::len`]. The address is lower than that of
    /// the node: nodes are written after those that they lead to, so there are no cycles.
    #[inline]
    fn follow(&self, at: usize) -> Result<(u8, Output, usize), InvalidDictionary> {
        if self.addresses > 0 {
            let end = self.addresses.checked_sub(at * self.address_size);
            let start = end.and_then(|end| end.checked_sub(self.address_size));
            let range = start.zip(end).ok_or(InvalidDictionary)?;
            let distance = self.bytes.get(range.0..range.1).ok_or(InvalidDictionary)?;
            let byte = |sum, &byte: &u8| sum << 8 | u64::from(byte);
            let distance = distance.iter().rev().fold(0, byte);
            if distance > self.start as u64 {
                return Err(InvalidDictionary);
            }
        }
        let transition = self.node.transition(at);
        if transition.addr >= self.node.addr() {
            return Err(InvalidDictionary);
        }
        Ok((transition.inp, transition.out, transition.addr))
    }
}

/// The first byte of the node at an address, and the end and size of the addresses of its
/// transitions; [`None`] if it is invalid.
#[inline]
fn layout(bytes: &[u8], addr: usize) -> Option<(usize, usize, usize)> {
    if addr == EMPTY {
        return Some((0, 0, 0));
    }
    (addr < bytes.len().checked_sub(FOOTER)?).then_some(())?;
    let state = *bytes.get(addr)?;
    let is_short = state & 0b11_1111 != 0;
    let mut at = addr;
    // Moves to the byte before the fields of the node that are so long.
    let mut skip = |len: usize| {
        at = at.checked_sub(len).filter(|&at| at >= HEADER)?;
        Some(at)
    };
    if state >> 6 == 0b11 {
        let start = skip(usize::from(!is_short))?;
        return Some((start, 0, 0));
    }
    let (transitions, has_output, index) = match state >> 6 {
        0b10 => {
            skip(usize::from(!is_short))?;
            (1, false, None)
        }
        _ => {
            let transitions = match state & 0b11_1111 {
                0 => match *bytes.get(skip(1)?)? {
                    1 => 256,
                    n => usize::from(n),
                },
                n => usize::from(n),
            };
            let index = if transitions > MAX_WITHOUT_INDEX {
                INDEX
            } else {
                0
            };
            (transitions, state >> 6 == 0b01, Some(index))
        }
    };
    let sizes = *bytes.get(skip(1)?)?;
    let (address_size, output_size) = (usize::from(sizes >> 4), usize::from(sizes & 15));
    let is_valid = address_size <= 8 && output_size <= 8 && (transitions == 0 || address_size > 0);
    is_valid.then_some(())?;
    let inputs = index.map_or(0, |index| index + transitions);
    let addresses = skip(inputs)?;
    let outputs = transitions + usize::from(has_output);
    let start = skip(transitions * address_size + outputs * output_size)?;
    Some((start, addresses, address_size))
}

impl TermDictionary {
    pub(crate) fn new(bytes: SectionBytes) -> Result<Self, fst::Error> {
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
            (Some(VERSION), Some(root)) => Ok(Self { fst, root }),
            (Some(got), Some(_)) => {
                let expected = VERSION;
                Err(fst::raw::Error::Version { expected, got }.into())
            }
            _ => Err(fst::raw::Error::Format { size: bytes.len() }.into()),
        }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<u64>, InvalidDictionary> {
        let mut node = VerifiedNode::new(&self.fst, self.root)?;
        let mut output = Output::zero();
        for &byte in key {
            let Some(at) = node.node.find_input(byte) else {
                return Ok(None);
            };
            let (_, of_transition, addr) = node.follow(at)?;
            output = sum(output, of_transition)?;
            node = VerifiedNode::new(&self.fst, addr)?;
        }
        if !node.node.is_final() {
            return Ok(None);
        }
        sum(output, node.node.final_output()).map(|offset| Some(offset.value()))
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

/// Iterator over the keys of a dictionary, in depth-first order of its nodes.
pub(crate) struct TermKeys<'a> {
    dictionary: &'a TermDictionary,
    key: Vec<u8>,
    path: Vec<Step<'a>>,
    is_started: bool,
}

struct Step<'a> {
    node: VerifiedNode<'a>,
    /// Sum of the outputs on the path.
    output: Output,
    is_listed: bool,
    next_transition: usize,
}

impl<'a> TermKeys<'a> {
    pub(crate) fn next(&mut self) -> Result<Option<(&[u8], u64)>, InvalidDictionary> {
        let TermDictionary { fst, root } = self.dictionary;
        if !self.is_started {
            self.is_started = true;
            let root = VerifiedNode::new(fst, *root)?;
            self.path.push(Step::new(root, Output::zero()));
        }
        while let Some(step) = self.path.last_mut() {
            let node = step.node.node;
            if !step.is_listed {
                step.is_listed = true;
                if node.is_final() {
                    let offset = sum(step.output, node.final_output())?;
                    return Ok(Some((&self.key, offset.value())));
                }
                // Every path leads to a key, except in a dictionary without keys. Otherwise the
                // number of paths would not be bounded by that of keys.
                if node.is_empty() && !self.key.is_empty() {
                    return Err(InvalidDictionary);
                }
            }
            if step.next_transition == node.len() {
                self.path.pop();
                self.key.pop();
                continue;
            }
            let (input, of_transition, addr) = step.node.follow(step.next_transition)?;
            step.next_transition += 1;
            let output = sum(step.output, of_transition)?;
            self.key.push(input);
            self.path
                .push(Step::new(VerifiedNode::new(fst, addr)?, output));
        }
        Ok(None)
    }
}

impl<'a> Step<'a> {
    fn new(node: VerifiedNode<'a>, output: Output) -> Self {
        Self {
            node,
            output,
            is_listed: false,
            next_transition: 0,
        }
    }
}

fn sum(a: Output, b: Output) -> Result<Output, InvalidDictionary> {
    let sum = a.value().checked_add(b.value());
    sum.map(Output::new).ok_or(InvalidDictionary)
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
        let mut is_error = false;
        for key in keys.keys() {
            is_error |= dictionary.get(key).is_err();
        }
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
