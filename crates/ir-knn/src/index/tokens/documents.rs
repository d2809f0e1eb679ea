//! Encoded documents, their ids and table, and the sections of a store.

use std::io::{self, Write};

use ir_core::store::IndexFileWriter;
use ir_core::{DocIds, TokenVectors};

use super::codec::TokenCodec;
use super::config::TokenStoreConfig;
use super::error::TokenStoreError;
use super::file::{TableEntry, TokenMetadata, section};
use crate::index::file::write_json;

/// Table of the documents of a file, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentTable(Vec<TableEntry>);

impl DocumentTable {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a document with these bytes.
    pub(super) fn push(&mut self, tokens: u32, bytes: &[u8]) {
        let entry = TableEntry {
            end: self.0.last().map_or(0, |last| last.end) + bytes.len() as u64,
            tokens,
            checksum: crc32fast::hash(bytes),
        };
        self.0.push(entry);
    }

    /// Writes the sections after the bytes of the documents.
    pub(super) fn write<'a, W: Write>(
        &self,
        writer: &mut IndexFileWriter<W>,
        config: &TokenStoreConfig,
        ids: impl IntoIterator<Item = &'a str>,
    ) -> io::Result<()> {
        writer.begin(section::TABLE)?;
        for entry in &self.0 {
            writer.write_all(&entry.to_bytes())?;
        }
        if let Some(codebook) = &config.codebook {
            codebook.write(writer)?;
        }
        writer.begin(section::IDS)?;
        DocIds::write_section(ids, writer)?;
        let metadata = TokenMetadata {
            program: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).to_owned(),
            dim: config.dim,
            encoding: config.encoding,
            encoder: config.encoder.clone(),
            spans: config.spans,
            documents: self.0.len(),
        };
        write_json(writer, section::METADATA, &metadata)
    }
}

/// Encoded documents: ids and table, and the bytes that are not yet in a file.
#[derive(Debug, Default)]
pub(super) struct EncodedDocuments {
    pub(super) bytes: Vec<u8>,
    pub(super) table: DocumentTable,
    pub(super) ids: DocIds,
}

impl EncodedDocuments {
    /// Adds a document. Nothing changes if it is invalid.
    pub(super) fn push(
        &mut self,
        codec: &TokenCodec,
        id: &str,
        vectors: &TokenVectors,
    ) -> Result<(), TokenStoreError> {
        let start = self.bytes.len();
        codec.encode(id, vectors, &mut self.bytes)?;
        if let Err(error) = self.ids.push(id) {
            self.bytes.truncate(start);
            return Err(error.into());
        }
        self.table.push(vectors.len() as u32, &self.bytes[start..]);
        Ok(())
    }

    /// Writes all sections of a store.
    pub(super) fn write<W: Write>(
        &self,
        writer: &mut IndexFileWriter<W>,
        config: &TokenStoreConfig,
    ) -> io::Result<()> {
        writer.section(section::DOCUMENTS, &self.bytes)?;
        self.table.write(writer, config, self.ids.iter())
    }
}
