//! Writing the index from the sorted runs.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use ir_core::store::{IndexFileWriter, write_varint};
use ir_core::{DocIds, DocNum, Flow, Progress};

use super::IndexedDocs;
use super::sorted_run::{MergedTerm, RunMerge};
use crate::codec::zigzag;
use crate::format::{FORMAT, FieldStats, Metadata, section};
use crate::postings::{self, Posting};
use crate::{BuildError, DocOrder, IndexConfig, StoredFields, small_float};

/// Postings per batch of lists that are encoded in parallel.
const BATCH: usize = 1 << 20;

/// Writes all sections to `sink` and returns it. `path` is for errors.
pub(super) fn write_index<W: Write>(
    indexed: IndexedDocs,
    config: &IndexConfig,
    analyzer: Option<String>,
    sink: W,
    path: &Path,
    progress: &mut dyn Progress,
) -> Result<W, BuildError> {
    let write = &BuildError::write(path);
    let IndexedDocs {
        ids,
        blank_dropped,
        years,
        mut lengths,
        runs,
        mut stored,
        ..
    } = indexed;
    let order = match config.order {
        DocOrder::Id => DocNumbering::from_order(ids.order()),
        DocOrder::Insertion => DocNumbering::Unchanged(ids.len() as u32),
    };

    let mut file = IndexFileWriter::new(&FORMAT, sink).map_err(write)?;
    let mut buffer = Vec::new();
    file.begin(section::IDS).map_err(write)?;
    let id = |old| ids.id(DocNum::new(old));
    let mut ids_out = BufWriter::with_capacity(1 << 16, &mut file);
    DocIds::write_section(order.old_numbers().map(id), &mut ids_out).map_err(write)?;
    ids_out.flush().map_err(write)?;
    drop(ids_out);
    drop(ids);

    if !years.is_empty() {
        for old in order.old_numbers() {
            let year = years.get(old as usize).copied().flatten();
            write_varint(&mut buffer, u64::from(year.is_some()));
            if let Some(year) = year {
                write_varint(&mut buffer, zigzag(year));
            }
        }
        file.section(section::YEARS, &buffer).map_err(write)?;
        buffer.clear();
    }
    drop(years);

    for field in &mut lengths {
        order.arrange(field);
    }
    file.begin(section::CODES).map_err(write)?;
    buffer.extend(
        lengths
            .iter()
            .flatten()
            .map(|&length| small_float::encode(length)),
    );
    flush(&mut file, &mut buffer, 0).map_err(write)?;
    file.begin(section::RESIDUALS).map_err(write)?;
    for &length in lengths.iter().flatten() {
        small_float::write_residual(length, &mut buffer);
        flush(&mut file, &mut buffer, 1 << 16).map_err(write)?;
    }
    flush(&mut file, &mut buffer, 0).map_err(write)?;

    if config.store != StoredFields::Nothing {
        file.begin_paged(section::STORED).map_err(write)?;
        let (mut ends, mut end) = (Vec::new(), 0_u64);
        for old in order.old_numbers() {
            stored
                .read(old as usize, &mut buffer)
                .map_err(BuildError::Spill)?;
            end += buffer.len() as u64;
            ends.extend(end.to_le_bytes());
            flush(&mut file, &mut buffer, 0).map_err(write)?;
        }
        file.section(section::STORED_ENDS, &ends).map_err(write)?;
    }
    drop(stored);

    let mut fields: Vec<FieldStats> = config
        .fields
        .names()
        .iter()
        .zip(&lengths)
        .map(|(name, lengths)| FieldStats {
            name: (*name).to_owned(),
            docs: lengths.iter().filter(|&&length| length > 0).count() as u64,
            tokens: lengths.iter().map(|&length| u64::from(length)).sum(),
            longest: lengths.iter().copied().max().unwrap_or(0),
            ..FieldStats::default()
        })
        .collect();
    let merge = runs.merge().map_err(BuildError::Spill)?;
    let mut lists = PostingsWriter {
        order: &order,
        lengths: &lengths,
        has_positions: config.positions,
        total: fields.iter().map(|field| field.tokens).sum(),
        fields: &mut fields,
        tokens: 0,
        offset: 0,
    };
    file.begin_paged(section::POSTINGS).map_err(write)?;
    let terms = lists.write(merge, &mut file, path, progress)?;
    file.section(section::TERMS, &terms).map_err(write)?;

    let meta = Metadata {
        program: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).to_owned(),
        config: config.clone(),
        analyzer,
        documents: order.len(),
        blank_dropped,
        fields,
    };
    let meta = serde_json::to_vec(&meta).map_err(|error| write(error.into()))?;
    file.section(section::META, &meta).map_err(write)?;
    file.finish().map_err(write)
}

fn flush<W: Write>(
    file: &mut IndexFileWriter<W>,
    buffer: &mut Vec<u8>,
    above: usize,
) -> io::Result<()> {
    if buffer.len() > above {
        file.write_all(buffer)?;
        buffer.clear();
    }
    Ok(())
}

/// The final document numbers.
enum DocNumbering {
    /// Documents keep their insertion order.
    Unchanged(u32),
    /// `old[new]` and `new[old]`.
    Permuted { old: Vec<u32>, new: Vec<u32> },
}

impl DocNumbering {
    fn from_order(old: &[u32]) -> Self {
        if old.iter().zip(0..).all(|(&old, new)| old == new) {
            return Self::Unchanged(old.len() as u32);
        }
        let mut new = vec![0; old.len()];
        for (&old, number) in old.iter().zip(0..) {
            new[old as usize] = number;
        }
        let old = old.to_vec();
        Self::Permuted { old, new }
    }

