//! Inversion of a chunk of documents into a sorted run.

use ir_core::{Analyzer, Document};

use super::sorted_run::RunWriter;
use crate::postings::Posting;
use crate::small_float::MAX_TOKENS;
use crate::{BuildError, IndexConfig, StoredFields, stored_fields};

/// An inverted chunk of documents.
#[derive(Debug, Default)]
pub(super) struct InvertedChunk {
    /// Terms in ascending order with their postings, encoded as a sorted run
    /// ([`super::sorted_run`]).
    pub(super) run: Vec<u8>,
    /// Document lengths in tokens, by field.
    pub(super) lengths: Vec<Vec<u32>>,
    /// Stored fields, document by document.
    pub(super) stored: Vec<u8>,
    /// End offsets of the stored fields of each document.
    pub(super) stored_ends: Vec<u64>,
}

/// Inverts documents; the first has the number `first`.
pub(super) fn invert(
    docs: &[Document],
    first: u32,
    config: &IndexConfig,
    analyzer: &dyn Analyzer,
) -> Result<InvertedChunk, BuildError> {
    let (fields, store) = (config.fields, config.store);
    let mut result = InvertedChunk::default();
    let mut run = RunWriter::default();
    for (field, &name) in fields.names().iter().enumerate() {
        let mut inverter = Inverter {
            has_positions: config.positions,
            ..Inverter::default()
        };
        let mut lengths = Vec::with_capacity(docs.len());
        let mut joined = String::new();
        for (doc, number) in docs.iter().zip(first..) {
            let text = fields.text_of(field, doc, &mut joined);
            analyzer.analyze(text, &mut |token| {
                inverter.add(token.term.as_bytes(), token.position);
            });
            let length = inverter.end_document(number);
            if length > u64::from(MAX_TOKENS) {
                return Err(BuildError::TooLong {
                    id: doc.id.clone(),
                    field: name,
                    limit: MAX_TOKENS,
                });
            }
            lengths.push(length as u32);
        }
        result.lengths.push(lengths);
        inverter.finish(field as u8, &mut run);
    }
    result.run = run.into_bytes();
    if store != StoredFields::Nothing {
        for doc in docs {
            stored_fields::write(doc, store, &mut result.stored).map_err(|name| {
                BuildError::NotFinite {
                    id: doc.id.clone(),
                    name,
                }
            })?;
            result.stored_ends.push(result.stored.len() as u64);
        }
    }
    Ok(result)
}

/// The postings of one field of a chunk.
#[derive(Default)]
struct Inverter {
    terms: Interner,
    /// Frequency of every term in the current document.
    counts: Vec<u32>,
    /// Distinct terms of the current document.
    doc_terms: Vec<u32>,
    length: u64,
    /// Term numbers and postings, by document.
    postings: Vec<(u32, Posting)>,
    /// `true` if positions are kept.
    has_positions: bool,
    /// Term numbers and positions of the current document.
    doc_positions: Vec<(u32, u32)>,
    /// Positions of all postings, in their order.
    positions: Vec<u32>,
    /// Scratch: index of the next position of every term of the current document.
    ranks: Vec<usize>,
}

impl Inverter {
    fn add(&mut self, term: &[u8], position: u32) {
        let number = self.terms.intern(term);
        if number as usize == self.counts.len() {
            self.counts.push(0);
        }
        let count = &mut self.counts[number as usize];
        if *count == 0 {
            self.doc_terms.push(number);
        }
        *count = count.saturating_add(1);
        self.length += 1;
        if self.has_positions {
            // If an analyzer goes back, the token gets the position of the token before.
            let before = self.doc_positions.last().map_or(0, |&(_, before)| before);
            self.doc_positions.push((number, position.max(before)));
        }
    }

    fn end_document(&mut self, doc: u32) -> u64 {
        if self.has_positions {
            self.group_positions();
        }
        for term in self.doc_terms.drain(..) {
            let tf = std::mem::take(&mut self.counts[term as usize]);
            self.postings.push((term, Posting { doc, tf }));
        }
        std::mem::take(&mut self.length)
    }

