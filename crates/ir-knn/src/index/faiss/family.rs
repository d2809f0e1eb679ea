//! Families of FAISS indexes.

use super::error::FaissError;

/// Family of an index, which determines its search parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaissFamily {
    /// Exact; no search parameter.
    Flat,
    /// efSearch: the beam width.
    Hnsw,
    /// nprobe: the number of cells read.
    Ivf,
}

impl FaissFamily {
    pub(super) fn from_description(description: &str) -> Result<Self, FaissError> {
        let is_refined = description.contains(",RFlat") || description.contains(",Refine");
        let family = if description == "Flat" {
            Some(Self::Flat)
        } else if description.starts_with("HNSW") {
            Some(Self::Hnsw)
        } else if description.starts_with("IVF") {
            Some(Self::Ivf)
        } else {
            None
        };
        let family = family.filter(|_| !is_refined);
        family.ok_or_else(|| FaissError::Description {
            found: description.to_owned(),
        })
    }

    /// FAISS's name of the search parameter.
    pub(super) fn parameter_name(self) -> Option<&'static str> {
        match self {
            Self::Flat => None,
            Self::Hnsw => Some("efSearch"),
            Self::Ivf => Some("nprobe"),
        }
    }

    /// FAISS's default of the search parameter.
    pub(super) fn default_parameter(self) -> usize {
        match self {
            Self::Flat | Self::Ivf => 1,
            Self::Hnsw => 16,
        }
    }
}