    fn len(&self) -> u32 {
        match self {
            Self::Unchanged(n) => *n,
            Self::Permuted { old, .. } => old.len() as u32,
        }
    }

    /// The old numbers, ordered by new number.
    fn old_numbers(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).map(|n| match self {
            Self::Unchanged(_) => n,
            Self::Permuted { old, .. } => old.get(n as usize).copied().unwrap_or(n),
        })
    }

    fn arrange(&self, values: &mut Vec<u32>) {
        if let Self::Permuted { old, .. } = self {
            *values = old.iter().map(|&old| values[old as usize]).collect();
        }
    }

    fn renumber(&self, postings: &mut [Posting], positions: &mut Vec<u32>) {
        let Self::Permuted { new, .. } = self else {
            return;
        };
        for posting in &mut *postings {
            posting.doc = new
                .get(posting.doc as usize)
                .copied()
                .unwrap_or(posting.doc);
        }
        if positions.is_empty() {
            postings.sort_unstable_by_key(|posting| posting.doc);
            return;
        }
        let mut rest = &positions[..];
        let mut located: Vec<(Posting, &[u32])> = Vec::with_capacity(postings.len());
        for &posting in &*postings {
            let (these, others) = rest.split_at(rest.len().min(posting.tf as usize));
            located.push((posting, these));
            rest = others;
        }
        located.sort_unstable_by_key(|(posting, _)| posting.doc);
        let mut sorted = Vec::with_capacity(positions.len());
        for (slot, (posting, these)) in postings.iter_mut().zip(located) {
            *slot = posting;
            sorted.extend(these);
        }
        *positions = sorted;
    }
}

/// Writer of the posting lists and the term dictionary.
struct PostingsWriter<'a> {
    order: &'a DocNumbering,
    lengths: &'a [Vec<u32>],
    has_positions: bool,
    fields: &'a mut [FieldStats],
    /// Number of tokens in the collection, for progress reports.
    total: u64,
    /// Number of tokens written so far.
    tokens: u64,
    /// Offset of the next list in the section.
    offset: u64,
}

/// A term, its postings, and their encoding once it is done.
struct TermPostings {
    key: Vec<u8>,
    postings: Vec<Posting>,
    /// Positions of all postings; empty in an index without positions.
    positions: Vec<u32>,
    bytes: Option<Vec<u8>>,
}

impl PostingsWriter<'_> {
    fn write<W: Write>(
        &mut self,
        mut merge: RunMerge,
        file: &mut IndexFileWriter<W>,
        path: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Vec<u8>, BuildError> {
        let mut terms = fst::MapBuilder::memory();
        let mut term = MergedTerm::default();
        let mut batch: Vec<TermPostings> = Vec::new();
        let mut waiting = 0;
        loop {
            let more = merge.next(&mut term).map_err(BuildError::Spill)?;
            if more {
                let decoded = term.postings(self.has_positions);
                let (postings, positions) = decoded.map_err(BuildError::Spill)?;
                waiting += postings.len() + positions.len();
                batch.push(TermPostings {
                    key: term.key.clone(),
                    postings,
                    positions,
                    bytes: None,
                });
            }
            if !more || waiting >= BATCH {
                self.batch(&mut batch, &mut terms, file, path)?;
                waiting = 0;
                if progress.report("writing", self.tokens, Some(self.total)) == Flow::Stop {
                    return Err(BuildError::Canceled);
                }
            }
            if !more {
                return terms.into_inner().map_err(|error| unsorted(path, error));
            }
        }
    }

    fn batch<W: Write>(
        &mut self,
        batch: &mut Vec<TermPostings>,
        terms: &mut fst::MapBuilder<Vec<u8>>,
        file: &mut IndexFileWriter<W>,
        path: &Path,
    ) -> Result<(), BuildError> {
        let (order, lengths) = (self.order, self.lengths);
        let has_positions = self.has_positions;
        let encode = |list: &mut TermPostings| {
            order.renumber(&mut list.postings, &mut list.positions);
            let field = lengths
                .get(field_of(&list.key))
                .map_or(&[][..], Vec::as_slice);
            let length = |doc: u32| field.get(doc as usize).copied().unwrap_or(0);
            let mut bytes = Vec::new();
            let positions = has_positions.then_some(&*list.positions);
            let encoded = postings::encode(&list.postings, positions, length, &mut bytes);
            list.bytes = encoded.map(|()| bytes);
        };
        #[cfg(feature = "rayon")]
        {
            use rayon::prelude::*;
            batch.par_iter_mut().with_min_len(64).for_each(encode);
        }
        #[cfg(not(feature = "rayon"))]
        batch.iter_mut().for_each(encode);

        for list in batch.drain(..) {
            let bytes = list.bytes.ok_or_else(|| BuildError::ListTooLong {
                term: String::from_utf8_lossy(list.key.get(1..).unwrap_or_default()).into_owned(),
                limit: u32::MAX,
            })?;
            terms
                .insert(&list.key, self.offset)
                .map_err(|error| unsorted(path, error))?;
            file.write_all(&bytes).map_err(BuildError::write(path))?;
            self.offset += bytes.len() as u64;
            self.tokens += list.postings.iter().map(|p| u64::from(p.tf)).sum::<u64>();
            if let Some(stats) = self.fields.get_mut(field_of(&list.key)) {
                stats.terms += 1;
                stats.postings += list.postings.len() as u64;
            }
        }
        Ok(())
    }
}

fn field_of(key: &[u8]) -> usize {
    key.first().map_or(0, |&field| usize::from(field))
}

/// The dictionary is built in memory from sorted keys, so this error does not occur.
fn unsorted(path: &Path, error: fst::Error) -> BuildError {
    BuildError::write(path)(io::Error::other(error))
}