    /// Appends the positions of the current document, grouped by term in the order of its postings.
    fn group_positions(&mut self) {
        let start = self.positions.len();
        let mut ranks = std::mem::take(&mut self.ranks);
        ranks.resize(self.counts.len(), 0);
        let mut at = start;
        for &term in &self.doc_terms {
            ranks[term as usize] = at;
            at += self.counts[term as usize] as usize;
        }
        self.positions.resize(at, 0);
        for (term, position) in self.doc_positions.drain(..) {
            let slot = &mut ranks[term as usize];
            self.positions[*slot] = position;
            *slot += 1;
        }
        self.ranks = ranks;
    }

    /// Writes the terms in ascending order. Postings are grouped by term with a counting sort.
    fn finish(self, field: u8, run: &mut RunWriter) {
        let Self {
            terms,
            counts,
            postings,
            positions,
            ..
        } = self;
        let mut starts = counts;
        starts.iter_mut().for_each(|count| *count = 0);
        for &(term, _) in &postings {
            starts[term as usize] += 1;
        }
        let mut at = 0;
        for start in &mut starts {
            at += std::mem::replace(start, at);
        }
        let mut grouped = vec![Posting { doc: 0, tf: 0 }; postings.len()];
        // Index of the first position of each grouped posting.
        let mut firsts = vec![
            0;
            if positions.is_empty() {
                0
            } else {
                postings.len()
            }
        ];
        let mut next = starts.clone();
        let mut first = 0;
        for (term, posting) in postings {
            let slot = &mut next[term as usize];
            grouped[*slot as usize] = posting;
            if let Some(slot) = firsts.get_mut(*slot as usize) {
                *slot = first;
                first += posting.tf as usize;
            }
            *slot += 1;
        }
        let mut order: Vec<u32> = (0..starts.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| terms.get(a).cmp(terms.get(b)));
        let mut key = Vec::new();
        let mut of_term = Vec::new();
        for term in order {
            key.clear();
            key.push(field);
            key.extend(terms.get(term));
            let range = starts[term as usize] as usize..next[term as usize] as usize;
            of_term.clear();
            let firsts = firsts.get(range.clone()).unwrap_or_default();
            for (&first, posting) in firsts.iter().zip(&grouped[range.clone()]) {
                of_term.extend(&positions[first..first + posting.tf as usize]);
            }
            run.push(&key, &grouped[range], &of_term);
        }
    }
}

/// Interner of byte strings: numbers in order of first occurrence, one arena, open addressing.
#[derive(Default)]
struct Interner {
    arena: Vec<u8>,
    ends: Vec<usize>,
    hashes: Vec<u32>,
    /// Numbers plus one; 0 marks an empty slot. The size is a power of two.
    table: Vec<u32>,
}

impl Interner {
    fn get(&self, number: u32) -> &[u8] {
        let n = number as usize;
        let start = n.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.arena[start..self.ends[n]]
    }

    fn intern(&mut self, bytes: &[u8]) -> u32 {
        if self.table.len() < 2 * (self.ends.len() + 1) {
            self.grow();
        }
        let hash = hash(bytes);
        let mask = self.table.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.table[at].checked_sub(1) {
                None => {
                    let number = self.ends.len() as u32;
                    self.arena.extend(bytes);
                    self.ends.push(self.arena.len());
                    self.hashes.push(hash);
                    self.table[at] = number + 1;
                    return number;
                }
                Some(number)
                    if self.hashes[number as usize] == hash && self.get(number) == bytes =>
                {
                    return number;
                }
                Some(_) => at = (at + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        let size = (2 * self.table.len()).max(1024);
        self.table = vec![0; size];
        for (&hash, number) in self.hashes.iter().zip(1..) {
            let mut at = hash as usize & (size - 1);
            while self.table[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.table[at] = number;
        }
    }
}

/// Multiplicative hash, eight bytes at a time.
fn hash(bytes: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut eight = [0; 8];
        eight[..chunk.len()].copy_from_slice(chunk);
        state = (state ^ u64::from_le_bytes(eight)).wrapping_mul(FACTOR);
        state ^= state >> 29;
    }
    (state.wrapping_mul(FACTOR) >> 32) as u32
}
