//! Documents that contain all terms of a phrase or window, and the number of its matches there.

use std::collections::HashMap;

use ir_core::store::OpenIndexError;

use crate::Index;
use crate::postings::{END, Impact, PostingsCursor};

/// Phrase, or ordered or unordered window, of at least two terms.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Window {
    /// Terms with their positions in the text of the query.
    pub(super) terms: Vec<(String, u32)>,
    pub(super) ordered: bool,
    pub(super) width: u32,
}

/// Cursor over the documents of an index that contain all terms of a window.
pub(super) struct Windows<'a> {
    cursors: Vec<PostingsCursor<'a>>,
    /// Cursors by document frequency, ascending: the rarest term proposes documents.
    order: Vec<usize>,
    kind: WindowKind,
    /// `true` if no term has a position twice. Custom analyzers may repeat positions.
    distinct: bool,
    /// Positions of the terms in the current document.
    positions: Vec<Vec<u32>>,
}

/// What counts as a match.
enum WindowKind {
    /// The terms at the distances of these positions.
    Phrase(Vec<u32>),
    /// The terms in the order of these positions.
    Ordered { starts: Vec<u32>, width: u32 },
    /// The terms in any order, each as often as it occurs in the query.
    Unordered { repeats: Vec<usize>, width: u32 },
}

impl<'a> Windows<'a> {
    /// Opens the posting lists of terms with their positions in the text of the query; [`None`] if
    /// the field lacks a term.
    pub(super) fn open(
        index: &'a Index,
        field: usize,
        Window {
            terms,
            ordered,
            width,
        }: &Window,
    ) -> Result<Option<Self>, OpenIndexError> {
        let cursors = terms.iter().map(|(term, _)| index.cursor(field, term));
        let cursors: Option<Vec<_>> = cursors.collect::<Result<_, _>>()?;
        let Some(cursors) = cursors else {
            return Ok(None);
        };
        let mut order: Vec<usize> = (0..cursors.len()).collect();
        order.sort_by_key(|&at| cursors[at].df);
        let starts = || terms.iter().map(|&(_, position)| position).collect();
        let kind = match (ordered, *width) {
            (true, 1) => WindowKind::Phrase(starts()),
            (true, width) => WindowKind::Ordered {
                starts: starts(),
                width,
            },
            (false, width) => WindowKind::Unordered {
                repeats: repeats(terms),
                width,
            },
        };
        Ok(Some(Self {
            positions: vec![Vec::new(); cursors.len()],
            cursors,
            order,
            kind,
            distinct: index.analyzer_name().is_none(),
        }))
    }

    /// Maximum number of documents: the document frequency of the rarest term.
    pub(super) fn max_docs(&self) -> u32 {
        self.order
            .first()
            .map_or(0, |&rarest| self.cursors[rarest].df)
    }

    /// Moves to the first document at or after `doc` that contains all terms; [`END`] if there is
    /// none.
    pub(super) fn seek(&mut self, mut doc: u32) -> u32 {
        let Some((&rarest, others)) = self.order.split_first() else {
            return END;
        };
        'documents: loop {
            doc = self.cursors[rarest].seek(doc);
            if doc == END {
                return END;
            }
            for &other in others {
                let found = self.cursors[other].seek(doc);
                if found > doc {
                    if found == END {
                        return END;
                    }
                    doc = found;
                    continue 'documents;
                }
            }
            return doc;
        }
    }

    /// Upper bound of the number of matches in the current document, without its positions.
    pub(super) fn max_count(&mut self) -> u32 {
        let mut tfs = self.cursors.iter_mut().map(PostingsCursor::tf);
        match self.kind {
            // A position of a term is in one phrase at most.
            WindowKind::Phrase(_) if self.distinct => tfs.min().unwrap_or(0),
            WindowKind::Phrase(_) | WindowKind::Ordered { .. } => tfs.next().unwrap_or(0),
            WindowKind::Unordered { .. } => tfs.fold(0, u32::saturating_add),
        }
    }

    /// Impacts that bound the matches in the documents from `doc` to the returned one, for phrases
    /// with terms in several documents. Decodes nothing.
    pub(super) fn impacts(
        &mut self,
        doc: u32,
    ) -> Option<(u32, impl Iterator<Item = Impact> + use<'a>)> {
        let is_bounded = self.distinct && matches!(self.kind, WindowKind::Phrase(_));
        let rarest = *self.order.first().filter(|_| is_bounded)?;
        let cursor = &mut self.cursors[rarest];
        cursor.shallow(doc);
        let block = cursor.block();
        // A list of one posting has no impacts.
        (cursor.df > 1 && block < cursor.blocks())
            .then(|| (cursor.last_of(block), cursor.impacts(block)))
    }

    /// Number of matches in the current document.
    pub(super) fn count(&mut self) -> Result<u32, OpenIndexError> {
        for (cursor, positions) in self.cursors.iter_mut().zip(&mut self.positions) {
            positions.clear();
            cursor.positions(positions)?;
        }
        let count = match &self.kind {
            WindowKind::Phrase(starts) => phrases(&self.positions, starts),
            WindowKind::Ordered { starts, width } => {
                ordered_windows(&self.positions, starts, *width)
            }
            WindowKind::Unordered { repeats, width } => {
                unordered_windows(&self.positions, repeats, *width)
            }
        };
        Ok(count.try_into().unwrap_or(u32::MAX))
    }

    /// Returns the damage found so far.
    pub(super) fn take_damage(&mut self) -> Option<OpenIndexError> {
        self.cursors
            .iter_mut()
            .find_map(PostingsCursor::take_damage)
    }
}

