//! Document lengths in the precision of a model.

use ir_core::store::OpenIndexError;

use crate::{DocLengths, Index, small_float};

/// The lengths of a field in all documents of an index, as scoring uses them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ScoredLengths<'a> {
    /// Codes of [`DocLengths::OneByte`].
    Codes(&'a [u8]),
    Exact(&'a [u32]),
}

impl<'a> ScoredLengths<'a> {
    pub(super) fn new(
        index: &'a Index,
        field: usize,
        precision: DocLengths,
    ) -> Result<Self, OpenIndexError> {
        Ok(match precision {
            DocLengths::OneByte => Self::Codes(index.codes(field)),
            DocLengths::Exact => Self::Exact(index.lengths(field)?),
        })
    }

    /// The length of the field in a document.
    #[inline]
    pub(super) fn of(self, doc: u32) -> u32 {
        match self {
            Self::Codes(codes) => small_float::decode(code_of(codes, doc)),
            Self::Exact(lengths) => length_of(lengths, doc),
        }
    }

    /// Description of a length in an explanation.
    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Codes(_) => "length: tokens in the field, in Lucene's one-byte encoding",
            Self::Exact(_) => "length: tokens in the field",
        }
    }
}

/// The exact length of a document.
#[inline]
pub(super) fn length_of(lengths: &[u32], doc: u32) -> u32 {
    lengths.get(doc as usize).copied().unwrap_or(0)
}

/// The length code of a document.
#[inline]
pub(super) fn code_of(codes: &[u8], doc: u32) -> u8 {
    codes.get(doc as usize).copied().unwrap_or(0)
}
