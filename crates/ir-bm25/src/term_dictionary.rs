//! Term dictionary: a finite-state transducer from a key, which is a field number and a term, to
//! the offset of the posting list.
//!
//! The crate `fst` trusts its bytes. Checksums find damage; for bytes that were forged with correct
//! checksums, its panics are caught, and nodes are verified where keys are listed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fst::raw::{Fst, Node, Output};
use ir_core::store::SectionBytes;

/// The bytes are not a term dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidDictionary;

#[derive(Clone)]
pub(crate) struct TermDictionary {
    fst: Fst<SectionBytes>,
}

/// Runs a function of `fst`, which panics for invalid bytes.
fn checked<T>(read: impl FnOnce() -> Option<T>) -> Result<Option<T>, InvalidDictionary> {
    // The dictionary is immutable: a panic leaves no state behind.
    catch_unwind(AssertUnwindSafe(read)).map_err(|_| InvalidDictionary)
}

impl TermDictionary {
    pub(crate) fn new(bytes: SectionBytes) -> Result<Self, fst::Error> {
        Ok(Self {
            fst: Fst::new(bytes)?,
        })
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<u64>, InvalidDictionary> {
        checked(|| self.fst.get(key).map(Output::value))
    }

    /// The keys, ascending, with their offsets.
    pub(crate) fn keys(&self) -> TermKeys<'_> {
        TermKeys {
            fst: &self.fst,
            key: Vec::new(),
            path: Vec::new(),
            is_started: false,
        }
    }
}

/// Iterator over the keys of a dictionary, in depth-first order of its nodes.
pub(crate) struct TermKeys<'a> {
    fst: &'a Fst<SectionBytes>,
    key: Vec<u8>,
    path: Vec<Step<'a>>,
    is_started: bool,
}

struct Step<'a> {
    node: Node<'a>,
    /// Sum of the outputs on the path.
    output: Output,
    is_listed: bool,
    next_transition: usize,
}

impl<'a> TermKeys<'a> {
    pub(crate) fn next(&mut self) -> Result<Option<(&[u8], u64)>, InvalidDictionary> {
        let fst = self.fst;
        if !self.is_started {
            self.is_started = true;
            let root = checked(|| Some(fst.root()))?;
            self.path
                .extend(root.map(|node| Step::new(node, Output::zero())));
        }
        while let Some(step) = self.path.last_mut() {
            if !step.is_listed {
                step.is_listed = true;
                if step.node.is_final() {
                    let offset = sum(step.output, step.node.final_output())?;
                    return Ok(Some((&self.key, offset.value())));
                }
                // Every path leads to a key, except in a dictionary without keys. Otherwise the
                // number of paths would not be bounded by that of keys.
                if step.node.is_empty() && !self.key.is_empty() {
                    return Err(InvalidDictionary);
                }
            }
            if step.next_transition == step.node.len() {
                self.path.pop();
                self.key.pop();
                continue;
            }
            let (node, at) = (step.node, step.next_transition);
            step.next_transition += 1;
            let output = step.output;
            let followed = checked(|| {
                let transition = node.transition(at);
                // Nodes are written after those that they lead to, so there are no cycles.
                let is_valid = transition.addr < node.addr();
                is_valid.then(|| (transition, fst.node(transition.addr)))
            })?;
            let (transition, node) = followed.ok_or(InvalidDictionary)?;
            self.key.push(transition.inp);
            self.path
                .push(Step::new(node, sum(output, transition.out)?));
        }
        Ok(None)
    }
}

impl<'a> Step<'a> {
    fn new(node: Node<'a>, output: Output) -> Self {
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

        #[test]
        fn forged_bytes_are_an_error_or_other_keys(
            keys in prop::collection::btree_map("[a-z]{0,6}", 0..10_000_u64, 1..80),
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let keys = keys.into_iter().map(|(key, offset)| (key.into_bytes(), offset)).collect();
            let mut bytes = dictionary(&keys);
            for (at, value) in flips {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if let Some(dictionary) = open(bytes) {
                // Lookups return; listing ends.
                for key in keys.keys() {
                    let _ = dictionary.get(key);
                }
                let mut listed = dictionary.keys();
                for _ in 0..10_000 {
                    if !matches!(listed.next(), Ok(Some(_))) {
                        break;
                    }
                }
            }
        }
    }
}
