//! A token store as a segment, and merging segments.

use std::io::Write;
use std::path::Path;

use ir_core::segments::SegmentIndex;
use ir_core::store::{AtomicFile, IndexFileWriter, IndexFormat, OpenIndexError, Verify};
use ir_core::{DocIds, DocNum, Flow, Progress};

use super::codebook::TokenCodebook;
use super::config::TokenStoreConfig;
use super::documents::DocumentTable;
use super::error::TokenStoreError;
use super::file::{TOKENS, section};
use super::store::TokenStore;
use crate::index::error::SaveVectorIndexError;

/// A segment and its deleted documents.
pub(super) type Segment = ir_core::segments::Segment<TokenStore>;

/// Number of documents between two reports of progress.
const REPORT_EVERY: usize = 1024;

impl SegmentIndex for TokenStore {
    type Config = TokenStoreConfig;

    const MANIFEST: IndexFormat = IndexFormat {
        magic: *b"ir-tokm\n",
        version: 1,
        name: "the manifest of a segmented token store",
        large_sections: &[],
    };

    fn open(
        path: &Path,
        config: &TokenStoreConfig,
        verify: Verify,
    ) -> Result<Self, OpenIndexError> {
        let store = Self::open_with(path, verify)?;
        let found = store.config();
        let is_expected = (found.dim, found.encoding, found.spans)
            == (config.dim, config.encoding, config.spans)
            && found.encoder == config.encoder;
        if !is_expected {
            let expected = "the properties that the manifest records";
            return Err(store.file().malformed(section::METADATA, expected));
        }
        Ok(store)
    }

    fn ids(&self) -> &DocIds {
        Self::ids(self)
    }

    fn checksum(&self) -> u32 {
        self.file().checksum()
    }

    fn file_size(&self) -> u64 {
        self.file().as_bytes().len() as u64
    }
}

/// Codebook of segments, which all have the same one.
pub(super) fn codebook_of<'a>(
    segments: impl IntoIterator<Item = &'a TokenStore>,
) -> Result<Option<TokenCodebook>, OpenIndexError> {
    let mut segments = segments.into_iter();
    let Some(first) = segments.next() else {
        return Ok(None);
    };
    let codebook = &first.config().codebook;
    match segments.find(|store| store.config().codebook != *codebook) {
        None => Ok(codebook.clone()),
        Some(store) => {
            let expected = "the centroids of the other segments";
            Err(store.file().malformed(section::CENTROIDS, expected))
        }
    }
}

/// Writes the documents of segments that are not deleted as one segment, with the bytes of a store
/// that is written from them. Documents are copied from file to file without being decoded.
pub(super) fn merge_segments(
    segments: &[Segment],
    config: &TokenStoreConfig,
    path: &Path,
    progress: &mut dyn Progress,
) -> Result<TokenStore, TokenStoreError> {
    // Damage must not get a new checksum.
    for segment in segments {
        segment.index.verify()?;
    }
    let live = || {
        segments.iter().flat_map(|segment| {
            let docs = (0..segment.index.len() as u32).map(DocNum::new);
            let live = docs.filter(|&doc| segment.is_live(doc));
            live.map(|doc| (&segment.index, doc))
        })
    };
    let total: usize = segments.iter().map(Segment::live).sum();
    let failed = |source| SaveVectorIndexError {
        path: path.to_owned(),
        source,
    };
    let mut table = DocumentTable::default();
    let file = AtomicFile::create(path).map_err(failed)?;
    let mut writer = IndexFileWriter::new(&TOKENS, file).map_err(failed)?;
    writer.begin(section::DOCUMENTS).map_err(failed)?;
    for (done, (store, doc)) in live().enumerate() {
        if done.is_multiple_of(REPORT_EVERY)
            && progress.report("merging", done as u64, Some(total as u64)) == Flow::Stop
        {
            return Err(TokenStoreError::Canceled);
        }
        let (bytes, entry) = store.raw(doc);
        writer.write_all(bytes).map_err(failed)?;
        table.push(entry.tokens, bytes);
    }
    let ids = live().map(|(store, doc)| store.ids().id(doc));
    let finish = || {
        table.write(&mut writer, config, ids)?;
        writer.finish()?.commit()
    };
    finish().map_err(failed)?;
    Ok(SegmentIndex::open(path, config, Verify::SmallSections)?)
}

#[cfg(test)]
mod tests {
    use ir_core::TokenVectors;

    use super::*;
    use crate::index::tokens::codebook::TokenCodebookConfig;
    use crate::index::tokens::writer::TokenStoreWriter;

    /// The checksums of a manifest do not find a writer that changes the codebook.
    #[test]
    fn segments_with_different_codebooks_are_damage() {
        let folder = tempfile::tempdir().unwrap();
        let segment = |number: u64, centroids: usize| {
            let config = TokenCodebookConfig::default().with_centroids(centroids);
            let codebook = TokenCodebook::train(2, &[1.0, 0.0, 0.0, 1.0], &config).unwrap();
            let config = TokenStoreConfig::new(2).with_codebook(codebook);
            let path = folder.path().join(number.to_string());
            let mut writer = TokenStoreWriter::create(&path, &config).unwrap();
            let vectors = TokenVectors::new(2, vec![1.0, 0.0], vec![0..1; 1]);
            writer.push("a", &vectors).unwrap();
            writer.finish().unwrap();
            TokenStore::open(&path).unwrap()
        };
        assert_eq!(codebook_of(&[]).unwrap(), None);
        let equal = [segment(0, 2), segment(1, 2)];
        assert_eq!(codebook_of(&equal).unwrap(), equal[1].config().codebook);
        let error = codebook_of(&[segment(2, 2), segment(3, 2), segment(4, 1)]).unwrap_err();
        assert!(
            matches!(&error, OpenIndexError::Malformed { path, section, .. }
                if path.ends_with("4") && section == section::CENTROIDS),
            "{error}"
        );
    }
}
