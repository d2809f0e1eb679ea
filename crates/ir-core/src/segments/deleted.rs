//! Files of deleted documents.

use std::io::Write;
use std::path::Path;

use super::files::{FileEntry, another_file, deleted_path};
use crate::ids::{DocNum, DocSet};
use crate::store::{
    AtomicFile, ByteReader, IndexFile, IndexFileWriter, IndexFormat, OpenIndexError, Verify,
    write_varint,
};

static DELETED: IndexFormat = IndexFormat {
    magic: *b"ir-dels\n",
    version: 1,
    name: "a file of deleted documents",
    large_sections: &[],
};
/// Section: the gaps between the ascending numbers of the deleted documents, as varints.
const DOCS: &str = "docs";

/// Writes the file of the deleted documents of a segment.
pub(super) fn write_deleted(
    folder: &Path,
    number: u64,
    deleted: &DocSet,
) -> std::io::Result<FileEntry> {
    let mut gaps = Vec::new();
    let mut next = 0;
    for doc in deleted.iter() {
        write_varint(&mut gaps, u64::from(doc.get()) - next);
        next = u64::from(doc.get()) + 1;
    }
    let mut file = IndexFileWriter::new(&DELETED, Vec::new())?;
    file.section(DOCS, &gaps)?;
    let bytes = file.finish()?;
    let checksum = IndexFile::from_bytes(&DELETED, bytes.clone(), Verify::SmallSections)
        .map_err(std::io::Error::other)?
        .checksum();
    let mut file = AtomicFile::create(deleted_path(folder, number))?;
    file.write_all(&bytes)?;
    file.commit()?;
    Ok(FileEntry { number, checksum })
}

/// Reads the deleted documents of a segment with so many documents.
pub(super) fn read_deleted(
    path: &Path,
    entry: FileEntry,
    documents: usize,
) -> Result<DocSet, OpenIndexError> {
    let file = IndexFile::open(&DELETED, path, Verify::AllSections)?;
    if file.checksum() != entry.checksum {
        return Err(another_file(path.to_owned()));
    }
    let gaps = file.section(DOCS).unwrap_or_default();
    let mut reader = ByteReader::new(gaps.as_ref());
    let mut deleted = DocSet::new();
    let mut next = 0_u64;
    while !reader.is_empty() {
        let doc = reader.varint().and_then(|gap| next.checked_add(gap));
        let Some(doc) = doc.filter(|&doc| doc < documents as u64) else {
            return Err(file.malformed(DOCS, "numbers of documents of the segment"));
        };
        deleted.insert(DocNum::new(doc as u32));
        next = doc + 1;
    }
    Ok(deleted)
}
