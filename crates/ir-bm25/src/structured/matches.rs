//! Matches of the leaves of a query in the documents of an index: words, phrases, windows and
//! synonyms.

use ir_core::store::OpenIndexError;

use super::windows::{Window, Windows};
use crate::Index;
use crate::postings::{END, PostingsCursor};

/// Word, window or synonyms in one field, after analysis.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Leaf {
    Term(String),
    Window(Window),
    Synonyms(Vec<Leaf>),
}

/// Documents that contain a leaf, ascending, with the number of its matches there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LeafMatches {
    pub(super) docs: Vec<u32>,
    pub(super) tfs: Vec<u32>,
}

impl LeafMatches {
    fn push(&mut self, doc: u32, tf: u32) {
        #[cfg(test)]
        super::tests::count_steps(1);
        self.docs.push(doc);
        self.tfs.push(tf);
    }

    /// Number of matches in a document.
    pub(super) fn tf(&self, doc: u32) -> Option<u32> {
        self.docs.binary_search(&doc).ok().map(|at| self.tfs[at])
    }

    /// The documents of any of them, with the sums of the frequencies.
    fn union(all: &[Self]) -> Self {
        let pairs = all.iter().flat_map(|matches| {
            let docs = matches.docs.iter().copied();
            docs.zip(matches.tfs.iter().copied())
        });
        let mut pairs: Vec<(u32, u32)> = pairs.collect();
        // Merges the ascending runs.
        pairs.sort_by_key(|&(doc, _)| doc);
        let mut union = Self::default();
        for (doc, tf) in pairs {
            match union.tfs.last_mut() {
                Some(sum) if union.docs.last() == Some(&doc) => *sum = sum.saturating_add(tf),
                _ => union.push(doc, tf),
            }
        }
        union
    }
}

impl Leaf {
    /// The words of the leaf, for explanations.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Term(term) => term.clone(),
            Self::Window(Window {
                terms,
                ordered,
                width,
            }) => {
                let words: Vec<&str> = terms.iter().map(|(term, _)| &**term).collect();
                let words = words.join(" ");
                match (ordered, width) {
                    (true, 1) => format!("\"{words}\""),
                    (true, width) => format!("#od{width}({words})"),
                    (false, width) => format!("#uw{width}({words})"),
                }
            }
            Self::Synonyms(parts) => {
                let parts: Vec<String> = parts.iter().map(Self::describe).collect();
                format!("#syn({})", parts.join(" "))
            }
        }
    }

    /// Returns `true` if positions are needed.
    pub(super) fn has_window(&self) -> bool {
        match self {
            Self::Term(_) => false,
            Self::Window(_) => true,
            Self::Synonyms(parts) => parts.iter().any(Self::has_window),
        }
    }

    /// Finds the documents of an index that contain the leaf in a field.
    pub(super) fn matches(
        &self,
        index: &Index,
        field: usize,
        is_live: &dyn Fn(u32) -> bool,
    ) -> Result<LeafMatches, OpenIndexError> {
        match self {
            Self::Term(term) => match index.cursor(field, term)? {
                Some(cursor) => of_term(cursor, is_live),
                None => Ok(LeafMatches::default()),
            },
            Self::Window(window) => match Windows::open(index, field, window)? {
                Some(windows) => of_windows(windows, is_live),
                None => Ok(LeafMatches::default()),
            },
            Self::Synonyms(parts) => {
                let parts = parts.iter().map(|part| part.matches(index, field, is_live));
                Ok(LeafMatches::union(&parts.collect::<Result<Vec<_>, _>>()?))
            }
        }
    }
}

fn of_term(
    mut cursor: PostingsCursor<'_>,
    is_live: &dyn Fn(u32) -> bool,
) -> Result<LeafMatches, OpenIndexError> {
    let mut matches = LeafMatches::default();
    while cursor.seek(0) != END {
        let slice = cursor.postings();
        for (&doc, &tf) in slice.docs.iter().zip(slice.tfs) {
            if is_live(doc) {
                matches.push(doc, tf);
            }
        }
        cursor.next_block();
    }
    cursor.take_damage().map_or(Ok(matches), Err)
}

fn of_windows(
    mut windows: Windows<'_>,
    is_live: &dyn Fn(u32) -> bool,
) -> Result<LeafMatches, OpenIndexError> {
    let mut matches = LeafMatches::default();
    let mut doc = windows.seek(0);
    while doc != END {
        if is_live(doc) {
            let count = windows.count()?;
            if count > 0 {
                matches.push(doc, count);
            }
        }
        doc = windows.seek(doc + 1);
    }
    windows.take_damage().map_or(Ok(matches), Err)
}
