//! Writing the rows of several flat indexes as one.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

use ir_core::store::IndexFileWriter;
use ir_core::{DocFilter, DocNum, DocSet};

use super::codes::encode_tiles;
use super::index::FlatIndex;
use crate::index::buffer::to_le_bytes;
use crate::index::file::{section, write_ids_and_metadata};
use crate::simd::{MAX_DIM, TILE_ROWS};

/// Number of tiles that are quantized at once.
const TILES_AT_ONCE: usize = 64;

/// Rows of flat indexes of the same dimension and similarity, without deleted ones, in order.
#[derive(Debug, Clone)]
pub(in crate::index) struct VectorRows<'a> {
    sources: Vec<(&'a FlatIndex, &'a DocSet)>,
}

impl<'a> VectorRows<'a> {
    pub(in crate::index) fn new(
        sources: impl IntoIterator<Item = (&'a FlatIndex, &'a DocSet)>,
    ) -> Self {
        let sources = sources.into_iter().collect();
        Self { sources }
    }

    pub(in crate::index) fn len(&self) -> usize {
        let live = |(index, deleted): &(&FlatIndex, &DocSet)| {
            index.len() - deleted.count().unwrap_or_default()
        };
        self.sources.iter().map(live).sum()
    }

    /// Fingerprints, if all indexes have them.
    pub(in crate::index) fn fingerprints(&self) -> Option<Vec<u64>> {
        let of = |(index, deleted): &(&FlatIndex, &DocSet)| {
            let docs = (0..index.len() as u32).map(DocNum::new);
            let live: Vec<DocNum> = docs.filter(|&doc| !deleted.contains(doc)).collect();
            let fingerprints = live.into_iter().map(|doc| index.fingerprint(doc));
            fingerprints.collect::<Option<Vec<u64>>>()
        };
        let all = self.sources.iter().map(of).collect::<Option<Vec<_>>>();
        all.map(|all| all.concat())
    }

    pub(in crate::index) fn ids(&self) -> impl Iterator<Item = &'a str> {
        let sources = self.sources.clone().into_iter();
        sources.flat_map(|(index, deleted)| {
            let ids = (0..)
                .map(DocNum::new)
                .zip(ir_core::Retriever::ids(index).iter());
            let live = ids.filter(|&(doc, _)| !deleted.contains(doc));
            live.map(|(_, id)| id)
        })
    }

    /// Values of the rows, in blocks of at most [`TILES_AT_ONCE`] tiles.
    pub(in crate::index) fn blocks(&self) -> impl Iterator<Item = &'a [f32]> {
        let sources = self.sources.clone().into_iter();
        sources.flat_map(|(index, deleted)| {
            let (dim, count) = (index.dim(), index.len());
            let block = TILES_AT_ONCE * TILE_ROWS;
            let runs = live_runs(count, deleted).into_iter();
            let blocks = runs.flat_map(move |run| {
                let starts = run.clone().step_by(block);
                starts.map(move |start| start..run.end.min(start + block))
            });
            blocks.map(move |rows| &index.values()[rows.start * dim..rows.end * dim])
        })
    }
}

/// Ranges of consecutive rows that are not deleted.
fn live_runs(count: usize, deleted: &DocSet) -> Vec<Range<usize>> {
    let (mut runs, mut start) = (Vec::new(), 0);
    let ends = deleted.iter().map(DocNum::index).chain([count]);
    for end in ends {
        if start < end {
            runs.push(start..end);
        }
        start = end + 1;
    }
    runs
}

/// Writes the sections of a flat index of these rows, with the bytes of
/// [`FlatIndex::save`]. `report` is called with the number of rows written of each section of
/// vectors and codes; its error ends the work.
pub(in crate::index) fn write_sections<W: Write, E: From<io::Error>>(
    writer: &mut IndexFileWriter<W>,
    like: &FlatIndex,
    rows: &VectorRows<'_>,
    with_codes: bool,
    user_metadata: Option<&str>,
    mut report: impl FnMut(usize) -> Result<(), E>,
) -> Result<(), E> {
    let (dim, similarity) = (like.dim(), like.similarity());
    let mut written = 0;
    writer.begin(section::VECTORS)?;
    for block in rows.blocks() {
        writer.write_all(&to_le_bytes(block))?;
        written += block.len() / dim;
        report(written)?;
    }
    if with_codes && dim <= MAX_DIM {
        writer.begin(section::CODES)?;
        let mut all_stats = Vec::new();
        let mut encode = |values: &[f32]| {
            let (codes, mut stats) = encode_tiles(like.cpu(), similarity, dim, values);
            all_stats.append(&mut stats);
            written += values.len() / dim;
            writer.write_all(codes.as_ref())?;
            report(written)
        };
        let size = TILES_AT_ONCE * TILE_ROWS * dim;
        // Rows that do not fill all tiles yet.
        let mut rest: Vec<f32> = Vec::new();
        for block in rows.blocks() {
            let mut values = Cow::Borrowed(block);
            if !rest.is_empty() || block.len() < size {
                rest.extend_from_slice(block);
                if rest.len() < size {
                    continue;
                }
                let after = rest.split_off(size);
                values = Cow::Owned(std::mem::replace(&mut rest, after));
            }
            encode(&values)?;
        }
        if !rest.is_empty() {
            encode(&rest)?;
        }
        writer.section(section::CODE_STATS, &to_le_bytes(&all_stats))?;
    }
    if let Some(text) = user_metadata {
        writer.section(section::USER_METADATA, text.as_bytes())?;
    }
    if let Some(fingerprints) = rows.fingerprints() {
        let bytes = fingerprints.iter().flat_map(|number| number.to_le_bytes());
        let bytes: Vec<u8> = bytes.collect();
        writer.section(section::FINGERPRINTS, &bytes)?;
    }
    Ok(write_ids_and_metadata(
        writer,
        rows.ids(),
        rows.len(),
        similarity,
        dim,
    )?)
}
