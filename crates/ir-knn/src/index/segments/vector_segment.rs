//! A vector index as a segment.

use std::path::Path;

use ir_core::segments::SegmentIndex;
use ir_core::store::{IndexFormat, OpenIndexError, Verify};
use ir_core::{DocIds, Progress, Retriever};

use super::config::VectorIndexConfig;
use super::error::VectorIndexWriterError;
use crate::index::file::section;
use crate::index::flat::FlatIndex;
use crate::index::hnsw::HnswIndex;

/// Immutable index of a segment.
#[derive(Debug, Clone)]
pub(super) enum VectorSegment {
    Flat(FlatIndex),
    Hnsw(HnswIndex),
}

impl VectorSegment {
    /// Saves vectors, with their fingerprints, as a segment and opens it. `progress` receives the
    /// reports of [`HnswIndex::build`].
    pub(super) fn write(
        flat: FlatIndex,
        config: &VectorIndexConfig,
        path: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Self, VectorIndexWriterError> {
        let mut flat = flat;
        if config.codes {
            flat = flat.with_codes();
        }
        if let Some(text) = &config.user_metadata {
            flat = flat.with_user_metadata(text);
        }
        match &config.hnsw {
            None => flat.save(path)?,
            Some(hnsw) => HnswIndex::build(flat, hnsw, progress)?.save(path)?,
        }
        Ok(Self::open(path, config, Verify::SmallSections)?)
    }

    pub(super) fn flat(&self) -> &FlatIndex {
        match self {
            Self::Flat(flat) => flat,
            Self::Hnsw(index) => index.flat(),
        }
    }
}

impl SegmentIndex for VectorSegment {
    type Config = VectorIndexConfig;

    const MANIFEST: IndexFormat = IndexFormat {
        magic: *b"ir-vecs\n",
        version: 1,
        name: "the manifest of a segmented vector index",
        large_sections: &[],
    };

    fn open(
        path: &Path,
        config: &VectorIndexConfig,
        verify: Verify,
    ) -> Result<Self, OpenIndexError> {
        let index = match &config.hnsw {
            None => Self::Flat(FlatIndex::open_with(path, verify)?),
            Some(_) => Self::Hnsw(HnswIndex::open_with(path, verify)?),
        };
        let flat = index.flat();
        let is_expected = (flat.dim(), flat.similarity()) == (config.dim, config.similarity)
            && flat.has_fingerprints() == config.fingerprints
            && match &index {
                Self::Flat(_) => true,
                Self::Hnsw(index) => Some(index.config()) == config.hnsw.as_ref(),
            };
        match flat.file().filter(|_| !is_expected) {
            None => Ok(index),
            Some(file) => Err(file.malformed(
                section::METADATA,
                "the properties that the manifest records",
            )),
        }
    }

    fn ids(&self) -> &DocIds {
        self.flat().ids()
    }

    fn checksum(&self) -> u32 {
        let file = self.flat().file();
        file.map_or(0, |file| file.checksum())
    }

    fn file_size(&self) -> u64 {
        let file = self.flat().file();
        file.map_or(0, |file| file.as_bytes().len() as u64)
    }
}
