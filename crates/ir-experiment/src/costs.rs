//! Costs of systems: time of a search, and bytes of files.

use ir_core::store::{ByteReader, IndexFormat};
use ir_system::{Record, Stage};
use serde::Serialize;

/// Costs of a system, measured once and cached.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SystemCosts {
    /// Name of the system.
    pub system: String,
    /// Median wall time of the search of a query, in milliseconds.
    pub milliseconds: f64,
    /// Number of bytes of the files of the system and its parts: indexes, vectors and models.
    pub bytes: u64,
}

/// Cached costs, beside the runs.
pub(crate) const COSTS: Record = Record {
    stage: Stage::Run,
    format: IndexFormat {
        magic: *b"IREXPCST",
        version: 1,
        name: "cached costs",
        large_sections: &[],
    },
};

impl SystemCosts {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.milliseconds.to_bits().to_le_bytes().to_vec();
        bytes.extend(self.bytes.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8], system: &str) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let (milliseconds, bytes) = (reader.u64()?, reader.u64()?);
        reader.is_empty().then(|| Self {
            system: system.to_owned(),
            milliseconds: f64::from_bits(milliseconds),
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_round_trip() {
        let costs = SystemCosts {
            system: "BM25".to_owned(),
            milliseconds: 0.125,
            bytes: 1 << 40,
        };
        let bytes = costs.encode();
        assert_eq!(SystemCosts::decode(&bytes, "BM25"), Some(costs));
        assert_eq!(SystemCosts::decode(&bytes[1..], "BM25"), None);
    }
}
