//! Saving and opening.

use std::io;
use std::path::Path;

use ir_core::AtomicFile;

use super::search::Lists;
use super::{Inner, Kept, SparseIndex};
use crate::flat::file::{self, Mapped, SPARSE, Verify, Writer, section};
use crate::flat::numbers::{Number, Numbers};
use crate::{OpenError, Similarity};

pub(super) fn save(index: &Inner, path: &Path) -> io::Result<()> {
    let sink = AtomicFile::create(path)?;
    let mut writer = Writer::new(&SPARSE, sink, index.similarity, index.dim, index.ids.len())?;
    let mut write = |kept: &Kept, [lengths, places, values]: [&str; 3]| {
        let counts = kept.starts.windows(2).map(|pair| pair[1] - pair[0]);
        let counts: Vec<u32> = counts.map(|count| count as u32).collect();
        writer.section(lengths, &Numbers::Owned(counts).bytes())?;
        writer.section(places, &kept.places.bytes())?;
        writer.section(values, &kept.values.bytes())
    };
    write(&index.rows, ROWS)?;
    write(&index.columns, COLUMNS)?;
    writer.section(section::IDS, &file::ids_to_bytes(&index.ids))?;
    writer.finish()?.commit()
}

const ROWS: [&str; 3] = [section::LENGTHS, section::COLUMNS, section::VALUES];
const COLUMNS: [&str; 3] = [section::LISTS, section::PLACES, section::WEIGHTS];

pub(super) fn open(path: &Path) -> Result<SparseIndex, OpenError> {
    index(&Mapped::open(&SPARSE, path, Verify::Everything)?)
}

pub(super) fn open_as(
    path: &Path,
    similarity: Similarity,
    dim: usize,
) -> Result<SparseIndex, OpenError> {
    index(&Mapped::open_as(&SPARSE, path, similarity, dim)?)
}

fn index(file: &Mapped) -> Result<SparseIndex, OpenError> {
    let (dim, documents) = (file.table.dim, file.table.documents);
    let rows = read(file, documents, dim, ROWS)?;
    let columns = read(file, dim, documents, COLUMNS)?;
    if columns.values.get().len() != rows.values.get().len() {
        return Err(file.malformed(section::PLACES, "every value once"));
    }
    let similarity = file.table.similarity;
    if similarity == Similarity::Cosine && rows.starts.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(file.malformed(section::VALUES, "vectors with a direction"));
    }
    Ok(SparseIndex::of(similarity, dim, file.ids()?, rows, columns))
}

/// `count` lists of places below `limit`.
fn read(
    file: &Mapped,
    count: usize,
    limit: usize,
    [lengths, places, values]: [&str; 3],
) -> Result<Kept, OpenError> {
    let found = file.sized(lengths, count.checked_mul(4), "a length for every list")?;
    let mut starts = vec![0];
    let mut end = 0_usize;
    for &length in found.as_ref().as_chunks().0 {
        end = end.saturating_add(<u32 as Number>::from_le(length) as usize);
        starts.push(end);
    }
    let size = end.checked_mul(4);
    let kept = Kept {
        starts,
        places: Numbers::of(file.sized(places, size, "as many places as the lists are long")?),
        values: Numbers::of(file.sized(values, size, "as many values as the lists are long")?),
    };
    if !in_order(kept.lists(), limit) {
        return Err(file.malformed(places, "ascending places in range"));
    }
    if kept.values.get().iter().any(|value| !value.is_finite()) {
        return Err(file.malformed(values, "finite numbers"));
    }
    Ok(kept)
}

fn in_order(lists: Lists<'_>, limit: usize) -> bool {
    (0..lists.starts.len() - 1).all(|at| {
        let places = lists.get(at).columns;
        places.windows(2).all(|pair| pair[0] < pair[1])
            && places.last().is_none_or(|&last| (last as usize) < limit)
    })
}
