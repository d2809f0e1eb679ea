//! Index files with changed sections and correct checksums.

use ir_core::store::{IndexFile, IndexFileWriter, IndexFormat, Verify};

pub type IndexSection = (String, Vec<u8>);

/// Format of an index file by its header.
fn format(bytes: &[u8]) -> IndexFormat {
    let version = bytes[8..12].try_into().expect("four bytes");
    IndexFormat {
        magic: bytes[..8].try_into().expect("eight bytes"),
        version: u32::from_le_bytes(version),
        name: "an index",
        large_sections: &[],
    }
}

/// Sections of a valid index file.
pub fn sections(bytes: &[u8]) -> Vec<IndexSection> {
    let file = IndexFile::from_bytes(&format(bytes), bytes.to_vec(), Verify::AllSections);
    let file = file.expect("a valid file");
    let names = file.sections().map(|(name, _)| name.to_owned());
    let content = |name: String| {
        let content = file
            .section(&name)
            .expect("a listed section")
            .as_ref()
            .to_vec();
        (name, content)
    };
    names.collect::<Vec<_>>().into_iter().map(content).collect()
}

/// Writes sections with correct checksums and the header of `like`.
pub fn write_sections(like: &[u8], sections: &[IndexSection]) -> Vec<u8> {
    let mut writer = IndexFileWriter::new(&format(like), Vec::new()).expect("memory");
    for (name, content) in sections {
        writer.section(name, content).expect("memory");
    }
    writer.finish().expect("memory")
}

/// Overwrites single bytes: each change is two bytes of position and one byte of value.
pub fn overwrite(bytes: &mut [u8], changes: &[u8]) {
    for change in changes.chunks_exact(3) {
        let position = usize::from(u16::from_le_bytes([change[0], change[1]]));
        if !bytes.is_empty() {
            bytes[position % bytes.len()] = change[2];
        }
    }
}
