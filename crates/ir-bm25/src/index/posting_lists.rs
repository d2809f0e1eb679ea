//! All posting lists of an index, for merging and verification.

use ir_core::store::OpenIndexError;

use super::Index;
use crate::postings::PostingsCursor;
use crate::term_dictionary::TermKeys;

impl Index {
    /// All posting lists, ascending by field number and term.
    pub(crate) fn lists(&self) -> PostingLists<'_> {
        let stats = || self.field_stats().iter();
        PostingLists {
            index: self,
            terms: self.inner.terms.keys(),
            terms_left: stats().map(|stats| stats.terms).sum(),
            postings_left: stats().map(|stats| stats.postings).sum(),
        }
    }
}

/// Iterator over the posting lists of an index.
pub(crate) struct PostingLists<'a> {
    index: &'a Index,
    terms: TermKeys<'a>,
    /// Number of terms not yet listed.
    terms_left: u64,
    /// Number of postings not yet listed. Keys of a forged dictionary may share long lists.
    postings_left: u64,
}

impl<'a> PostingLists<'a> {
    /// The next key, which is a field number and a term, and its posting list.
    pub(crate) fn next(&mut self) -> Result<Option<(&[u8], PostingsCursor<'a>)>, OpenIndexError> {
        let malformed = |_| self.index.malformed_terms();
        let Some((key, offset)) = self.terms.next().map_err(malformed)? else {
            return Ok(None);
        };
        let malformed = || self.index.malformed_terms();
        self.terms_left = self.terms_left.checked_sub(1).ok_or_else(malformed)?;
        let cursor = self.index.open_list(offset)?;
        let postings_left = self.postings_left.checked_sub(u64::from(cursor.df));
        self.postings_left = postings_left.ok_or_else(malformed)?;
        Ok(Some((key, cursor)))
    }
}