/// How often the term of each place occurs in the window; 0 where it occurred before.
fn repeats(terms: &[(String, u32)]) -> Vec<usize> {
    let mut repeats = vec![0; terms.len()];
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (at, (term, _)) in terms.iter().enumerate() {
        repeats[*first.entry(term.as_str()).or_insert(at)] += 1;
    }
    repeats
}

/// Number of phrases: the terms at the distances that they have in the query.
fn phrases(positions: &[Vec<u32>], starts: &[u32]) -> usize {
    let (Some((first, others)), Some(&start)) = (positions.split_first(), starts.first()) else {
        return 0;
    };
    let mut next = vec![0; others.len()];
    let is_phrase = |&&position: &&u32| {
        let places = others.iter().zip(&starts[1..]).zip(&mut next);
        let mut follows = places.map(|((others, place), next)| {
            let wanted = position.checked_add(place - start);
            let rest = others.get(*next..).unwrap_or_default();
            *next += rest.partition_point(|&other| Some(other) < wanted);
            others.get(*next).copied() == wanted && wanted.is_some()
        });
        follows.all(|follows| follows)
    };
    first.iter().filter(is_phrase).count()
}

/// Number of occurrences of the first term after which the others follow, each at most `width`
/// positions after the one before; removed stop words between them count in addition.
fn ordered_windows(positions: &[Vec<u32>], starts: &[u32], width: u32) -> usize {
    let Some((last, before)) = positions.split_last() else {
        return 0;
    };
    // From the last term to the first: the occurrences after which the rest follows.
    let mut following = last.clone();
    for (at, occurrences) in before.iter().enumerate().rev() {
        let gap = starts[at + 1] - starts[at];
        let limit = width.saturating_sub(1).saturating_add(gap);
        let mut next = 0;
        let is_followed = |&&position: &&u32| {
            while following.get(next).is_some_and(|&other| other <= position) {
                next += 1;
            }
            let other = following.get(next).copied();
            other.is_some_and(|other| other - position <= limit)
        };
        following = occurrences.iter().filter(is_followed).copied().collect();
    }
    following.len()
}

/// Number of positions of a term from which `width` positions contain all terms, as often as they
/// occur in the query.
fn unordered_windows(positions: &[Vec<u32>], repeats: &[usize], width: u32) -> usize {
    let terms: Vec<(&[u32], usize)> = positions
        .iter()
        .map(Vec::as_slice)
        .zip(repeats.iter().copied())
        .filter(|&(_, count)| count > 0)
        .collect();
    let mut starts: Vec<u32> = terms
        .iter()
        .flat_map(|(positions, _)| positions.iter().copied())
        .collect();
    starts.sort_unstable();
    starts.dedup();
    let mut next = vec![0; terms.len()];
    let contains_all = |&&start: &&u32| {
        let mut places = terms.iter().zip(&mut next);
        places.all(|((positions, count), next)| {
            while positions
                .get(*next)
                .is_some_and(|&position| position < start)
            {
                *next += 1;
            }
            let last = positions.get(*next + count - 1);
            last.is_some_and(|&last| last - start < width)
        })
    };
    starts.iter().filter(contains_all).count()
}
