//! Merging segments into one.

use std::io;
use std::path::Path;

use ir_core::segments::SegmentIndex;
use ir_core::store::{AtomicFile, IndexFileWriter, Verify};
use ir_core::{DocIds, Flow, Progress};

use super::config::VectorIndexConfig;
use super::error::VectorIndexWriterError;
use super::{Segment, VectorSegment};
use crate::index::error::SaveVectorIndexError;
use crate::index::file::FLAT;
use crate::index::flat::{FlatIndex, VectorRows, write_sections};

/// Error while a file is written.
enum MergeError {
    Io(io::Error),
    Canceled,
}

impl From<io::Error> for MergeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Vectors of segments that are not deleted.
pub(super) fn live_rows<'a>(segments: impl IntoIterator<Item = &'a Segment>) -> VectorRows<'a> {
    let segments = segments.into_iter();
    VectorRows::new(segments.map(|segment| (segment.index.flat(), &segment.deleted)))
}

/// Writes the vectors of segments that are not deleted as one segment, with the bytes of an index
/// that is built from them. Flat indexes are streamed from file to file; for a graph, all vectors
/// are held in memory.
pub(super) fn merge_segments(
    segments: &[Segment],
    config: &VectorIndexConfig,
    path: &Path,
    progress: &mut dyn Progress,
) -> Result<VectorSegment, VectorIndexWriterError> {
    // Damage must not get a new checksum.
    for segment in segments {
        segment.index.flat().verify()?;
    }
    let rows = live_rows(segments);
    let (Some(first), None) = (segments.first(), &config.hnsw) else {
        return merge_graphs(&rows, config, path, progress);
    };
    let total = rows.len() as u64 * if config.codes { 2 } else { 1 };
    let report = |done: usize| match progress.report("merging", done as u64, Some(total)) {
        Flow::Continue => Ok(()),
        Flow::Stop => Err(MergeError::Canceled),
    };
    let metadata = config.user_metadata.as_deref();
    let write = || -> Result<(), MergeError> {
        let mut writer = IndexFileWriter::new(&FLAT, AtomicFile::create(path)?)?;
        let like = first.index.flat();
        write_sections(&mut writer, like, &rows, config.codes, metadata, report)?;
        Ok(writer.finish()?.commit()?)
    };
    write().map_err(|error| match error {
        MergeError::Canceled => VectorIndexWriterError::Canceled,
        MergeError::Io(source) => VectorIndexWriterError::Save(SaveVectorIndexError {
            path: path.to_owned(),
            source,
        }),
    })?;
    Ok(VectorSegment::open(path, config, Verify::SmallSections)?)
}

/// Merges segments with graphs: builds the graph of all vectors.
fn merge_graphs(
    rows: &VectorRows<'_>,
    config: &VectorIndexConfig,
    path: &Path,
    progress: &mut dyn Progress,
) -> Result<VectorSegment, VectorIndexWriterError> {
    if progress.report("merging", 0, None) == Flow::Stop {
        return Err(VectorIndexWriterError::Canceled);
    }
    let mut values = Vec::with_capacity(rows.len() * config.dim);
    rows.blocks()
        .for_each(|block| values.extend_from_slice(block));
    let ids: DocIds = rows.ids().collect();
    let flat = FlatIndex::from_row_major(ids, config.dim, values, config.similarity);
    let mut flat = flat.map_err(VectorIndexWriterError::Config)?;
    if let Some(fingerprints) = rows.fingerprints() {
        let with = flat.with_fingerprints(&fingerprints);
        flat = with.map_err(VectorIndexWriterError::Config)?;
    }
    VectorSegment::write(flat, config, path, progress)
}
