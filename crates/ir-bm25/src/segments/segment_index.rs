//! An index as a segment.

use std::path::Path;

use ir_core::DocIds;
use ir_core::segments::SegmentIndex;
use ir_core::store::{IndexFormat, OpenIndexError, Verify};

use crate::format::section;
use crate::{Index, IndexConfig};

impl SegmentIndex for Index {
    type Config = IndexConfig;

    const MANIFEST: IndexFormat = IndexFormat {
        magic: *b"ir-segs\n",
        version: 1,
        name: "the manifest of a segmented index",
        large_sections: &[],
    };

    fn open(path: &Path, config: &IndexConfig, verify: Verify) -> Result<Self, OpenIndexError> {
        let index = Self::open_with(path, verify)?;
        if index.config() != config {
            return Err(OpenIndexError::Malformed {
                path: path.to_owned(),
                section: section::META.to_owned(),
                expected: "the configuration that the manifest records",
            });
        }
        Ok(index)
    }

    fn ids(&self) -> &DocIds {
        self.ids()
    }

    fn checksum(&self) -> u32 {
        self.checksum()
    }

    fn file_size(&self) -> u64 {
        self.as_bytes().len() as u64
    }
}
