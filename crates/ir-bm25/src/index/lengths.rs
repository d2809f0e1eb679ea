//! Exact document lengths: one-byte codes, and their residuals.

use ir_core::store::{ByteReader, OpenIndexError, SectionBytes};
use ir_core::{DocNum, DocSet};

use super::{EXPECTED_LENGTHS, Index};
use crate::format::section;
use crate::small_float;

impl Index {
    /// Exact document lengths of a field.
    pub(crate) fn lengths(&self, field: usize) -> Result<&[u32], OpenIndexError> {
        let lengths = match self.inner.lengths.get() {
            Some(lengths) => lengths,
            None => {
                let decoded = self.decode_lengths()?;
                self.inner.lengths.get_or_init(|| decoded.into())
            }
        };
        Ok(lengths.get(field).map_or(&[], Vec::as_slice))
    }

    fn decode_lengths(&self) -> Result<Vec<Vec<u32>>, OpenIndexError> {
        let mut lengths = vec![Vec::with_capacity(self.len()); self.field_stats().len()];
        self.for_each_length(|field, length| lengths[field].push(length))?;
        Ok(lengths)
    }

    /// Decodes the exact lengths of all documents, field by field in the order of the documents.
    /// Calls `visit` with the number of the field and the length.
    pub(super) fn for_each_length(
        &self,
        mut visit: impl FnMut(usize, u32),
    ) -> Result<(), OpenIndexError> {
        let malformed = || self.malformed_lengths();
        let residuals = self.residuals();
        let mut residuals = ByteReader::new(residuals.as_ref());
        for field in 0..self.field_stats().len() {
            for &code in self.codes(field) {
                let length = small_float::read_residual(code, &mut residuals);
                visit(field, length.ok_or_else(malformed)?);
            }
        }
        residuals.is_empty().then_some(()).ok_or_else(malformed)
    }

    /// For each field, how many of the documents have it, and the sum of their lengths.
    pub(crate) fn totals_of(&self, docs: &DocSet) -> Result<Vec<(u64, u64)>, OpenIndexError> {
        let malformed = || self.malformed_lengths();
        let residuals = self.residuals();
        let mut residuals = ByteReader::new(residuals.as_ref());
        let mut totals = vec![(0, 0); self.field_stats().len()];
        for (field, (docs_with_field, tokens)) in totals.iter_mut().enumerate() {
            let mut rest = self.codes(field);
            let mut next = 0;
            for doc in docs.iter().map(DocNum::index) {
                let (skipped, from) = rest.split_at_checked(doc - next).ok_or_else(malformed)?;
                let (&code, after) = from.split_first().ok_or_else(malformed)?;
                small_float::skip_residuals(skipped, &mut residuals).ok_or_else(malformed)?;
                let length = small_float::read_residual(code, &mut residuals);
                let length = length.ok_or_else(malformed)?;
                *docs_with_field += u64::from(length > 0);
                *tokens += u64::from(length);
                (rest, next) = (after, doc + 1);
            }
            small_float::skip_residuals(rest, &mut residuals).ok_or_else(malformed)?;
        }
        residuals.is_empty().then_some(totals).ok_or_else(malformed)
    }

    fn residuals(&self) -> SectionBytes {
        let residuals = self.inner.file.section(section::RESIDUALS);
        residuals.unwrap_or_default()
    }

    fn malformed_lengths(&self) -> OpenIndexError {
        let file = &self.inner.file;
        file.malformed(section::RESIDUALS, EXPECTED_LENGTHS)
    }
}
