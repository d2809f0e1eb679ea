//! Files of the vector indexes, in the container format of [`ir_core::store`].
//!
//! | section | index | content |
//! |---|---|---|
//! | `vectors` | flat, HNSW | `[documents, dim]`, row-major, f32 |
//! | `codes` | flat, HNSW; optional | 8-bit codes in tiles of 64 rows, four dimensions at a time |
//! | `code_stats` | with `codes` | per tile 64 scales, 64 errors, 64 norms, 64 biases, f32 |
//! | `user_metadata` | flat, HNSW; optional | text of the application, UTF-8 |
//! | `fingerprints` | flat, HNSW; optional | number of the application per document, u64 |
//! | `ids` | all | document ids ([`DocIds::write_section`]) |
//! | `metadata` | all | [`VectorMetadata`] as JSON |
//! | `row_lengths`, `row_columns`, `row_values` | sparse | matrix in CSR format: u32, u32, f32 |
//! | `column_lengths`, `column_rows`, `column_values` | sparse | the same matrix in CSC format |
//! | `graph` | HNSW | parameters as JSON |
//! | `centroid` | HNSW with codes | subtracted from all vectors, f32 |
//! | `node_codes` | with `centroid` | 8-bit codes with scale and bias, per node |
//! | `links` | HNSW | neighbors of each node, lowest layer first, padded with 2³² − 1, u32 |
//! | `node_documents` | HNSW | documents ordered by node, u32 |
//! | `node_starts` | HNSW, if vectors are equal | offset of each first document, and the end, u32 |
//!
//! Numbers are little-endian.

use std::io::{self, Write};
use std::ops::Deref;
use std::path::Path;

use ir_core::store::{AtomicFile, IndexFile, IndexFileWriter, IndexFormat, OpenIndexError, Verify};
use ir_core::{DocIds, VectorSimilarity};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::SaveVectorIndexError;

pub(super) static FLAT: IndexFormat = IndexFormat {
    magic: *b"ir-flat\n",
    version: 3,
    name: "a flat index",
    large_sections: &[section::VECTORS, section::CODES, section::CODE_STATS],
};
pub(super) static SPARSE: IndexFormat = IndexFormat {
    magic: *b"ir-sprs\n",
    version: 3,
    name: "a sparse index",
    large_sections: &[],
};
pub(super) static HNSW: IndexFormat = IndexFormat {
    magic: *b"ir-hnsw\n",
    version: 3,
    name: "an HNSW index",
    large_sections: &[
        section::VECTORS,
        section::CODES,
        section::CODE_STATS,
        section::NODE_CODES,
        section::LINKS,
    ],
};

/// Names of the sections in the table above.
pub(super) mod section {
    pub(crate) const VECTORS: &str = "vectors";
    pub(crate) const CODES: &str = "codes";
    pub(crate) const CODE_STATS: &str = "code_stats";
    pub(crate) const USER_METADATA: &str = "user_metadata";
    pub(crate) const FINGERPRINTS: &str = "fingerprints";
    pub(crate) const IDS: &str = "ids";
    pub(crate) const METADATA: &str = "metadata";
    /// Lengths, column indices and values of the rows.
    pub(crate) const ROWS: [&str; 3] = ["row_lengths", "row_columns", "row_values"];
    /// Lengths, row indices and values of the columns.
    pub(crate) const COLUMNS: [&str; 3] = ["column_lengths", "column_rows", "column_values"];
    pub(crate) const GRAPH: &str = "graph";
    pub(crate) const CENTROID: &str = "centroid";
    pub(crate) const NODE_CODES: &str = "node_codes";
    pub(crate) const LINKS: &str = "links";
    pub(crate) const NODE_DOCUMENTS: &str = "node_documents";
    pub(crate) const NODE_STARTS: &str = "node_starts";
}

/// Properties of a saved vector index.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct VectorMetadata {
    /// Crate and version that wrote the file.
    program: String,
    pub(super) similarity: VectorSimilarity,
    pub(super) dim: usize,
    pub(super) documents: usize,
}

/// Writes an index file atomically.
pub(super) fn write_file(
    format: &IndexFormat,
    path: &Path,
    write: impl FnOnce(&mut IndexFileWriter<AtomicFile>) -> io::Result<()>,
) -> Result<(), SaveVectorIndexError> {
    let save = || -> io::Result<()> {
        let mut writer = IndexFileWriter::new(format, AtomicFile::create(path)?)?;
        write(&mut writer)?;
        writer.finish()?.commit()
    };
    save().map_err(|source| SaveVectorIndexError {
        path: path.to_owned(),
        source,
    })
}

/// Writes the sections `ids` and `metadata`.
pub(super) fn write_ids_and_metadata<'a, W: Write>(
    writer: &mut IndexFileWriter<W>,
    ids: impl IntoIterator<Item = &'a str>,
    documents: usize,
    similarity: VectorSimilarity,
    dim: usize,
) -> io::Result<()> {
    writer.begin(section::IDS)?;
    DocIds::write_section(ids, writer)?;
    let metadata = VectorMetadata {
        program: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).to_owned(),
        similarity,
        dim,
        documents,
    };
    write_json(writer, section::METADATA, &metadata)
}

pub(super) fn write_json<W: Write>(
    writer: &mut IndexFileWriter<W>,
    section: &str,
    value: &impl Serialize,
) -> io::Result<()> {
    writer.section(section, &serde_json::to_vec(value)?)
}

/// Open file of a vector index.
#[derive(Debug, Clone)]
pub(super) struct VectorFile {
    file: IndexFile,
    verify: Verify,
    pub(super) metadata: VectorMetadata,
}

impl VectorFile {
    pub(super) fn open(
        format: &IndexFormat,
        path: &Path,
        verify: Verify,
    ) -> Result<Self, OpenIndexError> {
        let file = IndexFile::open(format, path, verify)?;
        let metadata: VectorMetadata = json(&file, section::METADATA)?;
        if metadata.dim == 0 && metadata.documents > 0 {
            return Err(file.malformed(section::METADATA, "a positive dimension"));
        }
        Ok(Self {
            file,
            verify,
            metadata,
        })
    }

    pub(super) fn has(&self, section: &str) -> bool {
        self.section(section).is_some()
    }

    pub(super) fn ids(&self) -> Result<DocIds, OpenIndexError> {
        let ids = self.section(section::IDS);
        ids.and_then(|ids| DocIds::from_section(ids, self.metadata.documents))
            .filter(|ids| self.verify != Verify::AllSections || ids.is_intact())
            .ok_or_else(|| self.malformed(section::IDS, "an id for every document"))
    }
}

impl Deref for VectorFile {
    type Target = IndexFile;

    fn deref(&self) -> &IndexFile {
        &self.file
    }
}

/// Value of a section in JSON.
pub(super) fn json<T: DeserializeOwned>(
    file: &IndexFile,
    section: &str,
) -> Result<T, OpenIndexError> {
    let bytes = file
        .section(section)
        .ok_or_else(|| file.malformed(section, "the properties of the index"))?;
    serde_json::from_slice(bytes.as_ref()).map_err(|error| file.metadata_error(error))
}
